/* Classifies planes and lines by the names that TensorFlow, JAX and XProf give them.  Threads of all planes of a host
 * are one process, because each profiler writes its own plane; planes of devices with equal names are one device.
 *
 * Some lines of a device are computed from its other lines (steps, modules, ops around kernels): they become separate
 * tracks that are not streams of a device, so that no work counts twice.  On a TPU the ops themselves are the events of
 * such a line. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "containers/array.h"
#include "import/xspace/xplane_reader.h"

/* XProf gives derived lines ids from this number on. */
#define DERIVED_ID_FIRST INT64_C(0xdeadbeef)
#define DERIVED_IDS 390

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Returns the number after the last colon; 0 without one. */
static int32_t number_of(const char *name)
{
	const char *colon = strrchr(name, ':');
	long number = colon ? strtol(colon + 1, NULL, 10) : 0;

	return number >= 0 && number < INT32_MAX ? (int32_t)number : 0;
}

void xplane_classify(struct xplane_reader *reader, struct xplane *plane)
{
	const char *name = plane->name;
	bool is_device = begins(name, "/device:") || begins(name, "#Chip") || begins(name, "/custom:");

	if (is_device && !begins(name, "/device:CPU"))
		plane->kind = XPLANE_DEVICE;
	else if (!strcmp(name, "Task Environment") || !strcmp(name, "/host:metadata"))
		plane->kind = XPLANE_ABOUT;
	else
		plane->kind = XPLANE_HOST;
	plane->is_tpu = begins(name, "/device:TPU:") || begins(name, "#Chip");
	plane->device = plane->kind == XPLANE_DEVICE ? number_of(name) : -1;
	plane->group = (uint32_t)(plane - reader->planes);
	for (uint32_t i = 0; i < plane->group; i++) {
		const struct xplane *other = &reader->planes[i];
		if (other->kind != plane->kind)
			continue;
		if (plane->kind == XPLANE_HOST || !strcmp(other->name, name)) {
			plane->group = other->group;
			plane->device = other->device;
			return;
		}
		/* Different devices get different numbers, even if their names have the same number. */
		if (plane->kind == XPLANE_DEVICE && other->device >= plane->device && other->device < INT32_MAX)
			plane->device = other->device + 1;
	}
}

bool xplane_is_derived(const struct xplane *plane, const char *name, int64_t id, bool alone)
{
	static const char *const always[] = { "Steps",       "Framework Name Scope",  "Framework Ops",
		                              "XLA Modules", "TensorFlow Name Scope", "TensorFlow Ops",
		                              "Source code", "XLA TraceMe",           "Launch Stats" };
	static const char *const beside_streams[] = { "XLA Ops", "Async XLA Ops", "Host Offload Ops" };

	if (plane->kind != XPLANE_DEVICE)
		return false;
	for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++) {
		if (!strcmp(name, always[i]))
			return true;
	}
	if (plane->is_tpu || alone)
		return false;
	for (size_t i = 0; i < sizeof(beside_streams) / sizeof(*beside_streams); i++) {
		if (!strcmp(name, beside_streams[i]))
			return true;
	}
	return id >= DERIVED_ID_FIRST && id < DERIVED_ID_FIRST + DERIVED_IDS;
}

/* ---- tracks ---- */

static epp_trace_track definition_of(struct xplane_reader *reader, const struct xplane *plane, const char *name)
{
	bool is_device = plane->kind == XPLANE_DEVICE;

	return (epp_trace_track){ .kind = is_device ? EPP_TRACK_DEVICE : EPP_TRACK_THREAD,
		                  .device = plane->device,
		                  .producer = is_device ? import_producer(reader->import) : -1,
		                  .name = name,
		                  .group = is_device ? plane->name : "" };
}

static epp_status *make_track(struct xplane_reader *reader, uint32_t *track)
{
	const struct xplane_line *line = reader->line;
	bool is_host = reader->plane->kind == XPLANE_HOST;
	char own[48];

	snprintf(own, sizeof(own), is_host ? "thread %" PRId64 : "stream %" PRId64, line->id);
	epp_trace_track definition = definition_of(reader, reader->plane, *line->name ? line->name : own);
	if (is_host)
		definition.thread_id = line->id > 0 && line->id <= UINT32_MAX ? (uint32_t)line->id : 0;
	else
		definition.stream = line->id;
	if (line->is_derived) {
		definition.kind = EPP_TRACK_CUSTOM;
		definition.producer = -1;
	}
	return epp_trace_writer_track(reader->import->writer, &definition, track);
}

epp_status *xplane_find_track(struct xplane_reader *reader)
{
	struct xplane_track *track;
	uint32_t number;

	reader->track = NULL;
	for (uint32_t i = 0; i < reader->tracks_count; i++) {
		track = &reader->tracks[i];
		if (track->line_id == reader->line->id && track->group == reader->plane->group) {
			reader->track = track;
			return NULL;
		}
	}
	if (reader->tracks_count == XPLANE_LINES_MAX)
		return NULL;
	if (!array_reserve(&reader->tracks, &reader->tracks_room, reader->tracks_count + (size_t)1,
	                   sizeof(*reader->tracks)))
		return epp_status_no_memory();
	EPP_TRY(make_track(reader, &number));
	track = &reader->tracks[reader->tracks_count++];
	*track = (struct xplane_track){ .track = number, .group = reader->plane->group, .line_id = reader->line->id };
	reader->track = track;
	return NULL;
}

epp_status *xplane_about_track(struct xplane_reader *reader, const struct xplane *plane, uint32_t *track)
{
	epp_trace_track definition = definition_of(reader, plane, "properties");

	definition.kind = EPP_TRACK_CUSTOM;
	definition.producer = -1;
	return epp_trace_writer_track(reader->import->writer, &definition, track);
}

/* Implements track_state.h.  The line of a track is found by binary search. */
#include "timeline/tracks/track_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "base/status.h"

static void set_up(struct line *line, uint32_t index, const epp_trace_track *track)
{
	*line = (struct line){ .track = track,
		               .key = index,
		               .source = track->source,
		               .placement = LINE_BY_HOST,
		               .is_thread = track->kind == EPP_TRACK_THREAD && track->clock_kind == EPF_TRACK_CLOCK_HOST,
		               .ticks_per_second = track->ticks_per_second,
		               .first_thread = LINE_NONE,
		               .own_lookup = { .key = UINT64_MAX },
		               .parent_lookup = { .key = UINT64_MAX } };
	line->is_device = track->kind == EPP_TRACK_DEVICE || track->clock_kind != EPF_TRACK_CLOCK_HOST;
	if (!line->is_thread)
		line->key |= LINE_OTHER;
}

/* Returns the clock error of a source; 0 if the source could not be aligned, because its error is then not known. */
static int64_t source_error_ns(const struct reader *reader, uint32_t source)
{
	uint64_t error_ns = source < reader->sources_count ? reader->sources[source].clock_error_ns : 0;
	return error_ns == UINT64_MAX ? 0 : error_ns < (uint64_t)ITEM_NS_MAX / 4 ? (int64_t)error_ns : ITEM_NS_MAX / 4;
}

static int by_thread(const void *a, const void *b, void *user)
{
	const struct line *lines = user;
	const epp_trace_track *left = lines[*(const uint32_t *)a].track, *right = lines[*(const uint32_t *)b].track;
	if (left->source != right->source)
		return left->source < right->source ? -1 : 1;
	if (left->thread_id != right->thread_id)
		return left->thread_id < right->thread_id ? -1 : 1;
	return (left->kind != EPP_TRACK_THREAD) - (right->kind != EPP_TRACK_THREAD);
}

/* For each device line that names a launching thread, finds the list of the lines of that thread. */
static epp_status *join_threads(struct lines *lines)
{
	uint32_t *order = reallocarray(NULL, lines->count + 1, sizeof(*order));
	if (!order)
		return epp_status_no_memory();
	for (uint32_t i = 0; i < lines->count; i++)
		order[i] = i;
	qsort_r(order, lines->count, sizeof(*order), by_thread, lines->lines);
	uint32_t chain = LINE_NONE;
	for (uint32_t i = 0; i < lines->count; i++) {
		struct line *line = &lines->lines[order[i]];
		const epp_trace_track *before = i ? lines->lines[order[i - 1]].track : NULL;
		if (!before || before->source != line->track->source || before->thread_id != line->track->thread_id)
			chain = LINE_NONE;
		if (!line->track->thread_id)
			continue;
		line->first_thread = chain;
		if (line->is_thread)
			chain = order[i];
	}
	free(order);
	return NULL;
}

epp_status *lines_init(struct lines *lines, const struct reader *reader, struct device_clocks *clocks)
{
	*lines = (struct lines){ .reader = reader };
	lines->lines = os_memory_aligned(_Alignof(struct line),
	                                 (reader->tracks_count + LINES_UNKNOWN_MAX) * sizeof(*lines->lines));
	if (!lines->lines)
		return epp_status_no_memory();
	for (size_t i = 0; i < reader->tracks_count; i++) {
		struct line *line = &lines->lines[i];
		set_up(line, (uint32_t)i, &reader->tracks[i]);
		line->error_ns = source_error_ns(reader, line->source);
		if (line->is_thread)
			line->track = reader->tracks[i].thread;
		else if (reader_is_on_thread(&reader->tracks[i]))
			line->track = line->track->thread;
		lines->count = lines->known_count = (uint32_t)i + 1;
		if (reader->tracks[i].clock_kind == EPF_TRACK_CLOCK_DEVICE)
			EPP_TRY(device_clocks_find(clocks, &reader->track_definitions[i], &line->clock));
	}
	for (uint32_t i = 0; i < lines->count; i++) {
		uint32_t thread;
		if (!reader_is_on_thread(&reader->tracks[i]))
			continue;
		EPP_TRY(lines_find(lines, reader->tracks[i].thread->track, &thread));
		lines->lines[i].thread = &lines->lines[thread];
	}
	return join_threads(lines);
}

void lines_deinit(struct lines *lines)
{
	for (uint32_t i = 0; i < lines->count; i++) {
		nest_deinit(&lines->lines[i].nest);
		if (i >= lines->known_count)
			free(lines->unknown[i - lines->known_count]);
	}
	os_memory_free(lines->lines);
	*lines = (struct lines){ 0 };
}

static const struct epf_run *run_of(const struct reader *reader, uint32_t number)
{
	const struct epf_run *first = NULL;
	for (size_t i = 0; i < reader->runs_count; i++) {
		if (reader->runs[i].run == number)
			return &reader->runs[i];
		if (!first)
			first = &reader->runs[i];
	}
	return first;
}

/* The error of ONNX Runtime's formula is in [0, bracket].  Half the bracket is added to the times, and the other half
 * is the error bound. */
static void settle_offset(struct line *line, const struct epf_track *definition, const struct host_clock *host)
{
	int64_t half_ns = host_clock_span_ns(host, definition->bracket_ticks) / 2;
	if (half_ns > ITEM_NS_MAX / 4)
		half_ns = ITEM_NS_MAX / 4;
	line->offset_base_ns = line->run_start_ns + half_ns;
	line->offset_error_ns = half_ns + 1;
}

void lines_settle(struct lines *lines, const struct host_clock *host)
{
	const struct reader *reader = lines->reader;
	for (uint32_t i = 0; i < lines->known_count; i++) {
		struct line *line = &lines->lines[i];
		const struct epf_track *definition = &reader->track_definitions[i];
		const struct epf_run *run = run_of(reader, definition->run);
		size_t hint = 0;
		line->run_start_ns = run ? host_clock_ns(host, &hint, run->start.ticks) : 0;
		line->run_end_ns = run && run->end.ticks ? host_clock_ns(host, &hint, run->end.ticks) : INT64_MAX;
		switch (definition->clock_kind) {
		case EPF_TRACK_CLOCK_HOST:
			line->placement = LINE_BY_HOST;
			break;
		case EPF_TRACK_CLOCK_DEVICE:
			line->placement = line->clock->fit.count ? LINE_BY_PAIRS : LINE_BY_DURATION;
			break;
		case EPF_TRACK_CLOCK_OFFSET_US:
			line->placement = LINE_BY_OFFSET;
			settle_offset(line, definition, host);
			break;
		default:
			line->placement = LINE_BY_DURATION;
			break;
		}
	}
}

static epp_status *add_unknown(struct lines *lines, uint32_t track, uint32_t *index)
{
	uint32_t unknown = lines->count - lines->known_count;
	for (uint32_t i = 0; i < unknown; i++) {
		if (lines->unknown[i]->track == track || i + 1 == LINES_UNKNOWN_MAX) {
			*index = lines->known_count + i;
			return NULL;
		}
	}
	char name[32];
	snprintf(name, sizeof(name), "(track %u)", track);
	size_t name_bytes = strlen(name) + 1;
	epp_trace_track *made = malloc(sizeof(*made) + name_bytes);
	if (!made)
		return epp_status_no_memory();
	memcpy(made + 1, name, name_bytes);
	*made = (epp_trace_track){ .track = track,
		                   .kind = EPP_TRACK_THREAD,
		                   .pid = lines->reader->info.pid,
		                   .device = -1,
		                   .producer = -1,
		                   .name = (const char *)(made + 1),
		                   .group = "" };
	lines->unknown[unknown] = made;
	*index = lines->count;
	set_up(&lines->lines[lines->count++], *index, made);
	return NULL;
}

epp_status *lines_find(struct lines *lines, uint32_t track, uint32_t *index)
{
	uint32_t first = 0, last = lines->known_count;
	while (first < last) {
		uint32_t middle = first + (last - first) / 2;
		if (lines->reader->tracks[middle].track < track)
			first = middle + 1;
		else
			last = middle;
	}
	if (first < lines->known_count && lines->reader->tracks[first].track == track) {
		*index = first;
		return NULL;
	}
	return add_unknown(lines, track, index);
}

/* Classifies tracks: a thread, a device's stream, or the calls of a thread that a plugin reports.
 *
 * Only this file decides the kind; all other code compares epp_trace_track.kind.  In the file, a plugin's host calls
 * are on a device track without a device, or on a custom track with a producer:
 *
 *   device, with a clock of the plugin's, device -1   the plugin's calls; `stream` is the thread
 *   device, ONNX Runtime's microseconds, device -1-n  a stream of device n (ONNX Runtime's process number of a device)
 *   custom, with a producer                           the plugin's calls; `stream` is the thread, unless a device is set.
 *                                                     ONNX Runtime's process -1 may be device 0 or none: there it is a
 *                                                     thread only if one of that number has recorded
 *
 * A thread has a track for each run and for each way in which it records.  All of them point to the first one, which
 * is the row of their events.  A device's group includes its plugin's name if another plugin has a device of the
 * same name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/reader_private.h"

/* Room for a track's name and a producer's label; the format limits both. */
#define TEXT_BYTES_MAX 384u

static bool is_calls(const struct reader *reader, const epp_trace_track *track)
{
	if (track->producer < 0 || (uint32_t)track->producer >= reader->producers_count)
		return false;
	if (track->kind == EPP_TRACK_CUSTOM)
		return track->stream != EPF_STREAM_PROPERTIES;
	return track->kind == EPP_TRACK_DEVICE && track->device < 0 && track->stream >= 0 &&
	       track->clock_kind != EPF_TRACK_CLOCK_OFFSET_US;
}

static void classify(const struct reader *reader, epp_trace_track *track)
{
	if (is_calls(reader, track)) {
		track->kind = EPP_TRACK_CALLS;
		bool names_thread = track->device < 0 && track->stream > 0 && track->stream <= UINT32_MAX;
		track->thread_id = names_thread ? (uint32_t)track->stream : 0;
	} else if (track->kind == EPP_TRACK_DEVICE && track->clock_kind == EPF_TRACK_CLOCK_OFFSET_US && track->device < 0) {
		track->device = -1 - track->device;
	}
}

/* ---- threads ---- */

static int by_thread(const void *a, const void *b)
{
	const epp_trace_track *left = *(const epp_trace_track *const *)a, *right = *(const epp_trace_track *const *)b;
	if (left->source != right->source)
		return left->source < right->source ? -1 : 1;
	if (left->thread_id != right->thread_id)
		return left->thread_id < right->thread_id ? -1 : 1;
	if ((left->kind != EPP_TRACK_THREAD) != (right->kind != EPP_TRACK_THREAD))
		return left->kind == EPP_TRACK_THREAD ? -1 : 1;
	int order = left->kind == EPP_TRACK_THREAD ? strcmp(left->name, right->name) : 0;
	return order ? order : (left->track > right->track) - (left->track < right->track);
}

static bool is_same_thread(const epp_trace_track *track, const epp_trace_track *thread)
{
	return thread && track->thread_id && track->source == thread->source && track->thread_id == thread->thread_id &&
	       (track->kind == EPP_TRACK_CALLS || strcmp(track->name, thread->name) == 0);
}

/* Sets epp_trace_track.thread; `tracks` are the threads and calls, sorted by thread. */
static void find_threads(epp_trace_track **tracks, size_t count)
{
	epp_trace_track *thread = NULL;

	for (size_t i = 0; i < count; i++) {
		epp_trace_track *track = tracks[i];
		if (!is_same_thread(track, thread) && track->kind == EPP_TRACK_THREAD)
			thread = track;
		track->thread = is_same_thread(track, thread) ? thread : track->kind == EPP_TRACK_THREAD ? track : NULL;
		if (!track->thread && track->clock_kind == EPF_TRACK_CLOCK_OFFSET_US)
			track->thread_id = 0;
	}
}

/* ---- names ---- */

static epp_status *name_calls(struct reader_impl *impl, epp_trace_track *track)
{
	static const char calls[] = ": calls of ";
	const char *plugin = impl->reader.producers[track->producer].label;
	char text[TEXT_BYTES_MAX];

	track->group = track->thread ? track->thread->group : "";
	/* A trace that was made from another trace has the text already. */
	if (strstr(track->name, calls))
		return NULL;
	int bytes = snprintf(text, sizeof(text), "%s%s%s", track->thread ? track->thread->name : track->name, calls,
	                     plugin);
	track->name = reader_text(impl, text, (size_t)bytes < sizeof(text) ? (size_t)bytes : sizeof(text) - 1);
	return track->name ? NULL : epp_status_no_memory();
}

static int by_group(const void *a, const void *b)
{
	const epp_trace_track *left = *(const epp_trace_track *const *)a, *right = *(const epp_trace_track *const *)b;
	if (left->source != right->source)
		return left->source < right->source ? -1 : 1;
	int order = strcmp(left->group, right->group);
	return order ? order : (left->producer > right->producer) - (left->producer < right->producer);
}

static epp_status *tell_apart(struct reader_impl *impl, epp_trace_track **tracks, size_t count)
{
	const char *group = tracks[0]->group;
	char text[TEXT_BYTES_MAX];

	for (size_t i = 0; i < count; i++) {
		const char *label = impl->reader.producers[tracks[i]->producer].label;
		if (strstr(group, label))
			continue;
		if (i && tracks[i]->producer == tracks[i - 1]->producer) {
			tracks[i]->group = tracks[i - 1]->group;
			continue;
		}
		int bytes = snprintf(text, sizeof(text), "%s (%s)", group, label);
		tracks[i]->group = reader_text(impl, text, (size_t)bytes < sizeof(text) ? (size_t)bytes : sizeof(text) - 1);
		if (!tracks[i]->group)
			return epp_status_no_memory();
	}
	return NULL;
}

/* Appends the plugin's name to devices of different plugins that have the same name. */
static epp_status *name_devices(struct reader_impl *impl, epp_trace_track **tracks)
{
	struct reader *reader = &impl->reader;
	size_t count = 0, end;
	epp_status *status = NULL;

	for (size_t i = 0; i < reader->tracks_count; i++) {
		epp_trace_track *track = &reader->tracks[i];
		if (track->kind == EPP_TRACK_DEVICE && *track->group && track->producer >= 0 &&
		    (size_t)track->producer < reader->producers_count)
			tracks[count++] = track;
	}
	qsort(tracks, count, sizeof(*tracks), by_group);
	for (size_t i = 0; i < count && !status; i = end) {
		bool several = false;
		for (end = i + 1; end < count && tracks[end]->source == tracks[i]->source &&
		                  !strcmp(tracks[end]->group, tracks[i]->group);
		     end++)
			several |= strcmp(reader->producers[tracks[end]->producer].label,
			                  reader->producers[tracks[i]->producer].label) != 0;
		if (several)
			status = tell_apart(impl, tracks + i, end - i);
	}
	return status;
}

static epp_status *set_group(struct reader_impl *impl, epp_trace_track *track)
{
	const struct reader *reader = &impl->reader;
	const struct epf_source *source = track->source < reader->sources_count ? &reader->sources[track->source] : NULL;

	track->pid = source ? source->pid : 0;
	/* Threads are grouped under their program. */
	if (!source || *track->group || (track->kind != EPP_TRACK_THREAD && track->kind != EPP_TRACK_CALLS))
		return NULL;
	track->group = reader_text(impl, source->program, strnlen(source->program, sizeof(source->program)));
	return track->group ? NULL : epp_status_no_memory();
}

epp_status *reader_tracks_end(struct reader_impl *impl)
{
	struct reader *reader = &impl->reader;
	epp_trace_track **threads = reallocarray(NULL, reader->tracks_count + 1, sizeof(epp_trace_track *));
	epp_status *status = NULL;
	size_t count = 0;

	if (!threads)
		return epp_status_no_memory();
	for (size_t i = 0; i < reader->tracks_count; i++) {
		epp_trace_track *track = &reader->tracks[i];
		classify(reader, track);
		if (track->kind == EPP_TRACK_THREAD || track->kind == EPP_TRACK_CALLS)
			threads[count++] = track;
	}
	qsort(threads, count, sizeof(*threads), by_thread);
	find_threads(threads, count);
	status = name_devices(impl, threads);
	free(threads);
	for (size_t i = 0; i < reader->tracks_count && !status; i++) {
		if (reader->tracks[i].kind != EPP_TRACK_CALLS)
			status = set_group(impl, &reader->tracks[i]);
	}
	for (size_t i = 0; i < reader->tracks_count && !status; i++) {
		epp_trace_track *track = &reader->tracks[i];
		if (track->kind != EPP_TRACK_CALLS)
			continue;
		status = name_calls(impl, track);
		if (!status)
			status = set_group(impl, track);
	}
	return status;
}

/* Patterns are the shell's (fnmatch).  A name is judged once, a track nearly once. */
#include "export/filter.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/status.h"

bool filter_init(struct filter *filter, const epp_export_options *options, const epp_trace *trace)
{
	*filter = (struct filter){ .options = options, .trace = trace };
	return options->min_duration_ns > 0 || options->name || options->track || options->process;
}

void filter_deinit(struct filter *filter)
{
	free(filter->names);
	free(filter->dropped);
	filter->names = NULL;
	filter->dropped = NULL;
}

static bool matches(const char *pattern, const char *text)
{
	return fnmatch(pattern, text, 0) == 0;
}

/* ---- what is judged ---- */

static epp_status *judge_name(struct filter *filter, const epp_event *event, bool *passes)
{
	*passes = true;
	if (!filter->options->name)
		return NULL;
	if (!array_reserve_zeroed(&filter->names, &filter->names_room, event->name_number + (size_t)1, 1))
		return epp_status_no_memory();
	uint8_t *known = &filter->names[event->name_number];
	if (!*known)
		*known = 1 + matches(filter->options->name, event->name);
	*passes = *known == 2;
	return NULL;
}

static bool of_process(const struct filter *filter, const char *pattern, const epp_trace_track *track)
{
	epp_trace_source source;
	char pid[16];

	epp_trace_source_at(filter->trace, track->source, &source);
	snprintf(pid, sizeof pid, "%u", track->pid ? track->pid : source.pid);
	return matches(pattern, pid) || matches(pattern, source.program) || matches(pattern, source.label) ||
	       matches(pattern, source.hostname);
}

static bool judge_track(struct filter *filter, const epp_trace_track *track)
{
	size_t slot = track->track % FILTER_TRACKS_COUNT;
	const char *process = filter->options->process;

	if (filter->tracks[slot].track == track)
		return filter->tracks[slot].passes;
	bool passes = !filter->options->track || matches(filter->options->track, track->name);
	if (process)
		passes = passes && (matches(process, track->group) || of_process(filter, process, track));
	filter->tracks[slot].track = track;
	filter->tracks[slot].passes = passes;
	return passes;
}

static bool long_enough(const struct filter *filter, const epp_event *event)
{
	bool lasts = event->kind == EPP_EVENT_SLICE || event->kind == EPP_EVENT_ASYNC;

	return !lasts || event->duration_ns >= filter->options->min_duration_ns;
}

/* ---- causes that did not pass ---- */

static uint64_t key_of(uint32_t source, uint64_t id)
{
	uint64_t key = id + source * UINT64_C(0x9E3779B97F4A7C15);

	return key ? key : 1;
}

static size_t slot_of(const struct filter *filter, uint64_t key)
{
	size_t slot = (size_t)(key * UINT64_C(0xC2B2AE3D27D4EB4F) >> 16) & (filter->dropped_room - 1);

	while (filter->dropped[slot] && filter->dropped[slot] != key)
		slot = (slot + 1) & (filter->dropped_room - 1);
	return slot;
}

static bool was_dropped(const struct filter *filter, uint32_t source, uint64_t id)
{
	return filter->dropped_count && filter->dropped[slot_of(filter, key_of(source, id))];
}

static epp_status *remember(struct filter *filter, const epp_event *event)
{
	if (filter->dropped_count * 2 >= filter->dropped_room) {
		struct filter larger = { .dropped_room = filter->dropped_room ? filter->dropped_room * 2 : 1024 };
		larger.dropped = calloc(larger.dropped_room, sizeof *larger.dropped);
		if (!larger.dropped)
			return epp_status_no_memory();
		for (size_t i = 0; i < filter->dropped_room; i++) {
			if (filter->dropped[i])
				larger.dropped[slot_of(&larger, filter->dropped[i])] = filter->dropped[i];
		}
		free(filter->dropped);
		filter->dropped = larger.dropped;
		filter->dropped_room = larger.dropped_room;
	}
	uint64_t key = key_of(event->track->source, event->id);
	size_t slot = slot_of(filter, key);
	filter->dropped_count += !filter->dropped[slot];
	filter->dropped[slot] = key;
	return NULL;
}

epp_status *filter_judge(struct filter *filter, epp_event *event, bool *passes)
{
	EPP_TRY(judge_name(filter, event, passes));
	*passes = *passes && long_enough(filter, event) && judge_track(filter, event->track);
	if (!*passes)
		return event->flags & EPP_FLAG_REFERRED ? remember(filter, event) : NULL;
	if (event->parent_track && was_dropped(filter, event->parent_track->source, event->parent)) {
		event->parent_track = NULL;
		event->parent_start_ns = event->parent_end_ns = event->launch_ns = INT64_MIN;
	}
	return NULL;
}

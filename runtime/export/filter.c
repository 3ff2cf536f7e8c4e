/* Applies the filters of an export.  Patterns are shell patterns (fnmatch).  The results for names are cached in an
 * array, those for tracks in a direct-mapped table. */
#include "export/filter.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/status.h"
#include "containers/array.h"

bool filter_init(struct filter *filter, const epp_export_options *options, const epp_trace *trace)
{
	*filter = (struct filter){ .options = options, .trace = trace };
	return options->min_duration_ns > 0 || options->name || options->track || options->process;
}

void filter_deinit(struct filter *filter)
{
	free(filter->names);
	filter->names = NULL;
	id_set_deinit(&filter->dropped);
}

static bool matches(const char *pattern, const char *text)
{
	return fnmatch(pattern, text, 0) == 0;
}

/* ---- the tests of an event ---- */

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

static bool matches_process(const struct filter *filter, const char *pattern, const epp_trace_track *track)
{
	epp_trace_source source = { .struct_size = sizeof(source) };
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
		passes = passes && (matches(process, track->group) || matches_process(filter, process, track));
	filter->tracks[slot].track = track;
	filter->tracks[slot].passes = passes;
	return passes;
}

static bool is_long_enough(const struct filter *filter, const epp_event *event)
{
	bool lasts = event->kind == EPP_EVENT_SLICE || event->kind == EPP_EVENT_ASYNC;

	return !lasts || event->duration_ns >= filter->options->min_duration_ns;
}

epp_status *filter_judge(struct filter *filter, epp_event *event, bool *passes)
{
	EPP_TRY(judge_name(filter, event, passes));
	*passes = *passes && is_long_enough(filter, event) && judge_track(filter, event->track);
	if (!*passes) {
		bool added;
		if (event->flags & EPP_FLAG_REFERENCED &&
		    !id_set_add(&filter->dropped, event->track->source, event->id, &added))
			return epp_status_no_memory();
		return NULL;
	}
	if (event->parent_track && id_set_has(&filter->dropped, event->parent_track->source, event->parent)) {
		event->parent_track = NULL;
		event->parent_start_ns = event->parent_end_ns = event->launch_ns = INT64_MIN;
	}
	return NULL;
}

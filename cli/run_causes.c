/* Host events of a recording that may be the causes of others: noted with what ONNX Runtime says of their times, then found
 * by when they began. */
#include <stdlib.h>
#include <string.h>

#include "run.h"

static bool take_cause(struct run_causes *causes, const epp_timeline *timeline, const epp_event *event)
{
	struct run_cause cause = { .id = event->id, .name = event->name_number, .start_ticks = event->start_ticks };
	int64_t since_us = 0, started_us = -1;
	epp_trace_arg arg;
	size_t cursor = 0;

	while (epp_event_args(timeline, event, &cursor, &arg)) {
		if (arg.type == EPP_ARG_TEXT || arg.type == EPP_ARG_F64)
			continue;
		if (strcmp(arg.key, "ort_ts_us") == 0)
			since_us = arg.value.i64;
		else if (strcmp(arg.key, "ort_dur_us") == 0)
			cause.duration_us = arg.value.i64;
		else if (strcmp(arg.key, "ort_profile_us") == 0)
			cause.profile_us = arg.value.i64;
		else if (strcmp(arg.key, "ort_started_us") == 0)
			started_us = arg.value.i64;
	}
	if (!cause.profile_us)
		return true;
	if (started_us >= 0 && since_us - started_us > causes->bracket_us)
		causes->bracket_us = since_us - started_us;
	causes->only_us = !causes->count || causes->only_us == cause.profile_us ? cause.profile_us : 0;
	cause.start_us = cause.profile_us + since_us;
	if (causes->count == causes->room) {
		size_t room = causes->room ? causes->room * 2 : 1024;
		struct run_cause *larger = reallocarray(causes->causes, room, sizeof *larger);
		if (!larger)
			return false;
		causes->causes = larger;
		causes->room = room;
	}
	causes->causes[causes->count++] = cause;
	return true;
}

/* Of those that began together the innermost, which began last, comes first. */
static int by_start(const void *a, const void *b)
{
	const struct run_cause *left = a, *right = b;

	if (left->start_us != right->start_us)
		return left->start_us < right->start_us ? -1 : 1;
	return (left->id < right->id) - (left->id > right->id);
}

epp_status *run_causes_take(struct run_causes *causes, epp_trace *recorded)
{
	epp_timeline *timeline;
	const epp_event *event;
	bool enough = true;

	causes->recorded = recorded;
	epp_status *status = epp_timeline_create(recorded, NULL, &timeline);
	if (status)
		return status;
	while (enough && epp_timeline_next(timeline, &event)) {
		if (event->kind != EPP_EVENT_SLICE)
			continue;
		if (event->track->kind == EPP_TRACK_DEVICE)
			causes->has_device_events = true;
		else
			enough = take_cause(causes, timeline, event);
	}
	status = enough ? epp_timeline_status(timeline) : epp_status_no_memory();
	epp_timeline_release(timeline);
	if (causes->count)
		qsort(causes->causes, causes->count, sizeof *causes->causes, by_start);
	return status;
}

const struct run_cause *run_causes_find(const struct run_causes *causes, int64_t profile_us, int64_t start_us,
                                        int64_t duration_us, const epp_trace_arg *name)
{
	const struct run_cause *found = NULL;
	size_t low = 0, high = causes->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (causes->causes[middle].start_us < start_us)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < causes->count && causes->causes[low].start_us == start_us; low++) {
		const struct run_cause *cause = &causes->causes[low];
		size_t bytes;
		const char *text = epp_trace_name(causes->recorded, cause->name, &bytes);
		if ((duration_us >= 0 && duration_us != cause->duration_us) ||
		    (name && (name->text_bytes != bytes || memcmp(name->value.text, text, bytes) != 0)))
			continue;
		if (!found || (found->profile_us != profile_us && cause->profile_us == profile_us))
			found = cause;
	}
	return found;
}

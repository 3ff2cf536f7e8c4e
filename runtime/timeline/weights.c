/* Implements weights.h. */
#include "timeline/weights.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "base/weight.h"
#include "timeline/timeline.h"

static bool is_text(const char *text, size_t bytes, const char *wanted)
{
	return bytes == strlen(wanted) && memcmp(text, wanted, bytes) == 0;
}

epp_status *weights_of(const struct weights *weights, struct open_grants *open, epp_event *event)
{
	uint32_t source = event->track->source;
	const struct event_grant *found = NULL;

	/* An instant that epprof adds to an event (epprof.*) represents no events of the program, so its weight is not
	 * set. */
	if (event->kind == EPP_EVENT_INSTANT && event->name_bytes > 7 && memcmp(event->name, "epprof.", 7) == 0)
		return NULL;
	/* The id of a flow is that of the event at its end, so it is not looked up as the event's own. */
	if (event->kind == EPP_EVENT_SLICE || event->kind == EPP_EVENT_ASYNC)
		found = event_grants_find(&weights->persistent, source, event->id);
	if (!found && event->parent)
		found = event_grants_find(&weights->persistent, source, event->parent);
	if (!found && event->parent)
		found = event_grants_find(&open->open, source, event->parent);
	if (!found)
		return NULL;
	event->weight = found->grant;
	if (event->kind != EPP_EVENT_SLICE || event->track->kind == EPP_TRACK_DEVICE)
		return NULL;
	return open_grants_add(open, event, event->weight);
}

/* ---- reading the instants ---- */

/* *is_late is set if events of the run may have been read before its weight. */
static epp_status *read_weight(struct weights *weights, const struct epp_timeline *timeline, const epp_event *event,
                               bool *is_late)
{
	struct event_grant made = { .source = event->track->source };
	uint64_t weight = 0;
	size_t cursor = 0;
	epp_trace_arg arg;

	while (epp_event_args(timeline, event, &cursor, &arg)) {
		if (arg.type != EPP_ARG_U64)
			continue;
		if (is_text(arg.key, arg.key_bytes, WEIGHT_KEY_EVENT))
			made.id = arg.value.u64;
		else if (is_text(arg.key, arg.key_bytes, WEIGHT_KEY_WEIGHT))
			weight = arg.value.u64;
	}
	made.grant = (uint32_t)weight;
	if (!made.id || !weight || weight > WEIGHT_MAX)
		return NULL;
	*is_late |= event->parent != made.id;
	return event_grants_add(&weights->persistent, &made);
}

/* The mark in u.of of grants that are not of runs, but inherited. */
#define INHERITED 1u

/* Reads all events.  `is_late`: as for read_weight; NULL: the weights of runs have been read before. */
static epp_status *read_events(struct weights *weights, struct reader *reader, const epp_timeline_options *options,
                               bool *is_late)
{
	struct open_grants open = { 0 };
	struct epp_timeline *timeline;
	epp_status *status = NULL;
	epp_event event;

	EPP_TRY(timeline_create_with(reader, options, &(struct inherited){ 0 }, &timeline));
	while (!status && timeline_next(timeline, &event)) {
		status = weights_of(weights, &open, &event);
		if (status)
			break;
		if (event.kind == EPP_EVENT_INSTANT && is_text(event.name, event.name_bytes, WEIGHT_SET)) {
			if (is_late)
				status = read_weight(weights, timeline, &event, is_late);
		} else if (event.weight > 1 && event.flags & EPP_FLAG_REFERENCED && event.kind == EPP_EVENT_SLICE) {
			status = event_grants_add(&weights->persistent, &(struct event_grant){ .id = event.id,
			                                                                       .source = event.track->source,
			                                                                       .grant = event.weight,
			                                                                       .u.of = INHERITED });
		}
	}
	if (!status)
		status = epp_timeline_status(timeline);
	open_grants_deinit(&open);
	epp_timeline_destroy(timeline);
	return status;
}

/* Removes the grants that are inherited. */
static epp_status *keep_runs(struct event_grants *granted)
{
	size_t count = granted->count;

	granted->count = 0;
	hash_index_clear(&granted->index);
	for (size_t i = 0; i < count; i++) {
		const struct event_grant event = granted->events[i];
		if (event.u.of != INHERITED)
			EPP_TRY(event_grants_add(granted, &event));
	}
	return NULL;
}

/* ---- create ---- */

epp_status *weights_create(struct reader *reader, const epp_timeline_options *options, struct weights **made)
{
	const epp_timeline_options all = { .struct_size = sizeof(all),
		                           .sources = options->sources,
		                           .sources_count = options->sources_count,
		                           .as_claimed = options->as_claimed };
	bool is_late = false;

	*made = NULL;
	if (options->unweighted || !reader_has_name(reader, WEIGHT_SET))
		return NULL;
	struct weights *weights = calloc(1, sizeof(*weights));
	epp_status *status = weights ? read_events(weights, reader, &all, &is_late) : epp_status_no_memory();
	if (!status && is_late)
		status = keep_runs(&weights->persistent);
	if (!status && is_late)
		status = read_events(weights, reader, &all, NULL);
	if (status)
		weights_destroy(weights);
	else
		*made = weights;
	return status;
}

void weights_destroy(struct weights *weights)
{
	if (weights)
		event_grants_deinit(&weights->persistent);
	free(weights);
}

/* The functions of epprof/timeline.h except epp_timeline_next, which is in build_event.c.  The parts of a timeline are
 * described in timeline/timeline.h. */
#include "timeline/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/options.h"

#define ACTIVE_BYTES_MOST ((size_t)64 << 20)

static epp_status *take_options(struct epp_timeline *timeline, const epp_timeline_options *options)
{
	epp_timeline_options *own = &timeline->options;

	EPP_TRY(options_take(own, sizeof(*own), options, "timeline options"));
	own->struct_size = sizeof(*own);
	if (!own->from_ns && !own->to_ns) {
		own->from_ns = INT64_MIN;
		own->to_ns = INT64_MAX;
	}
	if (own->from_ns > own->to_ns)
		return epp_status_create(EPP_INVALID_ARGUMENT, "timeline options: from_ns is later than to_ns");
	return NULL;
}

/* If `inherited` is NULL, the timeline reads its requests and weights itself. */
static epp_status *prepare(struct epp_timeline *timeline, const epp_timeline_options *options,
                           const struct inherited *inherited)
{
	EPP_TRY(take_options(timeline, options));
	EPP_TRY(host_clock_init(&timeline->host, timeline->reader));
	EPP_TRY(lines_init(&timeline->lines, timeline->reader, &timeline->clocks));
	EPP_TRY(scan_pass_blocks(timeline));
	EPP_TRY(plan_merge(timeline));
	if (!inherited)
		EPP_TRY(inherited_init(&timeline->own, timeline->reader, &timeline->options));
	timeline->requests = inherited ? inherited->requests : timeline->own.requests;
	timeline->weights = inherited ? inherited->weights : timeline->own.weights;
	return timeline->options.trace_id
	           ? requests_select(timeline->requests, timeline->options.trace_id, &timeline->selected)
	           : NULL;
}

static epp_status *create(struct reader *reader, const epp_timeline_options *options, size_t active_bytes_most,
                          size_t spill_bytes_most, bool is_measuring, const struct inherited *inherited,
                          epp_timeline **timeline)
{
	*timeline = NULL;
	struct epp_timeline *made = calloc(1, sizeof(*made));
	if (!made)
		return epp_status_no_memory();
	made->reader = reader;
	made->is_measuring = is_measuring;
	made->active_bytes_most = active_bytes_most;
	made->ends_block = BLOCK_NONE;
	made->resolved_until_ns = INT64_MIN;
	merge_init(&made->merge);
	spill_init(&made->spill);
	made->spill.bytes_most = spill_bytes_most;
	made->references.bytes_most = spill_bytes_most < SPILL_BYTES_MOST ? spill_bytes_most : REFERENCES_BYTES_MOST;
	epp_status *status = prepare(made, options, inherited);
	if (status) {
		epp_timeline_destroy(made);
		return status;
	}
	*timeline = made;
	return NULL;
}

epp_status *timeline_create(struct reader *reader, const epp_timeline_options *options, size_t active_bytes_most,
                            size_t spill_bytes_most, epp_timeline **timeline)
{
	return create(reader, options, active_bytes_most, spill_bytes_most, false, NULL, timeline);
}

epp_status *timeline_create_measuring(const struct epp_timeline *like, const epp_timeline_options *options,
                                      struct epp_timeline **timeline)
{
	const struct inherited nothing = { 0 };

	return create(like->reader, options, like->active_bytes_most, like->spill.bytes_most, true, &nothing, timeline);
}

epp_status *timeline_create_with(struct reader *reader, const epp_timeline_options *options,
                                 const struct inherited *inherited, struct epp_timeline **timeline)
{
	return create(reader, options, ACTIVE_BYTES_MOST, SPILL_BYTES_MOST, false, inherited, timeline);
}

epp_status *inherited_init(struct inherited *inherited, struct reader *reader, const epp_timeline_options *options)
{
	epp_timeline_options given;

	*inherited = (struct inherited){ 0 };
	EPP_TRY(options_take(&given, sizeof(given), options, "timeline options"));
	given.struct_size = sizeof(given);
	if (given.requests || given.trace_id)
		EPP_TRY(requests_create(reader, &given, &inherited->requests));
	epp_status *status = weights_create(reader, &given, &inherited->weights);
	if (status)
		inherited_deinit(inherited);
	return status;
}

void inherited_deinit(struct inherited *inherited)
{
	requests_destroy(inherited->requests);
	weights_destroy(inherited->weights);
	*inherited = (struct inherited){ 0 };
}

epp_status *epp_timeline_create(epp_trace *trace, const epp_timeline_options *options, epp_timeline **timeline)
{
	if (!timeline)
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_timeline_create: timeline is NULL");
	*timeline = NULL;
	if (!trace)
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_timeline_create: trace is NULL");
	return timeline_create(trace->reader, options, ACTIVE_BYTES_MOST, SPILL_BYTES_MOST, timeline);
}

void epp_timeline_destroy(epp_timeline *timeline)
{
	if (!timeline)
		return;
	merge_deinit(&timeline->merge);
	spill_deinit(&timeline->spill);
	lines_deinit(&timeline->lines);
	device_clocks_deinit(&timeline->clocks);
	for (size_t i = 0; i < timeline->causal_count; i++) {
		causal_clock_deinit(timeline->causal[i]);
		free(timeline->causal[i]);
	}
	free(timeline->causal);
	host_clock_deinit(&timeline->host);
	references_deinit(&timeline->references);
	ends_deinit(&timeline->ends);
	time_range_deinit(&timeline->ended_on_other_thread);
	free(timeline->flows);
	free(timeline->waits);
	parents_deinit(&timeline->late_parents);
	free(timeline->scanned);
	free(timeline->rank_of_block);
	free(timeline->block_of_rank);
	free(timeline->records);
	free(timeline->unordered.items);
	free(timeline->unordered.extras);
	free(timeline->order.order);
	free(timeline->order.stack);
	free(timeline->buffer);
	free(timeline->ends_buffer);
	inherited_deinit(&timeline->own);
	open_grants_deinit(&timeline->open_grants);
	open_grants_deinit(&timeline->open_weights);
	free(timeline->selected);
	epp_status_destroy(timeline->status);
	free(timeline);
}

int epp_timeline_request_at(const epp_timeline *timeline, const epp_event *event, size_t index, epp_request *request)
{
	const struct requests *requests = timeline->requests;
	const epp_request none = { .struct_size = sizeof(none) };
	size_t count = requests ? requests->requests_count : 0;
	const uint32_t *numbers = NULL;

	if (event)
		numbers = requests_numbers(requests, event, &count);
	if (index < count)
		return requests_fill(requests, numbers ? numbers[index] : (uint32_t)index, request);
	options_fill(request, &none, sizeof(none));
	return 0;
}

/* Reads the args of an event whose end, with the args, is in another block. */
static bool fetch_args(struct epp_timeline *timeline)
{
	struct event_args *args = &timeline->args;

	if (timeline->ends_block != args->block) {
		timeline->ends_block = BLOCK_NONE;
		struct decoded decoded;
		epp_status *status = block_decode(timeline, args->block, &timeline->ends_buffer,
		                                  &timeline->ends_buffer_bytes, &decoded);
		if (status) {
			timeline->ended = true;
			timeline->status = status;
			return false;
		}
		timeline->ends_block = args->block;
		timeline->ends_payload = decoded.payload;
		timeline->ends_payload_bytes = decoded.payload_bytes;
	}
	args->payload = timeline->ends_payload;
	args->payload_bytes = timeline->ends_payload_bytes;
	return true;
}

/* The upper half of the cursor is the number of args returned so far, the lower half is the position of the next
 * arg. */
int epp_event_args(const epp_timeline *timeline, const epp_event *event, size_t *cursor, epp_trace_arg *arg)
{
	const struct event_args *args = event->args;
	uint32_t count = (uint32_t)((uint64_t)*cursor >> 32), position = (uint32_t)*cursor;
	struct codec_arg decoded;

	*arg = (epp_trace_arg){ 0 };
	if (!args || count >= event->args_count)
		return 0;
	/* The cast is safe, because epp_timeline_create allocates every timeline, so none is a const object. */
	if (!args->payload && !fetch_args((struct epp_timeline *)timeline))
		return 0;
	position = codec_arg(args->payload, args->payload_bytes, count ? position : args->offset, &decoded);
	if (!position)
		return 0;
	*cursor = (size_t)((uint64_t)(count + 1) << 32 | position);
	arg->key = epp_trace_name(&(epp_trace){ timeline->reader }, decoded.key, &arg->key_bytes);
	arg->type = decoded.type;
	if (decoded.type == EPP_ARG_TEXT) {
		arg->text_bytes = decoded.text_bytes;
		arg->value.text = (const char *)decoded.text;
	} else {
		arg->value.u64 = decoded.value;
	}
	if (decoded.key == EPF_NAME_SUBMIT || decoded.key == EPF_NAME_QUEUE) {
		int64_t at_ns = decoded.key == EPF_NAME_SUBMIT ? event->launch_ns : event->queue_ns;
		arg->type = EPP_ARG_I64;
		if (__builtin_sub_overflow(event->start_ns, at_ns, &arg->value.i64))
			arg->value.i64 = 0;
		/* The time is not known, for example because only the duration of the event was recorded. */
		if (at_ns == INT64_MIN) {
			arg->type = EPP_ARG_TEXT;
			arg->value.text = "unknown";
			arg->text_bytes = sizeof("unknown") - 1;
		}
	}
	return 1;
}

const char *epp_placement_name(unsigned placement)
{
	static const char *const names[] = { "measured",      "fitted",  "formula",  "inferred",
		                             "duration only", "clamped", "ambiguous" };

	return placement < EPP_PLACEMENT_COUNT ? names[placement] : "unknown";
}

epp_status *epp_timeline_status(epp_timeline *timeline)
{
	epp_status *status = timeline->status;
	timeline->status = NULL;
	return status;
}

const epp_timeline_counts *epp_timeline_get_counts(const epp_timeline *timeline)
{
	return &timeline->counts;
}

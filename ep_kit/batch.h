/* Submits all events to ONNX Runtime in EndProfiling, as OrtProfilingEvents in microseconds.
 *
 * The kit itself fits the device's clock to the host's (CLOCK_MONOTONIC), and converts times by ONNX Runtime's formula,
 * rounded down: (start_offset_ns + (event - start)) / 1000.  AddEvents takes time proportional to the number of events
 * already in the container, so each call adds many events.  It does not add all at once, because memory must stay
 * bounded.
 * All functions run only in EndProfiling, which has exclusive access to all chunks, tokens and pairs. */
#ifndef EPPROF_EP_KIT_BATCH_H
#define EPPROF_EP_KIT_BATCH_H

#include <stdio.h>

#include "clock_compare.h"
#include "json_text.h"
#include "kit.h"
#include "names.h"
#include "profile_start.h"
#include "special.h"
#include "tokens.h"

#define KIT_BATCH_EVENTS 16384u
#define KIT_OWN_ARGS_MAX 11u
#define KIT_BATCH_ARGS_MAX (KIT_SPECIAL_ARGS_MAX + KIT_ARGS_MAX + KIT_OWN_ARGS_MAX)
#define KIT_NUMBER_BYTES 32u

struct kit_batch {
	struct kit *kit;
	OrtProfilingEventsContainer *container;
	OrtStatus *status; /* the first error of AddEvents or CreateProfilingEvent */
	uint64_t added_count;

	struct clock_fit fit;
	struct clock_segment *segments;
	struct clock_segment segment_first;
	size_t hint;

	OrtProfilingEvent **events;
	size_t events_count;
	size_t pushed_count; /* the number of events in the batch that the collector received, too; if AddEvents fails,
	                        they are not lost */
	size_t own_count;    /* the number of events in the batch that the kit created itself; no ledger counts them */
	size_t events_room;
	OrtProfilingEvent *event_first; /* used as an array of one event if there is no memory for a larger array */

	struct json_text text;
	const char *keys[KIT_BATCH_ARGS_MAX];
	const char *values[KIT_BATCH_ARGS_MAX];
	size_t args_count;
};

/* Counts events that could not be added to ONNX Runtime's container.  The `pushed_count` events that the collector
 * received are not lost, but are missing in ONNX Runtime's profile.  The `others_count` other events are lost. */
static void kit_batch_count_lost(struct kit *kit, uint64_t pushed_count, uint64_t others_count)
{
	atomic_fetch_add_explicit(&kit->batch_failures, pushed_count, memory_order_relaxed);
	kit_count_lost(kit, KIT_OTHER, others_count);
}

static void kit_batch_begin(struct kit_batch *batch, struct kit *kit, OrtProfilingEventsContainer *container)
{
	batch->kit = kit;
	batch->container = container;
	batch->text.is_escaped_later = kit->host_escapes;
	kit->offset_ns += kit_profile_start_late_ns(kit);
	batch->events = (OrtProfilingEvent **)malloc(KIT_BATCH_EVENTS * sizeof(OrtProfilingEvent *));
	batch->events_room = batch->events ? KIT_BATCH_EVENTS : 1;
	if (!batch->events)
		batch->events = &batch->event_first;

	struct clock_pair *pairs = kit->pairs;
	size_t count = clock_fit_prepare(pairs, kit->pairs_count, kit->host_ticks_per_second);
	batch->segments = (struct clock_segment *)calloc(count ? count : 1, sizeof(*batch->segments));
	if (!batch->segments || count == 0) {
		pairs = &kit->pair_first;
		count = kit_reads_clock(kit) && kit->pair_first.half_width != UINT64_MAX;
	}
	clock_fit_build(&batch->fit, batch->segments ? batch->segments : &batch->segment_first, pairs, count,
	                kit->options.ticks_per_second, kit->host_ticks_per_second, kit->options.clock_bits);
}

/* Adds the events of the batch to ONNX Runtime's container, and empties the batch. */
static void kit_batch_flush(struct kit_batch *batch)
{
	struct kit *kit = batch->kit;
	uint64_t others_count = batch->events_count - batch->own_count - batch->pushed_count;
	if (batch->events_count == 0)
		return;
	OrtStatus *status = kit->ep_api->ProfilingEventsContainer_AddEvents(
	    batch->container, (const OrtProfilingEvent *const *)batch->events, batch->events_count);
	if (status) {
		kit_batch_count_lost(kit, batch->pushed_count, others_count);
		if (batch->status)
			kit_status_ignore(kit, status);
		else
			batch->status = status;
	} else {
		batch->added_count += batch->events_count;
		atomic_fetch_add_explicit(&kit->delivered, others_count, memory_order_relaxed);
	}
	for (size_t i = 0; i < batch->events_count; i++)
		kit->ep_api->ReleaseProfilingEvent(batch->events[i]);
	batch->events_count = 0;
	batch->pushed_count = 0;
	batch->own_count = 0;
}

static void kit_batch_arg(struct kit_batch *batch, const char *key, const char *value)
{
	for (size_t i = 0; i < batch->args_count; i++) {
		if (strcmp(batch->keys[i], key) == 0)
			return;
	}
	batch->keys[batch->args_count] = key;
	batch->values[batch->args_count++] = json_text_add(&batch->text, value, true);
}

/* Writes a number in decimal into the last bytes of `text`, and returns the address of its first character.  printf is
 * not used, because on some systems it has no length modifier for 64 bits in C11. */
static const char *kit_decimal(char text[KIT_NUMBER_BYTES], uint64_t number, bool is_negative)
{
	char *at = &text[KIT_NUMBER_BYTES - 1];
	*at = '\0';
	do
		*--at = (char)('0' + number % 10);
	while ((number /= 10) != 0);
	if (is_negative)
		*--at = '-';
	return at;
}

static void kit_batch_arg_number(struct kit_batch *batch, const char *key, int64_t value)
{
	char number[KIT_NUMBER_BYTES];
	uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	kit_batch_arg(batch, key, kit_decimal(number, size, value < 0));
}

/* Adds an arg with a count or a correlation id. */
static void kit_batch_arg_count(struct kit_batch *batch, const char *key, uint64_t value)
{
	char number[KIT_NUMBER_BYTES];
	kit_batch_arg(batch, key, kit_decimal(number, value, false));
}

/* Adds an arg with a floating-point number: 17 digits with a point, independent of the locale of the process. */
static void kit_batch_arg_f64(struct kit_batch *batch, const char *key, double value)
{
	char number[KIT_NUMBER_BYTES];
	snprintf(number, sizeof(number), "%.17g", value);
	for (char *at = number; *at; at++) {
		if (!strchr("0123456789+-einfa", *at))
			*at = '.';
	}
	kit_batch_arg(batch, key, number);
}

/* Adds an arg that the EP gave to the event. */
static void kit_batch_arg_own(struct kit_batch *batch, const EpprofArg *arg)
{
	const char *key = json_text_add(&batch->text, arg->key, false);
	if (arg->type == KIT_ARG_TEXT)
		kit_batch_arg(batch, key, arg->text);
	else if (arg->type == KIT_ARG_F64)
		kit_batch_arg_f64(batch, key, arg->number.f64);
	else if (arg->type == KIT_ARG_U64)
		kit_batch_arg_count(batch, key, arg->number.u64);
	else
		kit_batch_arg_number(batch, key, arg->number.i64);
}

/* Creates an event with the collected args.  `name` must be prepared by json_text.  If there is no memory, or if a call
 * fails, the event is lost.  `counted` is the batch's count to increment, or NULL. */
static bool kit_batch_event(struct kit_batch *batch, OrtProfilingEventCategory category, int32_t process_id,
                            int32_t thread_id, const char *name, int64_t start_us, int64_t duration_us, size_t *counted)
{
	struct kit *kit = batch->kit;
	OrtProfilingEvent *event = NULL;
	OrtStatus *status = kit->ep_api->CreateProfilingEvent(category, process_id, thread_id, name, start_us, duration_us,
	                                                      batch->keys, batch->values, batch->args_count, &event);
	if (status || !event) {
		if (batch->status)
			kit_status_ignore(kit, status);
		else
			batch->status = status;
		return false;
	}
	batch->events[batch->events_count++] = event;
	if (counted)
		++*counted;
	if (batch->events_count == batch->events_room)
		kit_batch_flush(batch);
	return true;
}

static int64_t kit_us_of(const struct kit *kit, uint64_t host_ns)
{
	int64_t ns = kit->offset_ns + (int64_t)(host_ns - kit->start_ns);
	return ns >= 0 ? ns / 1000 : -((999 - ns) / 1000);
}

/* Computes start and duration of an event on the clock of ONNX Runtime's profile.  Returns false if there is no clock
 * pair; the event then starts with its parent or, if the parent's start is unknown, when its token was taken or the run
 * began. */
static bool kit_batch_place(struct kit_batch *batch, const EpprofEvent *event, const struct kit_token *token,
                            int64_t *start_us, int64_t *duration_us)
{
	const struct kit *kit = batch->kit;
	const struct kit_context *context = token ? token->context : NULL;
	uint64_t ticks = (uint64_t)kit_clock_since(kit, event->end_ticks, event->start_ticks);
	if (batch->fit.count == 0) {
		uint64_t ns = clock_fit_scale(ticks, kit->host_ticks_per_second, kit->options.ticks_per_second);
		*start_us = context ? context->start_us
		                    : kit_us_of(kit, token && token->taken_ns ? token->taken_ns : kit->start_ns);
		*duration_us = (int64_t)(ns / 1000);
		return false;
	}
	struct clock_place start, end;
	size_t end_hint;
	/* If the counter wraps, stops or jumps, the position is searched near the parent's time, which is more
	 * reliable. */
	if ((kit->clock_unused_bits > 0 || batch->fit.is_doubtful) && context) {
		uint64_t near_ns = kit->start_ns + (uint64_t)(context->start_us * 1000 - kit->offset_ns);
		int64_t position = clock_fit_position_near(&batch->fit, event->start_ticks, near_ns, &batch->hint);
		start = clock_fit_place_caused(&batch->fit, position, near_ns, &batch->hint);
		end_hint = batch->hint;
		end = clock_fit_place_caused(&batch->fit, (int64_t)((uint64_t)position + ticks), start.host, &end_hint);
	} else {
		int64_t position = clock_fit_position(&batch->fit, event->start_ticks, batch->hint);
		start = clock_fit_place(&batch->fit, position, &batch->hint);
		end_hint = batch->hint;
		end = clock_fit_place(&batch->fit, (int64_t)((uint64_t)position + ticks), &end_hint);
	}
	*start_us = kit_us_of(kit, start.host);
	*duration_us = end.host > start.host ? (int64_t)((end.host - start.host) / 1000) : 0;
	return true;
}

/* Converts a stream's number to a thread id.  A number from 0 to INT32_MAX, and -1, are not changed; other numbers are
 * folded into 31 bits. */
static int32_t kit_thread_id_of(int64_t stream)
{
	uint64_t folded = (uint64_t)stream;
	if (folded > INT32_MAX)
		folded = (folded ^ folded >> 31) & INT32_MAX;
	return stream == -1 ? -1 : (int32_t)folded;
}

/* If the kit created the arg (special.h), adds it and returns true.  Returns false for an arg that the EP gave.
 * `start_us` is the start of the event; NULL: there is no clock pair, so the time since the submission is unknown. */
static bool kit_batch_arg_special(struct kit_batch *batch, const EpprofArg *arg, const int64_t *start_us)
{
	const struct kit *kit = batch->kit;
	if (arg->key == kit_submit_key) {
		if (start_us)
			kit_batch_arg_number(batch, "launch_us", *start_us - kit_us_of(kit, arg->number.u64));
	} else if (arg->key == kit_queue_key) {
		kit_batch_arg_count(batch, "queue_us",
		                    clock_fit_scale(arg->number.u64, 1000000, kit->options.ticks_per_second));
	} else if (arg->key == kit_flow_begin_key) {
		kit_batch_arg_count(batch, "flow_begin", arg->number.u64);
	} else if (arg->key == kit_flow_end_key) {
		kit_batch_arg_count(batch, "flow_end", arg->number.u64);
	} else {
		return false;
	}
	return true;
}

static void kit_batch_add(struct kit_batch *batch, const EpprofEvent *event, bool is_pushed)
{
	struct kit *kit = batch->kit;
	uint64_t token_number = kit_event_token(kit, event, is_pushed);
	const struct kit_token *token = token_number ? kit_token_find(kit, token_number) : NULL;
	const struct kit_context *context = token ? token->context : NULL;
	const struct kit_name *device_name = kit_name_find(kit, false, event->device, 0);
	const struct kit_name *stream_name = kit_name_find(kit, true, event->device, event->stream);
	const char *const contexts[] = {
		device_name ? device_name->text : NULL, stream_name ? stream_name->text : NULL,
		context ? context->name : NULL,         context ? context->op_name : NULL,
		context ? context->node_index : NULL,
	};
	static const char *const context_keys[] = { "device_name", "stream_name", "ort_event_name", "ort_op_name",
		                                    "ort_node_index" };
	const size_t contexts_count = sizeof(contexts) / sizeof(*contexts);

	size_t bytes = json_text_bytes(event->name) + (event->args_count + KIT_OWN_ARGS_MAX) * (size_t)KIT_NUMBER_BYTES;
	for (uint32_t i = 0; i < event->args_count; i++) {
		bytes += json_text_bytes(event->args[i].key);
		if (event->args[i].type == KIT_ARG_TEXT)
			bytes += json_text_bytes(event->args[i].text);
	}
	for (size_t i = 0; i < contexts_count; i++)
		bytes += contexts[i] ? json_text_bytes(contexts[i]) : 0;
	if (!json_text_reset(&batch->text, bytes)) {
		kit_batch_count_lost(kit, is_pushed, !is_pushed);
		return;
	}

	const char *name = json_text_add(&batch->text, event->name, false);
	int64_t start_us;
	int64_t duration_us;
	bool is_placed = kit_batch_place(batch, event, token, &start_us, &duration_us);
	batch->args_count = 0;
	for (uint32_t i = 0; i < event->args_count; i++) {
		const EpprofArg *arg = &event->args[i];
		if (!kit_batch_arg_special(batch, arg, is_placed ? &start_us : NULL))
			kit_batch_arg_own(batch, arg);
	}
	kit_batch_arg_number(batch, "device", event->device);
	kit_batch_arg_number(batch, "stream", event->stream);
	if (token) {
		kit_batch_arg_count(batch, "ort_correlation_id", token->correlation_id);
		kit_batch_arg_count(batch, "ort_thread_id", token->thread_id);
	}
	for (size_t i = 0; i < contexts_count; i++) {
		if (contexts[i])
			kit_batch_arg(batch, context_keys[i], contexts[i]);
	}
	if (is_pushed)
		kit_batch_arg_count(batch, EPPROF_RECORDED_KEY, event->parent);
	if (!is_placed)
		kit_batch_arg(batch, "epprof.placement", "duration only");
	if (!kit_batch_event(batch, (OrtProfilingEventCategory)event->category,
	                     event->device < 0 ? -1 : -1 - event->device, kit_thread_id_of(event->stream), name,
	                     start_us, duration_us, is_pushed ? &batch->pushed_count : NULL))
		kit_batch_count_lost(kit, is_pushed, !is_pushed);
}

/* If events, parents or texts were lost, adds an event whose args are the counts of each kind of loss. */
static void kit_batch_add_lost(struct kit_batch *batch)
{
	struct kit *kit = batch->kit;
	kit_batch_flush(batch);
	struct kit_sums sums = kit_sums_read(kit);
	EpprofLedger ledger = kit_ledger(kit, &sums);
	const struct {
		const char *key;
		uint64_t count;
	} counts[] = {
		{ "emitted", ledger.emitted },
		{ "lost_no_buffer",
		  ledger.lost_no_buffer + atomic_load_explicit(&kit->batch_no_room, memory_order_relaxed) },
		{ "lost_refused", ledger.lost_refused },
		{ "lost_outside_run", ledger.lost_outside_run },
		{ "lost_other", ledger.lost_other + atomic_load_explicit(&kit->batch_failures, memory_order_relaxed) },
		{ "parents_lost", atomic_load_explicit(&kit->contexts_lost, memory_order_relaxed) },
		{ "texts_cut", atomic_load_explicit(&kit->cut_count, memory_order_relaxed) },
	};
	size_t const counts_count = sizeof(counts) / sizeof(counts[0]);
	uint64_t all = 0;
	for (size_t i = 1; i < counts_count; i++)
		all += counts[i].count;
	if (all == 0 ||
	    !json_text_reset(&batch->text, json_text_bytes(kit->options.ep_name) + 2 * counts_count * KIT_NUMBER_BYTES))
		return;
	batch->args_count = 0;
	kit_batch_arg(batch, "ep", kit->options.ep_name);
	for (size_t i = 0; i < counts_count; i++)
		kit_batch_arg_count(batch, counts[i].key, counts[i].count);
	/* If the collector records, its ledger already has these counts. */
	if (atomic_load_explicit(&kit->recording, memory_order_relaxed))
		kit_batch_arg_count(batch, EPPROF_RECORDED_KEY, 0);
	kit_batch_event(batch, OrtProfilingEventCategory_API, -1, -1, "epprof.lost",
	                kit_us_of(kit, kit_host_ticks(kit)), 0, &batch->own_count);
}

/* Frees the batch's memory.  Returns the first error only if no event was added, because ONNX Runtime drops all events
 * of the profiler if it gets an error. */
static OrtStatus *kit_batch_end(struct kit_batch *batch)
{
	kit_batch_flush(batch);
	if (batch->status && batch->added_count > 0) {
		kit_status_ignore(batch->kit, batch->status);
		batch->status = NULL;
	}
	if (batch->events != &batch->event_first)
		free(batch->events);
	free(batch->segments);
	free(batch->text.bytes);
	return batch->status;
}

#endif

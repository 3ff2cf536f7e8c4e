/* An EP without clock pairs.
 *
 * This file replaces the kit: linked with the sample EP's ort_ep.c and the accelerator, it makes an EP that reads the
 * device's clock once, in StartProfiling, places its events by ONNX Runtime's formula in microseconds, and relates them
 * by the correlation id alone.  Tests use it to show how soon such a clock drifts out of its error bound.  It supports
 * one profiler at a time, which is enough for the tests. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "epprof/ep.h"

#define DEPTH 64

struct state {
	epp_ep_options options;
	const OrtApi *ort_api;
	const OrtEpApi *ep_api;
	int64_t start_offset_ns;
	uint64_t start_ticks;
	pthread_mutex_t lock; /* guards the events */
	OrtProfilingEvent **events;
	size_t count;
	size_t capacity;
};

static _Thread_local uint64_t open_ids[DEPTH];
static _Thread_local size_t depth;

static struct state *state_of(OrtEpProfilerImpl *impl)
{
	return ((struct epp_ep_profiler *)impl)->state;
}

static void events_release(struct state *state)
{
	while (state->count > 0)
		state->ep_api->ReleaseProfilingEvent(state->events[--state->count]);
}

static void formula_release(OrtEpProfilerImpl *impl)
{
	struct state *state = state_of(impl);
	events_release(state);
	pthread_mutex_destroy(&state->lock);
	epp_ep_options options = state->options;
	free(state->events);
	free(state);
	options.release((epp_ep_profiler *)impl, options.user);
}

static OrtStatus *formula_start(OrtEpProfilerImpl *impl, int64_t start_offset_ns)
{
	struct state *state = state_of(impl);
	state->start_offset_ns = start_offset_ns;
	state->start_ticks = state->options.now_ticks(state->options.user);
	return NULL;
}

static OrtStatus *formula_begin(OrtEpProfilerImpl *impl, uint64_t id)
{
	(void)impl;
	if (depth < DEPTH)
		open_ids[depth] = id;
	depth++;
	return NULL;
}

static OrtStatus *formula_stop(OrtEpProfilerImpl *impl, uint64_t id, const OrtProfilingEvent *event)
{
	(void)impl, (void)id, (void)event;
	depth--;
	return NULL;
}

static OrtStatus *formula_end(OrtEpProfilerImpl *impl, OrtProfilingEventsContainer *container)
{
	struct state *state = state_of(impl);
	state->options.end_profiling(state->options.user);
	OrtStatus *status = NULL;
	if (state->count > 0)
		status = state->ep_api->ProfilingEventsContainer_AddEvents(
		    container, (const OrtProfilingEvent *const *)state->events, state->count);
	events_release(state);
	return status;
}

OrtStatus *epp_ep_profiler_init(epp_ep_profiler *profiler, const epp_ep_options *options)
{
	const OrtApi *ort_api = options->ort_api_base->GetApi(EPPROF_ORT_API_VERSION_MIN);
	struct state *state = calloc(1, sizeof(*state));
	if (!state || !options->now_ticks)
		return ort_api->CreateStatus(ORT_FAIL, "formula EP: no memory or no clock");
	state->options = *options;
	state->ort_api = ort_api;
	state->ep_api = ort_api->GetEpApi();
	pthread_mutex_init(&state->lock, NULL);
	profiler->state = state;
	profiler->impl = (OrtEpProfilerImpl){ .ort_version_supported = EPPROF_ORT_API_VERSION_MIN,
		                              .Release = formula_release,
		                              .StartProfiling = formula_start,
		                              .StartEvent = formula_begin,
		                              .StopEvent = formula_stop,
		                              .EndProfiling = formula_end };
	return NULL;
}

uint64_t epp_ep_current(epp_ep_profiler *profiler)
{
	(void)profiler;
	return depth > 0 && depth <= DEPTH ? open_ids[depth - 1] : 0;
}

static int64_t formula_us(const struct state *state, uint64_t ticks)
{
	__extension__ typedef __int128 int128;
	int128 ns = (int128)(int64_t)(ticks - state->start_ticks) * 1000000000 / (int64_t)state->options.ticks_per_second;
	return (state->start_offset_ns + (int64_t)ns) / 1000;
}

uint64_t epp_ep_host_ticks(epp_ep_profiler *profiler)
{
	(void)profiler;
	return 0;
}

void epp_ep_waited(epp_ep_profiler *profiler, uint64_t parent, uint64_t start_host_ticks)
{
	(void)profiler, (void)parent, (void)start_host_ticks;
}

void epp_ep_emit(epp_ep_profiler *profiler, const epp_ep_event *event)
{
	struct state *state = profiler->state;
	char id[24];
	snprintf(id, sizeof(id), "%" PRIu64, event->parent);
	const char *keys[] = { "ort_correlation_id" };
	const char *values[] = { id };
	int64_t start_us = formula_us(state, event->start_ticks);
	int64_t end_us = formula_us(state, event->end_ticks);
	OrtProfilingEvent *made = NULL;
	OrtStatus *status = state->ep_api->CreateProfilingEvent(OrtProfilingEventCategory_KERNEL, -1, -1, event->name,
	                                                        start_us, end_us - start_us, keys, values, 1, &made);
	pthread_mutex_lock(&state->lock);
	if (!status && state->count == state->capacity) {
		size_t capacity = state->capacity ? state->capacity * 2 : 1024;
		OrtProfilingEvent **events = realloc(state->events, capacity * sizeof(*events));
		if (events) {
			state->events = events;
			state->capacity = capacity;
		}
	}
	if (!status && state->count < state->capacity) {
		state->events[state->count++] = made;
		made = NULL;
	}
	pthread_mutex_unlock(&state->lock);
	state->ep_api->ReleaseProfilingEvent(made);
	state->ort_api->ReleaseStatus(status);
}

/* ONNX Runtime's profile has none of these. */
void epp_ep_device_name_set(epp_ep_profiler *profiler, int32_t device, const char *name)
{
	(void)profiler, (void)device, (void)name;
}

void epp_ep_stream_name_set(epp_ep_profiler *profiler, int32_t device, int64_t stream, const char *name)
{
	(void)profiler, (void)device, (void)stream, (void)name;
}

void epp_ep_counter_record(epp_ep_profiler *profiler, const epp_ep_counter *counter)
{
	(void)profiler, (void)counter;
}

/* The tests use none of these options. */
void epp_ep_pending_add(epp_ep_profiler *profiler, int64_t count)
{
	(void)profiler, (void)count;
}

void epp_ep_replay_emit(epp_ep_profiler *profiler, const epp_ep_replay *replay)
{
	(void)profiler, (void)replay;
}

/* A test double of a profiler, attached like any other: it records the calls and their threads, and does in each
 * callback what the test asks for. */
#ifndef EPPROF_TESTS_SUPPORT_PROFILER_DOUBLE_H
#define EPPROF_TESTS_SUPPORT_PROFILER_DOUBLE_H

#include "base/os/os.h"
#include "epprof/profiler.h"
#include "ort_abi/ort_event.h"
#include "ort_abi/ort_status.h"
#include "ort_abi/profiler_registry.h"
#include "recording.h"

enum step { STEP_START_PROFILING, STEP_START_EVENT, STEP_STOP_EVENT, STEP_END_PROFILING, STEP_RELEASE, STEP_COUNT };

struct profiler_double {
	OrtEpProfilerImpl impl;
	char letter;
	unsigned calls[STEP_COUNT];
	bool fails[STEP_COUNT];
	void (*does[STEP_COUNT])(struct profiler_double *self, OrtProfilingEventsContainer *container);
	uint32_t thread[STEP_COUNT]; /* the thread of the last call */
	uint64_t id;                 /* the id of the last event */
	int64_t offset_ns;
	char name[64];
	int64_t timestamp_us, duration_us;
	int category;
	char value[64]; /* the value of the arg "key" */
	epp_session *session;
	void *user;
};

/* The calls in order: "sa" is StartEvent of profiler a; S, s, e, E, R. */
static char double_order[4096];
static pthread_mutex_t double_lock = PTHREAD_MUTEX_INITIALIZER;

static OrtStatus *double_step(struct profiler_double *self, enum step step, OrtProfilingEventsContainer *container)
{
	pthread_mutex_lock(&double_lock);
	size_t length = strlen(double_order);
	if (length + 3 < sizeof(double_order)) {
		double_order[length] = "SseER"[step];
		double_order[length + 1] = self->letter;
	}
	pthread_mutex_unlock(&double_lock);
	__atomic_fetch_add(&self->calls[step], 1, __ATOMIC_RELAXED);
	STORE_RELAXED(&self->thread[step], os_thread_id());
	if (self->does[step])
		self->does[step](self, container);
	return self->fails[step] ? ort_status_create(ORT_FAIL, "no \"luck\"") : NULL;
}

static OrtStatus *double_start_profiling(OrtEpProfilerImpl *impl, int64_t offset_ns)
{
	struct profiler_double *self = (struct profiler_double *)impl;
	self->offset_ns = offset_ns;
	return double_step(self, STEP_START_PROFILING, NULL);
}

static OrtStatus *double_start_event(OrtEpProfilerImpl *impl, uint64_t id)
{
	struct profiler_double *self = (struct profiler_double *)impl;
	STORE_RELAXED(&self->id, id);
	return double_step(self, STEP_START_EVENT, NULL);
}

static OrtStatus *double_stop_event(OrtEpProfilerImpl *impl, uint64_t id, const OrtProfilingEvent *event)
{
	struct profiler_double *self = (struct profiler_double *)impl;
	ck_assert_uint_eq(id, LOAD_RELAXED(&self->id));
	snprintf(self->name, sizeof(self->name), "%s", ort_event_name(event));
	self->category = event->category;
	self->timestamp_us = ort_event_timestamp_us(event);
	self->duration_us = ort_event_duration_us(event);
	const char *value = ort_event_arg((OrtProfilingEvent *)(uintptr_t)event, "key");
	snprintf(self->value, sizeof(self->value), "%s", value ? value : "none");
	return double_step(self, STEP_STOP_EVENT, NULL);
}

static OrtStatus *double_end_profiling(OrtEpProfilerImpl *impl, OrtProfilingEventsContainer *container)
{
	return double_step((struct profiler_double *)impl, STEP_END_PROFILING, container);
}

static void double_release(OrtEpProfilerImpl *impl)
{
	double_step((struct profiler_double *)impl, STEP_RELEASE, NULL);
}

RECORDING_INLINE struct profiler_double double_make(char letter)
{
	return (struct profiler_double){
		.impl = { .ort_version_supported = 25,
		          .Release = double_release,
		          .StartProfiling = double_start_profiling,
		          .StartEvent = double_start_event,
		          .StopEvent = double_stop_event,
		          .EndProfiling = double_end_profiling },
		.letter = letter,
	};
}

/* The session's timeout for it; 0: the default. */
static uint64_t double_timeout_ns;

/* Makes a session with one profiler attached, not started. */
RECORDING_INLINE epp_session *double_attached(struct profiler_double *profiler, const char *path, const char *label)
{
	epp_session_options options = {
		.struct_size = sizeof(options), .path = path, .overwrite = 1, .plugin_timeout_ns = double_timeout_ns
	};
	check_ok(epp_session_create(&options, &profiler->session));
	check_ok(epp_session_attach(profiler->session, &profiler->impl, label));
	return profiler->session;
}

#endif

/* OrtProfilingEvent and its container, shared by the ABI's function tables and the recorder.
 *
 * An event is either owned (CreateProfilingEvent copied everything behind the struct) or borrowed: the recorder has it
 * on its stack during StopEvent, and the results of accessors are computed on demand, because most profilers call none.
 * A profiler may use each text until its StopEvent returns; texts are created in `scratch` and, if that is full, in
 * memory of the thread, which its next borrowed event reuses. */
#ifndef EPPROF_RUNTIME_ORT_ABI_ORT_EVENT_H
#define EPPROF_RUNTIME_ORT_ABI_ORT_EVENT_H

#include <stdint.h>

#include "epprof/abi/ort_ep_profiler.h"
#include "epprof/session.h"

struct OrtProfilingEvent {
	int32_t category;
	int32_t process_id;
	int32_t thread_id;
	uint32_t args_count;
	const char *name;     /* NULL: none, or name_number */
	int64_t timestamp_us; /* owned events */
	int64_t duration_us;
	const char *const *keys; /* owned events: text keys and values */
	const char *const *values;
	/* Borrowed events: timestamp_us and duration_us are computed from these. They have no process and thread. */
	const epp_arg *host_args; /* NULL in owned events */
	uint64_t start_ticks;
	uint64_t end_ticks;
	uint64_t base_ticks; /* start of the run */
	epp_name name_number;
	int borrowed;     /* 0: owned; 1: borrowed; the upper bits are used by ort_event.c to track the created texts */
	char scratch[64]; /* need not be initialised */
};

/* The target of AddEvents; the recorder creates one for each EndProfiling. */
struct OrtProfilingEventsContainer {
	/* Called with at least one event and no NULL; `events` and all texts are borrowed for the call. */
	OrtStatus *(*add)(OrtProfilingEventsContainer *self, const OrtProfilingEvent *const *events, size_t count);
	void *user;
};

/* Returns the name; "" if there is none. */
const char *ort_event_name(const OrtProfilingEvent *event);
/* Microseconds since the run's start, and the duration, both rounded down: computed for borrowed events, as given for
 * owned ones. */
int64_t ort_event_timestamp_us(const OrtProfilingEvent *event);
int64_t ort_event_duration_us(const OrtProfilingEvent *event);
/* Returns the value of the first arg with this key as text, or NULL (also if there is no memory for the text). A
 * borrowed event's text is valid on the thread of its StopEvent until that returns. */
const char *ort_event_arg(OrtProfilingEvent *event, const char *key);
/* Creates an owned copy, or returns NULL without memory; freed with ort_event_destroy. NULL texts stay NULL. */
OrtProfilingEvent *ort_event_create(int32_t category, int32_t process_id, int32_t thread_id, const char *name,
                                    int64_t timestamp_us, int64_t duration_us, const char *const *keys,
                                    const char *const *values, size_t count);
/* Does nothing for NULL and for borrowed events. */
void ort_event_destroy(OrtProfilingEvent *event);

#endif

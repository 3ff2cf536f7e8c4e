/* OrtProfilingEvent and its container, shared by the ABI's function tables and the recorder.
 *
 * An event is either owned (CreateProfilingEvent copied everything behind the struct) or borrowed: the recorder has it
 * on its stack during StopEvent, and the accessors compute their results when they are called, because most profilers
 * call none.  A profiler may use each text until its StopEvent returns.  Texts are created in `scratch`; if it is full,
 * they are created in memory of the thread, which the thread's next borrowed event reuses. */
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
	const char *name;     /* NULL: there is none, or it is name_number */
	int64_t timestamp_us; /* only in owned events */
	int64_t duration_us;
	const char *const *keys; /* only in owned events: keys and values as texts */
	const char *const *values;
	/* Only in borrowed events: timestamp_us and duration_us are computed from these members.  Borrowed events have
	 * no process and thread. */
	const epp_arg *host_args; /* NULL in owned events */
	uint64_t start_ticks;
	uint64_t end_ticks;
	uint64_t base_ticks; /* start of the run */
	epp_name name_number;
	/* 0: owned; 1: borrowed, where ort_event.c uses the upper bits to record which texts were created */
	int borrowed;
	char scratch[64]; /* not initialised */
};

/* The container that EndProfiling gets for AddEvents.  The recorder creates one for each EndProfiling. */
struct OrtProfilingEventsContainer {
	/* Called with at least one event, none of them NULL.  `events` and all texts are borrowed for the call. */
	OrtStatus *(*add)(OrtProfilingEventsContainer *self, const OrtProfilingEvent *const *events, size_t count);
	void *user;
};

/* Returns the name; "" if there is none. */
const char *ort_event_name(const OrtProfilingEvent *event);
/* Return the microseconds since the run's start, and the duration.  They are computed for borrowed events, rounded
 * down, and returned as given for owned ones. */
int64_t ort_event_timestamp_us(const OrtProfilingEvent *event);
int64_t ort_event_duration_us(const OrtProfilingEvent *event);
/* Returns the value of the first arg with this key as text.  NULL: there is no such arg, or no memory for the text.  A
 * text of a borrowed event is valid on the thread of its StopEvent, until StopEvent returns. */
const char *ort_event_arg(OrtProfilingEvent *event, const char *key);
/* Creates an owned copy.  Texts that are NULL stay NULL.  Returns NULL if there is no memory.  Ownership:
 * ort_event_destroy. */
OrtProfilingEvent *ort_event_create(int32_t category, int32_t process_id, int32_t thread_id, const char *name,
                                    int64_t timestamp_us, int64_t duration_us, const char *const *keys,
                                    const char *const *values, size_t count);
/* Frees an owned event.  Does nothing for NULL and for borrowed events. */
void ort_event_destroy(OrtProfilingEvent *event);

#endif

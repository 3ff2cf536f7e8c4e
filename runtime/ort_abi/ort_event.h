/* OrtProfilingEvent and its container, as our tables and the recorder share them.
 *
 * An event is either owned (CreateProfilingEvent copied everything behind the struct) or borrowed: the recorder puts
 * one on its stack for StopEvent, and what an accessor asks for is worked out then, since most profilers ask for
 * nothing.  A profiler may hold on to every text it was given until its StopEvent returns; texts are made in `scratch`
 * and, beyond that, in memory of the thread, which its next borrowed event takes over.
 */
#ifndef EPPROF_RUNTIME_ORT_ABI_ORT_EVENT_H
#define EPPROF_RUNTIME_ORT_ABI_ORT_EVENT_H

#include <stdint.h>

#include "epprof/ort_ep_profiler.h"
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
	/* Borrowed events: timestamp_us and duration_us are worked out from these.  They have no process and thread. */
	const epp_arg *host_args; /* NULL in owned events */
	uint64_t start_ticks;
	uint64_t end_ticks;
	uint64_t base_ticks; /* the run's start */
	epp_name name_number;
	int borrowed;     /* 0: owned; 1: borrowed; ort_event.c counts the texts that it made in its upper bits */
	char scratch[64]; /* need not be initialised */
};

/* Where AddEvents leads; the recorder makes one for each EndProfiling. */
struct OrtProfilingEventsContainer {
	/* Given at least one event and no NULL; `events` and all texts are borrowed for the call. */
	OrtStatus *(*add)(OrtProfilingEventsContainer *self, const OrtProfilingEvent *const *events, size_t count);
	void *user;
};

/* The name; "" if there is none. */
const char *ort_event_name(const OrtProfilingEvent *event);
/* Microseconds since the run's start, and its length, both rounded down: worked out for borrowed events, as given for
 * owned ones. */
int64_t ort_event_timestamp_us(const OrtProfilingEvent *event);
int64_t ort_event_duration_us(const OrtProfilingEvent *event);
/* The value of the first arg with this key as text, or NULL (also without memory for a text that must be made).
 * Of a borrowed event: on the thread of its StopEvent, valid until that returns. */
const char *ort_event_arg(OrtProfilingEvent *event, const char *key);
/* An owned copy, or NULL without memory; freed with ort_event_destroy.  NULL texts stay NULL. */
OrtProfilingEvent *ort_event_create(int32_t category, int32_t process_id, int32_t thread_id, const char *name,
                                    int64_t timestamp_us, int64_t duration_us, const char *const *keys,
                                    const char *const *values, size_t count);
/* NULL and borrowed events are left alone. */
void ort_event_destroy(OrtProfilingEvent *event);

#endif

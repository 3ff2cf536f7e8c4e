/* Slow paths of begin and end: a session that does not record, or an event that is not on top of the stack. */
#ifndef EPPROF_RUNTIME_RECORD_EVENTS_EVENT_SLOW_H
#define EPPROF_RUNTIME_RECORD_EVENTS_EVENT_SLOW_H

#include "record/recorder.h"

/* Handles an end for a session that does not record: counted as `after end` if the session exists. */
void event_end_nowhere(epp_session *session);

/* Handles an end whose `id` is not on top: closes the events above it as unended and returns its depth. If it is not on
 * this stack, records an orphan end (or counts an end of an earlier run as `after end`) and returns 0. `tail` is
 * EPF_TAIL of name and bits; 0: those given at begin. */
uint32_t event_unwind(struct recorder *recorder, uint64_t id, uint64_t now, uint64_t tail, const epp_arg *args,
                      size_t args_count);

/* Called when the stack is full: removes the events that ended on other threads. Returns true if there is room now. */
bool event_reclaim(struct recorder *recorder);

/* Stores one record without a stack: instants, counters, flows, async, orphan ends.  `parent` 0: none. The mark is
 * set. */
void event_store(struct recorder *recorder, uint64_t start, uint64_t duration, uint64_t id, uint32_t name,
                 uint16_t bits, uint64_t parent, const epp_arg *args, size_t args_count);

#endif

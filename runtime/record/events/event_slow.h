/* What begin and end do when something is unusual: a closed session, a stack that does not match. */
#ifndef EPPROF_RUNTIME_RECORD_EVENTS_EVENT_SLOW_H
#define EPPROF_RUNTIME_RECORD_EVENTS_EVENT_SLOW_H

#include "record/recorder.h"

/* An end for a session that does not record: counted as `after end` if there is such a session. */
void event_end_nowhere(epp_session *session);

/* `id` is not on top: closes what is above it as unended and returns the depth at which it is, or, if it is not on this
 * stack, records an orphan end (or counts an end of an earlier run as `after end`) and returns 0.  `tail` is EPF_TAIL of
 * name and bits, 0: those given at the begin. */
uint32_t event_unwind(struct recorder *recorder, uint64_t id, uint64_t now, uint64_t tail, const epp_arg *args,
                      size_t args_count);

/* The stack is full: takes out the events that ended on other threads.  True if there is room now. */
bool event_reclaim(struct recorder *recorder);

/* Stores one record without a stack: instants, counters, flows, async, orphan ends.  `parent` 0: none.
 * The mark is set. */
void event_store(struct recorder *recorder, uint64_t start, uint64_t duration, uint64_t id, uint32_t name,
                 uint16_t bits, uint64_t parent, const epp_arg *args, size_t args_count);

#endif

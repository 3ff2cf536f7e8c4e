/* Regions that could not be written and are not kept for another visit.  session->drain_lock is held. */
#ifndef EPPROF_RUNTIME_STORAGE_DROP_REGION_H
#define EPPROF_RUNTIME_STORAGE_DROP_REGION_H

#include "record/session.h"

/* Calls `count` for each profiler's event that its thread handed over; the region's records go up to `end`. */
void each_handed_over(struct session *session, const struct epf_region *region, const uint8_t *end,
                      void (*count)(struct session *session, uint32_t producer, uint32_t run));

/* Before the window loses them: the region's events (it may be NULL), and those that its thread left open if it is ending.
 * `events` is how many they are, `error` why. */
void give_up(struct session *session, struct epf_slot *of, int error, uint64_t events, const struct epf_region *region,
             const uint8_t *end, bool ending);
/* The window has nothing of them any more; does nothing if none were given up. */
void give_up_end(struct session *session, struct epf_slot *of);

#endif

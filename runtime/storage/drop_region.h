/* Drops regions that could not be written and are not kept for another visit. session->drain_lock is held. */
#ifndef EPPROF_RUNTIME_STORAGE_DROP_REGION_H
#define EPPROF_RUNTIME_STORAGE_DROP_REGION_H

#include "record/session.h"

/* Calls `count` for each complete event of a profiler in the region; the region's records end at `end`. */
void each_handed_over(struct session *session, const struct epf_region *region, const uint8_t *end,
                      void (*count)(struct session *session, uint32_t producer, uint32_t run));

/* Marks as lost the region's events (the region may be NULL) and, with `ending`, the events that its thread left open.
 * Called before they are removed from the window. `events` is their number, `error` the reason. */
void give_up(struct session *session, struct epf_slot *of, int error, uint64_t events, const struct epf_region *region,
             const uint8_t *end, bool ending);
/* Completes give_up after the events are removed from the window. Does nothing if none were dropped. */
void give_up_end(struct session *session, struct epf_slot *of);

#endif

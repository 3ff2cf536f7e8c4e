/* Drops regions whose block could not be written and that do not stay in the window until the helper's next visit. The
 * drain lock is held. */
#ifndef EPPROF_RUNTIME_STORAGE_DROP_REGION_H
#define EPPROF_RUNTIME_STORAGE_DROP_REGION_H

#include "storage/storage.h"

/* Calls `count` for each complete event of a profiler in the region; the region's records end at `end`. */
void drop_region_each_submitted(struct storage *storage, const struct epf_region *region, const uint8_t *end,
                                void (*count)(struct storage *storage, uint32_t producer));

/* Marks events as lost: those of the region (which may be NULL) and, if `ending` is set, those that its thread left
 * open. Called before the events are removed from the window. `events` is their number; `error` is the errno of the
 * failed write. */
void drop_region_begin(struct storage *storage, struct epf_slot *of, int error, uint64_t events,
                       const struct epf_region *region, const uint8_t *end, bool ending);
/* Completes drop_region_begin, after the events were removed from the window. Does nothing if no events were
 * dropped. */
void drop_region_end(struct storage *storage, struct epf_slot *of);

#endif

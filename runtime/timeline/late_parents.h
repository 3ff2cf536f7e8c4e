/* Parents that a separate record adds to an event, because they were found after the event was recorded.  Each takes 24
 * bytes.  Call parents_add during the scan of the blocks, then parents_seal once, then parents_find. */
#ifndef EPPROF_RUNTIME_TIMELINE_LATE_PARENTS_H
#define EPPROF_RUNTIME_TIMELINE_LATE_PARENTS_H

#include <stddef.h>
#include <stdint.h>

#include "epprof/status.h"

struct late_parent {
	uint64_t id, parent;
	uint32_t source; /* the source of both ids */
};

/* Zero-initialised by the caller. */
struct parents {
	struct late_parent *all;
	size_t count, room;
};

void parents_deinit(struct parents *parents);

epp_status *parents_add(struct parents *parents, uint32_t source, uint64_t id, uint64_t parent) EPP_MUST_CHECK;
void parents_seal(struct parents *parents);

/* Returns the parent of an event, or 0.  Requires parents_seal. */
uint64_t parents_find(const struct parents *parents, uint32_t source, uint64_t id);

#endif

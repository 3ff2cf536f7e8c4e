/* Parents that were recorded apart from their events, because they were found later: 24 bytes for each.
 *
 * Filled while blocks are surveyed, then sealed, then asked. */
#ifndef EPPROF_RUNTIME_TIMELINE_PARENTS_H
#define EPPROF_RUNTIME_TIMELINE_PARENTS_H

#include <stddef.h>
#include <stdint.h>

#include "epprof/status.h"

struct parent_apart {
	uint64_t id, parent;
	uint32_t source; /* in which both are unique */
};

/* Zero at first. */
struct parents {
	struct parent_apart *all;
	size_t count, room;
};

void parents_deinit(struct parents *parents);

epp_status *parents_add(struct parents *parents, uint32_t source, uint64_t id, uint64_t parent) EPP_MUST_CHECK;
void parents_seal(struct parents *parents);

/* The parent of an event, or 0.  Needs the seal. */
uint64_t parents_find(const struct parents *parents, uint32_t source, uint64_t id);

#endif

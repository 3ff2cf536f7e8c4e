/* The chunks that recorders have filled, oldest first: that is what a ring gives up first, and what readers look for first.
 * The drain lock is held: chunks become full meanwhile, but none becomes free. */
#ifndef EPPROF_RUNTIME_RECORD_FULL_H
#define EPPROF_RUNTIME_RECORD_FULL_H

#include "record/session.h"

struct full_chunk {
	uint64_t ticks; /* when it became full */
	uint32_t chunk;
};

/* All of them; `full` has room for EPF_CHUNK_COUNT.  Returns how many. */
size_t full_collect(const struct session *session, struct full_chunk *full);

/* The oldest one; false: there is none. */
bool full_oldest(const struct session *session, struct full_chunk *oldest);

#endif

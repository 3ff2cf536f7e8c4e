/* The chunks that recorders have filled, oldest first: the order in which a ring discards them and in which readers
 * expect them. The drain lock is held, so chunks may become full meanwhile, but none becomes free. */
#ifndef EPPROF_RUNTIME_RECORD_FULL_H
#define EPPROF_RUNTIME_RECORD_FULL_H

#include "record/session.h"

struct full_chunk {
	uint64_t ticks; /* when it became full */
	uint32_t chunk;
};

/* Collects all full chunks. `full` has room for EPF_CHUNK_COUNT. Returns how many. */
size_t full_collect(const struct session *session, struct full_chunk *full);

/* Finds the oldest full chunk. Returns false if there is none. */
bool full_oldest(const struct session *session, struct full_chunk *oldest);

#endif

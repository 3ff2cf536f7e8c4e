/* Collects the full chunks, oldest first. A scan may miss a chunk and yet find one that the same thread filled later.
 * The next scan finds both, so the scan is repeated until it finds no more chunks than the previous one. */
#include "record/full.h"

#include <stdlib.h>

static int by_ticks(const void *a, const void *b)
{
	const struct full_chunk *x = a, *y = b;
	return (x->ticks > y->ticks) - (x->ticks < y->ticks);
}

/* Scans once. `full` may be NULL. */
static size_t look(const struct session *session, struct full_chunk *full, struct full_chunk *oldest)
{
	size_t count = 0;
	for (uint32_t chunk = 0; chunk < session->window.chunks_count; chunk++) {
		if (LOAD_ACQUIRE(&session->chunk_state[chunk]) != REGION_FULL)
			continue;
		struct full_chunk found = { LOAD_RELAXED(&session->chunk_full_ticks[chunk]), chunk };
		if (count == 0 || found.ticks < oldest->ticks)
			*oldest = found;
		if (full)
			full[count] = found;
		count++;
	}
	return count;
}

static size_t look_until_settled(const struct session *session, struct full_chunk *full, struct full_chunk *oldest)
{
	size_t known, count = 0;
	do
		known = count, count = look(session, full, oldest);
	while (count > known);
	return count;
}

size_t full_collect(const struct session *session, struct full_chunk *full)
{
	struct full_chunk oldest;
	size_t count = look_until_settled(session, full, &oldest);
	if (count > 1)
		qsort(full, count, sizeof(*full), by_ticks);
	return count;
}

bool full_oldest(const struct session *session, struct full_chunk *oldest)
{
	return look_until_settled(session, NULL, oldest) > 0;
}

/* The ledger of a ring's overwritable segments. The counts of overwritten events are kept sorted. The counts of a
 * victim (the segment that is overwritten next) are added to them in two steps: first in a block, whose write may fail;
 * then, once the block is written, in memory. */
#include "storage/blocks/ring_ledger.h"

#include <stdlib.h>
#include <string.h>

#include "containers/array.h"

/* The maximum number of rows that one block may add: its thread, and each producer. */
#define ROWS_PER_BLOCK (1u + EPF_PRODUCER_COUNT)

bool ring_init(struct ring *ring, uint32_t segments_max)
{
	*ring = (struct ring){ .segments_max = segments_max };
	ring->segments = calloc(segments_max, sizeof(*ring->segments));
	return ring->segments != NULL;
}

void ring_deinit(struct ring *ring)
{
	for (uint32_t i = 0; i < ring->segments_max && ring->segments; i++)
		free(ring->segments[i].holds.rows);
	free(ring->segments);
	free(ring->overwritten.rows);
	*ring = (struct ring){ 0 };
}

const struct ring_segment *ring_oldest(const struct ring *ring)
{
	return ring->segments_count < 2 ? NULL : &ring->segments[ring->oldest];
}

size_t ring_reserve(const struct ring *ring)
{
	const struct ring_segment *victim = ring_oldest(ring);
	size_t rows = victim ? ring->overwritten.count + victim->holds.count : 0;

	return victim
	           ? sizeof(struct epf_block) + sizeof(struct epf_overwritten) + rows * sizeof(struct epf_overwritten_row)
	           : 0;
}

static bool reserve_rows(struct ring_rows *rows, size_t more)
{
	return array_reserve(&rows->rows, &rows->capacity, rows->count + more, sizeof(*rows->rows));
}

static int by_owner(const void *a, const void *b)
{
	const struct epf_overwritten_row *x = a, *y = b;
	int of = (x->of > y->of) - (x->of < y->of);
	return of ? of : (x->run > y->run) - (x->run < y->run);
}

/* Merges two sorted lists into `to`, which has room for all rows of both. Returns the number of rows. */
static size_t join(struct epf_overwritten_row *to, const struct ring_rows *a, const struct ring_rows *b)
{
	size_t count = 0;

	for (size_t i = 0, j = 0; i < a->count || j < b->count; count++) {
		int order = i == a->count ? 1 : j == b->count ? -1 : by_owner(&a->rows[i], &b->rows[j]);
		to[count] = order <= 0 ? a->rows[i++] : b->rows[j++];
		if (order == 0)
			to[count].events += b->rows[j++].events;
	}
	return count;
}

size_t ring_drop_oldest(struct ring *ring, void *payload)
{
	struct ring_segment *victim = &ring->segments[ring->oldest];
	struct epf_overwritten head = { .through = victim->number };
	uint8_t *rows = (uint8_t *)payload + sizeof(head);

	/* Allocates now for ring_forget, which must not fail. */
	if (!reserve_rows(&ring->overwritten, victim->holds.count))
		return 0;
	if (victim->holds.count)
		qsort(victim->holds.rows, victim->holds.count, sizeof(*victim->holds.rows), by_owner);
	if (ring->overwritten.count + victim->holds.count > RING_ROWS_MAX)
		return 0;
	head.row_count = join((struct epf_overwritten_row *)(void *)rows, &ring->overwritten, &victim->holds);
	memcpy(payload, &head, sizeof(head));
	return sizeof(head) + head.row_count * sizeof(struct epf_overwritten_row);
}

size_t ring_encode(const struct ring *ring, void *payload)
{
	struct epf_overwritten head = { .through = ring->overwritten_through, .row_count = ring->overwritten.count };
	size_t bytes = ring->overwritten.count * sizeof(*ring->overwritten.rows);

	if (ring->overwritten.count > RING_ROWS_MAX)
		return 0;
	memcpy(payload, &head, sizeof(head));
	if (bytes)
		memcpy((uint8_t *)payload + sizeof(head), ring->overwritten.rows, bytes);
	return sizeof(head) + bytes;
}

uint64_t ring_forget(struct ring *ring)
{
	struct ring_segment *victim = &ring->segments[ring->oldest];
	struct ring_rows *overwritten = &ring->overwritten;
	/* Moves the rows up in the array, so that the merge can write from the start of the same array. */
	struct ring_rows moved = { overwritten->rows + victim->holds.count, overwritten->count, overwritten->count };

	for (size_t i = 0; i < victim->holds.count; i++)
		if (!(victim->holds.rows[i].of & EPF_OVERWRITTEN_PRODUCER))
			__atomic_fetch_add(&ring->overwritten_events, victim->holds.rows[i].events, __ATOMIC_RELAXED);
	if (overwritten->count)
		memmove(moved.rows, overwritten->rows, overwritten->count * sizeof(*overwritten->rows));
	overwritten->count = join(overwritten->rows, &moved, &victim->holds);
	ring->overwritten_through = victim->number;
	victim->holds.count = 0;
	ring->oldest = (ring->oldest + 1) % ring->segments_max;
	ring->segments_count--;
	return victim->index;
}

void ring_begin(struct ring *ring, uint64_t index, uint64_t number)
{
	struct ring_segment *segment = &ring->segments[(ring->oldest + ring->segments_count) % ring->segments_max];

	ring->segments_count++;
	segment->index = index;
	segment->number = number;
}

static struct ring_rows *newest_rows(const struct ring *ring)
{
	uint32_t last = (ring->oldest + ring->segments_count - 1) % ring->segments_max;

	return &ring->segments[last].holds;
}

bool ring_room(struct ring *ring)
{
	return reserve_rows(newest_rows(ring), ROWS_PER_BLOCK);
}

bool ring_is_crowded(const struct ring *ring)
{
	return newest_rows(ring)->count >= RING_OWNERS_MAX;
}

void ring_count(struct ring *ring, uint32_t of, uint32_t run, uint64_t events)
{
	struct ring_rows *holds = newest_rows(ring);

	/* The search begins with the most recent rows, which are the most likely matches. */
	for (size_t i = holds->count; i-- > 0;) {
		if (holds->rows[i].of == of && holds->rows[i].run == run) {
			holds->rows[i].events += events;
			return;
		}
	}
	holds->rows[holds->count++] = (struct epf_overwritten_row){ of, run, events };
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

uint32_t *ring_owners(const struct ring *ring, size_t *count, uint32_t *first_run)
{
	size_t most = 1;

	*count = 0;
	*first_run = UINT32_MAX;
	for (uint32_t i = 0; i < ring->segments_max; i++)
		most += ring->segments[i].holds.count;
	uint32_t *owners = reallocarray(NULL, most, sizeof(*owners));
	if (!owners)
		return NULL;
	for (uint32_t i = 0; i < ring->segments_max; i++) {
		const struct ring_rows *holds = &ring->segments[i].holds;
		for (size_t r = 0; r < holds->count; r++) {
			owners[(*count)++] = holds->rows[r].of;
			if (!(holds->rows[r].of & EPF_OVERWRITTEN_PRODUCER) && holds->rows[r].run < *first_run)
				*first_run = holds->rows[r].run;
		}
	}
	qsort(owners, *count, sizeof(*owners), by_number);
	return owners;
}

uint64_t ring_overwritten(const struct ring *ring, uint32_t track, uint32_t run)
{
	const struct epf_overwritten_row key = { .of = track, .run = run };
	const struct epf_overwritten_row *row = ring->overwritten.count
	                                            ? bsearch(&key, ring->overwritten.rows, ring->overwritten.count,
	                                                      sizeof(key), by_owner)
	                                            : NULL;

	return row ? row->events : 0;
}

void ring_drop(struct ring *ring, const uint32_t *tracks, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < ring->overwritten.count; i++)
		if (!count || !bsearch(&ring->overwritten.rows[i].of, tracks, count, sizeof(*tracks), by_number))
			ring->overwritten.rows[kept++] = ring->overwritten.rows[i];
	ring->overwritten.count = kept;
}

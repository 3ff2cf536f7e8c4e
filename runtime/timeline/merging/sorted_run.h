/* A run: items sorted by start, with the payload that holds their args; usually made from one block.
 *
 * block_load.c and spill.c make runs, merge_runs.c consumes them, and their memory is reused.  The merge reads some
 * hundred runs at the same time.  For each event it reads only the item and its start, because the items are stored in
 * sorted order. */
#ifndef EPPROF_RUNTIME_TIMELINE_MERGING_SORTED_RUN_H
#define EPPROF_RUNTIME_TIMELINE_MERGING_SORTED_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/queue.h>

#include "epprof/status.h"
#include "timeline/merging/merge_item.h"

/* Sorts by start, in linear time, records that are in order of their ends.
 *
 * In order of ends, an event directly follows the events inside it.  So `order` is a sequence of subtrees, each sorted
 * by start, and `stack` has the index at which each subtree begins.  A new event is inserted before the subtrees that
 * begin after it, which become its children.  The event before the insertion point must begin before the new event;
 * otherwise the records are not one thread's, and the caller must use a general sort. */

struct start_order {
	uint16_t *order; /* indexes of the records */
	uint32_t *stack;
	uint32_t room;
	uint32_t count, depth;
	uint64_t moved; /* number of moves so far: adding an event moves each event inside it by one */
};

#define START_ORDER_MOVES_MOST 64u /* the maximum number of moves per event before the general sort is used */

/* Adds `index`.  `before(of, a, b)` returns true if record a starts before record b.  Returns false if the caller must
 * use a general sort instead. */
static inline __attribute__((always_inline)) bool start_order_add(struct start_order *order, uint32_t index,
                                                                  const void *of,
                                                                  bool (*before)(const void *of, uint32_t a, uint32_t b))
{
	uint32_t count = order->count, position = count, depth = order->depth;

	/* The common case: the event encloses no other event and begins after all earlier ones. */
	if (__builtin_expect(count && !before(of, order->order[count - 1], index), 0)) {
		while (depth && before(of, index, order->order[order->stack[depth - 1]]))
			position = order->stack[--depth];
		if (position == count || (position && !before(of, order->order[position - 1], index)))
			return false;
		order->moved += count - position;
		if (order->moved > (uint64_t)START_ORDER_MOVES_MOST * order->room)
			return false;
		memmove(&order->order[position + 1], &order->order[position], (count - position) * sizeof(*order->order));
	}
	order->order[position] = (uint16_t)index;
	order->stack[depth++] = position;
	order->depth = depth;
	order->count = count + 1;
	return true;
}

struct spill_run;

struct run {
	struct item *items; /* each item is one cache line */
	/* start_ns of each item, set when the run becomes a source of the merge; in the same allocation, after the
	 * items */
	int64_t *starts;
	struct item_extra *extras; /* extras[i] belongs to items[i]; only if has_extras */
	uint32_t room, extras_room;
	uint32_t at, end; /* indexes of the first unconsumed item, and after the last */
	bool has_extras;
	uint8_t *bytes; /* memory for the payload, if the run owns it; the args_offset of an item is an offset in
	                   `payload` */
	size_t bytes_room;
	const uint8_t *payload;
	uint32_t payload_bytes;
	struct spill_run *spill; /* the spilled run from which further items come; NULL: none */
	SLIST_ENTRY(run) link;
};

#define RUN_ITEMS_MAX 65536u

/* Makes room for `count` items, RUN_ITEMS_MAX at most.  The run is empty afterwards. */
epp_status *run_reserve(struct run *run, uint32_t count, bool extras) EPP_MUST_CHECK;
epp_status *run_reserve_bytes(struct run *run, size_t bytes) EPP_MUST_CHECK;
void run_free(struct run *run);

/* Returns how many bytes the args of an item take in its run's payload. */
size_t run_args_bytes(const struct run *run, const struct item *item);

/* Copies item `item` of `from` to index `index` of `to`, and appends its args to the payload of `to`.  There must be
 * enough room for both. */
void run_append(struct run *to, uint32_t index, const struct run *from, uint32_t item);

/* Empties an order and makes room for `count`. */
epp_status *run_order_begin(struct start_order *order, uint32_t count) EPP_MUST_CHECK;

/* Fills `run` with the items (and extras) 0 to count of `from`, sorted by start.  `from` is undefined afterwards,
 * because two runs swap their memory if the items are already sorted. */
epp_status *run_put_in_order(struct run *run, struct run *from, uint32_t count, struct start_order *order) EPP_MUST_CHECK;

#endif

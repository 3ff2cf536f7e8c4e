/* A run: items sorted by start, with the payload that holds their args; usually made from one block.
 *
 * block_load.c and spill.c make runs, merge.c consumes them, and their memory is reused.  The merge walks some
 * hundred runs at once, so items are stored in order and the merge touches no other memory per event.
 */
#ifndef EPPROF_RUNTIME_TIMELINE_MERGING_SORTED_RUN_H
#define EPPROF_RUNTIME_TIMELINE_MERGING_SORTED_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/queue.h>

#include "epprof/status.h"
#include "timeline/merging/merge_item.h"

/* Sorts records that are in order of their ends by start, in linear time.
 *
 * In order of ends, an event directly follows the events inside it.  So `order` holds a sequence of subtrees, each
 * sorted by start, and `stack` holds where each subtree begins.  A new event is inserted before the subtrees that
 * begin after it, which become its children.  The entry before the insertion point must begin before the new event;
 * otherwise the records are not one thread's, and the caller must use a general sort.
 */

struct start_order {
	uint16_t *order; /* indexes of the records */
	uint32_t *stack;
	uint32_t room;
	uint32_t count, depth;
	uint64_t moved; /* indexes moved so far; an event of a thread moves once for each event that encloses it */
};

#define START_ORDER_MOVES_MOST 64u /* per event */

/* Adds `index`; `before` compares two indexes into `of`.  Returns false if the caller must use a general sort
 * instead. */
static inline __attribute__((always_inline)) bool start_order_add(struct start_order *order, uint32_t index,
                                                                  const void *of,
                                                                  bool (*before)(const void *of, uint32_t a, uint32_t b))
{
	uint32_t count = order->count, position = count, depth = order->depth;

	/* Most events enclose no other event and begin after all earlier ones. */
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
	/* the items' start_ns, once the run is a merge source; in the same allocation, after the items */
	int64_t *starts;
	struct item_extra *extras; /* parallel to items; only if has_extras */
	uint32_t room, extras_room;
	uint32_t at, end; /* index of the first remaining item, and the end */
	bool has_extras;
	uint8_t *bytes; /* owns the payload, the base of the items' args_offset */
	size_t bytes_room;
	const uint8_t *payload;
	uint32_t payload_bytes;
	struct spill_run *spill; /* source of further items; NULL: none */
	SLIST_ENTRY(run) link;
};

#define RUN_ITEMS_MAX 65536u

/* Makes room for `count` items, RUN_ITEMS_MAX at most; the previous content is lost. */
epp_status *run_reserve(struct run *run, uint32_t count, bool extras) EPP_MUST_CHECK;
epp_status *run_reserve_bytes(struct run *run, size_t bytes) EPP_MUST_CHECK;
void run_free(struct run *run);

/* Returns the number of bytes that an item's args take in its run's payload. */
size_t run_args_bytes(const struct run *run, const struct item *item);

/* Copies item `item` of `from` to index `index` of `to`; its args are appended at to->payload_bytes.  The caller has
 * reserved the room. */
void run_append(struct run *to, uint32_t index, const struct run *from, uint32_t item);

/* Empties an order and makes room for `count`. */
epp_status *run_order_begin(struct start_order *order, uint32_t count) EPP_MUST_CHECK;

/* Fills `run` with the items (and extras) 0 to count of `from`, sorted by start.  The content of `from` is lost: if
 * its items are already sorted, the two runs exchange their memory. */
epp_status *run_put_in_order(struct run *run, struct run *from, uint32_t count, struct start_order *order) EPP_MUST_CHECK;

#endif

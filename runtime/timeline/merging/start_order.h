/* Sorts records that are in order of their ends by start, in linear time.
 *
 * In order of ends, an event directly follows the events inside it.  So `order` holds a sequence of subtrees, each
 * sorted by start, and `stack` holds where each subtree begins.  A new event is inserted before the subtrees that
 * begin after it, which become its children.  The entry before the insertion point must begin before the new event;
 * otherwise the records are not one thread's, and the caller must use a general sort.
 */
#ifndef EPPROF_RUNTIME_TIMELINE_MERGING_START_ORDER_H
#define EPPROF_RUNTIME_TIMELINE_MERGING_START_ORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

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

#endif

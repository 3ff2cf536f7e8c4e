/* Puts what was recorded in order of its end into order of its start, in linear time.
 *
 * In order of their end, an event comes right behind the events inside it.  So `order` is kept as subtrees one behind the
 * other, each in order of start, and the stack has where each begins: a new event goes in front of the subtrees that begin
 * after it, which become its own.  What lies before it then must begin before it; if that fails once, what was recorded is
 * not one thread's, and it is to be sorted.
 */
#ifndef EPPROF_RUNTIME_TIMELINE_MERGING_START_ORDER_H
#define EPPROF_RUNTIME_TIMELINE_MERGING_START_ORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct start_order {
	uint16_t *order; /* indexes of what was recorded */
	uint32_t *stack;
	uint32_t room;
	uint32_t count, depth;
	uint64_t moved; /* indexes; a thread's events move once for each that encloses them */
};

#define START_ORDER_MOVES_MOST 64u /* an event */

/* Adds `index`, with the order `before` over what `of` holds.  False: give up, and sort. */
static inline __attribute__((always_inline)) bool start_order_add(struct start_order *order, uint32_t index,
                                                                  const void *of,
                                                                  bool (*before)(const void *of, uint32_t a, uint32_t b))
{
	uint32_t count = order->count, position = count, depth = order->depth;

	/* Most events enclose none: such a one begins behind all others. */
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

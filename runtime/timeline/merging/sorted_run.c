/* Implements sorted_run.h: memory of runs, copying items, sorting by start. */
#include "timeline/merging/sorted_run.h"

#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "base/status.h"
#include "codec/codec.h"

epp_status *run_reserve(struct run *run, uint32_t count, bool extras)
{
	run->at = run->end = 0;
	run->has_extras = extras;
	if (count > run->room) {
		uint32_t room = count < 1024 ? 1024 : (count + 7) / 8 * 8;
		os_memory_free(run->items);
		run->room = 0;
		run->items = os_memory_aligned(sizeof(*run->items), room * (sizeof(*run->items) + sizeof(*run->starts)));
		if (!run->items)
			return epp_status_no_memory();
		run->starts = (int64_t *)(void *)(run->items + room);
		run->room = room;
	}
	if (extras && count > run->extras_room) {
		free(run->extras);
		run->extras_room = 0;
		run->extras = reallocarray(NULL, run->room, sizeof(*run->extras));
		if (!run->extras)
			return epp_status_no_memory();
		run->extras_room = run->room;
	}
	return NULL;
}

epp_status *run_reserve_bytes(struct run *run, size_t bytes)
{
	if (bytes <= run->bytes_room)
		return NULL;
	free(run->bytes);
	run->bytes_room = 0;
	run->bytes = malloc(bytes);
	if (!run->bytes)
		return epp_status_no_memory();
	run->bytes_room = bytes;
	return NULL;
}

void run_free(struct run *run)
{
	if (!run)
		return;
	os_memory_free(run->items);
	free(run->extras);
	free(run->bytes);
	free(run);
}

size_t run_args_bytes(const struct run *run, const struct item *item)
{
	uint32_t at = item->args_offset;
	struct codec_arg arg;
	uint32_t count = ITEM_ARGS_COUNT(item->sequence);

	if (!count || at == ITEM_ARGS_SEPARATE)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		at = codec_arg(run->payload, run->payload_bytes, at, &arg);
		if (!at)
			return 0;
	}
	return at - item->args_offset;
}

void run_append(struct run *to, uint32_t index, const struct run *from, uint32_t item)
{
	size_t args_bytes = run_args_bytes(from, &from->items[item]);

	to->items[index] = from->items[item];
	to->starts[index] = from->items[item].start_ns;
	if (to->has_extras)
		to->extras[index] = from->has_extras ? from->extras[item] : (struct item_extra){ 0 };
	if (!args_bytes)
		return;
	memcpy(to->bytes + to->payload_bytes, from->payload + from->items[item].args_offset, args_bytes);
	to->items[index].args_offset = to->payload_bytes;
	to->payload_bytes += (uint32_t)args_bytes;
}

static int compare(const void *a, const void *b, void *user)
{
	const struct item *items = user;
	const struct item *left = &items[*(const uint16_t *)a], *right = &items[*(const uint16_t *)b];
	return item_before(left, right) ? -1 : left != right;
}

static inline bool before(const void *of, uint32_t a, uint32_t b)
{
	const struct item *items = of;
	return item_before(&items[a], &items[b]);
}

epp_status *run_order_begin(struct start_order *order, uint32_t count)
{
	order->count = order->depth = 0;
	order->moved = 0;
	if (count <= order->room)
		return NULL;
	free(order->order);
	free(order->stack);
	order->room = 0;
	order->order = reallocarray(NULL, count, sizeof(*order->order));
	order->stack = reallocarray(NULL, count, sizeof(*order->stack));
	if (!order->order || !order->stack)
		return epp_status_no_memory();
	order->room = count;
	return NULL;
}

/* Swaps the items, starts and extras of two runs. Each run keeps its `bytes`. */
static void exchange_items(struct run *run, struct run *other)
{
	struct run before = *run;

	run->items = other->items;
	run->starts = other->starts;
	run->extras = other->extras;
	run->room = other->room;
	run->extras_room = other->extras_room;
	run->has_extras = other->has_extras;
	other->items = before.items;
	other->starts = before.starts;
	other->extras = before.extras;
	other->room = before.room;
	other->extras_room = before.extras_room;
}

epp_status *run_put_in_order(struct run *run, struct run *from, uint32_t count, struct start_order *order)
{
	uint32_t ordered = 0;

	while (ordered + 1 < count && item_before(&from->items[ordered], &from->items[ordered + 1]))
		ordered++;
	if (ordered + 1 >= count) {
		exchange_items(run, from);
		for (uint32_t i = 0; i < count; i++)
			run->starts[i] = run->items[i].start_ns;
		run->at = 0;
		run->end = count;
		return NULL;
	}
	EPP_TRY(run_reserve(run, count, from->has_extras));
	EPP_TRY(run_order_begin(order, count));
	for (uint32_t i = 0; i < count; i++) {
		if (start_order_add(order, i, from->items, before))
			continue;
		for (uint32_t j = 0; j < count; j++)
			order->order[j] = (uint16_t)j;
		qsort_r(order->order, count, sizeof(*order->order), compare, from->items);
		break;
	}
	for (uint32_t i = 0; i < count; i++) {
		run->items[i] = from->items[order->order[i]];
		run->starts[i] = run->items[i].start_ns;
	}
	for (uint32_t i = 0; from->has_extras && i < count; i++)
		run->extras[i] = from->extras[order->order[i]];
	run->end = count;
	return NULL;
}

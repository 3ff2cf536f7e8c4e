/* Shared args that records of the window reference by a number.  They are defined before they are referenced, so the
 * log and earlier blocks contain them.  Blocks contain the args themselves, so only an unfinished file needs this. */
#include <bsd/stdlib.h>
#include <stdlib.h>
#include <string.h>

#include "containers/array.h"
#include "trace/reader_private.h"

epp_status *reader_define_args(struct reader_impl *impl, const uint8_t *body, size_t bytes, uint64_t offset)
{
	uint32_t number = 0;
	size_t slots_bytes = bytes - sizeof(number);

	if (bytes >= sizeof(number))
		memcpy(&number, body, sizeof(number));
	if (!number || slots_bytes % sizeof(struct epf_arg) ||
	    slots_bytes > EPF_DEFINED_SLOTS_MAX * sizeof(struct epf_arg)) {
		reader_find(impl, EPP_ERROR, offset, "args %u of %zu bytes", number, bytes);
		return NULL;
	}
	struct epf_arg *slots = malloc(slots_bytes + 1);
	if (!slots || !array_reserve_zeroed(&impl->args, &impl->args_capacity, impl->args_count + 1, sizeof(*impl->args))) {
		free(slots);
		return epp_status_no_memory();
	}
	memcpy(slots, body + sizeof(number), slots_bytes);
	impl->args[impl->args_count++] = (struct reader_args){ number, (uint32_t)(slots_bytes / sizeof(*slots)), slots };
	return NULL;
}

static int by_number(const void *a, const void *b)
{
	const struct reader_args *x = a, *y = b;
	return (x->number > y->number) - (x->number < y->number);
}

epp_status *reader_order_args(struct reader_impl *impl)
{
	/* mergesort is stable: it keeps the file order of equal numbers. */
	if (impl->args_count && mergesort(impl->args, impl->args_count, sizeof(*impl->args), by_number))
		return epp_status_no_memory();
	return NULL;
}

/* Returns the index of the first definition of a number, or its insertion index. */
static size_t place_of(const struct reader_impl *impl, uint32_t number)
{
	size_t low = 0, high = impl->args_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (impl->args[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct epf_arg *reader_defined_args(const void *user, uint32_t number, uint32_t *slots)
{
	const struct reader_impl *impl = user;
	size_t place = place_of(impl, number);

	if (place == impl->args_count || impl->args[place].number != number)
		return NULL;
	*slots = impl->args[place].slots_count;
	return impl->args[place].slots;
}

/* Implements time_range.h: id intervals in a sorted array. */
#include "timeline/events/time_range.h"

#include <stdlib.h>

#include "base/status.h"
#include "containers/array.h"

void time_range_deinit(struct time_range *time_range)
{
	free(time_range->ids);
	*time_range = (struct time_range){ 0 };
}

epp_status *time_range_add(struct time_range *time_range, uint32_t source, uint64_t first, uint64_t last)
{
	if (first > last)
		return NULL;
	if (!array_reserve(&time_range->ids, &time_range->room, time_range->count + 1, sizeof(*time_range->ids)))
		return epp_status_no_memory();
	time_range->ids[time_range->count++] = (struct time_range_ids){ source, first, last };
	return NULL;
}

static int by_first(const void *a, const void *b)
{
	const struct time_range_ids *x = a, *y = b;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

void time_range_sort(struct time_range *time_range)
{
	size_t kept = 0;

	if (time_range->count)
		qsort(time_range->ids, time_range->count, sizeof(*time_range->ids), by_first);
	for (size_t i = 0; i < time_range->count; i++) {
		const struct time_range_ids *ids = &time_range->ids[i];
		struct time_range_ids *before = kept ? &time_range->ids[kept - 1] : NULL;
		if (before && before->source == ids->source && ids->first <= before->last)
			before->last = ids->last > before->last ? ids->last : before->last;
		else
			time_range->ids[kept++] = *ids;
	}
	time_range->count = kept;
}

bool time_range_overlaps(const struct time_range *time_range, uint32_t source, uint64_t first, uint64_t last)
{
	size_t low = 0, high = time_range->count;

	/* Binary search for the first interval that ends at or after `first`. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct time_range_ids *ids = &time_range->ids[middle];
		if (ids->source < source || (ids->source == source && ids->last < first))
			low = middle + 1;
		else
			high = middle;
	}
	return first <= last && low < time_range->count && time_range->ids[low].source == source &&
	       time_range->ids[low].first <= last;
}

static const struct epf_index_reference *ids_of(const struct reader_summary *block, uint32_t *count)
{
	*count = block->ids_count ? block->ids_count : 1;
	return block->ids_count ? block->ids : &block->all_ids;
}

epp_status *time_range_add_block(struct time_range *time_range, uint32_t source, const struct reader_summary *block)
{
	uint32_t count;
	const struct epf_index_reference *ids = ids_of(block, &count);

	for (uint32_t i = 0; i < count; i++)
		EPP_TRY(time_range_add(time_range, source, ids[i].first, ids[i].last));
	return NULL;
}

bool time_range_overlaps_block(const struct time_range *time_range, uint32_t source, const struct reader_summary *block)
{
	uint32_t count;
	const struct epf_index_reference *ids = ids_of(block, &count);

	for (uint32_t i = 0; i < count; i++)
		if (time_range_overlaps(time_range, source, ids[i].first, ids[i].last))
			return true;
	return false;
}

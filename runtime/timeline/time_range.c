/* See time_range.h. */
#include "timeline/time_range.h"

#include <stdlib.h>

#include "base/status.h"
#include "containers/array.h"

void stretch_deinit(struct stretch *stretch)
{
	free(stretch->ids);
	*stretch = (struct stretch){ 0 };
}

epp_status *stretch_add(struct stretch *stretch, uint32_t source, uint64_t first, uint64_t last)
{
	if (first > last)
		return NULL;
	if (!array_reserve(&stretch->ids, &stretch->room, stretch->count + 1, sizeof(*stretch->ids)))
		return epp_status_no_memory();
	stretch->ids[stretch->count++] = (struct stretch_ids){ source, first, last };
	return NULL;
}

static int by_first(const void *a, const void *b)
{
	const struct stretch_ids *x = a, *y = b;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

void stretch_sort(struct stretch *stretch)
{
	size_t kept = 0;

	if (stretch->count)
		qsort(stretch->ids, stretch->count, sizeof(*stretch->ids), by_first);
	for (size_t i = 0; i < stretch->count; i++) {
		const struct stretch_ids *ids = &stretch->ids[i];
		struct stretch_ids *before = kept ? &stretch->ids[kept - 1] : NULL;
		if (before && before->source == ids->source && ids->first <= before->last)
			before->last = ids->last > before->last ? ids->last : before->last;
		else
			stretch->ids[kept++] = *ids;
	}
	stretch->count = kept;
}

bool stretch_meets(const struct stretch *stretch, uint32_t source, uint64_t first, uint64_t last)
{
	size_t low = 0, high = stretch->count;

	/* The first interval that does not end before. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct stretch_ids *ids = &stretch->ids[middle];
		if (ids->source < source || (ids->source == source && ids->last < first))
			low = middle + 1;
		else
			high = middle;
	}
	return first <= last && low < stretch->count && stretch->ids[low].source == source &&
	       stretch->ids[low].first <= last;
}

static const struct epf_index_reference *ids_of(const struct reader_summary *block, uint32_t *count)
{
	*count = block->ids_count ? block->ids_count : 1;
	return block->ids_count ? block->ids : &block->all_ids;
}

epp_status *stretch_add_block(struct stretch *stretch, uint32_t source, const struct reader_summary *block)
{
	uint32_t count;
	const struct epf_index_reference *ids = ids_of(block, &count);

	for (uint32_t i = 0; i < count; i++)
		EPP_TRY(stretch_add(stretch, source, ids[i].first, ids[i].last));
	return NULL;
}

bool stretch_meets_block(const struct stretch *stretch, uint32_t source, const struct reader_summary *block)
{
	uint32_t count;
	const struct epf_index_reference *ids = ids_of(block, &count);

	for (uint32_t i = 0; i < count; i++)
		if (stretch_meets(stretch, source, ids[i].first, ids[i].last))
			return true;
	return false;
}

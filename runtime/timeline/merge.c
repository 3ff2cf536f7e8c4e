/* Implements merge.h.  An exhausted run keeps its memory until its last batch has been consumed, because items and
 * args are returned in place.  Sorted runs of the spill come in chunks: a time range never extends past a chunk that
 * has a successor. */
#include "timeline/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "containers/array.h"
#include "timeline/timeline.h"

/* Target number of events in a batch: it then fits in the L1 cache. */
#define BATCH_ITEMS 512u
/* Minimum target per source, so that the cost of visiting every source is small. */
#define BATCH_ITEMS_A_SOURCE 16u

void merge_init(struct merge *merge)
{
	*merge = (struct merge){ .time_range_ns = 1000 };
}

void merge_deinit(struct merge *merge)
{
	for (uint32_t i = 0; i < merge->sources_count; i++)
		run_free(merge->sources[i].run);
	while (!SLIST_EMPTY(&merge->pool)) {
		struct run *run = SLIST_FIRST(&merge->pool);
		SLIST_REMOVE_HEAD(&merge->pool, link);
		run_free(run);
	}
	free(merge->batch);
	free(merge->spare);
	free(merge->sources);
	free(merge->waiting);
	free(merge->bodies);
	*merge = (struct merge){ 0 };
}

struct run *merge_run_take(struct merge *merge)
{
	struct run *run = SLIST_FIRST(&merge->pool);
	if (!run)
		return calloc(1, sizeof(*run));
	SLIST_REMOVE_HEAD(&merge->pool, link);
	run->spill = NULL;
	return run;
}

void merge_run_give_back(struct merge *merge, struct run *run)
{
	if (run)
		SLIST_INSERT_HEAD(&merge->pool, run, link);
}

static struct merge_source source_of(struct run *run)
{
	return (struct merge_source){ &run->items[run->at],
		                      &run->items[run->end],
		                      &run->starts[run->at],
		                      run->items,
		                      run->has_extras ? run->extras : NULL,
		                      run };
}

epp_status *merge_add(struct merge *merge, struct run *run)
{
	epp_status *status = NULL;
	if (run->at < run->end)
		status = array_reserve(&merge->sources, &merge->sources_room, merge->sources_count + (size_t)1,
		                       sizeof(*merge->sources))
		             ? NULL
		             : epp_status_no_memory();
	if (status || run->at == run->end) {
		merge_run_give_back(merge, run);
		return status;
	}
	merge->sources[merge->sources_count++] = source_of(run);
	if (merge->sources_count > merge->active_most)
		merge->active_most = merge->sources_count;
	return NULL;
}

/* ---- one time range ---- */

/* Refills the runs that the last batch exhausted from the spill, or removes them. */
static epp_status *drop_used(struct epp_timeline *timeline)
{
	struct merge *merge = &timeline->merge;

	for (uint32_t i = 0; i < merge->sources_count;) {
		struct merge_source *source = &merge->sources[i];
		struct run *run = source->run;
		if (source->head < source->end) {
			i++;
			continue;
		}
		run->at = run->end = 0;
		if (run->spill)
			EPP_TRY(spill_refill(&timeline->spill, run));
		if (run->at < run->end) {
			*source = source_of(run);
			continue;
		}
		merge_run_give_back(merge, run);
		*source = merge->sources[--merge->sources_count];
	}
	return NULL;
}

static int64_t first_start(const struct merge *merge, uint32_t from, int64_t first_ns)
{
	for (uint32_t i = from; i < merge->sources_count; i++) {
		if (*merge->sources[i].starts < first_ns)
			first_ns = *merge->sources[i].starts;
	}
	return first_ns;
}

/* Limits the range [from_ns, *to_ns) for chunks of the spill that have a successor: it must end before the chunk's
 * last item starts.  If that would leave an empty range, the successor becomes active too. */
static epp_status *bound_by_chunks(struct epp_timeline *timeline, int64_t from_ns, int64_t *to_ns)
{
	struct merge *merge = &timeline->merge;

	for (uint32_t i = 0; i < merge->sources_count; i++) {
		struct run *run = merge->sources[i].run;
		if (!run->spill || !spill_has_more(run->spill))
			continue;
		int64_t last_ns = merge->sources[i].end[-1].start_ns;
		if (last_ns > from_ns) {
			*to_ns = last_ns < *to_ns ? last_ns : *to_ns;
			continue;
		}
		struct run *next = merge_run_take(merge);
		if (!next)
			return epp_status_no_memory();
		next->spill = run->spill;
		run->spill = NULL;
		epp_status *status = spill_refill(&timeline->spill, next);
		if (status) {
			merge_run_give_back(merge, next);
			return status;
		}
		EPP_TRY(merge_add(merge, next));
	}
	return NULL;
}

static epp_status *grow_batch(struct merge *merge)
{
	size_t room = merge->batch_room, count = room + 1;

	if (!array_reserve(&merge->batch, &room, count, sizeof(*merge->batch)) ||
	    !array_reserve(&merge->spare, &merge->batch_room, count, sizeof(*merge->spare)))
		return epp_status_no_memory();
	return NULL;
}

/* Collects all items that start before to_ns, source by source. */
static epp_status *gather(struct merge *merge, int64_t from_ns, int64_t to_ns)
{
	struct merge_entry *batch = merge->batch;
	uint32_t count = 0;

	for (uint32_t i = 0; i < merge->sources_count; i++) {
		struct merge_source *source = &merge->sources[i];
		const struct item *item = source->head, *end = source->end;
		const int64_t *start = source->starts;
		for (; item < end && *start < to_ns; item++, start++) {
			if (__builtin_expect(count + MERGE_AHEAD >= merge->batch_room, 0)) {
				EPP_TRY(grow_batch(merge));
				batch = merge->batch;
			}
			batch[count++] = (struct merge_entry){ (uint32_t)(*start - from_ns), i, item };
		}
		source->head = item;
		source->starts = start;
	}
	merge->batch_count = count;
	return NULL;
}

static int compare(const void *a, const void *b)
{
	const struct merge_entry *left = a, *right = b;
	return item_before(left->item, right->item) ? -1 : left != right;
}

/* Sorts entries with equal starts, which the radix sort leaves in order of their sources; `index` is the first one
 * that is out of order.  Returns the index after the group. */
__attribute__((noinline)) static uint32_t sort_equal(struct merge *merge, uint32_t index)
{
	uint32_t offset_ns = merge->batch[index].offset_ns, first = index, end = index + 1;

	while (first > 0 && merge->batch[first - 1].offset_ns == offset_ns)
		first--;
	while (end < merge->batch_count && merge->batch[end].offset_ns == offset_ns)
		end++;
	struct merge_entry *entries = &merge->batch[first];
	if (end - first > 2) {
		qsort(entries, end - first, sizeof(*entries), compare);
	} else if (item_before(entries[1].item, entries[0].item)) {
		struct merge_entry later = entries[0];
		entries[0] = entries[1];
		entries[1] = later;
	}
	return end;
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the lowest byte of an offset is its first");

static inline uint8_t digit_of(const struct merge_entry *entry, unsigned byte)
{
	return ((const uint8_t *)&entry->offset_ns)[byte];
}

/* One pass of the radix sort: sorts by one byte of the offsets. */
static void sort_by_digit(struct merge_entry *restrict to, const struct merge_entry *restrict from, uint32_t count,
                          unsigned byte)
{
	uint32_t places[256] = { 0 };

	for (uint32_t i = 0; i < count; i++)
		places[digit_of(&from[i], byte)]++;
	for (uint32_t digit = 0, place = 0; digit < 256; digit++) {
		uint32_t of_digit = places[digit];
		places[digit] = place;
		place += of_digit;
	}
	for (uint32_t i = 0; i < count; i++)
		to[places[digit_of(&from[i], byte)]++] = from[i];
}

/* Sorts the batch by start, least significant byte first. */
static void sort_batch(struct merge *merge, uint32_t offset_most)
{
	uint32_t count = merge->batch_count;

	for (unsigned byte = 0; byte < sizeof(offset_most) && offset_most >> 8 * byte; byte++) {
		struct merge_entry *sorted = merge->spare;
		sort_by_digit(sorted, merge->batch, count, byte);
		merge->spare = merge->batch;
		merge->batch = sorted;
	}
	const struct merge_entry *batch = merge->batch;
	for (uint32_t i = 1; i < count; i++) {
		if (__builtin_expect(batch[i].offset_ns == batch[i - 1].offset_ns, 0) &&
		    !item_before(batch[i - 1].item, batch[i].item))
			i = sort_equal(merge, i);
	}
}

/* Adapts the length of the next time range to the number of events in this one. */
static void adapt(struct merge *merge, bool was_cut)
{
	uint64_t wanted = (uint64_t)merge->sources_count * BATCH_ITEMS_A_SOURCE;

	if (wanted < BATCH_ITEMS)
		wanted = BATCH_ITEMS;
	if (merge->batch_count > wanted * 2 && merge->time_range_ns > 1)
		merge->time_range_ns /= 2;
	else if (!was_cut && merge->batch_count < wanted && merge->time_range_ns < 1u << 31)
		merge->time_range_ns *= 2;
}

epp_status *merge_refill(struct epp_timeline *timeline)
{
	struct merge *merge = &timeline->merge;
	size_t body;

	merge->batch_at = merge->batch_count = 0;
	EPP_TRY(drop_used(timeline));
	int64_t from_ns = first_start(merge, 0, INT64_MAX), next_ns;
	while ((next_ns = merge_next_activation(merge, &body)) <= from_ns && next_ns != INT64_MAX) {
		uint32_t before = merge->sources_count;
		EPP_TRY(merge_activate(timeline, body));
		from_ns = first_start(merge, before, from_ns);
	}
	if (!merge->sources_count)
		return NULL;
	int64_t to_ns = from_ns + (int64_t)merge->time_range_ns;
	bool was_cut = next_ns < to_ns;
	if (was_cut)
		to_ns = next_ns;
	EPP_TRY(bound_by_chunks(timeline, from_ns, &to_ns));
	EPP_TRY(gather(merge, from_ns, to_ns));
	if (merge->sources_count > 1)
		sort_batch(merge, (uint32_t)(to_ns - from_ns - 1));
	memset(&merge->batch[merge->batch_count], 0, MERGE_AHEAD * sizeof(*merge->batch));
	adapt(merge, was_cut);
	return NULL;
}

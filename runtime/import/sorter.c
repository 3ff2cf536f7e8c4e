/* Sorts entries: fills a buffer, writes sorted runs to a file, and merges the runs. */
#include "import/sorter.h"

#include <bsd/stdlib.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "containers/array.h"
#include "containers/radix_sort.h"

/* The number of entries that the merge has in memory, for all runs together. */
#define MERGE_ENTRIES SORTER_BUFFER_ENTRIES
/* Initial size of the buffer.  It doubles until there is room for SORTER_BUFFER_ENTRIES. */
#define BUFFER_ENTRIES_LEAST (SORTER_BUFFER_ENTRIES / 32)

static int compare(const void *left, const void *right)
{
	const struct sorter_entry *a = left, *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

/* Moves entry order[i] to position i, along the cycles of the permutation. */
static void permute(struct sorter_entry *entries, uint32_t *order, uint32_t count)
{
	for (uint32_t first = 0; first < count; first++) {
		struct sorter_entry held = entries[first];
		uint32_t at = first, from;
		while ((from = order[at]) != first) {
			entries[at] = entries[from];
			order[at] = at;
			at = from;
		}
		entries[at] = held;
		order[at] = at;
	}
}

/* Sorts entries with equal key and start: longer ones first, then by id. */
static void sort_equals(struct sorter_entry *entries, uint32_t count)
{
	for (uint32_t from = 0, to; from < count; from = to) {
		for (to = from + 1;
		     to < count && entries[to].key == entries[from].key && entries[to].start == entries[from].start;)
			to++;
		if (to - from > 1)
			qsort(entries + from, to - from, sizeof(*entries), compare);
	}
}

static epp_status *sort_buffer(struct sorter *sorter)
{
	uint32_t count = sorter->buffered, sorted = 1;

	while (sorted < count && compare(&sorter->buffer[sorted - 1], &sorter->buffer[sorted]) <= 0)
		sorted++;
	if (sorted >= count)
		return NULL;
	uint64_t *keys = reallocarray(NULL, count, sizeof(*keys) + 2 * sizeof(uint32_t));
	if (!keys)
		return epp_status_no_memory();
	uint32_t *order = (uint32_t *)(void *)(keys + count);
	for (uint32_t i = 0; i < count; i++) {
		order[i] = i;
		keys[i] = sorter->buffer[i].start;
	}
	radix_sort(order, order + count, keys, count);
	for (uint32_t i = 0; i < count; i++)
		keys[i] = sorter->buffer[i].key;
	radix_sort(order, order + count, keys, count);
	permute(sorter->buffer, order, count);
	sort_equals(sorter->buffer, count);
	free(keys);
	return NULL;
}

/* Writes a run.  Every run has SORTER_BUFFER_ENTRIES entries, except the last. */
static epp_status *write_run(struct sorter *sorter)
{
	if (!sorter->has_runs)
		EPP_TRY(temp_file_open(&sorter->runs_fd));
	sorter->has_runs = true;
	EPP_TRY(sort_buffer(sorter));
	uint64_t offset = (uint64_t)sorter->runs_count * SORTER_BUFFER_ENTRIES * sizeof(*sorter->buffer);
	EPP_TRY(temp_file_write(sorter->runs_fd, offset, sorter->buffer, sorter->buffered * sizeof(*sorter->buffer)));
	sorter->runs_count++;
	sorter->buffered = 0;
	return NULL;
}

epp_status *sorter_add(struct sorter *sorter, const struct sorter_entry *entry)
{
	if (sorter->buffered == SORTER_BUFFER_ENTRIES)
		EPP_TRY(write_run(sorter));
	if (!array_reserve(&sorter->buffer, &sorter->buffer_room,
	                   sorter->buffered ? sorter->buffered + (size_t)1 : BUFFER_ENTRIES_LEAST, sizeof(*sorter->buffer)))
		return epp_status_no_memory();
	sorter->buffer[sorter->buffered++] = *entry;
	sorter->count++;
	return NULL;
}

/* ---- sealing ---- */

/* A run that is being merged. */
struct source {
	uint64_t at, end;        /* the part of the run that is not read yet: from entry `at` to entry `end` of the
	                            file */
	uint32_t buffered, next; /* number of entries in the buffer, and index of the next one */
	struct sorter_entry *entries;
};

struct merge {
	struct sorter *sorter;
	struct source *sources;
	uint32_t *heap; /* heap of sources, by their next entry; the smallest is first */
	uint32_t heap_count;
	uint32_t ahead; /* number of entries that are read at once for each source */
	struct sorter_entry *buffer;
	struct sorter_entry page[SORTER_PAGE_ENTRIES];
	uint32_t page_count;
	uint64_t written;
};

static epp_status *refill(struct merge *merge, struct source *source)
{
	uint64_t count = source->end - source->at;

	if (count > merge->ahead)
		count = merge->ahead;
	source->next = 0;
	source->buffered = (uint32_t)count;
	if (!count)
		return NULL;
	EPP_TRY(temp_file_read(merge->sorter->runs_fd, source->at * sizeof(*source->entries), source->entries,
	                       count * sizeof(*source->entries)));
	source->at += count;
	return NULL;
}

static bool before(const struct merge *merge, uint32_t a, uint32_t b)
{
	const struct source *left = &merge->sources[a], *right = &merge->sources[b];
	return compare(&left->entries[left->next], &right->entries[right->next]) < 0;
}

static void sift_down(struct merge *merge, uint32_t at)
{
	for (;;) {
		uint32_t child = at * 2 + 1, source = merge->heap[at];
		if (child >= merge->heap_count)
			return;
		if (child + 1 < merge->heap_count && before(merge, merge->heap[child + 1], merge->heap[child]))
			child++;
		if (!before(merge, merge->heap[child], source))
			return;
		merge->heap[at] = merge->heap[child];
		merge->heap[child] = source;
		at = child;
	}
}

static epp_status *add_page(struct sorter *sorter, const struct sorter_entry *entries, uint32_t count)
{
	if (!array_reserve(&sorter->pages, &sorter->pages_room, sorter->pages_count + 1, sizeof(*sorter->pages)))
		return epp_status_no_memory();
	struct sorter_page *page = &sorter->pages[sorter->pages_count++];
	*page = (struct sorter_page){ .first_key = entries[0].key, .first_start = entries[0].start };
	for (uint32_t i = 0; i < count; i++)
		page->largest_end = entries[i].end > page->largest_end ? entries[i].end : page->largest_end;
	page->largest_end_so_far = page->largest_end;
	if (sorter->pages_count > 1 && page[-1].largest_end_so_far > page->largest_end)
		page->largest_end_so_far = page[-1].largest_end_so_far;
	return NULL;
}

static epp_status *write_page(struct merge *merge)
{
	struct sorter *sorter = merge->sorter;
	uint32_t count = merge->page_count;

	if (!count)
		return NULL;
	EPP_TRY(add_page(sorter, merge->page, count));
	EPP_TRY(temp_file_write(sorter->sorted_fd, merge->written * sizeof(*merge->page), merge->page,
	                        count * sizeof(*merge->page)));
	merge->written += count;
	merge->page_count = 0;
	return NULL;
}

static epp_status *merge_runs(struct merge *merge)
{
	struct sorter *sorter = merge->sorter;
	uint64_t in_file = sorter->count;

	for (uint32_t i = 0; i < sorter->runs_count; i++) {
		struct source *source = &merge->sources[i];
		source->at = (uint64_t)i * SORTER_BUFFER_ENTRIES;
		source->end = source->at + SORTER_BUFFER_ENTRIES < in_file ? source->at + SORTER_BUFFER_ENTRIES : in_file;
		source->entries = merge->buffer + (size_t)i * merge->ahead;
		EPP_TRY(refill(merge, source));
		if (source->buffered)
			merge->heap[merge->heap_count++] = i;
	}
	for (uint32_t i = merge->heap_count / 2; i-- > 0;)
		sift_down(merge, i);
	while (merge->heap_count) {
		struct source *source = &merge->sources[merge->heap[0]];
		merge->page[merge->page_count++] = source->entries[source->next++];
		if (merge->page_count == SORTER_PAGE_ENTRIES)
			EPP_TRY(write_page(merge));
		if (source->next == source->buffered)
			EPP_TRY(refill(merge, source));
		if (!source->buffered)
			merge->heap[0] = merge->heap[--merge->heap_count];
		sift_down(merge, 0);
	}
	return write_page(merge);
}

static epp_status *seal_runs(struct sorter *sorter)
{
	if (sorter->buffered)
		EPP_TRY(write_run(sorter));
	free(sorter->buffer);
	sorter->buffer = NULL;
	EPP_TRY(temp_file_open(&sorter->sorted_fd));
	sorter->sealed = true;
	struct merge *merge = calloc(1, sizeof(*merge));
	if (!merge)
		return epp_status_no_memory();
	merge->sorter = sorter;
	merge->ahead = MERGE_ENTRIES / sorter->runs_count < 16 ? 16 : MERGE_ENTRIES / sorter->runs_count;
	merge->sources = calloc(sorter->runs_count, sizeof(*merge->sources));
	merge->heap = calloc(sorter->runs_count, sizeof(*merge->heap));
	merge->buffer = reallocarray(NULL, (size_t)sorter->runs_count * merge->ahead, sizeof(*merge->buffer));
	sorter->cache = reallocarray(NULL, SORTER_CACHE_PAGES * SORTER_PAGE_ENTRIES, sizeof(*sorter->cache));
	epp_status *status = epp_status_no_memory();
	if (merge->sources && merge->heap && merge->buffer && sorter->cache) {
		epp_status_destroy(status);
		status = merge_runs(merge);
	}
	free(merge->sources);
	free(merge->heap);
	free(merge->buffer);
	free(merge);
	close(sorter->runs_fd);
	sorter->has_runs = false;
	return status;
}

epp_status *sorter_seal(struct sorter *sorter)
{
	if (sorter->has_runs)
		return seal_runs(sorter);
	EPP_TRY(sort_buffer(sorter));
	for (uint32_t at = 0; at < sorter->buffered; at += SORTER_PAGE_ENTRIES) {
		uint32_t left = sorter->buffered - at;
		EPP_TRY(add_page(sorter, sorter->buffer + at, left < SORTER_PAGE_ENTRIES ? left : SORTER_PAGE_ENTRIES));
	}
	return NULL;
}

void sorter_deinit(struct sorter *sorter)
{
	if (sorter->has_runs)
		close(sorter->runs_fd);
	if (sorter->sealed)
		close(sorter->sorted_fd);
	free(sorter->buffer);
	free(sorter->pages);
	free(sorter->cache);
	*sorter = (struct sorter){ 0 };
}

/* ---- reading ---- */

epp_status *sorter_at(struct sorter *sorter, uint64_t place, struct sorter_entry *entry)
{
	if (!sorter->sealed) {
		*entry = sorter->buffer[place];
		return NULL;
	}
	uint64_t page = place / SORTER_PAGE_ENTRIES;
	unsigned slot = (unsigned)(page % SORTER_CACHE_PAGES);
	struct sorter_entry *entries = sorter->cache + slot * SORTER_PAGE_ENTRIES;
	if (sorter->cached[slot] != page + 1) {
		uint64_t first = page * SORTER_PAGE_ENTRIES, left = sorter->count - first;
		uint64_t count = left < SORTER_PAGE_ENTRIES ? left : SORTER_PAGE_ENTRIES;
		sorter->cached[slot] = 0;
		EPP_TRY(temp_file_read(sorter->sorted_fd, first * sizeof(*entries), entries, count * sizeof(*entries)));
		sorter->cached[slot] = page + 1;
	}
	*entry = entries[place % SORTER_PAGE_ENTRIES];
	return NULL;
}

static bool is_less(uint64_t entry_key, uint64_t entry_start, uint64_t key, uint64_t start)
{
	return entry_key != key ? entry_key < key : entry_start < start;
}

epp_status *sorter_find(struct sorter *sorter, uint64_t key, uint64_t start, uint64_t *place)
{
	size_t low = 0, high = sorter->pages_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (is_less(sorter->pages[middle].first_key, sorter->pages[middle].first_start, key, start))
			low = middle + 1;
		else
			high = middle;
	}
	/* `low` is the first page that begins after the key.  The entry may therefore be on the page before it. */
	uint64_t first = low ? (low - 1) * SORTER_PAGE_ENTRIES : 0;
	uint64_t last = low * SORTER_PAGE_ENTRIES < sorter->count ? low * SORTER_PAGE_ENTRIES : sorter->count;
	while (first < last) {
		uint64_t middle = first + (last - first) / 2;
		struct sorter_entry entry;
		EPP_TRY(sorter_at(sorter, middle, &entry));
		if (is_less(entry.key, entry.start, key, start))
			first = middle + 1;
		else
			last = middle;
	}
	*place = first;
	return NULL;
}

epp_status *sorter_containing_before(struct sorter *sorter, uint64_t key, uint64_t moment, uint32_t name,
                                     uint64_t *place, struct sorter_entry *entry, bool *found)
{
	*found = false;
	while (*place > 0) {
		uint64_t page = (*place - 1) / SORTER_PAGE_ENTRIES;
		if (sorter->pages[page].largest_end_so_far < moment)
			return NULL;
		if (sorter->pages[page].largest_end < moment) {
			if (sorter->pages[page].first_key < key)
				return NULL;
			*place = page * SORTER_PAGE_ENTRIES;
			continue;
		}
		EPP_TRY(sorter_at(sorter, --*place, entry));
		if (entry->key != key)
			return NULL;
		if (entry->end >= moment && (!name || entry->name == name)) {
			*found = true;
			return NULL;
		}
	}
	return NULL;
}

epp_status *sorter_containing(struct sorter *sorter, uint64_t key, uint64_t moment, uint32_t name,
                              struct sorter_entry *entry, bool *found)
{
	uint64_t place;

	*found = false;
	if (moment == UINT64_MAX)
		return NULL;
	EPP_TRY(sorter_find(sorter, key, moment + 1, &place));
	return sorter_containing_before(sorter, key, moment, name, &place, entry, found);
}

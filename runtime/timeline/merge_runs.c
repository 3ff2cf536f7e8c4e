/* Implements merge_runs.h.  An exhausted run keeps its memory until its last batch has been consumed, because
 * merge_next returns pointers into the run.  Spilled runs (merging/spill.h) are read in chunks.  A time range never
 * extends past the end of a chunk, unless the chunk is the last one of its run. */
#include "timeline/merge_runs.h"

#include <bsd/sys/tree.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "containers/array.h"
#include "timeline/timeline.h"

/* ---- merge ---- */

/* Target number of events in a batch: it then fits in the L1 cache. */
#define BATCH_ITEMS 512u
/* Minimum of the target for each source: visiting a source then costs little per event. */
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

/* Returns a run for the caller to fill, an unused one if there is any.  NULL: no memory. */
static struct run *merge_run_take(struct merge *merge)
{
	struct run *run = SLIST_FIRST(&merge->pool);
	if (!run)
		return calloc(1, sizeof(*run));
	SLIST_REMOVE_HEAD(&merge->pool, link);
	run->spill = NULL;
	return run;
}

static void merge_run_give_back(struct merge *merge, struct run *run)
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

/* Adds a run that is sorted by start.  Ownership: takes the run, also on failure. */
static epp_status *merge_add(struct merge *merge, struct run *run)
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

/* ---- schedule ---- */

/* Schedules when blocks are decoded: a block becomes active (decoded and in memory) when the merge reaches its earliest
 * start.
 *
 * Blocks of one thread follow each other in time, so about one block per thread is in memory at once.  Blocks of
 * devices may be in any order and be of any length in time.  If the active blocks would need more than
 * timeline->active_bytes_most, those that would stay active longest are sorted in a temporary file (spill.h) instead.
 * So are blocks whose events must be placed exactly once (placement.c). */

/* ---- the order in which blocks were recorded ---- */

/* Orders blocks by their latest end.  This is the recording order of the blocks of one thread, because no event of a
 * later block ended before the block. */
static int by_last_ticks(const void *a, const void *b, void *user)
{
	const struct reader_block *blocks = user;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	if (blocks[left].last_ticks != blocks[right].last_ticks)
		return blocks[left].last_ticks < blocks[right].last_ticks ? -1 : 1;
	return left < right ? -1 : left > right;
}

static epp_status *rank_blocks(struct epp_timeline *timeline)
{
	const struct reader *reader = timeline->reader;
	size_t count = reader->blocks_count;

	timeline->rank_of_block = reallocarray(NULL, count + 1, sizeof(uint32_t));
	timeline->block_of_rank = reallocarray(NULL, count + 1, sizeof(uint32_t));
	if (!timeline->rank_of_block || !timeline->block_of_rank)
		return epp_status_no_memory();
	for (uint32_t i = 0; i < count; i++)
		timeline->block_of_rank[i] = i;
	qsort_r(timeline->block_of_rank, count, sizeof(uint32_t), by_last_ticks, reader->blocks);
	for (uint32_t i = 0; i < count; i++)
		timeline->rank_of_block[timeline->block_of_rank[i]] = i;
	if (count && !reader->open_count)
		timeline->only_run = reader->blocks[0].run;
	for (uint32_t i = 0; i < count; i++) {
		if (reader->blocks[i].run != reader->blocks[0].run)
			timeline->only_run = 0;
	}
	return NULL;
}

/* ---- how much is in memory at once ---- */

struct active {
	RB_ENTRY(active) link;
	int64_t from_ns, to_ns;
	size_t bytes;
	uint32_t block;
};
RB_HEAD(active_tree, active);

static int compare_active(const struct active *a, const struct active *b)
{
	if (a->to_ns != b->to_ns)
		return a->to_ns < b->to_ns ? -1 : 1;
	return a->block < b->block ? -1 : a->block > b->block;
}

RB_GENERATE_INTERNAL(active_tree, active, link, compare_active, __attribute__((unused)) static)

static int by_from(const void *a, const void *b)
{
	const struct active *left = a, *right = b;
	if (left->from_ns != right->from_ns)
		return left->from_ns < right->from_ns ? -1 : 1;
	return left->block < right->block ? -1 : left->block > right->block;
}

/* Returns the memory that an active block needs, and the time range in which it is active. */
static struct active block_activity(const struct epp_timeline *timeline, uint32_t index, size_t *hint)
{
	const struct reader_block *block = &timeline->reader->blocks[index];
	const struct scan_pass_block *scanned = &timeline->scanned[index];
	bool complete = block->kinds & 1u << EPF_COMPLETE;
	size_t item_bytes = sizeof(struct item) + sizeof(int64_t) + (complete ? sizeof(struct item_extra) : 0);
	struct active active = { .from_ns = scanned->first_ns,
		                 .to_ns = scanned->last_ns,
		                 .block = index,
		                 .bytes = block->record_count * item_bytes + block->args_bytes };

	if (!complete && block->own_first_ticks != UINT64_MAX)
		active.from_ns = host_clock_ns(&timeline->host, hint, block->own_first_ticks);
	return active;
}

/* Goes through the blocks in order of their start.  While the active blocks exceed the limit, the one that ends last is
 * spilled. */
static void spill_excess(struct epp_timeline *timeline, struct active *blocks, size_t count)
{
	struct active_tree tree = RB_INITIALIZER(&tree);
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++) {
		struct active *first;
		while ((first = RB_MIN(active_tree, &tree)) && first->to_ns < blocks[i].from_ns) {
			RB_REMOVE(active_tree, &tree, first);
			bytes -= first->bytes;
		}
		RB_INSERT(active_tree, &tree, &blocks[i]);
		bytes += blocks[i].bytes;
		while (bytes > timeline->active_bytes_most) {
			struct active *last = RB_MAX(active_tree, &tree);
			RB_REMOVE(active_tree, &tree, last);
			bytes -= last->bytes;
			timeline->scanned[last->block].spill = true;
		}
	}
}

static epp_status *find_excess(struct epp_timeline *timeline)
{
	size_t count = 0, bytes = 0, hint = 0;
	struct active *blocks = reallocarray(NULL, timeline->reader->blocks_count + 1, sizeof(*blocks));

	if (!blocks)
		return epp_status_no_memory();
	for (uint32_t i = 0; i < timeline->reader->blocks_count; i++) {
		const struct scan_pass_block *scanned = &timeline->scanned[i];
		if (scanned->spill || scanned->first_ns == INT64_MAX)
			continue;
		blocks[count] = block_activity(timeline, i, &hint);
		bytes += blocks[count++].bytes;
	}
	if (bytes > timeline->active_bytes_most) {
		qsort(blocks, count, sizeof(*blocks), by_from);
		spill_excess(timeline, blocks, count);
	}
	free(blocks);
	return NULL;
}

static epp_status *spill_blocks(struct epp_timeline *timeline)
{
	if (timeline->placement_needs_parents)
		EPP_TRY(resolve_parents(timeline));
	for (uint32_t i = 0; i < timeline->reader->blocks_count; i++) {
		if (!timeline->scanned[i].spill)
			continue;
		struct run *run = merge_run_take(&timeline->merge);
		epp_status *status = run ? block_load(timeline, i, run) : epp_status_no_memory();
		if (!status)
			status = epp_timeline_status(timeline);
		if (!status)
			status = spill_add(&timeline->spill, run);
		merge_run_give_back(&timeline->merge, run);
		EPP_TRY(status);
	}
	return spill_finish(&timeline->spill);
}

/* ---- blocks that wait for the merge front ---- */

/* Returns true if an event of the block may end later than the block's header states, because its end is recorded in
 * another block. */
static bool may_end_later(const struct epp_timeline *timeline, uint32_t index)
{
	const struct reader_block *block = &timeline->reader->blocks[index];
	const struct reader_summary *summary = timeline->reader->summaries;

	if (block->kinds & 1u << EPF_ASYNC_BEGIN)
		return true;
	if (!timeline->ends.count || !summary)
		return timeline->ends.count;
	return time_range_overlaps_block(&timeline->ended_on_other_thread, block->source, &summary[index]);
}

bool plan_omits(const struct epp_timeline *timeline, uint32_t index)
{
	const struct reader_block *block = &timeline->reader->blocks[index];
	const struct scan_pass_block *scanned = &timeline->scanned[index];
	const epp_timeline_options *options = &timeline->options;

	if ((options->run && block->run != options->run) || !block_is_wanted(timeline, block))
		return true;
	if (scanned->spill)
		return false;
	if (scanned->first_ns >= options->to_ns)
		return true;
	return scanned->end_ns < options->from_ns && !may_end_later(timeline, index);
}

static int by_ns(const void *a, const void *b)
{
	const struct merge_waiting *left = a, *right = b;
	if (left->ns != right->ns)
		return left->ns < right->ns ? -1 : 1;
	return left->block < right->block ? -1 : left->block > right->block;
}

static epp_status *fill_waiting(struct epp_timeline *timeline)
{
	struct merge *merge = &timeline->merge;
	uint32_t blocks_count = (uint32_t)timeline->reader->blocks_count;
	size_t count = 0;

	merge->waiting = reallocarray(NULL, (size_t)blocks_count + timeline->spill.runs_count + 1,
	                              sizeof(*merge->waiting));
	if (!merge->waiting)
		return epp_status_no_memory();
	for (uint32_t i = 0; i < blocks_count; i++) {
		if (!timeline->scanned[i].spill && timeline->scanned[i].first_ns != INT64_MAX)
			merge->waiting[count++] = (struct merge_waiting){ timeline->scanned[i].first_ns, i };
	}
	for (uint32_t i = 0; i < timeline->spill.runs_count; i++)
		merge->waiting[count++] = (struct merge_waiting){ timeline->spill.runs[i].first_ns, blocks_count + i };
	qsort(merge->waiting, count, sizeof(*merge->waiting), by_ns);
	merge->waiting_count = count;
	return NULL;
}

static epp_status *add_open(struct epp_timeline *timeline)
{
	size_t count = timeline->reader->open_count;
	uint32_t run_number = timeline->options.run;

	if (run_number && run_number != timeline->reader->live.run)
		return NULL;
	/* Open events are only in traces of one process, whose source is 0. */
	if (timeline->options.sources && !(timeline->options.sources_count && timeline->options.sources[0]))
		return NULL;
	for (size_t from = 0, step; from < count; from += step) {
		step = count - from < RUN_ITEMS_MAX ? count - from : RUN_ITEMS_MAX;
		struct run *run = merge_run_take(&timeline->merge);
		epp_status *status = run ? block_load_open(timeline, from, (uint32_t)step, run) : epp_status_no_memory();
		if (status) {
			merge_run_give_back(&timeline->merge, run);
			return status;
		}
		EPP_TRY(merge_add(&timeline->merge, run));
	}
	return NULL;
}

epp_status *plan_merge(struct epp_timeline *timeline)
{
	EPP_TRY(rank_blocks(timeline));
	for (uint32_t i = 0; i < timeline->reader->blocks_count; i++) {
		if (plan_omits(timeline, i))
			timeline->scanned[i] = (struct scan_pass_block){ .first_ns = INT64_MAX };
	}
	EPP_TRY(find_excess(timeline));
	EPP_TRY(spill_blocks(timeline));
	EPP_TRY(fill_waiting(timeline));
	free(timeline->scanned);
	timeline->scanned = NULL;
	return add_open(timeline);
}

/* ---- block activation ---- */

/* Turns a block into a source of the merge when the merge front reaches its start.  A divided block becomes a source
 * twice: first with the items that were open when the block began, later with its body. */

/* A block is divided only if NEAR_BLOCKS other blocks, plus one for each source, are activated before its body starts;
 * if fewer blocks are waiting, all of them. */
#define NEAR_BLOCKS 64u

/* Returns how many items, from run->at on, were open when the block began: they start before the block's own first
 * event. */
static uint32_t count_open_before(const struct run *run, uint64_t own_first_ticks)
{
	uint32_t count = run->at;
	while (count < run->end && run->items[count].start_ticks < own_first_ticks)
		count++;
	return count - run->at;
}

static epp_status *check_begin(const struct run *run, const struct epp_timeline *timeline, uint32_t block, int64_t ns)
{
	if (run->at == run->end || run->items[run->at].start_ns >= ns)
		return NULL;
	return epp_status_create(EPP_CORRUPT, "block at %llu: an event starts before the block's start in its header",
	                         (unsigned long long)timeline->reader->blocks[block].offset);
}

/* Copies the first items of a run into a separate run. */
static epp_status *add_open_before(struct merge *merge, const struct run *run, uint32_t count)
{
	struct run *made = merge_run_take(merge);
	epp_status *status = made ? run_reserve(made, count, run->has_extras) : epp_status_no_memory();
	size_t bytes = 0;

	for (uint32_t i = 0; i < count; i++)
		bytes += run_args_bytes(run, &run->items[run->at + i]);
	if (!status)
		status = run_reserve_bytes(made, bytes + 1);
	if (status) {
		merge_run_give_back(merge, made);
		return status;
	}
	made->payload = made->bytes;
	made->payload_bytes = 0;
	for (uint32_t i = 0; i < count; i++)
		run_append(made, i, run, run->at + i);
	made->end = count;
	return merge_add(merge, made);
}

/* Returns true if a thread's block is to be divided.  *own_ns is then the time at which its body must be active. */
static bool is_divided(const struct epp_timeline *timeline, const struct reader_block *block, int64_t *own_ns)
{
	const struct merge *merge = &timeline->merge;
	size_t hint = 0, left = merge->waiting_count - merge->waiting_at, near = NEAR_BLOCKS + merge->sources_count;

	if (block->kinds & 1u << EPF_COMPLETE || block->own_first_ticks <= block->first_ticks ||
	    block->own_first_ticks == UINT64_MAX || !left)
		return false;
	*own_ns = host_clock_ns(&timeline->host, &hint, block->own_first_ticks);
	return *own_ns > merge->waiting[merge->waiting_at + (left < near ? left : near) - 1].ns;
}

static epp_status *load(struct epp_timeline *timeline, uint32_t block, int64_t ns, struct run *run)
{
	EPP_TRY(block_load(timeline, block, run));
	return check_begin(run, timeline, block, ns);
}

/* Activates a block, or only the items that were open when the block began. */
static epp_status *activate_block(struct epp_timeline *timeline, const struct merge_waiting *waiting)
{
	struct merge *merge = &timeline->merge;
	const struct reader_block *block = &timeline->reader->blocks[waiting->block];
	struct run *run = merge_run_take(merge);
	epp_status *status = run ? load(timeline, waiting->block, waiting->ns, run) : epp_status_no_memory();
	int64_t own_ns;

	if (status)
		goto out;
	if (!is_divided(timeline, block, &own_ns))
		return merge_add(merge, run);
	uint32_t open = count_open_before(run, block->own_first_ticks);
	if (!array_reserve(&merge->bodies, &merge->bodies_room, merge->bodies_count + 1, sizeof(*merge->bodies)))
		status = epp_status_no_memory();
	if (!status && open > EPF_OPEN_MAX)
		status = epp_status_create(EPP_CORRUPT, "block at %llu: %u events were open at its start",
		                           (unsigned long long)block->offset, open);
	if (!status && open)
		status = add_open_before(merge, run, open);
	if (!status)
		merge->bodies[merge->bodies_count++] = (struct merge_waiting){ own_ns, waiting->block };
out:
	merge_run_give_back(merge, run);
	return status;
}

static epp_status *activate_body(struct epp_timeline *timeline, const struct merge_waiting *body)
{
	struct merge *merge = &timeline->merge;
	struct run *run = merge_run_take(merge);
	epp_status *status = run ? block_load(timeline, body->block, run) : epp_status_no_memory();

	if (!status) {
		run->at += count_open_before(run, timeline->reader->blocks[body->block].own_first_ticks);
		status = check_begin(run, timeline, body->block, body->ns);
	}
	if (!status)
		return merge_add(merge, run);
	merge_run_give_back(merge, run);
	return status;
}

static epp_status *activate_spilled(struct epp_timeline *timeline, size_t index)
{
	struct merge *merge = &timeline->merge;
	struct run *run = merge_run_take(merge);
	epp_status *status = run ? spill_begin(&timeline->spill, index, run) : epp_status_no_memory();

	if (!status)
		return merge_add(merge, run);
	merge_run_give_back(merge, run);
	return status;
}

/* Returns the time at which the next block or body must be active; INT64_MAX: there is none.  If a body is next, *body
 * is its index, otherwise SIZE_MAX; the caller passes *body to merge_activate. */
static int64_t merge_next_activation(const struct merge *merge, size_t *body)
{
	int64_t ns = merge->waiting_at < merge->waiting_count ? merge->waiting[merge->waiting_at].ns : INT64_MAX;

	*body = SIZE_MAX;
	for (size_t i = 0; i < merge->bodies_count; i++) {
		if (merge->bodies[i].ns < ns) {
			ns = merge->bodies[i].ns;
			*body = i;
		}
	}
	return ns;
}

static epp_status *merge_activate(struct epp_timeline *timeline, size_t body)
{
	struct merge *merge = &timeline->merge;

	if (body != SIZE_MAX) {
		struct merge_waiting taken = merge->bodies[body];
		merge->bodies[body] = merge->bodies[--merge->bodies_count];
		return activate_body(timeline, &taken);
	}
	struct merge_waiting waiting = merge->waiting[merge->waiting_at++];
	if (waiting.block < timeline->reader->blocks_count)
		return activate_block(timeline, &waiting);
	return activate_spilled(timeline, waiting.block - timeline->reader->blocks_count);
}

/* ---- one time range ---- */

/* Removes the runs that the last batch exhausted.  Spilled runs (merging/spill.h) get their next chunk instead. */
static epp_status *drop_exhausted(struct epp_timeline *timeline)
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

/* Limits *to_ns because of chunks that have a successor: the range must end before the last item of such a chunk
 * starts.  If the range would then be empty, the successor is read too. */
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
static epp_status *collect_batch(struct merge *merge, int64_t from_ns, int64_t to_ns)
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

/* Sorts a group of entries with equal starts, which the radix sort leaves in the order of their sources.  `index` is
 * the first entry that is out of order.  Returns the index after the group. */
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

/* One pass of the radix sort, by one byte of the offsets. */
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
static void adapt_range(struct merge *merge, bool was_cut)
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
	EPP_TRY(drop_exhausted(timeline));
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
	EPP_TRY(collect_batch(merge, from_ns, to_ns));
	if (merge->sources_count > 1)
		sort_batch(merge, (uint32_t)(to_ns - from_ns - 1));
	memset(&merge->batch[merge->batch_count], 0, MERGE_AHEAD * sizeof(*merge->batch));
	adapt_range(merge, was_cut);
	return NULL;
}

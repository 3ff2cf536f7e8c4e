/* Schedules when blocks are decoded: each block is activated when the merge front reaches its earliest start.
 *
 * Blocks of one thread follow each other in time, so about one block per thread is in memory at once.  Blocks of
 * devices may come in any order and span any time.  Where the active blocks would exceed
 * timeline->active_bytes_most, the blocks that stay active longest are sorted through a temporary file (spill.h)
 * instead.  Blocks whose events must be placed exactly once (placement.c) take the same way.
 */
#include <bsd/sys/tree.h>
#include <stdlib.h>

#include "base/status.h"
#include "timeline/timeline.h"

/* ---- the order in which blocks were recorded ---- */

/* Orders blocks of one thread by their latest end: no event of a later block ended before it. */
static int by_last_ticks(const void *a, const void *b, void *user)
{
	const struct reader_block *blocks = user;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	if (blocks[left].last_ticks != blocks[right].last_ticks)
		return blocks[left].last_ticks < blocks[right].last_ticks ? -1 : 1;
	return left < right ? -1 : left > right;
}

static epp_status *rank(struct epp_timeline *timeline)
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

/* Returns the memory that a block needs while it is active, and the time range in which it is active. */
static struct active activity_of(const struct epp_timeline *timeline, uint32_t index, size_t *hint)
{
	const struct reader_block *block = &timeline->reader->blocks[index];
	const struct scan_pass_block *surveyed = &timeline->surveyed[index];
	bool complete = block->kinds & 1u << EPF_COMPLETE;
	size_t item_bytes = sizeof(struct item) + sizeof(int64_t) + (complete ? sizeof(struct item_extra) : 0);
	struct active active = { .from_ns = surveyed->first_ns,
		                 .to_ns = surveyed->last_ns,
		                 .block = index,
		                 .bytes = block->record_count * item_bytes + block->args_bytes };

	if (!complete && block->own_first_ticks != UINT64_MAX)
		active.from_ns = host_clock_ns(&timeline->host, hint, block->own_first_ticks);
	return active;
}

/* Walks the blocks in order of their start; where the active blocks exceed the limit, the one that ends last is
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
			timeline->surveyed[last->block].spill = true;
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
		const struct scan_pass_block *surveyed = &timeline->surveyed[i];
		if (surveyed->spill || surveyed->first_ns == INT64_MAX)
			continue;
		blocks[count] = activity_of(timeline, i, &hint);
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
		if (!timeline->surveyed[i].spill)
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

/* A block's header does not include ends that are recorded in other blocks. */
static bool may_end_later(const struct epp_timeline *timeline, uint32_t index)
{
	const struct reader_block *block = &timeline->reader->blocks[index];
	const struct reader_summary *summary = timeline->reader->summaries;

	if (block->kinds & 1u << EPF_ASYNC_BEGIN)
		return true;
	if (!timeline->ends.count || !summary)
		return timeline->ends.count;
	return time_range_meets_block(&timeline->ended_elsewhere, block->source, &summary[index]);
}

bool plan_leaves_out(const struct epp_timeline *timeline, uint32_t index)
{
	const struct reader_block *block = &timeline->reader->blocks[index];
	const struct scan_pass_block *surveyed = &timeline->surveyed[index];
	const epp_timeline_options *options = &timeline->options;

	if ((options->run && block->run != options->run) || !block_is_wanted(timeline, block))
		return true;
	if (surveyed->spill)
		return false;
	if (surveyed->first_ns >= options->to_ns)
		return true;
	return surveyed->end_ns < options->from_ns && !may_end_later(timeline, index);
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
		if (!timeline->surveyed[i].spill && timeline->surveyed[i].first_ns != INT64_MAX)
			merge->waiting[count++] = (struct merge_waiting){ timeline->surveyed[i].first_ns, i };
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
	/* Only a trace of a single process has open events. */
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
	EPP_TRY(rank(timeline));
	for (uint32_t i = 0; i < timeline->reader->blocks_count; i++) {
		if (plan_leaves_out(timeline, i))
			timeline->surveyed[i] = (struct scan_pass_block){ .first_ns = INT64_MAX };
	}
	EPP_TRY(find_excess(timeline));
	EPP_TRY(spill_blocks(timeline));
	EPP_TRY(fill_waiting(timeline));
	free(timeline->surveyed);
	timeline->surveyed = NULL;
	return add_open(timeline);
}

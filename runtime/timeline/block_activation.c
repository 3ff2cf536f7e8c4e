/* Turns blocks into sources of the merge when its front reaches them: a block as a whole, or first the items that
 * were open when it began and later its body. */
#include "base/status.h"
#include "containers/array.h"
#include "timeline/timeline.h"

/* A block is divided only if more than this many other blocks, plus the number of sources, come before its body. */
#define NEAR_BLOCKS 64u

/* Returns the number of a thread's items that were open when the block began. */
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
	return epp_status_create(EPP_CORRUPT, "block at %llu: holds an event that begins before the block says",
	                         (unsigned long long)timeline->reader->blocks[block].offset);
}

/* Copies the first items of a run into a run of their own. */
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

/* Returns true if the body of a thread's block is to wait, until `*own_ns`. */
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

/* Activates the run of a block, or only the items that were open when the block began. */
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
		status = epp_status_create(EPP_CORRUPT, "block at %llu: %u events were open at its beginning",
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

int64_t merge_next_activation(const struct merge *merge, size_t *body)
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

epp_status *merge_activate(struct epp_timeline *timeline, size_t body)
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

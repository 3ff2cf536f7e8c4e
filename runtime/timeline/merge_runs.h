/* Merges sorted runs by start, one time range at a time.
 *
 * The items of all active runs that start in the next time range are gathered and radix-sorted.  Per event, this costs
 * a third of a tournament tree over the heads of 64 runs.  The length of a range is chosen so that it has some hundred
 * events.  The runs together exceed the processor's caches, so the step that gathers items only reads the array of
 * starts.  Blocks wait, sorted by their earliest start, until the merge front, the start of the next event, reaches
 * them; only then are they decoded, and no time range extends past the next waiting block.  If the first records of a
 * block were open long before the block began, the block is divided: those records, 64 at most, become a small run, and
 * the rest, its body, keeps waiting.
 * Called by timeline.c; block_load.c and spill.c make the runs. */
#ifndef EPPROF_RUNTIME_TIMELINE_MERGE_RUNS_H
#define EPPROF_RUNTIME_TIMELINE_MERGE_RUNS_H

#include "timeline/merging/sorted_run.h"

struct epp_timeline;

/* A run that is being merged: its items that are not consumed yet. */
struct merge_source {
	const struct item *head, *end;
	const int64_t *starts;    /* starts of the items from `head` on */
	const struct item *items; /* the run's first item; an item's index in the run is its index in `extras` */
	const struct item_extra *extras;
	struct run *run;
};

struct merge_waiting {
	int64_t ns;     /* lower bound of the starts of the block's items */
	uint32_t block; /* index in reader->blocks; reader->blocks_count + i: the spilled run timeline->spill.runs[i] */
};

struct merge_entry {
	uint32_t offset_ns; /* start, since the beginning of the time range */
	uint32_t source;
	const struct item *item;
};

/* Number of items to prefetch ahead in the batch.  A batch has this many empty entries at its end. */
#define MERGE_AHEAD 4u
/* Number of bytes to prefetch ahead in a run, for the next time range.  There is one prefetch per event, because a
 * processor handles only a dozen at a time. */
#define MERGE_NEXT_STRETCH_BYTES (8 * sizeof(struct item))

struct merge {
	struct merge_entry *batch, *spare; /* batch: the items of the time range, sorted; spare: scratch memory of the
	                                      sort */
	uint32_t batch_at, batch_count;
	uint32_t time_range_ns;       /* length of the next time range, unless the activation of a block makes it
                                       * shorter */
	struct merge_source *sources; /* the index of a source stays valid while a batch is consumed */
	uint32_t sources_count;
	uint32_t active_most;          /* largest number of sources at one time so far */
	struct merge_waiting *waiting; /* sorted by ns; those from waiting_at on are not active yet */
	size_t waiting_count, waiting_at;
	struct merge_waiting *bodies; /* the bodies of divided blocks, unsorted */
	size_t bodies_count;
	size_t batch_room, sources_room, bodies_room;
	SLIST_HEAD(, run) pool;
};

void merge_init(struct merge *merge);
void merge_deinit(struct merge *merge);

/* Fills the batch with the items of the next time range.  The batch is empty at the end of the timeline. */
epp_status *merge_refill(struct epp_timeline *timeline) EPP_MUST_CHECK;

/* Gets the next item in order of start, and its source.  Both are valid until the next call.  *item is NULL at the
 * end. */
static inline epp_status *merge_next(struct epp_timeline *timeline, struct merge *merge, const struct item **item,
                                     const struct merge_source **source)
{
	if (__builtin_expect(merge->batch_at == merge->batch_count, 0)) {
		epp_status *status = merge_refill(timeline);
		if (status || !merge->batch_count) {
			*item = NULL;
			return status;
		}
	}
	const struct merge_entry *entry = &merge->batch[merge->batch_at++];
	__builtin_prefetch(entry[MERGE_AHEAD].item);
	__builtin_prefetch((const void *)((uintptr_t)entry->item + MERGE_NEXT_STRETCH_BYTES), 0, 2);
	*item = entry->item;
	*source = &merge->sources[entry->source];
	return NULL;
}

#endif

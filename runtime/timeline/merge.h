/* The merge of runs by start, a stretch of time at a time.
 *
 * What the active runs hold of the next stretch is gathered and sorted by radix, which costs an event a third of what a
 * tournament over the heads of 64 runs does; the stretch is as long as some hundred events take.  Together the runs are
 * larger than the processor's caches, so gathering looks at their starts, which lie apart, and at no item.
 * Blocks wait, sorted by their earliest start, until the front reaches them; only then are they decoded, and no stretch
 * goes beyond the next one.  A block whose first records were open long before it began is divided: those, 64 at most,
 * become a small run of their own, and the rest, its body, waits on.
 * Called by timeline.c; runs are made by block_load.c and spill.c.
 */
#ifndef EPPROF_RUNTIME_TIMELINE_MERGE_H
#define EPPROF_RUNTIME_TIMELINE_MERGE_H

#include "timeline/merging/sorted_run.h"

struct epp_timeline;

/* A run that is active, and what is left of it. */
struct merge_source {
	const struct item *head, *end;
	const int64_t *starts;    /* from head on */
	const struct item *items; /* the run's, and what stands beside them: NULL if nothing does */
	const struct item_extra *extras;
	struct run *run;
};

struct merge_waiting {
	int64_t ns;     /* no item of the block begins before it */
	uint32_t block; /* from reader->blocks_count on: runs of the spill */
};

struct merge_entry {
	uint32_t offset_ns; /* since the beginning of the stretch */
	uint32_t source;
	const struct item *item;
};

/* How far ahead items are fetched: a batch has as many empty entries behind it. */
#define MERGE_AHEAD 4u
/* And how far in their run, for the next stretch: one an event, since a processor can wait for a dozen at once. */
#define MERGE_NEXT_STRETCH_BYTES (8 * sizeof(struct item))

struct merge {
	struct merge_entry *batch, *spare; /* the stretch in order; room for sorting it */
	uint32_t batch_at, batch_count;
	uint32_t time_range_ns;       /* of the next one, if nothing comes in between */
	struct merge_source *sources; /* their indexes do not change while a batch lasts */
	uint32_t sources_count;
	uint32_t active_most;          /* sources at once */
	struct merge_waiting *waiting; /* sorted */
	size_t waiting_count, waiting_at;
	struct merge_waiting *bodies; /* of divided blocks, in no order */
	size_t bodies_count;
	size_t batch_room, sources_room, bodies_room;
	SLIST_HEAD(, run) pool;
};

void merge_init(struct merge *merge);
void merge_deinit(struct merge *merge);

/* A run for the caller to fill: used memory first.  NULL: no memory. */
struct run *merge_run_take(struct merge *merge);
void merge_run_give_back(struct merge *merge, struct run *run);

/* Adds a run in order of start.  Ownership: takes it, on failure too. */
epp_status *merge_add(struct merge *merge, struct run *run) EPP_MUST_CHECK;

/* block_activation.c: when the next block must be active, INT64_MAX if there is none; `*body` is its index, if it is one, for the
 * call that makes it active. */
int64_t merge_next_activation(const struct merge *merge, size_t *body);
epp_status *merge_activate(struct epp_timeline *timeline, size_t body) EPP_MUST_CHECK;

/* Makes the batch of the next stretch; it is empty at the end. */
epp_status *merge_refill(struct epp_timeline *timeline) EPP_MUST_CHECK;

/* The next item in order of start and the source it is in, valid until the next call; `*item` is NULL at the end. */
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

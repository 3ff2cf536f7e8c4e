/* Items that come in no order, brought into order of start in bounded memory.
 *
 * They are collected in at most `bytes_most`; when that is full they are sorted and written to an unlinked temporary file
 * in TMPDIR as one run, which the merge later reads through a window of its own.  What never fills it stays in memory.
 */
#ifndef EPPROF_RUNTIME_TIMELINE_MERGING_SPILL_H
#define EPPROF_RUNTIME_TIMELINE_MERGING_SPILL_H

#include "timeline/merging/sorted_run.h"

/* Below 4 GiB. */
#define SPILL_BYTES_MOST (64u << 20)

/* Sorted items, in the file or in memory. */
struct spill_run {
	int64_t first_ns;
	bool in_file;
	uint64_t at, end; /* offsets in the file, or positions in spill->sorted */
};

/* Behind what was read last. */
static inline bool spill_has_more(const struct spill_run *run)
{
	return run->at < run->end;
}

struct spill {
	size_t bytes_most;
	uint8_t *entries; /* one behind the other */
	size_t entries_bytes, entries_room;
	uint32_t *sorted; /* where each begins */
	size_t sorted_count, sorted_room;
	int file; /* -1: none yet */
	uint64_t file_bytes;
	struct spill_run *runs;
	uint32_t runs_count;
	struct run chunk; /* on its way to the file */
};

void spill_init(struct spill *spill);
void spill_deinit(struct spill *spill);

/* Takes copies of a run's items, from run->at on.  Errors: EPP_IO, EPP_OUT_OF_MEMORY. */
epp_status *spill_add(struct spill *spill, const struct run *run) EPP_MUST_CHECK;
/* No more will come: spill->runs is what is to be merged. */
epp_status *spill_finish(struct spill *spill) EPP_MUST_CHECK;

/* Makes `run` the beginning of a spilled run. */
epp_status *spill_begin(struct spill *spill, size_t index, struct run *run) EPP_MUST_CHECK;
/* The next items of run->spill; run->at == run->end at the end. */
epp_status *spill_refill(struct spill *spill, struct run *run) EPP_MUST_CHECK;

#endif

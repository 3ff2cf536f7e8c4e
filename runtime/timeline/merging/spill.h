/* Sorts unordered items by start in bounded memory.
 *
 * Items are collected in a buffer of at most `bytes_most`.  When the buffer is full, they are sorted and written to an
 * unlinked temporary file in TMPDIR as one spilled run, which the merge later reads chunk by chunk.  If the limit is
 * never reached, the items stay in memory. */
#ifndef EPPROF_RUNTIME_TIMELINE_MERGING_SPILL_H
#define EPPROF_RUNTIME_TIMELINE_MERGING_SPILL_H

#include "timeline/merging/sorted_run.h"

/* Size limit of the collected items.  Must be below 4 GiB, because `sorted` has 32-bit offsets. */
#define SPILL_BYTES_MOST (64u << 20)

/* A spilled run: sorted items, in the file or in memory. */
struct spill_run {
	int64_t first_ns;
	bool in_file;
	uint64_t at, end; /* the part that is not read yet: offsets in the file, or indexes of spill->sorted */
};

/* Returns true if the run has items that have not been read yet. */
static inline bool spill_has_more(const struct spill_run *run)
{
	return run->at < run->end;
}

struct spill {
	size_t bytes_most;
	uint8_t *entries; /* a sequence of struct spill_entry, each followed by its args */
	size_t entries_bytes, entries_room;
	uint32_t *sorted; /* offsets in `entries` */
	size_t sorted_count, sorted_room;
	int file; /* descriptor of the file; -1: not opened yet */
	uint64_t file_bytes;
	struct spill_run *runs;
	uint32_t runs_count;
	struct run chunk; /* buffer for writing to the file */
};

void spill_init(struct spill *spill);
void spill_deinit(struct spill *spill);

/* Adds copies of the items of a run, beginning with run->at.  Errors: EPP_IO, EPP_OUT_OF_MEMORY. */
epp_status *spill_add(struct spill *spill, const struct run *run) EPP_MUST_CHECK;
/* Called once, after the last spill_add.  The runs to merge are then in spill->runs. */
epp_status *spill_finish(struct spill *spill) EPP_MUST_CHECK;

/* Fills `run` with the first chunk of a spilled run. */
epp_status *spill_begin(struct spill *spill, size_t index, struct run *run) EPP_MUST_CHECK;
/* Fills `run` with the next chunk of run->spill.  At the end, run->at == run->end. */
epp_status *spill_refill(struct spill *spill, struct run *run) EPP_MUST_CHECK;

#endif

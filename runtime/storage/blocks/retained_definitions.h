/* The retained part of a ring: the names, tracks, ledgers and runs that readers need for the records in overwritable
 * segments.
 *
 * The number of threads is not limited, and each thread leaves a track and a ledger entry. Once all events of an ended
 * thread are overwritten, its entry can be replaced by a sum. Retained segments are therefore compacted, the oldest
 * first: entries that are still needed are copied, and the ledger entries of other threads are added up
 * (EPF_BLOCK_RETAINED of format.h).
 *
 * These functions only analyse segments; block_writer reads and writes the bytes. The caller holds the session's drain
 * lock. */
#ifndef EPPROF_RUNTIME_STORAGE_BLOCKS_RETAINED_DEFINITIONS_H
#define EPPROF_RUNTIME_STORAGE_BLOCKS_RETAINED_DEFINITIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "format/format_ring.h"
#include "storage/blocks/ring_ledger.h"

struct retained_segment {
	uint64_t index, number;
	size_t used; /* the end of the segment's blocks; not set for the current segment */
};

struct retained {
	struct retained_segment *segments; /* the oldest first, the current one last */
	uint32_t segments_max, segments_count;
	uint32_t *threads; /* the thread tracks that are defined in a block and whose ledger entry is not in the sum;
	                      ascending */
	size_t threads_count, threads_capacity;
	struct epf_ledger_entry session, ended_threads; /* the sums of the last EPF_BLOCK_RETAINED */
	uint64_t producers_number; /* the number of the segment with the latest EPF_BLOCK_PRODUCERS */
	uint32_t last_run;
	bool is_sum_frozen; /* copies of a failed compaction could not be removed, so nothing may be added to the sum any
	                 more */
};

/* Returns false if out of memory. */
bool retained_init(struct retained *retained, uint32_t segments_max);
void retained_deinit(struct retained *retained);

/* Reserves memory for a block that is about to be appended. Returns false if out of memory. */
bool retained_reserve(struct retained *retained, const struct epf_block *block);
/* Updates the state for a block that was appended. */
void retained_note(struct retained *retained, const struct epf_block *block);

/* The result of scanning the oldest segment. */
struct compaction {
	uint8_t *blocks; /* the copied blocks: headers without magic and checksum, and payloads; each block is aligned
	                    to 8 */
	size_t bytes;
	size_t threads_bytes; /* the part of `bytes` that could be dropped if the ring held no events of these
	                         threads */
	uint32_t *added;      /* the tracks whose entries were added to the sum, sorted */
	size_t added_count;
	struct epf_ledger_entry session, ended_threads;
	struct epf_block *retained; /* the EPF_BLOCK_RETAINED, which completes the compaction */
};

/* Scans the oldest segment, whose bytes are in `segment`. Returns 0 or errno (EIO: the bytes are damaged). */
int retained_scan(const struct retained *retained, const struct ring *ring, const uint8_t *segment,
                  struct compaction *compaction);
void compaction_deinit(struct compaction *compaction);

/* Removes the oldest segment after all blocks of the compaction are written. Returns its place. */
uint64_t retained_remove_oldest(struct retained *retained, struct ring *ring, const struct compaction *compaction);

#endif

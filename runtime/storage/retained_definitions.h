/* What a ring keeps beside the events that go round: names, tracks, accounts, runs; and which of it explains anything yet.
 *
 * Threads come and go without end, and each leaves a track and an account.  Once all events of one that has left are
 * overwritten, its account says nothing that a sum could not say.  So kept segments are emptied, the oldest first: what
 * still counts is copied, accounts of the others are added up (EPF_BLOCK_KEPT of format.h).
 *
 * Bytes are block_writer's; here they are only looked through.  Who appends blocks holds the session's drain lock.
 */
#ifndef EPPROF_RUNTIME_STORAGE_RETAINED_DEFINITIONS_H
#define EPPROF_RUNTIME_STORAGE_RETAINED_DEFINITIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "format/format_ring.h"
#include "storage/ring.h"

struct kept_segment {
	uint64_t index, number;
	size_t used; /* where its blocks end; of the one in hand, not yet known */
};

struct kept {
	struct kept_segment *segments; /* the oldest first, the one in hand last */
	uint32_t segments_max, segments_count;
	uint32_t *threads; /* tracks that a block defines and whose accounts were not added up; ascending */
	size_t threads_count, threads_capacity;
	struct epf_ledger_entry session, gone; /* as the last EPF_BLOCK_KEPT says */
	uint64_t producers_number;             /* the segment with the latest EPF_BLOCK_PRODUCERS */
	uint32_t last_run;
	bool spoiled; /* copies that do not count could not be taken back: no account may be added up any more */
};

/* False: no memory. */
bool kept_init(struct kept *kept, uint32_t segments_max);
void kept_deinit(struct kept *kept);

/* A block is about to be appended to the segment in hand; false: no memory. */
bool kept_room(struct kept *kept, const struct epf_block *block);
/* It was. */
void kept_note(struct kept *kept, const struct epf_block *block);

/* The oldest segment, looked through. */
struct kept_cleaning {
	uint8_t *blocks; /* what is to be copied: headers without magic and checksum, payloads, each at a multiple of 8 */
	size_t bytes;
	size_t threads_bytes; /* of them: what would be left out if the ring held nothing of its threads */
	uint32_t *folded;     /* tracks whose accounts are added up, sorted */
	size_t folded_count;
	struct epf_ledger_entry session, gone;
	struct epf_block *kept; /* the block that makes it so */
};

/* `segment` has the bytes of the oldest segment.  Returns 0 or errno (EIO: they are not what was written). */
int kept_look_through(const struct kept *kept, const struct ring *ring, const uint8_t *segment,
                      struct kept_cleaning *cleaning);
void kept_cleaning_deinit(struct kept_cleaning *cleaning);

/* All of it is written: the oldest segment is void.  Returns its place. */
uint64_t kept_forget(struct kept *kept, struct ring *ring, const struct kept_cleaning *cleaning);

#endif

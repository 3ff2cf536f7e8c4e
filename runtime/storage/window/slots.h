/* The slots of a window, one for each recorder: who uses them, which region each recorder fills, and their losses.
 *
 * A recorder takes a slot and leaves it when its thread exits. The drain closes it: the last region and the ledger
 * entry become blocks. After that the slot is cleared and free again.  "The lock" is the lock of struct storage. */
#ifndef EPPROF_RUNTIME_STORAGE_WINDOW_SLOTS_H
#define EPPROF_RUNTIME_STORAGE_WINDOW_SLOTS_H

#include "epprof/session.h"
#include "storage/window/chunk_pool.h"

#define SLOT_NONE UINT32_MAX

/* State of a slot that is needed only in this process. */
struct slot_use {
	struct epf_region *region; /* the one that is filled now; NULL: none. Its recorder's while that records */
	uint32_t chunk;            /* the region's chunk; CHUNK_NONE: the slot's own region */
	bool faults_counted;       /* the recorder has taken its first chunk */
	uint8_t region_state;      /* of the slot's own region, enum region_state */
	bool taken;                /* under the lock, as are the rest */
	bool to_close;             /* the drain has not closed it yet */
	bool is_left;              /* the thread has exited */
	uint64_t left_ticks;       /* when it did */
	uint64_t faults;           /* the thread's page faults at the last reading */
};

struct slots {
	struct window *window;
	uint32_t free; /* read without the lock as a hint */
	uint32_t used; /* high-water mark */
	struct slot_use uses[EPF_SLOT_COUNT];
	uint64_t lost_before[EPF_LOSS_COUNT]; /* by slots that were cleared */
	uint64_t emitted_before;              /* by these, too */
};

/* All slots of a new window are free. */
void slots_init(struct slots *slots, struct window *window);

/* Takes a free slot. The lock is held. Returns its index, or SLOT_NONE. */
uint32_t slots_take(struct slots *slots);

/* The recorder's thread has exited. Does nothing if the drain has closed the slot already. The lock is held. */
void slots_leave(struct slots *slots, uint32_t index);

/* Frees a slot whose ledger entry is in a block. The lock is held. */
void slots_clear(struct slots *slots, uint32_t index);

/* Passes the region that is filled now, if any, on to the drain.  Thread: the recorder's, or the drain. */
void slots_fill_region(struct slots *slots, struct chunk_pool *chunks, uint32_t index);

/* The number of events that threads have recorded or lost. The lock is held. */
uint64_t slots_emitted(const struct slots *slots);

/* The number of events that threads have lost for a reason. The lock is held. */
uint64_t slots_lost(const struct slots *slots, epp_loss reason);

#endif

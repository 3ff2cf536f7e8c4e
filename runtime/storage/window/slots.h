/* The slots of a window, one for each recorder: the user of each slot, the region that its recorder fills, and its
 * losses.
 *
 * A recorder takes a slot, and leaves it when its thread exits. The drain then closes the slot: the last region and the
 * ledger entry become blocks. After that the slot is cleared and free again.  "The lock" is the lock of struct
 * storage. */
#ifndef EPPROF_RUNTIME_STORAGE_WINDOW_SLOTS_H
#define EPPROF_RUNTIME_STORAGE_WINDOW_SLOTS_H

#include "epprof/session.h"
#include "storage/window/chunk_pool.h"

#define SLOT_NONE UINT32_MAX

/* The state of a slot that only this process needs. */
struct slot_use {
	struct epf_region *region; /* the region that is filled now; NULL: none. It belongs to the slot's recorder while
	                              that records */
	uint32_t chunk;            /* the region's chunk; CHUNK_NONE: the region is inside the slot */
	bool faults_counted;       /* the recorder has taken its first chunk */
	uint8_t region_state;      /* the state of the region inside the slot: enum region_state */
	bool taken;                /* this and the following members are protected by the lock */
	bool to_close;             /* the slot was taken, and the drain has not closed it yet */
	bool has_exited;           /* the thread has exited */
	uint64_t left_ticks;       /* the time at which the thread exited */
	uint64_t faults;           /* the thread's page faults at the last reading */
};

struct slots {
	struct window *window;
	uint32_t free; /* the number of free slots; read without the lock as a hint */
	uint32_t used; /* the highest number of a used slot + 1 */
	struct slot_use uses[EPF_SLOT_COUNT];
	uint64_t lost_before[EPF_LOSS_COUNT]; /* the losses in slots that were cleared */
	uint64_t emitted_before;              /* the emitted events in slots that were cleared */
};

/* All slots of a new window are free. */
void slots_init(struct slots *slots, struct window *window);

/* Takes a free slot. The storage's lock is held. Returns its index, or SLOT_NONE if no slot is free. */
uint32_t slots_take(struct slots *slots);

/* Called when the recorder's thread exits. Does nothing if the drain has closed the slot already. The storage's lock is
 * held. */
void slots_leave(struct slots *slots, uint32_t index);

/* Frees a slot whose ledger entry is in a block. The storage's lock is held. */
void slots_clear(struct slots *slots, uint32_t index);

/* Passes the region that is filled now, if there is one, to the drain. Thread: the recorder's, or the drain. */
void slots_fill_region(struct slots *slots, struct chunk_pool *chunks, uint32_t index);

/* Returns the number of events that threads have recorded or lost. The storage's lock is held. */
uint64_t slots_emitted(const struct slots *slots);

/* Returns the number of events that threads have lost for a reason. The storage's lock is held. */
uint64_t slots_lost(const struct slots *slots, epp_loss reason);

#endif

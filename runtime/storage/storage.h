/* The storage of a session: from the records that threads store in the mapped window to the blocks of the file.
 *
 *   window/window.h          the mapped part of the file; slots.h, chunk_pool.h, definition_log.h: its parts
 *   window/page_faults.h     faults of recording threads
 *   blocks/block_writer.h    blocks of the file, in segments; ring_ledger.h, retained_definitions.h: segments that are reused
 *   blocks/writeback.h       writes full segments to the disk and drops them from the page cache
 *   definitions.h            tracks and names
 *   drain.h                  turns filled regions into blocks; region_block.h encodes one, drop_region.h loses one
 *   sync.h                   syncs the file to the disk
 *   run_error.h              the first error
 *
 * Recorders use the slots and chunks directly; the session calls the functions below and those of drain.h.
 *
 * Locks, in the order in which they are taken: `drain_lock`, `lock`, then the lock of names (base/name.h), then those of
 * the log and of the error. */
#ifndef EPPROF_RUNTIME_STORAGE_STORAGE_H
#define EPPROF_RUNTIME_STORAGE_STORAGE_H

#include <pthread.h>

#include "storage/blocks/block_writer.h"
#include "storage/definitions.h"
#include "storage/run_error.h"
#include "storage/sync.h"
#include "storage/window/slots.h"

#define STORAGE_SCRATCH_BYTES (2u << 20) /* unused pages of it are never touched, so they take no memory */

/* State of the drain, under the drain lock. */
struct drain {
	uint64_t pair_due_ticks; /* time of the next pair of clock readings */
	uint64_t populate_due_ticks;
	size_t populate_at;
	uint64_t quiet_visits;
	uint64_t own_written[EPF_LOSS_COUNT]; /* losses without a slot that are already in the ledger */
	bool ledger_due; /* a ledger, or events, of a run could not be written: the window keeps them */
};

struct storage {
	/* Held to write blocks: by the helper, by an end that drains itself, or by a recording thread of a lossless
	 * session, which only tries to take it and never waits. */
	pthread_mutex_t drain_lock;
	pthread_mutex_t lock; /* slots and definitions; the session's own members too */
	struct run_error error;
	struct slots slots;
	struct chunk_pool chunks;
	struct window window;
	struct block_writer writer;
	struct definitions definitions;
	struct sync *sync;      /* NULL: no periodic sync */
	char *path;             /* NULL: memory */
	bool is_lossless;       /* a thread that finds no free chunk drains one itself */
	bool is_finished;       /* storage_finish has finished the file */
	bool unsafe_to_unmap;   /* membarrier was not available: a recorder may still use the window */
	uint64_t next_sequence; /* of the next region */
	uint64_t run_end_ticks; /* UINT64_MAX: the run goes on */
	struct drain drain;
	uint8_t *scratch; /* STORAGE_SCRATCH_BYTES, in which blocks are built */
};

/* Prepares zeroed memory for storage_open, which may then be called again after each storage_close. Locks stay usable
 * for ever. */
void storage_create(struct storage *storage);

/* Creates the file at `path`, which it takes over, or a trace in memory (NULL). `header` has the description of the
 * process; `options` are checked already. */
epp_status *storage_open(struct storage *storage, const epp_session_options *options, char *path,
                         const struct epf_header *header) EPP_MUST_CHECK;

/* Finishes the file of a run that has ended; no run may follow. The window stays mapped, and takes disk space in a large
 * file, until storage_close. Does nothing for a trace in memory. Errors: EPP_IO (something could not be written; then
 * storage_close tries again). */
epp_status *storage_finish(struct storage *storage) EPP_MUST_CHECK;

/* Finishes and closes the file. A window that a recorder may still write to is not unmapped; one with data that could
 * not be written is not marked as finished. */
void storage_close(struct storage *storage);

/* In a forked child: makes the locks usable, and closes and unmaps without changing the file. */
void storage_fork_child(struct storage *storage, bool is_open);

/* Reads back `bytes` of the trace at `offset`. Returns the number of bytes copied; only an error of the file changes
 * errno. Readers expect a live trace to change while they read (format/format.h). */
size_t storage_read(struct storage *storage, uint64_t offset, void *buffer, size_t bytes);

/* The number of events lost for a reason, without those of profilers. The lock is held. */
uint64_t storage_lost(const struct storage *storage, epp_loss reason);

#endif

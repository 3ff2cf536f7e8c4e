/* The storage of a session: from the records that threads store in the mapped window to the blocks of the file.
 *
 *   window/window.h          the mapped part of the file, with the parts slots.h, chunk_pool.h and definition_log.h
 *   window/page_faults.h     page faults of recording threads
 *   blocks/block_writer.h    blocks of the file, in segments; ring_ledger.h, retained_definitions.h: segments that are reused
 *   blocks/writeback.h       writes full segments to the disk and drops them from the page cache
 *   definitions.h            tracks and names
 *   drain.h                  turns full regions into blocks; region_block.h encodes one, drop_region.h drops one
 *   sync.h                   syncs the file to the disk
 *   run_error.h              the first error of a run
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

#define STORAGE_SCRATCH_BYTES (2u << 20) /* unused pages are never touched, so they take no memory */

/* State of the drain. Protected by the drain lock. */
struct drain {
	uint64_t pair_due_ticks; /* time of the next pair of clock readings */
	uint64_t populate_due_ticks;
	size_t populate_at;
	uint64_t quiet_visits;
	uint64_t own_written[EPF_LOSS_COUNT]; /* losses without a slot that were already written to the ledger */
	bool ledger_due; /* a ledger or events of a run could not be written, and are still in the window */
};

struct storage {
	/* Held by a thread that writes blocks: the helper, a thread that starts or ends a run or finishes the file, or
	 * a recording thread of a lossless session, which only tries to take the lock and never waits for it. Also
	 * held while a trace in memory is read (storage_read). */
	pthread_mutex_t drain_lock;
	pthread_mutex_t lock; /* protects slots, definitions, and the members of the session */
	struct run_error error;
	struct slots slots;
	struct chunk_pool chunks;
	struct window window;
	struct block_writer writer;
	struct definitions definitions;
	struct sync *sync;      /* NULL: no periodic sync */
	char *path;             /* NULL: the trace is in memory */
	bool is_lossless;       /* a thread that finds no free chunk drains one itself */
	bool is_finished;       /* storage_finish has finished the file */
	bool unsafe_to_unmap;   /* membarrier was not available: a recorder may still use the window */
	uint64_t next_sequence; /* the sequence of the next region */
	uint64_t run_end_ticks; /* the end of the run; UINT64_MAX: the run has not ended */
	struct drain drain;
	uint8_t *scratch; /* the memory in which blocks are built: STORAGE_SCRATCH_BYTES */
};

/* Initializes zeroed memory for storage_open. After storage_close, storage_open may be called again. The locks are
 * never destroyed. */
void storage_create(struct storage *storage);

/* Creates the file at `path` or, if `path` is NULL, a trace in memory. Takes ownership of `path`. `header` has the
 * description of the process. The caller has checked `options`. */
epp_status *storage_open(struct storage *storage, const epp_session_options *options, char *path,
                         const struct epf_header *header) EPP_MUST_CHECK;

/* Finishes the file after the last run has ended. The window stays mapped until storage_close, and takes disk space
 * until then if the file is large. Does nothing for a trace in memory. Errors: EPP_IO (some data could not be written;
 * storage_close then tries again). */
epp_status *storage_finish(struct storage *storage) EPP_MUST_CHECK;

/* Finishes and closes the file. If a recorder may still write to the window, it is not unmapped. If some data could not
 * be written, the file is not marked as finished. */
void storage_close(struct storage *storage);

/* In a forked child: makes the locks usable again, and closes and unmaps the file without changing it. */
void storage_fork_child(struct storage *storage, bool is_open);

/* Copies `bytes` of the trace at `offset` to `buffer`. Returns the number of bytes copied. errno is changed only by a
 * failed read of the file. A live trace may change during the call; readers expect this (format/format.h). */
size_t storage_read(struct storage *storage, uint64_t offset, void *buffer, size_t bytes);

/* Returns the number of events lost for a reason, without those of profilers. The storage's lock is held. */
uint64_t storage_lost(const struct storage *storage, epp_loss reason);

#endif

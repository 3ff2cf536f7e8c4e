/* The window of a trace that is being recorded: header page, live page, slots, log and chunks, in one mapping.
 *
 * For a file, the window is one of:
 * - the beginning of the trace file, mapped shared and touched, so that the kernel keeps each store if the process
 *   dies;
 * - an external file, named in the header and removed when the trace is finished. It is in the directory
 * EPPROF_WINDOW_DIR or, if the trace's file system is not suitable, in /dev/shm. A file system is not suitable if its
 * files cannot be mapped, if it copies a page on a store (btrfs: the disk or quota may then be full, which raises
 * SIGBUS), or if a program implements it (FUSE);
 * - anonymous memory, if neither is possible.
 *
 * Sessions in memory have an anonymous window too. Anonymous windows come from a pool of clean ones, so that a short
 * session costs microseconds. Recorders store into the window without a check, so it is unmapped only when no recorder
 * can use it any more.
 *
 * By default only the first chunks and the first piece of the log are allocated at creation. In a file only some of
 * these chunks are touched at once. The helper touches the others within milliseconds (window_grow); a thread that
 * needs one earlier touches it itself (window_prepare). A chunk is used only after it was touched. All other chunks
 * have addresses and file offsets, but are a hole until window_grow. No other component therefore needs to be informed
 * when chunks are added, and after a kill in between the new part reads as zeros. */
#ifndef EPPROF_RUNTIME_STORAGE_WINDOW_WINDOW_H
#define EPPROF_RUNTIME_STORAGE_WINDOW_WINDOW_H

#include <stdbool.h>

#include "base/status.h"
#include "format/format.h"

/* The size of a window with the default pool of chunks. */
#define WINDOW_BYTES ((size_t)EPF_SEGMENTS_OFFSET)

/* The part of a pooled window whose pages stay present. */
#define WINDOW_WARM_SLOTS 16u
#define WINDOW_WARM_CHUNKS 12u

/* WINDOW_FIRST_CHUNKS are allocated on the disk at creation (16 MiB); WINDOW_STEP_CHUNKS are added by each further
 * step, which takes milliseconds. In a file, WINDOW_READY_CHUNKS of the first chunks are usable at once, and
 * WINDOW_PREPARE_CHUNKS more after each step of preparation. */
#define WINDOW_FIRST_CHUNKS 256u
#define WINDOW_STEP_CHUNKS 8u
#define WINDOW_READY_CHUNKS 32u
#define WINDOW_PREPARE_CHUNKS 16u
/* The number of slots of a file that are present at creation, and the number that each step adds. */
#define WINDOW_READY_SLOTS 64u
#define WINDOW_PREPARE_SLOTS 72u
#define WINDOW_STEP_BYTES ((size_t)WINDOW_STEP_CHUNKS * EPF_CHUNK_BYTES)
_Static_assert((WINDOW_FIRST_CHUNKS - WINDOW_READY_CHUNKS) % WINDOW_PREPARE_CHUNKS == 0, "whole steps");
_Static_assert(WINDOW_READY_SLOTS +
                       (WINDOW_FIRST_CHUNKS - WINDOW_READY_CHUNKS) / WINDOW_PREPARE_CHUNKS * WINDOW_PREPARE_SLOTS >=
                   EPF_SLOT_COUNT,
               "all slots");
_Static_assert((EPF_CHUNK_COUNT - WINDOW_FIRST_CHUNKS) % WINDOW_STEP_CHUNKS == 0, "whole steps");

struct window {
	uint8_t *base;       /* NULL: there is no window */
	int fd;              /* the trace file; -1: a session in memory */
	int mapped_fd;       /* the mapped file: `fd`, or the external window file; -1: anonymous memory */
	char *external_path; /* the path of the external window file; NULL: none */
	struct epf_header *header;
	struct epf_live *live;
	struct epf_producer *producers;
	struct epf_slot *slots;
	uint8_t *log;
	uint8_t *chunks;
	uint8_t *extents;      /* the further pieces of the definition log */
	size_t bytes;          /* the size of the window, which is the offset of the segments */
	uint32_t chunks_ready; /* the number of chunks that are usable at creation in a file */
	uint32_t chunks_first; /* the number of chunks that are allocated at creation */
	uint32_t chunks_limit; /* the number of chunks for which there are addresses */
	uint32_t chunks_count; /* the number of chunks that are usable or being prepared; atomic */
	uint32_t slots_count;  /* the number of slots that are present; changed only by the drain */
	uint32_t log_pieces;   /* the number of usable pieces of the log; protected by the log's lock */
	bool room_due;         /* the trace is finished, and its window still takes disk space */
};

/* Returns true if stores into the window survive a kill of the process. */
static inline bool window_is_shared(const struct window *window)
{
	return window->mapped_fd >= 0;
}

static inline uint32_t window_chunks_count(const struct window *window)
{
	return __atomic_load_n(&window->chunks_count, __ATOMIC_RELAXED);
}

/* Returns true if all chunks that were allocated at creation are usable, and all slots are present. */
static inline bool window_is_whole(const struct window *window)
{
	return window_chunks_count(window) >= window->chunks_first && window->slots_count == EPF_SLOT_COUNT;
}

/* Chunks with adjacent numbers. */
struct chunk_range {
	uint32_t first, count;
};

/* Creates the file, locks it against other writers, allocates the window and maps it. Writes `header` with the sizes
 * and offsets of the window filled in. If `header->chunk_count` is not 0, the window has this fixed number of chunks,
 * which are allocated and touched at creation; 0: the default pool, which grows. Errors: as epp_session_create. */
epp_status *window_open_file(const char *path, bool overwrite, const struct epf_header *header, struct window *window);

/* Removes the file and its external window file. For a window that was opened and has no contents yet. */
void window_remove_files(const struct window *window, const char *path);

/* Opens a clean window in memory. */
epp_status *window_open_memory(const struct epf_header *header, struct window *window);

/* Marks the trace as finished in the header. All regions must be blocks already. The disk space of the window is freed
 * when the window is closed or abandoned. Returns 0 or errno. */
int window_finish(struct window *window);

/* Removes the window's hole from a small finished trace, so that the file is as long as its contents. The file is
 * replaced by a new one; a process that has the old file open keeps reading it. If `durable` is set, the new file is
 * synced first. On any failure the trace is not changed. */
void window_shrink(struct window *window, bool durable);

/* Unmaps the window or returns it to the pool, and closes the file. The first `used_slots` slots and `used_chunks`
 * chunks were used and must be cleaned. */
void window_close(struct window *window, uint32_t used_slots, uint32_t used_chunks);

/* Closes the file but keeps the mapping for ever, because a thread may still store into it. The file stays locked as
 * long as a shared mapping exists. */
void window_abandon(struct window *window);

/* Makes the next chunks usable and adds their number to chunks_count; the caller adds them to the pool. They are
 * WINDOW_PREPARE_CHUNKS that are allocated already, with some slots, which takes some 100 us; or, if there are none,
 * WINDOW_STEP_CHUNKS new ones. Returns 0 or errno. ENOSPC is returned also if the disk has little room left, because
 * that room is reserved for blocks; ENOBUFS if all chunks are usable. The drain lock is held. */
int window_grow(struct window *window, struct chunk_range *added);

/* Makes at most `most` chunks usable that are allocated already. If there are none, `added->count` is 0. Returns 0 or
 * errno. Thread: [any-thread], also while another thread is in window_grow. */
int window_prepare(struct window *window, uint32_t most, struct chunk_range *added);

/* Makes another piece of the log usable and increments log_pieces. Returns 0 or errno, as window_grow. */
int window_grow_log(struct window *window);

/* In a forked child: closes and unmaps a window of the parent without changing its contents. */
void window_drop(struct window *window);

/* Makes some pages from `at` on present and writable, without changing them, and returns the next position. The
 * kernel's writeback makes pages read-only one by one, and the next store of a recorder would then cause a fault. One
 * call handles only a part of the window, because it may wait for the disk. */
size_t window_populate(const struct window *window, size_t at);

/* In a forked child: drops the parent's pooled windows, which are shared copy-on-write. */
void window_fork_child(void);

#endif

/* The window of a trace that is being recorded: header page, live page, slots, log and chunks, in one mapping.
 *
 * For a file, the window is one of:
 * - the beginning of the trace file, mapped shared and touched, so that the kernel keeps each store if the process
 *   dies;
 * - an external file, named in the header and removed when the trace is finished. It is in the directory
 *   EPPROF_WINDOW_DIR or, if the trace's file system is not suitable, in /dev/shm. Not suitable: it cannot be mapped,
 *   it copies a page that is stored into again (btrfs: the disk or quota may then be full, which raises SIGBUS), or a
 *   program implements it (FUSE);
 * - anonymous memory, if neither is possible.
 *
 * Sessions in memory have an anonymous window too. Anonymous windows come from a pool of clean ones, so that a short
 * session costs microseconds. Recorders store into the window without a check, so it is unmapped only when none can any
 * more.
 *
 * By default only the first chunks and the first piece of the log are allocated at creation, and in a file only the
 * first of these chunks are touched: the helper touches the others within milliseconds (window_grow), or the thread that
 * needs one before that (window_prepare), and a chunk is used only after that. The rest have addresses and file offsets
 * but are a hole until window_grow, so no other part needs to be informed when chunks are added, and after a kill in
 * between the new part reads as zeros. */
#ifndef EPPROF_RUNTIME_STORAGE_WINDOW_WINDOW_H
#define EPPROF_RUNTIME_STORAGE_WINDOW_WINDOW_H

#include <stdbool.h>

#include "base/status.h"
#include "format/format.h"

/* The size of a window with the default pool of chunks. */
#define WINDOW_BYTES ((size_t)EPF_SEGMENTS_OFFSET)

/* The part of a window in the pool whose pages are present. */
#define WINDOW_WARM_SLOTS 16u
#define WINDOW_WARM_CHUNKS 12u

/* Chunks that are allocated on the disk at creation (16 MiB), and chunks added per step, which takes milliseconds. In a
 * file, WINDOW_READY_CHUNKS of the first ones are usable at once, and WINDOW_PREPARE_CHUNKS more after each step. */
#define WINDOW_FIRST_CHUNKS 256u
#define WINDOW_STEP_CHUNKS 8u
#define WINDOW_READY_CHUNKS 32u
#define WINDOW_PREPARE_CHUNKS 16u
/* In a file, slots that are present at creation, and slots added with each step. */
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
	uint8_t *base;       /* NULL: none */
	int fd;              /* the trace; -1: a session in memory */
	int mapped_fd;       /* mapped file: fd, or the external window file; -1: anonymous */
	char *external_path; /* path of the external window file; NULL: none */
	struct epf_header *header;
	struct epf_live *live;
	struct epf_producer *producers;
	struct epf_slot *slots;
	uint8_t *log;
	uint8_t *chunks;
	uint8_t *extents;      /* the log's further pieces */
	size_t bytes;          /* of the window: the offset of the segments */
	uint32_t chunks_ready; /* usable at creation in a file */
	uint32_t chunks_first; /* allocated at creation */
	uint32_t chunks_limit; /* that there are addresses for */
	uint32_t chunks_count; /* chunks that are usable or being prepared; atomic */
	uint32_t slots_count;  /* slots that are present; changed by the drain only */
	uint32_t log_pieces;   /* usable pieces of the log; under the log's lock */
	bool room_due;         /* the trace is finished, and its window still takes disk space */
};

/* True if the kernel keeps a store when the process is killed. */
static inline bool window_is_shared(const struct window *window)
{
	return window->mapped_fd >= 0;
}

static inline uint32_t window_chunks_count(const struct window *window)
{
	return __atomic_load_n(&window->chunks_count, __ATOMIC_RELAXED);
}

/* True if all chunks that were allocated at creation are usable, and all slots are present. */
static inline bool window_is_whole(const struct window *window)
{
	return window_chunks_count(window) >= window->chunks_first && window->slots_count == EPF_SLOT_COUNT;
}

/* Chunks with adjacent numbers. */
struct chunk_range {
	uint32_t first, count;
};

/* Creates the file, locks it against other writers, allocates the window and maps it. Writes `header` with the geometry
 * filled in. `header->chunk_count` chunks are allocated and touched at creation, and there are never more; 0: the
 * default pool, which grows. Errors: as epp_session_create. */
epp_status *window_open_file(const char *path, bool overwrite, const struct epf_header *header, struct window *window);

/* Removes the file and its external window, for a window that was opened and has no contents yet. */
void window_remove_files(const struct window *window, const char *path);

/* Opens a clean window in memory. */
epp_status *window_open_memory(const struct epf_header *header, struct window *window);

/* Marks the trace as finished in the header, after all regions are blocks. The disk space of the window is freed when
 * the window is closed or abandoned. Returns 0 or errno. */
int window_finish(struct window *window);

/* Removes the window's hole from a small finished trace, so that the file is as long as its contents. This replaces the
 * file; a process that has the old one open keeps the old one. `durable`: syncs the new file first. On any failure the
 * trace stays as it is. */
void window_shrink(struct window *window, bool durable);

/* Unmaps the window or returns it to the pool, and closes the file. `used_slots` and `used_chunks` are dirty. */
void window_close(struct window *window, uint32_t used_slots, uint32_t used_chunks);

/* Closes the file but leaves the mapping for ever, because a thread may still store into it. A shared mapping also
 * keeps the file locked. */
void window_abandon(struct window *window);

/* Makes the next chunks usable, which are then the caller's, and adds them to chunks_count: WINDOW_PREPARE_CHUNKS that
 * are allocated already, with some slots, which takes some 100 us, or WINDOW_STEP_CHUNKS new ones. Returns 0 or errno:
 * ENOSPC also if the disk has little room left, which is reserved for blocks; ENOBUFS if all chunks are usable. The
 * drain lock is held. */
int window_grow(struct window *window, struct chunk_range *added);

/* Makes at most `most` of the chunks usable that are allocated already; `added->count` 0: there are no more. Returns 0
 * or errno. Thread: [any-thread], also while another one is in window_grow. */
int window_prepare(struct window *window, uint32_t most, struct chunk_range *added);

/* Makes another piece of the log usable and adds it to log_pieces. Returns 0 or errno, as window_grow. */
int window_grow_log(struct window *window);

/* In a forked child: closes and unmaps a window of the parent without changing its contents. */
void window_drop(struct window *window);

/* Makes used pages from `at` on present and writable, without changing them, and returns the next position. Writeback
 * makes pages read-only one by one, and the next store of a recorder then causes a fault. One part per call, because it
 * may wait for the disk. */
size_t window_populate(const struct window *window, size_t at);

/* In a forked child: drops the parent's pooled windows, which are shared copy-on-write. */
void window_fork_child(void);

#endif

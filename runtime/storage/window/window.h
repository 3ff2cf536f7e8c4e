/* The window of a trace that is being recorded: header page, live page, slots, log and chunks, mapped in one piece.
 *
 * For a file it is the file's own beginning, shared and touched, so that a store is kept by the kernel whatever becomes of
 * the process; or a file of its own, named in the header and gone when the trace is finished: in the directory that
 * EPPROF_WINDOW_DIR names, or, where the trace's file system does not map it, copies what is stored into again (btrfs: its
 * disk or quota may then have no room, which is a SIGBUS) or is a program's (FUSE), in /dev/shm.  Where that does not do either, and for sessions in
 * memory, it is anonymous.  Anonymous windows come from a pool of clean ones, so that a short session costs microseconds.
 * Recorders store into it without asking; so it is unmapped only when none can any more.
 *
 * Only the first chunks and the first piece of the log take room from the beginning, and in a file only the first of these
 * chunks are touched at creation: the helper touches the others in its first milliseconds (window_grow), and a chunk is in the
 * pool only after that.  The rest have their addresses, and their places in the file, but are a hole until window_grow; so nothing has to be told to anybody when there are more, and
 * a kill in between leaves what reads as zeros.
 */
#ifndef EPPROF_RUNTIME_STORAGE_WINDOW_WINDOW_H
#define EPPROF_RUNTIME_STORAGE_WINDOW_WINDOW_H

#include <signal.h>
#include <stdbool.h>

#include "base/status.h"
#include "format/format.h"

#define WINDOW_BYTES ((size_t)EPF_SEGMENTS_OFFSET)

/* What the first touch of a window from the pool has already paid for. */
#define WINDOW_WARM_SLOTS 16u
#define WINDOW_WARM_CHUNKS 12u

/* How many chunks have room on the disk from the beginning (16 MiB), and how many more get room at a time: that takes
 * milliseconds.  Of the first ones in a file, so many are usable at once, and so many more with each step. */
#define WINDOW_FIRST_CHUNKS 256u
#define WINDOW_STEP_CHUNKS 8u
#define WINDOW_READY_CHUNKS 32u
#define WINDOW_PREPARE_CHUNKS 16u
/* Of a file's slots, so many are present at once, and a part of the others with each step. */
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
	uint8_t *base;   /* NULL: none */
	int fd;          /* the trace; -1: in memory */
	int mapped_fd;   /* of the mapping: fd, or the window's own file; -1: it is anonymous */
	char *elsewhere; /* the path of the window's own file; NULL: it is the trace's beginning */
	struct epf_header *header;
	struct epf_live *live;
	struct epf_producer *producers;
	struct epf_slot *slots;
	uint8_t *log;
	uint8_t *chunks;
	uint8_t *extents;      /* of the log */
	uint32_t chunks_count; /* that may be used; the helper's, or whoever drains */
	uint32_t log_pieces;   /* likewise; of who has the log's lock */
	bool room_due;         /* the trace is finished, and its window still takes room on the disk */
};

/* Whether a store into it is kept by the kernel when the process is killed. */
static inline bool window_is_shared(const struct window *window)
{
	return window->mapped_fd >= 0;
}

/* Whether all chunks that have room from the beginning are usable. */
static inline bool window_is_whole(const struct window *window)
{
	return window->chunks_count >= WINDOW_FIRST_CHUNKS;
}

/* Creates the file, locks it against other writers, makes room for the window and maps it.  `header` is written with
 * its geometry filled in.  Errors: as epp_session_create. */
epp_status *window_open_file(const char *path, bool overwrite, const struct epf_header *header, struct window *window);

/* A clean one in memory. */
epp_status *window_open_memory(const struct epf_header *header, struct window *window);

/* All regions are blocks: says so in the header; the window's room on the disk is given back when it is closed or abandoned.
 * Returns 0 or errno. */
int window_finish(struct window *window);

/* Takes the window's hole out of a small finished trace, so that the file is as long as what it holds.  It gets another file's
 * identity by that: who has it open, keeps the old one.  `durable`: on the disk before that.  It may leave things as they are. */
void window_shrink(struct window *window, bool durable);

/* Unmaps, or returns to the pool, of which `used_slots` and `used_chunks` are dirty; closes the file. */
void window_close(struct window *window, uint32_t used_slots, uint32_t used_chunks);

/* Closes the file but leaves the mapping for ever: somebody may still store into it.  So the file stays locked, too. */
void window_abandon(struct window *window);

/* Makes the next chunks usable and counts them in chunks_count: WINDOW_PREPARE_CHUNKS that have room already, with some slots,
 * which takes some 100 us, or WINDOW_STEP_CHUNKS.  Returns 0 or errno, in particular ENOSPC where the disk has little room left, which is better used for what is recorded; ENOBUFS: there are all. */
int window_grow(struct window *window);

/* Makes another piece of the log usable and counts it in log_pieces.  Returns 0 or errno, as window_grow. */
int window_grow_log(struct window *window);

/* In a forked child: closes and unmaps a window of the parent's without touching what is in it. */
void window_drop(struct window *window);

/* Makes the pages in use from `at` on present and writable, without changing them, and returns where to go on: writeback takes
 * the right to write away page by page, and a recorder that stores then pays for a fault.  A part at a time, because it may
 * have to wait for the disk. */
size_t window_populate(const struct window *window, size_t at);

/* In a forked child: forgets the parent's windows in the pool, which it shares copy-on-write. */
void window_fork_child(void);

#endif

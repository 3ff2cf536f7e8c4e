/* The log in a session's window: definitions that are not in a block yet. Readers find them there after a kill and
 * while the session records.
 *
 * The log is filled piece by piece. If the current piece is full, the caller continues in an empty one or adds a piece.
 * The drain empties pieces whose definitions are in blocks. A definition is not logged only if all pieces are full or
 * the disk has no room for another; a kill before the next drain then loses its name. To avoid this, a new name waits
 * for the drain, up to a tenth of a second. If the disk is slower than that, or fails, names no longer wait. */
#ifndef EPPROF_RUNTIME_STORAGE_WINDOW_DEFINITION_LOG_H
#define EPPROF_RUNTIME_STORAGE_WINDOW_DEFINITION_LOG_H

#include <pthread.h>

#include "storage/window/window.h"

struct definition_log {
	pthread_mutex_t lock; /* of all members; always taken last */
	struct window *window;
	uint32_t piece;      /* current piece */
	bool stays;          /* there was no room for more pieces */
	bool is_stuck;       /* the last write of definitions failed */
	uint64_t full_ticks; /* time since which it is full; 0: it was emptied since */
	uint64_t missed;     /* definitions that did not fit */
};

/* A snapshot of the log's fill levels. */
struct log_mark {
	uint64_t words[EPF_LOG_PIECES];
	uint64_t missed;
};

/* Definitions are aligned to 8, in the log and in blocks. */
static inline size_t log_padded(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

/* Starts the log of a new window. Its lock is initialized already. */
void log_init(struct definition_log *log, struct window *window);

/* Appends a definition: header, `body`, then `text`. The header's length is that of both. Any lock may be held. */
void log_append(struct definition_log *log, const struct epf_definition *head, const void *body, const void *text,
                size_t text_bytes);

/* Returns true if a new name of this size should wait: the log has no room, but a run is active, so the drain will soon
 * make room. */
bool log_is_full(struct definition_log *log, size_t text_bytes);

struct log_mark log_mark(struct definition_log *log);

/* Empties the pieces that have not changed since the mark, because their definitions are in blocks. If not `written`,
 * callers no longer wait for the drain. */
void log_settle(struct definition_log *log, const struct log_mark *mark, bool written);

#endif

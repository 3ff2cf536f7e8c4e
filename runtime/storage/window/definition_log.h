/* The log in a session's window: definitions that are not in a block yet. Readers find them in the log after a kill and
 * while the session records.
 *
 * The log is filled piece by piece. If the current piece is full, the caller continues in an empty one or adds a piece.
 * The drain empties pieces whose definitions are in blocks. A definition is missing from the log only if all pieces are
 * full and the disk has no room for another piece; a kill before the next drain then loses its name. To avoid this, a
 * new name waits for the drain, up to a tenth of a second. If the disk needs more time than that, or fails, names do
 * not wait any more. */
#ifndef EPPROF_RUNTIME_STORAGE_WINDOW_DEFINITION_LOG_H
#define EPPROF_RUNTIME_STORAGE_WINDOW_DEFINITION_LOG_H

#include <pthread.h>

#include "storage/window/window.h"

struct definition_log {
	pthread_mutex_t lock; /* protects all members; always taken last */
	struct window *window;
	uint32_t piece;      /* the index of the current piece */
	bool stays;          /* another piece could not be added; this is tried again only after the drain has written
	                        definitions */
	bool is_stuck;       /* the last write of definitions failed */
	uint64_t full_ticks; /* the time at which the log became full; 0: it was emptied since */
	uint64_t missed;     /* the number of definitions that did not fit */
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

/* Appends a definition: header, `body`, then `text`. The length in the header is that of `body` and `text` together.
 * The caller may hold any lock. */
void log_append(struct definition_log *log, const struct epf_definition *head, const void *body, const void *text,
                size_t text_bytes);

/* Returns true if a new name of this size should wait: the log has no room, but the drain will soon make room, because
 * a run is active. */
bool log_is_full(struct definition_log *log, size_t text_bytes);

struct log_mark log_mark(struct definition_log *log);

/* If `written` is set, empties the pieces that have not changed since the mark, because their definitions are in
 * blocks. Else names do not wait for the drain any more. */
void log_settle(struct definition_log *log, const struct log_mark *mark, bool written);

#endif

/* The log in a session's window: definitions that are not in a block yet. Readers find them there after a kill and
 * while the session records.
 *
 * The log is filled piece by piece. If the current piece is full, the caller continues in an empty one or adds a piece.
 * The drain empties pieces whose definitions are in blocks. A definition is not logged only if all pieces are full or
 * the disk has no room for another; a kill before the next drain then loses its name. To avoid this, a new name waits
 * for the drain, up to a tenth of a second. If the disk is slower than that, or fails, names no longer wait. */
#ifndef EPPROF_RUNTIME_STORAGE_WINDOW_DEFINITION_LOG_H
#define EPPROF_RUNTIME_STORAGE_WINDOW_DEFINITION_LOG_H

#include "record/session.h"

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

/* Appends a definition: header, `body`, then `text`. The header's length is that of both. Any lock may be held. */
void log_append(struct session *session, const struct epf_definition *head, const void *body, const void *text,
                size_t text_bytes);

/* True if a new name of this size should wait: the log has no room now, and the drain will soon make some. */
bool log_is_full(struct session *session, size_t text_bytes);

struct log_mark log_mark(struct session *session);

/* Empties the pieces that have not changed since the mark, because their definitions are in blocks. If not `written`,
 * callers no longer wait for the drain. */
void log_settle(struct session *session, const struct log_mark *mark, bool written);

#endif

/* The log in a session's window: definitions that no block holds yet, so that they are found after a kill, and by who reads
 * a session that records.
 *
 * It is filled piece by piece.  Whoever finds the one in hand full goes on in another that is empty, or makes room for one
 * more; the drain empties those whose definitions it has put into blocks.  Only if all are full, or the disk has no room for
 * more, does a definition go without: then its name is lost by a kill before the drain comes.  So a name waits for the drain
 * before it is made, up to a tenth of a second; with a disk that takes that long, or nothing, no name waits any more. */
#ifndef EPPROF_RUNTIME_STORAGE_WINDOW_DEFINITION_LOG_H
#define EPPROF_RUNTIME_STORAGE_WINDOW_DEFINITION_LOG_H

#include "record/session.h"

/* What the log held at some moment. */
struct log_mark {
	uint64_t words[EPF_LOG_PIECES];
	uint64_t missed;
};

/* Definitions stand there, and in blocks, on multiples of 8. */
static inline size_t log_padded(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

/* `text` follows `body`; the header's length is of both.  Any lock may be held. */
void log_append(struct session *session, const struct epf_definition *head, const void *body, const void *text,
                size_t text_bytes);

/* Whether a name of so many bytes had better wait: there is no room now, and the drain is about to make some. */
bool log_is_full(struct session *session, size_t text_bytes);

struct log_mark log_mark(struct session *session);

/* What was there at the mark is in blocks; or, if not `written`, nobody need wait for it. */
void log_settle(struct session *session, const struct log_mark *mark, bool written);

#endif

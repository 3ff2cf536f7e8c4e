/* The log of definitions in the window. Tracks are appended under the session's lock, names under the lock of the
 * names, so the log has its own lock, which is always taken last.
 *
 * The drain cannot empty a piece that was appended to while the drain wrote its definitions. At full speed this always
 * happens, so a piece that is more than a quarter full is not used until the next visit, and another one is filled. */
#include "storage/window/definition_log.h"

#include <string.h>

#include "base/clock.h"
#include "storage/helper.h"

#define LOG_MANY (EPF_LOG_BYTES / 4)
/* How long names wait for a drain that a disk may delay: 1/10 s. They wait once, until the drain has run. */
#define WAITS_PER_SECOND 10u

static uint64_t *word_of(const struct session *session, uint32_t piece)
{
	struct epf_live *live = session->window.live;
	return piece ? &live->extents_used[piece - 1] : &live->log_used;
}

static uint8_t *piece_at(const struct session *session, uint32_t piece)
{
	const struct window *window = &session->window;
	return piece ? window->extents + (size_t)(piece - 1) * EPF_LOG_BYTES : window->log;
}

/* Selects an empty piece. The log's lock is held. Returns false if there is none. */
static bool go_to_empty_piece(struct session *session)
{
	struct window *window = &session->window;
	for (uint32_t piece = 0; piece < window->log_pieces; piece++)
		if (!EPF_LOG_USED(*word_of(session, piece))) {
			session->log_piece = piece;
			return true;
		}
	if (session->log_stays || window_grow_log(window)) {
		/* Do not ask the disk for room again for each name. */
		session->log_stays = true;
		return false;
	}
	session->log_piece = window->log_pieces - 1;
	return true;
}

/* The log's lock is held. */
static bool make_room(struct session *session, size_t bytes)
{
	return EPF_LOG_USED(*word_of(session, session->log_piece)) + bytes <= EPF_LOG_BYTES || go_to_empty_piece(session);
}

void log_append(struct session *session, const struct epf_definition *head, const void *body, const void *text,
                size_t text_bytes)
{
	struct epf_live *live = session->window.live;
	size_t body_bytes = head->bytes - text_bytes;
	size_t bytes = sizeof(*head) + log_padded(head->bytes), before = EPF_LOG_BYTES;
	pthread_mutex_lock(&session->log_lock);
	if (make_room(session, bytes)) {
		uint64_t *word = word_of(session, session->log_piece);
		before = EPF_LOG_USED(*word);
		uint8_t *at = piece_at(session, session->log_piece) + before;
		memcpy(at, head, sizeof(*head));
		memcpy(at + sizeof(*head), body, body_bytes);
		memcpy(at + sizeof(*head) + body_bytes, text, text_bytes);
		STORE_RELEASE(word, *word + bytes);
	} else {
		session->log_missed++;
		__atomic_fetch_or(&live->flags, EPF_LIVE_LOG_FULL, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&session->log_lock);
	/* Long before the piece is full. */
	if (before < LOG_MANY && before + bytes >= LOG_MANY)
		helper_wake();
}

bool log_is_full(struct session *session, size_t text_bytes)
{
	if (LOAD_ACQUIRE(&session->state) != SESSION_RECORDING)
		return false;
	pthread_mutex_lock(&session->log_lock);
	size_t bytes = sizeof(struct epf_definition) + log_padded(sizeof(epp_name) + text_bytes);
	bool full = !session->log_stuck && !make_room(session, bytes);
	uint64_t now = clock_ticks();
	if (full && !session->log_full_ticks)
		session->log_full_ticks = now;
	full = full && now - session->log_full_ticks < clock_ticks_per_second() / WAITS_PER_SECOND;
	pthread_mutex_unlock(&session->log_lock);
	if (full)
		helper_wake();
	return full;
}

struct log_mark log_mark(struct session *session)
{
	struct log_mark mark;
	pthread_mutex_lock(&session->log_lock);
	for (uint32_t piece = 0; piece < EPF_LOG_PIECES; piece++)
		mark.words[piece] = *word_of(session, piece);
	mark.missed = session->log_missed;
	pthread_mutex_unlock(&session->log_lock);
	return mark;
}

void log_settle(struct session *session, const struct log_mark *mark, bool written)
{
	pthread_mutex_lock(&session->log_lock);
	session->log_stuck = !written;
	if (written) {
		session->log_stays = false;
		session->log_full_ticks = 0;
	}
	for (uint32_t piece = 0; piece < EPF_LOG_PIECES && written; piece++) {
		uint64_t *word = word_of(session, piece);
		if (EPF_LOG_USED(*word) && *word == mark->words[piece])
			STORE_RELEASE(word, EPF_LOG_EMPTIED(*word));
	}
	if (EPF_LOG_USED(*word_of(session, session->log_piece)) >= LOG_MANY)
		go_to_empty_piece(session);
	if (written && session->log_missed == mark->missed)
		__atomic_fetch_and(&session->window.live->flags, ~EPF_LIVE_LOG_FULL, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&session->log_lock);
}

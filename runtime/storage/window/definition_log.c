/* The log of definitions in the window. Tracks are appended under the session's lock, names under the lock of the
 * names, so the log has its own lock, which is always taken last.
 *
 * The log consists of pieces. The drain writes the definitions of a piece into a block and then empties the piece, but
 * only if nothing was appended to it meanwhile. While definitions arrive at full speed, this condition would never be
 * met. A piece that is more than a quarter full at a visit therefore gets no further definitions until the drain's next
 * visit, and another piece is filled instead. */
#include "storage/window/definition_log.h"

#include <string.h>

#include "base/atomics.h"
#include "base/clock.h"
#include "base/helper.h"
#include "epprof/session.h"

#define LOG_MANY (EPF_LOG_BYTES / 4)
/* A new name waits at most 1/10 s for the drain, which the disk may delay. Names wait only once until the drain has
 * run. */
#define WAITS_PER_SECOND 10u

void log_init(struct definition_log *log, struct window *window)
{
	log->window = window;
	log->piece = 0;
	log->stays = log->is_stuck = false;
	log->full_ticks = log->missed = 0;
}

static uint64_t *word_of(const struct definition_log *log, uint32_t piece)
{
	struct epf_live *live = log->window->live;
	return piece ? &live->extents_used[piece - 1] : &live->log_used;
}

static uint8_t *piece_at(const struct definition_log *log, uint32_t piece)
{
	const struct window *window = log->window;
	return piece ? window->extents + (size_t)(piece - 1) * EPF_LOG_BYTES : window->log;
}

/* Selects an empty piece. The log's lock is held. Returns false if there is none. */
static bool select_empty_piece(struct definition_log *log)
{
	struct window *window = log->window;
	for (uint32_t piece = 0; piece < window->log_pieces; piece++)
		if (!EPF_LOG_USED(*word_of(log, piece))) {
			log->piece = piece;
			return true;
		}
	if (log->stays || window_grow_log(window)) {
		/* Do not request room on the disk again for each further name. */
		log->stays = true;
		return false;
	}
	log->piece = window->log_pieces - 1;
	return true;
}

/* Selects a piece with room for `bytes`, and adds a piece if necessary. The log's lock is held. */
static bool make_room(struct definition_log *log, size_t bytes)
{
	return EPF_LOG_USED(*word_of(log, log->piece)) + bytes <= EPF_LOG_BYTES || select_empty_piece(log);
}

void log_append(struct definition_log *log, const struct epf_definition *head, const void *body, const void *text,
                size_t text_bytes)
{
	struct epf_live *live = log->window->live;
	size_t body_bytes = head->bytes - text_bytes;
	size_t bytes = sizeof(*head) + log_padded(head->bytes), before = EPF_LOG_BYTES;
	pthread_mutex_lock(&log->lock);
	if (make_room(log, bytes)) {
		uint64_t *word = word_of(log, log->piece);
		before = EPF_LOG_USED(*word);
		uint8_t *at = piece_at(log, log->piece) + before;
		memcpy(at, head, sizeof(*head));
		memcpy(at + sizeof(*head), body, body_bytes);
		memcpy(at + sizeof(*head) + body_bytes, text, text_bytes);
		STORE_RELEASE(word, *word + bytes);
	} else {
		log->missed++;
		__atomic_fetch_or(&live->flags, EPF_LIVE_LOG_FULL, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&log->lock);
	/* Wakes the helper long before the piece is full. */
	if (before < LOG_MANY && before + bytes >= LOG_MANY)
		helper_wake();
}

bool log_is_full(struct definition_log *log, size_t text_bytes)
{
	const struct epf_live *live = log->window->live;
	if (!(LOAD_ACQUIRE(&live->flags) & EPF_LIVE_RECORDING) || LOAD_RELAXED(&live->run_end_ticks))
		return false;
	pthread_mutex_lock(&log->lock);
	size_t bytes = sizeof(struct epf_definition) + log_padded(sizeof(epp_name) + text_bytes);
	bool full = !log->is_stuck && !make_room(log, bytes);
	uint64_t now = clock_ticks();
	if (full && !log->full_ticks)
		log->full_ticks = now;
	full = full && now - log->full_ticks < clock_ticks_per_second() / WAITS_PER_SECOND;
	pthread_mutex_unlock(&log->lock);
	if (full)
		helper_wake();
	return full;
}

struct log_mark log_mark(struct definition_log *log)
{
	struct log_mark mark;
	pthread_mutex_lock(&log->lock);
	for (uint32_t piece = 0; piece < EPF_LOG_PIECES; piece++)
		mark.words[piece] = *word_of(log, piece);
	mark.missed = log->missed;
	pthread_mutex_unlock(&log->lock);
	return mark;
}

void log_settle(struct definition_log *log, const struct log_mark *mark, bool written)
{
	pthread_mutex_lock(&log->lock);
	log->is_stuck = !written;
	if (written) {
		log->stays = false;
		log->full_ticks = 0;
	}
	for (uint32_t piece = 0; piece < EPF_LOG_PIECES && written; piece++) {
		uint64_t *word = word_of(log, piece);
		if (EPF_LOG_USED(*word) && *word == mark->words[piece])
			STORE_RELEASE(word, EPF_LOG_EMPTIED(*word));
	}
	if (EPF_LOG_USED(*word_of(log, log->piece)) >= LOG_MANY)
		select_empty_piece(log);
	if (written && log->missed == mark->missed)
		__atomic_fetch_and(&log->window->live->flags, ~EPF_LIVE_LOG_FULL, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&log->lock);
}

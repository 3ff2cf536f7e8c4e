/* Texts that wait for their turn, which comes by time.  They are looked through by the thousand, so each costs little:
 *
 *   pending_reserve(&pending, bytes, &room);
 *   pending_commit(&pending, time_ns, bytes written);
 *   if (pending_is_due(&pending)) {
 *           pending_select(&pending, before_ns);
 *           while (pending_next(&pending, &text)) ...
 *   }
 *
 * Holds some thousand texts, or some MiB, and beyond them twice what cannot go yet. */
#ifndef EPPROF_RUNTIME_EXPORT_ONNXRUNTIME_PENDING_H
#define EPPROF_RUNTIME_EXPORT_ONNXRUNTIME_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epprof/status.h"

struct pending_text {
	int64_t time_ns;
	size_t offset; /* in the bytes of all */
	size_t bytes;
};

struct pending {
	struct pending_text *texts; /* as they came */
	size_t count, room;
	size_t kept_count, kept_bytes; /* when texts were last looked through */
	struct pending_text *selected, *spare;
	size_t selected_count, selected_at, selected_room;
	char *bytes;
	size_t bytes_count, bytes_room;
};

void pending_deinit(struct pending *pending);

/* Room for one more text of up to `bytes`, valid until the next call.  Not between select and the end of next.
 * Errors: EPP_OUT_OF_MEMORY. */
epp_status *pending_grow(struct pending *pending, size_t bytes) EPP_MUST_CHECK;
EPP_MUST_CHECK static inline epp_status *pending_reserve(struct pending *pending, size_t bytes, char **room)
{
	if (pending->count == pending->room || pending->bytes_room - pending->bytes_count < bytes) {
		epp_status *status = pending_grow(pending, bytes);
		if (status)
			return status;
	}
	*room = pending->bytes + pending->bytes_count;
	return NULL;
}
/* The text in the room that was reserved. */
static inline void pending_commit(struct pending *pending, int64_t time_ns, size_t bytes)
{
	pending->texts[pending->count++] = (struct pending_text){ time_ns, pending->bytes_count, bytes };
	pending->bytes_count += bytes;
}
/* Both for a text that stands elsewhere; it is copied. */
epp_status *pending_push(struct pending *pending, int64_t time_ns, const char *text, size_t bytes) EPP_MUST_CHECK;

/* Whether it pays to look through them. */
static inline bool pending_is_due(const struct pending *pending)
{
	return pending->count >= 4096 + 2 * pending->kept_count ||
	       pending->bytes_count >= (4u << 20) + 2 * pending->kept_bytes;
}

/* Takes the texts whose times lie before `before_ns`, to be asked for by next.  Errors: EPP_OUT_OF_MEMORY. */
epp_status *pending_select(struct pending *pending, int64_t before_ns) EPP_MUST_CHECK;
/* Texts so far ahead of the one that is asked for are fetched: they lie in another order. */
#define PENDING_AHEAD 4u

/* Behind the last: what is left lies without gaps again. */
void pending_compact(struct pending *pending);
/* The earliest of them; at equal times the one that came last.  Returns false behind the last.
 * Ownership: valid until the next call. */
static inline bool pending_next(struct pending *pending, const char **text, size_t *bytes)
{
	if (pending->selected_at == pending->selected_count) {
		pending_compact(pending);
		return false;
	}
	const struct pending_text *next = &pending->selected[pending->selected_at++];
	if (pending->selected_at + PENDING_AHEAD < pending->selected_count) {
		const char *ahead = pending->bytes + next[PENDING_AHEAD].offset;
		__builtin_prefetch(ahead);
		__builtin_prefetch(ahead + 64);
	}
	*text = pending->bytes + next->offset;
	*bytes = next->bytes;
	return true;
}

#endif

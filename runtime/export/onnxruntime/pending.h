/* Stores texts with times, and returns them in order of time.  A selection processes thousands of texts, so that it
 * costs little per text:
 *
 *   pending_reserve(&pending, bytes, &room);
 *   pending_commit(&pending, time_ns, bytes written);
 *   if (pending_is_due(&pending)) {
 *           pending_select(&pending, before_ns);
 *           while (pending_next(&pending, &text)) ...
 *   }
 *
 * Memory: 4096 texts or 4 MiB, plus twice the texts that the last selection did not select. */
#ifndef EPPROF_RUNTIME_EXPORT_ONNXRUNTIME_PENDING_H
#define EPPROF_RUNTIME_EXPORT_ONNXRUNTIME_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epprof/status.h"

struct pending_text {
	int64_t time_ns;
	size_t offset; /* offset in pending.bytes */
	size_t bytes;
};

struct pending {
	struct pending_text *texts; /* in order of arrival */
	size_t count, room;
	size_t kept_count, kept_bytes; /* number and size of the texts that the last selection did not select */
	struct pending_text *selected, *spare;
	size_t selected_count, selected_at, selected_room;
	char *bytes;
	size_t bytes_count, bytes_room;
};

void pending_deinit(struct pending *pending);

/* Makes room for one more text of up to `bytes` bytes.  The room is valid until the next call.  Must not be called
 * between pending_select and the last pending_next.  Errors: EPP_OUT_OF_MEMORY. */
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
/* Adds the text that the caller has written into the reserved room. */
static inline void pending_commit(struct pending *pending, int64_t time_ns, size_t bytes)
{
	pending->texts[pending->count++] = (struct pending_text){ time_ns, pending->bytes_count, bytes };
	pending->bytes_count += bytes;
}
/* Adds a copy of a text that is elsewhere in memory. */
epp_status *pending_push(struct pending *pending, int64_t time_ns, const char *text, size_t bytes) EPP_MUST_CHECK;

/* Returns true if a selection is worthwhile: there are 4096 texts, or 4 MiB, in addition to twice those that the last
 * selection did not select. */
static inline bool pending_is_due(const struct pending *pending)
{
	return pending->count >= 4096 + 2 * pending->kept_count ||
	       pending->bytes_count >= (4u << 20) + 2 * pending->kept_bytes;
}

/* Selects the texts whose times are before `before_ns`. pending_next then returns these texts.  Errors:
 * EPP_OUT_OF_MEMORY. */
epp_status *pending_select(struct pending *pending, int64_t before_ns) EPP_MUST_CHECK;
/* Number of texts that pending_next prefetches ahead, because sorted texts are scattered in memory. */
#define PENDING_AHEAD 4u

/* Called after the last selected text: moves the other texts to the front of the buffer. */
void pending_compact(struct pending *pending);
/* Gets the earliest selected text; of equal times, the one that was added last.  Returns false after the last text.
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

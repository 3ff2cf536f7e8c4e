/* Holds written records of events until they can be output in order of time.  They are searched in batches of
 * thousands, so that the cost for each is small:
 *
 *   pending_reserve(&pending, bytes, &room);
 *   pending_commit(&pending, time_ns, bytes written);
 *   if (pending_is_due(&pending)) {
 *           pending_select(&pending, before_ns);
 *           while (pending_next(&pending, &text)) ...
 *   }
 *
 * Holds some thousand texts or some MiB; above that, up to twice the texts that cannot be written yet. */
#ifndef EPPROF_RUNTIME_EXPORT_ONNXRUNTIME_PENDING_H
#define EPPROF_RUNTIME_EXPORT_ONNXRUNTIME_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epprof/status.h"

struct pending_text {
	int64_t time_ns;
	size_t offset; /* in `bytes` of struct pending */
	size_t bytes;
};

struct pending {
	struct pending_text *texts; /* in order of arrival */
	size_t count, room;
	size_t kept_count, kept_bytes; /* after the last selection */
	struct pending_text *selected, *spare;
	size_t selected_count, selected_at, selected_room;
	char *bytes;
	size_t bytes_count, bytes_room;
};

void pending_deinit(struct pending *pending);

/* Makes room for one more text of up to `bytes` bytes, valid until the next call.  Must not be called between
 * pending_select and the end of pending_next.  Errors: EPP_OUT_OF_MEMORY. */
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
/* Adds the text that was written into the reserved room. */
static inline void pending_commit(struct pending *pending, int64_t time_ns, size_t bytes)
{
	pending->texts[pending->count++] = (struct pending_text){ time_ns, pending->bytes_count, bytes };
	pending->bytes_count += bytes;
}
/* Reserves and commits a copy of a text that is in other memory. */
epp_status *pending_push(struct pending *pending, int64_t time_ns, const char *text, size_t bytes) EPP_MUST_CHECK;

/* Returns whether there are enough new texts for a selection to pay off. */
static inline bool pending_is_due(const struct pending *pending)
{
	return pending->count >= 4096 + 2 * pending->kept_count ||
	       pending->bytes_count >= (4u << 20) + 2 * pending->kept_bytes;
}

/* Selects the texts whose times are before `before_ns`; pending_next returns them.  Errors: EPP_OUT_OF_MEMORY. */
epp_status *pending_select(struct pending *pending, int64_t before_ns) EPP_MUST_CHECK;
/* How many texts ahead pending_next prefetches: sorted texts are scattered in memory. */
#define PENDING_AHEAD 4u

/* Called after the last selected text: moves the remaining texts together. */
void pending_compact(struct pending *pending);
/* Returns the earliest selected text; of equal times, the one that arrived last.  Returns false after the last text.
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

/* Texts that wait for their turn: a heap by time.  Holds what is open at one instant, so it stays small. */
#ifndef EPPROF_EXPORT_PENDING_H
#define EPPROF_EXPORT_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epprof/status.h"

struct pending_text {
	int64_t time_ns;
	uint64_t number; /* as they came */
	size_t bytes;
	char *text;
};

struct pending {
	struct pending_text *texts;
	size_t count, room;
	uint64_t next_number;
};

void pending_deinit(struct pending *pending);

/* Ownership: the text is copied.  Errors: EPP_OUT_OF_MEMORY. */
epp_status *pending_push(struct pending *pending, int64_t time_ns, const char *text, size_t bytes) EPP_MUST_CHECK;
/* Takes the earliest whose time lies before `before_ns`; at equal times the one that came last.
 * Ownership: the caller frees `text->text`. */
bool pending_pop(struct pending *pending, int64_t before_ns, struct pending_text *text);

#endif

/* Byte strings, numbered from 0 in the order in which they come: dictionaries, and whatever else is few and met often. */
#ifndef EPPROF_EXPORT_NUMBERED_H
#define EPPROF_EXPORT_NUMBERED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epprof/status.h"

struct numbered_entry {
	uint64_t hash;
	size_t offset; /* of its bytes */
	size_t count;
};

struct numbered {
	struct numbered_entry *entries;
	uint32_t count;
	size_t entries_room;
	char *bytes; /* of all, one behind the other */
	size_t bytes_count, bytes_room;
	uint32_t *buckets; /* open addressing: number + 1, 0 is free */
	size_t buckets_count;
};

void numbered_deinit(struct numbered *numbered);
/* Forgets all, keeps the memory. */
void numbered_clear(struct numbered *numbered);

/* The number of a string; it is copied when it is new.  Errors: EPP_OUT_OF_MEMORY. */
epp_status *numbered_add(struct numbered *numbered, const void *bytes, size_t count, uint32_t *number) EPP_MUST_CHECK;

static inline const char *numbered_bytes(const struct numbered *numbered, uint32_t number, size_t *count)
{
	*count = numbered->entries[number].count;
	return numbered->bytes + numbered->entries[number].offset;
}

#endif

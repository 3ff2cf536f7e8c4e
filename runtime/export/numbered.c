/* A hash of the strings, never more than half full.  The hash is not secret: who makes up strings that collide slows down
 * the export of a trace of their own. */
#include "export/numbered.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"

void numbered_deinit(struct numbered *numbered)
{
	free(numbered->entries);
	free(numbered->bytes);
	free(numbered->buckets);
	*numbered = (struct numbered){ 0 };
}

void numbered_clear(struct numbered *numbered)
{
	if (numbered->count)
		memset(numbered->buckets, 0, numbered->buckets_count * sizeof *numbered->buckets);
	numbered->count = 0;
	numbered->bytes_count = 0;
}

static uint64_t hash_of(const char *bytes, size_t count)
{
	uint64_t hash = count, word;

	for (; count >= sizeof word; bytes += sizeof word, count -= sizeof word) {
		memcpy(&word, bytes, sizeof word);
		hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
		hash ^= hash >> 32;
	}
	word = 0;
	if (count)
		memcpy(&word, bytes, count);
	hash = (hash ^ word) * UINT64_C(0xC2B2AE3D27D4EB4F);
	return hash ^ hash >> 29;
}

static bool is_same(const struct numbered *numbered, const struct numbered_entry *entry, uint64_t hash,
                    const void *bytes, size_t count)
{
	return entry->hash == hash && entry->count == count &&
	       (!count || memcmp(numbered->bytes + entry->offset, bytes, count) == 0);
}

/* Where the string stands, or could. */
static size_t bucket_of(const struct numbered *numbered, uint64_t hash, const void *bytes, size_t count)
{
	size_t mask = numbered->buckets_count - 1, at = (size_t)hash & mask;

	while (numbered->buckets[at] &&
	       !is_same(numbered, &numbered->entries[numbered->buckets[at] - 1], hash, bytes, count))
		at = (at + 1) & mask;
	return at;
}

static epp_status *grow_entries(struct numbered *numbered)
{
	size_t room = numbered->entries_room ? numbered->entries_room * 2 : 64;
	struct numbered_entry *entries = reallocarray(numbered->entries, room, sizeof *entries);
	uint32_t *buckets;

	if (!entries)
		return epp_status_no_memory();
	numbered->entries = entries;
	buckets = calloc(room * 2, sizeof *buckets);
	if (!buckets)
		return epp_status_no_memory();
	free(numbered->buckets);
	numbered->buckets = buckets;
	numbered->buckets_count = room * 2;
	numbered->entries_room = room;
	for (uint32_t i = 0; i < numbered->count; i++) {
		size_t at = (size_t)entries[i].hash & (numbered->buckets_count - 1);
		while (buckets[at])
			at = (at + 1) & (numbered->buckets_count - 1);
		buckets[at] = i + 1;
	}
	return NULL;
}

static epp_status *copy_bytes(struct numbered *numbered, const void *bytes, size_t count)
{
	if (!numbered->bytes || numbered->bytes_room - numbered->bytes_count < count) {
		size_t room = (numbered->bytes_count + count) * 2 + 64;
		char *larger = realloc(numbered->bytes, room);
		if (!larger)
			return epp_status_no_memory();
		numbered->bytes = larger;
		numbered->bytes_room = room;
	}
	if (count)
		memcpy(numbered->bytes + numbered->bytes_count, bytes, count);
	numbered->bytes_count += count;
	return NULL;
}

epp_status *numbered_add(struct numbered *numbered, const void *bytes, size_t count, uint32_t *number)
{
	uint64_t hash = hash_of(bytes, count);

	if (numbered->count == numbered->entries_room)
		EPP_TRY(grow_entries(numbered));
	size_t at = bucket_of(numbered, hash, bytes, count);
	if (!numbered->buckets[at]) {
		EPP_TRY(copy_bytes(numbered, bytes, count));
		numbered->entries[numbered->count] = (struct numbered_entry){ hash, numbered->bytes_count - count, count };
		numbered->buckets[at] = ++numbered->count;
	}
	*number = numbered->buckets[at] - 1;
	return NULL;
}

/* Byte strings, each stored once and numbered from 0 in the order in which they are added.
 * Thread: one at a time; any number of readers. */
#ifndef EPPROF_RUNTIME_CONTAINERS_STRING_TABLE_H
#define EPPROF_RUNTIME_CONTAINERS_STRING_TABLE_H

#include "containers/hash_index.h"

#define STRING_TABLE_NONE UINT32_MAX

struct string_entry {
	size_t offset, count; /* the string's bytes: bytes[offset] and the next ones, `count` in total */
};

/* An empty table is zero-initialised. */
struct string_table {
	struct string_entry *entries;
	uint32_t count;
	size_t entries_room;
	char *bytes; /* the bytes of all strings, one string after the other */
	size_t bytes_count, bytes_room;
	struct hash_index index;
};

/* Returns the number of a string, or STRING_TABLE_NONE if it is not in the table. */
uint32_t string_table_find(const struct string_table *table, const void *bytes, size_t count);
/* As string_table_find, but a string that is not in the table is copied into it. Returns false if out of memory; the
 * table is then unchanged. */
bool string_table_add(struct string_table *table, const void *bytes, size_t count, uint32_t *number);
/* Removes all strings and keeps the memory. */
void string_table_clear(struct string_table *table);
void string_table_deinit(struct string_table *table);

/* Returns the bytes of a string. Valid until the next string is added. */
static inline const char *string_table_bytes(const struct string_table *table, uint32_t number, size_t *count)
{
	*count = table->entries[number].count;
	return table->bytes + table->entries[number].offset;
}

#endif

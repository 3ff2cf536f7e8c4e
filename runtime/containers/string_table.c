/* Stores each byte string once, see string_table.h. */
#include "containers/string_table.h"

#include <stdlib.h>
#include <string.h>

#include "containers/array.h"

static inline uint32_t find(const struct string_table *table, uint64_t hash, const void *bytes, size_t count)
{
	struct hash_probe probe = hash_index_probe(&table->index, hash);
	uint32_t number;

	while (hash_index_next(&table->index, &probe, &number)) {
		const struct string_entry *entry = &table->entries[number];
		if (entry->count == count && (!count || !memcmp(table->bytes + entry->offset, bytes, count)))
			return number;
	}
	return STRING_TABLE_NONE;
}

uint32_t string_table_find(const struct string_table *table, const void *bytes, size_t count)
{
	return find(table, hash_bytes(bytes, count), bytes, count);
}

bool string_table_add(struct string_table *table, const void *bytes, size_t count, uint32_t *number)
{
	uint64_t hash = hash_bytes(bytes, count);

	*number = find(table, hash, bytes, count);
	if (*number != STRING_TABLE_NONE)
		return true;
	/* One byte more than needed, so that `bytes` is not NULL even if all strings are empty. */
	if (table->count == STRING_TABLE_NONE || count >= SIZE_MAX - table->bytes_count ||
	    !array_reserve(&table->entries, &table->entries_room, table->count + (size_t)1, sizeof(*table->entries)) ||
	    !array_reserve(&table->bytes, &table->bytes_room, table->bytes_count + count + 1, 1) ||
	    !hash_index_add(&table->index, hash, table->count))
		return false;
	if (count)
		memcpy(table->bytes + table->bytes_count, bytes, count);
	table->entries[table->count] = (struct string_entry){ table->bytes_count, count };
	table->bytes_count += count;
	*number = table->count++;
	return true;
}

void string_table_clear(struct string_table *table)
{
	hash_index_clear(&table->index);
	table->count = 0;
	table->bytes_count = 0;
}

void string_table_deinit(struct string_table *table)
{
	free(table->entries);
	free(table->bytes);
	hash_index_deinit(&table->index);
	*table = (struct string_table){ 0 };
}

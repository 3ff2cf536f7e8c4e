/* A Parquet file of one flat table, written row by row.
 *
 *   parquet_file_init(&file, sink, fields, fields_count);
 *   per row, each column at most once:    parquet_integer(&file, column, ...), parquet_text(&file, column, ...)
 *                                         parquet_end_row(&file);
 *   parquet_file_end(&file, pairs, pairs_count);
 *
 * Values are PLAIN, or indexes into a dictionary; pages are compressed with zstd.  A page has PARQUET_PAGE_ROWS rows
 * and a row group parquet_group_rows, or fewer if they would take too much memory.  Each row group is written to the
 * sink when it is complete.  The footer has the smallest and largest value of each column of a row group, except for
 * texts without a dictionary and for long texts. */
#ifndef EPPROF_RUNTIME_EXPORT_PARQUET_PARQUET_FILE_H
#define EPPROF_RUNTIME_EXPORT_PARQUET_PARQUET_FILE_H

#include <zstd.h>

#include "containers/string_table.h"
#include "export/sink/sink.h"

#define PARQUET_PAGE_ROWS 16384u
/* A row group ends with the page in which it reaches this number of rows.  Tests set a smaller number. */
extern uint64_t parquet_group_rows;

struct parquet_field {
	const char *name;
	bool is_text;        /* true: UTF-8 text; false: 64-bit integers */
	bool has_dictionary; /* for columns with few different values */
	bool optional;       /* rows may have no value */
	bool sorted;         /* rows are sorted by this column */
};

/* An entry of a direct-mapped cache of dictionary indexes.  Its key is the value of an integer, or the caller's key for
 * a text (parquet_keyed_text). */
#define PARQUET_RECENT_BITS 10u
struct parquet_recent {
	uint64_t key;
	uint32_t number; /* dictionary index + 1; 0: the entry is empty */
};

struct parquet_column {
	const struct parquet_field *field;
	/* Members for the current page. */
	/* definition level of each row: 1 if the row has a value, else 0; NULL: the column is not optional */
	uint32_t *levels;
	uint32_t *numbers;        /* dictionary index of each value; NULL: the column has no dictionary */
	struct sink_memory plain; /* encoded values of a column without a dictionary; for integers, its size is fixed,
	                             for a whole page */
	uint32_t values_count;
	/* Members for the current row group. */
	struct string_table dictionary;
	struct parquet_recent recent[1u << PARQUET_RECENT_BITS];
	struct sink_memory pages; /* the finished pages, compressed, with their headers */
	uint64_t nulls_count, uncompressed_bytes;
	int64_t least, largest; /* smallest and largest value of a column of integers */
};

struct parquet_pair {
	const char *key, *value; /* UTF-8 */
};

struct parquet_file {
	struct sink *sink;
	uint64_t offset; /* offset in the file of the next byte */
	struct parquet_column *columns;
	size_t columns_count;
	/* for the current page: number of rows, size of texts without a dictionary */
	size_t page_rows, page_text_bytes;
	/* for the current row group: rows in finished pages, size of pages and dictionaries */
	uint64_t group_rows, group_bytes;
	uint64_t rows_count;
	struct sink_memory groups; /* descriptions of the row groups so far, which are part of the footer */
	size_t groups_count;
	struct sink_memory scratch, packed, repaired;
	ZSTD_CCtx *zstd;
};

/* Errors, here and below: EPP_OUT_OF_MEMORY.  Ownership: `fields` must stay valid; call parquet_file_deinit also after
 * a failure. */
epp_status *parquet_file_init(struct parquet_file *file, struct sink *sink, const struct parquet_field *fields,
                              size_t fields_count) EPP_MUST_CHECK;
void parquet_file_deinit(struct parquet_file *file);

/* Adds a text to the current row.  Bytes that are not UTF-8 are replaced by U+FFFD. */
epp_status *parquet_text(struct parquet_file *file, size_t column, const char *text, size_t bytes) EPP_MUST_CHECK;
/* Slow path of the functions below: the value is not in the cache of recent values. */
epp_status *parquet_add_number(struct parquet_file *file, size_t column, int64_t value) EPP_MUST_CHECK;
epp_status *parquet_add_keyed_text(struct parquet_file *file, size_t column, uint64_t key, const char *text, size_t bytes)
    EPP_MUST_CHECK;

static inline void parquet_mark_present(const struct parquet_file *file, struct parquet_column *column)
{
	if (column->levels)
		column->levels[file->page_rows] = 1;
}

static inline struct parquet_recent *parquet_recent_of(struct parquet_column *column, uint64_t key)
{
	return &column->recent[key * UINT64_C(0x9E3779B97F4A7C15) >> (64 - PARQUET_RECENT_BITS)];
}

/* Adds the value that the cache has for a key.  Returns false if the cache does not have the key. */
static inline bool parquet_add_recent(struct parquet_file *file, size_t index, uint64_t key)
{
	struct parquet_column *column = &file->columns[index];
	const struct parquet_recent *recent = parquet_recent_of(column, key);

	if (recent->key != key || !recent->number)
		return false;
	column->numbers[column->values_count++] = recent->number - 1;
	parquet_mark_present(file, column);
	return true;
}

static inline void parquet_widen_limits(struct parquet_column *column, int64_t value)
{
	column->least = value < column->least ? value : column->least;
	column->largest = value > column->largest ? value : column->largest;
}

EPP_MUST_CHECK static inline epp_status *parquet_integer(struct parquet_file *file, size_t index, int64_t value)
{
	struct parquet_column *column = &file->columns[index];

	if (column->numbers)
		return parquet_add_recent(file, index, (uint64_t)value) ? NULL : parquet_add_number(file, index, value);
	memcpy(column->plain.bytes + column->plain.count, &value, sizeof value);
	column->plain.count += sizeof value;
	column->values_count++;
	parquet_mark_present(file, column);
	parquet_widen_limits(column, value);
	return NULL;
}

/* Adds a text to a column with a dictionary.  `key` must identify the text within the column. */
EPP_MUST_CHECK static inline epp_status *parquet_keyed_text(struct parquet_file *file, size_t column, uint64_t key,
                                                            const char *text, size_t bytes)
{
	return parquet_add_recent(file, column, key) ? NULL : parquet_add_keyed_text(file, column, key, text, bytes);
}

/* Adds a NUL-terminated text that never changes.  Its address is its key. */
EPP_MUST_CHECK static inline epp_status *parquet_constant(struct parquet_file *file, size_t column, const char *text)
{
	uint64_t key = (uintptr_t)text;

	return parquet_add_recent(file, column, key) ? NULL
	                                             : parquet_add_keyed_text(file, column, key, text, strlen(text));
}

epp_status *parquet_end_row(struct parquet_file *file) EPP_MUST_CHECK;

/* Writes the last row group and the footer.  `pairs` is the key-value metadata. */
epp_status *parquet_file_end(struct parquet_file *file, const struct parquet_pair *pairs, size_t pairs_count)
    EPP_MUST_CHECK;

#endif

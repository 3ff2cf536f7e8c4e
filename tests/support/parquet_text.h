/* For the tests of Parquet files: a reader of its own, for what the writer makes use of and nothing else. */
#ifndef EPPROF_TESTS_SUPPORT_PARQUET_TEXT_H
#define EPPROF_TESTS_SUPPORT_PARQUET_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct parquet_value {
	bool is_null;
	int64_t integer;
	char *text; /* NULL: an integer */
	size_t bytes;
};

struct parquet_table {
	size_t columns_count, rows_count, groups_count;
	char *names[64];
	bool is_text[64], optional[64];
	struct parquet_value *values[64]; /* of all row groups */
	size_t group_rows[64];
	struct {
		bool known;
		struct parquet_value least, largest;
		int64_t nulls_count;
	} limits[64][64];         /* of each row group, each column */
	char *keys[8], *pairs[8]; /* key-value metadata */
	size_t pairs_count;
	size_t sorted; /* the column that rows are sorted by */
};

/* Reads a whole file; whatever is not as the format says fails the test. */
struct parquet_table *parquet_table_read(const char *bytes, size_t count);
void parquet_table_free(struct parquet_table *table);
/* The column of a name. */
size_t parquet_table_column(const struct parquet_table *table, const char *name);
/* All of it, one value a line; what depends on how well zstd compresses is left out.  Ownership: malloc. */
char *parquet_text_dump(const char *bytes, size_t count);

#endif

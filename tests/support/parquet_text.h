/* For the tests of Parquet files: an independent reader of those parts of the format that the writer uses. */
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
	} limits[64][64];         /* for each row group and column */
	char *keys[8], *pairs[8]; /* key-value metadata */
	size_t pairs_count;
	size_t sorted; /* the column by which rows are sorted */
};

/* Reads a whole file; a violation of the format fails the test. */
struct parquet_table *parquet_table_read(const char *bytes, size_t count);
void parquet_table_free(struct parquet_table *table);
/* Finds a column by its name. */
size_t parquet_table_column(const struct parquet_table *table, const char *name);
/* Dumps the table, one value a line, without the sizes that depend on zstd's compression.  Ownership: malloc. */
char *parquet_text_dump(const char *bytes, size_t count);

#endif

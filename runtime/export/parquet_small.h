/* A small Parquet file, row by row: the tables beside the events of a dataset.  A page of rows is in memory. */
#ifndef EPPROF_EXPORT_PARQUET_SMALL_H
#define EPPROF_EXPORT_PARQUET_SMALL_H

#include "export/parquet_file.h"
#include "export/sink_file.h"

#define PARQUET_SMALL_ROWS 8192u

struct parquet_small_column {
	int64_t *values; /* integers, or lengths of texts, of rows that have one */
	uint32_t *levels;
	size_t values_count;
	struct sink_memory texts;
};

struct parquet_small {
	struct sink_file out;
	struct sink sink;
	struct parquet_file file;
	struct parquet_small_column *columns;
	size_t columns_count, rows_count;
	bool is_open;
};

/* `fields`, which must stay, are of the kinds PARQUET_INTEGER and PARQUET_TEXT.
 * Errors: as sink_file_open, EPP_OUT_OF_MEMORY.  Ownership: parquet_small_deinit frees, also after a failure; what was not
 * committed is removed. */
epp_status *parquet_small_init(struct parquet_small *table, const char *path, const struct parquet_field *fields,
                               size_t fields_count) EPP_MUST_CHECK;
void parquet_small_deinit(struct parquet_small *table);

/* The columns of a row in any order, each once; one that may be without a value may be left out. */
void parquet_small_integer(struct parquet_small *table, size_t column, int64_t value);
epp_status *parquet_small_text(struct parquet_small *table, size_t column, const char *text, size_t bytes) EPP_MUST_CHECK;
epp_status *parquet_small_end_row(struct parquet_small *table) EPP_MUST_CHECK;

epp_status *parquet_small_commit(struct parquet_small *table) EPP_MUST_CHECK;

#endif

/* A Parquet file of one flat table, whatever the table holds: parquet.c says what that is.
 *
 *   parquet_file_init(&file, sink, fields, fields_count);
 *   per page, each column once, with the same count of rows:    parquet_page_integers(&file, column, ...)
 *   per row group, behind its last page:                         parquet_group_end(&file)
 *   parquet_file_end(&file, pairs, pairs_count);
 *
 * Bytes go to the sink a row group at a time; until then its pages stand in memory, encoded and compressed, and beside them
 * the dictionaries of its columns (parquet_held_bytes).  What stays is about 100 bytes a column and row group, for the
 * footer.  Every column is told with its least and its largest value a row group, long texts excepted.
 *
 * A column with a dictionary takes numbers in it: numbered_add(&file->columns[c].dictionary, ...) gives them, for an
 * integer its eight bytes.  They count anew in every row group. */
#ifndef EPPROF_EXPORT_PARQUET_FILE_H
#define EPPROF_EXPORT_PARQUET_FILE_H

#include <zstd.h>

#include "export/numbered.h"
#include "export/sink.h"
#include "wire/parquet_values.h"

enum parquet_kind {
	PARQUET_INTEGER,            /* 64 bits; differences from one row to the next */
	PARQUET_INTEGER_DICTIONARY, /* few different ones, in no order */
	PARQUET_TEXT,
	PARQUET_TEXT_DICTIONARY
};

struct parquet_field {
	const char *name;
	enum parquet_kind kind;
	bool optional; /* rows may have no value */
	bool sorted;   /* rows are in its order */
};

struct parquet_column {
	const struct parquet_field *field;
	struct numbered dictionary;
	/* Of the row group: */
	struct sink_memory pages;
	uint64_t rows_count, nulls_count;
	uint64_t plain_bytes; /* what the pages were before they were compressed */
	struct parquet_limits limits;
	/* Where compressing gains nothing, most pages are left as they are. */
	unsigned pages_left_plain;
};

struct parquet_pair {
	const char *key, *value; /* UTF-8 */
};

struct parquet_file {
	struct sink *sink;
	uint64_t offset; /* of what comes next */
	const struct parquet_field *fields;
	struct parquet_column *columns;
	size_t columns_count;
	uint64_t rows_count;
	struct sink_memory groups; /* what the footer will say of them */
	size_t groups_count;
	struct sink_memory plain, packed; /* the page in the making */
	ZSTD_CCtx *zstd;
};

/* Which rows of a page have a value; of columns that are not optional, all. */
struct parquet_rows {
	size_t count;
	size_t values_count;    /* as many values are given */
	const uint32_t *levels; /* 1 or 0 for each row; may be NULL if all have one, or none */
};

/* Errors, here and below: EPP_OUT_OF_MEMORY.  Ownership: `fields` must stay; parquet_file_deinit frees, also after a failure. */
epp_status *parquet_file_init(struct parquet_file *file, struct sink *sink, const struct parquet_field *fields,
                              size_t fields_count) EPP_MUST_CHECK;
void parquet_file_deinit(struct parquet_file *file);

epp_status *parquet_page_integers(struct parquet_file *file, size_t column, const struct parquet_rows *rows,
                                  const int64_t *values) EPP_MUST_CHECK;
/* `numbers` NULL: all are 0. */
epp_status *parquet_page_numbers(struct parquet_file *file, size_t column, const struct parquet_rows *rows,
                                 const uint32_t *numbers) EPP_MUST_CHECK;
/* `texts`: UTF-8, one behind the other. */
epp_status *parquet_page_texts(struct parquet_file *file, size_t column, const struct parquet_rows *rows,
                               const int64_t *lengths, const char *texts, size_t texts_bytes) EPP_MUST_CHECK;

uint64_t parquet_held_bytes(const struct parquet_file *file);
/* Nothing, if it has no rows. */
epp_status *parquet_group_end(struct parquet_file *file) EPP_MUST_CHECK;
epp_status *parquet_file_end(struct parquet_file *file, const struct parquet_pair *pairs, size_t pairs_count)
    EPP_MUST_CHECK;

/* ---- parquet_footer.c: what is told of row groups and of the whole ---- */

enum parquet_encoding {
	PARQUET_PLAIN = 0,
	PARQUET_RLE = 3,
	PARQUET_DELTA = 5,
	PARQUET_DELTA_LENGTH = 6,
	PARQUET_RLE_DICTIONARY = 8
};

/* Where a column of the row group came to stand. */
struct parquet_place {
	uint64_t offset, dictionary_bytes, bytes, plain_bytes; /* the bytes with the dictionary's */
};

/* Makes room for so many bytes behind those that are there. */
epp_status *parquet_reserve(struct sink_memory *memory, size_t bytes) EPP_MUST_CHECK;
epp_status *parquet_describe_group(struct parquet_file *file, const struct parquet_place *places, uint64_t rows)
    EPP_MUST_CHECK;
epp_status *parquet_write_footer(struct parquet_file *file, const struct parquet_pair *pairs, size_t pairs_count)
    EPP_MUST_CHECK;

#endif

/* A batch of rows in columns, which becomes an Arrow array without a copy.
 *
 *   batch_init(&batch, fields, fields_count, rows_max);
 *   per row, each column at most once:    batch_integer(&batch, column, ...), batch_text(&batch, column, ...)
 *                                         batch_end_row(&batch);
 *   batch_export(&batch, &array);
 *   batch_deinit(&batch);
 *
 * Thread: one at a time; an exported array is independent of its batch. */
#ifndef EPPROF_RUNTIME_EXPORT_ARROW_BATCH_H
#define EPPROF_RUNTIME_EXPORT_ARROW_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epprof/arrow.h"

struct batch_field {
	const char *name;
	bool is_text;     /* true: UTF-8 text; false: 64-bit integers */
	bool is_nullable; /* rows may have no value */
};

struct batch_column {
	uint8_t *valid;    /* validity bitmap, a bit for each row; NULL: the column is not nullable */
	int64_t *integers; /* values of a column of integers */
	int32_t *offsets;  /* for a column of texts: the start of each row's text, and the end of the last row's text */
	char *text;
	size_t text_count, text_room;
	size_t nulls_count;
	bool has_value; /* the current row has a value */
};

struct batch {
	const struct batch_field *fields;
	struct batch_column *columns;
	size_t columns_count, rows_count, rows_max;
	size_t text_count; /* bytes of text in all columns */
};

/* Errors, here and below: EPP_OUT_OF_MEMORY.  Ownership: `fields` must stay valid; call batch_deinit also after a
 * failure. */
epp_status *batch_init(struct batch *batch, const struct batch_field *fields, size_t count, size_t rows_max)
    EPP_MUST_CHECK;
void batch_deinit(struct batch *batch);

void batch_integer(struct batch *batch, size_t column, int64_t value);
/* Adds a text to the current row.  Bytes that are not UTF-8 become U+FFFD. */
epp_status *batch_text(struct batch *batch, size_t column, const char *text, size_t bytes) EPP_MUST_CHECK;
/* Ends the current row.  Columns without a value are null in it. */
void batch_end_row(struct batch *batch);

/* Returns true if the batch has rows_max rows, or so much text that it should be exported. */
bool batch_is_full(const struct batch *batch);

/* Moves all columns into an array.  The batch is empty afterwards.  On failure array->release is NULL. */
epp_status *batch_export(struct batch *batch, struct ArrowArray *array) EPP_MUST_CHECK;

/* Makes the schema of batches with these fields.  On failure schema->release is NULL. */
epp_status *batch_schema(const struct batch_field *fields, size_t count, struct ArrowSchema *schema) EPP_MUST_CHECK;

#endif

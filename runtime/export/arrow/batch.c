/* Columns of an Arrow batch, and the structs in which consumers get them. */
#include "export/arrow/batch.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "containers/array.h"
#include "encoding/utf8.h"

/* A batch with this many bytes of text is full.  The limit of a column is 2 GiB, because the offsets of its texts have
 * 31 bits. */
#define TEXT_MAX (64u << 20)

/* ---- filling ---- */

epp_status *batch_init(struct batch *batch, const struct batch_field *fields, size_t count, size_t rows_max)
{
	*batch = (struct batch){ .fields = fields, .columns_count = count, .rows_max = rows_max };
	batch->columns = calloc(count, sizeof *batch->columns);
	if (!batch->columns)
		return epp_status_no_memory();
	for (size_t i = 0; i < count; i++) {
		struct batch_column *column = &batch->columns[i];
		if (fields[i].is_text)
			column->offsets = calloc(rows_max + 1, sizeof *column->offsets);
		else
			column->integers = calloc(rows_max, sizeof *column->integers);
		if (fields[i].is_nullable)
			column->valid = calloc(rows_max / 8 + 1, 1);
		/* malloc, so that a column of empty texts has a buffer too. */
		if ((!column->offsets && !column->integers) || (fields[i].is_nullable && !column->valid) ||
		    !array_reserve(&column->text, &column->text_room, 1, 1))
			return epp_status_no_memory();
	}
	return NULL;
}

static void free_column(struct batch_column *column)
{
	free(column->valid);
	free(column->integers);
	free(column->offsets);
	free(column->text);
	*column = (struct batch_column){ 0 };
}

void batch_deinit(struct batch *batch)
{
	for (size_t i = 0; batch->columns && i < batch->columns_count; i++)
		free_column(&batch->columns[i]);
	free(batch->columns);
	batch->columns = NULL;
}

static void mark_valid(const struct batch *batch, struct batch_column *column)
{
	column->has_value = true;
	if (column->valid)
		column->valid[batch->rows_count / 8] |= (uint8_t)(1u << batch->rows_count % 8);
}

void batch_integer(struct batch *batch, size_t index, int64_t value)
{
	struct batch_column *column = &batch->columns[index];

	column->integers[batch->rows_count] = value;
	mark_valid(batch, column);
}

epp_status *batch_text(struct batch *batch, size_t index, const char *text, size_t bytes)
{
	struct batch_column *column = &batch->columns[index];

	if (!array_reserve(&column->text, &column->text_room, column->text_count + 3 * bytes, 1))
		return epp_status_no_memory();
	size_t count = (size_t)(utf8_repair(column->text + column->text_count, text, bytes) - column->text) -
	               column->text_count;
	column->text_count += count;
	batch->text_count += count;
	mark_valid(batch, column);
	return NULL;
}

void batch_end_row(struct batch *batch)
{
	batch->rows_count++;
	for (size_t i = 0; i < batch->columns_count; i++) {
		struct batch_column *column = &batch->columns[i];
		if (column->offsets)
			column->offsets[batch->rows_count] = (int32_t)column->text_count;
		column->nulls_count += !column->has_value;
		column->has_value = false;
	}
}

bool batch_is_full(const struct batch *batch)
{
	return batch->rows_count >= batch->rows_max || batch->text_count > TEXT_MAX;
}

/* ---- arrays ---- */

/* A column that was exported to a consumer.  The consumer may move it out of its batch, so each column has its own
 * release function. */
struct exported_column {
	struct batch_column column;
	const void *buffers[3];
};

static void release_column(struct ArrowArray *array)
{
	struct exported_column *exported = array->private_data;

	free_column(&exported->column);
	free(exported);
	array->release = NULL;
}

struct exported_batch {
	const void *buffers[1]; /* the validity bitmap of rows: there is none */
	struct ArrowArray **children;
	struct ArrowArray arrays[];
};

static void release_batch(struct ArrowArray *array)
{
	struct exported_batch *exported = array->private_data;

	for (int64_t i = 0; i < array->n_children; i++)
		if (array->children[i]->release)
			array->children[i]->release(array->children[i]);
	free(exported->children);
	free(exported);
	array->release = NULL;
}

static bool export_column(const struct batch *batch, struct batch_column *column, struct ArrowArray *array)
{
	struct exported_column *exported = malloc(sizeof *exported);

	if (!exported)
		return false;
	exported->column = *column;
	*column = (struct batch_column){ 0 };
	column = &exported->column;
	exported->buffers[0] = column->nulls_count ? column->valid : NULL;
	exported->buffers[1] = column->offsets ? (const void *)column->offsets : column->integers;
	exported->buffers[2] = column->text;
	*array = (struct ArrowArray){ .length = (int64_t)batch->rows_count,
		                      .null_count = (int64_t)column->nulls_count,
		                      .n_buffers = column->offsets ? 3 : 2,
		                      .buffers = exported->buffers,
		                      .release = release_column,
		                      .private_data = exported };
	return true;
}

epp_status *batch_export(struct batch *batch, struct ArrowArray *array)
{
	size_t count = batch->columns_count;
	struct exported_batch *exported = calloc(1, sizeof *exported + count * sizeof *exported->arrays);
	struct ArrowArray **children = calloc(count, sizeof *children);

	array->release = NULL;
	if (!exported || !children) {
		free(exported);
		free(children);
		return epp_status_no_memory();
	}
	exported->children = children;
	*array = (struct ArrowArray){ .length = (int64_t)batch->rows_count,
		                      .n_buffers = 1,
		                      .n_children = (int64_t)count,
		                      .buffers = exported->buffers,
		                      .children = children,
		                      .release = release_batch,
		                      .private_data = exported };
	bool complete = true;
	for (size_t i = 0; i < count; i++) {
		children[i] = &exported->arrays[i];
		complete = complete && export_column(batch, &batch->columns[i], children[i]);
	}
	if (complete)
		return NULL;
	release_batch(array);
	return epp_status_no_memory();
}

/* ---- the schema ---- */

struct exported_schema {
	struct ArrowSchema **children;
	struct ArrowSchema schemas[];
};

/* The struct is part of the allocation of the whole schema, and the texts are static, so nothing is freed. */
static void release_column_schema(struct ArrowSchema *schema)
{
	schema->release = NULL;
}

static void release_schema(struct ArrowSchema *schema)
{
	struct exported_schema *exported = schema->private_data;

	for (int64_t i = 0; i < schema->n_children; i++)
		if (schema->children[i]->release)
			schema->children[i]->release(schema->children[i]);
	free(exported->children);
	free(exported);
	schema->release = NULL;
}

epp_status *batch_schema(const struct batch_field *fields, size_t count, struct ArrowSchema *schema)
{
	struct exported_schema *exported = calloc(1, sizeof *exported + count * sizeof *exported->schemas);
	struct ArrowSchema **children = calloc(count, sizeof *children);

	schema->release = NULL;
	if (!exported || !children) {
		free(exported);
		free(children);
		return epp_status_no_memory();
	}
	for (size_t i = 0; i < count; i++) {
		children[i] = &exported->schemas[i];
		*children[i] = (struct ArrowSchema){ .format = fields[i].is_text ? "u" : "l",
			                             .name = fields[i].name,
			                             .flags = fields[i].is_nullable ? ARROW_FLAG_NULLABLE : 0,
			                             .release = release_column_schema };
	}
	exported->children = children;
	*schema = (struct ArrowSchema){ .format = "+s",
		                        .name = "",
		                        .n_children = (int64_t)count,
		                        .children = children,
		                        .release = release_schema,
		                        .private_data = exported };
	return NULL;
}

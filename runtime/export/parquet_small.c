/* See parquet_small.h. */
#include "export/parquet_small.h"

#include <stdlib.h>

#include "base/status.h"
#include "wire/utf8.h"

epp_status *parquet_small_init(struct parquet_small *table, const char *path, const struct parquet_field *fields,
                               size_t fields_count)
{
	*table = (struct parquet_small){ 0 };
	EPP_TRY(sink_file_open(&table->out, path, false));
	table->is_open = true;
	EPP_TRY(sink_init(&table->sink, sink_file_write, &table->out));
	table->columns = calloc(fields_count, sizeof *table->columns);
	if (!table->columns)
		return epp_status_no_memory();
	table->columns_count = fields_count;
	for (size_t i = 0; i < fields_count; i++) {
		table->columns[i].values = reallocarray(NULL, PARQUET_SMALL_ROWS, sizeof *table->columns[i].values);
		table->columns[i].levels = calloc(PARQUET_SMALL_ROWS, sizeof *table->columns[i].levels);
		if (!table->columns[i].values || !table->columns[i].levels)
			return epp_status_no_memory();
	}
	return parquet_file_init(&table->file, &table->sink, fields, fields_count);
}

void parquet_small_deinit(struct parquet_small *table)
{
	for (size_t i = 0; i < table->columns_count; i++) {
		free(table->columns[i].values);
		free(table->columns[i].levels);
		free(table->columns[i].texts.bytes);
	}
	free(table->columns);
	parquet_file_deinit(&table->file);
	sink_deinit(&table->sink);
	if (table->is_open)
		sink_file_discard(&table->out);
	*table = (struct parquet_small){ 0 };
}

void parquet_small_integer(struct parquet_small *table, size_t index, int64_t value)
{
	struct parquet_small_column *column = &table->columns[index];

	column->values[column->values_count++] = value;
	column->levels[table->rows_count] = 1;
}

epp_status *parquet_small_text(struct parquet_small *table, size_t index, const char *text, size_t bytes)
{
	struct parquet_small_column *column = &table->columns[index];

	EPP_TRY(parquet_reserve(&column->texts, bytes * 3));
	size_t mended_bytes = 0;
	if (bytes) {
		char *at = column->texts.bytes + column->texts.count;
		mended_bytes = (size_t)(utf8_mend(at, text, bytes) - at);
	}
	column->texts.count += mended_bytes;
	parquet_small_integer(table, index, (int64_t)mended_bytes);
	return NULL;
}

static epp_status *write_page(struct parquet_small *table)
{
	for (size_t i = 0; i < table->columns_count; i++) {
		struct parquet_small_column *column = &table->columns[i];
		const struct parquet_rows rows = { table->rows_count, column->values_count, column->levels };
		if (table->file.fields[i].kind == PARQUET_INTEGER)
			EPP_TRY(parquet_page_integers(&table->file, i, &rows, column->values));
		else
			EPP_TRY(parquet_page_texts(&table->file, i, &rows, column->values, column->texts.bytes,
			                           column->texts.count));
		column->values_count = column->texts.count = 0;
		memset(column->levels, 0, PARQUET_SMALL_ROWS * sizeof *column->levels);
	}
	table->rows_count = 0;
	return NULL;
}

epp_status *parquet_small_end_row(struct parquet_small *table)
{
	return ++table->rows_count < PARQUET_SMALL_ROWS ? NULL : write_page(table);
}

epp_status *parquet_small_commit(struct parquet_small *table)
{
	if (table->rows_count)
		EPP_TRY(write_page(table));
	EPP_TRY(parquet_group_end(&table->file));
	EPP_TRY(parquet_file_end(&table->file, NULL, 0));
	EPP_TRY(sink_flush(&table->sink));
	table->is_open = false;
	return sink_file_commit(&table->out);
}

/* A Parquet reader for tests, written from the format's specification, value by value and bit by bit, without regard
 * for speed. */
#include "tests/support/parquet_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "encoding/utf8.h"
#include "tests/support/check.h"
#include "tests/support/thrift_text.h"

/* ---- encodings ---- */

static uint64_t bits_at(const uint8_t *bytes, size_t bytes_count, size_t bit, unsigned width)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < width; i++) {
		size_t at = bit + i;
		MUST(at / 8 < bytes_count);
		value |= (uint64_t)(bytes[at / 8] >> at % 8 & 1) << i;
	}
	return value;
}

static size_t read_hybrid(const uint8_t *bytes, size_t bytes_count, unsigned width, uint32_t *values, size_t count)
{
	struct thrift_cursor cursor = { bytes, bytes + bytes_count };

	for (size_t i = 0; i < count;) {
		uint64_t head = thrift_read_varint(&cursor), run = head >> 1;
		MUST(run > 0);
		if (head & 1) {
			for (size_t j = 0; j < run * 8 && i < count; j++)
				values[i++] = (uint32_t)bits_at(cursor.at, (size_t)(cursor.end - cursor.at), j * width,
				                                width);
			cursor.at += run * width;
		} else {
			uint32_t value = (uint32_t)bits_at(cursor.at, (size_t)(cursor.end - cursor.at), 0,
			                                   (width + 7) / 8 * 8);
			MUST(run <= count - i);
			for (size_t j = 0; j < run; j++)
				values[i++] = value;
			cursor.at += (width + 7) / 8;
		}
		MUST(cursor.at <= cursor.end);
	}
	return (size_t)(cursor.at - bytes);
}

/* ---- pages ---- */

struct chunk {
	struct parquet_value *dictionary;
	size_t dictionary_count;
	bool is_text, optional;
	struct parquet_value *values; /* one for each row of the row group */
	size_t rows_count, rows_read, nulls_count;
};

static struct parquet_value text_value(const uint8_t *bytes, size_t count)
{
	struct parquet_value value = { .text = malloc(count + 1), .bytes = count };

	memcpy(value.text, bytes, count);
	value.text[count] = '\0';
	MUST(utf8_valid_bytes(value.text, count) == count);
	return value;
}

static struct parquet_value plain_value(bool is_text, struct thrift_cursor *cursor)
{
	struct parquet_value value = { 0 };
	size_t left = (size_t)(cursor->end - cursor->at);
	uint32_t count;

	if (is_text) {
		MUST(left >= sizeof count);
		memcpy(&count, cursor->at, sizeof count);
		MUST(count <= left - sizeof count);
		value = text_value(cursor->at + sizeof count, count);
		cursor->at += sizeof count + count;
	} else {
		MUST(left >= sizeof value.integer);
		memcpy(&value.integer, cursor->at, sizeof value.integer);
		cursor->at += sizeof value.integer;
	}
	return value;
}

static void read_dictionary(struct chunk *chunk, const struct thrift_field *page, const uint8_t *bytes, size_t count)
{
	struct thrift_field head = thrift_get(page, 7);
	struct thrift_cursor cursor = { bytes, bytes + count };

	MUST(!chunk->dictionary);
	MUST(thrift_integer(&head, 2) == 0);
	chunk->dictionary_count = (size_t)thrift_integer(&head, 1);
	chunk->dictionary = calloc(chunk->dictionary_count + 1, sizeof *chunk->dictionary);
	for (size_t i = 0; i < chunk->dictionary_count; i++)
		chunk->dictionary[i] = plain_value(chunk->is_text, &cursor);
	MUST(cursor.at == cursor.end);
}

static struct parquet_value copy_value(const struct parquet_value *value)
{
	return value->text ? text_value((const uint8_t *)value->text, value->bytes) : *value;
}

/* Reads the `count` values of a page. */
static struct parquet_value *read_values(const struct chunk *chunk, int64_t encoding, const uint8_t *bytes,
                                         size_t bytes_count, size_t count)
{
	struct parquet_value *values = calloc(count + 1, sizeof *values);
	uint32_t *numbers = calloc(count + 1, sizeof *numbers);

	if (encoding == 8) {
		size_t used = 1 + read_hybrid(bytes + 1, bytes_count - 1, bytes[0], numbers, count);
		MUST(used == bytes_count);
		for (size_t i = 0; i < count; i++) {
			MUST(numbers[i] < chunk->dictionary_count);
			values[i] = copy_value(&chunk->dictionary[numbers[i]]);
		}
	} else {
		struct thrift_cursor cursor = { bytes, bytes + bytes_count };
		MUST(encoding == 0);
		for (size_t i = 0; i < count; i++)
			values[i] = plain_value(chunk->is_text, &cursor);
		MUST(cursor.at == cursor.end);
	}
	free(numbers);
	return values;
}

/* Distributes the values over `rows` rows by their definition levels: a row at level 0 is null. */
static void spread(struct chunk *chunk, struct parquet_value *values, const uint32_t *levels, size_t rows)
{
	size_t next = 0;

	for (size_t i = 0; i < rows; i++) {
		MUST(levels[i] <= 1);
		chunk->values[chunk->rows_read++] = levels[i] ? values[next++] : (struct parquet_value){ .is_null = true };
	}
	chunk->nulls_count += rows - next;
}

/* Reads a page; `bytes` are the levels, then the values. */
static void read_page(struct chunk *chunk, const struct thrift_field *page, const uint8_t *bytes, size_t count)
{
	struct thrift_field head = thrift_get(page, 5);
	size_t rows = (size_t)thrift_integer(&head, 1), present = 0;
	uint32_t *levels = calloc(rows + 1, sizeof *levels), levels_bytes;

	MUST(rows > 0);
	MUST(thrift_integer(&head, 3) == 3 && thrift_integer(&head, 4) == 3);
	MUST(rows <= chunk->rows_count - chunk->rows_read);
	if (chunk->optional) {
		MUST(count >= sizeof levels_bytes);
		memcpy(&levels_bytes, bytes, sizeof levels_bytes);
		bytes += sizeof levels_bytes;
		count -= sizeof levels_bytes;
		MUST(levels_bytes <= count);
		MUST(read_hybrid(bytes, levels_bytes, 1, levels, rows) == levels_bytes);
		bytes += levels_bytes;
		count -= levels_bytes;
	}
	for (size_t i = 0; i < rows; i++) {
		levels[i] = chunk->optional ? levels[i] : 1;
		present += levels[i];
	}
	struct parquet_value *values = read_values(chunk, thrift_integer(&head, 2), bytes, count, present);
	spread(chunk, values, levels, rows);
	free(values);
	free(levels);
}

/* Reads a page with its header; returns the size of both, and adds their uncompressed size to *plain_bytes. */
static size_t read_any_page(struct chunk *chunk, const uint8_t *from, const uint8_t *end, int64_t *plain_bytes)
{
	struct thrift_cursor cursor = { from, end };
	struct thrift_field page = { .type = 12 };

	thrift_read(&cursor, &page);
	size_t count = (size_t)thrift_integer(&page, 3), plain_count = (size_t)thrift_integer(&page, 2);
	MUST(count <= (size_t)(end - cursor.at));
	*plain_bytes += cursor.at - from + (int64_t)plain_count;
	uint8_t *plain = malloc(plain_count + 1);
	MUST(ZSTD_decompress(plain, plain_count, cursor.at, count) == plain_count);
	if (thrift_integer(&page, 1) == 2) {
		read_dictionary(chunk, &page, plain, plain_count);
	} else {
		MUST(thrift_integer(&page, 1) == 0);
		read_page(chunk, &page, plain, plain_count);
	}
	free(plain);
	return (size_t)(cursor.at - from) + count;
}

/* ---- the file ---- */

static void read_limits(struct parquet_table *table, size_t group, size_t column, const struct thrift_field *statistics)
{
	struct thrift_field least = thrift_get(statistics, 6), largest = thrift_get(statistics, 5);

	table->limits[group][column].nulls_count = thrift_integer(statistics, 3);
	if (!least.type)
		return;
	table->limits[group][column].known = true;
	if (table->is_text[column]) {
		table->limits[group][column].least = text_value(least.bytes, least.count);
		table->limits[group][column].largest = text_value(largest.bytes, largest.count);
	} else {
		MUST(least.count == 8 && largest.count == 8);
		memcpy(&table->limits[group][column].least.integer, least.bytes, 8);
		memcpy(&table->limits[group][column].largest.integer, largest.bytes, 8);
	}
}

/* Reads a column; returns its end in the file. */
static int64_t read_column(struct parquet_table *table, size_t group, size_t column,
                           const struct thrift_field *description, const uint8_t *file, size_t rows)
{
	struct thrift_field meta = thrift_get(description, 3), path = thrift_get(&meta, 3),
			    name = thrift_element(&path, 0), dictionary = thrift_get(&meta, 11);
	int64_t at = dictionary.type ? dictionary.integer : thrift_integer(&meta, 9),
		end = at + thrift_integer(&meta, 7), plain_bytes = 0;
	struct thrift_field statistics = thrift_get(&meta, 12);
	struct chunk chunk = { .is_text = table->is_text[column],
		               .optional = table->optional[column],
		               .values = table->values[column] + table->rows_count,
		               .rows_count = rows };
	char *text = thrift_copy(&name);

	ck_assert_str_eq(text, table->names[column]);
	MUST(thrift_integer(&meta, 1) == (table->is_text[column] ? 6 : 2));
	MUST(thrift_integer(&meta, 4) == 6);
	MUST(thrift_integer(&meta, 5) == (int64_t)rows);
	for (bool first = true; at < end; first = false) {
		if (!first && dictionary.type)
			MUST(chunk.dictionary);
		at += (int64_t)read_any_page(&chunk, file + at, file + end, &plain_bytes);
		if (first && dictionary.type)
			MUST(at == thrift_integer(&meta, 9));
	}
	MUST(at == end);
	MUST(plain_bytes == thrift_integer(&meta, 6));
	MUST(chunk.rows_read == rows);
	read_limits(table, group, column, &statistics);
	MUST(table->limits[group][column].nulls_count == (int64_t)chunk.nulls_count);
	for (size_t i = 0; i < chunk.dictionary_count; i++)
		free(chunk.dictionary[i].text);
	free(chunk.dictionary);
	free(text);
	return end;
}

static void read_schema(struct parquet_table *table, const struct thrift_field *footer)
{
	struct thrift_field schema = thrift_get(footer, 2), orders = thrift_get(footer, 7),
			    root = thrift_element(&schema, 0);

	table->columns_count = schema.count - 1;
	MUST(table->columns_count <= 64);
	MUST(thrift_integer(&root, 5) == (int64_t)table->columns_count);
	MUST(orders.count == table->columns_count);
	for (size_t i = 0; i < table->columns_count; i++) {
		struct thrift_field column = thrift_element(&schema, i + 1), name = thrift_get(&column, 4);
		table->names[i] = thrift_copy(&name);
		table->is_text[i] = thrift_integer(&column, 1) == 6;
		table->optional[i] = thrift_integer(&column, 3) == 1;
		MUST(thrift_get(&column, 10).type == (table->is_text[i] ? 12 : 0));
	}
}

static void read_pairs(struct parquet_table *table, const struct thrift_field *footer)
{
	struct thrift_field pairs = thrift_get(footer, 5);

	for (size_t i = 0; i < pairs.count && i < 8; i++) {
		struct thrift_field pair = thrift_element(&pairs, i), key = thrift_get(&pair, 1),
				    value = thrift_get(&pair, 2);
		table->keys[i] = thrift_copy(&key);
		table->pairs[i] = thrift_copy(&value);
		table->pairs_count++;
	}
}

static void read_groups(struct parquet_table *table, const struct thrift_field *footer, const uint8_t *file)
{
	struct thrift_field groups = thrift_get(footer, 4);
	int64_t at = 4;

	MUST(groups.count <= 64);
	for (size_t i = 0; i < table->columns_count; i++)
		table->values[i] = calloc((size_t)thrift_integer(footer, 3) + 1, sizeof *table->values[i]);
	for (size_t group = 0; group < groups.count; group++) {
		struct thrift_field description = thrift_element(&groups, group), columns = thrift_get(&description, 1);
		struct thrift_field order = thrift_get(&description, 4);
		size_t rows = (size_t)thrift_integer(&description, 3);
		MUST(columns.count == table->columns_count);
		MUST(thrift_integer(&description, 5) == at);
		if (order.type) {
			struct thrift_field first = thrift_element(&order, 0);
			table->sorted = (size_t)thrift_integer(&first, 1);
		}
		for (size_t i = 0; i < table->columns_count; i++) {
			struct thrift_field column = thrift_element(&columns, i);
			at = read_column(table, group, i, &column, file, rows);
		}
		MUST(at - thrift_integer(&description, 5) == thrift_integer(&description, 6));
		table->group_rows[group] = rows;
		table->rows_count += rows;
	}
	table->groups_count = groups.count;
	MUST((int64_t)table->rows_count == thrift_integer(footer, 3));
}

struct parquet_table *parquet_table_read(const char *bytes, size_t count)
{
	struct parquet_table *table = calloc(1, sizeof *table);
	struct thrift_field footer = { .type = 12 };
	uint32_t footer_bytes;

	MUST(count >= 12);
	ck_assert_mem_eq(bytes, "PAR1", 4);
	ck_assert_mem_eq(bytes + count - 4, "PAR1", 4);
	memcpy(&footer_bytes, bytes + count - 8, sizeof footer_bytes);
	MUST(footer_bytes <= count - 12);
	struct thrift_cursor cursor = { (const uint8_t *)bytes + count - 8 - footer_bytes,
		                        (const uint8_t *)bytes + count - 8 };
	thrift_read(&cursor, &footer);
	MUST(cursor.at == cursor.end);
	read_schema(table, &footer);
	read_pairs(table, &footer);
	read_groups(table, &footer, (const uint8_t *)bytes);
	return table;
}

void parquet_table_free(struct parquet_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->columns_count; i++) {
		for (size_t row = 0; row < table->rows_count; row++)
			free(table->values[i][row].text);
		for (size_t group = 0; group < table->groups_count; group++) {
			free(table->limits[group][i].least.text);
			free(table->limits[group][i].largest.text);
		}
		free(table->values[i]);
		free(table->names[i]);
	}
	for (size_t i = 0; i < table->pairs_count; i++) {
		free(table->keys[i]);
		free(table->pairs[i]);
	}
	free(table);
}

size_t parquet_table_column(const struct parquet_table *table, const char *name)
{
	for (size_t i = 0; i < table->columns_count; i++) {
		if (strcmp(table->names[i], name) == 0)
			return i;
	}
	ck_abort_msg("no column %s", name);
	return 0;
}

/* ---- text ---- */

static void print_value(FILE *out, const struct parquet_value *value)
{
	if (value->is_null)
		fputs("null", out);
	else if (value->text)
		fprintf(out, "'%s'", value->text);
	else
		fprintf(out, "%" PRId64, value->integer);
}

char *parquet_text_dump(const char *bytes, size_t count)
{
	struct parquet_table *table = parquet_table_read(bytes, count);
	char *text;
	size_t text_bytes;
	FILE *out = open_memstream(&text, &text_bytes);

	for (size_t i = 0; i < table->columns_count; i++) {
		fprintf(out, "%s %s%s%s", table->names[i], table->is_text[i] ? "text" : "integer",
		        table->optional[i] ? " optional" : "", i == table->sorted ? " sorted" : "");
		for (size_t group = 0; group < table->groups_count; group++) {
			if (!table->limits[group][i].known)
				continue;
			fputs(", ", out);
			print_value(out, &table->limits[group][i].least);
			fputs(" to ", out);
			print_value(out, &table->limits[group][i].largest);
		}
		fputs("\n", out);
	}
	for (size_t row = 0; row < table->rows_count; row++) {
		for (size_t i = 0; i < table->columns_count; i++) {
			fputs(i ? "," : "", out);
			print_value(out, &table->values[i][row]);
		}
		fputs("\n", out);
	}
	for (size_t i = 0; i < table->pairs_count; i++)
		fprintf(out, "%s %s\n", table->keys[i], table->pairs[i]);
	fclose(out);
	parquet_table_free(table);
	return text;
}

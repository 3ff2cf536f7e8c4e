/* The footer of a Parquet file, in Thrift's compact protocol: numbers of fields are those of parquet.thrift. */
#include <stdlib.h>

#include "base/status.h"
#include "export/parquet_file.h"
#include "wire/thrift.h"

#include "epprof/epprof.h"

#define FORMAT_VERSION 2
#define CREATED_BY "epprof version " EPPROF_VERSION
/* Longer texts are not told as a column's least or largest. */
#define LIMIT_BYTES_MAX 64u
/* What a column takes in a row group's description, and in the schema, without texts. */
#define DESCRIPTION_BYTES 256u

enum { TYPE_INT64 = 2, TYPE_BYTE_ARRAY = 6 };
enum { CODEC_ZSTD = 6, CONVERTED_UTF8 = 0, LOGICAL_STRING = 1 };
enum { REQUIRED = 0, OPTIONAL = 1 };

static bool is_text(const struct parquet_field *field)
{
	return field->kind == PARQUET_TEXT || field->kind == PARQUET_TEXT_DICTIONARY;
}

/* ---- the least and the largest ---- */

struct limits {
	const char *least, *largest; /* NULL: not known */
	size_t least_bytes, largest_bytes;
};

static int compare_texts(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
	int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);

	return order ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

static void find_texts(const struct numbered *dictionary, struct limits *limits)
{
	for (uint32_t i = 0; i < dictionary->count; i++) {
		size_t count;
		const char *text = numbered_bytes(dictionary, i, &count);
		if (!i || compare_texts(text, count, limits->least, limits->least_bytes) < 0) {
			limits->least = text;
			limits->least_bytes = count;
		}
		if (!i || compare_texts(text, count, limits->largest, limits->largest_bytes) > 0) {
			limits->largest = text;
			limits->largest_bytes = count;
		}
	}
	if (limits->least_bytes > LIMIT_BYTES_MAX || limits->largest_bytes > LIMIT_BYTES_MAX)
		*limits = (struct limits){ 0 };
}

static void find_integers(struct parquet_column *column)
{
	for (uint32_t i = 0; i < column->dictionary.count; i++) {
		size_t count;
		int64_t value;
		memcpy(&value, numbered_bytes(&column->dictionary, i, &count), sizeof value);
		column->limits.least = value < column->limits.least ? value : column->limits.least;
		column->limits.largest = value > column->limits.largest ? value : column->limits.largest;
	}
}

static void find_limits(struct parquet_column *column, struct limits *limits)
{
	*limits = (struct limits){ 0 };
	if (column->nulls_count == column->rows_count || column->field->kind == PARQUET_TEXT)
		return;
	if (column->field->kind == PARQUET_TEXT_DICTIONARY) {
		find_texts(&column->dictionary, limits);
		return;
	}
	find_integers(column);
	const struct parquet_limits *own = &column->limits;
	*limits = (struct limits){ (const char *)&own->least, (const char *)&own->largest, sizeof own->least,
		                   sizeof own->largest };
}

static void put_statistics(struct thrift *thrift, struct parquet_column *column)
{
	struct limits limits;

	find_limits(column, &limits);
	thrift_struct(thrift, 12);
	thrift_i64(thrift, 3, (int64_t)column->nulls_count);
	if (limits.least) {
		thrift_bytes(thrift, 5, limits.largest, limits.largest_bytes);
		thrift_bytes(thrift, 6, limits.least, limits.least_bytes);
	}
	thrift_end(thrift);
}

/* ---- row groups ---- */

static void put_encodings(struct thrift *thrift, enum parquet_kind kind)
{
	static const enum parquet_encoding of_kind[] = { [PARQUET_INTEGER] = PARQUET_DELTA,
		                                         [PARQUET_INTEGER_DICTIONARY] = PARQUET_RLE_DICTIONARY,
		                                         [PARQUET_TEXT] = PARQUET_DELTA_LENGTH,
		                                         [PARQUET_TEXT_DICTIONARY] = PARQUET_RLE_DICTIONARY };
	bool has_dictionary = of_kind[kind] == PARQUET_RLE_DICTIONARY;

	thrift_list(thrift, 2, THRIFT_I32, has_dictionary ? 3 : 2);
	thrift_i32(thrift, 0, PARQUET_RLE); /* the levels */
	if (has_dictionary)
		thrift_i32(thrift, 0, PARQUET_PLAIN);
	thrift_i32(thrift, 0, of_kind[kind]);
}

static void put_column(struct thrift *thrift, struct parquet_column *column, const struct parquet_place *place)
{
	thrift_struct(thrift, 0);
	thrift_i64(thrift, 2, 0);
	thrift_struct(thrift, 3);
	thrift_i32(thrift, 1, is_text(column->field) ? TYPE_BYTE_ARRAY : TYPE_INT64);
	put_encodings(thrift, column->field->kind);
	thrift_list(thrift, 3, THRIFT_TEXT, 1);
	thrift_text(thrift, 0, column->field->name);
	thrift_i32(thrift, 4, CODEC_ZSTD);
	thrift_i64(thrift, 5, (int64_t)column->rows_count);
	thrift_i64(thrift, 6, (int64_t)place->plain_bytes);
	thrift_i64(thrift, 7, (int64_t)place->bytes);
	thrift_i64(thrift, 9, (int64_t)(place->offset + place->dictionary_bytes));
	if (place->dictionary_bytes)
		thrift_i64(thrift, 11, (int64_t)place->offset);
	put_statistics(thrift, column);
	thrift_end(thrift);
	thrift_end(thrift);
}

/* The first column whose order the rows are in, if there is one. */
static void put_order(struct thrift *thrift, const struct parquet_file *file)
{
	for (size_t i = 0; i < file->columns_count; i++) {
		if (!file->fields[i].sorted)
			continue;
		thrift_list(thrift, 4, THRIFT_STRUCT, 1);
		thrift_struct(thrift, 0);
		thrift_i32(thrift, 1, (int32_t)i);
		thrift_bool(thrift, 2, false); /* not descending */
		thrift_bool(thrift, 3, false); /* nor nulls first */
		thrift_end(thrift);
		return;
	}
}

static size_t names_bytes(const struct parquet_file *file)
{
	size_t bytes = 0;

	for (size_t i = 0; i < file->columns_count; i++)
		bytes += strlen(file->fields[i].name);
	return bytes;
}

epp_status *parquet_describe_group(struct parquet_file *file, const struct parquet_place *places, uint64_t rows)
{
	uint64_t bytes = 0, plain_bytes = 0;

	for (size_t i = 0; i < file->columns_count; i++) {
		bytes += places[i].bytes;
		plain_bytes += places[i].plain_bytes;
	}
	EPP_TRY(parquet_reserve(&file->groups, (file->columns_count + 1) * (DESCRIPTION_BYTES + 2 * LIMIT_BYTES_MAX) +
	                                           names_bytes(file)));
	char *begin = file->groups.bytes + file->groups.count;
	struct thrift thrift = thrift_begin(begin);
	thrift_list(&thrift, 1, THRIFT_STRUCT, file->columns_count);
	for (size_t i = 0; i < file->columns_count; i++)
		put_column(&thrift, &file->columns[i], &places[i]);
	thrift_i64(&thrift, 2, (int64_t)plain_bytes);
	thrift_i64(&thrift, 3, (int64_t)rows);
	put_order(&thrift, file);
	thrift_i64(&thrift, 5, (int64_t)places[0].offset);
	thrift_i64(&thrift, 6, (int64_t)bytes);
	thrift_end(&thrift);
	file->groups.count += (size_t)(thrift.at - begin);
	file->groups_count++;
	return NULL;
}

/* ---- the footer ---- */

static void put_schema(struct thrift *thrift, const struct parquet_file *file)
{
	thrift_list(thrift, 2, THRIFT_STRUCT, file->columns_count + 1);
	thrift_struct(thrift, 0);
	thrift_text(thrift, 4, "events");
	thrift_i32(thrift, 5, (int32_t)file->columns_count);
	thrift_end(thrift);
	for (size_t i = 0; i < file->columns_count; i++) {
		const struct parquet_field *field = &file->fields[i];
		thrift_struct(thrift, 0);
		thrift_i32(thrift, 1, is_text(field) ? TYPE_BYTE_ARRAY : TYPE_INT64);
		thrift_i32(thrift, 3, field->optional ? OPTIONAL : REQUIRED);
		thrift_text(thrift, 4, field->name);
		if (is_text(field)) {
			thrift_i32(thrift, 6, CONVERTED_UTF8);
			thrift_struct(thrift, 10);
			thrift_struct(thrift, LOGICAL_STRING);
			thrift_end(thrift);
			thrift_end(thrift);
		}
		thrift_end(thrift);
	}
}

/* Without it readers do not trust the least and the largest. */
static void put_orders(struct thrift *thrift, const struct parquet_file *file)
{
	thrift_list(thrift, 7, THRIFT_STRUCT, file->columns_count);
	for (size_t i = 0; i < file->columns_count; i++) {
		thrift_struct(thrift, 0);
		thrift_struct(thrift, 1); /* as the type has it */
		thrift_end(thrift);
		thrift_end(thrift);
	}
}

static void put_pairs(struct thrift *thrift, const struct parquet_pair *pairs, size_t pairs_count)
{
	if (!pairs_count)
		return;
	thrift_list(thrift, 5, THRIFT_STRUCT, pairs_count);
	for (size_t i = 0; i < pairs_count; i++) {
		thrift_struct(thrift, 0);
		thrift_text(thrift, 1, pairs[i].key);
		thrift_text(thrift, 2, pairs[i].value);
		thrift_end(thrift);
	}
}

/* What stands around the row groups, the pairs' texts included, takes no more than this. */
static size_t footer_bytes(const struct parquet_file *file, const struct parquet_pair *pairs, size_t pairs_count)
{
	size_t bytes = (file->columns_count + 2) * DESCRIPTION_BYTES + names_bytes(file);

	for (size_t i = 0; i < pairs_count; i++)
		bytes += strlen(pairs[i].key) + strlen(pairs[i].value) + 4 * THRIFT_FIELD_BYTES;
	return bytes;
}

epp_status *parquet_write_footer(struct parquet_file *file, const struct parquet_pair *pairs, size_t pairs_count)
{
	struct sink_memory *room = &file->plain;
	size_t before, behind;

	room->count = 0;
	EPP_TRY(parquet_reserve(room, footer_bytes(file, pairs, pairs_count)));
	struct thrift thrift = thrift_begin(room->bytes);
	thrift_i32(&thrift, 1, FORMAT_VERSION);
	put_schema(&thrift, file);
	thrift_i64(&thrift, 3, (int64_t)file->rows_count);
	thrift_list(&thrift, 4, THRIFT_STRUCT, file->groups_count);
	before = (size_t)(thrift.at - room->bytes);
	put_pairs(&thrift, pairs, pairs_count);
	thrift_text(&thrift, 6, CREATED_BY);
	put_orders(&thrift, file);
	thrift_end(&thrift);
	behind = (size_t)(thrift.at - room->bytes) - before;

	uint32_t bytes = (uint32_t)(before + file->groups.count + behind);
	sink_bytes(file->sink, room->bytes, before);
	sink_bytes(file->sink, file->groups.bytes, file->groups.count);
	sink_bytes(file->sink, room->bytes + before, behind);
	sink_bytes(file->sink, &bytes, sizeof bytes);
	return NULL;
}

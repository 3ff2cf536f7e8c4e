/* Pages of the second version: levels stand before the values and are never compressed, and a page that would not get
 * smaller by a quarter is left as it is, which its head says: what is encoded well costs more time than it saves room. */
#include "export/parquet_file.h"

#include <stdlib.h>

#include "base/status.h"
#include "wire/thrift.h"

#define MAGIC "PAR1"
#define HEAD_BYTES 128u
#define ZSTD_LEVEL (-1)
/* Of pages that compressing does not help, one of so many is tried again. */
#define TRY_EVERY 16u

epp_status *parquet_reserve(struct sink_memory *memory, size_t bytes)
{
	if (memory->room - memory->count >= bytes)
		return NULL;
	size_t room = (memory->count + bytes) * 2;
	char *larger = realloc(memory->bytes, room);
	if (!larger)
		return epp_status_no_memory();
	memory->bytes = larger;
	memory->room = room;
	return NULL;
}

static void write_bytes(struct parquet_file *file, const void *bytes, size_t count)
{
	sink_bytes(file->sink, bytes, count);
	file->offset += count;
}

static void begin_group(struct parquet_file *file)
{
	for (size_t i = 0; i < file->columns_count; i++) {
		struct parquet_column *column = &file->columns[i];
		numbered_clear(&column->dictionary);
		column->pages.count = 0;
		column->rows_count = column->nulls_count = column->plain_bytes = 0;
		column->limits = (struct parquet_limits){ INT64_MAX, INT64_MIN };
	}
}

epp_status *parquet_file_init(struct parquet_file *file, struct sink *sink, const struct parquet_field *fields,
                              size_t fields_count)
{
	*file = (struct parquet_file){ .sink = sink, .fields = fields };
	file->columns = calloc(fields_count, sizeof *file->columns);
	file->zstd = ZSTD_createCCtx();
	if (!file->columns || !file->zstd)
		return epp_status_no_memory();
	file->columns_count = fields_count;
	for (size_t i = 0; i < fields_count; i++)
		file->columns[i].field = &fields[i];
	ZSTD_CCtx_setParameter(file->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
	begin_group(file);
	write_bytes(file, MAGIC, strlen(MAGIC));
	return NULL;
}

void parquet_file_deinit(struct parquet_file *file)
{
	for (size_t i = 0; i < file->columns_count; i++) {
		numbered_deinit(&file->columns[i].dictionary);
		free(file->columns[i].pages.bytes);
	}
	free(file->columns);
	free(file->groups.bytes);
	free(file->plain.bytes);
	free(file->packed.bytes);
	ZSTD_freeCCtx(file->zstd);
	*file = (struct parquet_file){ 0 };
}

/* ---- pages ---- */

/* Compresses what is in `plain` behind what is in `packed`. */
static epp_status *compress(struct parquet_file *file)
{
	struct sink_memory *packed = &file->packed;

	EPP_TRY(parquet_reserve(packed, ZSTD_compressBound(file->plain.count)));
	size_t count = ZSTD_compress2(file->zstd, packed->bytes + packed->count, packed->room - packed->count,
	                              file->plain.bytes, file->plain.count);
	if (ZSTD_isError(count))
		return epp_status_create(EPP_OUT_OF_MEMORY, "zstd: %s", ZSTD_getErrorName(count));
	packed->count += count;
	return NULL;
}

/* Appends to the column a page whose values stand in `plain`. */
static epp_status *add_page(struct parquet_file *file, struct parquet_column *column, const struct parquet_rows *rows,
                            enum parquet_encoding encoding)
{
	struct sink_memory *plain = &file->plain, *packed = &file->packed;
	size_t levels_bytes = 0;
	bool is_packed = false;

	packed->count = 0;
	if (column->field->optional) {
		bool some = rows->values_count && rows->values_count < rows->count;
		EPP_TRY(parquet_reserve(packed, PARQUET_PACKED_ROOM(rows->count, 1)));
		char *end = some ? parquet_packed(packed->bytes, rows->levels, rows->count, 1)
		                 : parquet_repeated(packed->bytes, rows->values_count > 0, rows->count, 1);
		packed->count = levels_bytes = (size_t)(end - packed->bytes);
	}
	if (plain->count && column->pages_left_plain % TRY_EVERY == 0) {
		EPP_TRY(compress(file));
		is_packed = packed->count - levels_bytes < plain->count - plain->count / 4;
	}
	column->pages_left_plain = is_packed ? 0 : column->pages_left_plain + 1;
	size_t values_bytes = is_packed ? packed->count - levels_bytes : plain->count;

	EPP_TRY(parquet_reserve(&column->pages, HEAD_BYTES + levels_bytes + values_bytes));
	char *begin = column->pages.bytes + column->pages.count;
	struct thrift thrift = thrift_begin(begin);
	thrift_i32(&thrift, 1, 3); /* a data page of the second version */
	thrift_i32(&thrift, 2, (int32_t)(levels_bytes + plain->count));
	thrift_i32(&thrift, 3, (int32_t)(levels_bytes + values_bytes));
	thrift_struct(&thrift, 8);
	thrift_i32(&thrift, 1, (int32_t)rows->count);
	thrift_i32(&thrift, 2, (int32_t)(rows->count - rows->values_count));
	thrift_i32(&thrift, 3, (int32_t)rows->count);
	thrift_i32(&thrift, 4, encoding);
	thrift_i32(&thrift, 5, (int32_t)levels_bytes);
	thrift_i32(&thrift, 6, 0);
	thrift_bool(&thrift, 7, is_packed);
	thrift_end(&thrift);
	thrift_end(&thrift);
	char *at = mempcpy(thrift.at, packed->bytes, levels_bytes);
	column->plain_bytes += (size_t)(at - begin) + plain->count;
	at = mempcpy(at, is_packed ? packed->bytes + levels_bytes : plain->bytes, values_bytes);
	column->pages.count += (size_t)(at - begin);
	column->rows_count += rows->count;
	column->nulls_count += rows->count - rows->values_count;
	return NULL;
}

epp_status *parquet_page_integers(struct parquet_file *file, size_t index, const struct parquet_rows *rows,
                                  const int64_t *values)
{
	struct parquet_column *column = &file->columns[index];

	file->plain.count = 0;
	EPP_TRY(parquet_reserve(&file->plain, PARQUET_DELTA_ROOM(rows->values_count)));
	char *end = parquet_delta(file->plain.bytes, values, rows->values_count, &column->limits);
	file->plain.count = (size_t)(end - file->plain.bytes);
	return add_page(file, column, rows, PARQUET_DELTA);
}

epp_status *parquet_page_numbers(struct parquet_file *file, size_t index, const struct parquet_rows *rows,
                                 const uint32_t *numbers)
{
	struct parquet_column *column = &file->columns[index];
	unsigned width = parquet_width(column->dictionary.count);
	char *at;

	file->plain.count = 0;
	EPP_TRY(parquet_reserve(&file->plain, 1 + PARQUET_PACKED_ROOM(rows->values_count, width)));
	at = file->plain.bytes;
	*at++ = (char)width;
	if (numbers)
		at = parquet_packed(at, numbers, rows->values_count, width);
	else if (rows->values_count)
		at = parquet_repeated(at, 0, rows->values_count, width);
	file->plain.count = (size_t)(at - file->plain.bytes);
	return add_page(file, column, rows, PARQUET_RLE_DICTIONARY);
}

epp_status *parquet_page_texts(struct parquet_file *file, size_t index, const struct parquet_rows *rows,
                               const int64_t *lengths, const char *texts, size_t texts_bytes)
{
	file->plain.count = 0;
	EPP_TRY(parquet_reserve(&file->plain, PARQUET_DELTA_ROOM(rows->values_count) + texts_bytes));
	char *end = parquet_delta(file->plain.bytes, lengths, rows->values_count, &(struct parquet_limits){ 0 });
	if (texts_bytes)
		end = mempcpy(end, texts, texts_bytes);
	file->plain.count = (size_t)(end - file->plain.bytes);
	return add_page(file, &file->columns[index], rows, PARQUET_DELTA_LENGTH);
}

/* ---- row groups ---- */

static bool has_dictionary(const struct parquet_column *column)
{
	return column->field->kind == PARQUET_INTEGER_DICTIONARY || column->field->kind == PARQUET_TEXT_DICTIONARY;
}

/* A dictionary's values, as pages have them that are not encoded. */
static epp_status *lay_out(struct parquet_file *file, const struct parquet_column *column)
{
	const struct numbered *dictionary = &column->dictionary;
	struct sink_memory *plain = &file->plain;
	bool is_text = column->field->kind == PARQUET_TEXT_DICTIONARY;

	plain->count = 0;
	EPP_TRY(parquet_reserve(plain, dictionary->bytes_count + dictionary->count * sizeof(uint32_t)));
	char *at = plain->bytes;
	for (uint32_t i = 0; i < dictionary->count; i++) {
		size_t count;
		const char *bytes = numbered_bytes(dictionary, i, &count);
		if (is_text)
			at = mempcpy(at, &(uint32_t){ (uint32_t)count }, sizeof(uint32_t));
		at = mempcpy(at, bytes, count);
	}
	plain->count = (size_t)(at - plain->bytes);
	return NULL;
}

static epp_status *write_dictionary(struct parquet_file *file, const struct parquet_column *column,
                                    struct parquet_place *place)
{
	char head[HEAD_BYTES];
	struct thrift thrift = thrift_begin(head);

	EPP_TRY(lay_out(file, column));
	file->packed.count = 0;
	EPP_TRY(compress(file));
	thrift_i32(&thrift, 1, 2); /* a dictionary */
	thrift_i32(&thrift, 2, (int32_t)file->plain.count);
	thrift_i32(&thrift, 3, (int32_t)file->packed.count);
	thrift_struct(&thrift, 7);
	thrift_i32(&thrift, 1, (int32_t)column->dictionary.count);
	thrift_i32(&thrift, 2, PARQUET_PLAIN);
	thrift_end(&thrift);
	thrift_end(&thrift);
	size_t head_bytes = (size_t)(thrift.at - head);
	write_bytes(file, head, head_bytes);
	write_bytes(file, file->packed.bytes, file->packed.count);
	place->dictionary_bytes = head_bytes + file->packed.count;
	place->plain_bytes = head_bytes + file->plain.count;
	return NULL;
}

uint64_t parquet_held_bytes(const struct parquet_file *file)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < file->columns_count; i++)
		bytes += file->columns[i].pages.count + file->columns[i].dictionary.bytes_count;
	return bytes;
}

epp_status *parquet_group_end(struct parquet_file *file)
{
	uint64_t rows = file->columns[0].rows_count;
	struct parquet_place *places;
	epp_status *status = NULL;

	if (!rows)
		return NULL;
	places = calloc(file->columns_count, sizeof *places);
	if (!places)
		return epp_status_no_memory();
	for (size_t i = 0; i < file->columns_count && !status; i++) {
		const struct parquet_column *column = &file->columns[i];
		places[i].offset = file->offset;
		if (has_dictionary(column))
			status = write_dictionary(file, column, &places[i]);
		write_bytes(file, column->pages.bytes, column->pages.count);
		places[i].bytes = file->offset - places[i].offset;
		places[i].plain_bytes += column->plain_bytes;
	}
	if (!status)
		status = parquet_describe_group(file, places, rows);
	free(places);
	file->rows_count += rows;
	begin_group(file);
	return status;
}

epp_status *parquet_file_end(struct parquet_file *file, const struct parquet_pair *pairs, size_t pairs_count)
{
	EPP_TRY(parquet_group_end(file));
	EPP_TRY(parquet_write_footer(file, pairs, pairs_count));
	sink_bytes(file->sink, MAGIC, strlen(MAGIC));
	return NULL;
}

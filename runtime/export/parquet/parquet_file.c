/* Encodes a Parquet file.  Pages are data pages of version 1: definition levels and values are compressed together.
 * Structures and field numbers are those of parquet.thrift. */
#include "export/parquet/parquet_file.h"

#include <stdlib.h>

#include "base/status.h"
#include "containers/array.h"
#include "encoding/protobuf.h"
#include "encoding/utf8.h"
#include "epprof/epprof.h"
#include "export/parquet/thrift.h"

/* ---- Thrift ---- */

/* Writes Thrift's compact protocol.  Numbers are zigzag varints.  The head of a field has the distance from the
 * previous field in its upper four bits if it fits; otherwise the field number follows the head. */

/* A bool has no value after its head, because its type is the value.  No list has lists as elements here, so LIST is
 * never an element type. */
enum { TRUE = 1, FALSE = 2, LIST = 9 };

#define DISTANCE_MAX 15
#define SHORT_LIST_MAX 14

struct thrift thrift_begin(char *at)
{
	return (struct thrift){ .at = at };
}

static void put_head(struct thrift *thrift, int field, int type)
{
	int distance = field - thrift->last[thrift->depth];

	if (!field)
		return;
	thrift->last[thrift->depth] = field;
	if (distance > 0 && distance <= DISTANCE_MAX) {
		*thrift->at++ = (char)(distance << 4 | type);
	} else {
		*thrift->at++ = (char)type;
		thrift->at = protobuf_varint(thrift->at, protobuf_zigzag(field));
	}
}

void thrift_bool(struct thrift *thrift, int field, bool value)
{
	put_head(thrift, field, value ? TRUE : FALSE);
}

void thrift_i32(struct thrift *thrift, int field, int32_t value)
{
	put_head(thrift, field, THRIFT_I32);
	thrift->at = protobuf_varint(thrift->at, protobuf_zigzag(value));
}

void thrift_i64(struct thrift *thrift, int field, int64_t value)
{
	put_head(thrift, field, THRIFT_I64);
	thrift->at = protobuf_varint(thrift->at, protobuf_zigzag(value));
}

/* Writes bytes or text. */
static void thrift_bytes(struct thrift *thrift, int field, const void *bytes, size_t count)
{
	put_head(thrift, field, THRIFT_TEXT);
	thrift->at = mempcpy(protobuf_varint(thrift->at, count), bytes, count);
}

void thrift_text(struct thrift *thrift, int field, const char *text)
{
	thrift_bytes(thrift, field, text, strlen(text));
}

void thrift_list(struct thrift *thrift, int field, enum thrift_type type, size_t count)
{
	put_head(thrift, field, LIST);
	if (count <= SHORT_LIST_MAX) {
		*thrift->at++ = (char)(count << 4 | type);
	} else {
		*thrift->at++ = (char)(0xF0 | type);
		thrift->at = protobuf_varint(thrift->at, count);
	}
}

void thrift_struct(struct thrift *thrift, int field)
{
	put_head(thrift, field, THRIFT_STRUCT);
	thrift->last[++thrift->depth] = 0;
}

void thrift_end(struct thrift *thrift)
{
	*thrift->at++ = 0;
	if (thrift->depth)
		thrift->depth--;
}

/* ---- the file ---- */

uint64_t parquet_group_rows = 1u << 20;

#define MAGIC "PAR1"
#define CREATED_BY "epprof version " EPPROF_VERSION
#define ZSTD_LEVEL 1
/* A page ends early if its texts exceed PAGE_TEXT_BYTES.  A row group ends early if its pages and dictionaries exceed
 * GROUP_BYTES. */
#define PAGE_TEXT_BYTES (1u << 20)
#define GROUP_BYTES (64u << 20)
/* The smallest or largest value of a column is not written if it is a longer text than this. */
#define LIMIT_BYTES_MAX 64u
/* The maximum sizes of a page's header, a column's description and a column's schema, without their texts. */
#define HEADER_BYTES 128u
#define DESCRIPTION_BYTES 256u

enum { FORMAT_VERSION = 2 };
enum { DATA_PAGE = 0, DICTIONARY_PAGE = 2 };
enum { PLAIN = 0, RLE = 3, RLE_DICTIONARY = 8 };
enum { TYPE_INT64 = 2, TYPE_BYTE_ARRAY = 6 };
enum { CODEC_ZSTD = 6, CONVERTED_UTF8 = 0, LOGICAL_STRING = 1 };
enum { REQUIRED = 0, OPTIONAL = 1 };

static epp_status *reserve(struct sink_memory *memory, size_t bytes)
{
	return array_reserve(&memory->bytes, &memory->room, memory->count + bytes, 1) ? NULL : epp_status_no_memory();
}

static void write_bytes(struct parquet_file *file, const void *bytes, size_t count)
{
	sink_bytes(file->sink, bytes, count);
	file->offset += count;
}

static void begin_group(struct parquet_file *file)
{
	file->group_rows = file->group_bytes = 0;
	for (size_t i = 0; i < file->columns_count; i++) {
		struct parquet_column *column = &file->columns[i];
		string_table_clear(&column->dictionary);
		memset(column->recent, 0, sizeof column->recent);
		column->pages.count = 0;
		column->nulls_count = column->uncompressed_bytes = 0;
		column->least = INT64_MAX;
		column->largest = INT64_MIN;
	}
}

static epp_status *init_column(struct parquet_column *column, const struct parquet_field *field)
{
	column->field = field;
	if (field->optional) {
		column->levels = calloc(PARQUET_PAGE_ROWS, sizeof *column->levels);
		if (!column->levels)
			return epp_status_no_memory();
	}
	if (field->has_dictionary) {
		column->numbers = calloc(PARQUET_PAGE_ROWS, sizeof *column->numbers);
		return column->numbers ? NULL : epp_status_no_memory();
	}
	return field->is_text ? NULL : reserve(&column->plain, PARQUET_PAGE_ROWS * sizeof(int64_t));
}

epp_status *parquet_file_init(struct parquet_file *file, struct sink *sink, const struct parquet_field *fields,
                              size_t fields_count)
{
	*file = (struct parquet_file){ .sink = sink };
	file->columns = calloc(fields_count, sizeof *file->columns);
	file->zstd = ZSTD_createCCtx();
	if (!file->columns || !file->zstd)
		return epp_status_no_memory();
	file->columns_count = fields_count;
	for (size_t i = 0; i < fields_count; i++)
		EPP_TRY(init_column(&file->columns[i], &fields[i]));
	ZSTD_CCtx_setParameter(file->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
	begin_group(file);
	write_bytes(file, MAGIC, strlen(MAGIC));
	return NULL;
}

void parquet_file_deinit(struct parquet_file *file)
{
	for (size_t i = 0; i < file->columns_count; i++) {
		struct parquet_column *column = &file->columns[i];
		free(column->levels);
		free(column->numbers);
		free(column->plain.bytes);
		string_table_deinit(&column->dictionary);
		free(column->pages.bytes);
	}
	free(file->columns);
	free(file->groups.bytes);
	free(file->scratch.bytes);
	free(file->packed.bytes);
	free(file->repaired.bytes);
	ZSTD_freeCCtx(file->zstd);
	*file = (struct parquet_file){ 0 };
}

/* ---- values ---- */

/* Adds a PLAIN text: its length, then its bytes. */
static epp_status *add_plain_text(struct parquet_file *file, struct parquet_column *column, const char *text, size_t bytes)
{
	uint32_t length = (uint32_t)bytes;

	EPP_TRY(reserve(&column->plain, sizeof length + bytes));
	char *at = mempcpy(column->plain.bytes + column->plain.count, &length, sizeof length);
	if (bytes)
		memcpy(at, text, bytes);
	column->plain.count += sizeof length + bytes;
	file->page_text_bytes += sizeof length + bytes;
	column->values_count++;
	parquet_mark_present(file, column);
	return NULL;
}

static epp_status *add_to_dictionary(struct parquet_file *file, struct parquet_column *column, const void *bytes,
                                     size_t count, uint32_t *number)
{
	uint32_t before = column->dictionary.count;

	if (!string_table_add(&column->dictionary, bytes, count, number))
		return epp_status_no_memory();
	if (column->dictionary.count > before)
		file->group_bytes += count + sizeof(uint32_t);
	column->numbers[column->values_count++] = *number;
	parquet_mark_present(file, column);
	return NULL;
}

epp_status *parquet_add_number(struct parquet_file *file, size_t index, int64_t value)
{
	struct parquet_column *column = &file->columns[index];
	uint32_t number;

	parquet_widen_limits(column, value);
	EPP_TRY(add_to_dictionary(file, column, &value, sizeof value, &number));
	*parquet_recent_of(column, (uint64_t)value) = (struct parquet_recent){ (uint64_t)value, number + 1 };
	return NULL;
}

static epp_status *repair_text(struct parquet_file *file, const char **text, size_t *bytes)
{
	if (!*bytes || utf8_valid_bytes(*text, *bytes) == *bytes)
		return NULL;
	file->repaired.count = 0;
	EPP_TRY(reserve(&file->repaired, *bytes * 3));
	*bytes = (size_t)(utf8_repair(file->repaired.bytes, *text, *bytes) - file->repaired.bytes);
	*text = file->repaired.bytes;
	return NULL;
}

epp_status *parquet_text(struct parquet_file *file, size_t index, const char *text, size_t bytes)
{
	struct parquet_column *column = &file->columns[index];
	uint32_t number;

	EPP_TRY(repair_text(file, &text, &bytes));
	return column->field->has_dictionary ? add_to_dictionary(file, column, text, bytes, &number)
	                                     : add_plain_text(file, column, text, bytes);
}

epp_status *parquet_add_keyed_text(struct parquet_file *file, size_t index, uint64_t key, const char *text, size_t bytes)
{
	struct parquet_column *column = &file->columns[index];
	uint32_t number;

	EPP_TRY(repair_text(file, &text, &bytes));
	EPP_TRY(add_to_dictionary(file, column, text, bytes, &number));
	*parquet_recent_of(column, key) = (struct parquet_recent){ key, number + 1 };
	return NULL;
}

/* ---- pages ---- */

/* Returns how many bits the numbers below `limit` need, at least 1. */
static unsigned width_of(uint32_t limit)
{
	return limit > 2 ? 32 - (unsigned)__builtin_clz(limit - 1) : 1;
}

#define HYBRID_ROOM(count, width) (((size_t)(count) + 7) / 8 * (width) + 24)

/* Writes numbers of `width` bits in the RLE / bit-packing hybrid: a single run if all numbers are equal, else all
 * numbers bit-packed, lowest bits first, in groups of eight. */
static char *put_hybrid(char *at, const uint32_t *numbers, size_t count, unsigned width)
{
	size_t groups = (count + 7) / 8;
	uint64_t bits = 0;
	unsigned used = 0;

	if (!count)
		return at;
	if (memcmp(numbers, numbers + 1, (count - 1) * sizeof *numbers) == 0) {
		at = protobuf_varint(at, count << 1);
		/* copies the lowest bytes first, because the machine is little-endian */
		return mempcpy(at, numbers, (width + 7) / 8);
	}
	at = protobuf_varint(at, groups << 1 | 1);
	for (size_t i = 0; i < groups * 8; i++) {
		bits |= (uint64_t)(i < count ? numbers[i] : 0) << used;
		used += width;
		if (used >= 32) {
			at = mempcpy(at, &bits, 4);
			bits >>= 32;
			used -= 32;
		}
	}
	return mempcpy(at, &bits, used / 8);
}

/* Compresses the bytes of file->scratch into file->packed, whose content is replaced. */
static epp_status *compress(struct parquet_file *file)
{
	struct sink_memory *packed = &file->packed;

	packed->count = 0;
	EPP_TRY(reserve(packed, ZSTD_compressBound(file->scratch.count)));
	packed->count = ZSTD_compress2(file->zstd, packed->bytes, packed->room, file->scratch.bytes, file->scratch.count);
	if (ZSTD_isError(packed->count))
		return epp_status_create(EPP_OUT_OF_MEMORY, "zstd: %s", ZSTD_getErrorName(packed->count));
	return NULL;
}

/* Begins the header of the page whose content is in `scratch` and `packed`.  The caller writes the struct of the page
 * type next. */
static struct thrift begin_header(const struct parquet_file *file, char *at, int type, int type_field)
{
	struct thrift thrift = thrift_begin(at);

	thrift_i32(&thrift, 1, type);
	thrift_i32(&thrift, 2, (int32_t)file->scratch.count);
	thrift_i32(&thrift, 3, (int32_t)file->packed.count);
	thrift_struct(&thrift, type_field);
	return thrift;
}

/* Writes the levels and then the values of the page into `scratch`. */
static epp_status *lay_out_page(struct parquet_file *file, const struct parquet_column *column)
{
	const struct parquet_field *field = column->field;
	unsigned width = width_of(column->dictionary.count);
	size_t room = HYBRID_ROOM(file->page_rows, 1) + sizeof(uint32_t) + column->plain.count;

	file->scratch.count = 0;
	EPP_TRY(reserve(&file->scratch, room + 1 + HYBRID_ROOM(column->values_count, width)));
	char *at = file->scratch.bytes;
	if (column->levels) {
		char *levels = at + sizeof(uint32_t);
		at = put_hybrid(levels, column->levels, file->page_rows, 1);
		memcpy(file->scratch.bytes, &(uint32_t){ (uint32_t)(at - levels) }, sizeof(uint32_t));
	}
	if (field->has_dictionary) {
		*at++ = (char)width;
		at = put_hybrid(at, column->numbers, column->values_count, width);
	} else if (column->plain.count) {
		at = mempcpy(at, column->plain.bytes, column->plain.count);
	}
	file->scratch.count = (size_t)(at - file->scratch.bytes);
	return NULL;
}

static epp_status *end_column_page(struct parquet_file *file, struct parquet_column *column)
{
	struct sink_memory *pages = &column->pages;

	EPP_TRY(lay_out_page(file, column));
	EPP_TRY(compress(file));
	EPP_TRY(reserve(pages, HEADER_BYTES + file->packed.count));
	char *begin = pages->bytes + pages->count;
	struct thrift thrift = begin_header(file, begin, DATA_PAGE, 5);
	thrift_i32(&thrift, 1, (int32_t)file->page_rows);
	thrift_i32(&thrift, 2, column->field->has_dictionary ? RLE_DICTIONARY : PLAIN);
	thrift_i32(&thrift, 3, RLE); /* encoding of definition levels */
	thrift_i32(&thrift, 4, RLE); /* encoding of repetition levels, of which there are none */
	thrift_end(&thrift);
	thrift_end(&thrift);
	size_t bytes = (size_t)(thrift.at - begin) + file->packed.count;
	memcpy(thrift.at, file->packed.bytes, file->packed.count);
	column->uncompressed_bytes += (size_t)(thrift.at - begin) + file->scratch.count;
	pages->count += bytes;
	file->group_bytes += bytes;
	column->nulls_count += file->page_rows - column->values_count;
	column->values_count = 0;
	column->plain.count = 0;
	if (column->levels)
		memset(column->levels, 0, file->page_rows * sizeof *column->levels);
	return NULL;
}

static epp_status *end_page(struct parquet_file *file)
{
	if (!file->page_rows)
		return NULL;
	for (size_t i = 0; i < file->columns_count; i++)
		EPP_TRY(end_column_page(file, &file->columns[i]));
	file->group_rows += file->page_rows;
	file->page_rows = file->page_text_bytes = 0;
	return NULL;
}

/* ---- row groups ---- */

static epp_status *write_dictionary(struct parquet_file *file, struct parquet_column *column)
{
	const struct string_table *dictionary = &column->dictionary;
	char header[HEADER_BYTES];

	file->scratch.count = 0;
	EPP_TRY(reserve(&file->scratch, dictionary->bytes_count + dictionary->count * sizeof(uint32_t) + 1));
	char *at = file->scratch.bytes;
	for (uint32_t i = 0; i < dictionary->count; i++) {
		size_t count;
		const char *bytes = string_table_bytes(dictionary, i, &count);
		if (column->field->is_text)
			at = mempcpy(at, &(uint32_t){ (uint32_t)count }, sizeof(uint32_t));
		at = mempcpy(at, bytes, count);
	}
	file->scratch.count = (size_t)(at - file->scratch.bytes);
	EPP_TRY(compress(file));
	struct thrift thrift = begin_header(file, header, DICTIONARY_PAGE, 7);
	thrift_i32(&thrift, 1, (int32_t)dictionary->count);
	thrift_i32(&thrift, 2, PLAIN);
	thrift_end(&thrift);
	thrift_end(&thrift);
	write_bytes(file, header, (size_t)(thrift.at - header));
	write_bytes(file, file->packed.bytes, file->packed.count);
	column->uncompressed_bytes += (size_t)(thrift.at - header) + file->scratch.count;
	return NULL;
}

struct limit {
	const char *bytes; /* NULL: the value is unknown */
	size_t count;
};

static int compare_texts(const struct limit *a, const struct limit *b)
{
	int order = memcmp(a->bytes, b->bytes, a->count < b->count ? a->count : b->count);

	return order ? order : (a->count > b->count) - (a->count < b->count);
}

static void find_limits(const struct parquet_column *column, uint64_t rows, struct limit *least, struct limit *largest)
{
	*least = *largest = (struct limit){ NULL, 0 };
	if (column->nulls_count == rows)
		return;
	if (!column->field->is_text) {
		*least = (struct limit){ (const char *)&column->least, sizeof column->least };
		*largest = (struct limit){ (const char *)&column->largest, sizeof column->largest };
		return;
	}
	for (uint32_t i = 0; i < column->dictionary.count; i++) {
		struct limit text;
		text.bytes = string_table_bytes(&column->dictionary, i, &text.count);
		if (!i || compare_texts(&text, least) < 0)
			*least = text;
		if (!i || compare_texts(&text, largest) > 0)
			*largest = text;
	}
	if (least->count > LIMIT_BYTES_MAX || largest->count > LIMIT_BYTES_MAX)
		*least = *largest = (struct limit){ NULL, 0 };
}

static void put_statistics(struct thrift *thrift, const struct parquet_column *column, uint64_t rows)
{
	struct limit least, largest;

	find_limits(column, rows, &least, &largest);
	thrift_struct(thrift, 12);
	thrift_i64(thrift, 3, (int64_t)column->nulls_count);
	if (least.bytes) {
		thrift_bytes(thrift, 5, largest.bytes, largest.count);
		thrift_bytes(thrift, 6, least.bytes, least.count);
	}
	thrift_end(thrift);
}

static void put_encodings(struct thrift *thrift, const struct parquet_column *column)
{
	thrift_list(thrift, 2, THRIFT_I32, column->field->has_dictionary ? 3 : 2);
	thrift_i32(thrift, 0, RLE); /* encoding of the definition levels */
	thrift_i32(thrift, 0, PLAIN);
	if (column->field->has_dictionary)
		thrift_i32(thrift, 0, RLE_DICTIONARY);
}

/* Writes the pages of a column and its description. */
static epp_status *write_column(struct parquet_file *file, struct parquet_column *column, struct thrift *thrift)
{
	uint64_t begin = file->offset;

	if (column->field->has_dictionary)
		EPP_TRY(write_dictionary(file, column));
	uint64_t first_page = file->offset;
	write_bytes(file, column->pages.bytes, column->pages.count);
	thrift_struct(thrift, 0);
	thrift_i64(thrift, 2, 0);
	thrift_struct(thrift, 3);
	thrift_i32(thrift, 1, column->field->is_text ? TYPE_BYTE_ARRAY : TYPE_INT64);
	put_encodings(thrift, column);
	thrift_list(thrift, 3, THRIFT_TEXT, 1);
	thrift_text(thrift, 0, column->field->name);
	thrift_i32(thrift, 4, CODEC_ZSTD);
	thrift_i64(thrift, 5, (int64_t)file->group_rows);
	thrift_i64(thrift, 6, (int64_t)column->uncompressed_bytes);
	thrift_i64(thrift, 7, (int64_t)(file->offset - begin));
	thrift_i64(thrift, 9, (int64_t)first_page);
	if (first_page > begin)
		thrift_i64(thrift, 11, (int64_t)begin);
	put_statistics(thrift, column, file->group_rows);
	thrift_end(thrift);
	thrift_end(thrift);
	return NULL;
}

/* Writes the column by which the rows are sorted, if there is one. */
static void put_sorting(struct thrift *thrift, const struct parquet_file *file)
{
	for (size_t i = 0; i < file->columns_count; i++) {
		if (!file->columns[i].field->sorted)
			continue;
		thrift_list(thrift, 4, THRIFT_STRUCT, 1);
		thrift_struct(thrift, 0);
		thrift_i32(thrift, 1, (int32_t)i);
		thrift_bool(thrift, 2, false); /* not descending */
		thrift_bool(thrift, 3, false); /* not nulls first */
		thrift_end(thrift);
		return;
	}
}

/* The maximum size of the descriptions of all columns, with their names and their smallest and largest values. */
static size_t descriptions_bytes(const struct parquet_file *file)
{
	size_t bytes = DESCRIPTION_BYTES;

	for (size_t i = 0; i < file->columns_count; i++)
		bytes += DESCRIPTION_BYTES + 2 * LIMIT_BYTES_MAX + strlen(file->columns[i].field->name);
	return bytes;
}

static epp_status *end_group(struct parquet_file *file)
{
	uint64_t begin = file->offset, uncompressed_bytes = 0;

	EPP_TRY(end_page(file));
	if (!file->group_rows)
		return NULL;
	EPP_TRY(reserve(&file->groups, descriptions_bytes(file)));
	struct thrift thrift = thrift_begin(file->groups.bytes + file->groups.count);
	thrift_list(&thrift, 1, THRIFT_STRUCT, file->columns_count);
	for (size_t i = 0; i < file->columns_count; i++) {
		EPP_TRY(write_column(file, &file->columns[i], &thrift));
		uncompressed_bytes += file->columns[i].uncompressed_bytes;
	}
	thrift_i64(&thrift, 2, (int64_t)uncompressed_bytes);
	thrift_i64(&thrift, 3, (int64_t)file->group_rows);
	put_sorting(&thrift, file);
	thrift_i64(&thrift, 5, (int64_t)begin);
	thrift_i64(&thrift, 6, (int64_t)(file->offset - begin));
	thrift_end(&thrift);
	file->groups.count = (size_t)(thrift.at - file->groups.bytes);
	file->groups_count++;
	file->rows_count += file->group_rows;
	begin_group(file);
	return NULL;
}

epp_status *parquet_end_row(struct parquet_file *file)
{
	file->page_rows++;
	if (file->group_bytes > GROUP_BYTES)
		return end_group(file);
	if (file->page_rows < PARQUET_PAGE_ROWS && file->page_text_bytes < PAGE_TEXT_BYTES)
		return NULL;
	EPP_TRY(end_page(file));
	return file->group_rows >= parquet_group_rows ? end_group(file) : NULL;
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
		const struct parquet_field *field = file->columns[i].field;
		thrift_struct(thrift, 0);
		thrift_i32(thrift, 1, field->is_text ? TYPE_BYTE_ARRAY : TYPE_INT64);
		thrift_i32(thrift, 3, field->optional ? OPTIONAL : REQUIRED);
		thrift_text(thrift, 4, field->name);
		if (field->is_text) {
			thrift_i32(thrift, 6, CONVERTED_UTF8);
			thrift_struct(thrift, 10);
			thrift_struct(thrift, LOGICAL_STRING);
			thrift_end(thrift);
			thrift_end(thrift);
		}
		thrift_end(thrift);
	}
}

/* Writes the order of each column.  Without it, readers ignore a column's smallest and largest values. */
static void put_column_orders(struct thrift *thrift, const struct parquet_file *file)
{
	thrift_list(thrift, 7, THRIFT_STRUCT, file->columns_count);
	for (size_t i = 0; i < file->columns_count; i++) {
		thrift_struct(thrift, 0);
		thrift_struct(thrift, 1); /* the order that the column's type defines */
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

/* Builds the footer in `scratch` except for the row groups, which are inserted when the footer is written. */
epp_status *parquet_file_end(struct parquet_file *file, const struct parquet_pair *pairs, size_t pairs_count)
{
	struct sink_memory *room = &file->scratch;

	EPP_TRY(end_group(file));
	size_t bytes = descriptions_bytes(file);
	for (size_t i = 0; i < pairs_count; i++)
		bytes += strlen(pairs[i].key) + strlen(pairs[i].value) + 4 * THRIFT_FIELD_BYTES;
	room->count = 0;
	EPP_TRY(reserve(room, bytes));
	struct thrift thrift = thrift_begin(room->bytes);
	thrift_i32(&thrift, 1, FORMAT_VERSION);
	put_schema(&thrift, file);
	thrift_i64(&thrift, 3, (int64_t)file->rows_count);
	thrift_list(&thrift, 4, THRIFT_STRUCT, file->groups_count);
	const char *groups_at = thrift.at;
	put_pairs(&thrift, pairs, pairs_count);
	thrift_text(&thrift, 6, CREATED_BY);
	put_column_orders(&thrift, file);
	thrift_end(&thrift);

	size_t before = (size_t)(groups_at - room->bytes), behind = (size_t)(thrift.at - groups_at);
	uint32_t footer_bytes = (uint32_t)(before + file->groups.count + behind);
	write_bytes(file, room->bytes, before);
	write_bytes(file, file->groups.bytes, file->groups.count);
	write_bytes(file, groups_at, behind);
	write_bytes(file, &footer_bytes, sizeof footer_bytes);
	write_bytes(file, MAGIC, strlen(MAGIC));
	return NULL;
}

/* The decoder of trace/columns/columns.h.
 *
 * Every count is checked before memory is reserved for it, and every plane must have exactly as many bytes as its
 * column has numbers.  Stored planes are read in place; planes with one value become part of a constant.  Records
 * are assembled one tile at a time, so that the numbers of a tile stay in the L1 cache; loops over whole tiles have
 * a fixed length, which lets compilers vectorise them. */
#include "trace/columns/columns.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "codec/varint.h"
#include "containers/array.h"
#include "epprof/session.h"

#define TILE 512u
/* The maximum size of an arg without its text: key, type, number. */
#define ARG_BYTES_MAX (VARINT_BYTES_MAX + 6u)
/* ARGS_BEGIN is not 0, because offset 0 means that there are no args.  ARGS_SLACK is needed because varints are written
 * four bytes at a time. */
#define ARGS_BEGIN 8u
#define ARGS_SLACK 8u

/* ---- planes of bits, in files of earlier versions ---- */

#define BITS_GROUP 8u /* the number of values that are packed together as one word */

static size_t bits_bytes(size_t count, unsigned width)
{
	return (count + BITS_GROUP - 1) / BITS_GROUP * width;
}

static uint64_t spread_bits(uint64_t word, unsigned width)
{
	const uint64_t ones = (1u << width) - 1, twos = (1u << 2 * width) - 1, fours = (1u << 4 * width) - 1;

	word = (word & fours) | (word >> 4 * width & fours) << 32;
	word = (word & (twos | twos << 32)) | (word >> 2 * width & (twos | twos << 32)) << 16;
	return (word & (ones * 0x0001000100010001)) | (word >> width & (ones * 0x0001000100010001)) << 8;
}

/* Unpacks `count` values of `width` bits.  Reads exactly bits_bytes(count, width) bytes.  Writes whole groups of
 * BITS_GROUP bytes, so `bytes` must have room for the last group. */
static void unpack_bits(uint8_t *restrict bytes, const uint8_t *restrict at, size_t count, unsigned width)
{
	size_t i = 0;
	uint64_t word;

	for (; i + 2 * BITS_GROUP <= count && (count - i) / BITS_GROUP * width >= sizeof(word);
	     i += BITS_GROUP, at += width) {
		memcpy(&word, at, sizeof(word));
		word = spread_bits(word, width);
		memcpy(bytes + i, &word, sizeof(word));
	}
	for (; i < count; i += BITS_GROUP, at += width) {
		word = 0;
		memcpy(&word, at, width);
		word = spread_bits(word, width);
		memcpy(bytes + i, &word, sizeof(word));
	}
}

static const uint8_t planes_most[EPF_COLUMN_COUNT] = {
	[EPF_COLUMN_OPEN] = 8, [EPF_COLUMN_END] = 8, [EPF_COLUMN_DURATION] = 8, [EPF_COLUMN_ID] = 8,
	[EPF_COLUMN_TAIL] = 8, [EPF_COLUMN_KEY] = 4, [EPF_COLUMN_TYPE] = 1,     [EPF_COLUMN_VALUE] = 8,
};

/* The planes of a column: a plane has the same byte of each number, for example the lowest.  Planes whose bytes are all
 * equal are combined in `constant`, and are not counted in `count`. */
struct planes {
	uint64_t constant;
	unsigned count;
	const uint8_t *bytes[8];
	unsigned shifts[8];
};

struct decoding {
	struct columns_decoder *decoder;
	struct epf_columns head;
	const uint8_t *at, *end; /* the rest of the payload */
	uint8_t *room;           /* memory for the next plane */
	struct planes columns[EPF_COLUMN_COUNT];
	const uint8_t *texts;
};

void columns_decoder_deinit(struct columns_decoder *decoder)
{
	ZSTD_freeDCtx(decoder->zstd);
	free(decoder->planes);
	free(decoder->args);
	*decoder = (struct columns_decoder){ 0 };
}

/* ---- counts ---- */

static bool read_head(const struct epf_block *block, const uint8_t *payload, struct epf_columns *head)
{
	if (block->payload_bytes < sizeof(*head) || block->record_count > CODEC_RECORDS_MAX ||
	    block->open_count > EPF_OPEN_MAX)
		return false;
	memcpy(head, payload, sizeof(*head));
	for (unsigned c = 0; c < EPF_COLUMN_COUNT; c++)
		if (head->planes_count[c] > planes_most[c])
			return false;
	return head->args_count <= EPF_COLUMNS_ARGS_MAX && head->text_bytes <= EPF_COLUMNS_TEXT_MAX &&
	       head->args_count <= (uint64_t)block->record_count * EPF_ARG_SLOTS_MAX &&
	       (head->args_count || !head->text_bytes);
}

static size_t numbers_count(const struct epf_block *block, const struct epf_columns *head, unsigned column)
{
	return column == EPF_COLUMN_OPEN ? block->open_count
	       : column < EPF_COLUMN_KEY ? block->record_count
	                                 : head->args_count;
}

uint32_t columns_args_bytes(const struct epf_block *block, const uint8_t *payload)
{
	struct epf_columns head;

	if (!read_head(block, payload, &head))
		return UINT32_MAX;
	return head.args_count ? ARGS_BEGIN + head.args_count * ARG_BYTES_MAX + head.text_bytes + ARGS_SLACK : 0;
}

static bool make_room(struct decoding *decoding, const struct epf_block *block)
{
	const struct epf_columns *head = &decoding->head;
	struct columns_decoder *decoder = decoding->decoder;
	size_t bytes = head->text_bytes;

	for (unsigned c = 0; c < EPF_COLUMN_COUNT; c++)
		bytes += numbers_count(block, head, c) * head->planes_count[c];
	if (!decoder->zstd)
		decoder->zstd = ZSTD_createDCtx();
	bool memory = decoder->zstd && array_reserve(&decoder->planes, &decoder->planes_room, bytes + BITS_GROUP, 1) &&
	              array_reserve(&decoder->args, &decoder->args_room, 3 * sizeof(uint64_t) * head->args_count + 1, 1);
	decoding->room = decoder->planes;
	return memory;
}

/* ---- planes ---- */

/* Returns the next plane of `count` bytes, or NULL if it is invalid.  If all its bytes are equal, `*same` is true, and
 * the returned plane has only one byte. */
static const uint8_t *read_plane(struct decoding *decoding, size_t count, bool *same)
{
	uint32_t head;

	if ((size_t)(decoding->end - decoding->at) < sizeof(head))
		return NULL;
	memcpy(&head, decoding->at, sizeof(head));
	const uint8_t *bytes = decoding->at + sizeof(head);
	size_t bytes_count = head >> 2;
	if (bytes_count > (size_t)(decoding->end - bytes))
		return NULL;
	decoding->at = bytes + bytes_count;
	*same = (head & 3) == EPF_PLANE_SAME;
	switch (head & 3) {
	case EPF_PLANE_STORED:
		return bytes_count == count ? bytes : NULL;
	case EPF_PLANE_SAME:
		return bytes_count == 1 ? bytes : NULL;
	case EPF_PLANE_ZSTD:
		if (ZSTD_decompressDCtx(decoding->decoder->zstd, decoding->room, count, bytes, bytes_count) != count)
			return NULL;
		break;
	default:
		if (!bytes_count || *bytes < 1 || *bytes > 7 || bytes_count != 1 + bits_bytes(count, *bytes))
			return NULL;
		unpack_bits(decoding->room, bytes + 1, count, *bytes);
		break;
	}
	bytes = decoding->room;
	decoding->room += count;
	return bytes;
}

static bool read_columns(struct decoding *decoding, const struct epf_block *block)
{
	bool same;

	for (unsigned c = 0; c < EPF_COLUMN_COUNT; c++) {
		struct planes *planes = &decoding->columns[c];
		size_t count = numbers_count(block, &decoding->head, c);
		*planes = (struct planes){ 0 };
		for (unsigned p = 0; p < decoding->head.planes_count[c]; p++) {
			const uint8_t *bytes = read_plane(decoding, count, &same);
			if (!bytes)
				return false;
			if (same) {
				planes->constant |= (uint64_t)*bytes << 8 * p;
				continue;
			}
			planes->bytes[planes->count] = bytes;
			planes->shifts[planes->count++] = 8 * p;
		}
	}
	if (decoding->head.text_bytes) {
		decoding->texts = read_plane(decoding, decoding->head.text_bytes, &same);
		if (!decoding->texts || (same && decoding->head.text_bytes > 1))
			return false;
	}
	return decoding->at == decoding->end;
}

/* ---- numbers ---- */

#define MERGE(out, value, n) \
	do { \
		for (size_t i = 0; i < (n); i++) \
			(out)[i] = (value); \
	} while (0)

/* Puts together `count` numbers of a column from its planes, beginning with the number at index `from`. */
static inline __attribute__((always_inline)) void merge(const struct planes *planes, size_t from,
                                                        uint64_t *restrict out, size_t count)
{
	const uint64_t constant = planes->constant;
	unsigned done = planes->count < 2 ? planes->count : 2;

	if (done == 0) {
		MERGE(out, constant, count);
	} else if (done == 1) {
		const uint8_t *restrict low = planes->bytes[0] + from;
		const unsigned shift = planes->shifts[0];
		MERGE(out, constant | (uint64_t)low[i] << shift, count);
	} else {
		const uint8_t *restrict low = planes->bytes[0] + from, *restrict high = planes->bytes[1] + from;
		const unsigned low_shift = planes->shifts[0], high_shift = planes->shifts[1];
		MERGE(out, constant | (uint64_t)low[i] << low_shift | (uint64_t)high[i] << high_shift, count);
	}
	for (; done < planes->count; done++) {
		const uint8_t *restrict bytes = planes->bytes[done] + from;
		const unsigned shift = planes->shifts[done];
		MERGE(out, out[i] | (uint64_t)bytes[i] << shift, count);
	}
}

__attribute__((noinline)) static void merge_tile(const struct planes *planes, size_t from, uint64_t *out)
{
	merge(planes, from, out, TILE);
}

__attribute__((noinline)) static void merge_partial_tile(const struct planes *planes, size_t from, uint64_t *out,
                                                         size_t count)
{
	merge(planes, from, out, count);
}

/* ---- args ---- */

struct args {
	const uint64_t *keys, *types, *differences;
	uint32_t left;
	const uint8_t *texts;
	uint32_t texts_left;
	uint8_t *begin, *at;
	uint64_t previous[COLUMNS_KEYS];
};

static void begin_args(struct decoding *decoding, uint8_t *begin, struct args *args)
{
	uint32_t count = decoding->head.args_count;
	uint64_t *numbers = decoding->decoder->args;

	for (unsigned c = 0; c < 3; c++)
		merge_partial_tile(&decoding->columns[EPF_COLUMN_KEY + c], 0, numbers + (size_t)c * count, count);
	args->keys = numbers;
	args->types = numbers + count;
	args->differences = numbers + 2 * (size_t)count;
	args->left = count;
	args->texts = decoding->texts;
	args->texts_left = decoding->head.text_bytes;
	args->begin = begin;
	args->at = begin + ARGS_BEGIN;
	for (unsigned key = 0; key < COLUMNS_KEYS; key++)
		args->previous[key] = decoding->head.value_base;
}

/* Writes the args of one record in the encoding that codec_arg reads. */
__attribute__((noinline)) static bool put_args(struct args *args, struct codec_record *record)
{
	uint8_t *at = args->at;

	if (record->args_count > args->left || record->args_count > EPF_ARG_SLOTS_MAX)
		return false;
	args->left -= record->args_count;
	record->args_offset = (uint32_t)(at - args->begin);
	for (uint32_t i = 0; i < record->args_count; i++) {
		uint32_t key = (uint32_t)*args->keys++;
		uint64_t *previous = &args->previous[key % COLUMNS_KEYS];
		uint64_t value = *previous += unzigzag(*args->differences++);
		unsigned type = (unsigned)*args->types++;

		if (type > EPP_ARG_TEXT)
			return false;
		at = put(at, key);
		*at++ = (uint8_t)type;
		if (type == EPP_ARG_F64) {
			memcpy(at, &value, 8);
			at += 8;
		} else if (type != EPP_ARG_TEXT) {
			at = put(at, type == EPP_ARG_I64 ? zigzag(value) : value);
		} else {
			if (value > args->texts_left)
				return false;
			at = put(at, value);
			/* If no arg has text, `texts` is NULL, and arithmetic on it would be undefined. */
			if (value) {
				at = mempcpy(at, args->texts, value);
				args->texts += value;
			}
			args->texts_left -= (uint32_t)value;
		}
	}
	args->at = at;
	return true;
}

/* ---- records ---- */

static bool put_records(struct decoding *decoding, const struct epf_block *block, struct codec_record *records,
                        uint8_t *args_begin, uint32_t *decoded)
{
	uint64_t tile[EPF_COLUMN_TAIL - EPF_COLUMN_END + 1][TILE];
	const struct epf_columns *head = &decoding->head;
	uint64_t end = head->end_base, id = head->id_base;
	struct args args;

	args.left = args.texts_left = 0;
	if (head->args_count)
		begin_args(decoding, args_begin, &args);
	for (uint32_t from = 0; from < block->record_count; from += TILE) {
		uint32_t count = block->record_count - from < TILE ? block->record_count - from : TILE;
		for (unsigned c = 0; c < sizeof(tile) / sizeof(*tile); c++) {
			if (count == TILE)
				merge_tile(&decoding->columns[EPF_COLUMN_END + c], from, tile[c]);
			else
				merge_partial_tile(&decoding->columns[EPF_COLUMN_END + c], from, tile[c], count);
		}
		for (uint32_t i = 0; i < count; i++) {
			struct codec_record *record = &records[from + i];
			uint64_t duration = tile[EPF_COLUMN_DURATION - EPF_COLUMN_END][i];
			uint64_t tail = tile[EPF_COLUMN_TAIL - EPF_COLUMN_END][i];
			end += unzigzag(tile[0][i]);
			id += unzigzag(tile[EPF_COLUMN_ID - EPF_COLUMN_END][i]) + 1;
			*record = (struct codec_record){
				.start_ticks = end - duration,
				.duration_ticks = duration,
				.id = id,
				.name = EPF_TAIL_NAME(tail),
				.bits = EPF_TAIL_BITS(tail),
				.args_count = EPF_TAIL_ARGS(tail),
			};
			if (!record->name || (record->args_count && !put_args(&args, record)))
				return false;
			*decoded = from + i + 1;
		}
	}
	return !args.left && !args.texts_left;
}

enum columns_result columns_decode(struct columns_decoder *decoder, const struct epf_block *block, const uint8_t *payload,
                                   uint64_t *open_ids, struct codec_record *records, uint8_t *args, uint32_t *decoded)
{
	struct decoding decoding = { .decoder = decoder };
	uint64_t open[EPF_OPEN_MAX];

	*decoded = 0;
	if (!read_head(block, payload, &decoding.head))
		return COLUMNS_DAMAGED;
	if (!make_room(&decoding, block))
		return COLUMNS_NO_MEMORY;
	decoding.at = payload + sizeof(decoding.head);
	decoding.end = payload + block->payload_bytes;
	if (!read_columns(&decoding, block))
		return COLUMNS_DAMAGED;
	merge_partial_tile(&decoding.columns[EPF_COLUMN_OPEN], 0, open, block->open_count);
	uint64_t id = decoding.head.open_base;
	for (uint32_t i = 0; i < block->open_count; i++)
		open_ids[i] = id += unzigzag(open[i]);
	return put_records(&decoding, block, records, args, decoded) ? COLUMNS_OK : COLUMNS_DAMAGED;
}

/* The second half of encoding columns (trace/columns/columns.h): writes the collected numbers plane by plane.
 *
 * The bits that any number of a column has, and those that all have, determine how many planes it needs, which
 * planes have a constant value, and how many bits of a byte are used.  A plane for which compression saves less than
 * 1/32 is stored as its used bits, which costs almost nothing to read.  zstd only looks for repetitions of 7 bytes
 * and more: shorter ones are coincidences in such bytes and cost more than they save.  Times are close to random and
 * never repeat: only planes of times in which a few values dominate, according to a sample, are compressed. */
#include "trace/columns/columns.h"

#include <stdlib.h>
#include <zstd.h>

#include "trace/columns/plane_bits.h"

#define LEVEL (-1)
#define REPETITION_LEAST 7
#define REPETITION_LEAST_OF_TEXT 4
/* Size of the sample that shows if a few values dominate a plane. */
#define SAMPLE 1024u

bool columns_encoder_init(struct columns_encoder *encoder)
{
	*encoder = (struct columns_encoder){ .zstd = ZSTD_createCCtx(),
		                             .previous_values = reallocarray(NULL, COLUMNS_KEYS, sizeof(uint64_t)) };
	if (encoder->zstd && encoder->previous_values &&
	    !ZSTD_isError(ZSTD_CCtx_setParameter(encoder->zstd, ZSTD_c_compressionLevel, LEVEL)))
		return true;
	columns_encoder_deinit(encoder);
	return false;
}

void columns_encoder_deinit(struct columns_encoder *encoder)
{
	for (unsigned c = 0; c < EPF_COLUMN_COUNT; c++)
		free(encoder->columns[c].values);
	ZSTD_freeCCtx(encoder->zstd);
	free(encoder->previous_values);
	free(encoder->texts);
	free(encoder->plane);
	free(encoder->parents);
	free(encoder->rows_args);
	*encoder = (struct columns_encoder){ 0 };
}

struct output {
	uint8_t *at, *end;
};

static bool put_head(struct output *output, enum epf_plane_form form, size_t bytes)
{
	uint32_t head = (uint32_t)form | (uint32_t)bytes << 2;

	if ((size_t)(output->end - output->at) < sizeof(head) + bytes)
		return false;
	memcpy(output->at, &head, sizeof(head));
	output->at += sizeof(head) + bytes;
	return true;
}

/* Writes bytes of which only the lowest `bits` bits are used. */
static bool put_bits(struct output *output, const uint8_t *bytes, size_t count, unsigned bits)
{
	uint8_t *at = output->at + sizeof(uint32_t);
	size_t packed = 1 + plane_bits_bytes(count, bits);

	if ((size_t)(output->end - output->at) < sizeof(uint32_t) + packed + PLANE_BITS_GROUP)
		return false;
	*at = (uint8_t)bits;
	plane_bits_put(at + 1, bytes, count, bits);
	return put_head(output, EPF_PLANE_BITS, packed);
}

static bool put_stored(struct output *output, const uint8_t *bytes, size_t count)
{
	uint8_t *at = output->at + sizeof(uint32_t);

	if (!put_head(output, EPF_PLANE_STORED, count))
		return false;
	memcpy(at, bytes, count);
	return true;
}

/* Writes bytes that are not all equal; `bytes` is readable up to a whole group. */
static bool put_bytes(struct columns_encoder *encoder, struct output *output, const uint8_t *bytes, size_t count,
                      unsigned bits, bool compress)
{
	size_t plain = bits < 8 ? 1 + plane_bits_bytes(count, bits) : count;

	if ((size_t)(output->end - output->at) <= sizeof(uint32_t))
		return false;
	if (compress) {
		uint8_t *at = output->at + sizeof(uint32_t);
		size_t packed = ZSTD_compress2(encoder->zstd, at, (size_t)(output->end - at), bytes, count);
		if (!ZSTD_isError(packed) && packed < plain - plain / 32)
			return put_head(output, EPF_PLANE_ZSTD, packed);
	}
	return plain < count ? put_bits(output, bytes, count, bits) : put_stored(output, bytes, count);
}

/* Estimates from the collisions in a sample if an entropy coder would save about two of the bits. */
static bool is_skewed(const uint8_t *bytes, size_t count, unsigned bits)
{
	/* An odd step, so that a sample of alternating values contains all of them. */
	size_t step = count / SAMPLE | 1, taken = 0;
	uint16_t met[256] = { 0 };
	uint64_t squares = 0;

	for (size_t i = 0; i < count && taken < SAMPLE; i += step, taken++)
		met[bytes[i]]++;
	for (unsigned value = 0; value < 256; value++)
		squares += (uint32_t)met[value] * met[value];
	return squares << bits >= (uint64_t)taken * taken * 4;
}

static void take_plane(uint8_t *restrict plane, const uint64_t *restrict values, size_t count, unsigned shift)
{
	for (size_t from = 0; from < count; from += COLUMNS_STRIDE)
		for (unsigned i = 0; i < COLUMNS_STRIDE; i++)
			plane[from + i] = (uint8_t)(values[from + i] >> shift);
}

typedef uint64_t two_numbers __attribute__((vector_size(16)));

/* Computes the bits that any number has, and those that all numbers have. */
static void find_bits(const struct columns_column *column, uint64_t *any, uint64_t *all)
{
	two_numbers some = { 0 }, every = ~some, numbers;
	size_t i = 0;

	for (; i + 2 <= column->count; i += 2) {
		memcpy(&numbers, column->values + i, sizeof(numbers));
		some |= numbers;
		every &= numbers;
	}
	*any = some[0] | some[1];
	*all = every[0] & every[1];
	if (i < column->count) {
		*any |= column->values[i];
		*all &= column->values[i];
	}
}

static bool put_column(struct columns_encoder *encoder, struct output *output, unsigned number)
{
	struct columns_column *column = &encoder->columns[number];
	bool is_time = number == EPF_COLUMN_END || number == EPF_COLUMN_DURATION;
	uint64_t any, all;

	find_bits(column, &any, &all);
	unsigned bits = any ? 64 - (unsigned)__builtin_clzll(any) : 0;
	encoder->head.planes_count[number] = (uint8_t)((bits + 7) / 8);
	/* Clear the rest of the last stride, which take_plane reads; the array's size is a multiple of it. */
	for (size_t i = column->count; i % COLUMNS_STRIDE; i++)
		column->values[i] = 0;
	for (unsigned shift = 0; shift < bits; shift += 8) {
		uint8_t *at = output->at + sizeof(uint32_t);
		if (!((any ^ all) >> shift & 255)) {
			if (!put_head(output, EPF_PLANE_SAME, 1))
				return false;
			*at = (uint8_t)(all >> shift);
			continue;
		}
		unsigned used = bits - shift < 8 ? bits - shift : 8;
		take_plane(encoder->plane, column->values, column->count, shift);
		bool compress = !is_time || is_skewed(encoder->plane, column->count, used);
		if (!put_bytes(encoder, output, encoder->plane, column->count, used, compress))
			return false;
	}
	return true;
}

static bool set_repetition(struct columns_encoder *encoder, int least)
{
	return !ZSTD_isError(ZSTD_CCtx_setParameter(encoder->zstd, ZSTD_c_minMatch, least));
}

bool columns_finish(struct columns_encoder *encoder, struct epf_block *block, uint8_t *payload, size_t room)
{
	struct epf_columns *head = &encoder->head;
	struct output output = { payload + sizeof(*head), payload + room };
	size_t most = 0;

	for (unsigned c = 0; c < EPF_COLUMN_COUNT; c++)
		most = encoder->columns[c].count > most ? encoder->columns[c].count : most;
	if (room <= sizeof(*head) || head->args_count > EPF_COLUMNS_ARGS_MAX || head->text_bytes > EPF_COLUMNS_TEXT_MAX ||
	    !columns_reserve(&encoder->plane, &encoder->plane_room, most, 1) || !set_repetition(encoder, REPETITION_LEAST))
		return false;
	for (unsigned c = 0; c < EPF_COLUMN_COUNT; c++)
		if (!put_column(encoder, &output, c))
			return false;
	if (head->text_bytes && (!set_repetition(encoder, REPETITION_LEAST_OF_TEXT) ||
	                         !put_bytes(encoder, &output, encoder->texts, head->text_bytes, 8, true)))
		return false;
	memcpy(payload, head, sizeof(*head));
	block->type = EPF_BLOCK_COLUMNS;
	block->payload_bytes = (uint32_t)(output.at - payload);
	block->record_count = (uint32_t)encoder->columns[EPF_COLUMN_END].count;
	block->open_count = (uint32_t)encoder->columns[EPF_COLUMN_OPEN].count;
	block_times_tell(&encoder->times, block);
	return true;
}

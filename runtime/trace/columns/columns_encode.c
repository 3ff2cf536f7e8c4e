/* The encoder of trace/columns/columns.h: collects numbers column by column, then compresses them plane by plane.
 *
 * Two masks determine the planes of a column.  The bits that are set in any of its numbers give the number of planes.
 * A plane in which these bits equal those that are set in all numbers has the same byte in all numbers.  Every other
 * plane is compressed by zstd, or stored as it is if compression saves nothing. */
#include "trace/columns/columns.h"

#include <stdlib.h>
#include <zstd.h>

#include "codec/varint.h"
#include "epprof/session.h"

/* LEVEL is zstd's fastest level that also compresses bytes without repetitions.  REPETITION_LEAST is the shortest
 * repetition that zstd looks for: in a plane, shorter ones are coincidences, which cost time and save few bytes. */
#define LEVEL 1
#define REPETITION_LEAST 7

/* Arrays have room for a multiple of this, because compilers vectorise loops whose length is known. */
#define STRIDE 64u

static size_t whole_strides(size_t count)
{
	return (count + STRIDE - 1) / STRIDE * STRIDE;
}

/* ---- collecting ---- */

bool columns_encoder_init(struct columns_encoder *encoder)
{
	*encoder = (struct columns_encoder){ .zstd = ZSTD_createCCtx(),
		                             .previous_values = reallocarray(NULL, COLUMNS_KEYS, sizeof(uint64_t)) };
	if (encoder->zstd && encoder->previous_values &&
	    !ZSTD_isError(ZSTD_CCtx_setParameter(encoder->zstd, ZSTD_c_compressionLevel, LEVEL)) &&
	    !ZSTD_isError(ZSTD_CCtx_setParameter(encoder->zstd, ZSTD_c_minMatch, REPETITION_LEAST)))
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
	*encoder = (struct columns_encoder){ 0 };
}

static bool reserve(struct columns_encoder *encoder, enum epf_column first, enum epf_column last, size_t count)
{
	for (unsigned c = first; c <= last; c++) {
		struct columns_column *column = &encoder->columns[c];
		if (!array_reserve(&column->values, &column->room, whole_strides(column->count + count),
		                   sizeof(*column->values)))
			return false;
	}
	return true;
}

static inline void add(struct columns_encoder *encoder, enum epf_column number, uint64_t value)
{
	struct columns_column *column = &encoder->columns[number];

	column->values[column->count++] = value;
}

bool columns_begin(struct columns_encoder *encoder, const uint64_t *open_ids, uint32_t open_count)
{
	encoder->head = (struct epf_columns){ 0 };
	for (unsigned c = 0; c < EPF_COLUMN_COUNT; c++)
		encoder->columns[c].count = 0;
	if (open_count)
		memcpy(encoder->open_ids, open_ids, open_count * sizeof(*open_ids));
	block_times_begin(&encoder->times, encoder->open_ids, open_count);
	if (!reserve(encoder, EPF_COLUMN_OPEN, EPF_COLUMN_OPEN, open_count))
		return false;
	encoder->head.open_base = open_count ? open_ids[0] : 0;
	for (uint32_t i = 0; i < open_count; i++)
		add(encoder, EPF_COLUMN_OPEN, zigzag(open_ids[i] - open_ids[i ? i - 1 : 0]));
	return true;
}

static inline void add_arg(struct columns_encoder *encoder, uint32_t key, uint32_t type, uint64_t value)
{
	uint64_t *previous = &encoder->previous_values[key % COLUMNS_KEYS];

	if (!encoder->head.args_count++) {
		encoder->head.value_base = value;
		for (unsigned other = 0; other < COLUMNS_KEYS; other++)
			encoder->previous_values[other] = value;
	}
	add(encoder, EPF_COLUMN_KEY, key);
	add(encoder, EPF_COLUMN_TYPE, type);
	add(encoder, EPF_COLUMN_VALUE, zigzag(value - *previous));
	*previous = value;
}

/* The columns of args always have the same room, so only one is checked. */
__attribute__((noinline)) static bool append_args(struct columns_encoder *encoder, const struct codec_record *record,
                                                  const uint8_t *args, uint32_t args_bytes, uint64_t *parent)
{
	struct epf_columns *head = &encoder->head;
	const struct columns_column *last = &encoder->columns[EPF_COLUMN_VALUE];
	uint32_t at, first = 0;
	struct codec_arg arg;

	if (last->room - last->count < record->args_count &&
	    !reserve(encoder, EPF_COLUMN_KEY, EPF_COLUMN_VALUE, record->args_count))
		return false;
	*parent = codec_parent(args, args_bytes, record, &at);
	if (at != record->args_offset) {
		add_arg(encoder, EPF_NAME_PARENT, EPP_ARG_U64, *parent);
		first = 1;
	}
	for (uint32_t i = first; i < record->args_count; i++) {
		at = codec_arg(args, args_bytes, at, &arg);
		add_arg(encoder, arg.key, arg.type, arg.type == EPP_ARG_TEXT ? arg.text_bytes : arg.value);
		if (arg.type != EPP_ARG_TEXT || !arg.text_bytes)
			continue;
		if (!array_reserve(&encoder->texts, &encoder->texts_room, (size_t)head->text_bytes + arg.text_bytes, 1))
			return false;
		memcpy(encoder->texts + head->text_bytes, arg.text, arg.text_bytes);
		head->text_bytes += arg.text_bytes;
	}
	return true;
}

/* Sets the values to which the first differences of a block refer. */
static void begin_differences(struct columns_encoder *encoder, uint64_t end, uint64_t id)
{
	if (encoder->columns[EPF_COLUMN_END].count)
		return;
	encoder->head.end_base = encoder->previous_end = end;
	encoder->head.id_base = encoder->previous_id = id - 1;
}

bool columns_append(struct columns_encoder *encoder, const struct codec_record *records, uint32_t count,
                    const uint8_t *args, uint32_t args_bytes)
{
	/* Columns that have no memory yet have no valid address, so arithmetic on it would be undefined. */
	if (!count)
		return true;
	if (!reserve(encoder, EPF_COLUMN_END, EPF_COLUMN_TAIL, count) ||
	    !array_reserve(&encoder->parents, &encoder->parents_room, count, sizeof(*encoder->parents)))
		return false;
	begin_differences(encoder, records->start_ticks + records->duration_ticks, records->id);

	/* Local copies, so that the values that change with each record stay in registers. */
	size_t at = encoder->columns[EPF_COLUMN_END].count;
	uint64_t *ends = encoder->columns[EPF_COLUMN_END].values + at;
	uint64_t *durations = encoder->columns[EPF_COLUMN_DURATION].values + at;
	uint64_t *ids = encoder->columns[EPF_COLUMN_ID].values + at;
	uint64_t *tails = encoder->columns[EPF_COLUMN_TAIL].values + at;
	uint64_t previous_end = encoder->previous_end, previous_id = encoder->previous_id;
	struct block_times times = encoder->times;

	for (uint32_t i = 0; i < count; i++) {
		const struct codec_record *record = &records[i];
		uint64_t end = record->start_ticks + record->duration_ticks;
		ends[i] = zigzag(end - previous_end);
		durations[i] = record->duration_ticks;
		ids[i] = zigzag(record->id - previous_id - 1);
		tails[i] = EPF_TAIL(record->name, record->bits, record->args_count);
		previous_end = end;
		previous_id = record->id;
		times.kinds |= (uint16_t)(1u << EPF_BITS_KIND(record->bits));
		block_times_add(&times, EPF_BITS_KIND(record->bits), record->start_ticks,
		                block_times_end(record->start_ticks, record->duration_ticks), record->id);
		if (record->args_count && !append_args(encoder, record, args, args_bytes, &encoder->parents[i]))
			return false;
	}
	for (unsigned c = EPF_COLUMN_END; c <= EPF_COLUMN_TAIL; c++)
		encoder->columns[c].count += count;
	encoder->previous_end = previous_end;
	encoder->previous_id = previous_id;
	encoder->times = times;
	return true;
}

/* ---- encoding ---- */

struct output {
	uint8_t *at, *end;
};

static bool put_plane(struct output *output, enum epf_plane_form form, const void *bytes, size_t count)
{
	uint32_t head = (uint32_t)form | (uint32_t)count << 2;

	if ((size_t)(output->end - output->at) < sizeof(head) + count)
		return false;
	memcpy(output->at, &head, sizeof(head));
	/* The output of zstd is in place already. */
	if (output->at + sizeof(head) != bytes)
		memcpy(output->at + sizeof(head), bytes, count);
	output->at += sizeof(head) + count;
	return true;
}

/* Writes a plane whose bytes are not all equal. */
static bool put_bytes(struct columns_encoder *encoder, struct output *output, const uint8_t *bytes, size_t count)
{
	uint8_t *at = output->at + sizeof(uint32_t);

	if ((size_t)(output->end - output->at) <= sizeof(uint32_t))
		return false;
	size_t packed = ZSTD_compress2(encoder->zstd, at, (size_t)(output->end - at), bytes, count);
	if (!ZSTD_isError(packed) && packed < count)
		return put_plane(output, EPF_PLANE_ZSTD, at, packed);
	return put_plane(output, EPF_PLANE_STORED, bytes, count);
}

/* Computes the bits that are set in any number, and those that are set in all numbers. */
static void find_bits(const struct columns_column *column, uint64_t *any, uint64_t *all)
{
	uint64_t some = 0, every = UINT64_MAX;

	for (size_t from = 0; from < column->count; from += STRIDE)
		for (size_t i = 0; i < STRIDE; i++) {
			some |= column->values[from + i];
			every &= column->values[from + i];
		}
	*any = some;
	*all = every;
}

static void take_plane(uint8_t *restrict plane, const uint64_t *restrict values, size_t count, unsigned shift)
{
	for (size_t from = 0; from < count; from += STRIDE)
		for (size_t i = 0; i < STRIDE; i++)
			plane[from + i] = (uint8_t)(values[from + i] >> shift);
}

static bool put_column(struct columns_encoder *encoder, struct output *output, unsigned number)
{
	struct columns_column *column = &encoder->columns[number];
	uint64_t any, all;

	/* Repeat the last number to the end of the stride. */
	for (size_t i = column->count; i % STRIDE; i++)
		column->values[i] = column->values[column->count - 1];
	find_bits(column, &any, &all);
	unsigned bits = any ? 64 - (unsigned)__builtin_clzll(any) : 0;
	encoder->head.planes_count[number] = (uint8_t)((bits + 7) / 8);
	for (unsigned shift = 0; shift < bits; shift += 8) {
		uint8_t same = (uint8_t)(all >> shift);
		if (!((any ^ all) >> shift & 255)) {
			if (!put_plane(output, EPF_PLANE_SAME, &same, 1))
				return false;
			continue;
		}
		take_plane(encoder->plane, column->values, column->count, shift);
		if (!put_bytes(encoder, output, encoder->plane, column->count))
			return false;
	}
	return true;
}

bool columns_finish(struct columns_encoder *encoder, struct epf_block *block, uint8_t *payload, size_t room)
{
	struct epf_columns *head = &encoder->head;
	struct output output = { payload + sizeof(*head), payload + room };
	size_t most = 0;

	for (unsigned c = 0; c < EPF_COLUMN_COUNT; c++)
		most = encoder->columns[c].count > most ? encoder->columns[c].count : most;
	if (room <= sizeof(*head) || head->args_count > EPF_COLUMNS_ARGS_MAX || head->text_bytes > EPF_COLUMNS_TEXT_MAX ||
	    !array_reserve(&encoder->plane, &encoder->plane_room, whole_strides(most), 1))
		return false;
	for (unsigned c = 0; c < EPF_COLUMN_COUNT; c++)
		if (!put_column(encoder, &output, c))
			return false;
	if (head->text_bytes && !put_bytes(encoder, &output, encoder->texts, head->text_bytes))
		return false;
	memcpy(payload, head, sizeof(*head));
	block->type = EPF_BLOCK_COLUMNS;
	block->payload_bytes = (uint32_t)(output.at - payload);
	block->record_count = (uint32_t)encoder->columns[EPF_COLUMN_END].count;
	block->open_count = (uint32_t)encoder->columns[EPF_COLUMN_OPEN].count;
	block_times_store(&encoder->times, block);
	return true;
}

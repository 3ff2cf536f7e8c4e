/* The first half of encoding columns (trace/columns/columns.h): collects numbers column by column, from records or
 * from rows. */
#include "trace/columns/columns.h"

#include <stdlib.h>

#include "codec/varint.h"
#include "epprof/session.h"

static bool reserve(struct columns_encoder *encoder, enum epf_column first, enum epf_column last, size_t count)
{
	for (unsigned c = first; c <= last; c++) {
		struct columns_column *column = &encoder->columns[c];
		if (!columns_reserve(&column->values, &column->room, column->count + count, sizeof(*column->values)))
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

/* All columns of args have the same room, so only one is checked. */
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
		if (!columns_reserve(&encoder->texts, &encoder->texts_room, (size_t)head->text_bytes + arg.text_bytes, 1))
			return false;
		memcpy(encoder->texts + head->text_bytes, arg.text, arg.text_bytes);
		head->text_bytes += arg.text_bytes;
	}
	return true;
}

/* Sets the bases of the first differences of a block. */
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
	/* Columns without memory yet have no valid address for pointer arithmetic. */
	if (!count)
		return true;
	if (!reserve(encoder, EPF_COLUMN_END, EPF_COLUMN_TAIL, count) ||
	    !columns_reserve(&encoder->parents, &encoder->parents_room, count, sizeof(*encoder->parents)))
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

/* ---- rows without decoding to records ---- */

#define TICKS_MOST ((int64_t)1 << 61)

/* Returns true if all records are of one kind and no sum of their times can overflow 64 bits. */
static bool are_plain(const struct codec_fields *fields)
{
	return (fields->kind == EPF_EVENT || fields->kind == EPF_COMPLETE) &&
	       fields->durations_bits < (uint64_t)TICKS_MOST && fields->first_start < (uint64_t)TICKS_MOST &&
	       fields->least_start >= -(int64_t)fields->first_start && fields->largest_start < TICKS_MOST &&
	       fields->largest_end < TICKS_MOST;
}

/* Has the effect of block_times_add for each record. */
static void take_times(struct block_times *times, const struct codec_fields *fields)
{
	uint64_t first = fields->first_start + (uint64_t)fields->least_start;
	uint64_t last = fields->first_start + (uint64_t)fields->largest_end;
	uint64_t own_first = fields->own_least_start == INT64_MAX
	                         ? UINT64_MAX
	                         : fields->first_start + (uint64_t)fields->own_least_start;

	times->kinds |= (uint16_t)(1u << fields->kind);
	if (fields->kind == EPF_COMPLETE)
		return;
	times->first_ticks = first < times->first_ticks ? first : times->first_ticks;
	times->last_ticks = last > times->last_ticks ? last : times->last_ticks;
	times->own_first_ticks = own_first < times->own_first_ticks ? own_first : times->own_first_ticks;
}

/* Adds leading records whose only arg is the parent; returns the index in `args` of the first record with other
 * args. */
static uint32_t add_parents(struct columns_encoder *encoder, const struct codec_args *args, uint32_t count)
{
	size_t at = encoder->columns[EPF_COLUMN_KEY].count;
	uint64_t *keys = encoder->columns[EPF_COLUMN_KEY].values + at;
	uint64_t *types = encoder->columns[EPF_COLUMN_TYPE].values + at;
	uint64_t *values = encoder->columns[EPF_COLUMN_VALUE].values + at;
	uint64_t previous = encoder->previous_values[EPF_NAME_PARENT];
	uint32_t taken = 0;

	for (; taken < count && args[taken].is_parent; taken++) {
		keys[taken] = EPF_NAME_PARENT;
		types[taken] = EPP_ARG_U64;
		values[taken] = zigzag(args[taken].parent - previous);
		previous = args[taken].parent;
	}
	encoder->previous_values[EPF_NAME_PARENT] = previous;
	encoder->head.args_count += taken;
	for (unsigned c = EPF_COLUMN_KEY; c <= EPF_COLUMN_VALUE; c++)
		encoder->columns[c].count += taken;
	return taken;
}

static bool append_rows_args(struct columns_encoder *encoder, const uint8_t *payload, uint32_t payload_bytes)
{
	const struct codec_fields *fields = &encoder->fields;

	for (uint32_t i = 0; i < fields->args_count; i++)
		encoder->parents[i] = fields->args[i].parent;
	for (uint32_t i = 0; i < fields->args_count; i++) {
		if (!reserve(encoder, EPF_COLUMN_KEY, EPF_COLUMN_VALUE, fields->args_count - i))
			return false;
		/* The first arg of a block must go through append_args, which sets the base of the differences. */
		if (encoder->head.args_count)
			i += add_parents(encoder, &fields->args[i], fields->args_count - i);
		if (i == fields->args_count)
			break;
		const struct codec_args *args = &fields->args[i];
		struct codec_record record = { .args_offset = args->offset, .args_count = args->count };
		if (!append_args(encoder, &record, payload, payload_bytes, &encoder->parents[i]))
			return false;
	}
	return true;
}

bool columns_append_rows(struct columns_encoder *encoder, const struct epf_block *rows, const uint8_t *payload,
                         const struct codec_fields **taken)
{
	struct codec_fields *fields = &encoder->fields;
	uint32_t count = rows->record_count;
	uint64_t open_ids[EPF_OPEN_MAX];
	const uint8_t *begin = codec_open_ids(rows, payload, open_ids);

	*taken = NULL;
	if (!begin || !count)
		return true;
	if (!reserve(encoder, EPF_COLUMN_END, EPF_COLUMN_TAIL, count) ||
	    !columns_reserve(&encoder->parents, &encoder->parents_room, count, sizeof(*encoder->parents)) ||
	    !columns_reserve(&encoder->rows_args, &encoder->rows_args_room, count, sizeof(*encoder->rows_args)))
		return false;
	size_t at = encoder->columns[EPF_COLUMN_END].count;
	*fields = (struct codec_fields){ .ends = encoder->columns[EPF_COLUMN_END].values + at,
		                         .durations = encoder->columns[EPF_COLUMN_DURATION].values + at,
		                         .ids = encoder->columns[EPF_COLUMN_ID].values + at,
		                         .tails = encoder->columns[EPF_COLUMN_TAIL].values + at,
		                         .args = encoder->rows_args,
		                         .opening = &encoder->times };
	if (!codec_decode_fields(rows, payload, begin, fields) || !are_plain(fields))
		return true;

	/* The first differences of a block of rows are relative to 0; here they must be relative to the previous
	 * block's end. */
	uint64_t first_end = unzigzag(fields->ends[0]), first_id = unzigzag(fields->ids[0]) + 1;
	begin_differences(encoder, first_end, first_id);
	fields->ends[0] = zigzag(first_end - encoder->previous_end);
	fields->ids[0] = zigzag(first_id - encoder->previous_id - 1);
	encoder->previous_end = fields->last_end;
	encoder->previous_id = fields->last_id;
	for (unsigned c = EPF_COLUMN_END; c <= EPF_COLUMN_TAIL; c++)
		encoder->columns[c].count += count;
	take_times(&encoder->times, fields);
	if (!append_rows_args(encoder, payload, rows->payload_bytes))
		return false;
	*taken = fields;
	return true;
}

/* Encodes records into a block's payload and decodes them again, as file/codec.h lays them down.
 *
 * Encoding: a varint of up to 28 bits is spread over 4 bytes without a branch and stored whole; what lies behind its end
 * is overwritten by the next field.  CODEC_BOUND has room for that.  The args of a region are not trusted (a reader
 * encodes what a killed process left): a text never reaches beyond the record's slots.
 * Decoding: while 64 bytes remain no field can run out, so only the varints' own lengths are checked; the end and the
 * duration, which follow the shape in every record, are taken from one 8-byte word.  Behind that every byte is checked,
 * and what args hold wherever they stand.  Both paths accept the same payloads.
 * Called by record/ (the helper) and by file/reader*.c.
 */
#include "file/codec.h"

#include <string.h>

#include "epprof/session.h"
#include "file/varint.h"

#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

#define SHAPE_BITS (CODEC_NEW_BITS | CODEC_ARGS | CODEC_SAME_NAME | CODEC_NEXT_ID)
/* The most that a record without args takes: shape, three varints of 10 bytes, one of 5, bits.  Rounded up. */
#define PLAIN_BYTES_MAX 64

/* ---- encoding ---- */

/* The args behind a record: at first assumed to fit into 127 bytes, moved up if they do not. */
static uint8_t *put_args(uint8_t *at, const struct epf_arg *args, uint32_t slots)
{
	uint8_t *count_at = at, *start = at + 2;
	uint32_t count = 0;

	/* Each text may end in a slot that it fills only in part. */
	if (slots > 2 * EPF_ARG_SLOTS_MAX + EPF_ARG_TEXT_MAX / 16)
		slots = 2 * EPF_ARG_SLOTS_MAX + EPF_ARG_TEXT_MAX / 16;
	at = start;
	for (uint32_t slot = 0; slot < slots && count < EPF_ARG_SLOTS_MAX; count++) {
		const struct epf_arg *arg = &args[slot++];
		uint32_t type = arg->type_and_bytes & 255, bytes = arg->type_and_bytes >> 8;

		if (type > EPP_ARG_TEXT)
			break;
		at = put(at, arg->key);
		*at++ = (uint8_t)type;
		if (type == EPP_ARG_I64) {
			at = put(at, zigzag(arg->value));
		} else if (type == EPP_ARG_U64) {
			at = put(at, arg->value);
		} else if (type == EPP_ARG_F64) {
			memcpy(at, &arg->value, 8);
			at += 8;
		} else {
			if (bytes > (slots - slot) * 16)
				bytes = (slots - slot) * 16;
			at = put(at, bytes);
			memcpy(at, &args[slot], bytes);
			at += bytes;
			slot += (bytes + 15) / 16;
		}
	}

	size_t bytes = (size_t)(at - start);
	uint32_t head = (count >= 128 ? 2 : 1) + (bytes >= 128 ? 2 : 1) + (bytes >= 16384 ? 1 : 0) +
	                (bytes >= 1 << 21 ? 1 : 0);
	uint8_t prefix[12]; /* put stores 4 bytes at a time */
	put(put(prefix, count), bytes);
	if (head > 2)
		memmove(count_at + head, start, bytes);
	memcpy(count_at, prefix, head);
	return count_at + head + bytes;
}

void codec_begin(struct codec_writer *writer, uint8_t *payload, const uint64_t *open_ids, uint32_t open_count)
{
	uint64_t previous = 0;

	*writer = (struct codec_writer){ .start = payload, .at = payload, .open_count = open_count, .open_ids = open_ids };
	for (uint32_t i = 0; i < open_count; i++) {
		writer->at = put(writer->at, i ? zigzag(open_ids[i] - previous) : open_ids[i]);
		previous = open_ids[i];
	}
	block_times_begin(&writer->times, open_ids, open_count);
}

__attribute__((noinline)) static void append_any(struct codec_writer *writer, const struct epf_record *record,
                                                 const struct epf_arg *args)
{
	uint64_t end = record->start_ticks + record->duration_ticks;
	uint64_t step = zigzag(record->id - writer->previous_id - 1);
	uint8_t *shape_at = writer->at, *at = shape_at + 1;
	unsigned shape = 0;

	at = put(at, zigzag(end - writer->previous_end));
	at = put(at, record->duration_ticks);
	if (step == 0)
		shape |= CODEC_NEXT_ID;
	else
		at = put(at, step);
	if (record->name == writer->previous_name)
		shape |= CODEC_SAME_NAME;
	else
		at = put(at, record->name);
	if (record->bits != writer->previous_bits) {
		shape |= CODEC_NEW_BITS;
		memcpy(at, &record->bits, 2);
		at += 2;
	}
	if (record->arg_slots) {
		uint8_t *args_at = at;
		at = put_args(at, args, record->arg_slots);
		if (*args_at)
			shape |= CODEC_ARGS;
		else
			at = args_at;
	}
	*shape_at = (uint8_t)shape;
	writer->at = at;
	writer->previous_end = end;
	writer->previous_id = record->id;
	writer->previous_name = record->name;
	writer->previous_bits = record->bits;
	writer->record_count++;
	writer->times.kinds |= (uint16_t)(1u << EPF_BITS_KIND(record->bits));
	block_times_add(&writer->times, EPF_BITS_KIND(record->bits), record->start_ticks,
	                block_times_end(record->start_ticks, record->duration_ticks), record->id);
}

void codec_append(struct codec_writer *writer, const struct epf_record *record, const struct epf_arg *args)
{
	uint64_t duration = record->duration_ticks, end = record->start_ticks + duration;
	uint64_t end_step = zigzag(end - writer->previous_end), step = zigzag(record->id - writer->previous_id - 1);
	uint8_t *shape_at = writer->at, *at = shape_at + 1;
	unsigned shape = 0;

	if (unlikely((end_step | duration | step | record->name) >> 14 || record->arg_slots ||
	             record->bits != writer->previous_bits)) {
		append_any(writer, record, args);
		return;
	}
	writer->previous_end = end;
	writer->previous_id = record->id;
	writer->record_count++;
	block_times_add(&writer->times, EPF_BITS_KIND(record->bits), record->start_ticks, end, record->id);
	at = put_short(at, (uint32_t)end_step);
	at = put_short(at, (uint32_t)duration);
	if (step == 0)
		shape |= CODEC_NEXT_ID;
	else
		at = put_short(at, (uint32_t)step);
	if (record->name == writer->previous_name)
		shape |= CODEC_SAME_NAME;
	else
		at = put_short(at, writer->previous_name = record->name);
	*shape_at = (uint8_t)shape;
	writer->at = at;
}

void codec_append_decoded(struct codec_writer *writer, const struct codec_record *record, const uint8_t *args,
                          uint32_t args_bytes)
{
	struct epf_record plain = { .start_ticks = record->start_ticks,
		                    .duration_ticks = record->duration_ticks,
		                    .id = record->id,
		                    { { .name = record->name, .bits = record->bits } } };
	uint8_t *shape_at = writer->at;
	uint32_t end = record->args_offset;
	struct codec_arg arg;

	codec_append(writer, &plain, NULL);
	for (uint32_t i = 0; i < record->args_count && end; i++)
		end = codec_arg(args, args_bytes, end, &arg);
	if (!record->args_count || !end)
		return;
	uint32_t bytes = end - record->args_offset;
	*shape_at |= CODEC_ARGS;
	writer->at = mempcpy(put(put(writer->at, record->args_count), bytes), args + record->args_offset, bytes);
}

void codec_finish(const struct codec_writer *writer, struct epf_block *block)
{
	block->payload_bytes = (uint32_t)(writer->at - writer->start);
	block->record_count = writer->record_count;
	block->open_count = writer->open_count;
	block_times_tell(&writer->times, block);
}

/* ---- decoding ---- */

/* One arg; NULL if it does not parse or has no end before `end`. */
static inline const uint8_t *get_arg(const uint8_t *at, const uint8_t *end, struct codec_arg *arg)
{
	uint64_t value;

	at = get_bounded(at, end, &value);
	if (!at || value > UINT32_MAX || at == end)
		return NULL;
	arg->key = (uint32_t)value;
	arg->type = *at++;
	switch (arg->type) {
	case EPP_ARG_I64:
	case EPP_ARG_U64:
		at = get_bounded(at, end, &value);
		if (!at)
			return NULL;
		arg->value = arg->type == EPP_ARG_I64 ? unzigzag(value) : value;
		return at;
	case EPP_ARG_F64:
		if (end - at < 8)
			return NULL;
		memcpy(&arg->value, at, 8);
		return at + 8;
	case EPP_ARG_TEXT:
		at = get_bounded(at, end, &value);
		if (!at || value > (uint64_t)(end - at))
			return NULL;
		arg->text = at;
		arg->text_bytes = (uint32_t)value;
		return at + value;
	default:
		return NULL;
	}
}

uint32_t codec_arg(const uint8_t *payload, uint32_t payload_bytes, uint32_t position, struct codec_arg *arg)
{
	*arg = (struct codec_arg){ 0 };
	if (position >= payload_bytes)
		return 0;
	const uint8_t *at = get_arg(payload + position, payload + payload_bytes, arg);
	return at ? (uint32_t)(at - payload) : 0;
}

uint64_t codec_parent_arg(const uint8_t *payload, uint32_t payload_bytes, uint32_t *after)
{
	const uint8_t *at = payload + *after;
	uint64_t value = 0;
	struct codec_arg arg;
	_Static_assert(EPF_NAME_PARENT < 128, "the key is one byte");

	if (likely(payload_bytes > *after && payload_bytes - *after >= 2 + VARINT_BYTES_MAX)) {
		if (at[0] == EPF_NAME_PARENT && at[1] == EPP_ARG_U64) {
			at = get_long(at + 2, &value);
			*after = at ? (uint32_t)(at - payload) : *after;
			return at ? value : 0;
		}
		if (at[0] < 128)
			return 0;
	}
	uint32_t next = codec_arg(payload, payload_bytes, *after, &arg);
	if (!next || arg.key != EPF_NAME_PARENT || arg.type != EPP_ARG_U64)
		return 0;
	*after = next;
	return arg.value;
}

/* An arg may be read up to the payload's end, but must have its own before the last one's. */
__attribute__((noinline)) static const uint8_t *get_args(const uint8_t *payload, const uint8_t *at, const uint8_t *end,
                                                         struct codec_record *record)
{
	uint64_t count, bytes;
	struct codec_arg arg;

	at = get_bounded(at, end, &count);
	if (!at || count > EPF_ARG_SLOTS_MAX)
		return NULL;
	at = get_bounded(at, end, &bytes);
	if (!at || bytes > (uint64_t)(end - at))
		return NULL;

	const uint8_t *last = at + bytes;
	record->args_count = (uint16_t)count;
	record->args_offset = count ? (uint32_t)(at - payload) : 0;
	for (uint64_t i = 0; i < count; i++) {
		at = at < last ? get_arg(at, end, &arg) : NULL;
		if (!at)
			return NULL;
	}
	return at == last ? last : NULL;
}

bool codec_decode(const struct epf_block *block, const uint8_t *payload, uint64_t *open_ids,
                  struct codec_record *records, uint32_t *decoded)
{
	const uint8_t *at = payload, *end = payload + block->payload_bytes;
	uint64_t previous_end = 0, previous_id = 0, value;
	uint32_t previous_name = 0, n = 0;
	uint16_t previous_bits = 0;

	*decoded = 0;
	if (block->record_count > CODEC_RECORDS_MAX || block->open_count > EPF_OPEN_MAX)
		return false;
	for (uint32_t i = 0; i < block->open_count; i++) {
		at = get_checked(at, end, &value);
		if (!at)
			return false;
		open_ids[i] = i ? open_ids[i - 1] + unzigzag(value) : value;
	}

	for (; n < block->record_count && end - at >= PLAIN_BYTES_MAX; n++) {
		struct codec_record *record = &records[n];
		unsigned shape = *at++;
		uint64_t word, end_step, duration;

		if (unlikely(shape & ~(unsigned)SHAPE_BITS))
			goto out;
		memcpy(&word, at, 8);
		uint64_t stops = ~word & 0x8080808080808080, second = stops & (stops - 1);
		unsigned end_bits = (unsigned)__builtin_ctzll(stops | 1ull << 63) + 1;
		uint64_t rest = (second ^ (second - 1)) & word & ~(stops ^ (stops - 1));
		if (likely(second && end_bits <= 32 && rest >> end_bits <= UINT32_MAX)) {
			uint64_t halves = gather((word & (stops ^ (stops - 1))) | rest >> end_bits << 32);
			end_step = halves & 0x0fffffff;
			duration = halves >> 32;
			at += ((unsigned)__builtin_ctzll(second) + 1) / 8;
		} else {
			uint64_t checked[2];
			at = get_long(at, &checked[0]);
			if (at)
				at = get_long(at, &checked[1]);
			if (!at)
				goto out;
			end_step = checked[0];
			duration = checked[1];
		}
		previous_end += unzigzag(end_step);
		previous_id += 1;
		if (!(shape & CODEC_NEXT_ID)) {
			at = get(at, &value);
			if (unlikely(!at))
				goto out;
			previous_id += unzigzag(value);
		}
		if (!(shape & CODEC_SAME_NAME)) {
			at = get(at, &value);
			if (unlikely(!at || value > UINT32_MAX))
				goto out;
			previous_name = (uint32_t)value;
		}
		if (unlikely(shape & CODEC_NEW_BITS)) {
			memcpy(&previous_bits, at, 2);
			at += 2;
		}
		if (unlikely(!previous_name))
			goto out;
		*record = (struct codec_record){
			previous_end - duration, duration, previous_id, previous_name, previous_bits, 0, 0
		};
		if (unlikely(shape & CODEC_ARGS)) {
			at = get_args(payload, at, end, record);
			if (!at)
				goto out;
		}
	}

	for (; n < block->record_count; n++) {
		struct codec_record *record = &records[n];
		uint64_t duration;

		if (at == end || *at & ~(unsigned)SHAPE_BITS)
			goto out;
		unsigned shape = *at++;
		at = get_checked(at, end, &value);
		if (at)
			at = get_checked(at, end, &duration);
		if (!at)
			goto out;
		previous_end += unzigzag(value);
		previous_id += 1;
		if (!(shape & CODEC_NEXT_ID)) {
			at = get_checked(at, end, &value);
			if (!at)
				goto out;
			previous_id += unzigzag(value);
		}
		if (!(shape & CODEC_SAME_NAME)) {
			at = get_checked(at, end, &value);
			if (!at || value > UINT32_MAX)
				goto out;
			previous_name = (uint32_t)value;
		}
		if (shape & CODEC_NEW_BITS) {
			if (end - at < 2)
				goto out;
			memcpy(&previous_bits, at, 2);
			at += 2;
		}
		if (!previous_name)
			goto out;
		*record = (struct codec_record){
			previous_end - duration, duration, previous_id, previous_name, previous_bits, 0, 0
		};
		if (shape & CODEC_ARGS) {
			at = get_args(payload, at, end, record);
			if (!at)
				goto out;
		}
	}

	*decoded = n;
	return at == end;
out:
	*decoded = n;
	return false;
}

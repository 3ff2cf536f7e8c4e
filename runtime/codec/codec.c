/* The encoding half of codec/codec.h.
 *
 * A varint of up to 28 bits is expanded to 4 bytes without a branch and stored as a whole; the next field overwrites
 * the bytes behind its end. CODEC_BOUND includes room for that. The args of a region are not trusted (a reader encodes
 * what a killed process left): a text never extends beyond the record's slots. */
#include "codec/codec.h"

#include <string.h>

#include "codec/varint.h"
#include "epprof/session.h"
#include "format/format_slot.h"

#define unlikely(condition) __builtin_expect(!!(condition), 0)

/* State while the args of one record are encoded. */
struct args_put {
	uint8_t *at;
	uint32_t count;
	uint32_t defined_count;
	bool is_cut; /* some args were left out */
};

/* Returns the end of a text's slots, and cuts the text to them. */
static inline uint32_t text_end(uint32_t slot, uint32_t slots, uint32_t *bytes)
{
	if (*bytes > (slots - slot) * 16)
		*bytes = (slots - slot) * 16;
	return slot + (*bytes + 15) / 16;
}

uint32_t codec_defined_numbers(const struct epf_arg *args, uint32_t slots, uint32_t numbers[EPF_DEFINED_MAX])
{
	uint32_t count = 0;

	for (uint32_t slot = 0; slot < slots && count < EPF_DEFINED_MAX;) {
		const struct epf_arg *arg = &args[slot++];
		uint32_t bytes = arg->type_and_bytes >> 8;
		if (arg->key == EPF_NAME_ARGS)
			numbers[count++] = arg->value <= UINT32_MAX ? (uint32_t)arg->value : 0;
		else if ((arg->type_and_bytes & 255) == EPP_ARG_TEXT)
			slot = text_end(slot, slots, &bytes);
	}
	return count;
}

static void put_slots(struct codec_writer *writer, struct args_put *put_to, const struct epf_arg *args, uint32_t slots);

/* Encodes the args that an EPF_NAME_ARGS arg stands for. Nested references are not followed. */
__attribute__((noinline, cold)) static void put_defined(struct codec_writer *writer, struct args_put *put_to,
                                                        uint64_t number)
{
	uint32_t slots = 0;
	bool may = writer->defined && put_to->defined_count < EPF_DEFINED_MAX && number <= UINT32_MAX;
	const struct epf_arg *args = may ? writer->defined(writer->defined_user, (uint32_t)number, &slots) : NULL;
	uint32_t before = put_to->defined_count;

	put_to->defined_count = EPF_DEFINED_MAX;
	if (args && slots <= EPF_DEFINED_SLOTS_MAX)
		put_slots(writer, put_to, args, slots);
	else
		put_to->is_cut = true;
	put_to->defined_count = before + 1;
}

static void put_slots(struct codec_writer *writer, struct args_put *put_to, const struct epf_arg *args, uint32_t slots)
{
	uint8_t *at = put_to->at;
	uint32_t slot = 0;

	while (slot < slots && put_to->count < EPF_ARG_SLOTS_MAX) {
		const struct epf_arg *arg = &args[slot++];
		uint32_t type = arg->type_and_bytes & 255, bytes = arg->type_and_bytes >> 8;

		if (unlikely(arg->key == EPF_NAME_ARGS)) {
			put_to->at = at;
			put_defined(writer, put_to, arg->value);
			at = put_to->at;
			continue;
		}
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
			uint32_t next = text_end(slot, slots, &bytes);
			at = put(at, bytes);
			memcpy(at, &args[slot], bytes);
			at += bytes;
			slot = next;
		}
		put_to->count++;
	}
	put_to->at = at;
	put_to->is_cut |= put_to->defined_count && slot < slots;
}

/* Encodes the args behind a record. Their size is first assumed to fit into one byte (127); if not, they are moved up.
 * *is_cut: args that they refer to were left out. */
static uint8_t *put_args(struct codec_writer *writer, uint8_t *count_at, const struct epf_arg *args, uint32_t slots,
                         bool *is_cut)
{
	uint8_t *start = count_at + 2;
	struct args_put put_to = { .at = start };

	/* Each text may end in a slot that it fills only in part. */
	if (slots > 2 * EPF_ARG_SLOTS_MAX + EPF_ARG_TEXT_MAX / 16)
		slots = 2 * EPF_ARG_SLOTS_MAX + EPF_ARG_TEXT_MAX / 16;
	put_slots(writer, &put_to, args, slots);
	*is_cut = put_to.is_cut;

	uint32_t count = put_to.count;
	size_t bytes = (size_t)(put_to.at - start);
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

	*writer = (struct codec_writer){
		.start = payload, .state.at = payload, .open_count = open_count, .open_ids = open_ids
	};
	for (uint32_t i = 0; i < open_count; i++) {
		writer->state.at = put(writer->state.at, i ? zigzag(open_ids[i] - previous) : open_ids[i]);
		previous = open_ids[i];
	}
	block_times_begin(&writer->state.times, open_ids, open_count);
	/* The heads for a slot that is all zero. */
	for (unsigned i = 0; i < CODEC_HEADS; i++)
		writer->heads[i] = (struct codec_head){ .bytes_count = 2, .type = EPP_ARG_I64 };
}

__attribute__((noinline)) static void append_any(struct codec_writer *writer, const struct epf_record *record,
                                                 const struct epf_arg *args)
{
	uint64_t end = record->start_ticks + record->duration_ticks;
	uint64_t step = zigzag(record->id - writer->state.previous_id - 1);
	uint8_t *shape_at = writer->state.at, *at = shape_at + 1;
	uint32_t name = epf_tail_name(record->tail);
	unsigned shape = 0;
	bool is_cut = false;

	at = put(at, zigzag(end - writer->state.previous_end));
	at = put(at, record->duration_ticks);
	if (step == 0)
		shape |= CODEC_NEXT_ID;
	else
		at = put(at, step);
	if (name == writer->state.previous_name)
		shape |= CODEC_SAME_NAME;
	else
		at = put(at, name);
	if (record->bits != writer->state.previous_bits) {
		shape |= CODEC_NEW_BITS;
		memcpy(at, &record->bits, 2);
		at += 2;
	}
	if (record->arg_slots) {
		uint8_t *args_at = at;
		at = put_args(writer, at, args, record->arg_slots, &is_cut);
		if (*args_at)
			shape |= CODEC_ARGS;
		else
			at = args_at;
	}
	/* The flag is part of the bits, which precede the args: encode the record again. */
	if (unlikely(is_cut && !(EPF_BITS_FLAGS(record->bits) & EPF_FLAG_CUT))) {
		struct epf_record cut = *record;
		cut.bits |= EPF_BITS(0, 0, 0, EPF_FLAG_CUT);
		writer->cut_count++;
		append_any(writer, &cut, args);
		return;
	}
	*shape_at = (uint8_t)shape;
	writer->state.at = at;
	writer->state.previous_end = end;
	writer->state.previous_id = record->id;
	writer->state.previous_name = name;
	writer->state.previous_bits = record->bits;
	writer->state.record_count++;
	writer->state.times.kinds |= (uint16_t)(1u << EPF_BITS_KIND(record->bits));
	block_times_add(&writer->state.times, EPF_BITS_KIND(record->bits), record->start_ticks,
	                block_times_end(record->start_ticks, record->duration_ticks), record->id);
}

/* Args in so few slots always take less than 128 bytes, because no arg is larger than its slots. */
#define FEW_SLOTS CODEC_HEADS
#define ARGS_HEAD_BYTES 2

/* Returns false if the arg needs the slow path. */
static bool make_head(struct codec_head *head, const struct epf_arg *arg, uint64_t of)
{
	uint32_t type = arg->type_and_bytes & 255, bytes = arg->type_and_bytes >> 8;
	uint8_t made[4] = { 0 }, *at = made;

	if (arg->key >> 14 || arg->key == EPF_NAME_ARGS || type > EPP_ARG_TEXT || bytes > FEW_SLOTS * sizeof(*arg))
		return false;
	at = put_short(at, arg->key);
	*at++ = (uint8_t)type;
	if (type == EPP_ARG_TEXT)
		*at++ = (uint8_t)bytes;
	*head = (struct codec_head){ .of = of, .bytes_count = (uint8_t)(at - made), .type = (uint8_t)type };
	memcpy(&head->bytes, made, sizeof(made));
	return true;
}

/* Encodes the args of a record with few slots, preceded by their count and size. Returns NULL if one of them needs the
 * slow path. */
static inline __attribute__((always_inline)) uint8_t *put_few(struct codec_head *heads, uint8_t *to,
                                                              const struct epf_arg *args, uint32_t slots)
{
	uint8_t *at = to + ARGS_HEAD_BYTES;
	struct codec_head *head = heads;

	for (const struct epf_arg *arg = args, *end = args + slots; arg < end; head++) {
		uint64_t value = arg->value, of;

		memcpy(&of, arg, sizeof(of));
		if (unlikely(of != head->of) && !make_head(head, arg, of))
			return NULL;
		memcpy(at, &head->bytes, 4);
		at += head->bytes_count;
		arg++;
		if (head->type == EPP_ARG_F64) {
			memcpy(at, &value, 8);
			at += 8;
		} else if (head->type == EPP_ARG_TEXT) {
			uint32_t bytes = (uint32_t)(of >> 40);
			if (unlikely(bytes > (size_t)(end - arg) * sizeof(*arg)))
				return NULL;
			/* Copies whole slots; the excess is overwritten. */
			for (uint8_t *text = at; text < at + bytes; text += sizeof(*arg), arg++)
				memcpy(text, arg, sizeof(*arg));
			at += bytes;
		} else {
			value = head->type == EPP_ARG_I64 ? zigzag(value) : value;
			at = value >> 14 ? put(at, value) : put_short(at, (uint32_t)value);
		}
	}
	to[0] = (uint8_t)(head - heads);
	to[1] = (uint8_t)(at - to - ARGS_HEAD_BYTES);
	return at;
}

/* Fast path: encodes a record with `slots`, a compile-time 0 for records without args. Returns false, with nothing
 * changed, if the record needs the slow path. */
static inline __attribute__((always_inline)) bool append_usual(struct codec_state *state, struct codec_head *heads,
                                                               const struct epf_record *record,
                                                               const struct epf_arg *args, uint32_t slots)
{
	uint64_t duration = record->duration_ticks, end = record->start_ticks + duration;
	uint64_t end_step = zigzag(end - state->previous_end), step = zigzag(record->id - state->previous_id - 1);
	uint8_t *shape_at = state->at, *at = shape_at + 1;
	uint32_t name = epf_tail_name(record->tail);
	unsigned shape = 0;

	if (unlikely((end_step | duration | step | name) >> 14 || slots > FEW_SLOTS || record->bits != state->previous_bits))
		return false;
	at = put_short(at, (uint32_t)end_step);
	at = put_short(at, (uint32_t)duration);
	if (step == 0)
		shape |= CODEC_NEXT_ID;
	else
		at = put_short(at, (uint32_t)step);
	if (name == state->previous_name)
		shape |= CODEC_SAME_NAME;
	else
		at = put_short(at, name);
	if (slots) {
		shape |= CODEC_ARGS;
		at = put_few(heads, at, args, slots);
		if (unlikely(!at))
			return false;
	}
	*shape_at = (uint8_t)shape;
	state->at = at;
	state->previous_end = end;
	state->previous_id = record->id;
	state->previous_name = name;
	state->record_count++;
	block_times_add(&state->times, EPF_BITS_KIND(record->bits), record->start_ticks, end, record->id);
	return true;
}

__attribute__((noinline)) static void append_with_args(struct codec_writer *writer, const struct epf_record *record,
                                                       const struct epf_arg *args)
{
	if (!append_usual(&writer->state, writer->heads, record, args, record->arg_slots))
		append_any(writer, record, args);
}

void codec_append(struct codec_writer *writer, const struct epf_record *record, const struct epf_arg *args)
{
	if (record->arg_slots)
		append_with_args(writer, record, args);
	else if (!append_usual(&writer->state, NULL, record, NULL, 0))
		append_any(writer, record, NULL);
}

const uint8_t *codec_append_region(struct codec_writer *writer, const uint8_t *at, const uint8_t *end, unsigned kinds,
                                   uint64_t *count)
{
	/* A local copy whose address is not taken: stores to the payload cannot alias it, so it stays in registers. */
	struct codec_state state = writer->state;
	uint64_t of_kinds = 0;

	while (at + EPF_RECORD_BYTES <= end) {
		const struct epf_record *record = (const struct epf_record *)(const void *)at;
		const struct epf_arg *args = (const struct epf_arg *)(const void *)(record + 1);
		uint32_t slots = record->arg_slots;

		if (!record->tail)
			break;
		bool done = slots ? append_usual(&state, writer->heads, record, args, slots)
		                  : append_usual(&state, NULL, record, NULL, 0);
		if (unlikely(!done)) {
			writer->state = state;
			append_any(writer, record, args);
			state = writer->state;
		}
		of_kinds += kinds >> EPF_BITS_KIND(record->bits) & 1;
		at += EPF_RECORD_BYTES + (size_t)slots * sizeof(struct epf_arg);
	}
	writer->state = state;
	*count += of_kinds;
	return at;
}

void codec_append_decoded(struct codec_writer *writer, const struct codec_record *record, const uint8_t *args,
                          uint32_t args_bytes)
{
	struct epf_record plain = { .start_ticks = record->start_ticks,
		                    .duration_ticks = record->duration_ticks,
		                    .id = record->id,
		                    { { .name = record->name, .bits = record->bits } } };
	uint8_t *shape_at = writer->state.at;
	uint32_t end = record->args_offset;
	struct codec_arg arg;

	codec_append(writer, &plain, NULL);
	for (uint32_t i = 0; i < record->args_count && end; i++)
		end = codec_arg(args, args_bytes, end, &arg);
	if (!record->args_count || !end)
		return;
	uint32_t bytes = end - record->args_offset;
	*shape_at |= CODEC_ARGS;
	writer->state.at = mempcpy(put(put(writer->state.at, record->args_count), bytes), args + record->args_offset,
	                           bytes);
}

void codec_finish(const struct codec_writer *writer, struct epf_block *block)
{
	block->payload_bytes = (uint32_t)(writer->state.at - writer->start);
	block->record_count = writer->state.record_count;
	block->open_count = writer->open_count;
	block_times_tell(&writer->state.times, block);
}

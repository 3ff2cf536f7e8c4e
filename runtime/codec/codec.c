/* The encoder of codec/codec.h.
 *
 * A varint of up to 28 bits is expanded to 4 bytes without a branch, and all 4 bytes are stored. The next field
 * overwrites the bytes behind the end of the varint; CODEC_BOUND includes room for the last ones. The args of a region
 * are not trusted, because a reader also encodes regions of killed processes: a text never extends beyond the record's
 * slots. */
#include "codec/codec.h"

#include <string.h>

#include "codec/varint.h"
#include "epprof/session.h"
#include "format/format_slot.h"

#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

/* State while the args of one record are encoded. */
struct args_put {
	uint8_t *at;
	uint32_t count;
	uint32_t defined_count;
	bool is_cut; /* some args were left out */
};

/* Returns the end of a text's slots. If the text is longer than the slots, cuts it. */
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

/* Encodes the args to which an EPF_NAME_ARGS arg refers. Nested references are not followed. */
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

/* Encodes the args behind a record. Their size is first assumed to fit into one byte (at most 127); if it does not,
 * they are moved up. *is_cut is set if args were left out because they are not defined, or because a record with
 * references to defined args exceeds a limit. */
static uint8_t *put_args(struct codec_writer *writer, uint8_t *count_at, const struct epf_arg *args, uint32_t slots,
                         bool *is_cut)
{
	uint8_t *start = count_at + 2;
	struct args_put put_to = { .at = start };

	/* The last slot of each text may be filled only in part. */
	if (slots > 2 * EPF_ARG_SLOTS_MAX + EPF_ARG_TEXT_MAX / 16)
		slots = 2 * EPF_ARG_SLOTS_MAX + EPF_ARG_TEXT_MAX / 16;
	put_slots(writer, &put_to, args, slots);
	*is_cut = put_to.is_cut;

	uint32_t count = put_to.count;
	size_t bytes = (size_t)(put_to.at - start);
	uint32_t head = (count >= 128 ? 2 : 1) + (bytes >= 128 ? 2 : 1) + (bytes >= 16384 ? 1 : 0) +
	                (bytes >= 1 << 21 ? 1 : 0);
	uint8_t prefix[12]; /* more than needed, because put stores 4 bytes at a time */
	put(put(prefix, count), bytes);
	if (head > 2)
		memmove(count_at + head, start, bytes);
	memcpy(count_at, prefix, head);
	return count_at + head + bytes;
}

/* Stores the keys of the args that put_args encoded, so that a later record whose args have the same keys, types and
 * text lengths can be encoded without keys. Args that begin with a parent are always encoded with keys, because readers
 * find parents without decoding the record. */
static void remember_keys(struct codec_keys *keys, const struct epf_arg *args, uint32_t slots)
{
	uint32_t slot = 0, count = 0, integers_count = 0;

	keys->slots = keys->bytes = keys->integers_count = 0;
	if (slots > CODEC_KEYS_MAX || args[0].key == EPF_NAME_PARENT)
		return;
	while (slot < slots) {
		const struct epf_arg *arg = &args[slot++];
		uint32_t type = arg->type_and_bytes & 255, bytes = arg->type_and_bytes >> 8, full_bytes = bytes;
		if (arg->key >> 14 || arg->key == EPF_NAME_ARGS || type > EPP_ARG_TEXT)
			return;
		if (type == EPP_ARG_TEXT)
			slot = text_end(slot, slots, &bytes);
		if (bytes != full_bytes)
			return;
		integers_count += type == EPP_ARG_I64 || type == EPP_ARG_U64;
		memcpy(&keys->of[count++], arg, sizeof(keys->of[0]));
		keys->bytes += (arg->key >> 7 ? 2 : 1) + 1 + (type == EPP_ARG_TEXT ? 1 + bytes : 0);
	}
	keys->slots = slots;
	keys->integers_count = integers_count == slots ? slots : 0;
}

static inline uint64_t load(const uint8_t *at)
{
	uint64_t word;
	memcpy(&word, at, sizeof(word));
	return word;
}

/* Compares texts of at least 8 bytes. */
static inline bool is_same_text(const uint8_t *a, const uint8_t *b, uint32_t bytes)
{
	for (uint32_t i = 0; i + 8 < bytes; i += 8)
		if (load(a + i) != load(b + i))
			return false;
	return load(a + bytes - 8) == load(b + bytes - 8);
}

/* Returns the index in writer->texts for a text of at least 8 bytes. */
static inline unsigned text_hash(const uint8_t *text, uint32_t bytes)
{
	return (load(text) ^ load(text + bytes - 8) * 3) * 0x9e3779b97f4a7c15 >> 58;
}

/* Returns the number of bytes between `at` and an earlier copy of the text in the payload; 0 if there is none. */
static inline size_t text_distance(const struct codec_writer *writer, const uint8_t *at, const uint8_t *text, uint32_t bytes)
{
	uint32_t seen = bytes >= 8 ? writer->texts[text_hash(text, bytes)] : 0;
	const uint8_t *same = writer->start + seen;
	return seen && same + bytes <= at && is_same_text(same, text, bytes) ? (size_t)(at - same) : 0;
}

/* Encodes a text, whose memory is a whole number of slots. Texts often repeat, so the encoding may refer to the same
 * text earlier in the payload. */
static inline uint8_t *put_text(struct codec_writer *writer, uint8_t *at, const struct epf_arg *slots, uint32_t bytes)
{
	const uint8_t *text = (const uint8_t *)slots;
	size_t distance = text_distance(writer, at, text, bytes);

	if (distance)
		return put(at, distance);
	if (bytes >= 8)
		writer->texts[text_hash(text, bytes)] = (uint32_t)(at + 1 - writer->start);
	*at++ = 0;
	/* Copies whole slots; the bytes after the text are overwritten by the next field. */
	for (uint32_t i = 0; i < bytes; i += sizeof(*slots))
		memcpy(at + i, text + i, sizeof(*slots));
	return at + bytes;
}

/* Encodes the values of the args from `arg` to `end`, of any type and size. Returns NULL if the key, type or text
 * length of an arg differs from that in `of` (codec_keys.of). */
__attribute__((noinline)) static uint8_t *put_values_slow(struct codec_writer *writer, const uint64_t *of, uint8_t *at,
                                                          const struct epf_arg *arg, const struct epf_arg *end)
{
	for (; arg < end; of++) {
		uint64_t value = arg->value, first = load((const uint8_t *)arg);
		unsigned type = first >> 32 & 255;
		if (unlikely(first != *of))
			return NULL;
		arg++;
		if (type == EPP_ARG_TEXT) {
			uint32_t bytes = (uint32_t)(first >> 40);
			at = put_text(writer, at, arg, bytes);
			arg += (bytes + 15) / 16;
		} else if (type == EPP_ARG_F64) {
			memcpy(at, &value, 8);
			at += 8;
		} else {
			at = put(at, type == EPP_ARG_I64 ? zigzag(value) : value);
		}
	}
	return at;
}

/* Returns false if args without keys would make a decoder append more than CODEC_APPENDED_MAX allows. */
static inline bool may_append(const struct codec_writer *writer, const uint8_t *at)
{
	return writer->appended_bytes <= CODEC_APPENDED_MAX * (size_t)(at - writer->start);
}

/* Encodes the values of args if all keys in writer->keys are of integers, the args have these keys and types, and each
 * value takes at most 2 bytes; else returns NULL. */
static inline uint8_t *put_integers(struct codec_writer *writer, uint8_t *at, const struct epf_arg *args, uint32_t slots)
{
	uint64_t differences = 0;
	uint8_t *begin = at;

	if (slots != writer->keys.integers_count || unlikely(!may_append(writer, at)))
		return NULL;
	for (uint32_t i = 0; i < slots; i++) {
		uint64_t first = load((const uint8_t *)&args[i]), value = args[i].value;
		if ((first >> 32 & 255) == EPP_ARG_I64)
			value = zigzag(value);
		differences |= (first ^ writer->keys.of[i]) | value >> 14;
		at = put_short(at, (uint32_t)value);
	}
	if (unlikely(differences))
		return NULL;
	writer->appended_bytes += writer->keys.bytes + (size_t)(at - begin);
	return at;
}

/* Encodes only the values of args, if their keys, types and text lengths are those of writer->keys; else returns NULL.
 * Small integers, and texts that are already in the payload, are encoded here without a call. */
__attribute__((noinline)) static uint8_t *put_values(struct codec_writer *writer, uint8_t *at,
                                                     const struct epf_arg *arg, uint32_t slots)
{
	const struct epf_arg *end = arg + slots;
	const uint64_t *of = writer->keys.of;
	const uint8_t *begin = at;

	if (unlikely(slots != writer->keys.slots || !may_append(writer, at)))
		return NULL;
	for (; arg < end; of++) {
		const struct epf_arg *next = arg + 1;
		uint64_t value = arg->value, first = load((const uint8_t *)arg);
		unsigned type = first >> 32 & 255;
		if (unlikely(first != *of))
			return NULL;
		if (type == EPP_ARG_TEXT) {
			uint32_t bytes = (uint32_t)(first >> 40);
			value = text_distance(writer, at, (const uint8_t *)next, bytes);
			next += (bytes + 15) / 16;
		} else if (type == EPP_ARG_I64) {
			value = zigzag(value);
		}
		bool is_new_text = type == EPP_ARG_TEXT && !value;
		if (unlikely(type == EPP_ARG_F64 || is_new_text || value >> 14))
			break;
		at = put_short(at, (uint32_t)value);
		arg = next;
	}
	if (unlikely(arg < end))
		at = put_values_slow(writer, of, at, arg, end);
	if (at)
		writer->appended_bytes += writer->keys.bytes + (size_t)(at - begin);
	return at;
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
}

__attribute__((noinline)) static void append_slow(struct codec_writer *writer, const struct epf_record *record,
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
		at = put_values(writer, at, args, record->arg_slots);
		if (at) {
			shape |= CODEC_ARGS | CODEC_SAME_KEYS;
		} else {
			at = put_args(writer, args_at, args, record->arg_slots, &is_cut);
			if (*args_at) {
				shape |= CODEC_ARGS;
				remember_keys(&writer->keys, args, record->arg_slots);
			} else {
				at = args_at;
			}
		}
	}
	/* The flag "cut" is part of the bits, which precede the args, so the record is encoded again. */
	if (unlikely(is_cut && !(EPF_BITS_FLAGS(record->bits) & EPF_FLAG_CUT))) {
		struct epf_record cut = *record;
		cut.bits |= EPF_BITS(0, 0, 0, EPF_FLAG_CUT);
		writer->cut_count++;
		append_slow(writer, &cut, args);
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

void codec_append(struct codec_writer *writer, const struct epf_record *record, const struct epf_arg *args)
{
	append_slow(writer, record, args);
}

/* ---- the fast path ---- */

/* Appends common records: their differences to the previous record are small, and their args have the same keys as the
 * last args. Returns the position of the first record that is not common. */
static inline const uint8_t *append_fast(struct codec_writer *writer, const uint8_t *next, const uint8_t *end,
                                         unsigned kinds, uint64_t *count)
{
	/* A local copy whose address is not taken: stores to the payload cannot alias it, so it stays in registers. */
	struct codec_state state = writer->state;
	unsigned kind = EPF_BITS_KIND(state.previous_bits);
	bool is_timed = BLOCK_HOST_KINDS >> kind & 1;
	uint64_t counts = kinds >> kind & 1, of_kinds = 0;
	uint64_t previous_tail = EPF_TAIL(state.previous_name, state.previous_bits, 0);

	/* After the first record previous_tail is not 0, so a record that was not published (tail 0) always differs
	 * from it. */
	if (!state.record_count)
		return next;
	while (next + EPF_RECORD_BYTES <= end) {
		const struct epf_record *record = (const struct epf_record *)(const void *)next;
		uint64_t duration = record->duration_ticks, ends = record->start_ticks + duration;
		uint64_t end_step = zigzag(ends - state.previous_end), tail = record->tail;
		uint32_t slots = EPF_TAIL_ARGS(tail);
		uint8_t *shape_at = state.at, *at = shape_at + 1;
		unsigned shape = 0;

		if (unlikely((end_step | duration) >> 14))
			break;
		at = put_short(at, (uint32_t)end_step);
		at = put_short(at, (uint32_t)duration);
		if (likely(record->id == state.previous_id + 1)) {
			shape |= CODEC_NEXT_ID;
		} else {
			uint64_t step = zigzag(record->id - state.previous_id - 1);
			if (unlikely(step >> 14))
				break;
			at = put_short(at, (uint32_t)step);
		}
		if (likely(tail == previous_tail)) {
			shape |= CODEC_SAME_NAME;
		} else {
			uint32_t name = epf_tail_name(tail);
			uint16_t bits = EPF_TAIL_BITS(tail);
			if (unlikely(!tail || name >> 14))
				break;
			if (name == epf_tail_name(previous_tail))
				shape |= CODEC_SAME_NAME;
			else
				at = put_short(at, name);
			if (bits != EPF_TAIL_BITS(previous_tail)) {
				shape |= CODEC_NEW_BITS;
				memcpy(at, &bits, 2);
				at += 2;
			}
		}
		if (slots) {
			const struct epf_arg *args = (const struct epf_arg *)(const void *)(record + 1);
			uint8_t *args_at = at;
			shape |= CODEC_ARGS | CODEC_SAME_KEYS;
			at = put_integers(writer, args_at, args, slots);
			if (unlikely(!at))
				at = put_values(writer, args_at, args, slots);
			if (unlikely(!at))
				break;
		}
		if (unlikely(shape & CODEC_NEW_BITS)) {
			kind = EPF_BITS_KIND(EPF_TAIL_BITS(tail));
			is_timed = BLOCK_HOST_KINDS >> kind & 1;
			counts = kinds >> kind & 1;
			state.times.kinds |= (uint16_t)(1u << kind);
		}
		*shape_at = (uint8_t)shape;
		state.at = at;
		state.previous_end = ends;
		state.previous_id = record->id;
		state.record_count++;
		if (likely(is_timed))
			block_times_add_timed(&state.times, kind, record->start_ticks, ends, record->id);
		of_kinds += counts;
		previous_tail = tail;
		next += EPF_RECORD_BYTES + (size_t)slots * sizeof(struct epf_arg);
	}
	state.previous_name = EPF_TAIL_NAME(previous_tail);
	state.previous_bits = EPF_TAIL_BITS(previous_tail);
	writer->state = state;
	*count += of_kinds;
	return next;
}

const uint8_t *codec_append_region(struct codec_writer *writer, const uint8_t *at, const uint8_t *end, unsigned kinds,
                                   uint64_t *count)
{
	for (;;) {
		at = append_fast(writer, at, end, kinds, count);
		const struct epf_record *record = (const struct epf_record *)(const void *)at;
		if (at + EPF_RECORD_BYTES > end || !record->tail)
			return at;
		append_slow(writer, record, (const struct epf_arg *)(const void *)(record + 1));
		*count += kinds >> EPF_BITS_KIND(record->bits) & 1;
		at += EPF_RECORD_BYTES + (size_t)record->arg_slots * sizeof(struct epf_arg);
	}
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
	writer->keys.slots = 0;
	writer->state.at = mempcpy(put(put(writer->state.at, record->args_count), bytes), args + record->args_offset,
	                           bytes);
}

void codec_finish(const struct codec_writer *writer, struct epf_block *block)
{
	block->payload_bytes = (uint32_t)(writer->state.at - writer->start);
	block->record_count = writer->state.record_count;
	block->open_count = writer->open_count;
	block_times_store(&writer->state.times, block);
}

/* The decoder of codec/codec.h.
 *
 * While 64 bytes remain, a record without args cannot exceed the payload, so only the lengths of varints are checked.
 * The end and the duration, which follow the shape in every record, are decoded from one 8-byte word. In the last 64
 * bytes every byte is checked; bytes of args are always checked. Both ways accept the same payloads. */
#include "codec/codec.h"

#include <string.h>

#include "codec/varint.h"
#include "epprof/session.h"

#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

#define SHAPE_BITS (CODEC_NEW_BITS | CODEC_ARGS | CODEC_SAME_NAME | CODEC_NEXT_ID | CODEC_SAME_KEYS)
/* The maximum size of a record without args, rounded up: shape, three varints of 10 bytes, one of 5, bits. */
#define PLAIN_BYTES_MAX 64

/* ---- args ---- */

/* Decodes one arg. Returns NULL if it is invalid or extends beyond `end`. */
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

/* Decodes a varint of nine bytes. This is the usual length of an id, because the first id of a process is a time in
 * nanoseconds. Needs 9 readable bytes at `at`. Returns false, with an undefined *value, if the varint has another
 * length. */
static inline bool get_nine_byte_varint(const uint8_t *at, uint64_t *value)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	uint64_t halves = join_groups(word);
	*value = (halves & 0x0fffffff) | halves >> 32 << 28 | (uint64_t)at[8] << 56;
	return (word & 0x8080808080808080) == 0x8080808080808080 && at[8] < 128;
}

uint64_t codec_parent_arg(const uint8_t *payload, uint32_t payload_bytes, uint32_t *after)
{
	const uint8_t *at = payload + *after;
	uint64_t value = 0;
	struct codec_arg arg;
	_Static_assert(EPF_NAME_PARENT < 128, "the key is one byte");

	if (likely(payload_bytes > *after && payload_bytes - *after >= 2 + VARINT_BYTES_MAX)) {
		if (at[0] == EPF_NAME_PARENT && at[1] == EPP_ARG_U64) {
			if (likely(get_nine_byte_varint(at + 2, &value))) {
				*after += 2 + 9;
				return value;
			}
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

struct args_place {
	uint32_t count, offset;
};

/* Decodes args. The decoding of an arg may read up to the payload's end, but the last arg must end where the size of
 * the args states. */
__attribute__((noinline)) static const uint8_t *get_args(const uint8_t *payload, const uint8_t *at, const uint8_t *end,
                                                         struct args_place *place)
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
	*place = (struct args_place){ .count = (uint32_t)count, .offset = count ? (uint32_t)(at - payload) : 0 };
	for (uint64_t i = 0; i < count; i++) {
		at = at < last ? get_arg(at, end, &arg) : NULL;
		if (!at)
			return NULL;
	}
	return at == last ? last : NULL;
}

/* ---- args without keys ---- */

#define TEXTS_BYTES_MAX (CODEC_KEYS_MAX * 16) /* the maximum size of the texts of one record */

/* The key, the type and the text length of an arg, as encoded. */
struct key {
	uint8_t bytes[4], bytes_count;
	uint8_t type, text_bytes;
};

struct decoder {
	struct codec_payload *payload;
	struct args_place keyed; /* the place of the last args with keys */
	uint32_t keys_offset;    /* the offset of the args to which `keys` belong; 0: none */
	struct key keys[CODEC_KEYS_MAX];
};

static bool read_keys(struct decoder *decoder)
{
	const struct codec_payload *payload = decoder->payload;
	uint32_t at = decoder->keyed.offset, texts_bytes = 0;
	struct codec_arg arg;

	if (decoder->keyed.count > CODEC_KEYS_MAX)
		return false;
	for (uint32_t i = 0; i < decoder->keyed.count; i++) {
		struct key *key = &decoder->keys[i];
		at = codec_arg(payload->bytes, payload->count, at, &arg);
		if (!at || arg.key >> 14 || arg.text_bytes > TEXTS_BYTES_MAX - texts_bytes)
			return false;
		texts_bytes += arg.text_bytes;
		uint8_t *end = put_short(key->bytes, arg.key);
		*end++ = key->type = (uint8_t)arg.type;
		key->text_bytes = (uint8_t)arg.text_bytes;
		if (arg.type == EPP_ARG_TEXT)
			*end++ = (uint8_t)arg.text_bytes;
		key->bytes_count = (uint8_t)(end - key->bytes);
	}
	decoder->keys_offset = decoder->keyed.offset;
	return true;
}

/* Finds the bytes of the value that is encoded at `at`; the bytes of a text may be earlier in the payload. Returns the
 * position after the value. */
static const uint8_t *find_value(const uint8_t *payload, const uint8_t *at, const uint8_t *end, const struct key *key,
                                 const uint8_t **bytes, size_t *count)
{
	const uint8_t *begin = at;
	uint64_t value = 0;

	if (key->type != EPP_ARG_F64)
		at = get_bounded(at, end, &value);
	if (!at)
		return NULL;
	*bytes = begin;
	*count = (size_t)(at - begin);
	if (key->type <= EPP_ARG_U64)
		return at;
	*count = key->type == EPP_ARG_TEXT ? key->text_bytes : 8;
	if (!value) {
		*bytes = at;
		return *count <= (size_t)(end - at) ? at + *count : NULL;
	}
	if (value < *count || value > (uint64_t)(begin - payload))
		return NULL;
	*bytes = begin - value;
	return at;
}

/* Reads args without keys at `at`, and appends them with keys behind the payload. */
__attribute__((noinline)) static const uint8_t *get_values(struct decoder *decoder, const uint8_t *at,
                                                           const uint8_t *end, struct args_place *place)
{
	const uint32_t args_bytes_max = CODEC_KEYS_MAX * (4 + VARINT_BYTES_MAX) + TEXTS_BYTES_MAX;
	struct codec_payload *payload = decoder->payload;
	uint8_t *to = payload->bytes + payload->count;
	const uint8_t *bytes;
	size_t count;

	if (!decoder->keyed.count || payload->room - payload->count < args_bytes_max ||
	    (decoder->keys_offset != decoder->keyed.offset && !read_keys(decoder)))
		return NULL;
	for (uint32_t i = 0; i < decoder->keyed.count; i++) {
		const struct key *key = &decoder->keys[i];
		at = find_value(payload->bytes, at, end, key, &bytes, &count);
		if (!at)
			return NULL;
		memcpy(to, key->bytes, sizeof(key->bytes));
		to = mempcpy(to + key->bytes_count, bytes, count);
	}
	*place = (struct args_place){ .count = decoder->keyed.count, .offset = payload->count };
	payload->count = (uint32_t)(to - payload->bytes);
	return at;
}

/* ---- records ---- */

/* Skips args that consist of only a parent, which is the usual case; returns NULL if there are others. `at` must have
 * PARENT_BYTES_MAX readable bytes. */
#define PARENT_BYTES_MAX (4 + VARINT_BYTES_MAX)
__attribute__((noinline)) static const uint8_t *skip_parent(const uint8_t *at)
{
	const uint32_t sought = 1 | EPF_NAME_PARENT << 16 | EPP_ARG_U64 << 24; /* in this order: count 1, the size
	                                                                          (masked out), key, type */
	uint64_t value;
	uint32_t begin;

	memcpy(&begin, at, sizeof(begin));
	unsigned bytes = begin >> 8 & 255;
	if ((begin & 0xffff00ff) != sought)
		return NULL;
	if (bytes == 2 + 9 && get_nine_byte_varint(at + 4, &value))
		return at + 2 + bytes;
	const uint8_t *after = get_long(at + 4, &value);
	return after == at + 2 + bytes ? after : NULL;
}

/* The encoded fields of a record. Name and bits keep their values until a record changes them. */
struct fields {
	uint64_t end_step, duration, id_step;
	uint32_t name;
	uint16_t bits;
	struct args_place args;
};

/* Decodes two varints of any length; needs 2 * VARINT_BYTES_MAX readable bytes. Returns the position after them, or
 * NULL if one is invalid. */
__attribute__((noinline)) static const uint8_t *get_two_varints(const uint8_t *at, uint64_t *values)
{
	at = get_long(at, &values[0]);
	return at ? get_long(at, &values[1]) : NULL;
}

static const uint8_t *get_args_slow(struct decoder *decoder, unsigned shape, const uint8_t *at, const uint8_t *end,
                                    struct args_place *place)
{
	const uint8_t *payload = decoder->payload->bytes;

	if (shape & CODEC_SAME_KEYS)
		return get_values(decoder, at, end, place);
	const uint8_t *after = likely(end - at >= PARENT_BYTES_MAX) ? skip_parent(at) : NULL;
	*place = (struct args_place){ 1, (uint32_t)(at + 2 - payload) };
	if (!after)
		after = get_args(payload, at, end, place);
	decoder->keyed = *place;
	return after;
}

/* Decodes a record; needs PLAIN_BYTES_MAX readable bytes. This function and get_record_checked return the position
 * after the record, or NULL if the record is invalid. */
static inline __attribute__((always_inline)) const uint8_t *get_record_fast(struct decoder *decoder, const uint8_t *at,
                                                                            const uint8_t *end, struct fields *fields)
{
	unsigned shape = *at++;
	uint64_t word, value;

	if (unlikely(shape & ~(unsigned)SHAPE_BITS))
		return NULL;
	memcpy(&word, at, 8);
	/* Decodes two varints of up to four bytes together, because branches on their lengths are hard to predict. */
	uint64_t stops = ~word & 0x8080808080808080, second = stops & (stops - 1);
	uint64_t first_mask = stops ^ (stops - 1), both_mask = second ^ (second - 1);
	unsigned first_bits = (unsigned)__builtin_ctzll(stops | 1ull << 63) + 1;
	uint64_t behind = (word & both_mask & ~first_mask) >> (first_bits & 63);
	if (likely(second && first_bits <= 32 && behind <= UINT32_MAX)) {
		uint64_t halves = join_groups((word & first_mask) | behind << 32);
		fields->end_step = halves & 0x0fffffff;
		fields->duration = halves >> 32;
		at += ((unsigned)__builtin_ctzll(second) + 1) / 8;
	} else {
		uint64_t checked[2];
		at = get_two_varints(at, checked);
		if (unlikely(!at))
			return NULL;
		fields->end_step = checked[0];
		fields->duration = checked[1];
	}
	fields->id_step = 0;
	if (!(shape & CODEC_NEXT_ID)) {
		at = get(at, &value);
		if (unlikely(!at))
			return NULL;
		fields->id_step = value;
	}
	if (!(shape & CODEC_SAME_NAME)) {
		at = get(at, &value);
		if (unlikely(!at || value > UINT32_MAX))
			return NULL;
		fields->name = (uint32_t)value;
	}
	if (shape & CODEC_NEW_BITS) {
		memcpy(&fields->bits, at, 2);
		at += 2;
	}
	if (unlikely(!fields->name))
		return NULL;
	fields->args.count = 0;
	fields->args.offset = 0;
	if (shape & CODEC_ARGS) {
		struct args_place place; /* a local variable, so that `fields` can stay in registers */
		at = get_args_slow(decoder, shape, at, end, &place);
		if (at)
			fields->args = place;
	}
	return at;
}

/* As get_record_fast, but checks every byte. */
static inline const uint8_t *get_record_checked(struct decoder *decoder, const uint8_t *at, const uint8_t *end,
                                                struct fields *fields)
{
	uint64_t value;

	if (at == end || *at & ~(unsigned)SHAPE_BITS)
		return NULL;
	unsigned shape = *at++;
	at = get_checked(at, end, &fields->end_step);
	if (at)
		at = get_checked(at, end, &fields->duration);
	if (!at)
		return NULL;
	fields->id_step = 0;
	if (!(shape & CODEC_NEXT_ID)) {
		at = get_checked(at, end, &fields->id_step);
		if (!at)
			return NULL;
	}
	if (!(shape & CODEC_SAME_NAME)) {
		at = get_checked(at, end, &value);
		if (!at || value > UINT32_MAX)
			return NULL;
		fields->name = (uint32_t)value;
	}
	if (shape & CODEC_NEW_BITS) {
		if (end - at < 2)
			return NULL;
		memcpy(&fields->bits, at, 2);
		at += 2;
	}
	if (!fields->name)
		return NULL;
	fields->args = (struct args_place){ 0 };
	return shape & CODEC_ARGS ? get_args_slow(decoder, shape, at, end, &fields->args) : at;
}

static const uint8_t *take_open_ids(const struct epf_block *block, const uint8_t *payload, uint64_t *open_ids)
{
	const uint8_t *at = payload;
	uint64_t value;

	if (block->record_count > CODEC_RECORDS_MAX || block->open_count > EPF_OPEN_MAX)
		return NULL;
	for (uint32_t i = 0; i < block->open_count; i++) {
		at = get_checked(at, payload + block->payload_bytes, &value);
		if (!at)
			return NULL;
		open_ids[i] = i ? open_ids[i - 1] + unzigzag(value) : value;
	}
	return at;
}

/* The end and the id of the last decoded record, to which the next one's differences are added. */
struct sums {
	uint64_t end, id;
};

static inline void put_record(struct codec_record *record, const struct fields *fields, struct sums *sums)
{
	sums->end += unzigzag(fields->end_step);
	sums->id += unzigzag(fields->id_step) + 1;
	*record = (struct codec_record){
		sums->end - fields->duration, fields->duration,   sums->id, fields->name, fields->bits,
		(uint16_t)fields->args.count, fields->args.offset
	};
}

bool codec_decode(const struct epf_block *block, struct codec_payload *payload, uint64_t *open_ids,
                  struct codec_record *records, uint32_t *decoded)
{
	const uint8_t *at = take_open_ids(block, payload->bytes, open_ids), *end = payload->bytes + block->payload_bytes;
	struct decoder decoder = { .payload = payload };
	struct fields fields = { 0 };
	struct sums sums = { 0 };
	uint32_t n = 0;

	for (; at && n < block->record_count && end - at >= PLAIN_BYTES_MAX; n++) {
		at = get_record_fast(&decoder, at, end, &fields);
		if (unlikely(!at))
			break;
		put_record(&records[n], &fields, &sums);
	}
	for (; at && n < block->record_count; n++) {
		struct fields last = fields;
		at = get_record_checked(&decoder, at, end, &last);
		if (!at)
			break;
		fields = last;
		put_record(&records[n], &fields, &sums);
	}
	*decoded = n;
	return at == end;
}

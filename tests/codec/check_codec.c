/* The codec: what goes in comes out, for any values and args; nothing that comes in breaks it. */
#include "codec/codec.h"

#include <string.h>

#include "epprof/session.h"
#include "tests/support/check.h"
#include "tests/support/random_values.h"

#define RECORDS_MAX 400

struct sample {
	struct epf_record records[RECORDS_MAX];
	struct epf_arg args[RECORDS_MAX][40];
	uint32_t count;
	uint64_t open_ids[EPF_OPEN_MAX];
	uint32_t open_count;
	uint8_t payload[2 * CODEC_BOUND(RECORDS_MAX * (32 + 40 * 16) + 512)]; /* with room for codec_decode */
	struct epf_block block;
};

static struct sample *sample_create(void)
{
	struct sample *sample = calloc(1, sizeof(*sample));
	ck_assert_ptr_nonnull(sample);
	return sample;
}

static struct epf_record *sample_add(struct sample *sample, uint64_t start, uint64_t duration, uint64_t id,
                                     uint32_t name, uint16_t bits)
{
	struct epf_record *record = &sample->records[sample->count++];
	MUST(sample->count <= RECORDS_MAX);
	*record = (struct epf_record){ .start_ticks = start, .duration_ticks = duration, .id = id };
	record->name = name;
	record->bits = bits;
	return record;
}

/* Encodes the records as a region, which has a fast path. The block must be the same. */
static void check_region(const struct sample *sample)
{
	struct codec_writer writer;
	struct epf_block block = { 0 };
	size_t bytes = 0, args_bytes;
	uint64_t instants = 0, expected = 0;
	uint8_t *region = calloc(1, sizeof(sample->records) + sizeof(sample->args) + EPF_RECORD_BYTES);
	uint8_t *payload = malloc(sizeof(sample->payload));
	MUST(region && payload);
	for (uint32_t i = 0; i < sample->count; bytes += EPF_RECORD_BYTES + args_bytes, i++) {
		args_bytes = sample->records[i].arg_slots * sizeof(struct epf_arg);
		memcpy(region + bytes, &sample->records[i], EPF_RECORD_BYTES);
		memcpy(region + bytes + EPF_RECORD_BYTES, sample->args[i], args_bytes);
		expected += EPF_BITS_KIND(sample->records[i].bits) == EPF_INSTANT;
	}
	codec_begin(&writer, payload, sample->open_ids, sample->open_count);
	/* A record that was not published follows. */
	const uint8_t *end = codec_append_region(&writer, region, region + bytes + EPF_RECORD_BYTES, 1u << EPF_INSTANT,
	                                         &instants);
	codec_finish(&writer, &block);
	MUST(end == region + bytes);
	MUST(instants == expected);
	ck_assert_mem_eq(&block, &sample->block, sizeof(block));
	ck_assert_mem_eq(payload, sample->payload, block.payload_bytes);
	free(payload);
	free(region);
}

static void sample_encode(struct sample *sample)
{
	struct codec_writer writer;
	codec_begin(&writer, sample->payload, sample->open_ids, sample->open_count);
	for (uint32_t i = 0; i < sample->count; i++)
		codec_append(&writer, &sample->records[i], sample->args[i]);
	codec_finish(&writer, &sample->block);
	MUST(sample->block.record_count == sample->count);
	MUST(sample->block.open_count == sample->open_count);
	check_region(sample);
}

/* Decodes a copy whose room ends where memory ends, so that a sanitizer sees a byte too many. */
static bool decode(const struct epf_block *block, const uint8_t *payload, struct codec_record *records,
                   uint32_t *decoded, uint64_t *open_ids)
{
	uint32_t room = CODEC_PAYLOAD_ROOM(block->payload_bytes);
	struct codec_payload copied = { malloc(room), block->payload_bytes, room };
	uint8_t *copy = copied.bytes;
	MUST(copy);
	memcpy(copy, payload, block->payload_bytes);
	bool good = codec_decode(block, &copied, open_ids, records, decoded);
	struct codec_arg arg;
	for (uint32_t i = 0; i < *decoded; i++) {
		MUST(records[i].name);
		uint32_t at = records[i].args_offset;
		for (uint32_t n = 0; n < records[i].args_count; n++) {
			at = codec_arg(copy, copied.count, at, &arg);
			MUST(at);
			if (arg.type == EPP_ARG_TEXT)
				MUST(arg.text >= copy && arg.text + arg.text_bytes <= copy + copied.count);
		}
	}
	free(copy);
	return good;
}

static void check_same(const struct sample *sample)
{
	struct codec_record records[RECORDS_MAX];
	uint64_t open_ids[EPF_OPEN_MAX];
	uint32_t decoded;
	struct codec_payload payload = { malloc(sizeof(sample->payload)), sample->block.payload_bytes,
		                         sizeof(sample->payload) };
	MUST(payload.bytes);
	memcpy(payload.bytes, sample->payload, sample->block.payload_bytes);
	MUST(codec_decode(&sample->block, &payload, open_ids, records, &decoded));
	MUST(decoded == sample->count);
	ck_assert_mem_eq(open_ids, sample->open_ids, sample->open_count * sizeof(*open_ids));
	for (uint32_t i = 0; i < decoded; i++) {
		const struct epf_record *in = &sample->records[i];
		const struct codec_record *out = &records[i];
		MUST(out->start_ticks == in->start_ticks);
		MUST(out->duration_ticks == in->duration_ticks);
		MUST(out->id == in->id);
		MUST(out->name == in->name);
		MUST(out->bits == in->bits);
		uint32_t at = out->args_offset, slot = 0;
		for (uint32_t n = 0; n < out->args_count; n++) {
			const struct epf_arg *given = &sample->args[i][slot++];
			struct codec_arg arg;
			at = codec_arg(payload.bytes, payload.count, at, &arg);
			MUST(at);
			MUST(arg.key == given->key);
			MUST(arg.type == (given->type_and_bytes & 255));
			if (arg.type == EPP_ARG_TEXT) {
				MUST(arg.text_bytes == given->type_and_bytes >> 8);
				MUST(!memcmp(arg.text, given + 1, arg.text_bytes));
				slot += (arg.text_bytes + 15) / 16;
			} else {
				MUST(arg.value == given->value);
			}
		}
		MUST(slot == in->arg_slots);
	}
	free(payload.bytes);
}

START_TEST(empty)
{
	struct sample *sample = sample_create();
	sample_encode(sample);
	ck_assert_uint_eq(sample->block.payload_bytes, 0);
	ck_assert_uint_eq(sample->block.first_ticks, UINT64_MAX);
	ck_assert_uint_eq(sample->block.own_first_ticks, UINT64_MAX);
	ck_assert_uint_eq(sample->block.last_ticks, 0);
	check_same(sample);
	free(sample);
}
END_TEST

START_TEST(plain_events_are_small)
{
	struct sample *sample = sample_create();
	uint64_t ticks = 1ull << 50;
	for (uint64_t i = 0; i < RECORDS_MAX; i++, ticks += 5000)
		sample_add(sample, ticks, 3000, (1ull << 60) + i, 20 + i % 50, EPF_BITS(EPP_NODE, EPF_EVENT, 0, 0));
	sample_encode(sample);
	ck_assert_uint_le(sample->block.payload_bytes, RECORDS_MAX * 6 + 30);
	ck_assert_uint_eq(sample->block.kinds, 1u << EPF_EVENT);
	check_same(sample);
	free(sample);
}
END_TEST

START_TEST(limits_of_values)
{
	static const uint64_t values[] = { 0,          1,
		                           63,         64,
		                           127,        128,
		                           8191,       8192,
		                           16383,      16384,
		                           1u << 20,   (1u << 21) - 1,
		                           1u << 21,   (1u << 28) - 1,
		                           1u << 28,   (1ull << 35) - 1,
		                           1ull << 35, 1ull << 56,
		                           1ull << 63, (1ull << 63) - 1,
		                           UINT64_MAX };
	size_t count = sizeof(values) / sizeof(*values);
	struct sample *sample = sample_create();
	for (size_t a = 0; a < count; a++) {
		for (size_t b = 0; b < count; b++) {
			sample->count = 0;
			sample_add(sample, values[a], values[b], values[b], 1, 0xffff);
			sample_add(sample, values[b], values[a], values[a], UINT32_MAX, 0);
			sample_add(sample, values[a], 0, values[b], (uint32_t)values[a] | 1, EPF_BITS(3, EPF_EVENT, 0, 0));
			sample_encode(sample);
			check_same(sample);
		}
	}
	free(sample);
}
END_TEST

static void random_args(struct sample *sample, uint32_t i)
{
	uint32_t slots = 0, most = (uint32_t)(random_bits() % 40);
	while (slots < most) {
		struct epf_arg *arg = &sample->args[i][slots++];
		uint32_t type = random_bits() % 4, bytes = 0;
		*arg = (struct epf_arg){ .key = (uint32_t)random_width() };
		if (arg->key == EPF_NAME_ARGS)
			arg->key = EPF_NAME_PARENT;
		if (type == EPP_ARG_TEXT) {
			bytes = (uint32_t)(random_bits() % ((most - slots) * 16 + 1));
			uint8_t *text = (uint8_t *)(arg + 1);
			for (uint32_t n = 0; n < bytes; n++)
				text[n] = (uint8_t)(random_bits() % 3 ? random_bits() : 0);
			slots += (bytes + 15) / 16;
		} else {
			arg->value = random_width();
		}
		arg->type_and_bytes = type | bytes << 8;
	}
	sample->records[i].arg_slots = (uint16_t)slots;
}

START_TEST(any_records)
{
	struct sample *sample = sample_create();
	for (int round = 0; round < 300; round++) {
		sample->count = 0;
		sample->open_count = random_bits() % (EPF_OPEN_MAX + 1);
		for (uint32_t i = 0; i < sample->open_count; i++)
			sample->open_ids[i] = random_width();
		uint32_t count = random_bits() % RECORDS_MAX;
		for (uint32_t i = 0; i < count; i++) {
			struct epf_record *record = sample_add(sample, random_width(), random_width(), random_width(),
			                                       (uint32_t)random_width(), (uint16_t)random_bits());
			if (!record->name || random_bits() % 4 == 0)
				record->name = i ? record[-1].name : 5;
			if (i && random_bits() % 2)
				record->bits = record[-1].bits;
			if (i && random_bits() % 2)
				record->id = record[-1].id + 1;
			if (random_bits() % 3 == 0)
				random_args(sample, i);
		}
		sample_encode(sample);
		check_same(sample);
	}
	free(sample);
}
END_TEST

START_TEST(statistics)
{
	struct sample *sample = sample_create();
	sample->open_ids[0] = 50;
	sample->open_ids[1] = 52;
	sample->open_count = 2;
	sample_add(sample, 2000, 10, 60, 20, EPF_BITS(1, EPF_EVENT, 0, 0));
	sample_add(sample, 1000, 1500, 52, 20, EPF_BITS(1, EPF_EVENT, 0, 0));
	sample_add(sample, 1990, 0, 50, 20, EPF_BITS(1, EPF_ORPHAN_END, 0, 0)); /* its start is its own, not event 50's */
	sample_add(sample, 1, UINT64_MAX / 2, 61, 20, EPF_BITS(2, EPF_COMPLETE, 0, 0));
	sample_add(sample, 2, UINT64_MAX / 2, 62, 20, EPF_BITS(0, EPF_CLOCK_PAIR, 0, 0));
	sample_add(sample, 0, 0, 3, 20, EPF_BITS(0, EPF_TRACK_SWITCH, 0, 0));
	sample_encode(sample);
	ck_assert_uint_eq(sample->block.first_ticks, 1000);
	ck_assert_uint_eq(sample->block.last_ticks, 2500);
	ck_assert_uint_eq(sample->block.own_first_ticks, 1990);
	ck_assert_uint_eq(sample->block.kinds, 1u << EPF_EVENT | 1u << EPF_ORPHAN_END | 1u << EPF_COMPLETE |
	                                           1u << EPF_CLOCK_PAIR | 1u << EPF_TRACK_SWITCH);
	check_same(sample);
	free(sample);
}
END_TEST

/* Records of the fast path, broken off by ones that are not: a large step, other bits, a large name. */
START_TEST(fast_and_slow_records)
{
	struct sample *sample = sample_create();
	uint64_t ticks = 1ull << 40, id = 1ull << 50;
	sample->open_ids[0] = id - 1;
	sample->open_count = 1;
	for (uint32_t i = 0; i < RECORDS_MAX; i++) {
		uint32_t what = (uint32_t)(random_bits() % 12), name = 20 + (uint32_t)(random_bits() % 3);
		uint16_t bits = EPF_BITS(1, EPF_EVENT, 0, 0);
		uint64_t duration = random_bits() % (1 << 14);
		if (what == 0)
			duration = 1 << 14;
		else if (what == 1)
			bits = EPF_BITS(1, random_bits() % 2 ? EPF_INSTANT : EPF_CLOCK_PAIR, 0, 0);
		else if (what == 2)
			name = 1 << 14;
		ticks += what == 3 ? 1 << 14 : random_bits() % 9000;
		id += what == 4 ? 1 << 14 : what == 5 ? 2 : 0;
		struct epf_record *record = sample_add(sample, ticks - duration, duration,
		                                       i == 300 ? (1ull << 50) - 1 : id++, name, bits);
		if (what < 9)
			continue;
		sample->args[i][0] = (struct epf_arg){ .key = 17, .type_and_bytes = EPP_ARG_I64, .value = random_width() };
		sample->args[i][1] = (struct epf_arg){ .key = 18,
			                               .type_and_bytes = EPP_ARG_U64,
			                               .value = random_bits() % 256 };
		record->arg_slots = (uint16_t)(what - 8 > 2 ? 2 : what - 8);
	}
	sample_encode(sample);
	check_same(sample);
	free(sample);
}
END_TEST

START_TEST(largest_args)
{
	static struct epf_arg args[EPF_ARG_SLOTS_MAX + EPF_ARG_TEXT_MAX / 16];
	static uint8_t payload[CODEC_BOUND(sizeof(args) + 32)];
	struct epf_record record = { .start_ticks = 5 };
	struct epf_block block = { 0 };
	struct codec_writer writer;
	struct codec_record out;
	uint64_t open_ids[EPF_OPEN_MAX];
	uint32_t decoded;
	record.name = 20;
	record.bits = EPF_BITS(0, EPF_INSTANT, 0, 0);

	/* 255 args of 9-byte values. */
	for (unsigned i = 0; i < EPF_ARG_SLOTS_MAX; i++)
		args[i] = (struct epf_arg){ .key = UINT32_MAX, .type_and_bytes = EPP_ARG_U64, .value = UINT64_MAX };
	record.arg_slots = EPF_ARG_SLOTS_MAX;
	codec_begin(&writer, payload, NULL, 0);
	codec_append(&writer, &record, args);
	codec_finish(&writer, &block);
	ck_assert(decode(&block, payload, &out, &decoded, open_ids));
	ck_assert_uint_eq(out.args_count, EPF_ARG_SLOTS_MAX);

	/* One text of 32 KiB. */
	args[0] = (struct epf_arg){ .key = 5, .type_and_bytes = EPP_ARG_TEXT | EPF_ARG_TEXT_MAX << 8 };
	memset(args + 1, 'x', EPF_ARG_TEXT_MAX);
	record.arg_slots = 1 + EPF_ARG_TEXT_MAX / 16;
	codec_begin(&writer, payload, NULL, 0);
	codec_append(&writer, &record, args);
	codec_finish(&writer, &block);
	ck_assert(decode(&block, payload, &out, &decoded, open_ids));
	ck_assert_uint_eq(out.args_count, 1);
	struct codec_arg arg;
	ck_assert_uint_ne(codec_arg(payload, block.payload_bytes, out.args_offset, &arg), 0);
	ck_assert_uint_eq(arg.text_bytes, EPF_ARG_TEXT_MAX);
	ck_assert_int_eq(arg.text[EPF_ARG_TEXT_MAX - 1], 'x');
}
END_TEST

/* What a damaged window may hold: a text longer than its slots, a type that is none. */
/* Records as a fast thread makes them, with each mix of up to nine slots: those with few go another way than the
 * others, and are often like the one before (_i times). */
START_TEST(few_args)
{
	static const uint64_t values[] = { 0, 1, 127, 128, (1u << 28) - 1, 1u << 28, UINT64_MAX, 1ull << 63 };
	static const uint32_t keys[] = { 20, 127, 128, (1u << 14) - 1, 1u << 14, UINT32_MAX };
	static const uint32_t texts[] = { 0, 1, 15, 16, 17, 32, 96, 112 };
	struct sample *sample = sample_create();
	for (uint32_t round = 0; round < 50 * 8; round++) {
		uint32_t mix = round / (uint32_t)_i, i = sample->count, slot = 0, slots = 1 + mix % 9;
		struct epf_record *record = sample_add(sample, 1000 + 10 * i, 5, 7 + i, 20, EPF_BITS(1, EPF_EVENT, 0, 0));
		for (uint32_t n = mix / 3; slot < slots; n++) {
			struct epf_arg *arg = &sample->args[i][slot++];
			uint32_t bytes = texts[n % 8];
			arg->key = keys[(n + mix) % 6];
			arg->type_and_bytes = n % 4;
			arg->value = values[(n + round) % 8];
			if (n % 4 != EPP_ARG_TEXT)
				continue;
			if (bytes > (slots - slot) * sizeof(*arg))
				bytes = (slots - slot) * (uint32_t)sizeof(*arg);
			arg->type_and_bytes |= bytes << 8;
			memset(arg + 1, 'a' + (int)round % 26, bytes);
			slot += (bytes + 15) / 16;
		}
		record->arg_slots = (uint16_t)slot;
	}
	sample_encode(sample);
	check_same(sample);
	free(sample);
}
END_TEST

START_TEST(args_that_lie)
{
	struct sample *sample = sample_create();
	struct codec_record records[4];
	uint64_t open_ids[EPF_OPEN_MAX];
	uint32_t decoded;
	for (int i = 0; i < 3; i++)
		sample_add(sample, 10, 10, (uint64_t)i, 20, EPF_BITS(0, EPF_EVENT, 0, 0))->arg_slots = 2;
	sample->args[0][0] = (struct epf_arg){ .key = 7, .type_and_bytes = EPP_ARG_TEXT | 0xffffffu << 8 };
	sample->args[1][0] = (struct epf_arg){ .key = 7, .type_and_bytes = EPP_ARG_U64, .value = 3 };
	sample->args[1][1] = (struct epf_arg){ .key = 7, .type_and_bytes = EPP_ARG_TEXT | 1 << 8 };
	sample->args[2][0] = (struct epf_arg){ .key = 7, .type_and_bytes = 200 };
	sample_encode(sample);
	ck_assert(decode(&sample->block, sample->payload, records, &decoded, open_ids));
	ck_assert_uint_eq(decoded, 3);
	struct codec_arg arg;
	ck_assert_uint_ne(codec_arg(sample->payload, sample->block.payload_bytes, records[0].args_offset, &arg), 0);
	ck_assert_uint_eq(arg.text_bytes, 16);
	ck_assert_uint_eq(records[1].args_count, 2);
	ck_assert_uint_eq(records[2].args_count, 0);
	free(sample);
}
END_TEST

/* Values alone follow args with keys; their keys come back, also over records with others, or with none. */
START_TEST(args_without_keys)
{
	struct sample *sample = sample_create();
	for (uint32_t i = 0; i < 100; i++) {
		struct epf_record *record = sample_add(sample, 100 * i, 5, 7 + i, 20, EPF_BITS(1, EPF_EVENT, 0, 0));
		struct epf_arg *args = sample->args[i];
		if (i % 10 == 9)
			continue;
		record->arg_slots = 3;
		args[0] = (struct epf_arg){ .key = 200 + i / 50, .type_and_bytes = EPP_ARG_I64, .value = 0 - (uint64_t)i };
		args[1] = (struct epf_arg){ .key = 21, .type_and_bytes = EPP_ARG_TEXT | 16 << 8 };
		memset(&args[2], 'a' + (int)(i % 5), sizeof(args[2]));
	}
	sample_encode(sample);
	check_same(sample);
	/* A value and a reference to a text take two bytes each; a text is there once, or once with keys. */
	ck_assert_uint_lt(sample->block.payload_bytes, 100 * 5 + 90 * (2 + 2) + 7 * 16 + 2 * 8);
	free(sample);
}
END_TEST

/* Decodes in exactly CODEC_PAYLOAD_ROOM. */
static void check_room(const struct sample *sample)
{
	struct codec_record records[RECORDS_MAX];
	uint64_t open_ids[EPF_OPEN_MAX];
	uint32_t decoded;
	ck_assert(decode(&sample->block, sample->payload, records, &decoded, open_ids));
	ck_assert_uint_eq(decoded, sample->count);
}

START_TEST(small_integers_are_encoded_with_keys_once)
{
	static const uint32_t types[] = { EPP_ARG_I64, EPP_ARG_U64 };
	struct sample *sample = sample_create();
	for (uint32_t i = 0; i < RECORDS_MAX; i++) {
		sample_add(sample, 20 * i, 5, 7 + i, 20, EPF_BITS(1, EPF_EVENT, 0, 0))->arg_slots = 2;
		for (uint32_t arg = 0; arg < 2; arg++)
			sample->args[i][arg] = (struct epf_arg){ .key = 21 + arg,
				                                 .type_and_bytes = types[arg],
				                                 .value = i % 60 };
	}
	sample_encode(sample);
	check_same(sample);
	check_room(sample);
	/* The shape, two times and two values take a byte each. */
	ck_assert_uint_lt(sample->block.payload_bytes, RECORDS_MAX * 5 + 30);
	free(sample);
}
END_TEST

/* A decoder appends far more bytes than a reference to a text takes. */
START_TEST(decoded_args_fit_into_the_room)
{
	for (uint32_t key = 100; key <= 200; key += 100) {
		struct sample *sample = sample_create();
		for (uint32_t i = 0; i < RECORDS_MAX; i++) {
			struct epf_arg *args = sample->args[i];
			sample_add(sample, 20 * i, 5, 7 + i, 20, EPF_BITS(1, EPF_EVENT, 0, 0))->arg_slots = CODEC_KEYS_MAX;
			args[0] = (struct epf_arg){ .key = key, .type_and_bytes = EPP_ARG_TEXT | 80 << 8 };
			memset(&args[1], 'a', 80);
			args[6] = (struct epf_arg){ .key = key, .type_and_bytes = EPP_ARG_F64, .value = i };
		}
		sample_encode(sample);
		check_same(sample);
		check_room(sample);
		free(sample);
	}
}
END_TEST

/* References to texts from near and from far, beside values that take one byte, several or 8. */
START_TEST(references_to_texts)
{
	struct sample *sample = sample_create();
	static const uint64_t values[] = { 3, 1ull << 20, 1ull << 40 };
	for (uint32_t i = 0; i < 120; i++) {
		struct epf_record *record = sample_add(sample, 100 * i, 90, 7 + i, 20, EPF_BITS(1, EPF_EVENT, 0, 0));
		struct epf_arg *args = sample->args[i];
		/* Between them are more than 2^14 bytes, in texts to which nothing refers. */
		if (i >= 30 && i < 90) {
			record->arg_slots = 38;
			args[0] = (struct epf_arg){ .key = 21, .type_and_bytes = EPP_ARG_TEXT | 37 * 16 << 8 };
			memset(&args[1], 'l', 37 * sizeof(*args));
			continue;
		}
		record->arg_slots = 5;
		args[0] = (struct epf_arg){ .key = 21, .type_and_bytes = EPP_ARG_TEXT | 7 << 8 };
		memset(&args[1], 's', 7);
		args[2] = (struct epf_arg){ .key = 22, .type_and_bytes = EPP_ARG_TEXT | 16 << 8 };
		memset(&args[3], 'a' + (int)(i % 3), sizeof(args[3]));
		args[4] = (struct epf_arg){ .key = 23, .type_and_bytes = EPP_ARG_I64, .value = values[i % 3] };
	}
	sample_encode(sample);
	ck_assert_uint_gt(sample->block.payload_bytes, 60 * 37 * 16);
	/* The three texts are there once, and once more with keys. */
	ck_assert_uint_lt(sample->block.payload_bytes, 60 * 37 * 16 + 2000);
	check_same(sample);
	free(sample);
}
END_TEST

/* Values without keys: nothing has any, too many, a key that is too large, texts that are too long. */
START_TEST(values_without_keys)
{
	struct codec_record records[2];
	uint64_t open_ids[EPF_OPEN_MAX];
	uint32_t decoded;
	const uint8_t plain = CODEC_NEXT_ID, with_keys = plain | CODEC_ARGS, values = with_keys | CODEC_SAME_KEYS;
	struct {
		uint32_t records, bytes;
		uint8_t payload[300];
	} cases[] = {
		{ 1, 6, { values, 2, 1, 20, 5, 5 } },
		/* One arg of key 7; then its value. */
		{ 2, 14, { with_keys, 2, 1, 20, 1, 3, 7, EPP_ARG_U64, 9, values, 2, 1, 20, 11 } },
		{ 2, 15, { with_keys, 2, 1, 20, 1, 5, 0xff, 0xff, 3, EPP_ARG_U64, 9, values, 2, 1, 20 } },
		{ 2, 37, { with_keys, 2, 1, 20, 8, 24 } },
		{ 2, 125 + 5 + 113, { with_keys, 2, 1, 20, 1, 116, 7, EPP_ARG_TEXT, 113 } },
		/* Texts of two bytes: the last one, with the record's head, before the payload, over itself. */
		{ 2, 16, { with_keys, 2, 1, 20, 1, 5, 7, EPP_ARG_TEXT, 2, 'o', 'k', values, 2, 1, 20, 6 } },
		{ 2, 16, { with_keys, 2, 1, 20, 1, 5, 7, EPP_ARG_TEXT, 2, 'o', 'k', values, 2, 1, 20, 16 } },
		{ 2, 16, { with_keys, 2, 1, 20, 1, 5, 7, EPP_ARG_TEXT, 2, 'o', 'k', values, 2, 1, 20, 1 } },
	};
	for (unsigned i = 0; i < 8; i++) {
		cases[3].payload[6 + 3 * i] = 7;
		cases[3].payload[6 + 3 * i + 1] = EPP_ARG_U64;
	}
	memcpy(cases[3].payload + 30, (uint8_t[]){ values, 2, 1, 20 }, 4);
	memcpy(cases[4].payload + 9 + 113, (uint8_t[]){ values, 2, 1, 20 }, 4);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct epf_block block = { .record_count = cases[i].records, .payload_bytes = cases[i].bytes };
		bool is_valid = i == 1 || i == 5;
		ck_assert_int_eq(decode(&block, cases[i].payload, records, &decoded, open_ids), is_valid);
		ck_assert_uint_eq(decoded, is_valid ? 2 : cases[i].records - 1);
	}
	/* The same without room for the keys. */
	struct epf_block block = { .record_count = 2, .payload_bytes = 14 };
	struct codec_payload payload = { cases[1].payload, 14, 14 + 100 };
	ck_assert(!codec_decode(&block, &payload, open_ids, records, &decoded));
	ck_assert_uint_eq(decoded, 1);
}
END_TEST

/* A payload cut anywhere gives the records before the cut and says so. */
START_TEST(cut_payloads)
{
	struct sample *sample = sample_create();
	struct codec_record whole[RECORDS_MAX], records[RECORDS_MAX];
	uint64_t open_ids[EPF_OPEN_MAX];
	uint32_t count, decoded;
	for (uint32_t i = 0; i < 40; i++) {
		sample_add(sample, 1000 * i, random_width() >> 20, i, 20 + i % 3, EPF_BITS(0, EPF_EVENT, 0, 0));
		if (i % 4 == 0)
			random_args(sample, i);
	}
	sample_encode(sample);
	ck_assert(decode(&sample->block, sample->payload, whole, &count, open_ids));
	uint32_t bytes = sample->block.payload_bytes;
	for (uint32_t cut = 0; cut < bytes; cut++) {
		sample->block.payload_bytes = cut;
		ck_assert(!decode(&sample->block, sample->payload, records, &decoded, open_ids));
		ck_assert_uint_lt(decoded, count);
		for (uint32_t i = 0; i < decoded; i++)
			MUST(records[i].start_ticks == whole[i].start_ticks);
	}
	sample->block.payload_bytes = bytes;
	sample->block.record_count--;
	ck_assert(!decode(&sample->block, sample->payload, records, &decoded, open_ids)); /* bytes are left over */
	sample->block.record_count += 2;
	ck_assert(!decode(&sample->block, sample->payload, records, &decoded, open_ids)); /* a record is missing */
	free(sample);
}
END_TEST

START_TEST(any_bytes)
{
	uint8_t payload[700];
	struct codec_record records[300];
	uint64_t open_ids[EPF_OPEN_MAX];
	uint32_t decoded;
	for (int round = 0; round < 20000; round++) {
		for (size_t i = 0; i < sizeof(payload); i++)
			payload[i] = (uint8_t)(round % 2 ? random_bits() : random_bits() & (random_bits() % 4 ? 15 : 255));
		struct epf_block block = { .payload_bytes = (uint32_t)(random_bits() % sizeof(payload)),
			                   .record_count = (uint32_t)(random_bits() % 300),
			                   .open_count = (uint32_t)(random_bits() % 5) };
		decode(&block, payload, records, &decoded, open_ids);
		MUST(decoded <= block.record_count);
	}
}
END_TEST

START_TEST(counts_beyond_the_limits)
{
	uint8_t payload[8] = { 0 };
	struct codec_record record;
	uint64_t open_ids[EPF_OPEN_MAX];
	uint32_t decoded;
	struct epf_block block = { .payload_bytes = sizeof(payload), .record_count = CODEC_RECORDS_MAX + 1 };
	ck_assert(!codec_decode(&block, &(struct codec_payload){ payload, 8, 8 }, open_ids, &record, &decoded));
	block.record_count = 0;
	block.open_count = EPF_OPEN_MAX + 1;
	ck_assert(!codec_decode(&block, &(struct codec_payload){ payload, 8, 8 }, open_ids, &record, &decoded));
}
END_TEST

/* A varint of 11 bytes, one beyond 64 bits, and a name beyond 32, on the fast path and on the checked one. */
START_TEST(varints_that_overflow)
{
	struct codec_record records[2];
	uint64_t open_ids[EPF_OPEN_MAX];
	uint32_t decoded;
	for (int padding = 0; padding <= 64; padding += 64) {
		uint8_t payload[100] = { 0 };
		struct epf_block block = { .record_count = 1, .payload_bytes = (uint32_t)(20 + padding) };
		payload[0] = CODEC_NEXT_ID;
		memset(payload + 1, 0xff, 10);
		ck_assert(!decode(&block, payload, records, &decoded, open_ids));
		payload[10] = 2;
		ck_assert(!decode(&block, payload, records, &decoded, open_ids));
		payload[1] = 0;
		payload[2] = 0;
		memset(payload + 3, 0xff, 4);
		payload[7] = 0x1f;
		ck_assert(!decode(&block, payload, records, &decoded, open_ids));
		payload[7] = 0x0f;
		block.payload_bytes = 8;
		ck_assert(decode(&block, payload, records, &decoded, open_ids));
		ck_assert_uint_eq(records[0].name, UINT32_MAX);
	}
}
END_TEST

static Suite *codec_suite(void)
{
	Suite *suite = suite_create("codec");
	TCase *cases = tcase_create("all");
	tcase_add_test(cases, empty);
	tcase_add_test(cases, plain_events_are_small);
	tcase_add_test(cases, limits_of_values);
	tcase_add_test(cases, any_records);
	tcase_add_test(cases, statistics);
	tcase_add_loop_test(cases, fast_and_slow_records, 0, 20);
	tcase_add_test(cases, largest_args);
	tcase_add_loop_test(cases, few_args, 1, 6);
	tcase_add_test(cases, args_that_lie);
	tcase_add_test(cases, args_without_keys);
	tcase_add_test(cases, small_integers_are_encoded_with_keys_once);
	tcase_add_test(cases, decoded_args_fit_into_the_room);
	tcase_add_test(cases, references_to_texts);
	tcase_add_test(cases, values_without_keys);
	tcase_add_test(cases, cut_payloads);
	tcase_add_test(cases, any_bytes);
	tcase_add_test(cases, counts_beyond_the_limits);
	tcase_add_test(cases, varints_that_overflow);
	suite_add_tcase(suite, cases);
	return suite;
}

CHECK_MAIN(codec_suite)

/* Columns (columns_encode.c, columns_decode.c): what codec_decode gave comes out again, for any values, args and texts,
 * in blocks that were joined; a payload that is cut or changed at any byte gives records or an error and nothing
 * else. */
#include "trace/columns/columns.h"

#include "tests/trace/rows.h"

/* ---- columns ---- */

struct packed {
	struct epf_block block;
	uint8_t *payload; /* ends where memory ends, so that a sanitizer sees a byte read too many */
};

static struct packed pack(struct rows *const *rows, uint32_t count)
{
	struct columns_encoder encoder;
	struct packed packed = { 0 };
	uint8_t *room = malloc(ROOM);

	MUST(room && columns_encoder_init(&encoder));
	/* The second time with what the first one left. */
	for (int round = 0; round < 2; round++) {
		MUST(columns_begin(&encoder, rows[0]->open_ids, rows[0]->block.open_count));
		for (uint32_t i = 0; i < count; i++)
			MUST(columns_append(&encoder, rows[i]->records, rows[i]->block.record_count, rows[i]->payload,
			                    rows[i]->args_bytes));
		MUST(columns_finish(&encoder, &packed.block, room, ROOM));
	}
	columns_encoder_deinit(&encoder);
	packed.payload = malloc(packed.block.payload_bytes);
	MUST(packed.payload);
	memcpy(packed.payload, room, packed.block.payload_bytes);
	free(room);
	return packed;
}

static void compare_args(const struct codec_record *record, const uint8_t *args, uint32_t args_bytes,
                         const struct codec_record *given, const struct rows *rows)
{
	uint32_t at = record->args_offset, given_at = given->args_offset;
	struct codec_arg arg, expected;

	MUST(record->args_count == given->args_count);
	for (uint32_t i = 0; i < record->args_count; i++) {
		MUST(at && at < args_bytes);
		at = codec_arg(args, args_bytes, at, &arg);
		given_at = codec_arg(rows->payload, rows->args_bytes, given_at, &expected);
		MUST(at && at <= args_bytes && given_at);
		MUST(arg.key == expected.key && arg.type == expected.type && arg.value == expected.value &&
		     arg.text_bytes == expected.text_bytes);
		MUST(!arg.text_bytes || !memcmp(arg.text, expected.text, arg.text_bytes));
	}
}

/* Packs, unpacks, compares. */
static void check_same(struct rows *const *rows, uint32_t count)
{
	struct packed packed = pack(rows, count);
	struct columns_decoder decoder = { 0 };
	uint32_t args_bytes = columns_args_bytes(&packed.block, packed.payload), decoded, at = 0;
	struct codec_record *records = calloc(packed.block.record_count + 1, sizeof(*records));
	uint8_t *args = malloc(args_bytes + 1);
	uint64_t open_ids[EPF_OPEN_MAX], first = UINT64_MAX, last = 0;

	MUST(args_bytes != UINT32_MAX && records && args);
	MUST(packed.block.type == EPF_BLOCK_COLUMNS && packed.block.open_count == rows[0]->block.open_count);
	MUST(columns_decode(&decoder, &packed.block, packed.payload, open_ids, records, args, &decoded) == COLUMNS_OK);
	MUST(decoded == packed.block.record_count);
	for (uint32_t i = 0; i < packed.block.open_count; i++)
		MUST(open_ids[i] == rows[0]->open_ids[i]);
	for (uint32_t b = 0; b < count; b++) {
		first = rows[b]->block.first_ticks < first ? rows[b]->block.first_ticks : first;
		last = rows[b]->block.last_ticks > last ? rows[b]->block.last_ticks : last;
		for (uint32_t i = 0; i < rows[b]->block.record_count; i++, at++) {
			const struct codec_record *given = &rows[b]->records[i];
			MUST(at < decoded);
			MUST(records[at].start_ticks == given->start_ticks && records[at].id == given->id &&
			     records[at].duration_ticks == given->duration_ticks && records[at].name == given->name &&
			     records[at].bits == given->bits);
			compare_args(&records[at], args, args_bytes, given, rows[b]);
		}
	}
	MUST(at == decoded);
	MUST(packed.block.first_ticks == first && packed.block.last_ticks == last);
	columns_decoder_deinit(&decoder);
	free(packed.payload);
	free(records);
	free(args);
}

START_TEST(anything_comes_back)
{
	for (uint32_t round = 0; round < 40; round++) {
		struct rows *rows = rows_random((uint32_t)(random_bits() % (round < 20 ? 40 : 1500)),
		                                (uint32_t)(random_bits() % (EPF_OPEN_MAX + 1)));
		check_same(&rows, 1);
		free(rows);
	}
}
END_TEST

START_TEST(counts_around_tiles_and_strides_come_back)
{
	static const uint32_t counts[] = { 0, 1, 2, 63, 64, 65, 511, 512, 513, 1023, 1024, 1025, 2999 };
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		struct rows *rows = rows_plain(counts[i]);
		check_same(&rows, 1);
		free(rows);
	}
}
END_TEST

START_TEST(joined_blocks_come_back_as_one)
{
	struct rows *rows[] = { rows_random(300, 5), rows_plain(700), rows_random(0, 0), rows_random(20, 3) };
	check_same(rows, 4);
	for (size_t i = 0; i < 4; i++)
		free(rows[i]);
}
END_TEST

START_TEST(extremes_come_back)
{
	const struct epf_arg args[] = { { 1, EPP_ARG_I64, 1ull << 63 },
		                        { 257, EPP_ARG_U64, UINT64_MAX }, /* the same place as key 1 */
		                        { UINT32_MAX, EPP_ARG_F64, 0x7ff8000000000001 },
		                        { 1, EPP_ARG_TEXT, 0 },
		                        { 1, EPP_ARG_I64, 0 } };
	struct rows *rows = rows_create(0);
	rows_add(rows, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT32_MAX, UINT16_MAX, args, 5);
	rows_add(rows, 0, 0, 0, 1, 0, NULL, 0);
	rows_add(rows, 0, UINT64_MAX, 1ull << 63, 1, 0, args, 4);
	rows_add(rows, 1ull << 63, 1ull << 63, 1, UINT32_MAX, 1, args, 1);
	rows_finish(rows);
	check_same(&rows, 1);
	free(rows);
}
END_TEST

/* Times that need so many bits, and are no more often one value than another. */
START_TEST(planes_of_any_width_come_back)
{
	for (unsigned bits = 9; bits < 17; bits++) {
		for (uint32_t count = 1993; count < 2002; count++) {
			struct rows *rows = rows_create(0);
			for (uint32_t i = 0; i < count; i++)
				rows_add(rows, 5000, 1u << (bits - 1) | random_below(1u << bits), 7, 16, 0, NULL, 0);
			rows_finish(rows);
			check_same(&rows, 1);
			struct packed packed = pack(&rows, 1);
			/* Durations, and as many bits of their differences and a sign. */
			ck_assert_uint_lt(packed.block.payload_bytes, count * (2 * bits + 1) / 8 + 200);
			free(packed.payload);
			free(rows);
		}
	}
}
END_TEST

START_TEST(plain_events_take_little)
{
	struct rows *rows = rows_plain(RECORDS_MAX);
	struct packed packed = pack(&rows, 1);
	/* 13 bits of a duration, 9 of a gap with it: nothing of ids, kinds and, since they come round, names. */
	ck_assert_uint_lt(packed.block.payload_bytes, RECORDS_MAX * 18 / 4);
	ck_assert_uint_lt(packed.block.payload_bytes, rows->block.payload_bytes * 3 / 4);
	free(packed.payload);
	free(rows);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
	struct rows *rows = rows_random(200, 2);
	struct packed packed = pack(&rows, 1);
	struct epf_block block = { .type = 77, .record_count = 5 };
	struct columns_encoder encoder;

	ck_assert(columns_encoder_init(&encoder));
	for (uint32_t room = 0; room < packed.block.payload_bytes; room += 1 + room / 64) {
		uint8_t *payload = malloc(room + 1);
		ck_assert(columns_begin(&encoder, rows->open_ids, rows->block.open_count));
		ck_assert(
		    columns_append(&encoder, rows->records, rows->block.record_count, rows->payload, rows->args_bytes));
		MUST(!columns_finish(&encoder, &block, payload, room) || block.payload_bytes <= room);
		MUST(room + 400 > packed.block.payload_bytes || block.type == 77);
		free(payload);
	}
	columns_encoder_deinit(&encoder);
	free(packed.payload);
	free(rows);
}
END_TEST

/* ---- what is not columns ---- */

/* Decodes into exactly the room that is asked for.  True: it is taken for whole. */
static bool try_decode(const struct epf_block *block, const uint8_t *payload)
{
	struct columns_decoder decoder = { 0 };
	uint64_t open_ids[EPF_OPEN_MAX];
	uint32_t args_bytes = columns_args_bytes(block, payload), decoded = 0;

	if (args_bytes == UINT32_MAX)
		return false;
	MUST(args_bytes < 64u << 20);
	struct codec_record *records = malloc(block->record_count * sizeof(*records) + 1);
	uint8_t *args = malloc(args_bytes + 1);
	MUST(records && args);
	enum columns_result result = columns_decode(&decoder, block, payload, open_ids, records, args, &decoded);
	MUST(result != COLUMNS_NO_MEMORY && decoded <= block->record_count);
	MUST(result != COLUMNS_OK || decoded == block->record_count);
	for (uint32_t i = 0; i < decoded; i++) {
		uint32_t at = records[i].args_offset;
		struct codec_arg arg;
		MUST(records[i].name);
		for (uint32_t n = 0; n < records[i].args_count; n++) {
			at = codec_arg(args, args_bytes, at, &arg);
			MUST(at);
			MUST(arg.type != EPP_ARG_TEXT || arg.text + arg.text_bytes <= args + args_bytes);
		}
	}
	columns_decoder_deinit(&decoder);
	free(records);
	free(args);
	return result == COLUMNS_OK;
}

static bool try_copy(struct epf_block block, const uint8_t *payload, uint32_t bytes)
{
	uint8_t *copy = malloc(bytes ? bytes : 1);
	MUST(copy);
	memcpy(copy, payload, bytes);
	block.payload_bytes = bytes;
	bool whole = try_decode(&block, copy);
	free(copy);
	return whole;
}

START_TEST(cut_anywhere_is_an_error)
{
	struct rows *rows = rows_random(60, 4);
	struct packed packed = pack(&rows, 1);

	ck_assert(try_copy(packed.block, packed.payload, packed.block.payload_bytes));
	for (uint32_t bytes = 0; bytes < packed.block.payload_bytes; bytes++)
		MUST(!try_copy(packed.block, packed.payload, bytes));
	free(packed.payload);
	free(rows);
}
END_TEST

START_TEST(changed_anywhere_is_records_or_an_error)
{
	struct rows *rows[] = { rows_random(60, 4), rows_plain(300) };
	for (size_t r = 0; r < 2; r++) {
		struct packed packed = pack(&rows[r], 1);
		for (uint32_t at = 0; at < packed.block.payload_bytes; at++) {
			for (unsigned how = 0; how < 4; how++) {
				uint8_t before = packed.payload[at];
				packed.payload[at] ^= (uint8_t[]){ 1, 0x80, 0xff, (uint8_t)(random_bits() | 1) }[how];
				try_decode(&packed.block, packed.payload);
				packed.payload[at] = before;
			}
		}
		free(packed.payload);
		free(rows[r]);
	}
}
END_TEST

START_TEST(headers_that_lie_are_errors)
{
	struct rows *rows = rows_random(60, 4);
	struct packed packed = pack(&rows, 1);
	struct epf_block block = packed.block;

	block.record_count = CODEC_RECORDS_MAX + 1;
	ck_assert(!try_decode(&block, packed.payload));
	block.record_count = CODEC_RECORDS_MAX;
	ck_assert(!try_decode(&block, packed.payload));
	block = packed.block;
	block.open_count = EPF_OPEN_MAX + 1;
	ck_assert(!try_decode(&block, packed.payload));
	block = packed.block;
	block.record_count--;
	ck_assert(!try_decode(&block, packed.payload));

	struct epf_columns head;
	memcpy(&head, packed.payload, sizeof(head));
	head.args_count = EPF_COLUMNS_ARGS_MAX + 1;
	memcpy(packed.payload, &head, sizeof(head));
	ck_assert_uint_eq(columns_args_bytes(&packed.block, packed.payload), UINT32_MAX);
	free(packed.payload);
	free(rows);
}
END_TEST

static Suite *columns_suite(void)
{
	Suite *suite = suite_create("columns");
	TCase *tcase = tcase_create("columns");

	tcase_add_test(tcase, anything_comes_back);
	tcase_add_test(tcase, counts_around_tiles_and_strides_come_back);
	tcase_add_test(tcase, joined_blocks_come_back_as_one);
	tcase_add_test(tcase, extremes_come_back);
	tcase_add_test(tcase, planes_of_any_width_come_back);
	tcase_add_test(tcase, plain_events_take_little);
	tcase_add_test(tcase, what_does_not_fit_is_refused);
	tcase_add_test(tcase, cut_anywhere_is_an_error);
	tcase_add_test(tcase, changed_anywhere_is_records_or_an_error);
	tcase_add_test(tcase, headers_that_lie_are_errors);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(columns_suite)

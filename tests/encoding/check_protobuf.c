/* Protobuf's wire format: what is written is what the specification's own examples show and reads back the same; sizes
 * are exact; bytes of anybody end the reader, never run past their end. */
#include "encoding/protobuf.h"

#include <float.h>
#include <stdlib.h>

#include "encoding/utf8.h"
#include "tests/support/check.h"

#define FIELD_MAX ((1u << 29) - 1)

static struct protobuf_field field;

/* A copy with nothing behind it, so that a sanitizer sees a read past the end. */
static struct protobuf_reader reader_of_copy(const void *bytes, size_t count, void **copy)
{
	*copy = malloc(count ? count : 1);
	memcpy(*copy, bytes, count);
	return protobuf_reader_of(*copy, count);
}

START_TEST(bytes_are_those_of_the_specification)
{
	char out[64];
	/* The examples of the encoding's documentation. */
	ck_assert_int_eq(protobuf_u64(out, 1, 150) - out, 3);
	ck_assert_mem_eq(out, "\x08\x96\x01", 3);
	ck_assert_int_eq(protobuf_text(out, 2, "testing", 7) - out, 9);
	ck_assert_mem_eq(out, "\x12\x07testing", 9);
	char *at = protobuf_head(out, 3, 3);
	ck_assert_int_eq(protobuf_u64(at, 1, 150) - out, 5);
	ck_assert_mem_eq(out, "\x1a\x03\x08\x96\x01", 5);
	ck_assert_int_eq(protobuf_i64(out, 1, -2) - out, 11);
	ck_assert_mem_eq(out, "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
	ck_assert_int_eq(protobuf_f64(out, 2, 1.0) - out, 9);
	ck_assert_mem_eq(out, "\x11\0\0\0\0\0\0\xf0\x3f", 9);
	ck_assert_int_eq(protobuf_fixed32(out, 2, 0x01020304) - out, 5);
	ck_assert_mem_eq(out, "\x15\x04\x03\x02\x01", 5);
	/* A zero is written: members of a oneof need it. */
	ck_assert_int_eq(protobuf_u64(out, 2, 0) - out, 2);
	ck_assert_mem_eq(out, "\x10\0", 2);
}
END_TEST

/* Writes one of each under `number` and reads it back. */
static void round_trip(uint32_t number, uint64_t value)
{
	char out[9 * PROTOBUF_FIELD_BYTES + 1];
	char *at = out, *from;
	void *copy;

#define WRITES(expression, bytes) \
	from = at; \
	at = expression; \
	ck_assert_uint_eq((size_t)(at - from), bytes)
	WRITES(protobuf_u64(at, number, value), protobuf_u64_bytes(number, value));
	WRITES(protobuf_i64(at, number, (int64_t)value), protobuf_i64_bytes(number, (int64_t)value));
	WRITES(protobuf_fixed64(at, number, value), protobuf_fixed64_bytes(number));
	WRITES(protobuf_fixed32(at, number, (uint32_t)value), protobuf_tag_bytes(number) + 4);
	WRITES(protobuf_bytes(at, number, &value, 8), protobuf_bytes_bytes(number, 8));
#undef WRITES
	struct protobuf_reader reader = reader_of_copy(out, (size_t)(at - out), &copy);
	static const enum protobuf_type types[] = { PROTOBUF_VARINT, PROTOBUF_VARINT, PROTOBUF_FIXED64,
		                                    PROTOBUF_FIXED32, PROTOBUF_BYTES };
	for (int i = 0; i < 5; i++) {
		ck_assert(protobuf_next(&reader, &field));
		ck_assert(protobuf_is(&field, number, types[i]));
		ck_assert(!protobuf_is(&field, number ^ 1, types[i]));
		if (i < 3)
			ck_assert_uint_eq(field.value, value);
		else if (i == 3)
			ck_assert_uint_eq(field.value, (uint32_t)value);
		else
			ck_assert_mem_eq(field.bytes, &value, field.count);
	}
	ck_assert(!protobuf_next(&reader, &field));
	ck_assert(!reader.damaged);
	free(copy);
}

START_TEST(values_and_sizes_hold_at_every_length)
{
	static const uint32_t numbers[] = { 1, 15, 16, 2047, 2048, 262143, 262144, FIELD_MAX };
	for (size_t n = 0; n < sizeof(numbers) / sizeof(numbers[0]); n++) {
		for (unsigned bit = 0; bit < 64; bit++) {
			for (int near = -1; near <= 1; near++)
				round_trip(numbers[n], (UINT64_C(1) << bit) + (uint64_t)near);
		}
		round_trip(numbers[n], UINT64_MAX);
	}
	static const double doubles[] = { 0.0, -0.0, 1.5, DBL_MAX, -DBL_MIN };
	for (size_t i = 0; i < sizeof(doubles) / sizeof(doubles[0]); i++) {
		char out[PROTOBUF_FIELD_BYTES];
		struct protobuf_reader reader = protobuf_reader_of(out, (size_t)(protobuf_f64(out, 1, doubles[i]) - out));
		ck_assert(protobuf_next(&reader, &field));
		double back = protobuf_as_f64(field.value);
		ck_assert_mem_eq(&back, &doubles[i], sizeof(back));
	}
}
END_TEST

START_TEST(varints_without_a_loop_are_the_same_bytes)
{
	for (unsigned bit = 0; bit < 64; bit++) {
		for (int near = -1; near <= 1; near++) {
			uint64_t value = (UINT64_C(1) << bit) + (uint64_t)near;
			char one[PROTOBUF_VARINT_BYTES], other[PROTOBUF_VARINT_BYTES];
			size_t bytes = (size_t)(protobuf_varint(one, value) - one);
			ck_assert_uint_eq((size_t)(protobuf_varint_roomy(other, value) - other), bytes);
			ck_assert_mem_eq(one, other, bytes);
		}
	}
}
END_TEST

START_TEST(strings_arrive_as_utf8)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{ "", "" },
		{ "seven b", "seven b" },
		{ "eight by", "eight by" },
		{ "eight by\xff", "eight by\xEF\xBF\xBD" },
		{ "\xff", "\xEF\xBF\xBD" },
		{ "gr\xc3\xbc\xc3\x9f"
		  "e \xe2\x82\xac \xf0\x9f\x98\x80",
		  "gr\xc3\xbc\xc3\x9f"
		  "e \xe2\x82\xac \xf0\x9f\x98\x80" },
		{ "cut \xf0\x9f\x98", "cut \xEF\xBF\xBD" },
		{ "surrogate \xed\xa0\x80!", "surrogate \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD!" },
		{ "overlong \xc0\xaf, a quote \" and \x01", "overlong \xEF\xBF\xBD\xEF\xBF\xBD, a quote \" and \x01" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char out[256];
		size_t bytes = strlen(cases[i].text), expected = strlen(cases[i].expected);
		char *end = protobuf_text(out, 4, cases[i].text, bytes);
		ck_assert_uint_eq(protobuf_text_bytes(4, cases[i].text, bytes), (size_t)(end - out));
		struct protobuf_reader reader = protobuf_reader_of(out, (size_t)(end - out));
		ck_assert(protobuf_next(&reader, &field));
		ck_assert(protobuf_is(&field, 4, PROTOBUF_BYTES));
		ck_assert_uint_eq(field.count, expected);
		ck_assert_mem_eq(field.bytes, cases[i].expected, expected);
		ck_assert_uint_eq(utf8_valid_bytes(out + 2, expected), expected);
	}
}
END_TEST

START_TEST(a_bracket_is_a_message_of_any_length)
{
	static const size_t counts[] = { 0, 1, 127, 128, 16383, 16384, 2097151, 2097152 };
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		char *out = calloc(1, counts[i] + PROTOBUF_FIELD_BYTES + PROTOBUF_BRACKET_BYTES);
		char *begun = protobuf_begin(out, 900);
		char *end = begun + counts[i];
		protobuf_end(begun, end);
		struct protobuf_reader reader = protobuf_reader_of(out, (size_t)(end - out));
		ck_assert(protobuf_next(&reader, &field));
		ck_assert(protobuf_is(&field, 900, PROTOBUF_BYTES));
		ck_assert_uint_eq(field.count, counts[i]);
		ck_assert_ptr_eq(field.bytes, begun);
		ck_assert(!protobuf_next(&reader, &field) && !reader.damaged);
		free(out);
	}
}
END_TEST

START_TEST(a_short_bracket_has_one_byte_of_length)
{
	for (size_t count = 0; count < 128; count++) {
		char out[PROTOBUF_FIELD_BYTES + 128] = { 0 };
		char *begun = protobuf_begin_short(out, 900);
		protobuf_end_short(begun, begun + count);
		ck_assert_ptr_eq(begun, protobuf_tag(out, 900, PROTOBUF_BYTES) + 1);
		struct protobuf_reader reader = protobuf_reader_of(out, (size_t)(begun - out) + count);
		ck_assert(protobuf_next(&reader, &field));
		ck_assert(protobuf_is(&field, 900, PROTOBUF_BYTES));
		ck_assert_uint_eq(field.count, count);
		ck_assert(!protobuf_next(&reader, &field) && !reader.damaged);
	}
}
END_TEST

START_TEST(packed_numbers_are_read_one_by_one)
{
	static const uint8_t bytes[] = { 0x32, 6, 3, 0x8E, 2, 0x9E, 0xA7, 5 };
	struct protobuf_reader reader = protobuf_reader_of(bytes, sizeof(bytes));
	uint64_t value;
	ck_assert(protobuf_next(&reader, &field));
	struct protobuf_reader numbers = protobuf_reader_in(&field);
	ck_assert(protobuf_next_varint(&numbers, &value) && value == 3);
	ck_assert(protobuf_next_varint(&numbers, &value) && value == 270);
	ck_assert(protobuf_next_varint(&numbers, &value) && value == 86942);
	ck_assert(!protobuf_next_varint(&numbers, &value) && !numbers.damaged);
	numbers = protobuf_reader_of("\x80", 1);
	ck_assert(!protobuf_next_varint(&numbers, &value) && numbers.damaged);
}
END_TEST

START_TEST(damage_ends_the_reader)
{
#define BYTES(text) \
	{ \
		text, sizeof(text) - 1 \
	}
	static const struct {
		const char *bytes;
		size_t count;
	} cases[] = {
		BYTES("\x00"),                                             /* tag 0 */
		BYTES("\x02\x00"),                                         /* field 0 */
		BYTES("\x08"),                                             /* no value */
		BYTES("\x80"),                                             /* half a tag */
		BYTES("\x08\x80"),                                         /* half a value */
		BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), /* eleven bytes */
		BYTES("\xff\xff\xff\xff\x1f\x00"),                         /* a field number beyond 29 bits */
		BYTES("\x0a\x01"),                                         /* one byte, which is not there */
		BYTES("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),     /* a length that would wrap a pointer */
		BYTES("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),         /* one that is the largest signed */
		BYTES("\x09\x00\x00\x00\x00\x00\x00\x00"),                 /* seven bytes of eight */
		BYTES("\x0d\x00\x00\x00"),                                 /* three of four */
		BYTES("\x0b\x0c"),                                         /* a group */
		BYTES("\x0e"),                                             /* types that do not exist */
		BYTES("\x0f"),
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		void *copy;
		struct protobuf_reader reader = reader_of_copy(cases[i].bytes, cases[i].count, &copy);
		ck_assert_msg(!protobuf_next(&reader, &field), "case %zu is a field", i);
		ck_assert_msg(reader.damaged, "case %zu is the end", i);
		ck_assert(!protobuf_next(&reader, &field));
		ck_assert(reader.damaged);
		free(copy);
	}
	/* Nothing at all is an empty message. */
	struct protobuf_reader reader = protobuf_reader_of(NULL, 0);
	ck_assert(!protobuf_next(&reader, &field) && !reader.damaged);
	/* Ten bytes are a varint, and bits beyond the 64th are dropped. */
	reader = protobuf_reader_of("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11);
	ck_assert(protobuf_next(&reader, &field) && field.value == UINT64_MAX);
}
END_TEST

/* Fields lie inside the message, follow each other, and end; at every cut too. */
static void read_all(const uint8_t *bytes, size_t count, int depth)
{
	struct protobuf_reader reader = protobuf_reader_of(bytes, count);
	struct protobuf_field each;
	const uint8_t *last = bytes;
	while (protobuf_next(&reader, &each)) {
		ck_assert(reader.at > last && reader.at <= bytes + count);
		ck_assert(each.number >= 1 && each.number <= FIELD_MAX);
		if (each.type == PROTOBUF_BYTES) {
			ck_assert(each.bytes > last && each.bytes + each.count == reader.at);
			if (depth < 4)
				read_all(each.bytes, each.count, depth + 1);
		}
		last = reader.at;
	}
	ck_assert(reader.at == bytes + count);
}

START_TEST(any_bytes_are_read_within_their_bounds)
{
	srand48(7);
	for (int round = 0; round < 20000; round++) {
		size_t count = (size_t)(lrand48() % 48);
		uint8_t *bytes = malloc(count + 1);
		for (size_t i = 0; i < count; i++)
			bytes[i] = (uint8_t)(lrand48() % 3 ? lrand48() % 32 : lrand48());
		/* Exactly as many as are said, for the sanitizer. */
		bytes = realloc(bytes, count ? count : 1);
		read_all(bytes, count, 0);
		free(bytes);
	}
}
END_TEST

static Suite *protobuf_suite(void)
{
	Suite *suite = suite_create("protobuf");
	TCase *tests = tcase_create("wire");
	tcase_add_test(tests, bytes_are_those_of_the_specification);
	tcase_add_test(tests, values_and_sizes_hold_at_every_length);
	tcase_add_test(tests, varints_without_a_loop_are_the_same_bytes);
	tcase_add_test(tests, strings_arrive_as_utf8);
	tcase_add_test(tests, a_bracket_is_a_message_of_any_length);
	tcase_add_test(tests, a_short_bracket_has_one_byte_of_length);
	tcase_add_test(tests, packed_numbers_are_read_one_by_one);
	tcase_add_test(tests, damage_ends_the_reader);
	tcase_add_test(tests, any_bytes_are_read_within_their_bounds);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(protobuf_suite)

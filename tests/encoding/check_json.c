/* JSON text: numbers, strings of any bytes, and what counts as valid.  Covers utf8.c, json.c, json_valid.c and
 * xml.c. */
#include "encoding/json.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "encoding/utf8.h"
#include "encoding/xml.h"
#include "tests/support/check.h"
#include "tests/support/decimal_comma.h"
#include "tests/support/strict_json.h"

static const char *ended(char *start, char *end)
{
	ck_assert(end - start <= JSON_NUMBER_BYTES);
	*end = 0;
	return start;
}

START_TEST(integers_are_as_printf_writes_them)
{
	char text[64], expected[64];
	uint64_t value = 1;

	for (int digits = 0; digits < 20; digits++, value *= 10) {
		for (int64_t near = -1; near <= 1; near++) {
			uint64_t number = value + (uint64_t)near;
			snprintf(expected, sizeof expected, "%llu", (unsigned long long)number);
			ck_assert_str_eq(ended(text, json_u64(text, number)), expected);
			snprintf(expected, sizeof expected, "%lld", -(long long)(number >> 1));
			ck_assert_str_eq(ended(text, json_i64(text, -(int64_t)(number >> 1))), expected);
		}
	}
	for (unsigned i = 0; i < 64; i++) {
		snprintf(expected, sizeof expected, "%llu", 1ull << i);
		ck_assert_str_eq(ended(text, json_u64(text, UINT64_C(1) << i)), expected);
	}
	srand48(3);
	for (int i = 0; i < 200000; i++) {
		uint64_t number = ((uint64_t)mrand48() << 32 ^ (uint64_t)mrand48()) >> (lrand48() % 64);
		*json_u64(text, number) = 0;
		if (strtoull(text, NULL, 10) != number || (text[0] == '0' && text[1]))
			ck_abort_msg("%llu became %s", (unsigned long long)number, text);
	}
	for (uint32_t number = 0; number < 1000000; number++) {
		*json_u64(text, number) = 0;
		if (strtoull(text, NULL, 10) != number || (text[0] == '0' && text[1]))
			ck_abort_msg("%u became %s", number, text);
	}
	ck_assert_str_eq(ended(text, json_u64(text, UINT64_MAX)), "18446744073709551615");
	ck_assert_str_eq(ended(text, json_i64(text, INT64_MIN)), "-9223372036854775808");
	ck_assert_str_eq(ended(text, json_i64(text, INT64_MAX)), "9223372036854775807");
}
END_TEST

/* Digits that are kept serve the next number and no other: each is close to one of four that take turns. */
START_TEST(what_is_kept_of_a_number_changes_no_other)
{
	char text[64], expected[64];
	struct json_recent recent = { 0 };

	srand48(5);
	for (int i = 0; i < 200000; i++) {
		uint64_t bases[] = { UINT64_C(1700000000000000000), UINT64_MAX - UINT32_MAX, 99999999, 0 };
		uint64_t number = bases[i / 3 % 4] + ((uint64_t)(uint32_t)mrand48() >> (lrand48() % 32));
		snprintf(expected, sizeof expected, "%llu", (unsigned long long)number);
		if (strcmp(ended(text, json_u64_recent(text, number, &recent)), expected) != 0)
			ck_abort_msg("%s became %s", expected, text);
	}
}
END_TEST

START_TEST(integers_that_a_double_cannot_hold_are_quoted)
{
	char text[64];

	ck_assert_str_eq(ended(text, json_u64_exact(text, UINT64_C(1) << 53)), "9007199254740992");
	ck_assert_str_eq(ended(text, json_u64_exact(text, (UINT64_C(1) << 53) + 1)), "\"9007199254740993\"");
	ck_assert_str_eq(ended(text, json_i64_exact(text, -(INT64_C(1) << 53))), "-9007199254740992");
	ck_assert_str_eq(ended(text, json_i64_exact(text, -(INT64_C(1) << 53) - 1)), "\"-9007199254740993\"");
	ck_assert_str_eq(ended(text, json_i64_exact(text, INT64_MIN)), "\"-9223372036854775808\"");
}
END_TEST

START_TEST(nanoseconds_become_microseconds_without_loss)
{
	char text[64];

	ck_assert_str_eq(ended(text, json_us(text, 0)), "0.000");
	ck_assert_str_eq(ended(text, json_us(text, 1)), "0.001");
	ck_assert_str_eq(ended(text, json_us(text, -1)), "-0.001");
	ck_assert_str_eq(ended(text, json_us(text, 999)), "0.999");
	ck_assert_str_eq(ended(text, json_us(text, 1000)), "1.000");
	ck_assert_str_eq(ended(text, json_us(text, -123456789)), "-123456.789");
	ck_assert_str_eq(ended(text, json_us(text, INT64_MAX)), "9223372036854775.807");
	ck_assert_str_eq(ended(text, json_us(text, INT64_MIN)), "-9223372036854775.808");
}
END_TEST

static void check_double(double value)
{
	char text[64];

	ended(text, json_f64(text, value));
	ck_assert_msg(json_valid(text, strlen(text)), "%s", text);
	ck_assert_msg(strtod(text, NULL) == value, "%a became %s", value, text);
}

START_TEST(doubles_read_back_the_same)
{
	char text[64];

	ck_assert_str_eq(ended(text, json_f64(text, 0.1)), "0.1");
	ck_assert_str_eq(ended(text, json_f64(text, -5)), "-5");
	ck_assert_str_eq(ended(text, json_f64(text, NAN)), "\"NaN\"");
	ck_assert_str_eq(ended(text, json_f64(text, INFINITY)), "\"Infinity\"");
	ck_assert_str_eq(ended(text, json_f64(text, -INFINITY)), "\"-Infinity\"");
	srand48(1);
	for (int i = 0; i < 20000; i++) {
		uint64_t bits = (uint64_t)mrand48() << 32 ^ (uint64_t)mrand48();
		double value;
		memcpy(&value, &bits, sizeof value);
		if (isfinite(value))
			check_double(value);
	}
	check_double(5e-324);
	check_double(1.7976931348623157e308);
}
END_TEST

START_TEST(doubles_have_a_point_in_every_locale)
{
	char text[64];

	if (!set_decimal_comma(LC_NUMERIC))
		return;
	ck_assert_str_eq(localeconv()->decimal_point, ",");
	ck_assert_str_eq(ended(text, json_f64(text, 1.5)), "1.5");
	ck_assert_str_eq(ended(text, json_f64(text, 1e300)), "1e+300");
	setlocale(LC_NUMERIC, "C");
}
END_TEST

/* What a text is escaped to, with quotes; parsed by somebody else. */
static struct json *escape(const char *text, size_t bytes)
{
	char *room = malloc(JSON_ESCAPED_BYTES(bytes) + 2), *end;

	room[0] = '"';
	end = json_escape(room + 1, text, bytes);
	ck_assert(end <= room + 1 + JSON_ESCAPED_BYTES(bytes));
	*end++ = '"';
	struct json *json = json_expect(room, (size_t)(end - room));
	free(room);
	return json;
}

static void escapes_to(const char *text, size_t bytes, const char *expected)
{
	struct json *json = escape(text, bytes);

	ck_assert_str_eq(json->text, expected);
	json_free(json);
}
#define ESCAPES_TO(literal, expected) escapes_to(literal, sizeof(literal) - 1, expected)

START_TEST(valid_text_stays_and_invalid_is_replaced)
{
	ESCAPES_TO("", "");
	ESCAPES_TO("a \"quoted\" \\ name\n\t\x01\x1f\x7f", "a \"quoted\" \\ name\n\t\x01\x1f\x7f");
	ESCAPES_TO("h\xC3\xA9llo \xE4\xB8\xAD \xF0\x9F\x98\x80 \xE2\x80\xA8",
	           "h\xC3\xA9llo \xE4\xB8\xAD \xF0\x9F\x98\x80 \xE2\x80\xA8");
	ESCAPES_TO("\xff", UTF8_REPLACEMENT);
	ESCAPES_TO("a\x80z", "a" UTF8_REPLACEMENT "z");
	ESCAPES_TO("\xC0\xAF", UTF8_REPLACEMENT UTF8_REPLACEMENT);                      /* an overlong slash */
	ESCAPES_TO("\xED\xA0\x80", UTF8_REPLACEMENT UTF8_REPLACEMENT UTF8_REPLACEMENT); /* a surrogate */
	ESCAPES_TO("\xF4\x90\x80\x80z", UTF8_REPLACEMENT UTF8_REPLACEMENT UTF8_REPLACEMENT UTF8_REPLACEMENT "z");
	ESCAPES_TO("\xE4\xB8", UTF8_REPLACEMENT); /* cut */
	ESCAPES_TO("\xE4\xB8z", UTF8_REPLACEMENT "z");
	ESCAPES_TO("\xF0\x9F\x98\"", UTF8_REPLACEMENT "\"");
	ESCAPES_TO("12345678\"1234567\\12345678\x02", "12345678\"1234567\\12345678\x02");
}
END_TEST

/* Text is copied by eights, the last of which may overlap others. */
START_TEST(what_needs_care_may_stand_anywhere)
{
	static const char clean[] = "abcdefghijklmnopqrstuvwxyz";
	char text[sizeof clean], expected[2 * sizeof clean + 2];

	for (size_t bytes = 1; bytes < sizeof clean; bytes++) {
		escapes_to(clean + sizeof clean - 1 - bytes, bytes, clean + sizeof clean - 1 - bytes);
		for (size_t at = 0; at < bytes; at++) {
			memcpy(text, clean, sizeof text);
			text[at] = '"';
			text[bytes] = '\0';
			escapes_to(text, bytes, text);
			text[at] = (char)0x80;
			snprintf(expected, sizeof expected, "%.*s%s%s", (int)at, text, UTF8_REPLACEMENT, text + at + 1);
			escapes_to(text, bytes, expected);
		}
	}
}
END_TEST

START_TEST(a_zero_byte_is_escaped)
{
	struct json *json = escape("a\0b", 3);

	ck_assert_uint_eq(json->text_bytes, 3);
	ck_assert_mem_eq(json->text, "a\0b", 3);
	json_free(json);
}
END_TEST

START_TEST(random_bytes_give_valid_text)
{
	char text[64];

	srand48(2);
	for (int i = 0; i < 20000; i++) {
		size_t bytes = (size_t)(lrand48() % (long)sizeof text);
		/* Mostly bytes that make up sequences, nearly. */
		for (size_t k = 0; k < bytes; k++)
			text[k] = (char)(lrand48() % 3 ? 0x80 + lrand48() % 128 : lrand48() % 256);
		json_free(escape(text, bytes));
	}
}
END_TEST

START_TEST(a_cut_splits_no_sequence)
{
	static const char text[] = "a\xC3\xA9"
				   "b\xE4\xB8\xAD"
				   "c\xF0\x9F\x98\x80"
				   "d";
	size_t bytes = sizeof text - 1;

	for (size_t limit = 1; limit <= bytes + 3; limit++) {
		size_t cut = utf8_cut(text, bytes, limit);
		ck_assert(cut <= limit && cut <= bytes);
		ck_assert(cut + 3 >= limit || cut == bytes);
		ck_assert(cut == bytes || ((unsigned char)text[cut] & 0xC0) != 0x80);
	}
	/* Always forward, also through bytes that are no text at all. */
	ck_assert_uint_eq(utf8_cut("\x80\x80\x80\x80\x80\x80", 6, 5), 5);
	ck_assert_uint_gt(utf8_cut("\x80\x80\x80\x80\x80\x80", 6, 1), 0);
}
END_TEST

static const struct {
	const char *text;
	bool valid;
} documents[] = {
	{ "{}", true },
	{ "[]", true },
	{ " [1, -2.5e+3 , \"a\\u00e9\\n\", {\"k\" : [true,false,null]}] ", true },
	{ "0", true },
	{ "-0.0", true },
	{ "\"\"", true },
	{ "", false },
	{ " ", false },
	{ "[", false },
	{ "[1", false },
	{ "[1,]", false },
	{ "[,1]", false },
	{ "{\"a\"}", false },
	{ "{\"a\":}", false },
	{ "{a:1}", false },
	{ "{\"a\":1,}", false },
	{ "[1] 2", false },
	{ "[01]", false },
	{ "[1.]", false },
	{ "[.5]", false },
	{ "[+1]", false },
	{ "[1e]", false },
	{ "[-]", false },
	{ "[nul]", false },
	{ "[NaN]", false },
	{ "\"a", false },
	{ "\"\\x\"", false },
	{ "\"\\u12g4\"", false },
	{ "\"tab\there\"", false },
	{ "[\"\xff\"]", false },
	{ "{float:[4,64]}", false },
};

START_TEST(only_valid_documents_are_valid)
{
	const char *text = documents[_i].text;
	size_t offset;
	struct json *json = json_parse(text, strlen(text), &offset);

	ck_assert_msg(json_valid(text, strlen(text)) == documents[_i].valid, "%s", text);
	ck_assert_msg((json != NULL) == documents[_i].valid, "%s", text);
	json_free(json);
}
END_TEST

START_TEST(depth_is_limited)
{
	char deep[200];

	memset(deep, '[', 100);
	memset(deep + 100, ']', 100);
	ck_assert(!json_valid(deep, 200));
	ck_assert(json_valid(deep + 40, 120));
	ck_assert(!json_valid(deep, 100));
}
END_TEST

START_TEST(xml_holds_no_control_characters)
{
	static const char text[] = "a<b>&\"'\x01\t\xff\xEF\xBF\xBFz";
	char room[XML_ESCAPED_BYTES(sizeof text)], *end = xml_escape(room, text, sizeof text - 1);

	*end = 0;
	ck_assert_str_eq(room, "a&lt;b&gt;&amp;&quot;&#39;" UTF8_REPLACEMENT "\t" UTF8_REPLACEMENT UTF8_REPLACEMENT "z");
}
END_TEST

static Suite *json_suite(void)
{
	Suite *suite = suite_create("json");
	TCase *tests = tcase_create("json");

	tcase_add_test(tests, integers_are_as_printf_writes_them);
	tcase_add_test(tests, what_is_kept_of_a_number_changes_no_other);
	tcase_add_test(tests, integers_that_a_double_cannot_hold_are_quoted);
	tcase_add_test(tests, nanoseconds_become_microseconds_without_loss);
	tcase_add_test(tests, doubles_read_back_the_same);
	tcase_add_test(tests, doubles_have_a_point_in_every_locale);
	tcase_add_test(tests, valid_text_stays_and_invalid_is_replaced);
	tcase_add_test(tests, what_needs_care_may_stand_anywhere);
	tcase_add_test(tests, a_zero_byte_is_escaped);
	tcase_add_test(tests, random_bytes_give_valid_text);
	tcase_add_test(tests, a_cut_splits_no_sequence);
	tcase_add_loop_test(tests, only_valid_documents_are_valid, 0, (int)(sizeof documents / sizeof *documents));
	tcase_add_test(tests, depth_is_limited);
	tcase_add_test(tests, xml_holds_no_control_characters);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(json_suite)

/* Reading records that are not JSON: their parts are found by the shape of a record, and nothing beyond the record's
 * end is read, wherever it is cut. */
#include <string.h>

#include "import/onnxruntime/repair.h"
#include "tests/support/check.h"

#define HEAD "{\"cat\" : \"Node\",\"pid\" :7,\"tid\" :-8,\"dur\" :5,\"ts\" :10,\"ph\" : \"X\",\"name\" :\""

static const char *text_of(const struct event *event, struct event_text text)
{
	static char copies[4][256];
	static unsigned next;
	char *copy = copies[next++ % 4];

	snprintf(copy, sizeof copies[0], "%.*s", (int)text.bytes, text.bytes ? event_chars(event, text) : "");
	return copy;
}

START_TEST(nested_values_that_are_broken_keep_their_text)
{
	static const char record[] = HEAD "n\",\"args\" : {\"a\" : [\"q\"uote\"],\"b\" : {\"]}}\":1},\"c\" : \"}}\"}}";
	struct event event = { 0 };

	ck_assert(repair_record(record, sizeof record - 1, &event));
	ck_assert_uint_eq(event.args_count, 3);
	ck_assert_str_eq(text_of(&event, event.args[0].text), "[\"q\"uote\"]");
	ck_assert_str_eq(text_of(&event, event.args[1].text), "{\"]}}\":1}");
	ck_assert_str_eq(text_of(&event, event.args[2].text), "}}");
	event_deinit(&event);
}
END_TEST

/* A value, as it stands in the file, that another arg or nothing follows. */
START_TEST(no_value_costs_the_event)
{
	static const struct {
		const char *value, *text;
	} values[] = {
		{ "{not json", "{not json" },
		{ "[", "[" },
		{ "{a:[1,{}", "{a:[1,{}" },
		{ "{a:1,\"b\" : \"c\"}", "{a:1,\"b\" : \"c\"}" },
		{ "[1,\n2\n]", "[1,\n2\n]" },
		{ "{float:[4,64]}", "{float:[4,64]}" },
		{ "\"v\"", "v" },
		{ "\"a, \"b\"\"", "a, \"b\"" },
	};
	static const char *const rests[] = { "", ",\"x\" : \"1\"", ",\"x\" : [{\"float\":[4]}]", ",\"q\"k\" : \"1\"" };
	struct event event = { 0 };
	char record[512];

	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		for (size_t j = 0; j < sizeof rests / sizeof *rests; j++) {
			int bytes = snprintf(record, sizeof record, HEAD "n\",\"args\" : {\"k\"k\" : %s%s}}",
			                     values[i].value, rests[j]);
			ck_assert_msg(repair_record(record, (size_t)bytes, &event), "%s", record);
			ck_assert_uint_eq(event.args_count, j ? 2 : 1);
			ck_assert_str_eq(text_of(&event, event.args[0].key), "k\"k");
			ck_assert_str_eq(text_of(&event, event.args[0].text), values[i].text);
			if (j)
				ck_assert_str_eq(text_of(&event, event.args[1].key), j == 3 ? "q\"k" : "x");
		}
	}
	event_deinit(&event);
}
END_TEST

/* ONNX Runtime from 1.31 on escapes texts, but no arrays and objects. */
START_TEST(texts_that_are_escaped_are_read_as_json)
{
	static const char record[] = HEAD
	    "a \\\"name\\\", \\\\ and \\n\",\"args\" : {\"k\\\"ey\" : \"\\\"\",\"b\" : {not json,"
	    "\"c\" : \"\\u0001\\u00e9\\ufffd\\t\\/\",\"d\" : [1,\n\"\\\"],\"e\" : \",\\\"like\\\" : {\"}}";
	/* In these some text is no JSON string, so backslashes mean themselves. */
	static const char *const others[] = { "\\s", "a\"b\\n", "tab\t\\n", "\\u12", "\\ud800", "\\u+123" };
	struct event event = { 0 };
	char other[256];

	ck_assert(repair_record(record, sizeof record - 1, &event));
	ck_assert_str_eq(text_of(&event, event.name), "a \"name\", \\ and \n");
	ck_assert_uint_eq(event.args_count, 5);
	ck_assert_str_eq(text_of(&event, event.args[0].key), "k\"ey");
	ck_assert_str_eq(text_of(&event, event.args[0].text), "\"");
	ck_assert_str_eq(text_of(&event, event.args[1].text), "{not json");
	ck_assert_str_eq(text_of(&event, event.args[2].text), "\x01\xc3\xa9\xef\xbf\xbd\t/");
	ck_assert_str_eq(text_of(&event, event.args[3].text), "[1,\n\"\\\"]");
	ck_assert_str_eq(text_of(&event, event.args[4].text), ",\"like\" : {");
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		int bytes = snprintf(other, sizeof other, HEAD "%s\",\"args\" : {\"b\" : {not json,\"c\" : \"%s\"}}",
		                     i % 2 ? "name" : others[i], i % 2 ? others[i] : "value");
		ck_assert_msg(repair_record(other, (size_t)bytes, &event), "%s", other);
		ck_assert_str_eq(text_of(&event, event.name), i % 2 ? "name" : others[i]);
		ck_assert_str_eq(text_of(&event, event.args[1].text), i % 2 ? others[i] : "value");
	}
	event_deinit(&event);
}
END_TEST

START_TEST(args_that_cannot_be_told_apart_are_one)
{
	static const char record[] = HEAD "n\",\"args\" : {\"a,\"b\" : \"c\",\"d\" : e}}";
	struct event event = { 0 };

	ck_assert(repair_record(record, sizeof record - 1, &event));
	ck_assert_str_eq(text_of(&event, event.name), "n");
	ck_assert_uint_eq(event.args_count, 1);
	ck_assert_str_eq(text_of(&event, event.args[0].key), "args");
	ck_assert_str_eq(text_of(&event, event.args[0].text), "\"a,\"b\" : \"c\",\"d\" : e");
	event_deinit(&event);
}
END_TEST

/* Each cut record stands at the end of an allocation of its own, so that a sanitizer sees a step beyond. */
START_TEST(cut_anywhere_is_no_record)
{
	static const char record[] = HEAD "na\"me\",\"args\" : {\"k\" : \"a\"b\",\"l\" : [1,[2]],\"m\" : \"\"}}";
	struct event event = { 0 };

	for (size_t bytes = 0; bytes < sizeof record; bytes++) {
		char *cut = malloc(bytes ? bytes : 1);
		memcpy(cut, record, bytes);
		ck_assert_int_eq(repair_record(cut, bytes, &event), bytes == sizeof record - 1);
		free(cut);
	}
	event_deinit(&event);
}
END_TEST

static Suite *repair_suite(void)
{
	Suite *suite = suite_create("repair");
	TCase *tests = tcase_create("repair");

	tcase_add_test(tests, nested_values_that_are_broken_keep_their_text);
	tcase_add_test(tests, no_value_costs_the_event);
	tcase_add_test(tests, texts_that_are_escaped_are_read_as_json);
	tcase_add_test(tests, args_that_cannot_be_told_apart_are_one);
	tcase_add_test(tests, cut_anywhere_is_no_record);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(repair_suite)

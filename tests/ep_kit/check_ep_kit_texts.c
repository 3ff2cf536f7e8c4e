/* The kit in a host like ONNX Runtime from 1.31 on, which escapes strings itself: they are handed over as they are, and
 * what would be written without quotes is JSON.  Covers ep_kit/json_value.h. */
#include "ep_kit_host.h"

static OrtExperimentalFnPtr no_function(const char *name)
{
	(void)name;
	return NULL;
}

/* The arg's value as ONNX Runtime gets it. */
static void prepared_as(const char *text, const char *expected)
{
	epp_ep_options options = ep_options();
	epp_ep_profiler *profiler = ep_create(&options);
	const epp_ep_arg arg = { .key = "k", .text = text };
	const epp_ep_event event = { .name = "one", .start_ticks = 1, .end_ticks = 2, .args = &arg, .args_count = 1 };

	ep_start(profiler);
	epp_ep_emit(profiler, &event);
	ep_end(profiler);
	ck_assert_str_eq(host_event_arg(host.added[0], "k"), expected);
	ep_release(profiler);
	host_clear();
}

START_TEST(strings_that_onnx_runtime_escapes_itself)
{
	static const char *const versions[] = { "1.31.0", "1.32.1", "1.100.0" };
	static const char *const as_they_are[] = {
		"gemm \"quoted\"",
		"tab\there, \\, \x01 and \x7f",
		" {",
		"",
		/* What is JSON stays. */
		"[]",
		"{ }",
		"[1, -2.5e+3, 0, \"a\\u00e9\\n\", true, false, null, {}]",
		"{\"a\" : [1], \"b\":{\"c\":\"[\"}} ",
	};
	static const char *const no_json[] = { "{not json", "[1,",      "[1,]",      "[1 2]",       "{1:2}",
		                               "{\"a\" 1}", "[\"a",     "[\"\\x\"]", "[\"\\u12\"]", "[\"a\nb\"]",
		                               "[01]",      "[1.]",     "[1e]",      "[-]",         "[tru]",
		                               "[] x",      "{\"a\":}", "[}",        "[\"\\" };
	char expected[64];

	for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
		host_setup(versions[i]);
		host.api->GetExperimentalFunction = no_function;
		for (size_t j = 0; j < sizeof as_they_are / sizeof *as_they_are; j++)
			prepared_as(as_they_are[j], as_they_are[j]);
		for (size_t j = 0; j < sizeof no_json / sizeof *no_json; j++) {
			snprintf(expected, sizeof expected, " %s", no_json[j]);
			prepared_as(no_json[j], expected);
		}
		prepared_as("\xff \xc3", "\xEF\xBF\xBD \xEF\xBF\xBD");
	}
	host_setup("1.30.9");
	host.api->GetExperimentalFunction = no_function;
	prepared_as("gemm \"quoted\"", "gemm \\\"quoted\\\"");
}
END_TEST

static Suite *ep_kit_texts_suite(void)
{
	Suite *suite = suite_create("ep_kit_texts");
	TCase *tests = tcase_create("texts");

	tcase_add_test(tests, strings_that_onnx_runtime_escapes_itself);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(ep_kit_texts_suite)

/* epprof advise: its text, its JSON, its rules, and its errors.  What the rules find: tests/analysis/check_advice.c. */
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/command.h"
#include "tests/support/command_expect.h"
#include "tests/support/epp_builder.h"
#include "tests/support/strict_json.h"

static char path[512];

static void setup(void)
{
	snprintf(path, sizeof path, "%s", check_path("trace.epp"));
}

static void teardown(void)
{
	unlink(path);
}

/* Runs of 1 ms, of which the first takes `first_ns`. */
static void write_runs(uint64_t first_ns)
{
	struct epp_builder *builder = builder_create();
	uint32_t thread = builder_thread(builder, "ma\"in", 1);
	epp_name run = builder_name(builder, "run \"a\"\033[31m");
	uint64_t at = BUILDER_START;

	for (unsigned i = 0; i < 20; i++) {
		uint64_t ns = i ? 1000000 : first_ns;
		builder_event(builder, thread, at, ns, EPP_SESSION, run, NULL, 0);
		at += ns;
	}
	builder_write(builder, EPF_FINISHED, path);
	builder_destroy(builder);
}

START_TEST(text_has_the_finding_and_its_places)
{
	write_runs(6000000);
	struct command run = command_run(NULL, "advise", path, NULL);
	ck_assert_int_eq(run.code, 0);
	ck_assert_str_eq(run.err, "");
	ck_assert_ptr_nonnull(strstr(run.out, "trace.epp: 1 finding in 25.0 ms\n"));
	ck_assert_ptr_nonnull(strstr(run.out, "warm-up: the measurement includes a warm-up\n"));
	ck_assert_ptr_nonnull(strstr(run.out, "the first 1 of 20 took up to 6 ms, the median is"));
	ck_assert_ptr_nonnull(strstr(run.out, "Gain: at most 5.00 ms +- "));
	ck_assert_ptr_nonnull(strstr(run.out, "(20.0 % of the time).  Confidence: high.\n"));
	ck_assert_ptr_nonnull(strstr(run.out, "event  track  of\n"));
	ck_assert_ptr_nonnull(strstr(run.out, "0.000000 s"));
	ck_assert_ptr_null(strchr(run.out, '\033'));
	command_free(&run);
	write_runs(1000000);
	run = command_run(NULL, "advise", path, NULL);
	ck_assert_int_eq(run.code, 0);
	ck_assert_ptr_nonnull(strstr(run.out, "trace.epp: 0 findings in 20.0 ms\n"));
	command_free(&run);
}
END_TEST

START_TEST(json_is_strict)
{
	write_runs(6000000);
	struct command run = command_run(NULL, "advise", "--json", path, NULL);
	ck_assert_int_eq(run.code, 0);
	json_free(json_expect(run.out, run.out_bytes));
	ck_assert_ptr_nonnull(strstr(run.out, "\"rule\": \"warm-up\""));
	ck_assert_ptr_nonnull(strstr(run.out, "run \\\"a\\\"\\u001b[31m: the first 1 of 20"));
	ck_assert_ptr_nonnull(strstr(run.out, "\"confidence\": \"high\", \"count\": 1,"));
	ck_assert_ptr_nonnull(strstr(run.out, "\"start_ns\": 0, \"end_ns\": 6000000, \"gain_ns\": "));
	ck_assert_ptr_nonnull(strstr(run.out, "\"track\": \"ma\\\"in\""));
	command_free(&run);
}
END_TEST

START_TEST(a_rule_is_explained)
{
	struct command run = command_run(NULL, "advise", "--explain", "host-bound", NULL);
	ck_assert_int_eq(run.code, 0);
	ck_assert_ptr_eq(strstr(run.out, "host-bound: "), run.out);
	ck_assert_ptr_nonnull(strstr(run.out, "\nTry:\n"));
	ck_assert_ptr_nonnull(strstr(run.out, "\nSQL:\n"));
	command_free(&run);
	run = command_run(NULL, "help", "advise", NULL);
	ck_assert_ptr_nonnull(strstr(run.out, "  host-bound "));
	command_free(&run);
}
END_TEST

START_TEST(errors_are_reported)
{
	write_runs(1000000);
	EXPECT(2, "no rule 'host-bond'; did you mean 'host-bound'?", "advise", "--explain", "host-bond");
	EXPECT(2, "--explain has no trace", "advise", "--explain", "host-bound", path);
	EXPECT(2, "which trace?", "advise");
	EXPECT(5, "nothing.epp", "advise", "nothing.epp");
	ck_assert_int_eq(truncate(path, 100), 0);
	EXPECT(5, "trace.epp", "advise", path);
}
END_TEST

START_TEST(a_full_disk_is_reported)
{
	write_runs(6000000);
	struct command run = command_run("/dev/full", "advise", path, NULL);
	ck_assert_int_eq(run.code, 1);
	ck_assert_ptr_nonnull(strstr(run.err, "No space left"));
	command_free(&run);
}
END_TEST

static Suite *advise_suite(void)
{
	Suite *suite = suite_create("advise");
	TCase *tests = tcase_create("advise");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, text_has_the_finding_and_its_places);
	tcase_add_test(tests, json_is_strict);
	tcase_add_test(tests, a_rule_is_explained);
	tcase_add_test(tests, errors_are_reported);
	tcase_add_test(tests, a_full_disk_is_reported);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(advise_suite)

/* epprof run: which host events caused the events of execution providers, by id, by thread, by containment, or none.
 * With the library of tests/fake_ort, as in check_cli_run.c.  Covers runtime/provider_events/causes.c. */
#include <string.h>

#include "tests/cli/run/fake_run.h"
#include "tests/support/check.h"

/* A profile does not say when it began; its host events do, and if they enclose no kernel the kernels' causes do. */
START_TEST(kernels_far_from_their_causes_are_placed)
{
	setenv("FAKE_ORT", "kernels=late", 1);
	EXPECT(0, "", MODEL, "--run-level", "--ep", SAMPLE_EP, "--shape", "x=3,4", "--runs", "30", "--threads", "2");
	struct command run = command_run(NULL, "summary", "--format", "json", "model.epp", NULL);
	struct json *summary = json_expect(run.out, run.out_bytes);
	ck_assert_int_eq(count_of(summary, "kernels", "kernel of gemm"), 31);
	ck_assert_int_eq(total_of(summary, "correlated"), 31);
	json_free(summary);
	command_free(&run);
}
END_TEST

START_TEST(kernels_that_cannot_be_placed_are_counted)
{
	setenv("FAKE_ORT", "kernels=lost", 1);
	EXPECT(0, "", MODEL, "--run-level", "--ep", SAMPLE_EP, "--shape", "x=3,4", "--runs", "30");
	struct command run = command_run(NULL, "summary", "model.epp", NULL);
	ck_assert_msg(strstr(run.out, "lost    31 events: 31 refused") != NULL, "%s", run.out);
	command_free(&run);
	run = command_run(NULL, "validate", "model.epp", NULL);
	ck_assert_msg(run.code == 0, "%s%s", run.out, run.err);
	command_free(&run);
}
END_TEST

/* Nodes of two threads that began in the same microsecond have the same id.  The kernel at the end of the one that
 * lasted lies in no other, which makes that one likely; the other's lies in both, so it is nobody's. */
START_TEST(causes_that_began_together_are_told_apart_by_when_they_ended)
{
	setenv("FAKE_ORT", "twins", 1);
	EXPECT(0, "", MODEL, "--ep", SAMPLE_EP, "--shape", "x=3,4", "--runs", "20", "--warmup", "0", "--threads", "2");
	struct json *summary = summary_of("model.epp");
	ck_assert_int_eq(count_of(summary, "kernels", "kernel of gemm"), 20);
	ck_assert_int_eq(total_of(summary, "correlated"), 0);
	ck_assert_int_eq(total_of(summary, "inferred"), 10);
	ck_assert_int_eq(total_of(summary, "ambiguous"), 10);
	ck_assert_int_eq(total_of(summary, "uncorrelated"), 0);
	ck_assert_int_eq(total_of(summary, "outside_parent"), 0);
	json_free(summary);
}
END_TEST

/* Kernels that name no cause: the host event around one is taken and marked where only one thread has any, else none
 * is. */
START_TEST(kernels_that_name_no_cause)
{
	setenv("FAKE_ORT", "kernels=alone", 1);
	EXPECT(0, "", MODEL, "--ep", SAMPLE_EP, "--shape", "x=3,4", "--runs", "20", "--warmup", "0");
	struct json *summary = summary_of("model.epp");
	ck_assert_int_eq(total_of(summary, "correlated"), 0);
	ck_assert_int_eq(total_of(summary, "inferred"), 20);
	ck_assert_int_eq(total_of(summary, "ambiguous") + total_of(summary, "uncorrelated"), 0);
	json_free(summary);
	setenv("FAKE_ORT", "kernels=alone twins", 1);
	EXPECT(0, "", "--force", MODEL, "--ep", SAMPLE_EP, "--shape", "x=3,4", "--runs", "20", "--warmup", "0",
	       "--threads", "2");
	summary = summary_of("model.epp");
	ck_assert_int_eq(total_of(summary, "correlated"), 0);
	ck_assert_int_ge(total_of(summary, "ambiguous"), 10);
	ck_assert_int_eq(total_of(summary, "inferred") + total_of(summary, "ambiguous"), 20);
	json_free(summary);
	struct command run = command_run(NULL, "summary", "model.epp", NULL);
	ck_assert_msg(strstr(run.out, " ambiguous") != NULL, "%s", run.out);
	command_free(&run);
	run = command_run(NULL, "summary", "--format", "csv", "model.epp", NULL);
	ck_assert_msg(strstr(run.out, "\njoin,correlated,,0,") && strstr(run.out, "\njoin,ambiguous,,"), "%s", run.out);
	command_free(&run);
}
END_TEST

/* Whether no two kernels have the same parent. */
static bool each_has_its_own_parent(const char *lines)
{
	char parents[64][24];
	size_t count = 0;

	for (const char *line = strstr(lines, "\"kernel of gemm\""); line; line = strstr(line + 1, "\"kernel of gemm\"")) {
		const char *parent = strstr(line, "\"parent\":\"");
		if (!parent || parent > strchr(line, '\n') || count == 64 ||
		    sscanf(parent, "\"parent\":\"%23[0-9]", parents[count]) != 1)
			return false;
		for (size_t i = 0; i < count; i++) {
			if (strcmp(parents[i], parents[count]) == 0)
				return false;
		}
		count++;
	}
	return count > 0;
}

START_TEST(causes_that_began_together_are_told_apart_by_their_threads)
{
	setenv("FAKE_ORT", "twins=told", 1);
	EXPECT(0, "", MODEL, "--ep", SAMPLE_EP, "--shape", "x=3,4", "--runs", "20", "--warmup", "0", "--threads", "2");
	struct json *summary = summary_of("model.epp");
	ck_assert_int_eq(total_of(summary, "correlated"), 20);
	ck_assert_int_eq(total_of(summary, "outside_parent"), 0);
	json_free(summary);
	struct command run = command_run(NULL, "convert", "-t", "ndjson", "-o", "-", "model.epp", NULL);
	ck_assert(each_has_its_own_parent(run.out));
	command_free(&run);
}
END_TEST

static Suite *cli_run_causes_suite(void)
{
	Suite *suite = suite_create("cli_run_causes");
	TCase *tests = tcase_create("cli_run_causes");
	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, begin, NULL);
	tcase_add_test(tests, kernels_far_from_their_causes_are_placed);
	tcase_add_test(tests, kernels_that_cannot_be_placed_are_counted);
	tcase_add_test(tests, causes_that_began_together_are_told_apart_by_when_they_ended);
	tcase_add_test(tests, kernels_that_name_no_cause);
	tcase_add_test(tests, causes_that_began_together_are_told_apart_by_their_threads);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(cli_run_causes_suite)

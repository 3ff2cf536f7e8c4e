/* epprof run, with a library that only plays ONNX Runtime (tests/fake_ort): how large a trace becomes.  Covers
 * runtime/provider_events/ring_limit.c. */
#include <errno.h>
#include <sys/syscall.h>

#include "tests/cli/run/fake_run.h"
#include "tests/support/denied.h"
#include "tests/support/emulated.h"

static char *run_err(int code, const char *option, const char *value, const char *runs)
{
	struct command run = command_run(NULL, "run", "--force", MODEL, "--shape", "x=1,4", "--runs", runs, option,
	                                 value, NULL);
	char *err = strdup(run.err);

	ck_assert_msg(run.code == code, "status %d: %s", run.code, run.err);
	ck_assert_int_eq(code != 0, run.out[0] == 0);
	command_free(&run);
	return err;
}

/* A number of the summary. */
static unsigned long long number(const char *name)
{
	struct command run = command_run(NULL, "summary", "--format", "json", "model.epp", NULL);
	char key[64];

	snprintf(key, sizeof key, "\"%s\":", name);
	const char *at = strstr(run.out, key);
	ck_assert_msg(run.code == 0 && at, "%s", run.err);
	unsigned long long count = strtoull(at + strlen(key), NULL, 10);
	command_free(&run);
	return count;
}

/* How many events the limit has cost. */
static unsigned long long lost(void)
{
	struct command run = command_run(NULL, "validate", "model.epp", NULL);

	ck_assert_msg(run.code == 0, "%s%s", run.out, run.err);
	command_free(&run);
	return number("lost");
}

static long long trace_bytes(void)
{
	struct stat st;

	ck_assert_int_eq(stat("model.epp", &st), 0);
	return (long long)st.st_size;
}

#define RUNS "110000"

START_TEST(a_trace_is_a_ring)
{
	write_model(MODEL, "input x 1 N,4\nnode add CPUExecutionProvider\nnode softmax CPUExecutionProvider\n");
	char *err = run_err(0, "--warmup", "1", "1");
	ck_assert_str_eq(err, TOLD_LIMIT);
	free(err);
	ck_assert_uint_eq(lost(), 0);

	err = run_err(0, "--max-bytes", "0", RUNS);
	ck_assert_str_eq(err, "");
	free(err);
	ck_assert_uint_eq(lost(), 0);
	long long all_bytes = trace_bytes();
	ck_assert_int_gt(all_bytes, 16 << 20);

	err = run_err(0, "--max-bytes", "4M", RUNS);
	ck_assert_str_eq(err, "epprof: the trace keeps the newest 4.0 MiB (--max-bytes sets the limit, 0 is none)\n");
	free(err);
	ck_assert_uint_gt(lost(), 100000);
	ck_assert_int_lt(trace_bytes(), all_bytes / 2);
}
END_TEST

/* Kernels come at the end, all at once: they must not push the host events out that caused them.  Not validated: here
 * they begin with their causes, which a thread that is preempted records late. */
START_TEST(kernels_and_their_causes_are_kept_together)
{
	for (int run_level = 0; run_level < 2; run_level++) {
		struct command run = command_run(NULL, "run", "--force", MODEL, "--shape", "x=1,4", "--runs",
		                                 run_level ? "10000" : "40000", "--max-bytes", "4M", "--ep", SAMPLE_EP,
		                                 run_level ? "--run-level" : NULL, NULL);
		ck_assert_msg(run.code == 0, "%s", run.err);
		command_free(&run);
		ck_assert_uint_gt(number("lost"), 1000);
		ck_assert_uint_gt(number("host_events"), 5000);
		ck_assert_uint_gt(number("device_events"), 1000);
		ck_assert_uint_eq(number("uncorrelated"), 0);
		ck_assert_uint_eq(number("correlated"), number("device_events"));
		run = command_run(NULL, "summary", "model.epp", NULL);
		ck_assert_msg(strstr(run.out, "filtered: kernels of runs that the size limit does not keep") != NULL,
		              "%s", run.out);
		command_free(&run);
	}
}
END_TEST

/* Kernels of the first runs alone, as of a provider whose buffers are full: the trace does not keep their causes. */
START_TEST(kernels_that_come_early)
{
	setenv("FAKE_ORT", "kernels=first", 1);
	struct command run = command_run(NULL, "run", MODEL, "--shape", "x=1,4", "--runs", RUNS, "--max-bytes", "4M",
	                                 "--ep", SAMPLE_EP, NULL);
	ck_assert_msg(run.code == 0, "%s", run.err);
	ck_assert_msg(strstr(run.out, "kernels none of the runs that --max-bytes keeps\n") != NULL, "%s", run.out);
	command_free(&run);
	ck_assert_uint_eq(number("device_events"), 0);
	/* What would have been the kernels' is the host events': how many they are depends on how well their times
	 * pack. */
	ck_assert_int_gt(trace_bytes(), 4 << 20);
	ck_assert_uint_gt(number("host_events"), 5000);
}
END_TEST

START_TEST(limits_that_are_refused)
{
	static const char *const wrong[] = { "-1", "", "2GB", "G", "1.5G", "99999999999G", "many", "4194303", "1" };

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		char *err = run_err(2, "--max-bytes", wrong[i], "1");
		ck_assert_msg(strstr(err, "--max-bytes '") != NULL, "%s", err);
		free(err);
	}
}
END_TEST

START_TEST(a_lossless_trace)
{
	struct command run = command_run(NULL, "run", "--force", MODEL, "--shape", "x=1,4", "--lossless", NULL);
	ck_assert_msg(run.code == 0, "%s", run.err);
	command_free(&run);
	/* The session is asked for it: it refuses where it could not do it. */
	if (emulated_without("calls cannot be forbidden"))
		return;
	deny_system_call(SYS_membarrier, ENOSYS);
	run = command_run(NULL, "run", "--force", MODEL, "--shape", "x=1,4", "--lossless", NULL);
	ck_assert_int_eq(run.code, 1);
	ck_assert_msg(strstr(run.err, "lossless needs membarrier(2)") != NULL, "%s", run.err);
	command_free(&run);
}
END_TEST

static Suite *cli_run_limit_suite(void)
{
	Suite *suite = suite_create("cli_run_limit");
	TCase *limit = tcase_create("limit");

	tcase_set_timeout(limit, 60);
	tcase_add_checked_fixture(limit, begin, NULL);
	tcase_add_test(limit, a_trace_is_a_ring);
	tcase_add_test(limit, kernels_and_their_causes_are_kept_together);
	tcase_add_test(limit, kernels_that_come_early);
	tcase_add_test(limit, limits_that_are_refused);
	tcase_add_test(limit, a_lossless_trace);
	suite_add_tcase(suite, limit);
	return suite;
}
CHECK_MAIN(cli_run_limit_suite)

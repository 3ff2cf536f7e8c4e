/* epprof run, with a library that only plays ONNX Runtime (tests/fake_ort): libraries that are found and those that
 * will not do, models and shapes that do not fit, threads, Ctrl-C, and what comes out.  Covers cli/run*.c;
 * tests/interop/check_run.py runs the same with ONNX Runtime itself. */
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/cli/run/fake_run.h"
#include "tests/support/check.h"
#include "tests/support/live_trace.h"

/* ---- what comes out ---- */

/* The last line tells the operators that make up 80 % of the nodes' time, the largest first. */
static void closes_with_what_takes_most(const char *out, const struct json *summary)
{
	const struct json *types = json_get(summary, "op_types"), *most = &types->items[0], *other = &types->items[1];
	char expected[256];

	ck_assert_uint_eq(types->count, 2);
	if (json_thousandths(most, "self_ns") < json_thousandths(other, "self_ns")) {
		most = &types->items[1];
		other = &types->items[0];
	}
	double part = (double)json_thousandths(most, "self_ns");
	part /= part + (double)json_thousandths(other, "self_ns");
	if (part >= 0.8)
		snprintf(expected, sizeof expected, "\n\n%.0f %% of the nodes' time: %s (1 of 2 operator types)\n",
		         100 * part, json_text(most, "name"));
	else
		snprintf(expected, sizeof expected,
		         "\n\n100 %% of the nodes' time: %s %.0f %%, %s %.0f %% (2 of 2 operator types)\n",
		         json_text(most, "name"), 100 * part, json_text(other, "name"), 100 * (1 - part));
	ck_assert_msg(strlen(out) > strlen(expected) && !strcmp(out + strlen(out) - strlen(expected), expected),
	              "not at the end: %sof %s", expected, out);
}

START_TEST(a_model_runs)
{
	struct command run = command_run(NULL, "run", MODEL, "--ep", SAMPLE_EP, "--shape", "x=3,4", "--runs", "7",
	                                 "--warmup", "2", NULL);

	ck_assert_msg(run.code == 0, "%s", run.err);
	ck_assert_str_eq(run.err, TOLD_LIMIT);
	ck_assert_ptr_nonnull(strstr(run.out, MODEL " on ONNX Runtime 1.30.0 (" FAKE ")"));
	ck_assert_ptr_nonnull(strstr(run.out, "  runs    7 of 7 on 1 thread, "));
	ck_assert_ptr_nonnull(strstr(run.out, "  nodes   1 on SampleEP, 1 on ONNX Runtime's own\n"));
	ck_assert_ptr_nonnull(strstr(run.out, "  kernels from ONNX Runtime's own profile"));
	ck_assert_ptr_nonnull(strstr(run.out, "By op, on the host"));
	ck_assert_ptr_nonnull(strstr(run.out, "By kernel, on devices"));
	ck_assert_ptr_null(strstr(run.out, "By thread"));
	struct json *summary = summary_of("model.epp");
	closes_with_what_takes_most(run.out, summary);
	command_free(&run);
	ck_assert_int_eq(count_of(summary, "ops", "model_run"), 9);
	ck_assert_int_eq(count_of(summary, "ops", "gemm"), 9);
	ck_assert_int_eq(count_of(summary, "ops", "session_initialization"), 1);
	ck_assert_int_eq(count_of(summary, "kernels", "kernel of gemm"), 9);
	ck_assert_int_eq(total_of(summary, "correlated"), 9);
	ck_assert_int_eq(total_of(summary, "outside_parent"), 0);
	const struct json *stream = &json_get(summary, "streams")->items[0];
	ck_assert_str_eq(json_text(stream, "name"), "stream 3");
	json_free(summary);
	ck_assert(logged("value x type 1 dims 3,4 "));
	ck_assert(logged("api 29\n"));
	ck_assert(logged("unregister\nunregister\nreleased\n"));
	/* Nothing is left. */
	ck_assert_int_eq(rmdir(check_path("temporary")), 0);
}
END_TEST

START_TEST(each_run_can_be_profiled_by_itself)
{
	EXPECT(0, "", MODEL, "--run-level", "--ep", SAMPLE_EP, "--shape", "x=3,4", "--runs", "30", "--threads", "2");
	struct json *summary = summary_of("model.epp");
	ck_assert_int_eq(count_of(summary, "ops", "model_run"), 31);
	ck_assert_int_eq(count_of(summary, "ops", "session_initialization"), 0);
	ck_assert_int_eq(count_of(summary, "kernels", "kernel of gemm"), 31);
	ck_assert_int_eq(total_of(summary, "correlated"), 31);
	json_free(summary);
	ck_assert_int_eq(rmdir(check_path("temporary")), 0);
}
END_TEST

START_TEST(threads_share_the_runs)
{
	setenv("FAKE_ORT", "run_ms=2", 1);
	EXPECT(0, "", MODEL, "--threads", "4", "--parallel", "--shape", "x=3,4", "--runs", "60", "--warmup", "0");
	struct json *summary = summary_of("model.epp");
	ck_assert_int_eq(count_of(summary, "ops", "model_run"), 60);
	const struct json *threads = json_get(summary, "threads");
	size_t running = 0;
	for (size_t i = 0; i < threads->count; i++)
		running += strncmp(json_text(&threads->items[i], "name"), "run ", 4) == 0;
	ck_assert_uint_eq(running, 4);
	json_free(summary);
	ck_assert(logged("mode 1\n"));
}
END_TEST

START_TEST(what_is_logged_is_told)
{
	setenv("FAKE_ORT", "log=trouble\x1b[31m", 1);
	EXPECT(0, "epprof: ONNX Runtime: trouble\xEF\xBF\xBD[31m\n", MODEL, "--shape", "x=3,4");
}
END_TEST

START_TEST(an_ep_without_nodes_is_told)
{
	write_model(MODEL, "node softmax CPUExecutionProvider\n");
	EXPECT(0, "'SampleEP' claims no node of the model", MODEL, "--ep", SAMPLE_EP);
	struct command run = command_run(NULL, "run", "--force", MODEL, "--ep", SAMPLE_EP ":SampleEP", NULL);
	ck_assert_ptr_nonnull(strstr(run.out, "0 on SampleEP, 1 on ONNX Runtime's own"));
	ck_assert_ptr_nonnull(strstr(run.out, "kernels none; no provider gave events"));
	command_free(&run);
}
END_TEST

/* ---- where it goes ---- */

START_TEST(a_trace_is_not_replaced_unasked)
{
	write_bytes("model.epp", "mine", 4);
	EXPECT(1, "model.epp: File exists; --force replaces it", MODEL);
	size_t bytes;
	char *kept = command_file("model.epp", &bytes);
	ck_assert_str_eq(kept, "mine");
	free(kept);
	EXPECT(0, "", "--force", MODEL, "--shape", "x=3,4");
	json_free(summary_of("model.epp"));
	EXPECT(0, "", "-o", "other.epp", MODEL, "--shape", "x=3,4");
	json_free(summary_of("other.epp"));
	EXPECT(1, "nowhere/x.epp: No such file or directory", "-o", "nowhere/x.epp", MODEL);
	EXPECT(2, "'" MODEL "' is the model itself", "--force", "-o", MODEL, MODEL);
	EXPECT(2, "cannot be written to standard output", "-o", "-", MODEL);
	EXPECT(2, "a '%' would be expanded", "-o", "run-%pid%.epp", MODEL);
}
END_TEST

START_TEST(a_failure_leaves_nothing)
{
	write_bytes("broken.onnx", "no model", 8);
	EXPECT(1, "broken.onnx: Protobuf parsing failed.\n", "broken.onnx");
	ck_assert_int_ne(access("broken.epp", F_OK), 0);
	EXPECT(1, "nothere.onnx: No such file or directory", "nothere.onnx");
	setenv("FAKE_ORT", "fail=CreateSession", 1);
	EXPECT(1, MODEL ": it fails for a test\n", MODEL);
	setenv("FAKE_ORT", "fail=Run", 1);
	EXPECT(1, MODEL ": it fails for a test\n", MODEL, "--shape", "x=3,4", "--threads", "2");
	ck_assert_int_ne(access("model.epp", F_OK), 0);
	ck_assert_int_eq(rmdir(check_path("temporary")), 0);
}
END_TEST

START_TEST(mistakes_are_explained)
{
	EXPECT(2, "which model?", "--runs", "3");
	EXPECT(2, "one model at a time: 'b.onnx' is too much", MODEL, "b.onnx");
	EXPECT(2, "--runs '0': the number is too small", "--runs", "0", MODEL);
	EXPECT(2, "--threads 'two'", "--threads", "two", MODEL);
	EXPECT(2, "did you mean '--warmup'?", "--warm-up", "1", MODEL);
	/* Before a library is looked for. */
	EXPECT(1, "epprof: missing.onnx: No such file or directory\n", "--ort", "./nothere.so", "missing.onnx");
	EXPECT(1, "--ep nothere.so: No such file or directory", "--ep", "nothere.so", MODEL);
	EXPECT(1, "it has no provider 'Other'; it has 'SampleEP'", "--ep", SAMPLE_EP ":Other", MODEL);
	EXPECT(1, "no symbol CreateEpFactories", "--ep", FAKE, MODEL);
}
END_TEST

/* ---- libraries ---- */

START_TEST(libraries_that_will_not_do)
{
	EXPECT(1, "nothere.so: cannot open shared object file", "--ort", "./nothere.so", MODEL);
	EXPECT(1, "not ONNX Runtime: no symbol 'OrtGetApiBase'", "--ort", SAMPLE_EP, MODEL);
	write_bytes("text.so", "text", 4);
	EXPECT(1, "./text.so: ", "--ort", "./text.so", MODEL);
	setenv("FAKE_ORT", "version=1.24.2", 1);
	EXPECT(1, "EPPROF_ORT: " FAKE ": ONNX Runtime 1.24.2 is too old: profilers are there from 1.25 on", MODEL);
	setenv("FAKE_ORT", "version=2.0.0", 1);
	EXPECT(1, "its version is '2.0.0', which is not a version of ONNX Runtime", MODEL);
	setenv("FAKE_ORT", "version=1.x", 1);
	EXPECT(1, "is too old", MODEL);
	setenv("FAKE_ORT", "no_tables", 1);
	EXPECT(1, "has no tables for API version", MODEL);
}
END_TEST

/* In version 1.25 the entry that a younger slot would be aborts. */
START_TEST(no_slot_is_touched_that_a_version_lacks)
{
	static const char *const versions[] = { "version=1.25.0", "version=1.29.1", "version=1.99.0" };
	static const char *const asked[] = { "api 25\n", "api 29\n", "api 29\n" };

	setenv("FAKE_ORT", versions[_i], 1);
	EXPECT(0, "", MODEL, "--ep", SAMPLE_EP, "--shape", "x=3,4", "--threads", "2");
	EXPECT(0, "", "--force", MODEL, "--ep", SAMPLE_EP, "--shape", "x=3,4", "--run-level");
	ck_assert(logged(asked[_i]));
	json_free(summary_of("model.epp"));
}
END_TEST

/* A python3 that says it has a package; what it prints is its own affair. */
static void write_python(const char *folder, const char *printed)
{
	char path[600], text[1200];

	mkdir(folder, 0700);
	snprintf(path, sizeof path, "%s/python3", folder);
	snprintf(text, sizeof text, "#!/bin/sh\necho '%s'\n", printed);
	write_bytes(path, text, strlen(text));
	chmod(path, 0700);
}

START_TEST(the_library_is_looked_for)
{
	char path[4096];

	unsetenv("EPPROF_ORT");
	write_python("bin", "/nowhere/libonnxruntime.so");
	snprintf(path, sizeof path, "%s/bin:%s", check_directory_path, getenv("PATH"));
	setenv("PATH", path, 1);
	/* There may be one on this machine; whatever it is, it does not load this model. */
	struct command run = command_run(NULL, "run", MODEL, NULL);
	ck_assert_int_eq(run.code, 1);
	if (strstr(run.err, "no ONNX Runtime of version")) {
		ck_assert_ptr_nonnull(strstr(run.err, "/nowhere/libonnxruntime.so"));
		ck_assert_ptr_nonnull(strstr(run.err, "--ort"));
		write_python("bin", FAKE);
		EXPECT(0, "", MODEL, "--shape", "x=3,4");
		/* The virtual environment goes before, and what does not do there does not end the search. */
		mkdir("venv", 0700);
		write_python("venv/bin", "/nowhere/either.so");
		setenv("VIRTUAL_ENV", check_path("venv"), 1);
		EXPECT(0, "", "--force", MODEL, "--shape", "x=3,4");
	} else {
		printf("SKIP: there is a libonnxruntime.so that the loader finds\n");
	}
	command_free(&run);
}
END_TEST

/* ---- shapes and inputs ---- */

START_TEST(a_shape_is_suggested_where_1_is_too_small)
{
	write_model(MODEL, "input x 1 ?,?\ninput state 1 2,?,8\n");
	setenv("FAKE_ORT", "needs=256", 1);
	EXPECT(1, "epprof: the smallest size tried with which the model runs: --shape x=1,256\n", MODEL);
	EXPECT(0, "", MODEL, "--force", "--shape", "x=1,256", "--shape", "state=2,1,8");
	/* Dimensions of one name are equal. */
	write_model(MODEL, "input x 1 N\ninput y 1 N,4\n");
	setenv("FAKE_ORT", "needs=3", 1);
	EXPECT(1, "the model runs: --shape x=3 --shape y=3,4\n", MODEL, "--force");
	setenv("FAKE_ORT", "needs=5000", 1);
	EXPECT(1, "epprof: the model runs with no size from 2 to 1024", MODEL, "--force");
	/* Nothing is open. */
	EXPECT(1, "a dimension is too small\n", MODEL, "--force", "--shape", "x=2", "--shape", "y=2,4");
}
END_TEST

START_TEST(open_dimensions_are_taken_as_1_and_told)
{
	write_model(MODEL, "input x 1 N,4\ninput ids 7 N,?\ninput s 11 -\n");
	EXPECT(0, "epprof: input 'x' has the shape N,4; it is taken as 1,4 (--shape x=... sets it)\n", MODEL);
	EXPECT(0, "input 'ids' has the shape N,?; it is taken as 6,1", "--force", MODEL, "--shape", "x=6,4");
	ck_assert(logged("value x type 1 dims 6,4 "));
	ck_assert(logged("value ids type 7 dims 6,1 "));
	ck_assert(logged("value s type 11 dims  "));
}
END_TEST

START_TEST(shapes_that_do_not_fit)
{
	EXPECT(1, "--shape: the model has no input 'y'; it has 'x'", MODEL, "--shape", "y=3,4");
	EXPECT(1, "--shape x=3,5: the model's input 'x' has the shape N,4", MODEL, "--shape", "x=3,5");
	EXPECT(1, "--shape x=3: the model's input 'x' has the shape N,4", MODEL, "--shape", "x=3");
	EXPECT(1, "'-1' is too small", MODEL, "--shape", "x=-1,4");
	EXPECT(1, "'' is invalid", MODEL, "--shape", "x=,4");
	EXPECT(1, "--shape x: not NAME=8,64", MODEL, "--shape", "x");
	EXPECT(1, "'99999999999999999999999' is too large", MODEL, "--shape", "x=99999999999999999999999999,4");
	write_model(MODEL, "input x 1 A,B,C\n");
	EXPECT(1, "input 'x': its shape is larger than any memory", MODEL, "--shape", "x=2147483647,2147483647,2147483647");
	EXPECT(1, "input 'x': no memory for that", MODEL, "--shape", "x=1000,1000,1000");
	write_model(MODEL, "input sequence 1 -\n");
	EXPECT(1, "input 'sequence': it is not a tensor", MODEL);
	write_model(MODEL, "input x 23 4\n");
	EXPECT(1, "input 'x': values of ONNX's type 23 are not supported", MODEL);
}
END_TEST

START_TEST(random_values_suit_their_type)
{
	/* Of four: floats below 1 (a half's exponent is at most 14, a brain's 126), integers 0 or 1. */
	for (int type = 1; type <= 16; type++) {
		char line[64], expected[64];
		if (type == 14 || type == 15)
			continue;
		snprintf(line, sizeof line, "input x %d 4\n", type);
		write_model(MODEL, line);
		unlink(check_path("log"));
		EXPECT(0, "", "--force", MODEL);
		snprintf(expected, sizeof expected, "value x type %d dims 4 %s", type, type == 8 ? "<><><><>\n" : "");
		ck_assert_msg(logged(expected), "type %d", type);
	}
	unlink(check_path("log"));
	write_model(MODEL, "input x 7 2\n");
	EXPECT(0, "", "--force", MODEL);
	size_t bytes;
	char *log = command_file(check_path("log"), &bytes), *values = strstr(log, "dims 2 ");
	ck_assert_ptr_nonnull(values);
	ck_assert_int_eq(strncmp(values + 9, "00000000000000", 14), 0);
	ck_assert(strncmp(values + 7, "00", 2) == 0 || strncmp(values + 7, "01", 2) == 0);
	free(log);
	for (int type = 10; type <= 16; type += 6) {
		unlink(check_path("log"));
		write_model(MODEL, type == 10 ? "input x 10 8\n" : "input x 16 8\n");
		EXPECT(0, "", "--force", MODEL);
		log = command_file(check_path("log"), &bytes);
		values = strstr(log, "dims 8 ") + 7;
		bool any = false;
		for (int i = 0; i < 8; i++) {
			unsigned low, high;
			ck_assert_int_eq(sscanf(values + i * 4, "%2x%2x", &low, &high), 2);
			ck_assert_uint_lt(high << 8 | low, type == 10 ? 0x3C00 : 0x3F80);
			any = any || low || high;
		}
		ck_assert(any);
		free(log);
	}
}
END_TEST

/* ---- Ctrl-C ---- */

static void wait_for_log(const char *text)
{
	for (int i = 0; i < 3000 && !logged(text); i++)
		usleep(10000);
	ck_assert(logged(text));
}

START_TEST(an_interrupted_run_keeps_its_trace)
{
	char *out, *err;
	size_t bytes;

	setenv("FAKE_ORT", "run_ms=5", 1);
	pid_t pid = command_start("out", "err", "run", MODEL, "--runs", "100000", "--threads", "2", "--shape", "x=3,4",
	                          "--warmup", "0", NULL);
	for (int i = 0; i < 3000 && !live_trace_has("model.epp", "model_run"); i++)
		usleep(10000);
	kill(pid, SIGINT);
	ck_assert_int_eq(command_wait(pid), -SIGINT);
	out = command_file("out", &bytes);
	err = command_file("err", &bytes);
	ck_assert_msg(strstr(out, " of 100,000 on 2 threads") != NULL, "%s%s", out, err);
	ck_assert_ptr_nonnull(strstr(out, "; ended by Interrupt"));
	ck_assert_ptr_nonnull(strstr(out, "By op, on the host"));
	ck_assert_str_eq(err, TOLD_LIMIT);
	struct json *summary = summary_of("model.epp");
	ck_assert_int_gt(count_of(summary, "ops", "model_run"), 0);
	json_free(summary);
	free(out);
	free(err);
	ck_assert_int_eq(rmdir(check_path("temporary")), 0);
}
END_TEST

START_TEST(a_run_that_lasts_is_told_to_end)
{
	setenv("FAKE_ORT", "run_ms=600000", 1);
	pid_t pid = command_start("out", "err", "run", MODEL, "--shape", "x=3,4", NULL);
	wait_for_log("value x");
	usleep(100000);
	kill(pid, SIGTERM);
	ck_assert_int_eq(command_wait(pid), -SIGTERM);
	ck_assert(logged("terminate\n"));
}
END_TEST

static Suite *cli_run_suite(void)
{
	Suite *suite = suite_create("cli_run");
	TCase *results = tcase_create("results"), *libraries = tcase_create("libraries");
	TCase *inputs = tcase_create("inputs"), *signals = tcase_create("signals");

	tcase_add_checked_fixture(results, begin, NULL);
	tcase_add_test(results, a_model_runs);
	tcase_add_test(results, each_run_can_be_profiled_by_itself);
	tcase_add_test(results, threads_share_the_runs);
	tcase_add_test(results, what_is_logged_is_told);
	tcase_add_test(results, an_ep_without_nodes_is_told);
	tcase_add_test(results, a_trace_is_not_replaced_unasked);
	tcase_add_test(results, a_failure_leaves_nothing);
	tcase_add_test(results, mistakes_are_explained);
	suite_add_tcase(suite, results);

	tcase_add_checked_fixture(libraries, begin, NULL);
	tcase_add_test(libraries, libraries_that_will_not_do);
	tcase_add_loop_test(libraries, no_slot_is_touched_that_a_version_lacks, 0, 3);
	tcase_add_test(libraries, the_library_is_looked_for);
	suite_add_tcase(suite, libraries);

	tcase_add_checked_fixture(inputs, begin, NULL);
	tcase_add_test(inputs, a_shape_is_suggested_where_1_is_too_small);
	tcase_add_test(inputs, open_dimensions_are_taken_as_1_and_told);
	tcase_add_test(inputs, shapes_that_do_not_fit);
	tcase_add_test(inputs, random_values_suit_their_type);
	suite_add_tcase(suite, inputs);

	tcase_add_checked_fixture(signals, begin, NULL);
	tcase_add_test(signals, an_interrupted_run_keeps_its_trace);
	tcase_add_test(signals, a_run_that_lasts_is_told_to_end);
	suite_add_tcase(suite, signals);
	return suite;
}
CHECK_MAIN(cli_run_suite)

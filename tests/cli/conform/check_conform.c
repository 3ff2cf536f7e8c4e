/* epprof conform: each case finds the plugin that has its fault, and no other case objects to that plugin; the samples
 * pass everything. */
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/command_expect.h"
#include "tests/support/strict_json.h"

#define HOSTILE(kind) CHECK_BUILD "/tests/hostile/hostile_" kind ".so"
#define CASES_MAX 160

static struct listed {
	char name[64], kind[8]; /* the first of its kinds, of which there is a hostile plugin */
} cases[CASES_MAX];
static size_t cases_count;

static void list_cases(void)
{
	struct command list = command_run(NULL, "conform", "--level", "5", "--list", NULL);

	ck_assert_int_eq(list.code, 0);
	cases_count = 0;
	for (char *rest = list.out, *line; (line = strsep(&rest, "\n")) && *line;) {
		ck_assert_uint_lt(cases_count, CASES_MAX);
		struct listed *listed = &cases[cases_count];
		ck_assert_int_eq(sscanf(line, "%63s %7s", listed->name, listed->kind), 2);
		/* check_conform_model.c has these. */
		cases_count += !strstr(listed->name, ".model.");
	}
	command_free(&list);
	ck_assert_uint_gt(cases_count, 20);
}

static const char *expected_verdict(const char *name)
{
	static const char *const others[][2] = {
		{ "1.load.old_host", "crash" },
		{ "1.load.unload", "hang" },
		{ "1.load.prints", "warning" },
		{ "1.idle.threads", "warning" },
		{ "1.idle.calls", "warning" },
		{ "3.ids.interleaved", "crash" },
		{ "2.order.never_started", "crash" },
		{ "2.order.end_alone", "crash" },
		{ "2.order.start_twice", "hang" },
		{ "2.order.end_twice", "crash" },
		{ "2.order.events_outside", "crash" },
		{ "2.order.stop_alone", "crash" },
		{ "2.order.open_event", "hang" },
		{ "2.order.release_started", "crash" },
		{ "2.session.no_host_events", "crash" },
		{ "3.events.cost", "warning" },
		{ "4.clock.zero", "warning" },
		{ "5.fork.child", "hang" },
		{ "1.tf.newer_host", "crash" },
		{ "2.tf.destroyed", "crash" },
		{ "2.tf.start_twice", "hang" },
		{ "2.tf.stop_twice", "crash" },
		{ "2.tf.collect_early", "crash" },
		{ "2.tf.collect_running", "crash" },
		{ "2.tf.collect_twice", "crash" },
		{ "5.tf.random", "crash" },
		{ "2.pjrt.options", "crash" },
		{ "2.pjrt.never_started", "crash" },
		{ "2.pjrt.start_twice", "hang" },
		{ "2.pjrt.stop_twice", "crash" },
		{ "2.pjrt.collect_early", "crash" },
		{ "2.pjrt.collect_running", "crash" },
		{ "2.pjrt.collect_twice", "crash" },
		{ "2.pjrt.destroy_running", "crash" },
		{ "2.pjrt.destroy_null", "crash" },
		{ "3.pjrt.two", "crash" },
		{ "5.pjrt.random", "crash" },
		{ "2.pu1.tiny_buffers", "hang" },
		{ "2.pu1.pop_null", "crash" },
		{ "2.pu1.push_full", "crash" },
		{ "5.pu1.random", "crash" },
		{ "5.random.calls", "crash" },
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (strcmp(others[i][0], name) == 0)
			return others[i][1];
	}
#if !defined(__x86_64__) && !defined(__aarch64__)
	if (strncmp(name, "5.alloc.", 8) == 0)
		return "skip";
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	/* Their malloc does not count. */
	if (strcmp(name, "5.leak.memory") == 0)
		return "skip";
#endif
	return "fail";
}

/* The path of a hostile plugin, which from now on has the fault of this case. */
static const char *make_hostile(const struct listed *listed)
{
	static char path[512];

	snprintf(path, sizeof(path), CHECK_BUILD "/tests/hostile/hostile_%s.so", listed->kind);
	setenv("HOSTILE", listed->name, 1);
	return path;
}

START_TEST(each_case_finds_its_plugin)
{
	list_cases();
	for (size_t i = 0; i < cases_count; i++) {
		char only[80], wanted[128];
		const char *verdict = expected_verdict(cases[i].name), *library = make_hostile(&cases[i]);
		if (strcmp(verdict, "skip") == 0)
			continue;
		snprintf(only, sizeof(only), "^%.63s$", cases[i].name);
		struct command run = command_run(NULL, "conform", "--quick", "--case", only, "-o", check_path("one.json"),
		                                 "--limit", strcmp(verdict, "hang") == 0 ? "1s" : "100s", "--work",
		                                 "epp_sample_work", library, NULL);
		snprintf(wanted, sizeof(wanted), "%-7s  %.63s\n         expected  ", verdict, cases[i].name);
		ck_assert_msg(strncmp(run.out, wanted, strlen(wanted)) == 0, "%s: %s%s", cases[i].name, run.out, run.err);
		ck_assert_ptr_nonnull(strstr(run.out, "\n         seen      "));
		ck_assert_ptr_nonnull(strstr(run.out, "\n         contract  epprof/"));
		ck_assert_int_eq(run.code, strcmp(verdict, "warning") == 0 ? 0 : 1);
		command_free(&run);
	}
}
END_TEST

/* Starts the cases that match `selected` except `excluded`; the names of the output's files have the number. */
static pid_t start_all_except(const char *selected, const char *excluded, const char *library, size_t number)
{
	char except[96];

#if defined(__SANITIZE_ADDRESS__)
	/* A thread may have held a lock of the sanitizer's malloc at the fork; its search for leaks then hangs. */
	snprintf(except, sizeof(except), "^(%.63s|5.fork.child)$", excluded);
#else
	snprintf(except, sizeof(except), "^%.63s$", excluded);
#endif
	return command_start(check_path("out%zu", number), check_path("err%zu", number), "conform", "--quick", "--case",
	                     selected, "--limit", "100s", "--exclude", except, "-o", check_path("all%zu.json", number),
	                     "--work", "epp_sample_work", library, NULL);
}

/* The cases to run with a plugin that has the fault of this case.  Those of level 5 take long: only plugins with faults
 * of that level run them.  Faults of the calls of TensorFlow's, PU1's and PJRT's ABIs are invisible to the cases of all
 * ABIs, which therefore run only with CHECK_CONFORM_ALL. */
static const char *cases_to_pass(const struct listed *listed)
{
	static char selected[64];
	const char *levels = listed->name[0] == '5' ? "1-5" : "1-4";

	if (strcmp(listed->kind, "ort") == 0 || getenv("CHECK_CONFORM_ALL"))
		snprintf(selected, sizeof(selected), "^[%s]", levels);
	else
		snprintf(selected, sizeof(selected), "^[%s]\\.(%s|data)\\.", levels, listed->kind);
	return selected;
}

/* The output from the first case on that did not pass. */
static const char *from_failure(const char *out)
{
	static const char *const verdicts[] = { "\nfail ", "\ncrash ", "\nhang ", "\nwarning " };
	const char *first = NULL;

	for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
		const char *found = strstr(out, verdicts[i]);
		if (found && (!first || found < first))
			first = found;
	}
	return first ? first : out;
}

/* Expects that each case passed or was skipped.  Check cannot print more than some thousand characters. */
static void expect_no_failure(pid_t pid, const char *what, size_t number)
{
	int code = command_wait(pid);
	size_t bytes;
	char *out = command_file(check_path("out%zu", number), &bytes),
	     *err = command_file(check_path("err%zu", number), &bytes);

	ck_assert_msg(code == 0 && strstr(out, " pass") && !strstr(out, "warning"), "%s: status %d: %.2000s%.1000s",
	              what, code, from_failure(out), err);
	free(out);
	free(err);
}

/* Most of a case is waiting, so that several take hardly longer than one. */
#define AT_ONCE 8

START_TEST(each_plugin_fails_one_case)
{
	pid_t pids[AT_ONCE];

	list_cases();
	for (size_t from = 0; from < cases_count; from += AT_ONCE) {
		size_t count = cases_count - from < AT_ONCE ? cases_count - from : AT_ONCE;
		for (size_t i = 0; i < count; i++)
			pids[i] = start_all_except(cases_to_pass(&cases[from + i]), cases[from + i].name,
			                           make_hostile(&cases[from + i]), i);
		for (size_t i = 0; i < count; i++)
			expect_no_failure(pids[i], cases[from + i].name, i);
	}
}
END_TEST

START_TEST(good_plugins_pass)
{
	/* The first revision's table has no room in the struct of the accepted one: see the next test. */
	static const char *const libraries[][3] = {
		{ HOSTILE("ort"), "" },
		{ HOSTILE("tf"), "" },
		{ HOSTILE("pu1"), "" },
		{ HOSTILE("pjrt"), "" },
		{ CHECK_BUILD "/libsample_ort_ep.so", "" },
		{ CHECK_BUILD "/libsample_ort_ep.so", "", "SAMPLE_EP_LATE_MS=30" },
		{ CHECK_BUILD "/libsample_ort_ep.so", "", "SAMPLE_EP_DURATIONS_ONLY=1" },
		{ CHECK_BUILD "/libsample_ort_ep.so", "", "SAMPLE_EP_GRAPHS=1" },
		{ CHECK_BUILD "/libsample_cpp_ep.so", "" },
		{ CHECK_BUILD "/libsample_tf_ep.so", "" },
		{ CHECK_BUILD "/libsample_tf_first_ep.so", "1.tf.room" },
		{ CHECK_BUILD "/libsample_pu1_ep.so", "" },
		{ CHECK_BUILD "/libsample_pjrt_ep.so", "" },
	};
	enum { COUNT = sizeof(libraries) / sizeof(*libraries) };
	pid_t pids[COUNT];

	unsetenv("HOSTILE");
	for (size_t i = 0; i < COUNT; i++) {
		char option[64];
		snprintf(option, sizeof(option), "%s", libraries[i][2] ? libraries[i][2] : "NO_OPTION=1");
		char *value = strchr(option, '=');
		*value = '\0';
		setenv(option, value + 1, 1);
		pids[i] = start_all_except("", libraries[i][1], libraries[i][0], i);
		unsetenv(option);
	}
	for (size_t i = 0; i < COUNT; i++)
		expect_no_failure(pids[i], libraries[i][2] ? libraries[i][2] : libraries[i][0], i);
}
END_TEST

START_TEST(the_first_revision_of_tensorflow_has_no_room)
{
	unsetenv("HOSTILE");
	struct command run = command_run(NULL, "conform", "--case", "^1.tf.room$", "-o", check_path("room.json"),
	                                 CHECK_BUILD "/libsample_tf_first_ep.so", NULL);
	ck_assert_int_eq(run.code, 1);
	ck_assert_ptr_nonnull(strstr(run.out, "it wrote 8 bytes behind TP_ProfilerFns, which has 40 bytes"));
	command_free(&run);
}
END_TEST

static struct command run_two(const char *format, const char *waivers)
{
	setenv("HOSTILE", "1.load.entries", 1);
	return command_run(NULL, "conform", "--case", "^1\\.load\\.(library|entries|unload)$", "--format", format, "-o",
	                   check_path("two.json"), waivers ? "--waive" : "--seed", waivers ? waivers : "7",
	                   HOSTILE("ort"), NULL);
}

START_TEST(formats)
{
	struct command run = run_two("text", NULL);
	ck_assert_int_eq(run.code, 1);
	ck_assert_str_eq(strrchr(run.out, ':') - 7, "3 cases: 1 pass 1 fail 1 skip\n");
	command_free(&run);

	run = run_two("tap", NULL);
	ck_assert_int_eq(run.code, 1);
	ck_assert_str_eq(run.out, "TAP version 13\n1..3\nok 1 - 1.load.library\nnot ok 2 - 1.load.entries\n"
	                          "# fail: hostile_ort.so: CreateProfiler: the profiler's EndProfiling is NULL\n"
	                          "# expected: the profiler has version 25 or later, and the entries Release, "
	                          "StartProfiling and EndProfiling\n"
	                          "ok 3 - 1.load.unload # SKIP there is no profiler: hostile_ort.so: CreateProfiler: the "
	                          "profiler's EndProfiling is NULL\n");
	command_free(&run);

	run = run_two("junit", NULL);
	ck_assert_int_eq(run.code, 1);
	ck_assert_ptr_nonnull(strstr(run.out, "tests=\"3\">\n<testcase classname=\"level 1\" name=\"1.load.library\""));
	ck_assert_ptr_nonnull(strstr(
	    run.out,
	    "><failure type=\"fail\" message=\"hostile_ort.so: CreateProfiler: the profiler's EndProfiling is NULL\">expected: "));
	ck_assert_ptr_nonnull(strstr(run.out, "><skipped type=\"skip\" message=\"there is no profiler: "));
	command_free(&run);

	run = run_two("json", NULL);
	struct json *json = json_expect(run.out, run.out_bytes);
	const struct json *results = json_get(json, "results");
	ck_assert_uint_eq(strlen(json_text(json, "library_sha256")), 64);
	ck_assert_int_eq(json_thousandths(json, "seed"), 7000);
	ck_assert_uint_eq(results->count, 3);
	ck_assert_str_eq(json_text(&results->items[1], "verdict"), "fail");
	ck_assert_str_eq(json_text(&results->items[1], "seen"),
	                 "hostile_ort.so: CreateProfiler: the profiler's EndProfiling is NULL");
	json_free(json);
	/* The file has the same text. */
	size_t bytes;
	char *written = command_file(check_path("two.json"), &bytes);
	ck_assert_str_eq(written, run.out);
	free(written);
	command_free(&run);
}
END_TEST

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

START_TEST(waivers)
{
	const char *path = check_path("waivers");

	write_file(path, "# known\n\n1.load.entries  ends \"later\" & <never>\n1.load.library\n");
	struct command run = run_two("text", path);
	ck_assert_int_eq(run.code, 0);
	ck_assert_ptr_nonnull(strstr(run.out, "waived    ends \"later\" & <never>\n"));
	ck_assert_ptr_nonnull(strstr(run.out, "waived    but it passes: the waiver can be removed\n"));
	ck_assert_ptr_nonnull(strstr(run.out, "3 cases: 1 pass 1 fail 1 skip, 1 waived\n"));
	command_free(&run);
	run = run_two("tap", path);
	ck_assert_ptr_nonnull(strstr(run.out, "\nok 2 - 1.load.entries # SKIP waived: ends \"later\" & <never>\n"));
	command_free(&run);
	run = run_two("junit", path);
	ck_assert_ptr_nonnull(
	    strstr(run.out, "><skipped type=\"fail\" message=\"ends &quot;later&quot; &amp; &lt;never>\">"));
	command_free(&run);
	run = run_two("json", path);
	struct json *json = json_expect(run.out, run.out_bytes);
	ck_assert_str_eq(json_text(&json_get(json, "results")->items[1], "waiver"), "ends \"later\" & <never>");
	json_free(json);
	command_free(&run);

	write_file(path, "1.load.entry  a mistake\n");
	run = run_two("text", path);
	ck_assert_int_eq(run.code, 1);
	ck_assert_ptr_nonnull(strstr(run.err, "no case is called '1.load.entry'"));
	command_free(&run);
}
END_TEST

START_TEST(only_what_failed)
{
	struct command run = run_two("text", NULL);
	command_free(&run);
	run = command_run(NULL, "conform", "--only-failed", "-o", check_path("two.json"), HOSTILE("ort"), NULL);
	ck_assert_int_eq(run.code, 1);
	ck_assert_msg(strncmp(run.out, "fail     1.load.entries\n", 24) == 0, "%s", run.out);
	ck_assert_ptr_nonnull(strstr(run.out, "\n1 case: 1 fail\n"));
	command_free(&run);
	/* The fault is repaired; the file is as before. */
	setenv("HOSTILE", "", 1);
	run = command_run(NULL, "conform", "--only-failed", "-o", check_path("two.json"), HOSTILE("ort"), NULL);
	ck_assert_str_eq(run.out, "pass     1.load.entries\n1 case: 1 pass\n");
	ck_assert_int_eq(run.code, 0);
	command_free(&run);
	EXPECT(1, "none.json", "conform", "--only-failed", "-o", check_path("none.json"), HOSTILE("ort"));
}
END_TEST

START_TEST(output_of_the_plugin)
{
	setenv("HOSTILE", "1.load.prints", 1);
	struct command run = command_run(NULL, "conform", "--case", "prints", "--format", "json", "-o",
	                                 check_path("p.json"), HOSTILE("ort"), NULL);
	struct json *json = json_expect(run.out, run.out_bytes);
	ck_assert_str_eq(json_text(&json_get(json, "results")->items[0], "printed"), "hostile: a profiler is made\n");
	json_free(json);
	command_free(&run);
}
END_TEST

START_TEST(a_case_in_this_process)
{
	unsetenv("HOSTILE");
	EXPECT(0, "1.load.library: pass", "conform", "--in-process", "--case", "1.load.library", HOSTILE("ort"));
	setenv("HOSTILE", "1.load.library", 1);
	EXPECT(1, "1.load.library: fail", "conform", "--in-process", "--case", "1.load.library", HOSTILE("ort"));
	EXPECT(2, "--in-process runs one case", "conform", "--in-process", "--case", "1.load", HOSTILE("ort"));
}
END_TEST

/* The events of a trace whose text has these words. */
static size_t count_lines(const char *trace, const char *entry, const char *status)
{
	struct command convert = command_run(NULL, "convert", "-t", "ndjson", "-o", "-", trace, NULL);
	size_t count = 0;

	ck_assert_msg(convert.code == 0, "%s", convert.err);
	for (char *rest = convert.out, *line; (line = strsep(&rest, "\n"));)
		count += strstr(line, entry) && strstr(line, status);
	command_free(&convert);
	return count;
}

START_TEST(the_calls_as_a_trace)
{
	const char *trace = check_path("calls.epp"), *recovered = check_path("recovered.epp");

	setenv("HOSTILE", "", 1);
	EXPECT(0, "", "conform", "--trace", trace, "--case", "^2.order.end_twice$", "-o", check_path("t.json"),
	       HOSTILE("ort"));
	EXPECT(0, "", "validate", trace);
	ck_assert_uint_eq(count_lines(trace, "\"StartProfiling\"", "\"OK\""), 2);
	ck_assert_uint_eq(count_lines(trace, "\"EndProfiling\"", "\"OK\""), 3);

	/* A session makes these calls, inside of its own events. */
	EXPECT(0, "", "conform", "--quick", "--trace", trace, "--work", "epp_sample_work", "--case", "^3.ids.parent$",
	       "-o", check_path("t.json"), HOSTILE("ort"));
	size_t begins = count_lines(trace, "\"StartEvent\"", "\"OK\"");
	ck_assert_uint_ge(begins, 2);
	ck_assert_uint_eq(count_lines(trace, "\"StopEvent\"", "\"OK\""), begins);

	setenv("HOSTILE", "2.session.empty", 1);
	EXPECT(1, "", "conform", "--trace", trace, "--case", "^2.session.empty$", "-o", check_path("t.json"),
	       HOSTILE("ort"));
	ck_assert_uint_eq(count_lines(trace, "\"EndProfiling\"", "\"the hostile plugin fails\""), 1);

	/* The second call ends the process. */
	setenv("HOSTILE", "2.order.end_twice", 1);
	EXPECT(1, "", "conform", "--trace", trace, "--case", "^2.order.end_twice$", "-o", check_path("t.json"),
	       HOSTILE("ort"));
	EXPECT(0, "1 open", "recover", "-o", recovered, trace);
	ck_assert_uint_eq(count_lines(recovered, "\"EndProfiling\"", ""), 2);
	ck_assert_uint_eq(count_lines(recovered, "\"EndProfiling\"", "\"OK\""), 1);

	EXPECT(2, "--trace has the calls of one case", "conform", "--trace", trace, "--case", "^1.load", HOSTILE("ort"));
	setenv("HOSTILE", "", 1);
	struct command run = command_run(NULL, "conform", "--trace", "/nowhere/calls.epp", "--case", "1.load.library",
	                                 "-o", check_path("t.json"), HOSTILE("ort"), NULL);
	ck_assert_msg(strstr(run.out, "skip     1.load.library: no trace: /nowhere/calls.epp") != NULL, "%s", run.out);
	command_free(&run);
}
END_TEST

/* Records the calls of a case with a plugin of this kind that has the fault. */
static void trace_calls(const char *trace, const char *kind, const char *name, const char *fault, int code)
{
	struct listed plugin;

	snprintf(plugin.name, sizeof(plugin.name), "%s", fault);
	snprintf(plugin.kind, sizeof(plugin.kind), "%s", kind);
	EXPECT(code, "", "conform", "--trace", trace, "--case", name, "--work", "epp_sample_work", "-o",
	       check_path("t.json"), make_hostile(&plugin));
}

START_TEST(the_calls_of_each_abi_as_a_trace)
{
	const char *trace = check_path("calls.epp"), *recovered = check_path("recovered_pjrt.epp");

	trace_calls(trace, "tf", "^2.tf.stop_twice$", "", 0);
	ck_assert_uint_eq(count_lines(trace, "\"TF_InitProfiler\"", "\"OK\""), 1);
	ck_assert_uint_eq(count_lines(trace, "\"start\"", "\"OK\""), 2);
	ck_assert_uint_eq(count_lines(trace, "\"stop\"", "\"OK\""), 2);
	ck_assert_uint_eq(count_lines(trace, "\"stop\"", "\"it does not run\""), 1);
	ck_assert_uint_eq(count_lines(trace, "\"collect_data_xspace\"", "\"OK\""), 4);
	trace_calls(trace, "tf", "^2.tf.destroyed$", "", 0);
	ck_assert_uint_eq(count_lines(trace, "\"destroy_profiler\"", "\"OK\""), 2);

	trace_calls(trace, "pu1", "^2.pu1.pop_empty$", "", 0);
	ck_assert_uint_eq(count_lines(trace, "\"pu1PushExternalCorrelationId\"", "\"OK\""), 1);
	ck_assert_uint_eq(count_lines(trace, "\"pu1PopExternalCorrelationId\"", "\"OK\""), 1);
	ck_assert_uint_eq(count_lines(trace, "\"pu1PopExternalCorrelationId\"", "\"18\""), 2);

	trace_calls(trace, "pjrt", "^2.pjrt.stop_alone$", "", 0);
	ck_assert_uint_eq(count_lines(trace, "\"create\"", "\"OK\""), 2);
	ck_assert_uint_eq(count_lines(trace, "\"stop\"", "\"error\""), 1);
	ck_assert_uint_eq(count_lines(trace, "\"error_message\"", "\"it does not run\""), 1);
	ck_assert_uint_eq(count_lines(trace, "\"collect_data\"", "\"OK\""), 1);
	EXPECT(0, "", "validate", trace);

	/* The second stop ends the process. */
	trace_calls(trace, "pjrt", "^2.pjrt.stop_twice$", "2.pjrt.stop_twice", 1);
	EXPECT(0, "1 open", "recover", "-o", recovered, trace);
	ck_assert_uint_eq(count_lines(recovered, "\"stop\"", ""), 2);
	ck_assert_uint_eq(count_lines(recovered, "\"stop\"", "\"OK\""), 1);
}
END_TEST

/* The number behind `before` in a text. */
static long number_after(const char *text, const char *before)
{
	const char *at = strstr(text, before);

	ck_assert_ptr_nonnull(at);
	return strtol(at + strlen(before), NULL, 10);
}

START_TEST(random_calls_find_a_seed)
{
	static const char *const kinds[][2] = {
		{ HOSTILE("ort"), "5.random.calls" },
		{ HOSTILE("tf"), "5.tf.random" },
		{ HOSTILE("pu1"), "5.pu1.random" },
		{ HOSTILE("pjrt"), "5.pjrt.random" },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		char summary[64], seed[32];
		setenv("HOSTILE", kinds[i][1], 1);
		struct command run = command_run(NULL, "conform", "--fuzz", "1ns", "--seed", "41", kinds[i][0], NULL);
		ck_assert_int_eq(run.code, 1);
		ck_assert_int_eq(number_after(run.out, "crash    seed "), 41);
		ck_assert_ptr_nonnull(strstr(run.out, "epprof conform --reproduce 41 "));
		snprintf(summary, sizeof(summary), "\n%s: 1 seed, 1 finding\n", kinds[i][1]);
		ck_assert_msg(strstr(run.out, summary) != NULL, "%s", run.out);
		snprintf(seed, sizeof(seed), "%ld", number_after(run.out, "--reproduce "));
		command_free(&run);
		run = command_run(NULL, "conform", "--reproduce", seed, kinds[i][0], NULL);
		ck_assert_int_eq(run.code, 1);
		command_free(&run);
		setenv("HOSTILE", "", 1);
		run = command_run(NULL, "conform", "--reproduce", seed, kinds[i][0], NULL);
		ck_assert_msg(run.code == 0 && strstr(run.out, "1 pass") != NULL, "%s", run.out);
		command_free(&run);
	}
}
END_TEST

START_TEST(random_calls_of_a_good_plugin)
{
	unsetenv("HOSTILE");
	struct command run = command_run(NULL, "conform", "--fuzz", "300ms", HOSTILE("tf"), NULL);
	ck_assert_int_eq(run.code, 0);
	ck_assert_int_ge(number_after(run.out, "5.tf.random: "), 1);
	ck_assert_ptr_nonnull(strstr(run.out, ", 0 findings\n"));
	command_free(&run);
	/* A plugin that fails with each seed is not reported without end. */
	setenv("HOSTILE", "5.tf.random", 1);
	run = command_run(NULL, "conform", "--fuzz", "100s", HOSTILE("tf"), NULL);
	ck_assert_int_eq(run.code, 1);
	ck_assert_ptr_nonnull(strstr(run.out, "20 seeds, 20 findings; stopped"));
	command_free(&run);
	EXPECT(1, "no random calls", "conform", "--fuzz", "1s", "/dev/null");
	EXPECT(2, "--fuzz", "conform", "--fuzz", "soon", HOSTILE("tf"));
}
END_TEST

START_TEST(mistakes)
{
	EXPECT(2, "which library?", "conform");
	EXPECT(1, "/nowhere/lib.so", "conform", "/nowhere/lib.so");
	EXPECT(2, "--case '('", "conform", "--case", "(", HOSTILE("ort"));
	EXPECT(2, "no case is selected", "conform", "--case", "no such case", HOSTILE("ort"));
	EXPECT(2, "--level '6'", "conform", "--level", "6", HOSTILE("ort"));
	EXPECT(1, "/dev/full", "conform", "--case", "1.load.library", "-o", "/dev/full", HOSTILE("ort"));
	/* A file that is no library fails the case that loads it, and the others are skipped. */
	struct command run = command_run(NULL, "conform", "-o", check_path("none.json"), "/dev/null", NULL);
	ck_assert_int_eq(run.code, 1);
	ck_assert(strstr(run.out, " 1 fail ") && strstr(run.out, " skip\n") && !strstr(run.out, " pass "));
	/* The reason is printed once. */
	ck_assert_msg(strstr(run.out, "1.load.entries: as above\n") != NULL, "%s", run.out);
	command_free(&run);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("conform");
	TCase *tc = tcase_create("conform");

	tcase_set_timeout(tc, 500);
	tcase_add_test(tc, each_case_finds_its_plugin);
	tcase_add_test(tc, each_plugin_fails_one_case);
	tcase_add_test(tc, good_plugins_pass);
	tcase_add_test(tc, the_first_revision_of_tensorflow_has_no_room);
	tcase_add_test(tc, formats);
	tcase_add_test(tc, waivers);
	tcase_add_test(tc, only_what_failed);
	tcase_add_test(tc, output_of_the_plugin);
	tcase_add_test(tc, a_case_in_this_process);
	tcase_add_test(tc, the_calls_as_a_trace);
	tcase_add_test(tc, the_calls_of_each_abi_as_a_trace);
	tcase_add_test(tc, random_calls_find_a_seed);
	tcase_add_test(tc, random_calls_of_a_good_plugin);
	tcase_add_test(tc, mistakes);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)

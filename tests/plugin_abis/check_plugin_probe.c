/* Probing libraries: epp_plugin_probe, and epprof probe on top of it.  Covers plugin_probe.c and
 * cli/probe/. */
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "epprof/plugin.h"
#include "tests/support/check.h"
#include "tests/support/command.h"
#include "tests/support/hanging.h"
#include "tests/support/strict_json.h"

#define PLUGIN(name) CHECK_BUILD "/tests/plugins/" name ".so"

static char told[4096];
static char *told_end;

static void tell(void *user, const epp_plugin_fact *fact)
{
	ck_assert_ptr_eq(user, told);
	told_end += snprintf(told_end, (size_t)(told + sizeof(told) - told_end), "%s %u %s %s %u%u %llu/%llu\n",
	                     fact->kind, fact->type, fact->name ? fact->name : "-", fact->text ? fact->text : "-",
	                     fact->is_present, fact->is_required, (unsigned long long)fact->bytes,
	                     (unsigned long long)fact->known_bytes);
}

static epp_status *probe(const char *path)
{
	told_end = told;
	*told = 0;
	return epp_plugin_probe(path, tell, told);
}

START_TEST(facts_come_in_order)
{
	check_ok(probe(CHECK_BUILD "/libsample_tf_ep.so"));
	ck_assert_str_eq(told, "tf 0 - - 00 0/0\n"
	                       "tf 1 TF_InitProfiler - 11 0/0\n"
	                       "tf 2 - ACCELERATOR 00 0/0\n"
	                       "tf 3 pluggable profiler 0.0.1, accepted revision 00 0/0\n"
	                       "tf 4 TF_ProfilerRegistrationParams - 00 64/64\n"
	                       "tf 4 TP_Profiler - 00 24/24\n"
	                       "tf 4 TP_ProfilerFns - 00 40/40\n"
	                       "tf 5 start - 11 0/0\n"
	                       "tf 5 stop - 11 0/0\n"
	                       "tf 5 collect_data_xspace - 11 0/0\n");
	check_ok(probe(CHECK_BUILD "/libsample_ort_ep.so"));
	ck_assert_ptr_nonnull(strstr(told, "ort 2 - SampleEP 00 0/0\n"));
	ck_assert_ptr_nonnull(strstr(told, "ort 5 CreateProfiler - 11 0/0\n"));
	check_ok(probe(PLUGIN("plain_pu1")));
	ck_assert_str_eq(told, "pu1 0 - - 00 0/0\n"
	                       "pu1 1 pu1GetVersion - 11 0/0\n"
	                       "pu1 1 kineto_register_privateuse1_plugin - 11 0/0\n"
	                       "pu1 2 - plain_pu1 00 0/0\n"
	                       "pu1 3 PU1 1.0.0 00 0/0\n"
	                       "pu1 5 pu1TracingEnable - 11 0/0\n"
	                       "pu1 5 pu1TracingDisable - 11 0/0\n"
	                       "pu1 5 pu1TracingSetCallbacks - 11 0/0\n"
	                       "pu1 5 pu1PushExternalCorrelationId - 11 0/0\n"
	                       "pu1 5 pu1PopExternalCorrelationId - 11 0/0\n"
	                       "pu1 5 pu1FlushAll - 11 0/0\n"
	                       "pu1 5 pu1GetNextRecord - 11 0/0\n"
	                       "pu1 5 pu1GetNumDroppedRecords - 00 0/0\n"
	                       "pu1 5 pu1GetTimestamp - 00 0/0\n"
	                       "pu1 5 pu1GetClockError - 00 0/0\n"
	                       "pu1 5 pu1GetResultString - 00 0/0\n");
	check_ok(probe(CHECK_BUILD "/libsample_pjrt_ep.so"));
	ck_assert_ptr_nonnull(strstr(told, "pjrt 3 PJRT unknown 00 0/0\n"
	                                   "pjrt 4 PLUGIN_Profiler_Api - 00 80/104\n"
	                                   "pjrt 5 error_destroy - 11 0/0\n"));
	ck_assert_ptr_nonnull(strstr(told, "pjrt 5 collect_data - 11 0/0\npjrt 5 consume - 00 0/0\n"));
	unsetenv("PJRT_FAULT");
	check_ok(probe(PLUGIN("pjrt_fault")));
	ck_assert_ptr_nonnull(strstr(told, "pjrt 3 PJRT 0.114 00 0/0\npjrt 4 PLUGIN_Profiler_Api - 00 104/104\n"));
	ck_assert_ptr_nonnull(strstr(told, "pjrt 5 serialize - 10 0/0\n"));
	/* Nobody has to listen. */
	check_ok(epp_plugin_probe(CHECK_BUILD "/libsample_ort_ep.so", NULL, NULL));
}
END_TEST

START_TEST(a_library_of_several_kinds_is_told_as_each)
{
	check_ok(probe(PLUGIN("half_pu1")));
	ck_assert_ptr_nonnull(strstr(told, "pu1 0 - - 00 0/0\npu1 1 pu1GetVersion - 11 0/0\n"
	                                   "pu1 1 kineto_register_privateuse1_plugin - 01 0/0\n"
	                                   "pu1 6 - no symbol 'kineto_register_privateuse1_plugin' 00 0/0\n"));
	ck_assert_ptr_nonnull(strstr(told, "pjrt 0 - - 00 0/0\npjrt 1 GetPjrtApi - 11 0/0\npjrt 6 - "));
}
END_TEST

START_TEST(what_is_no_plugin_is_an_error)
{
	check_fails(EPP_INVALID_ARGUMENT, epp_plugin_probe(NULL, tell, told));
	check_fails(EPP_NOT_FOUND, probe("/nowhere/lib.so"));
	check_fails(EPP_INCOMPATIBLE, probe(CHECK_BUILD "/libepprof.so"));
	ck_assert_str_eq(told, "");
}
END_TEST

START_TEST(the_command_prints_text)
{
	struct command command = command_run(NULL, "probe", CHECK_BUILD "/libsample_tf_first_ep.so",
	                                     CHECK_BUILD "/libsample_ort_ep.so", NULL);
	ck_assert_str_eq(command.err, "");
	ck_assert_int_eq(command.code, 0);
	ck_assert_ptr_nonnull(strstr(command.out, "libsample_tf_first_ep.so\n  tf\n    exports TF_InitProfiler\n"
	                                          "    calls itself ACCELERATOR\n"
	                                          "    pluggable profiler: version 0.0.1, first revision\n"));
	ck_assert_ptr_nonnull(strstr(command.out, "    TP_ProfilerFns: 48 bytes\n    has start\n"));
	ck_assert_ptr_nonnull(strstr(command.out, "libsample_ort_ep.so\n  ort\n"));
	command_free(&command);
	command = command_run(NULL, "probe", PLUGIN("half_pu1"), NULL);
	ck_assert_int_eq(command.code, 1);
	ck_assert_ptr_nonnull(strstr(command.out,
	                             "    does not export kineto_register_privateuse1_plugin\n"
	                             "    cannot be used: no symbol 'kineto_register_privateuse1_plugin'\n  pjrt\n"));
	command_free(&command);
	/* The command brings what plugins look for in TensorFlow. */
	command = command_run(NULL, "probe", PLUGIN("tf_needs"), NULL);
	ck_assert_int_eq(command.code, 0);
	ck_assert_ptr_nonnull(strstr(command.out, "calls itself NEEDY"));
	command_free(&command);
}
END_TEST

START_TEST(the_command_says_clearly_what_is_none)
{
	struct command command = command_run(NULL, "probe", CHECK_BUILD "/libepprof.so",
	                                     CHECK_BUILD "/libsample_ort_ep.so", NULL);
	ck_assert_int_eq(command.code, 1);
	ck_assert_ptr_nonnull(strstr(command.err,
	                             "not a plugin: it exports no symbol of any known kind "
	                             "('CreateEpFactories', 'TF_InitProfiler', 'pu1GetVersion', 'GetPjrtApi')"));
	/* And goes on. */
	ck_assert_ptr_nonnull(strstr(command.out, "calls itself SampleEP"));
	command_free(&command);
	command = command_run(NULL, "probe", NULL);
	ck_assert_int_eq(command.code, 2);
	ck_assert_ptr_nonnull(strstr(command.err, "which library?"));
	command_free(&command);
	command = command_run(NULL, "probe", "--format", "xml", "x.so", NULL);
	ck_assert_int_eq(command.code, 2);
	command_free(&command);
}
END_TEST

/* Vendors' EPs serve only their own devices, which this machine lacks. */
START_TEST(another_device_is_offered)
{
	static const char *const right[] = { "gpu:vendor=0x8086:id=0x56a0", "gpu:id=22176:vendor=32902" };
	static const char *const wrong[] = { "",
		                             "tpu",
		                             "gpu:vendor",
		                             "gpu:vendor=",
		                             "gpu:vendor=x",
		                             "gpu:1",
		                             "gpu:colour=1",
		                             "gpu:vendor=-1",
		                             "gpu:vendor=0x100000000",
		                             "gpu:id=1x" };

	setenv("HOSTILE", "vendor", 1);
	struct command command = command_run(NULL, "probe", PLUGIN("hostile_ep"), NULL);
	ck_assert_int_eq(command.code, 1);
	ck_assert_ptr_nonnull(strstr(command.out, "cannot be used: GetSupportedDevices: it does not support the offered device "
	                                          "(CPU)\n"));
	command_free(&command);
	command = command_run(NULL, "probe", "--device", "npu:vendor=0x8086", PLUGIN("hostile_ep"), NULL);
	ck_assert_int_eq(command.code, 1);
	ck_assert_ptr_nonnull(strstr(command.out, "the offered device (NPU of vendor 0x8086, id 0x0)\n"));
	command_free(&command);
	for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++) {
		command = command_run(NULL, "probe", "--device", right[i], PLUGIN("hostile_ep"), NULL);
		ck_assert_msg(command.code == 0, "%s: %s%s", right[i], command.out, command.err);
		ck_assert_ptr_nonnull(strstr(command.out, "calls itself hostile\n"));
		ck_assert_ptr_nonnull(strstr(command.out, "has CreateProfiler\n"));
		command_free(&command);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		command = command_run(NULL, "probe", "--device", wrong[i], PLUGIN("hostile_ep"), NULL);
		ck_assert_msg(command.code == 2, "%s: %d", wrong[i], command.code);
		ck_assert_msg(strstr(command.err, "must be TYPE[:vendor=0x8086][:id=N]") != NULL, "%s", command.err);
		command_free(&command);
	}
}
END_TEST

static void expect_hang(const char *plugin, const char *entry, const char *fault, const char *message)
{
	setenv("HANG_AT", entry, 1);
	setenv("PJRT_FAULT", fault, 1);
	struct command command = command_run(NULL, "probe", "--format", "json", plugin,
	                                     CHECK_BUILD "/libsample_ort_ep.so", NULL);
	ck_assert_int_eq(command.code, 1);
	ck_assert_msg(strstr(command.err, message) != NULL, "%s: %s", entry, command.err);
	/* And goes on. */
	struct json *json = json_expect(command.out, command.out_bytes);
	ck_assert_uint_eq(json->count, 2);
	ck_assert_ptr_nonnull(strstr(command.out, "SampleEP"));
	json_free(json);
	command_free(&command);
}

/* Without a trial the load has the loader's lock, so nothing else is loaded. */
START_TEST(a_load_that_hangs_is_given_up)
{
	setenv("EPPROF_PLUGIN_TIMEOUT_MS", HANGING_LIMIT_MS, 1);
	setenv("EPPROF_PLUGIN_TRIAL", _i ? "1" : "0", 1);
	struct command command = command_run(NULL, "probe", "--format", "json", PLUGIN("slow_load"),
	                                     CHECK_BUILD "/libsample_ort_ep.so", NULL);
	ck_assert_int_eq(command.code, 1);
	ck_assert_msg(strstr(command.err, "slow_load.so: dlopen: it has not returned") != NULL, "%s", command.err);
	struct json *json = json_expect(command.out, command.out_bytes);
	ck_assert_uint_eq(json->count, _i ? 2 : 1);
	json_free(json);
	command_free(&command);
}
END_TEST

/* The thread that called it has ended before it is unloaded. */
START_TEST(a_library_with_thread_local_data)
{
	struct command command = command_run(NULL, "probe", PLUGIN("thread_data"), PLUGIN("thread_data"), NULL);
	ck_assert_msg(command.code == 1, "code %d: %s", command.code, command.err);
	ck_assert_ptr_nonnull(strstr(command.out, "GetPjrtApi"));
	command_free(&command);
}
END_TEST

START_TEST(a_library_that_hangs_is_given_up)
{
	setenv("EPPROF_PLUGIN_TIMEOUT_MS", HANGING_LIMIT_MS, 1);
	expect_hang(PLUGIN("plain_ep"), "ort:CreateEpFactories", "",
	            "plain_ep.so: CreateEpFactories: it has not returned after " HANGING_LIMIT_MS " ms");
	expect_hang(PLUGIN("plain_ep"), "ort:GetSupportedDevices", "",
	            "plain_ep.so: GetSupportedDevices: it has not returned");
	expect_hang(PLUGIN("plain_ep"), "ort:CreateEp", "", "plain_ep.so: CreateEp: it has not returned");
	expect_hang(PLUGIN("plain_ep"), "ort:ReleaseEp", "", "plain_ep.so: ReleaseEp: it has not returned");
	expect_hang(PLUGIN("plain_ep"), "ort:ReleaseEpFactory", "", "plain_ep.so: ReleaseEpFactory: it has not returned");
	expect_hang(PLUGIN("tf_fault"), "tf:TF_InitProfiler", "", "tf_fault.so: TF_InitProfiler: it has not returned");
	expect_hang(PLUGIN("tf_fault"), "tf:destroy_profiler", "", "tf_fault.so: destroy_profiler: it has not returned");
	expect_hang(PLUGIN("pjrt_fault"), "pjrt:GetPjrtApi", "", "pjrt_fault.so: GetPjrtApi: it has not returned");
}
END_TEST

/* In a host's budget, too, of which the load has taken a part. What the library still uses is not freed. */
START_TEST(a_library_that_hangs_in_a_budget)
{
	setenv("EPPROF_PLUGIN_TIMEOUT_MS", HANGING_LIMIT_MS, 1);
	setenv("HANG_AT", "ort:CreateEp", 1);
	setenv("HANG_MS", "2000", 1);
	/* A process of its own, because a library that hangs is never freed. */
	pid_t child = fork();
	if (!child) {
		epp_plugin_budget_begin(0);
		epp_status *status = probe(PLUGIN("plain_ep"));
		/* It returns now. */
		struct timespec left = { .tv_sec = 2 };
		while (nanosleep(&left, &left))
			continue;
		_exit(epp_status_code(status));
	}
	int end;
	ck_assert_int_eq(waitpid(child, &end, 0), child);
	ck_assert_msg(WIFEXITED(end) && WEXITSTATUS(end) == EPP_TIMEOUT, "status %x", end);
	unsetenv("HANG_AT");
	unsetenv("HANG_MS");
}
END_TEST

START_TEST(json_is_json)
{
	setenv("TF_FAULT", "digit", 1);
	struct command command = command_run(NULL, "probe", "--format", "json", PLUGIN("tf_fault"), PLUGIN("half_pu1"),
	                                     CHECK_BUILD "/libsample_tf_ep.so", "/no\"where\n.so", NULL);
	ck_assert_int_eq(command.code, 1);
	struct json *json = json_expect(command.out, command.out_bytes);
	ck_assert_ptr_nonnull(strstr(command.out, "{\"problem\": \"TF_InitProfiler: device_type 'XPU2' must "));
	ck_assert_ptr_nonnull(
	    strstr(command.out, "{\"symbol\": \"pu1GetVersion\", \"present\": true, \"required\": true}"));
	ck_assert_ptr_nonnull(strstr(command.out, "{\"size_of\": \"TP_Profiler\", \"bytes\": 24, \"known_bytes\": 24}"));
	ck_assert_uint_eq(json->count, 4);
	ck_assert_str_eq(json_text(&json->items[3], "library"), "/no\"where\n.so");
	ck_assert_uint_eq(json_get(&json->items[3], "kinds")->count, 0);
	ck_assert_ptr_nonnull(strstr(json_text(&json->items[3], "error"), "No such file"));
	json_free(json);
	command_free(&command);
}
END_TEST

/* Returns what `epprof probe --try` prints about the trial, from "tried" on. */
static const char *try_line(const struct command *command)
{
	const char *line = strstr(command->out, "tried ");
	ck_assert_msg(line != NULL, "%s", command->out);
	return line;
}

START_TEST(a_trial_prints_what_came)
{
	struct command command = command_run(NULL, "probe", "--try", "--work", "epp_sample_work",
	                                     CHECK_BUILD "/libsample_ort_ep.so", NULL);
	ck_assert_int_eq(command.code, 0);
	unsigned events = 0, kernels = 0;
	ck_assert_int_eq(sscanf(try_line(&command), "tried for 1 s as ort: %u events, %u kernels", &events, &kernels), 2);
	ck_assert_uint_ge(kernels, 4);
	ck_assert_uint_ge(events, kernels);
	command_free(&command);
}
END_TEST

START_TEST(a_trial_prints_why_nothing_came)
{
	struct command command = command_run(NULL, "probe", "--try", CHECK_BUILD "/libsample_ort_ep.so", NULL);
	ck_assert_int_eq(command.code, 1);
	ck_assert_ptr_nonnull(
	    strstr(try_line(&command), "tried for 1 s as ort: 0 events, because nothing gave its device work"));
	command_free(&command);

	command = command_run(NULL, "probe", "--try", "--work", "no_such", CHECK_BUILD "/libsample_ort_ep.so", NULL);
	ck_assert_int_eq(command.code, 1);
	ck_assert_ptr_nonnull(strstr(command.out, "not tried: no symbol no_such"));
	command_free(&command);

	/* Its EndProfiling returns an error. */
	setenv("END_FAILS_DIRECTORY", CHECK_BUILD, 1);
	command = command_run(NULL, "probe", "--try", PLUGIN("end_fails_ep"), NULL);
	ck_assert_int_eq(command.code, 1);
	ck_assert_ptr_nonnull(strstr(try_line(&command), "0 events, because "));
	ck_assert_ptr_nonnull(strstr(command.out, "the device is gone"));
	command_free(&command);

	/* Options that exclude each other. */
	command = command_run(NULL, "probe", "--try", "--format", "json", PLUGIN("plain_ep"), NULL);
	ck_assert_int_eq(command.code, 2);
	command_free(&command);
	command = command_run(NULL, "probe", "--work", "f", PLUGIN("plain_ep"), NULL);
	ck_assert_int_eq(command.code, 2);
	command_free(&command);
}
END_TEST

static Suite *plugin_probe_suite(void)
{
	Suite *suite = suite_create("plugin_probe");
	TCase *tests = tcase_create("probe");
	tcase_add_test(tests, facts_come_in_order);
	tcase_add_test(tests, a_library_of_several_kinds_is_told_as_each);
	tcase_add_test(tests, what_is_no_plugin_is_an_error);
	tcase_add_test(tests, the_command_prints_text);
	tcase_add_test(tests, the_command_says_clearly_what_is_none);
	tcase_add_test(tests, another_device_is_offered);
	tcase_add_test(tests, json_is_json);
	tcase_add_loop_test(tests, a_load_that_hangs_is_given_up, 0, 2);
	tcase_add_test(tests, a_library_with_thread_local_data);
	tcase_add_test(tests, a_library_that_hangs_is_given_up);
	tcase_add_test(tests, a_library_that_hangs_in_a_budget);
	tcase_add_test(tests, a_trial_prints_what_came);
	tcase_add_test(tests, a_trial_prints_why_nothing_came);
	tcase_set_timeout(tests, 120);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(plugin_probe_suite)

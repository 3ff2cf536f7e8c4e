/* PJRT plugins: the way to their table, what may be wrong with it, and runs with each fault that a plugin can make. */
#include <string.h>

#include "epprof/plugin.h"
#include "epprof/profiler.h"
#include "tests/support/recording.h"
#include "tests/support/twice.h"

#define FAULT CHECK_BUILD "/tests/plugins/pjrt_fault.so"

static epp_plugin *plugin;

static epp_status *load(const char *fault)
{
	setenv("PJRT_CALLS", "", 1);
	unsetenv("PJRT_FAULT");
	if (fault)
		setenv("PJRT_FAULT", fault, 1);
	return epp_plugin_load(FAULT, &plugin);
}

static const char *calls(void)
{
	return getenv("PJRT_CALLS") ? getenv("PJRT_CALLS") : "";
}

static epp_session *session_of_plugin(void)
{
	epp_session *session;
	OrtEpProfilerImpl *profiler;
	epp_session_options options = { .struct_size = sizeof(options) };
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_plugin_profiler_create(plugin, &profiler));
	check_ok(epp_session_attach(session, profiler, "xpu"));
	return session;
}

static const struct {
	const char *fault;
	epp_code code;
	const char *message;
} tables[] = {
	{ "no table", EPP_PLUGIN, "pjrt_fault.so: GetPjrtApi: it returned no table" },
	{ "small", EPP_INCOMPATIBLE, "it has no profiler extension" },
	{ "no extension", EPP_INCOMPATIBLE, "it has no profiler extension" },
	{ "circle", EPP_INCOMPATIBLE, "it has no profiler extension" },
	{ "small extension", EPP_INCOMPATIBLE, "it has no profiler extension" },
	{ "no api", EPP_INCOMPATIBLE, "it has no profiler extension" },
	{ "small table", EPP_INCOMPATIBLE, "the profiler's table has a size of 72 bytes, 80 are needed" },
	{ "no start", EPP_INCOMPATIBLE, "its profiler's start is NULL" },
};

START_TEST(what_a_table_lacks_is_named)
{
	epp_status *status = load(tables[_i].fault);
	ck_assert_msg(status != NULL, "%s: it was loaded", tables[_i].fault);
	ck_assert_msg(strstr(epp_status_message(status), tables[_i].message) != NULL, "%s", epp_status_message(status));
	ck_assert_int_eq((int)epp_status_code(status), (int)tables[_i].code);
	ck_assert_str_eq(calls(), "");
	epp_status_destroy(status);
}
END_TEST

static const struct {
	const char *fault;
	const char *calls;
	const char *message;
	unsigned events_count;
} runs[] = {
	{ NULL, "csend", "", 1 },
	{ "80 bytes", "csend", "", 1 },
	{ "two calls", "csenbd", "", 1 },
	{ "grow", "csenbd", "collect_data: its data grew from ", 1 },
	{ "create", "cx", "StartProfiling: create: code 13: no \"device\"", 0 },
	{ "no profiler", "c", "create: it created no profiler", 0 },
	{ "start", "csxd", "StartProfiling: start: code 13: no \"device\"", 0 },
	{ "stop", "csexd", "EndProfiling: stop: code 13", 0 },
	{ "no code", "csexxd", "EndProfiling: stop: code -1: no \"device\"", 0 },
	{ "collect", "csenxd", "collect_data: code 13", 0 },
	{ "huge", "csend", "it reported 4294967296 bytes", 0 },
	{ "garbage", "csend", "XSpace: truncated messages: 1", 0 },
	{ "destroy", "csendx", "destroy: code 13", 1 },
	{ "consume", "csenuzrd", "", 1 },
	{ "consume error", "csenuxd", "consume: code 13", 0 },
	{ "serialize error", "csenuzxrd", "serialize: code 13", 0 },
};

START_TEST(a_fault_costs_what_it_must_and_is_told)
{
	check_ok(load(runs[_i].fault));
	ck_assert_str_eq(epp_plugin_kind(plugin), "pjrt");
	epp_session *session = session_of_plugin();
	check_ok(epp_session_start(session));
	check_ok(epp_session_end(session));
	epp_status *status = epp_session_wait(session, UINT64_MAX);
	const char *message = epp_status_message(status);
	ck_assert_msg(*runs[_i].message ? strstr(message, runs[_i].message) != NULL : !*message, "%s: %s",
	              runs[_i].fault, message);
	epp_status_destroy(status);
	ck_assert_msg(!strcmp(calls(), runs[_i].calls), "%s: %s", runs[_i].fault, calls());
	struct trace_scan *scan = recording_look(session);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, 0), runs[_i].events_count);
	ck_assert_uint_eq(scan->producers[0].emitted, runs[_i].events_count);
	trace_scan_free(scan);
	epp_session_destroy(session);
	check_ok(epp_plugin_unload(plugin));
}
END_TEST

START_TEST(a_second_start_changes_nothing)
{
	check_ok(load(NULL));
	twice_started(plugin);
	ck_assert_str_eq(calls(), "csend");
	check_ok(epp_plugin_unload(plugin));
}
END_TEST

/* JAX has one session; a plugin need not stand more than one profiler. */
START_TEST(sessions_share_one_run)
{
	check_ok(load(NULL));
	epp_session *a = session_of_plugin(), *b = session_of_plugin();
	for (int run = 0; run < 2; run++) {
		check_ok(epp_session_start(a));
		check_ok(epp_session_start(b));
		check_ok(epp_session_end(a));
		check_ok(epp_session_wait(a, UINT64_MAX));
		check_ok(epp_session_end(b));
		check_ok(epp_session_wait(b, UINT64_MAX));
	}
	ck_assert_str_eq(calls(), "csendcsendcsendcsend");
	epp_session_destroy(a);
	epp_session_destroy(b);
	check_fails(EPP_INVALID_ARGUMENT, epp_plugin_profiler_create(plugin, NULL));
	check_ok(epp_plugin_unload(plugin));
}
END_TEST

START_TEST(the_sample_gives_the_work_that_was_done)
{
	int (*work)(int count);
	check_ok(epp_plugin_load(CHECK_BUILD "/libsample_pjrt_ep.so", &plugin));
	*(void **)&work = epp_plugin_symbol(plugin, "epp_sample_work");
	epp_session *session = session_of_plugin();
	for (int run = 0; run < 2; run++) {
		check_ok(epp_session_start(session));
		ck_assert_int_eq(work(300), 0);
		check_ok(epp_session_end(session));
		check_ok(epp_session_wait(session, UINT64_MAX));
	}
	struct trace_scan *scan = recording_look(session);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, epp_name_intern("relu")), 600);
	ck_assert_uint_eq(scan->producers[0].emitted, 600);
	trace_scan_free(scan);
	epp_session_destroy(session);
	check_ok(epp_plugin_unload(plugin));
}
END_TEST

static Suite *pjrt_suite(void)
{
	Suite *suite = suite_create("pjrt");
	TCase *tests = tcase_create("pjrt");
	tcase_add_loop_test(tests, what_a_table_lacks_is_named, 0, (int)(sizeof(tables) / sizeof(tables[0])));
	tcase_add_loop_test(tests, a_fault_costs_what_it_must_and_is_told, 0, (int)(sizeof(runs) / sizeof(runs[0])));
	tcase_add_test(tests, sessions_share_one_run);
	tcase_add_test(tests, a_second_start_changes_nothing);
	tcase_add_test(tests, the_sample_gives_the_work_that_was_done);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(pjrt_suite)

/* Every sample plugin, in a host of epprof's without an output: it runs again and again, leaves nothing behind, and
 * stands several sessions and threads at once.  What each ABI means: check_tf.c, check_pjrt.c, check_pu1_ep.c,
 * check_sample_ep.c. */
#include <glob.h>
#include <unistd.h>

#include "epprof/plugin.h"
#include "epprof/profiler.h"
#include "tests/support/lives.h"

static const char *const samples[] = { "ort", "cpp", "tf", "tf_first", "pu1", "pjrt" };
#define SAMPLES_COUNT (int)(sizeof(samples) / sizeof(samples[0]))

static epp_plugin *plugin;
static int (*work)(int count);

static void load(const char *kind)
{
	char path[512];
	snprintf(path, sizeof(path), CHECK_BUILD "/libsample_%s_ep.so", kind);
	check_ok(epp_plugin_load(path, &plugin));
	*(void **)&work = epp_plugin_symbol(plugin, "epp_sample_work");
	ck_assert_ptr_nonnull(work);
}

/* In memory, not started. */
static epp_session *sample_session(void)
{
	epp_session *session;
	OrtEpProfilerImpl *profiler;
	const epp_session_options options = { .struct_size = sizeof(options) };
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_plugin_profiler_create(plugin, &profiler));
	check_ok(epp_session_attach(session, profiler, "sample"));
	return session;
}

/* No assert of Check's, which may be on another thread. */
static bool run(epp_session *session, int count)
{
	epp_status *status = epp_session_start(session);
	if (!status) {
		uint64_t id = epp_event_begin_text(session, EPP_NODE, "op");
		if (work(count))
			status = epp_status_create(EPP_PLUGIN, "work");
		epp_event_end(session, id, NULL, 0);
	}
	if (!status)
		status = epp_session_end(session);
	if (!status)
		status = epp_session_wait(session, 20000000000u);
	bool is_well = !status;
	epp_status_destroy(status);
	return is_well;
}

START_TEST(none_is_left_out)
{
	glob_t found;
	ck_assert_int_eq(glob(CHECK_BUILD "/libsample_*_ep.so", 0, NULL, &found), 0);
	/* Those for OpenCL and Vulkan need a driver: tests/interop/check_opencl.py and check_vulkan.py. */
	int others_count = !access(CHECK_BUILD "/libsample_opencl_ep.so", F_OK) +
	                   !access(CHECK_BUILD "/libsample_vulkan_ep.so", F_OK);
	ck_assert_int_eq((int)found.gl_pathc - others_count, SAMPLES_COUNT);
	globfree(&found);
}
END_TEST

START_TEST(it_runs_again_and_again)
{
	load(samples[_i]);
	epp_session *session = sample_session();
	for (int count = 0; count < 30; count++) {
		ck_assert_int_eq(work(3), 0); /* nobody's */
		ck_assert(run(session, count % 3));
	}
	struct trace_scan *scan = recording_look(session);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, epp_name_intern("relu")), 30);
	const char *wrong = scan_balance(scan);
	ck_assert_msg(!wrong, "%s", wrong);
	ck_assert_uint_eq(scan->producers[0].errors, 0);
	trace_scan_free(scan);
	epp_session_destroy(session);
	check_ok(epp_plugin_unload(plugin));
}
END_TEST

static void whole_life(void)
{
	epp_session *session = sample_session();
	ck_assert(run(session, 2));
	epp_session_destroy(session);
}

START_TEST(it_leaves_nothing_behind)
{
	load(samples[_i]);
	lives_leave_nothing(whole_life);
	check_ok(epp_plugin_unload(plugin));
}
END_TEST

static atomic_int failures;

static void *run_some(void *argument)
{
	epp_session *session = argument;
	for (int i = 0; i < 20; i++)
		if (!run(session, 5))
			atomic_fetch_add(&failures, 1);
	return NULL;
}

START_TEST(sessions_and_threads_hold_nobody_up)
{
	pthread_t threads[4];
	epp_session *sessions[4];
	load(samples[_i]);
	for (int i = 0; i < 4; i++) {
		sessions[i] = sample_session();
		ck_assert_int_eq(pthread_create(&threads[i], NULL, run_some, sessions[i]), 0);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	ck_assert_int_eq(atomic_load(&failures), 0);
	for (int i = 0; i < 4; i++) {
		struct trace_scan *scan = recording_look(sessions[i]);
		const char *wrong = scan_balance(scan);
		ck_assert_msg(!wrong, "%s", wrong);
		trace_scan_free(scan);
		epp_session_destroy(sessions[i]);
	}
	check_ok(epp_plugin_unload(plugin));
}
END_TEST

static Suite *samples_suite(void)
{
	Suite *suite = suite_create("samples");
	TCase *tests = tcase_create("samples");
	tcase_set_timeout(tests, 300);
	tcase_add_test(tests, none_is_left_out);
	tcase_add_loop_test(tests, it_runs_again_and_again, 0, SAMPLES_COUNT);
	tcase_add_loop_test(tests, it_leaves_nothing_behind, 0, SAMPLES_COUNT);
	tcase_add_loop_test(tests, sessions_and_threads_hold_nobody_up, 0, SAMPLES_COUNT);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(samples_suite)

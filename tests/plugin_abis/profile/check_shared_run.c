/* Sessions share the one run of a plugin, here for TensorFlow: it is never started twice, each session gets the events
 * of its time, and events that are missed during a restart are counted.  Whole runs of the sample plugins, with real
 * work. */
#include "epprof/profiler.h"
#include "tests/support/joined.h"
#include "tests/support/tf_plugins.h"
#include "tests/support/twice.h"

#define FAULT TF_PLUGIN("tf_fault")

static unsigned events_of(epp_session *session, const char *name)
{
	struct trace_scan *scan = recording_look(session);
	unsigned count = (unsigned)scan_count(scan, EPF_COMPLETE, epp_name_intern(name));
	trace_scan_free(scan);
	return count;
}

START_TEST(a_session_runs_again_and_again)
{
	check_ok(tf_load(FAULT, NULL));
	epp_session *session = tf_session(tf_plugin);
	for (int i = 0; i < 5; i++) {
		check_ok(epp_session_start(session));
		ck_assert_str_eq(tf_end(session), "");
	}
	ck_assert_str_eq(tf_calls(), "isencsencsencsencsenc");
	for (int i = 1; i <= 5; i++) {
		char name[24];
		snprintf(name, sizeof(name), "work %d", i);
		ck_assert_uint_eq(events_of(session, name), 1);
	}
	epp_session_destroy(session);
	check_ok(epp_plugin_unload(tf_plugin));
	ck_assert_str_eq(tf_calls(), "isencsencsencsencsencpf");
}
END_TEST

START_TEST(without_a_label_it_has_its_plugin_s_name)
{
	OrtEpProfilerImpl *profiler;
	epp_session *session;
	check_ok(tf_load(FAULT, NULL));
	check_ok(epp_session_create(NULL, &session));
	check_ok(epp_plugin_profiler_create(tf_plugin, &profiler));
	check_ok(epp_session_attach(session, profiler, NULL));
	check_ok(epp_session_start(session));
	ck_assert_str_eq(tf_end(session), "");
	struct trace_scan *scan = recording_look(session);
	ck_assert_str_eq(scan->producers[0].label, "XPU");
	trace_scan_free(scan);
	epp_session_destroy(session);
	check_ok(epp_plugin_unload(tf_plugin));
}
END_TEST

START_TEST(a_second_start_changes_nothing)
{
	check_ok(tf_load(FAULT, NULL));
	twice_started(tf_plugin);
	ck_assert_str_eq(tf_calls(), "isenc");
	check_ok(epp_plugin_unload(tf_plugin));
	ck_assert_str_eq(tf_calls(), "isencpf");
}
END_TEST

/* The first started before the second. */
static epp_session *first, *second;

static void both_start(void)
{
	check_ok(tf_load(FAULT, NULL));
	first = tf_session(tf_plugin);
	second = tf_session(tf_plugin);
	check_ok(epp_session_start(first));
	check_ok(epp_session_start(second));
}

static void both_release(void)
{
	epp_session_destroy(first);
	epp_session_destroy(second);
	check_ok(epp_plugin_unload(tf_plugin));
}

START_TEST(sessions_share_one_run)
{
	both_start();
	ck_assert_str_eq(tf_calls(), "is");
	ck_assert_str_eq(tf_end(first), "");
	/* The run goes on for the other one. */
	ck_assert_str_eq(tf_calls(), "isencs");
	ck_assert_str_eq(tf_end(second), "");
	ck_assert_str_eq(tf_calls(), "isencsenc");
	/* The first event started before the second session did, the second after the first ended. */
	ck_assert_uint_eq(events_of(first, "work 1"), 1);
	ck_assert_uint_eq(events_of(first, "work 2"), 0);
	ck_assert_uint_eq(events_of(second, "work 1"), 0);
	ck_assert_uint_eq(events_of(second, "work 2"), 1);
	ck_assert_uint_eq(events_of(first, "epprof.restart_gap"), 0);
	ck_assert_uint_eq(events_of(second, "epprof.restart_gap"), 1);
	struct trace_scan *scan = recording_look(second);
	ck_assert_uint_eq(scan->producers[0].emitted, 2);
	ck_assert_uint_eq(scan->producers[0].lost[EPP_LOSS_PLUGIN], 0);
	ck_assert_uint_eq(scan->producers[0].lost[EPP_LOSS_RESTART_GAP], 1);
	ck_assert_ptr_nonnull(strstr(scan->producers[0].note, "not recording for "));
	trace_scan_free(scan);
	both_release();
}
END_TEST

START_TEST(a_session_within_another_s)
{
	both_start();
	ck_assert_str_eq(tf_end(second), "");
	ck_assert_str_eq(tf_end(first), "");
	ck_assert_str_eq(tf_calls(), "isencsenc");
	ck_assert_uint_eq(events_of(first, "work 1"), 1);
	ck_assert_uint_eq(events_of(first, "work 2"), 1);
	ck_assert_uint_eq(events_of(first, "epprof.restart_gap"), 1);
	ck_assert_uint_eq(events_of(second, "work 2"), 0);
	/* What was before it is the other's, and lost to nobody. */
	struct trace_scan *scan = recording_look(second);
	ck_assert_uint_eq(scan->producers[0].emitted, 0);
	ck_assert_uint_eq(scan->producers[0].lost[EPP_LOSS_PLUGIN] + scan->producers[0].lost[EPP_LOSS_BEFORE_START], 0);
	trace_scan_free(scan);
	both_release();
}
END_TEST

/* Two profilers of one session: what each would get alone stands in its trace once. */
static void check_joined(bool older_ends_first)
{
	check_ok(tf_load(FAULT, NULL));
	epp_session *session = joined_session(), *other = tf_session(tf_plugin);
	struct joined older = joined_start(session, tf_plugin), newer = joined_start(session, tf_plugin);
	check_ok(epp_session_start(other));
	joined_end(older_ends_first ? &older : &newer);
	ck_assert_str_eq(tf_calls(), "isencs");
	joined_end(older_ends_first ? &newer : &older);
	ck_assert_str_eq(tf_calls(), "isencsencs");
	ck_assert_str_eq(tf_end(other), "");
	joined_leave(&older);
	joined_leave(&newer);
	recording_end(session);
	/* The first event started before the other session did. */
	ck_assert_uint_eq(events_of(session, "work 1"), 1);
	ck_assert_uint_eq(events_of(session, "work 2"), 1);
	ck_assert_uint_eq(events_of(session, "epprof.restart_gap"), 1);
	ck_assert_uint_eq(events_of(other, "work 2"), 1);
	ck_assert_uint_eq(events_of(other, "work 3"), 1);
	ck_assert_uint_eq(events_of(other, "epprof.restart_gap"), 2);
	struct trace_scan *scan = recording_look(session);
	ck_assert_uint_eq(scan->producers[0].emitted + scan->producers[1].emitted, 3);
	/* What the newer one does not hold is the older one's, and lost to nobody. */
	for (unsigned i = 0; i < 2; i++)
		ck_assert_uint_eq(
		    scan->producers[i].lost[EPP_LOSS_PLUGIN] + scan->producers[i].lost[EPP_LOSS_BEFORE_START], 0);
	trace_scan_free(scan);
	epp_session_destroy(session);
	epp_session_destroy(other);
	check_ok(epp_plugin_unload(tf_plugin));
}

START_TEST(of_several_in_one_session_one_has_an_event)
{
	check_joined(_i == 0);
}
END_TEST

START_TEST(a_run_that_cannot_be_started_again_is_the_others_error)
{
	both_start();
	setenv("TF_FAULT", "start", 1);
	ck_assert_str_eq(tf_end(first), "");
	ck_assert_ptr_nonnull(strstr(tf_end(second), "after another session's end: start: code 13"));
	/* Not stopped, for it does not run. */
	ck_assert_str_eq(tf_calls(), "isencs");
	setenv("TF_FAULT", "", 1);
	check_ok(epp_session_start(second));
	ck_assert_str_eq(tf_end(second), "");
	ck_assert_str_eq(tf_calls(), "isencssenc");
	both_release();
}
END_TEST

START_TEST(a_run_that_cannot_be_stopped_is_not_started_again)
{
	check_ok(tf_load(FAULT, NULL));
	epp_session *a = tf_session(tf_plugin), *b = tf_session(tf_plugin);
	check_ok(epp_session_start(a));
	check_ok(epp_session_start(b));
	setenv("TF_FAULT", "stop", 1);
	ck_assert_ptr_nonnull(strstr(tf_end(a), "stop: code 13"));
	/* It was tried once more for b, and neither collected nor started. */
	ck_assert_str_eq(tf_calls(), "isee");
	ck_assert_ptr_nonnull(strstr(tf_end(b), "after another session's end: stop: code 13"));
	ck_assert_str_eq(tf_calls(), "isee");
	setenv("TF_FAULT", "", 1);
	check_ok(epp_session_start(b));
	ck_assert_str_eq(tf_end(b), "");
	ck_assert_str_eq(tf_calls(), "iseeesenc");
	epp_session_destroy(a);
	epp_session_destroy(b);
	check_ok(epp_plugin_unload(tf_plugin));
}
END_TEST

/* ---- the sample ---- */

typedef int work_fn(int count);

static void sample_runs(const char *path)
{
	work_fn *work;
	check_ok(tf_load(path, NULL));
	ck_assert_str_eq(epp_plugin_name(tf_plugin), "ACCELERATOR");
	*(void **)&work = epp_plugin_symbol(tf_plugin, "epp_sample_work");
	ck_assert_ptr_nonnull(work);
	epp_session *session = tf_session(tf_plugin);
	/* What is done outside a run is nobody's. */
	ck_assert_int_eq(work(10), 0);
	for (int run = 0; run < 2; run++) {
		check_ok(epp_session_start(session));
		ck_assert_int_eq(work(300), 0);
		ck_assert_str_eq(tf_end(session), "");
	}
	struct trace_scan *scan = recording_look(session);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, epp_name_intern("relu")), 600);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, 0), 600);
	ck_assert_uint_eq(scan->producers[0].emitted, 600);
	const struct scan_record *event = scan_first(scan, EPF_COMPLETE, 0);
	ck_assert_str_eq(scan_track(scan, event->track)->group, "/device:CUSTOM:ACCELERATOR:0");
	ck_assert_uint_eq(scan_arg(event, epp_name_intern("m"))->value, 64);
	trace_scan_free(scan);
	epp_session_destroy(session);
	check_ok(epp_plugin_unload(tf_plugin));
}

START_TEST(the_sample_gives_the_work_that_was_done)
{
	sample_runs(CHECK_BUILD "/libsample_tf_ep.so");
}
END_TEST

START_TEST(the_sample_of_the_first_revision_too)
{
	sample_runs(CHECK_BUILD "/libsample_tf_first_ep.so");
}
END_TEST

static Suite *shared_run_suite(void)
{
	Suite *suite = suite_create("shared_run");
	TCase *tests = tcase_create("shared_run");
	tcase_add_test(tests, a_session_runs_again_and_again);
	tcase_add_test(tests, without_a_label_it_has_its_plugin_s_name);
	tcase_add_test(tests, a_second_start_changes_nothing);
	tcase_add_test(tests, sessions_share_one_run);
	tcase_add_test(tests, a_session_within_another_s);
	tcase_add_loop_test(tests, of_several_in_one_session_one_has_an_event, 0, 2);
	tcase_add_test(tests, a_run_that_cannot_be_started_again_is_the_others_error);
	tcase_add_test(tests, a_run_that_cannot_be_stopped_is_not_started_again);
	tcase_add_test(tests, the_sample_gives_the_work_that_was_done);
	tcase_add_test(tests, the_sample_of_the_first_revision_too);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(shared_run_suite)

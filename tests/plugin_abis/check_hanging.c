/* A plugin that hangs, in a host of libepprof's: whichever entry of its ABI it hangs in, and whether it is named before
 * or after a plugin that works, each call of the host returns in time, the other plugin's events are complete, the one
 * that hangs is named, and the trace is finished.  Covers the calls in runtime/record/profiler_calls.c,
 * profiler_steps.c, and in plugins/. */
#include <dlfcn.h>

#include "epprof/plugin.h"
#include "epprof/profiler.h"
#include "tests/support/hanging.h"
#include "tests/support/recording.h"

#define GOOD CHECK_BUILD "/libsample_pu1_ep.so"
#define COUNT 300

static const struct hanging_entry *entry;

struct one {
	const char *path;
	bool hangs;
	epp_plugin *plugin;
	OrtEpProfilerImpl *profiler;
};

static void check_named(epp_status *status, const char *name)
{
	const char *message = epp_status_message(status);
	ck_assert_msg(status && strstr(message, name) && strstr(message, "has not returned after"), "%s: %s", name,
	              message);
	epp_status_destroy(status);
}

static void load(struct one *one, epp_session *session)
{
	epp_status *status = NULL;
	RETURNS(status = epp_plugin_load(one->path, &one->plugin));
	if (one->hangs && entry->step == HANGING_LOAD) {
		check_named(status, entry->plugin);
		return;
	}
	check_ok(status);
	RETURNS(status = epp_plugin_profiler_create(one->plugin, &one->profiler));
	if (one->hangs && entry->step == HANGING_CREATE) {
		check_named(status, entry->plugin);
		return;
	}
	check_ok(status);
	check_ok(epp_session_attach(session, one->profiler, one->hangs ? "hangs" : "works"));
}

static void *have_an_event(void *session)
{
	epp_event_end(session, epp_event_begin_text(session, EPP_NODE, "host"), NULL, 0);
	return NULL;
}

/* Another thread may be held; this one may not, once that was seen. */
static void have_events(epp_session *session)
{
	if (entry->step == HANGING_EVENT) {
		recording_thread(have_an_event, session);
		recording_sleep_ms(1200);
	}
	RETURNS(have_an_event(session));
}

static void give_work(void)
{
	int (*work)(int);
	void *library = dlopen(GOOD, RTLD_NOW);
	*(void **)&work = dlsym(library, "epp_sample_work");
	ck_assert_int_eq(work(COUNT), 0);
}

static void check_trace(const char *path)
{
	struct trace_scan *scan = trace_scan_file(path);
	const char *wrong = scan_balance(scan);
	ck_assert_msg(!wrong, "%s", wrong);
	ck_assert_uint_eq(scan->header.state, EPF_FINISHED);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, epp_name_intern("relu")), COUNT);
	bool hung = entry->step == HANGING_START || entry->step == HANGING_EVENT || entry->step == HANGING_END;
	for (size_t i = 0; i < EPF_PRODUCER_COUNT; i++) {
		const struct epf_producer *producer = &scan->producers[i];
		bool is_it = hung && !strcmp(producer->label, "hangs");
		ck_assert_uint_eq(producer->lost[EPP_LOSS_HUNG], is_it);
		ck_assert_uint_eq(producer->errors, is_it);
		ck_assert_int_eq(strstr(producer->note, "has not returned after " HANGING_LIMIT_MS " ms") != NULL, is_it);
	}
	trace_scan_free(scan);
}

static void run_case(int number)
{
	char guilty[512], path[512];
	entry = &hanging_entries[number / 2];
	hanging_set(entry);
	hanging_path(entry, guilty, sizeof(guilty));
	snprintf(path, sizeof(path), "%s", check_path("hangs-%d.epp", number));
	struct one both[2] = { { .path = GOOD }, { .path = GOOD } }, *one = &both[number % 2];
	*one = (struct one){ .path = guilty, .hangs = true };
	epp_session_options options = { .struct_size = sizeof(options), .path = path };
	epp_session *session;
	epp_status *status = NULL;
	check_ok(epp_tf_shim_load(CHECK_BUILD "/libepprof_tf_shim.so"));
	check_ok(epp_session_create(&options, &session));
	load(&both[0], session);
	load(&both[1], session);
	RETURNS(check_ok(epp_session_start(session)));
	have_events(session);
	give_work();
	RETURNS(check_ok(epp_session_end(session)); status = epp_session_wait(session, UINT64_MAX));
	if (entry->step == HANGING_START || entry->step == HANGING_EVENT || entry->step == HANGING_END)
		check_named(status, "hangs: ");
	else if (*entry->fault != 's')
		check_ok(status);
	else
		epp_status_destroy(status);
	RETURNS(epp_session_destroy(session));
	check_trace(path);
	for (int i = 0; i < 2; i++) {
		RETURNS(status = epp_plugin_unload(both[i].plugin));
		if (!both[i].hangs)
			check_ok(status);
		epp_status_destroy(status);
	}
}

START_TEST(one_that_hangs_costs_nothing_but_itself)
{
	hanging_run(_i, run_case);
}
END_TEST

static Suite *hanging_suite(void)
{
	Suite *suite = suite_create("hanging");
	TCase *tcase = tcase_create("hanging");
	tcase_add_loop_test(tcase, one_that_hangs_costs_nothing_but_itself, 0, HANGING_GROUPS);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(hanging_suite)

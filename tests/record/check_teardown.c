/* Sessions that are released while other threads record into them as fast as they can, and handles that name nothing
 * any more: the gate, recorder_find and the session table under stress.  Run it under the sanitizers. */
#include <sched.h>

#include "epprof/track.h"
#include "tests/support/recording.h"

#define RECORDERS 3
#define SESSIONS (200 / RECORDING_SLOW)

static epp_name name, key;
static uintptr_t current; /* the handle of the session that is there, or was */
static uint32_t stop;

static void *record_wildly(void *argument)
{
	unsigned seed = (unsigned)(uintptr_t)argument;
	while (!LOAD_RELAXED(&stop)) {
		epp_session *session = (epp_session *)LOAD_RELAXED(&current);
		if (!session)
			continue;
		for (unsigned i = 0; i < 50 + seed * 100; i++) {
			uint64_t outer = epp_event_begin(session, EPP_NODE, name);
			uint64_t inner = epp_event_begin(session, EPP_NODE, name);
			epp_arg arg = { .key = key, .type = EPP_ARG_U64, .value.u64 = i };
			epp_instant_record(session, EPP_NODE, name, &arg, 1);
			if (i % 8 == seed)
				epp_event_end(session, outer, &arg, 1);
			epp_event_end(session, inner, NULL, 0);
			epp_event_end(session, outer, NULL, 0);
			if (i % 32 == 0)
				epp_async_end(session, epp_async_begin(session, EPP_API, name), NULL, 0);
		}
		/* Beside release these find no session. */
		epp_track track;
		epp_status_destroy(epp_track_create(
		    session, &(epp_track_options){ .struct_size = sizeof(epp_track_options), .name = "wild", .device = -1 },
		    &track));
		epp_session_lost(session, EPP_LOSS_NO_BUFFER);
		epp_event_record(session, 1, EPP_KERNEL, name, 1, 2, 0, NULL, 0);
		epp_clock_pair_add(session, 1, 1, 2, 3);
		/* Others must get a turn on few cores. */
		if (seed)
			nanosleep(&(struct timespec){ .tv_nsec = 50000 * seed }, NULL);
		else
			sched_yield();
	}
	return NULL;
}

static void *visit_once(void *unused)
{
	epp_session *session = (epp_session *)LOAD_RELAXED(&current);
	for (int i = 0; i < 80; i++)
		epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
	epp_event_begin(session, EPP_NODE, name);
	return unused;
}

static void *keep_visiting(void *unused)
{
	while (!LOAD_RELAXED(&stop))
		recording_on_thread(visit_once, NULL);
	return unused;
}

static void stress(const char *path, unsigned sessions, bool wait)
{
	pthread_t threads[RECORDERS + 1];
	name = epp_name_intern("wild");
	key = epp_name_intern("key");
	for (unsigned i = 0; i < RECORDERS; i++)
		threads[i] = recording_thread(record_wildly, (void *)(uintptr_t)i);
	threads[RECORDERS] = recording_thread(keep_visiting, NULL);
	for (unsigned i = 0; i < sessions; i++) {
		epp_session *session;
		epp_session_options options = { .struct_size = sizeof(options), .path = path, .overwrite = 1 };
		check_ok(epp_session_create(&options, &session));
		STORE_RELAXED(&current, (uintptr_t)session);
		for (unsigned run = 0; run <= i % 2; run++) {
			check_ok(epp_session_start(session));
			nanosleep(&(struct timespec){ .tv_nsec = i % 5 * 500000 }, NULL);
			check_ok(epp_session_end(session));
		}
		if (wait || i + 1 == sessions) {
			check_ok(epp_session_wait(session, UINT64_MAX));
			struct trace_scan *scan = recording_look(session);
			const char *wrong = scan_balance(scan);
			ck_assert_msg(!wrong, "session %u: %s", i, wrong);
			trace_scan_free(scan);
		}
		if (i % 3 == 0)
			check_ok(epp_session_start(session));
		epp_session_destroy(session);
	}
	STORE_RELAXED(&stop, 1);
	for (unsigned i = 0; i <= RECORDERS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(epp_recording_count, 0);
}

START_TEST(released_in_memory)
{
	stress(NULL, SESSIONS, false);
}
END_TEST

START_TEST(released_in_memory_and_looked_at)
{
	stress(NULL, SESSIONS / 10 + 1, true);
}
END_TEST

START_TEST(released_with_a_file)
{
	stress(check_path("wild.epp"), SESSIONS / 10 + 1, true);
}
END_TEST

static struct epp_log_test {
	uint32_t inside, gone;
} log_test;

static void log_slowly(void *user, epp_blame blame, const char *text)
{
	struct epp_log_test *test = user;
	(void)blame, (void)text;
	STORE_RELEASE(&test->inside, 1);
	recording_sleep_ms(1500);
	if (LOAD_ACQUIRE(&test->gone))
		_exit(3);
	STORE_RELEASE(&test->inside, 0);
}

/* The host's log runs on the helper, so the run's end waits for it, and the release does not get so long; what the log
 * needs may be gone afterwards. */
START_TEST(a_log_is_left_before_release_returns)
{
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options),
		                        .path = check_path("slow.epp"),
		                        .log = log_slowly,
		                        .log_user = &log_test,
		                        .plugin_timeout_ns = 1000000 };
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_start(session));
	run_error_set(&recording_storage(session)->error, EPP_BLAME_SYSTEM, epp_status_create(EPP_IO, "told slowly"));
	epp_event_end(session, epp_event_begin_text(session, EPP_NODE, "wakes the helper"), NULL, 0);
	while (!LOAD_ACQUIRE(&log_test.inside))
		recording_sleep_ms(1);
	epp_session_destroy(session);
	STORE_RELEASE(&log_test.gone, 1);
	ck_assert(!LOAD_ACQUIRE(&log_test.inside));
	recording_sleep_ms(1600);
}
END_TEST

static Suite *teardown_suite(void)
{
	Suite *suite = suite_create("teardown");
	TCase *tcase = tcase_create("teardown");
	tcase_add_test(tcase, released_in_memory);
	tcase_add_test(tcase, released_in_memory_and_looked_at);
	tcase_add_test(tcase, released_with_a_file);
	tcase_add_test(tcase, a_log_is_left_before_release_returns);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(teardown_suite)

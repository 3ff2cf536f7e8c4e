/* Chunks of a new window that the helper makes usable while threads record already: runtime/storage/window/window_room.c.  Its functions
 * alone: check_window.c. */
#include <signal.h>
#include <sys/wait.h>

#include "tests/support/recording.h"

static epp_name name;
static char text[2000];
static epp_arg large = { .type = EPP_ARG_TEXT, .value.text = text, .text_bytes = sizeof(text) };

static void set_up(void)
{
	name = epp_name_intern("prepared");
	large.key = epp_name_intern("large");
	memset(text, 't', sizeof(text));
}

static void record(epp_session *session)
{
	epp_event_end(session, epp_event_begin(session, EPP_NODE, name), &large, 1);
}

/* From the first event on, while the helper prepares chunks that were not touched yet. */
START_TEST(killed_while_chunks_are_prepared)
{
	static const unsigned counts[] = { 1, 30, 200, 900, 1500, 3000, 6000 };
	for (unsigned i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		char *path = strdup(check_path("prepared-%u.epp", i));
		pid_t child = fork();
		if (child == 0) {
			epp_session *session;
			epp_session_options options = { .struct_size = sizeof(options), .path = path };
			if (epp_session_create(&options, &session) || epp_session_start(session))
				_exit(1);
			for (unsigned event = 0; event < counts[i]; event++)
				record(session);
			kill(getpid(), SIGKILL);
		}
		int status;
		waitpid(child, &status, 0);
		ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		struct trace_scan *scan = trace_scan_file(path);
		ck_assert_msg(!scan->error, "%s", scan->error);
		const char *wrong = scan_balance(scan);
		ck_assert_msg(!wrong, "%s", wrong);
		ck_assert_uint_eq(scan->records_count + scan_lost(scan, EPP_LOSS_NO_BUFFER), counts[i]);
		trace_scan_free(scan);
		free(path);
	}
}
END_TEST

/* Once the window is whole, a session has what one always had. */
START_TEST(the_helper_prepares_all_of_them)
{
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options), .path = check_path("whole.epp") };
	check_ok(epp_session_create(&options, &session));
	struct session *inside = recording_inside(session);
	ck_assert_uint_eq(inside->window.chunks_count, WINDOW_READY_CHUNKS);
	ck_assert_uint_eq(inside->chunks_free, WINDOW_READY_CHUNKS);
	check_ok(epp_session_start(session));
	recording_await_window(session);
	pthread_mutex_lock(&inside->drain_lock);
	ck_assert_uint_eq(inside->window.chunks_count, WINDOW_FIRST_CHUNKS);
	ck_assert_uint_eq(inside->chunks_free, WINDOW_FIRST_CHUNKS);
	pthread_mutex_unlock(&inside->drain_lock);
	trace_scan_free(recording_finish(session));
}
END_TEST

static Suite *window_room_suite(void)
{
	Suite *suite = suite_create("window_room");
	TCase *tcase = tcase_create("window_room");
	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_test(tcase, killed_while_chunks_are_prepared);
	tcase_add_test(tcase, the_helper_prepares_all_of_them);
	suite_add_tcase(suite, tcase);
	return suite;
}
CHECK_MAIN(window_room_suite)

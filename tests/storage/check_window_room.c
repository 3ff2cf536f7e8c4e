/* Chunks of a new window that the helper makes usable while threads record already:
 * runtime/storage/window/window_room.c.  Its functions alone: check_window.c. */
#include <fcntl.h>
#include <pthread.h>
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
	struct storage *inside = recording_storage(session);
	ck_assert_uint_eq(inside->window.chunks_count, WINDOW_READY_CHUNKS);
	ck_assert_uint_eq(inside->chunks.free, WINDOW_READY_CHUNKS);
	check_ok(epp_session_start(session));
	recording_await_window(session);
	pthread_mutex_lock(&inside->drain_lock);
	ck_assert_uint_eq(inside->window.chunks_count, WINDOW_FIRST_CHUNKS);
	ck_assert_uint_eq(inside->chunks.free, WINDOW_FIRST_CHUNKS);
	pthread_mutex_unlock(&inside->drain_lock);
	trace_scan_free(recording_finish(session));
}
END_TEST

#define THREADS 2
#define EVENTS_OF_ONE 2800u /* a chunk has room for 31: together they take most of the first chunks */

static void *record_many(void *session)
{
	for (unsigned i = 0; i < EVENTS_OF_ONE; i++)
		record(session);
	return NULL;
}

/* The helper cannot come: it waits for the lock. */
START_TEST(threads_prepare_what_the_helper_has_not)
{
	char *path = check_path("threads.epp");
	epp_session *session = recording_start(path);
	struct storage *inside = recording_storage(session);
	pthread_t threads[THREADS];
	pthread_mutex_lock(&inside->drain_lock);
	for (unsigned i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, record_many, session), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_NO_BUFFER), 0);
	ck_assert_uint_le(window_chunks_count(&inside->window), WINDOW_FIRST_CHUNKS);
	/* After that, what finds no room is lost. */
	while (LOAD_RELAXED(&inside->chunks.free) || window_chunks_count(&inside->window) < WINDOW_FIRST_CHUNKS)
		record(session);
	for (unsigned i = 0; i < 100; i++)
		record(session);
	ck_assert_uint_ge(epp_session_lost(session, EPP_LOSS_NO_BUFFER), 100 - 62);
	pthread_mutex_unlock(&inside->drain_lock);
	struct trace_scan *scan = recording_finish(session);
	const char *wrong = scan_balance(scan);
	ck_assert_msg(!wrong, "%s", wrong);
	ck_assert_uint_ge(scan->records_count, THREADS * EVENTS_OF_ONE);
	trace_scan_free(scan);
}
END_TEST

/* Otherwise each event that is lost would cost system calls. */
START_TEST(a_failed_preparation_is_not_repeated_at_once)
{
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options), .path = check_path("failed.epp") };
	check_ok(epp_session_create(&options, &session));
	struct storage *inside = recording_storage(session);
	pthread_mutex_lock(&inside->drain_lock);
	int fd = inside->window.mapped_fd;
	inside->window.mapped_fd = open("/dev/null", O_RDONLY);
	inside->window.chunks_count = WINDOW_READY_CHUNKS;
	inside->chunks.head = 0;
	uint64_t before = clock_ticks();
	ck_assert_uint_eq(chunks_take(&inside->chunks), CHUNK_NONE);
	ck_assert_uint_ge(inside->chunks.grow_due_ticks, before + clock_ticks_per_second());
	ck_assert_uint_eq(inside->window.chunks_count, WINDOW_READY_CHUNKS);
	/* The disk works again. */
	close(inside->window.mapped_fd);
	inside->window.mapped_fd = fd;
	inside->chunks.grow_due_ticks = UINT64_MAX;
	ck_assert_uint_eq(chunks_take(&inside->chunks), CHUNK_NONE);
	inside->chunks.grow_due_ticks = 0;
	ck_assert_uint_eq(chunks_take(&inside->chunks), WINDOW_READY_CHUNKS);
	pthread_mutex_unlock(&inside->drain_lock);
	epp_session_destroy(session);
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
	tcase_add_test(tcase, threads_prepare_what_the_helper_has_not);
	tcase_add_test(tcase, a_failed_preparation_is_not_repeated_at_once);
	suite_add_tcase(suite, tcase);
	return suite;
}
CHECK_MAIN(window_room_suite)

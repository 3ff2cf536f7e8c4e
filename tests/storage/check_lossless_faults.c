/* options.lossless when something comes in between: writes that fail, a thread that is cancelled, the session's end, a
 * fork. What is lost is counted, and nobody waits for ever. */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lossless.h"

/* By default ThreadSanitizer ends the forked child of a process with several threads when it starts a thread. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "die_after_fork=0";
}

static void check_balanced(const char *path)
{
	struct trace_scan *scan = trace_scan_file(path);
	const char *wrong = scan_balance(scan);
	ck_assert_msg(!wrong, "%s", wrong);
	trace_scan_free(scan);
}

/* ---- what goes wrong ---- */

static void set_file(struct storage *storage, int fd)
{
	pthread_mutex_lock(&storage->drain_lock);
	storage->writer.fd = fd;
	pthread_mutex_unlock(&storage->drain_lock);
}

/* Writes fail for a while: the threads go on, and what that costs is counted. */
START_TEST(a_write_that_fails)
{
	char *path = check_path("failing.epp");
	epp_session *session = start((epp_session_options){ .path = path, .lossless = 1 });
	struct storage *inside = recording_storage(session);
	struct account accounts[THREADS];
	int good = inside->writer.fd, bad = open("/dev/null", O_RDONLY);
	set_file(inside, bad);
	run_workers(session);
	set_file(inside, good);
	close(bad);
	uint64_t lost = epp_session_lost(session, EPP_LOSS_DISK);
	let_helper_come(session);
	check_ok(epp_session_end(session));
	check_fails(EPP_IO, epp_session_wait(session, UINT64_MAX));
	epp_session_destroy(session);
	struct trace_scan *scan = trace_scan_file(path);
	const char *wrong = scan_balance(scan);
	ck_assert_msg(!wrong, "%s", wrong);
	ck_assert_uint_gt(lost, 0);
	ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_DISK), lost);
	ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_NO_BUFFER), 0);
	ck_assert_uint_eq(check_order(scan, accounts) + lost, THREADS * EVENTS);
	trace_scan_free(scan);
}
END_TEST

static uint32_t go;

static void *record_until_cancelled(void *session)
{
	while (!LOAD_ACQUIRE(&go))
		continue;
	for (uint64_t i = 0; i < THREADS * EVENTS; i++)
		record(session, i);
	/* The address sanitizer does not like threads that are cancelled. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	return NULL;
}

/* To record is no cancellation point, even where it writes. */
START_TEST(a_thread_that_is_cancelled)
{
	epp_session *session = start((epp_session_options){ .path = check_path("cancelled.epp"), .lossless = 1 });
	pthread_t thread = recording_thread(record_until_cancelled, session);
	void *result;
	pthread_cancel(thread);
	STORE_RELEASE(&go, 1);
	pthread_join(thread, &result);
	ck_assert_ptr_null(result);
	let_helper_come(session);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan->records_count, THREADS * EVENTS);
	trace_scan_free(scan);
}
END_TEST

static void *record_until_the_end(void *session)
{
	const epp_arg arg = { .key = padding, .type = EPP_ARG_TEXT, .value.text = text, .text_bytes = sizeof(text) };
	for (uint64_t id; (id = epp_event_begin(session, EPP_NODE, name));)
		epp_event_end(session, id, &arg, 1);
	return NULL;
}

/* The end comes while threads write, or wait for whoever does. */
START_TEST(an_end_beside_threads_that_write)
{
	for (unsigned round = 0; round < 40 / RECORDING_SLOW; round++) {
		char *path = check_path("end.epp");
		epp_session *session = start((epp_session_options){ .path = path, .lossless = 1 });
		pthread_t threads[THREADS];
		if (round % 2)
			let_helper_come(session);
		for (unsigned i = 0; i < THREADS; i++)
			threads[i] = recording_thread(record_until_the_end, session);
		recording_sleep_ms(5 + round);
		check_ok(epp_session_end(session));
		for (unsigned i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		let_helper_come(session);
		recording_end(session);
		ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_NO_BUFFER), 0);
		epp_session_destroy(session);
		if (round % 10 == 0)
			check_balanced(path);
	}
}
END_TEST

static void *end_session(void *session)
{
	check_ok(epp_session_end(session));
	return NULL;
}

/* Whoever makes blocks needs the session's lock too, which the end must not keep while it waits for threads that wait.
 * */
START_TEST(an_end_while_threads_wait_for_the_helper)
{
	epp_session *session = start((epp_session_options){ .path = check_path("wait.epp"), .lossless = 1 });
	struct storage *inside = recording_storage(session);
	pthread_t threads[THREADS];
	pthread_mutex_lock(&inside->drain_lock);
	for (unsigned i = 0; i < THREADS; i++)
		threads[i] = recording_thread(record_until_the_end, session);
	while (LOAD_RELAXED(&inside->chunks.free))
		recording_sleep_ms(1);
	recording_sleep_ms(20);
	pthread_t ending = recording_thread(end_session, session);
	recording_sleep_ms(20);
	pthread_mutex_lock(&inside->lock);
	pthread_mutex_unlock(&inside->lock);
	pthread_mutex_unlock(&inside->drain_lock);
	pthread_join(ending, NULL);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	let_helper_come(session);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_NO_BUFFER), 0);
	trace_scan_free(scan);
}
END_TEST

/* ---- processes ---- */

static void be_a_child(epp_session *of_parent)
{
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options), .lossless = 1 };
	if (epp_event_begin(of_parent, EPP_NODE, name) || epp_session_create(&options, &session) ||
	    epp_session_start(session))
		_exit(1);
	work(session);
	if (epp_session_end(session) || epp_session_wait(session, UINT64_MAX) ||
	    epp_session_lost(session, EPP_LOSS_NO_BUFFER))
		_exit(2);
	epp_session_destroy(session);
	_exit(0);
}

START_TEST(a_child_of_threads_that_write)
{
	char *path = check_path("parent.epp");
	epp_session *session = start((epp_session_options){ .path = path, .lossless = 1 });
	pthread_t threads[THREADS];
	for (unsigned i = 0; i < THREADS; i++)
		threads[i] = recording_thread(work, session);
	for (unsigned i = 0; i < 5; i++) {
		int status;
		recording_sleep_ms(2);
		pid_t child = fork();
		if (child == 0)
			be_a_child(session);
		waitpid(child, &status, 0);
		ck_assert_msg(status == 0, "the child's status is %x", status);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	let_helper_come(session);
	struct trace_scan *scan = recording_finish_file(session, path);
	check_all_there(scan);
	trace_scan_free(scan);
}
END_TEST

static Suite *lossless_faults_suite(void)
{
	Suite *suite = suite_create("lossless_faults");
	TCase *tcase = tcase_create("lossless_faults");
	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_test(tcase, a_write_that_fails);
	tcase_add_test(tcase, a_thread_that_is_cancelled);
	tcase_add_test(tcase, an_end_beside_threads_that_write);
	tcase_add_test(tcase, an_end_while_threads_wait_for_the_helper);
	tcase_add_test(tcase, a_child_of_threads_that_write);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(lossless_faults_suite)

/* options.buffer_bytes: a pool of chunks that is complete when the session is created.  Bursts fit into it, in files,
 * in memory, in rings and in external windows; a reader finds its records while it is live, after a kill, and at the
 * end. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "epprof/trace_reader.h"
#include "storage/window/chunk_pool.h"
#include "tests/support/recording.h"
#include "tests/support/valid_trace.h"

#define THREADS 64
/* Five chunks a thread: more than the default pool begins with. */
#define EVENTS_A_THREAD 9000
#define MIB ((uint64_t)1 << 20)

static epp_name name;

static void set_up(void)
{
	name = epp_name_intern("burst");
}

static epp_session *start(const char *path, uint64_t buffer_bytes)
{
	epp_session *session;
	epp_session_options options = {
		.struct_size = sizeof(options), .path = path, .overwrite = 1, .buffer_bytes = buffer_bytes
	};
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_start(session));
	recording_await_window(session);
	return session;
}

static void *record(void *session)
{
	for (int i = 0; i < EVENTS_A_THREAD; i++)
		epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
	return NULL;
}

/* 64 threads record at once while the helper is held up, as on a machine with few cores. */
static void burst(epp_session *session)
{
	struct storage *inside = recording_storage(session);
	pthread_t threads[THREADS];
	pthread_mutex_lock(&inside->drain_lock);
	for (int i = 0; i < THREADS; i++)
		threads[i] = recording_thread(record, session);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_mutex_unlock(&inside->drain_lock);
}

static void expect_all(const struct trace_scan *scan)
{
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, name), THREADS * EVENTS_A_THREAD);
	ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_NO_BUFFER), 0);
}

/* ---- a burst ---- */

START_TEST(a_burst_that_the_default_loses)
{
	epp_session *session = start(check_path("burst.epp"), 0);
	burst(session);
	uint64_t lost = epp_session_lost(session, EPP_LOSS_NO_BUFFER);
	ck_assert_uint_gt(lost, 0);
	struct trace_scan *scan = recording_finish_file(session, check_path("burst.epp"));
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, name), THREADS * EVENTS_A_THREAD - lost);
	trace_scan_free(scan);
}
END_TEST

START_TEST(a_burst_that_a_larger_pool_holds)
{
	epp_session *session = start(check_path("burst.epp"), 64 * MIB);
	ck_assert_uint_eq(recording_storage(session)->window.chunks_count, 1024);
	burst(session);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_NO_BUFFER), 0);
	struct trace_scan *scan = recording_finish_file(session, check_path("burst.epp"));
	expect_all(scan);
	trace_scan_free(scan);
	epp_trace_close(open_valid(check_path("burst.epp")));
}
END_TEST

START_TEST(in_memory)
{
	epp_session *session = start(NULL, 64 * MIB);
	burst(session);
	struct trace_scan *scan = recording_finish(session);
	expect_all(scan);
	trace_scan_free(scan);
}
END_TEST

START_TEST(in_an_external_window)
{
	setenv("EPPROF_WINDOW_DIR", "/dev/shm", 1);
	epp_session *session = start(check_path("external.epp"), 32 * MIB);
	ck_assert_ptr_nonnull(recording_storage(session)->window.external_path);
	burst(session);
	struct trace_scan *scan = recording_finish_file(session, check_path("external.epp"));
	expect_all(scan);
	trace_scan_free(scan);
}
END_TEST

START_TEST(in_a_ring)
{
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options),
		                        .path = check_path("ring.epp"),
		                        .overwrite = 1,
		                        .policy = EPP_POLICY_RING,
		                        .max_bytes = 64 * MIB,
		                        .buffer_bytes = 64 * MIB };
	struct stat st;
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_start(session));
	burst(session);
	recording_end(session);
	ck_assert_int_eq(stat(options.path, &st), 0);
	ck_assert_int_le(st.st_size, (off_t)(options.buffer_bytes + options.max_bytes + 13 * MIB));
	epp_session_destroy(session);
	struct trace_scan *scan = trace_scan_file(options.path);
	expect_all(scan);
	trace_scan_free(scan);
}
END_TEST

/* Records are in chunks beyond those that a default window has. */
START_TEST(a_live_trace)
{
	epp_session *session = start(check_path("live.epp"), 96 * MIB);
	pthread_mutex_lock(&recording_storage(session)->drain_lock);
	for (int i = 0; i < THREADS * EVENTS_A_THREAD * 4; i++)
		epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
	struct trace_scan *scan = trace_scan_file(check_path("live.epp"));
	ck_assert_uint_gt(scan->window_regions_count, EPF_CHUNK_COUNT);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, name), THREADS * EVENTS_A_THREAD * 4);
	trace_scan_free(scan);
	epp_trace_close(open_valid(check_path("live.epp")));
	pthread_mutex_unlock(&recording_storage(session)->drain_lock);
	epp_session_destroy(session);
}
END_TEST

START_TEST(a_killed_process)
{
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (!child) {
		epp_session *session = start(check_path("killed.epp"), 64 * MIB);
		pthread_mutex_lock(&recording_storage(session)->drain_lock);
		for (int i = 0; i < THREADS * EVENTS_A_THREAD * 3; i++)
			epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
		raise(SIGKILL);
	}
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	struct trace_scan *scan = trace_scan_file(check_path("killed.epp"));
	ck_assert_msg(!scan->error, "%s", scan->error);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, name), THREADS * EVENTS_A_THREAD * 3);
	trace_scan_free(scan);
	epp_trace_close(open_valid(check_path("killed.epp")));
}
END_TEST

/* ---- the size ---- */

START_TEST(the_pool_has_the_size_and_does_not_grow)
{
	epp_session *session = start(check_path("small.epp"), 2 * MIB + 1);
	struct storage *inside = recording_storage(session);
	ck_assert_uint_eq(inside->window.header->chunk_count, 33);
	ck_assert_uint_eq(inside->window.header->segments_offset,
	                  EPF_CHUNKS_OFFSET + 33 * EPF_CHUNK_BYTES + EPF_LOG_EXTENTS * EPF_LOG_BYTES);
	burst(session);
	ck_assert_uint_gt(epp_session_lost(session, EPP_LOSS_NO_BUFFER), 0);
	recording_end(session);
	ck_assert_uint_eq(inside->window.chunks_count, 33);
	ck_assert_uint_eq(inside->chunks.free, 33);
	struct trace_scan *scan = recording_finish_file(session, check_path("small.epp"));
	trace_scan_free(scan);
}
END_TEST

/* The names of a burst go to pieces of the log behind the chunks. */
START_TEST(many_names)
{
	epp_session *session = start(check_path("names.epp"), 3 * MIB);
	char text[1000];
	memset(text, 'n', sizeof(text));
	for (int i = 0; i < 4000; i++) {
		snprintf(text, sizeof(text), "%d", i);
		text[strlen(text)] = ' ';
		epp_event_end(session, epp_event_begin(session, EPP_NODE, epp_name_intern_bytes(text, sizeof(text))),
		              NULL, 0);
	}
	struct trace_scan *scan = recording_finish_file(session, check_path("names.epp"));
	ck_assert_uint_eq(scan->records_count, 4000);
	ck_assert_uint_ge(scan->names_count, 4000);
	trace_scan_free(scan);
}
END_TEST

/* The same entry of the table of sessions is used for pools of different sizes. */
START_TEST(one_after_the_other)
{
	static const uint64_t sizes[] = { 0, 64 * MIB, 2 * MIB, 0, 128 * MIB };
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (int in_file = 0; in_file < 2; in_file++) {
			epp_session *session = start(in_file ? check_path("after.epp") : NULL, sizes[i]);
			recording_on_thread(record, session);
			struct trace_scan *scan = recording_finish(session);
			ck_assert_uint_eq(scan_count(scan, EPF_EVENT, name), EVENTS_A_THREAD);
			trace_scan_free(scan);
		}
}
END_TEST

START_TEST(no_room_for_it)
{
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options),
		                        .path = check_path("large.epp"),
		                        .buffer_bytes = 64 * MIB };
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 40 * MIB, 40 * MIB });
	epp_status *status = epp_session_create(&options, &session);
	ck_assert_ptr_nonnull(status);
	ck_assert_ptr_nonnull(strstr(epp_status_message(status), "MiB"));
	epp_status_destroy(status);
	ck_assert_int_eq(access(options.path, F_OK), -1);
	/* The same entry serves again. */
	recording_end(session = start(NULL, 0));
	epp_session_destroy(session);
}
END_TEST

START_TEST(values_of_the_option)
{
	static const uint64_t bad[] = { 1, 2 * MIB - 1, 4096 * MIB + 1, UINT64_MAX };
	epp_session *session;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		epp_session_options options = { .struct_size = sizeof(options), .buffer_bytes = bad[i] };
		check_fails(EPP_INVALID_ARGUMENT, epp_session_create(&options, &session));
	}
	setenv("EPPROF_OUTPUT", check_path("environment.epp"), 1);
	static const char *const bad_texts[] = { "much", "1M", "8G", "-1" };
	for (size_t i = 0; i < sizeof(bad_texts) / sizeof(*bad_texts); i++) {
		setenv("EPPROF_BUFFER_BYTES", bad_texts[i], 1);
		epp_status *status = epp_session_share_output(&session);
		ck_assert_int_eq(epp_status_code(status), EPP_INVALID_ARGUMENT);
		ck_assert_ptr_nonnull(strstr(epp_status_message(status), "EPPROF_BUFFER_BYTES"));
		epp_status_destroy(status);
	}
	setenv("EPPROF_BUFFER_BYTES", "3M", 1);
	check_ok(epp_session_share_output(&session));
	ck_assert_uint_eq(recording_storage(session)->window.chunks_count, 48);
	epp_session_destroy(session);
}
END_TEST

static Suite *buffer_bytes_suite(void)
{
	Suite *suite = suite_create("buffer_bytes");
	TCase *tcase = tcase_create("buffer_bytes");
	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_test(tcase, a_burst_that_the_default_loses);
	tcase_add_test(tcase, a_burst_that_a_larger_pool_holds);
	tcase_add_test(tcase, in_memory);
	tcase_add_test(tcase, in_an_external_window);
	tcase_add_test(tcase, in_a_ring);
	tcase_add_test(tcase, a_live_trace);
	tcase_add_test(tcase, a_killed_process);
	tcase_add_test(tcase, the_pool_has_the_size_and_does_not_grow);
	tcase_add_test(tcase, many_names);
	tcase_add_test(tcase, one_after_the_other);
	tcase_add_test(tcase, no_room_for_it);
	tcase_add_test(tcase, values_of_the_option);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(buffer_bytes_suite)

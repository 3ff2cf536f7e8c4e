/* options.lossless: threads that find no chunk free write one themselves.  The helper is kept away in most tests, so
 * that nobody else does: nothing is lost, and each thread's events are there once and in order, in whatever the session
 * writes to: runtime/storage/window/chunk_pool.c and full.c. */
#include <errno.h>
#include <sys/syscall.h>

#include "epprof/track.h"
#include "lossless.h"
#include "tests/support/denied.h"
#include "tests/support/emulated.h"

/* ---- nothing is lost ---- */

START_TEST(without_it_events_are_lost)
{
	epp_session *session = start((epp_session_options){ .path = check_path("lossy.epp") });
	run_workers(session);
	let_helper_come(session);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_gt(scan_lost(scan, EPP_LOSS_NO_BUFFER), 0);
	trace_scan_free(scan);
}
END_TEST

static void record_all(const char *path, bool with_helper)
{
	epp_session *session = start((epp_session_options){ .path = path, .lossless = 1 });
	if (with_helper)
		let_helper_come(session);
	run_workers(session);
	if (!with_helper) {
		ck_assert_uint_gt(recording_storage(session)->writer.blocks_count, THREADS);
		let_helper_come(session);
	}
	struct trace_scan *scan = path ? recording_finish_file(session, path) : recording_finish(session);
	check_all_there(scan);
	trace_scan_free(scan);
}

START_TEST(threads_that_write_all_themselves)
{
	record_all(check_path("alone.epp"), false);
}
END_TEST

START_TEST(in_memory)
{
	record_all(NULL, false);
}
END_TEST

START_TEST(beside_the_helper)
{
	record_all(check_path("beside.epp"), true);
}
END_TEST

#define HANDED 200000

/* Complete events of a track of the host's own, which lie in chunks of their own. */
START_TEST(what_is_handed_over)
{
	epp_session *session = start((epp_session_options){ .path = check_path("handed.epp"), .lossless = 1 });
	epp_track_options row = { .struct_size = sizeof(row), .name = "row", .device = -1 };
	epp_track track;
	check_ok(epp_track_create(session, &row, &track));
	for (unsigned i = 0; i < HANDED; i++)
		epp_event_record(session, track, EPP_KERNEL, name, i, i + 1, 0, NULL, 0);
	let_helper_come(session);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, name), HANDED);
	trace_scan_free(scan);
}
END_TEST

/* Each thread has a chunk in hand for as long as it likes: none is full. */
static pthread_barrier_t holding, let_go;

static void *hold(void *session)
{
	/* More than there is room for in the slot. */
	for (unsigned i = 0; i < 10; i++)
		record(session, i);
	pthread_barrier_wait(&holding);
	pthread_barrier_wait(&let_go);
	return NULL;
}

static struct trace_scan *hold_chunks(unsigned count, uint64_t buffer_bytes)
{
	epp_session *session = start((epp_session_options){ .lossless = 1, .buffer_bytes = buffer_bytes });
	pthread_t *threads = calloc(count, sizeof(*threads));
	pthread_barrier_init(&holding, NULL, count + 1);
	pthread_barrier_init(&let_go, NULL, count + 1);
	for (unsigned i = 0; i < count; i++)
		threads[i] = recording_thread(hold, session);
	pthread_barrier_wait(&holding);
	pthread_barrier_wait(&let_go);
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	let_helper_come(session);
	return recording_finish(session);
}

START_TEST(the_window_grows_where_none_is_full)
{
	struct trace_scan *scan = hold_chunks(WINDOW_FIRST_CHUNKS + 50, 0);
	ck_assert_uint_eq(scan->records_count, (WINDOW_FIRST_CHUNKS + 50) * 10);
	trace_scan_free(scan);
}
END_TEST

START_TEST(more_threads_than_chunks)
{
	const unsigned chunks_count = 256;
	struct trace_scan *scan = hold_chunks(chunks_count + 50, chunks_count * EPF_CHUNK_BYTES);
	uint64_t lost = scan_lost(scan, EPP_LOSS_NO_BUFFER);
	ck_assert_uint_gt(lost, 0);
	ck_assert_uint_le(lost, 50 * 10);
	ck_assert_uint_eq(scan->records_count + lost, (chunks_count + 50) * 10);
	trace_scan_free(scan);
}
END_TEST

/* ---- with a limit ---- */

/* A ring's segments go round, so the order in the file is not that of time. */
static void check_newest(const struct trace_scan *scan)
{
	struct account accounts[THREADS] = { { .track = 0 } };
	for (size_t i = 0; i < scan->records_count; i++) {
		struct account *account = account_of(accounts, &scan->records[i]);
		uint64_t value = scan->records[i].args[0].value;
		account->first = value < account->first ? value : account->first;
		account->next = value >= account->next ? value + 1 : account->next;
	}
	for (unsigned i = 0; i < THREADS && accounts[i].track; i++) {
		ck_assert_uint_eq(accounts[i].next, EVENTS);
		ck_assert_uint_eq(accounts[i].next - accounts[i].first, accounts[i].count);
	}
}

/* The newest of each thread's are there without a gap; only the ring's limit costs events. */
START_TEST(a_ring)
{
	char *path = check_path("ring.epp");
	epp_session *session = start(
	    (epp_session_options){ .path = path, .lossless = 1, .policy = EPP_POLICY_RING, .max_bytes = 4 << 20 });
	run_workers(session);
	let_helper_come(session);
	recording_end(session);
	uint64_t gone = epp_session_lost(session, EPP_LOSS_POLICY);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_NO_BUFFER), 0);
	epp_session_destroy(session);
	struct trace_scan *scan = trace_scan_file(path);
	ck_assert_uint_gt(gone, 0);
	ck_assert_uint_eq(scan->records_count + gone, THREADS * EVENTS);
	check_newest(scan);
	trace_scan_free(scan);
}
END_TEST

START_TEST(with_an_end)
{
	char *path = check_path("stop.epp");
	epp_session *session = start(
	    (epp_session_options){ .path = path, .lossless = 1, .policy = EPP_POLICY_STOP, .max_bytes = 2 << 20 });
	struct account accounts[THREADS];
	run_workers(session);
	let_helper_come(session);
	struct trace_scan *scan = recording_finish_file(session, path);
	uint64_t lost = scan_lost(scan, EPP_LOSS_POLICY);
	ck_assert_uint_gt(lost, 0);
	ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_NO_BUFFER), 0);
	ck_assert_uint_eq(check_order(scan, accounts) + lost, THREADS * EVENTS);
	for (unsigned i = 0; i < THREADS && accounts[i].track; i++)
		ck_assert_uint_eq(accounts[i].first, 0);
	trace_scan_free(scan);
}
END_TEST

/* ---- how it is asked for ---- */

START_TEST(what_the_option_may_be)
{
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options), .lossless = 2 };
	check_fails(EPP_INVALID_ARGUMENT, epp_session_create(&options, &session));
	setenv("EPPROF_OUTPUT", check_path("environment.epp"), 1);
	setenv("EPPROF_LOSSLESS", "2", 1);
	check_fails(EPP_INVALID_ARGUMENT, epp_session_share_output(&session));
	setenv("EPPROF_LOSSLESS", "1", 1);
	check_ok(epp_session_share_output(&session));
	ck_assert(recording_storage(session)->is_lossless);
	epp_session_destroy(session);
}
END_TEST

START_TEST(a_kernel_without_membarrier)
{
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options), .lossless = 1 };
	deny_system_call(SYS_membarrier, ENOSYS);
	check_fails(EPP_INCOMPATIBLE, epp_session_create(&options, &session));
	options.lossless = 0;
	check_ok(epp_session_create(&options, &session));
	epp_session_destroy(session);
}
END_TEST

static Suite *lossless_suite(void)
{
	Suite *suite = suite_create("lossless");
	TCase *tcase = tcase_create("lossless");
	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_test(tcase, without_it_events_are_lost);
	tcase_add_test(tcase, threads_that_write_all_themselves);
	tcase_add_test(tcase, in_memory);
	tcase_add_test(tcase, beside_the_helper);
	tcase_add_test(tcase, what_is_handed_over);
	tcase_add_test(tcase, the_window_grows_where_none_is_full);
	tcase_add_test(tcase, more_threads_than_chunks);
	tcase_add_test(tcase, a_ring);
	tcase_add_test(tcase, with_an_end);
	tcase_add_test(tcase, what_the_option_may_be);
	if (!emulated_without("calls cannot be forbidden"))
		tcase_add_test(tcase, a_kernel_without_membarrier);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(lossless_suite)

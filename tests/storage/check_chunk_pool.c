/* More chunks than a window begins with: taken when the helper has come late, in files, rings, windows elsewhere and in
 * memory; what stands in them is read like any other, live, snapped, cut and finished:
 * runtime/storage/window/chunk_pool.c. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "epprof/trace_writer.h"
#include "storage/drain.h"
#include "storage/window/chunk_pool.h"
#include "tests/support/recording.h"
#include "tests/support/valid_trace.h"

/* Large ones fill many chunks soon. */
#define EVENT_BYTES 2048u
#define EVENTS_A_CHUNK ((EPF_CHUNK_BYTES - sizeof(struct epf_region)) / EVENT_BYTES)

static epp_name name;
static char text[EVENT_BYTES - EPF_RECORD_BYTES - sizeof(struct epf_arg)];
static epp_arg large = { .type = EPP_ARG_TEXT, .value.text = text, .text_bytes = sizeof(text) };

/* By default ThreadSanitizer ends the forked child of a process with several threads when it starts a thread. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "die_after_fork=0";
}

static void set_up(void)
{
	name = epp_name_intern("chunked");
	large.key = epp_name_intern("large");
	memset(text, 't', sizeof(text));
}

static void record(epp_session *session)
{
	epp_event_end(session, epp_event_begin(session, EPP_NODE, name), &large, 1);
}

static uint32_t used(const struct storage *storage)
{
	return storage->window.chunks_count - LOAD_RELAXED(&storage->chunks.free);
}

/* Until so many chunks are in use, which the helper, who cannot come, does not change.  Returns how many events. */
static uint64_t use_chunks(epp_session *session, uint32_t count)
{
	uint64_t events = 0;
	for (; used(recording_storage(session)) < count; events++)
		record(session);
	return events;
}

static bool is_grown(struct storage *storage, uint32_t count)
{
	pthread_mutex_lock(&storage->drain_lock);
	bool grown = storage->window.chunks_count >= count;
	pthread_mutex_unlock(&storage->drain_lock);
	return grown;
}

/* The helper is held up until the window has all chunks.  Returns how many events it took. */
static uint64_t make_grow(epp_session *session)
{
	struct storage *inside = recording_storage(session);
	uint64_t events = 0;
	recording_await_window(session);
	for (uint32_t count = WINDOW_FIRST_CHUNKS; count < EPF_CHUNK_COUNT; count += CHUNKS_MORE) {
		pthread_mutex_lock(&inside->drain_lock);
		events += use_chunks(session, count / 4);
		pthread_mutex_unlock(&inside->drain_lock);
		for (int i = 0; i < 10000 && !is_grown(inside, count + CHUNKS_MORE); i++)
			recording_sleep_ms(1);
	}
	ck_assert(is_grown(inside, EPF_CHUNK_COUNT));
	return events;
}

/* Nearly all chunks are in use; the drain lock is held from here on. */
static uint64_t fill_all(epp_session *session)
{
	uint64_t events = make_grow(session);
	pthread_mutex_lock(&recording_storage(session)->drain_lock);
	return events + use_chunks(session, EPF_CHUNK_COUNT - 10);
}

static void let_helper_come(epp_session *session)
{
	pthread_mutex_unlock(&recording_storage(session)->drain_lock);
}

/* ---- when ---- */

START_TEST(a_quiet_session_has_what_it_began_with)
{
	epp_session *session = recording_start(check_path("quiet.epp"));
	struct storage *inside = recording_storage(session);
	for (unsigned round = 0; round < 20; round++) {
		pthread_mutex_lock(&inside->drain_lock);
		use_chunks(session, WINDOW_FIRST_CHUNKS / 8); /* full, and one in hand */
		chunks_grow_if_short(&inside->chunks, inside->writer.error != 0);
		ck_assert_uint_eq(inside->window.chunks_count, WINDOW_FIRST_CHUNKS);
		pthread_mutex_unlock(&inside->drain_lock);
		for (int i = 0; i < 10000 && used(inside) > 1; i++)
			recording_sleep_ms(1);
	}
	/* Last in, first out: it has gone round in a few. */
	uint32_t taken = 0;
	pthread_mutex_lock(&inside->drain_lock);
	for (uint8_t *at = inside->window.chunks; at < inside->window.extents; at += EPF_CHUNK_BYTES)
		taken += ((const struct epf_region *)(const void *)at)->sequence_used != 0;
	ck_assert(taken && taken <= WINDOW_FIRST_CHUNKS / 8);
	pthread_mutex_unlock(&inside->drain_lock);
	trace_scan_free(recording_finish(session));
}
END_TEST

/* Half of the window is full, and goes first; the drain lock is held from here on.  `writing`: what became of the last
 * block. */
static uint64_t be_late(epp_session *session, int writing)
{
	struct storage *inside = recording_storage(session);
	pthread_mutex_lock(&inside->drain_lock);
	inside->writer.error = writing;
	uint64_t events = use_chunks(session, WINDOW_FIRST_CHUNKS / 2);
	ck_assert(!chunks_grow_if_short(&inside->chunks, inside->writer.error != 0));
	ck_assert_uint_eq(inside->window.chunks_count, WINDOW_FIRST_CHUNKS);
	return events;
}

/* All events are there. */
static void finish_with(epp_session *session, uint64_t events)
{
	let_helper_come(session);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan->records_count, events);
	trace_scan_free(scan);
}

START_TEST(none_while_blocks_cannot_be_written)
{
	epp_session *session = recording_start(check_path("broken.epp"));
	struct storage *inside = recording_storage(session);
	uint64_t events = be_late(session, ENOSPC);
	ck_assert_uint_eq(inside->chunks.wanted, WINDOW_FIRST_CHUNKS);
	inside->writer.error = 0;
	finish_with(session, events);
}
END_TEST

START_TEST(what_is_full_goes_first)
{
	epp_session *session = recording_start(check_path("first.epp"));
	struct storage *inside = recording_storage(session);
	uint64_t events = be_late(session, 0);
	drain_visit(inside);
	/* And at full speed there is no time for a step, which may wait for the disk; unless this thread was held
	 * up. */
	events += use_chunks(session, 30);
	bool grown = true;
	for (int tries = 0; tries < 20 && grown; tries++) {
		inside->chunks.looked_ticks = clock_ticks();
		grown = chunks_grow_if_short(&inside->chunks, inside->writer.error != 0);
	}
	ck_assert(!grown);
	/* 30 chunks in 2 ms are the speed of a thread that does nothing but record: there is time for a step. */
	inside->chunks.looked_ticks = clock_ticks() - clock_ticks_per_second() / 500;
	ck_assert(chunks_grow_if_short(&inside->chunks, inside->writer.error != 0));
	drain_visit(inside);
	for (uint32_t count = inside->window.chunks_count; count < WINDOW_FIRST_CHUNKS + CHUNKS_MORE;
	     count += WINDOW_STEP_CHUNKS) {
		ck_assert_uint_eq(inside->window.chunks_count, count);
		ck_assert(chunks_grow_if_short(&inside->chunks, inside->writer.error != 0));
	}
	/* That is enough until it is late again. */
	ck_assert(!chunks_grow_if_short(&inside->chunks, inside->writer.error != 0));
	ck_assert_uint_eq(inside->window.chunks_count, WINDOW_FIRST_CHUNKS + CHUNKS_MORE);
	ck_assert_uint_eq(inside->chunks.free + 1, WINDOW_FIRST_CHUNKS + CHUNKS_MORE);
	finish_with(session, events);
}
END_TEST

/* No room to be had: recording goes on in what there is, and it is tried again after a while, not each time. */
START_TEST(room_that_is_refused)
{
	char *path = check_path("refused.epp");
	epp_session *session = recording_start(path);
	struct storage *inside = recording_storage(session);
	uint64_t events = be_late(session, 0);
	drain_visit(inside);
	int fd = inside->window.mapped_fd;
	inside->window.mapped_fd = open(path, O_RDONLY);
	ck_assert(!chunks_grow_if_short(&inside->chunks, inside->writer.error != 0));
	ck_assert_uint_eq(inside->window.chunks_count, WINDOW_FIRST_CHUNKS);
	close(inside->window.mapped_fd);
	inside->window.mapped_fd = fd;
	uint64_t due = inside->chunks.grow_due_ticks, now = clock_ticks();
	ck_assert_uint_gt(due, now);
	ck_assert_uint_le(due, now + clock_ticks_per_second());
	/* Far away, however slow this test is. */
	inside->chunks.grow_due_ticks = UINT64_MAX;
	ck_assert(!chunks_grow_if_short(&inside->chunks, inside->writer.error != 0));
	inside->chunks.grow_due_ticks = now;
	ck_assert(chunks_grow_if_short(&inside->chunks, inside->writer.error != 0));
	ck_assert_uint_eq(inside->window.chunks_count, WINDOW_FIRST_CHUNKS + WINDOW_STEP_CHUNKS);
	finish_with(session, events);
}
END_TEST

/* Each thread has a chunk in hand for as long as it likes. */
#define HOLDERS 210
#define HELD 5

static pthread_barrier_t holding, let_go;

static void *hold(void *session)
{
	for (unsigned i = 0; i < HELD; i++)
		record(session);
	pthread_barrier_wait(&holding);
	pthread_barrier_wait(&let_go);
	return NULL;
}

START_TEST(many_threads_get_chunks_too)
{
	epp_session *session = recording_start(NULL);
	struct storage *inside = recording_storage(session);
	pthread_t threads[HOLDERS];
	pthread_barrier_init(&holding, NULL, HOLDERS + 1);
	pthread_barrier_init(&let_go, NULL, HOLDERS + 1);
	for (unsigned i = 0; i < HOLDERS; i++)
		threads[i] = recording_thread(hold, session);
	pthread_barrier_wait(&holding);
	for (int i = 0; i < 10000 && !is_grown(inside, WINDOW_FIRST_CHUNKS + CHUNKS_MORE); i++)
		recording_sleep_ms(1);
	pthread_mutex_lock(&inside->drain_lock);
	ck_assert_uint_ge(used(inside), HOLDERS);
	ck_assert_uint_eq(inside->window.chunks_count, WINDOW_FIRST_CHUNKS + CHUNKS_MORE);
	pthread_barrier_wait(&let_go);
	for (unsigned i = 0; i < HOLDERS; i++)
		pthread_join(threads[i], NULL);
	finish_with(session, HOLDERS * HELD);
}
END_TEST

/* ---- where ---- */

static uint64_t records_of(const char *path)
{
	epp_trace *trace = open_valid(path);
	uint64_t records = epp_trace_get_info(trace)->records_count;
	epp_trace_close(trace);
	return records;
}

/* A finished file takes no room but for its segments, whatever its window had grown to. */
static void check_given_back(const char *path)
{
	struct stat st;
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_le((off_t)st.st_blocks * 512, st.st_size - recording_segments_offset(path) + (128 << 10));
}

/* Seen live and snapped while they are full, and in blocks once the helper has come.  Returns how many events the
 * session has, `before` this run and in it. */
static uint64_t check_all_full(epp_session *session, uint64_t before, const char *snapped)
{
	uint64_t events = before + fill_all(session);
	bool in_file = recording_storage(session)->window.fd >= 0;
	/* A reader of the session asks under the lock where it is not all in one file. */
	bool is_one_file = in_file && !recording_storage(session)->window.external_path;
	if (!is_one_file)
		let_helper_come(session);
	struct trace_scan *scan = recording_look(session);
	ck_assert_uint_eq(scan->records_count, events);
	if (is_one_file)
		ck_assert_uint_ge(scan->window_regions_count, EPF_CHUNK_COUNT - 10);
	trace_scan_free(scan);
	if (snapped) {
		check_ok(epp_session_snapshot(session, snapped, UINT64_MAX, 1));
		ck_assert_uint_eq(records_of(snapped), events);
	}
	epp_trace *trace = recording_open(session);
	check_valid(trace);
	ck_assert_uint_eq(epp_trace_get_info(trace)->records_count, events);
	epp_trace_close(trace);
	if (is_one_file)
		let_helper_come(session);
	recording_end(session);
	scan = recording_look(session);
	ck_assert_uint_eq(scan->records_count, events);
	ck_assert_ptr_null(scan_balance(scan));
	ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_NO_BUFFER), 0);
	trace_scan_free(scan);
	return events;
}

START_TEST(in_a_file_and_again_in_its_next_run)
{
	char *path = strdup(check_path("file.epp")), *snapped = strdup(check_path("snapped.epp"));
	epp_session *session = recording_start(path);
	uint64_t events = check_all_full(session, 0, snapped);
	check_ok(epp_session_start(session));
	ck_assert_uint_eq(recording_storage(session)->window.chunks_count, EPF_CHUNK_COUNT);
	ck_assert_uint_eq(recording_storage(session)->chunks.free, EPF_CHUNK_COUNT);
	events = check_all_full(session, events, snapped);
	epp_session_destroy(session);
	ck_assert_uint_eq(records_of(path), events);
	check_given_back(path);
	free(path);
	free(snapped);
}
END_TEST

START_TEST(in_memory_and_none_of_it_is_left_to_the_next)
{
	epp_session_options options = { .struct_size = sizeof(options), .memory_bytes = 1u << 30 };
	epp_session *session;
	for (unsigned round = 0; round < 2; round++) {
		check_ok(epp_session_create(&options, &session));
		ck_assert_uint_eq(recording_storage(session)->window.chunks_count, WINDOW_FIRST_CHUNKS);
		check_ok(epp_session_start(session));
		check_all_full(session, 0, NULL);
		epp_session_destroy(session);
	}
}
END_TEST

START_TEST(with_an_external_window)
{
	char *directory = strdup(check_path("windows")), *path = strdup(check_path("elsewhere.epp"));
	ck_assert_int_eq(mkdir(directory, 0777), 0);
	setenv("EPPROF_WINDOW_DIR", directory, 1);
	epp_session *session = recording_start(path);
	unsetenv("EPPROF_WINDOW_DIR");
	uint64_t events = fill_all(session);
	/* Another process's view of it, which takes no lock of ours. */
	epp_trace *trace = open_valid(path);
	ck_assert_uint_eq(epp_trace_get_info(trace)->records_count, events);
	epp_trace_close(trace);
	let_helper_come(session);
	struct trace_scan *scan = recording_finish_file(session, path);
	ck_assert_uint_eq(scan->records_count, events);
	trace_scan_free(scan);
	ck_assert_int_eq(rmdir(directory), 0);
	free(directory);
	free(path);
}
END_TEST

/* A ring is of so many bytes beside its window: the newest events are in the window, the oldest are counted. */
START_TEST(in_a_ring)
{
	char *path = strdup(check_path("ring.epp")), *snapped = strdup(check_path("ring_snapped.epp"));
	epp_session_options options = {
		.struct_size = sizeof(options), .path = path, .policy = EPP_POLICY_RING, .max_bytes = 4 << 20
	};
	epp_session *session;
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_start(session));
	uint64_t events = fill_all(session);
	check_ok(epp_session_snapshot(session, snapped, UINT64_MAX, 1));
	ck_assert_uint_ge(records_of(snapped), (uint64_t)(EPF_CHUNK_COUNT - 11) * EVENTS_A_CHUNK);
	let_helper_come(session);
	recording_end(session);
	uint64_t gone = epp_session_lost(session, EPP_LOSS_POLICY);
	epp_session_destroy(session);
	ck_assert_uint_gt(gone, 0);
	ck_assert_uint_eq(records_of(path) + gone, events);
	check_given_back(path);
	free(path);
	free(snapped);
}
END_TEST

/* ---- what is left of them ---- */

/* A child that is killed with all chunks in use, at its own hand; how many events it had is told through a pipe. */
static uint64_t be_killed(const char *path)
{
	int pipes[2], status;
	uint64_t events = 0;
	ck_assert_int_eq(pipe(pipes), 0);
	pid_t child = fork();
	if (child == 0) {
		epp_session *session = recording_start(path);
		events = fill_all(session);
		epp_event_begin(session, EPP_NODE, name);
		if (write(pipes[1], &events, sizeof(events)) != sizeof(events))
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	waitpid(child, &status, 0);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	ck_assert_int_eq(read(pipes[0], &events, sizeof(events)), sizeof(events));
	close(pipes[0]);
	close(pipes[1]);
	return events;
}

START_TEST(killed_while_they_are_full)
{
	char *path = strdup(check_path("killed.epp")), *recovered = strdup(check_path("recovered.epp"));
	uint64_t events = be_killed(path);
	struct trace_scan *scan = trace_scan_file(path);
	ck_assert_ptr_null(scan->error);
	ck_assert_ptr_null(scan_balance(scan));
	ck_assert_uint_eq(scan->records_count, events);
	ck_assert_uint_ge(scan->window_regions_count, EPF_CHUNK_COUNT - 10);
	trace_scan_free(scan);
	epp_trace *trace = open_valid(path);
	const epp_trace_info *info = epp_trace_get_info(trace);
	ck_assert_uint_eq(info->records_count, events);
	ck_assert_uint_eq(info->open_count, 1);
	check_ok(epp_trace_recover(trace, recovered, 0));
	epp_trace_close(trace);
	/* The open one has become a record. */
	ck_assert_uint_eq(records_of(recovered), events + 1);
	/* In place, too. */
	check_ok(epp_trace_open(path, &trace));
	check_ok(epp_trace_recover(trace, path, 1));
	epp_trace_close(trace);
	ck_assert_uint_eq(records_of(path), events + 1);
	check_given_back(path);
	free(path);
	free(recovered);
}
END_TEST

/* Cut anywhere in the window: what was before is there, and nothing is made up. */
START_TEST(cut_within_them)
{
	char *path = strdup(check_path("cut.epp"));
	uint64_t before = be_killed(path);
	/* Down to the middle of a chunk, somewhere in what it has grown by, then in what there is always. */
	for (int chunk = EPF_CHUNK_COUNT - 3; chunk > 100; chunk -= 97) {
		off_t end = (off_t)EPF_CHUNKS_OFFSET + (off_t)chunk * EPF_CHUNK_BYTES + EPF_CHUNK_BYTES / 2 + 5;
		ck_assert_int_eq(truncate(path, end), 0);
		epp_trace *trace;
		check_ok(epp_trace_open(path, &trace));
		uint64_t records = epp_trace_get_info(trace)->records_count;
		epp_trace_close(trace);
		ck_assert_uint_lt(records, before);
		ck_assert_uint_gt(records, (uint64_t)chunk * EVENTS_A_CHUNK / 2);
		before = records;
	}
	free(path);
}
END_TEST

START_TEST(a_child_has_none_of_them)
{
	char *path = strdup(check_path("parent.epp"));
	epp_session *session = recording_start(path);
	uint64_t events = fill_all(session);
	pid_t child = fork();
	if (child == 0) {
		epp_session *own;
		if (epp_event_begin(session, EPP_NODE, name) || epp_session_create(NULL, &own) || epp_session_start(own))
			_exit(1);
		bool fresh = recording_storage(own)->window.chunks_count == WINDOW_FIRST_CHUNKS;
		record(own);
		if (!fresh || epp_session_end(own))
			_exit(2);
		epp_session_destroy(own);
		_exit(0);
	}
	int status;
	waitpid(child, &status, 0);
	ck_assert_msg(status == 0, "the child's status is %x", status);
	let_helper_come(session);
	struct trace_scan *scan = recording_finish_file(session, path);
	ck_assert_uint_eq(scan->records_count, events);
	trace_scan_free(scan);
	free(path);
}
END_TEST

static Suite *chunks_suite(void)
{
	Suite *suite = suite_create("chunks");
	TCase *tcase = tcase_create("chunks");
	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_test(tcase, a_quiet_session_has_what_it_began_with);
	tcase_add_test(tcase, none_while_blocks_cannot_be_written);
	tcase_add_test(tcase, what_is_full_goes_first);
	tcase_add_test(tcase, room_that_is_refused);
	tcase_add_test(tcase, many_threads_get_chunks_too);
	tcase_add_test(tcase, in_a_file_and_again_in_its_next_run);
	tcase_add_test(tcase, in_memory_and_none_of_it_is_left_to_the_next);
	tcase_add_test(tcase, with_an_external_window);
	tcase_add_test(tcase, in_a_ring);
	tcase_add_test(tcase, killed_while_they_are_full);
	tcase_add_test(tcase, cut_within_them);
	tcase_add_test(tcase, a_child_has_none_of_them);
	suite_add_tcase(suite, tcase);
	return suite;
}
CHECK_MAIN(chunks_suite)

/* What many threads record, and threads that come and go: runtime/record/recorder.c and drain.c, with the ledger of
 * each thread in balance to the last event. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "epprof/trace_reader.h"
#include "tests/support/recording.h"

static epp_session *session;
static epp_name name, key;
static pthread_barrier_t all_there;

/* ---- threads that stay ---- */

#define WORKERS 8
#define EVENTS (60000 / RECORDING_SLOW)

static void *work(void *argument)
{
	const unsigned *seed = argument;
	pthread_barrier_wait(&all_there);
	for (unsigned i = 0; i < EVENTS; i++) {
		uint64_t outer = epp_event_begin(session, EPP_NODE, name);
		uint64_t inner = epp_event_begin(session, EPP_API, name);
		if ((i + *seed) % 50 == 0)
			epp_instant_record(session, EPP_NODE, name,
			                   &(epp_arg){ .key = key, .type = EPP_ARG_U64, .value.u64 = i }, 1);
		epp_event_end(session, inner, NULL, 0);
		epp_event_end(session, outer, &(epp_arg){ .key = key, .type = EPP_ARG_U64, .value.u64 = i }, i % 16 == 0);
	}
	return NULL;
}

static void run_workers(void)
{
	pthread_t threads[WORKERS];
	unsigned seeds[WORKERS];
	pthread_barrier_init(&all_there, NULL, WORKERS);
	for (unsigned i = 0; i < WORKERS; i++) {
		seeds[i] = i;
		threads[i] = recording_thread(work, &seeds[i]);
	}
	for (unsigned i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&all_there);
}

static void check_workers(const struct trace_scan *scan)
{
	uint64_t lost = scan_lost(scan, EPP_LOSS_NO_BUFFER), instants = 0;
	for (unsigned i = 0; i < WORKERS; i++)
		for (unsigned e = 0; e < EVENTS; e++)
			instants += (e + i) % 50 == 0;
	ck_assert_uint_eq(scan_ids_taken(scan), WORKERS * EVENTS * 2 + instants);
	ck_assert_uint_eq(scan->records_count + lost, WORKERS * EVENTS * 2 + instants);
	size_t tracks = 0;
	for (size_t i = 1; i < scan->tracks_count; i++)
		tracks += scan->tracks[i].definition.kind == EPF_TRACK_THREAD;
	ck_assert_uint_eq(tracks, WORKERS);
}

START_TEST(eight_threads_in_memory)
{
	session = recording_start(NULL);
	run_workers();
	struct trace_scan *scan = recording_finish(session);
	check_workers(scan);
	trace_scan_free(scan);
}
END_TEST

START_TEST(eight_threads_into_a_file)
{
	char *path = check_path("eight.epp");
	session = recording_start(path);
	run_workers();
	struct trace_scan *scan = recording_finish_file(session, path);
	check_workers(scan);
	ck_assert(scan_name_is(scan, name, "threads"));
	trace_scan_free(scan);
}
END_TEST

/* ---- threads that come and go ---- */

#define VISITORS (5000u / RECORDING_SLOW)
#define AT_ONCE 20u

static void *visit(void *argument)
{
	/* From one event to more than the slot's own region holds, and some leave an event open. */
	unsigned number = (unsigned)(uintptr_t)argument, events = 1 + number % 97;
	for (unsigned i = 0; i < events; i++)
		epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
	if (number % 7 == 0)
		epp_event_begin(session, EPP_API, key);
	return NULL;
}

/* A thread needs a slot and at most one chunk.  The helper, which gives them back, comes late where others take the
 * processors: then all of them together could be faster than it is. */
static void wait_for_room(void)
{
	const struct storage *inside = recording_storage(session);
	while (LOAD_RELAXED(&inside->chunks.free) < AT_ONCE || LOAD_RELAXED(&inside->slots.free) < AT_ONCE)
		recording_sleep_ms(1);
}

static void run_visitors(struct trace_scan *(*finish)(void))
{
	pthread_t threads[AT_ONCE];
	uint64_t events = 0, open = 0;
	for (unsigned i = 0; i < VISITORS; i++) {
		if (i >= AT_ONCE)
			pthread_join(threads[i % AT_ONCE], NULL);
		wait_for_room();
		threads[i % AT_ONCE] = recording_thread(visit, (void *)(uintptr_t)i);
		events += 1 + i % 97;
		open += i % 7 == 0;
	}
	for (unsigned i = 0; i < AT_ONCE; i++)
		pthread_join(threads[i], NULL);
	struct trace_scan *scan = finish();
	for (unsigned reason = 0; reason < EPF_LOSS_COUNT; reason++)
		ck_assert_msg(scan_lost(scan, reason) == 0, "%llu lost for reason %u",
		              (unsigned long long)scan_lost(scan, reason), reason);
	ck_assert_uint_eq(scan_ids_taken(scan), events + open);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, name), events);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, key), open);
	size_t from = 0;
	for (const struct scan_record *record; (record = scan_next(scan, EPF_EVENT, key, &from));)
		ck_assert_uint_eq(EPF_BITS_FLAGS(record->bits), EPF_FLAG_UNENDED);
	for (size_t i = 0; i < scan->records_count; i++)
		ck_assert_ptr_nonnull(scan_track(scan, scan->records[i].track));
	trace_scan_free(scan);
}

static struct trace_scan *finish_memory(void)
{
	return recording_finish(session);
}

static struct trace_scan *finish_visitors_file(void)
{
	return recording_finish_file(session, check_path("visitors.epp"));
}

START_TEST(five_thousand_threads_in_memory)
{
	session = recording_start(NULL);
	run_visitors(finish_memory);
}
END_TEST

START_TEST(five_thousand_threads_into_a_file)
{
	session = recording_start(check_path("visitors.epp"));
	run_visitors(finish_visitors_file);
}
END_TEST

/* ---- more than there are slots ---- */

#define CROWD (EPF_SLOT_COUNT + 40)

static void *crowd(void *unused)
{
	for (int i = 0; i < 3; i++)
		epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
	/* An end is no event that could be lost. */
	epp_event_end(session, UINT64_MAX, NULL, 0);
	pthread_barrier_wait(&all_there);
	return unused;
}

START_TEST(more_threads_at_once_than_slots)
{
	static pthread_t threads[CROWD];
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 256 << 10);
	pthread_barrier_init(&all_there, NULL, CROWD + 1);
	session = recording_start(NULL);
	for (unsigned i = 0; i < CROWD; i++)
		ck_assert_int_eq(pthread_create(&threads[i], &small, crowd, NULL), 0);
	pthread_barrier_wait(&all_there);
	for (unsigned i = 0; i < CROWD; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_NO_SLOT), 40 * 3);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_AFTER_END), 0);
	/* They have left: there is room again. */
	for (int i = 0; i < 1000 && LOAD_RELAXED(&recording_storage(session)->slots.free) < EPF_SLOT_COUNT; i++)
		recording_sleep_ms(2);
	ck_assert_uint_ne(epp_event_begin(session, EPP_NODE, name), 0);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, name), EPF_SLOT_COUNT * 3 + 1);
	ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_NO_SLOT), 40 * 3);
	trace_scan_free(scan);
	pthread_barrier_destroy(&all_there);
}
END_TEST

/* ---- several sessions ---- */

static void *record_into(void *argument)
{
	epp_session *const *sessions = argument;
	for (unsigned i = 0; i < 3000; i++) {
		uint64_t ids[3];
		for (int s = 0; s < 3; s++)
			ids[s] = epp_event_begin(sessions[s], EPP_NODE, name);
		for (int s = 0; s < 3; s++)
			epp_event_end(sessions[s], ids[s], NULL, 0);
	}
	return NULL;
}

START_TEST(several_sessions_on_several_threads)
{
	epp_session *sessions[3] = { recording_start(NULL), recording_start(check_path("several.epp")),
		                     recording_start(NULL) };
	pthread_t threads[2] = { recording_thread(record_into, sessions), recording_thread(record_into, sessions) };
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (int s = 0; s < 3; s++) {
		/* The others go on while one ends. */
		record_into((epp_session *[]){ sessions[2], sessions[2], sessions[2] });
		struct trace_scan *scan = recording_finish(sessions[s]);
		ck_assert_uint_eq(scan_ids_taken(scan), s < 2 ? 6000 : 6000 + 3 * 9000);
		trace_scan_free(scan);
	}
}
END_TEST

static void *leave_open(void *unused)
{
	epp_event_begin(session, EPP_NODE, name);
	epp_event_begin(session, EPP_NODE, key);
	return unused;
}

START_TEST(a_thread_that_leaves_events_open)
{
	session = recording_start(NULL);
	recording_on_thread(leave_open, NULL);
	uint64_t left = epp_host_ticks();
	recording_sleep_ms(20);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan->records_count, 2);
	/* Innermost first, up to the thread's exit and not to the run's end. */
	ck_assert_uint_eq(scan->records[0].name, key);
	for (int i = 0; i < 2; i++) {
		ck_assert_uint_eq(EPF_BITS_FLAGS(scan->records[i].bits), EPF_FLAG_UNENDED);
		ck_assert(scan->records[i].start_ticks + scan->records[i].duration_ticks <= left);
	}
	trace_scan_free(scan);
}
END_TEST

static void names(void)
{
	name = epp_name_intern("threads");
	key = epp_name_intern("key");
}

/* ---- faults ---- */

#define PAGES 600

static void touch_fresh_pages(void)
{
	size_t bytes = PAGES * 4096;
	char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(pages, MAP_FAILED);
	madvise(pages, bytes, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < bytes; at += 4096)
		((volatile char *)pages)[at] = 1;
	munmap(pages, bytes);
}

/* Chunks take 2,046 events. */
static void *fault_between_chunks(void *times)
{
	for (unsigned i = 0; i < *(unsigned *)times; i++)
		touch_fresh_pages();
	for (unsigned i = 0; i < 4000; i++)
		epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
	touch_fresh_pages();
	for (unsigned i = 0; i < 10 * 2046; i++)
		epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
	return NULL;
}

/* What a thread faulted while it recorded is told of the run, in the live file and in the finished one; what it faulted
 * before is not. */
START_TEST(faults_are_counted)
{
	const char *path = check_path("faults.epp");
	unsigned before = 100;
	epp_trace_run run = { .struct_size = sizeof(run) };
	epp_trace *trace;
	name = epp_name_intern("fault");
	session = recording_start(path);
	recording_on_thread(fault_between_chunks, &before);
	check_ok(epp_trace_open(path, &trace));
	ck_assert(epp_trace_run_at(trace, 0, &run));
	ck_assert_uint_ge(run.page_faults, PAGES);
	ck_assert_uint_lt(run.page_faults, 50 * PAGES);
	epp_trace_close(trace);
	recording_end(session);
	check_ok(epp_session_start(session));
	recording_end(session);
	epp_session_destroy(session);
	check_ok(epp_trace_open(path, &trace));
	ck_assert(epp_trace_run_at(trace, 0, &run));
	ck_assert_uint_ge(run.page_faults, PAGES);
	ck_assert_uint_lt(run.page_faults, 50 * PAGES);
	/* A run in which nobody recorded had none. */
	ck_assert(epp_trace_run_at(trace, 1, &run));
	ck_assert_uint_eq(run.page_faults, 0);
	epp_trace_close(trace);
}
END_TEST

static void *record_as(void *own_name)
{
	if (own_name)
		prctl(PR_SET_NAME, own_name);
	epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
	return NULL;
}

/* Threads that have the main thread's name are distinguished by their number. */
START_TEST(unnamed_threads_have_their_number)
{
	static const char own_name[] = "a worker";
	const epp_trace_track *track;
	size_t mains = 0, unnamed = 0, named = 0;
	char label[64];
	prctl(PR_SET_NAME, "server");
	session = recording_start(NULL);
	record_as(NULL);
	recording_on_thread(record_as, NULL);
	recording_on_thread(record_as, NULL);
	recording_on_thread(record_as, (void *)(uintptr_t)own_name);
	recording_end(session);
	epp_trace *trace = recording_open(session);
	for (size_t i = 0; (track = epp_trace_track_at(trace, i)); i++) {
		snprintf(label, sizeof(label), "server/%u", track->thread_id);
		mains += track->thread_id == (uint32_t)getpid() && strcmp(track->name, "server") == 0;
		unnamed += strcmp(track->name, label) == 0;
		named += strcmp(track->name, own_name) == 0;
	}
	ck_assert_uint_eq(mains, 1);
	ck_assert_uint_eq(unnamed, 2);
	ck_assert_uint_eq(named, 1);
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

static Suite *threads_suite(void)
{
	Suite *suite = suite_create("recorder_threads");
	TCase *tcase = tcase_create("threads");
	tcase_add_checked_fixture(tcase, names, NULL);
	tcase_add_test(tcase, eight_threads_in_memory);
	tcase_add_test(tcase, eight_threads_into_a_file);
	tcase_add_test(tcase, five_thousand_threads_in_memory);
	tcase_add_test(tcase, five_thousand_threads_into_a_file);
	tcase_add_test(tcase, more_threads_at_once_than_slots);
	tcase_add_test(tcase, several_sessions_on_several_threads);
	tcase_add_test(tcase, a_thread_that_leaves_events_open);
	tcase_add_test(tcase, faults_are_counted);
	tcase_add_test(tcase, unnamed_threads_have_their_number);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(threads_suite)

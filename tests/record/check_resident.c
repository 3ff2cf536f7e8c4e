/* The recorder that lies in its thread's own memory (runtime/record/recorder.h): it changes places with those of other
 * sessions, is closed by other threads meanwhile, and is out of the way while a profiler is called. */
#include <stdlib.h>

#include "epprof/profiler.h"
#include "tests/support/recording.h"

#define THREADS 3
#define RUNS (60 / RECORDING_SLOW)
#define SESSIONS 2

static epp_session *sessions[SESSIONS];
static epp_name name, key;
static uint64_t begun[SESSIONS]; /* by all threads; ids that were given */
static uint32_t stop;

/* ---- in turns ---- */

/* Now every event in another session, now many in a row in one. */
static void *take_turns(void *argument)
{
	uint64_t mine[SESSIONS] = { 0 };
	unsigned random = *(const unsigned *)argument;
	while (!LOAD_RELAXED(&stop)) {
		random = random * 1103515245u + 12345u;
		unsigned of = random >> 16 & 1, count = random >> 20 & 1 ? 1 : 50;
		for (unsigned i = 0; i < count; i++) {
			uint64_t outer = epp_event_begin(sessions[of], EPP_NODE, name);
			uint64_t other = epp_event_begin(sessions[!of], EPP_API, name);
			epp_event_end(sessions[of], outer, NULL, 0);
			epp_event_end(sessions[!of], other, NULL, 0);
			mine[of] += outer != 0;
			mine[!of] += other != 0;
		}
	}
	for (unsigned i = 0; i < SESSIONS; i++)
		ADD_RELAXED(&begun[i], mine[i]);
	return NULL;
}

/* Runs end and begin while threads record in two sessions by turns: what was given an id is in a file, lost and
 * counted, or came from a run that was over. */
START_TEST(runs_end_meanwhile)
{
	const char *paths[SESSIONS] = { check_path("a.epp"), check_path("b.epp") };
	pthread_t threads[THREADS];
	unsigned seeds[THREADS];
	memset(begun, 0, sizeof(begun));
	stop = 0;
	for (unsigned i = 0; i < SESSIONS; i++)
		sessions[i] = recording_start(paths[i]);
	for (unsigned i = 0; i < THREADS; i++) {
		seeds[i] = i + 1;
		threads[i] = recording_thread(take_turns, &seeds[i]);
	}
	for (unsigned run = 0; run < RUNS; run++) {
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 + run % 7 * 300000 }, NULL);
		epp_session *session = sessions[run % SESSIONS];
		recording_end(session);
		check_ok(epp_session_start(session));
	}
	STORE_RELAXED(&stop, 1);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < SESSIONS; i++) {
		struct trace_scan *scan = recording_finish_file(sessions[i], paths[i]);
		ck_assert_uint_gt(begun[i], RUNS);
		ck_assert_uint_eq(scan_ids_taken(scan), begun[i]);
		trace_scan_free(scan);
	}
}
END_TEST

/* A thread that leaves while others close what it used last. */
static void *record_a_few(void *unused)
{
	for (unsigned i = 0; i < SESSIONS; i++) {
		uint64_t id = epp_event_begin(sessions[i], EPP_NODE, name);
		epp_event_end(sessions[i], id, NULL, 0);
		ADD_RELAXED(&begun[i], id != 0);
	}
	return unused;
}

START_TEST(threads_leave_meanwhile)
{
	memset(begun, 0, sizeof(begun));
	for (unsigned i = 0; i < SESSIONS; i++)
		sessions[i] = recording_start(NULL);
	for (unsigned run = 0; run < RUNS; run++) {
		pthread_t threads[THREADS];
		for (unsigned i = 0; i < THREADS; i++)
			threads[i] = recording_thread(record_a_few, NULL);
		recording_end(sessions[run % SESSIONS]);
		check_ok(epp_session_start(sessions[run % SESSIONS]));
		for (unsigned i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	}
	for (unsigned i = 0; i < SESSIONS; i++) {
		struct trace_scan *scan = recording_finish(sessions[i]);
		ck_assert_uint_eq(scan_ids_taken(scan), begun[i]);
		trace_scan_free(scan);
	}
}
END_TEST

/* ---- in callbacks ---- */

static unsigned starts, refused;
static bool ends_session;

static OrtStatus *start_profiling(OrtEpProfilerImpl *self, int64_t offset_ns)
{
	(void)self, (void)offset_ns;
	return NULL;
}

static OrtStatus *start_event(OrtEpProfilerImpl *self, uint64_t id)
{
	(void)self, (void)id;
	starts++;
	refused += epp_event_begin(sessions[0], EPP_NODE, name) == 0;
	/* In another session, too. */
	refused += epp_event_begin(sessions[1], EPP_NODE, name) == 0;
	if (ends_session)
		check_ok(epp_session_end(sessions[0]));
	return NULL;
}

static OrtStatus *end_profiling(OrtEpProfilerImpl *self, OrtProfilingEventsContainer *container)
{
	(void)self, (void)container;
	return NULL;
}

static void release(OrtEpProfilerImpl *self)
{
	free(self);
}

static OrtEpProfilerImpl *profiler(void)
{
	OrtEpProfilerImpl *made = calloc(1, sizeof(*made));
	*made = (OrtEpProfilerImpl){ .ort_version_supported = EPPROF_ORT_API_VERSION,
		                     .Release = release,
		                     .StartProfiling = start_profiling,
		                     .EndProfiling = end_profiling,
		                     .StartEvent = start_event };
	return made;
}

/* What records from inside of a callback is refused, and recording goes on behind it; if the callback has ended the
 * run, no more is recorded, whatever the thread had at hand. */
START_TEST(in_a_callback)
{
	for (int ending = 0; ending < 2; ending++) {
		epp_session_options options = { .struct_size = sizeof(options) };
		starts = refused = 0;
		ends_session = false;
		check_ok(epp_session_create(&options, &sessions[0]));
		check_ok(epp_session_attach(sessions[0], profiler(), "nested"));
		check_ok(epp_session_start(sessions[0]));
		sessions[1] = recording_start(NULL);
		for (int i = 0; i < 3; i++) {
			ends_session = ending && i == 2;
			uint64_t id = epp_event_begin(sessions[0], EPP_NODE, name);
			ck_assert_uint_ne(id, 0);
			epp_event_end(sessions[0], id, &(epp_arg){ .key = key, .type = EPP_ARG_I64, .value.i64 = i },
			              i & 1);
		}
		ck_assert_uint_eq(starts, 3);
		ck_assert_uint_eq(refused, 6);
		ck_assert(!ending == (epp_event_begin(sessions[0], EPP_NODE, name) != 0));
		struct trace_scan *scan = recording_finish(sessions[0]);
		ck_assert_uint_eq(scan_ids_taken(scan), 3 + !ending);
		trace_scan_free(scan);
		trace_scan_free(recording_finish(sessions[1]));
	}
}
END_TEST

/* ---- what numbers leave behind ---- */

/* Numbers are stored before the text behind them is found not to fit: nothing of them may stay in a chunk that is used
 * again, where it would be taken for records. */
START_TEST(numbers_before_a_text)
{
	const epp_arg args[] = {
		{ .key = key, .type = EPP_ARG_U64, .value.u64 = UINT64_MAX },
		{ .key = key, .type = EPP_ARG_U64, .value.u64 = UINT64_MAX },
		{ .key = key, .type = EPP_ARG_U64, .value.u64 = UINT64_MAX },
		{ .key = key, .type = EPP_ARG_TEXT, .value.text = "some words that need a slot or two", .text_bytes = 34 },
	};
	const unsigned count = 400000 / RECORDING_SLOW;
	unsigned random = 1;
	const char *path = check_path("numbers.epp");
	epp_session *session = recording_start(path);
	for (unsigned i = 0; i < count; i++) {
		random = random * 1103515245u + 12345u;
		epp_event_end(session, epp_event_begin(session, EPP_NODE, name), args,
		              random >> 16 & 3 ? random >> 18 & 3 : 4);
		if (i % 2000 == 1999)
			nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	}
	uint64_t lost = epp_session_lost(session, EPP_LOSS_NO_BUFFER);
	struct trace_scan *scan = recording_finish_file(session, path);
	ck_assert_uint_eq(scan->records_count + lost, count);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, name) + lost, count);
	trace_scan_free(scan);
}
END_TEST

static void names(void)
{
	name = epp_name_intern("resident");
	key = epp_name_intern("key");
}

static Suite *resident_suite(void)
{
	Suite *suite = suite_create("resident");
	TCase *tests = tcase_create("resident");
	tcase_add_checked_fixture(tests, names, NULL);
	tcase_add_test(tests, runs_end_meanwhile);
	tcase_add_test(tests, threads_leave_meanwhile);
	tcase_add_test(tests, in_a_callback);
	tcase_add_test(tests, numbers_before_a_text);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(resident_suite)

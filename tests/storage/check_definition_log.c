/* The log of definitions: it grows where the helper does not come, names wait for the helper where it cannot, and
 * whatever the rate of new names, a killed process leaves them: runtime/storage/window/definition_log.c. */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/atomics.h"
#include "epprof/trace_reader.h"
#include "tests/support/kills.h"
#include "tests/support/valid_trace.h"
#include "trace/reader_private.h"

#define THREADS 2
#define BYTES_MAX EPF_NAME_BYTES_MAX
#define LOG_ALL ((size_t)EPF_LOG_PIECES * EPF_LOG_BYTES)

static epp_name make_name(unsigned thread, uint64_t number, size_t bytes)
{
	static __thread char text[BYTES_MAX];
	memset(text, 'n', bytes);
	int head = snprintf(text, BYTES_MAX, "%u %llu", thread, (unsigned long long)number);
	text[head] = ' ';
	return epp_name_intern_bytes(text, bytes);
}

static bool is_full(const struct storage *storage)
{
	return LOAD_RELAXED(&storage->window.live->flags) & EPF_LIVE_LOG_FULL;
}

static uint32_t pieces(struct storage *storage)
{
	pthread_mutex_lock(&storage->definitions.log.lock);
	uint32_t count = storage->window.log_pieces;
	pthread_mutex_unlock(&storage->definitions.log.lock);
	return count;
}

/* ---- while nobody empties it ---- */

START_TEST(it_grows_until_the_helper_comes)
{
	epp_session *session = recording_start(check_path("grows.epp"));
	struct storage *inside = recording_storage(session);
	ck_assert_uint_eq(pieces(inside), 1);
	pthread_mutex_lock(&inside->drain_lock);
	for (size_t bytes = 0; bytes < LOG_ALL - 3 * BYTES_MAX * EPF_LOG_PIECES; bytes += BYTES_MAX)
		make_name(0, bytes, BYTES_MAX);
	ck_assert_uint_gt(pieces(inside), EPF_LOG_PIECES / 2);
	ck_assert(!is_full(inside));
	/* More than it may have: one name has waited in vain, the others go without. */
	uint64_t begun = recording_now_ns();
	for (size_t bytes = 0; bytes < LOG_ALL; bytes += BYTES_MAX)
		make_name(1, bytes, BYTES_MAX);
	uint64_t took = recording_now_ns() - begun;
	ck_assert(is_full(inside));
	ck_assert_uint_eq(pieces(inside), EPF_LOG_PIECES);
	ck_assert_uint_gt(took, 90000000);
	ck_assert_uint_lt(took, 3000000000u);
	pthread_mutex_unlock(&inside->drain_lock);
	for (int ms = 0; is_full(inside) && ms < 20000; ms++)
		recording_sleep_ms(1);
	ck_assert(!is_full(inside));
	recording_end(session);
	struct trace_scan *scan = recording_look(session);
	ck_assert(scan_name_is(scan, make_name(1, LOG_ALL - BYTES_MAX, BYTES_MAX),
	                       epp_name_text(make_name(1, LOG_ALL - BYTES_MAX, BYTES_MAX))));
	trace_scan_free(scan);
	epp_session_destroy(session);
}
END_TEST

#define WAITING_NAMES 40u

static void *make_names(void *made)
{
	for (unsigned i = 0; i < WAITING_NAMES; i++) {
		make_name(2, i + LOAD_RELAXED((unsigned *)made + 1), BYTES_MAX);
		STORE_RELAXED((unsigned *)made, i + 1);
	}
	return NULL;
}

/* True: names have waited, and none has gone without. */
static bool try_to_wait(const char *path, unsigned attempt)
{
	unsigned made[2] = { 0, attempt * WAITING_NAMES };
	epp_session *session = recording_start(path);
	struct storage *inside = recording_storage(session);
	pthread_mutex_lock(&inside->drain_lock);
	pthread_mutex_lock(&inside->definitions.log.lock);
	/* As on a disk with little room left. */
	inside->definitions.log.stays = true;
	pthread_mutex_unlock(&inside->definitions.log.lock);
	pthread_t thread = recording_thread(make_names, made);
	recording_sleep_ms(30);
	bool waited = LOAD_RELAXED(&made[0]) < WAITING_NAMES;
	pthread_mutex_unlock(&inside->drain_lock);
	pthread_join(thread, NULL);
	pthread_mutex_lock(&inside->definitions.log.lock);
	bool missed = inside->definitions.log.missed != 0;
	pthread_mutex_unlock(&inside->definitions.log.lock);
	recording_end(session);
	epp_session_destroy(session);
	return waited && !missed;
}

START_TEST(names_wait_for_the_helper)
{
	char *path = check_path("waits.epp");
	unsigned attempts = 0;
	/* On a busy machine it may come too late. */
	while (attempts < 20 && !try_to_wait(path, attempts))
		attempts++;
	ck_assert_uint_lt(attempts, 20);
}
END_TEST

/* Only what comes faster than it is emptied takes more pieces. */
START_TEST(it_stays_small)
{
	epp_session *session = recording_start(check_path("small.epp"));
	struct storage *inside = recording_storage(session);
	for (unsigned i = 0; i < 3000; i++) {
		epp_event_end(session, epp_event_begin(session, EPP_NODE, make_name(3, i, 1000)), NULL, 0);
		if (i % 100 == 99)
			for (int ms = 0; LOAD_RELAXED(&inside->window.live->log_used) << 32 && ms < 20000; ms++)
				recording_sleep_ms(1);
	}
	ck_assert_uint_eq(pieces(inside), 1);
	recording_end(session);
	epp_session_destroy(session);
}
END_TEST

/* A session that is not started has nobody who empties its log. */
START_TEST(a_start_comes_after_names)
{
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options), .path = check_path("idle.epp"), .overwrite = 1 };
	check_ok(epp_session_create(&options, &session));
	struct storage *inside = recording_storage(session);
	uint64_t begun = recording_now_ns();
	for (size_t bytes = 0; bytes < 2 * LOG_ALL; bytes += BYTES_MAX)
		make_name(4, bytes, BYTES_MAX);
	ck_assert(is_full(inside));
	/* Nobody comes, so nobody waits. */
	ck_assert_uint_lt(recording_now_ns() - begun, 5000000000u);
	check_ok(epp_session_start(session));
	ck_assert(!is_full(inside));
	recording_end(session);
	epp_session_destroy(session);
}
END_TEST

/* ---- killed ---- */

static struct shared {
	uint64_t done[THREADS]; /* events that have ended, each of a name of its own */
} * shared;

static epp_session *session;
static unsigned kind;

static size_t name_bytes(uint64_t number)
{
	static const size_t mixed[] = { 40, 20000, 600, BYTES_MAX, 100, 3000 };
	return kind == 0 ? BYTES_MAX : kind == 1 ? 40 : kind == 2 ? 3000 : mixed[number % 6];
}

static void *record(void *argument)
{
	unsigned thread = (unsigned)(uintptr_t)argument;
	uint64_t number = 0;
	/* What a process's table holds is the limit. */
	for (size_t bytes = 0; bytes < (100u << 20) && number < 400000; number++) {
		epp_event_end(session, epp_event_begin(session, EPP_NODE, make_name(thread, number, name_bytes(number))),
		              NULL, 0);
		STORE_RELEASE(&shared->done[thread], number + 1);
		bytes += name_bytes(number);
	}
	pause();
	return NULL;
}

static void be_killed(const char *path)
{
	session = recording_start(path);
	for (uintptr_t i = 1; i < THREADS; i++)
		recording_thread(record, (void *)i);
	record(NULL);
}

/* Each thread's events have their names, in their order.  Returns how many names are lost. */
static uint64_t check_killed(epp_trace *trace)
{
	struct reader *reader = trace->reader;
	struct reader_decoded decoded = { 0 };
	uint64_t count[THREADS] = { 0 }, lost = 0;
	uint8_t *seen[THREADS];
	for (unsigned i = 0; i < THREADS; i++)
		seen[i] = calloc(1, shared->done[i] + 2);
	for (size_t b = 0; b < reader->blocks_count; b++) {
		check_ok(reader_block_decode(reader, &reader->blocks[b], &decoded));
		for (uint32_t r = 0; r < decoded.count; r++) {
			size_t bytes;
			unsigned thread;
			unsigned long long number;
			const char *text = epp_trace_name(trace, decoded.records[r].name, &bytes);
			if (!strcmp(text, "(name lost)")) {
				lost++;
				continue;
			}
			MUST(sscanf(text, "%u %llu ", &thread, &number) == 2 && thread < THREADS);
			ck_assert_msg(
			    bytes == name_bytes(number) && number <= shared->done[thread] && !seen[thread][number],
			    "thread %u, event %llu of %llu: %zu bytes, seen %u, name %u, kind %u", thread, number,
			    (unsigned long long)shared->done[thread], bytes,
			    number <= shared->done[thread] ? seen[thread][number] : 99, decoded.records[r].name, kind);
			seen[thread][number] = 1;
			count[thread] += number < shared->done[thread];
		}
	}
	for (size_t i = 0; i < reader->open_count; i++)
		lost += !strcmp(epp_trace_name(trace, reader->open[i].open.name, NULL), "(name lost)");
	for (unsigned i = 0; i < THREADS; i++) {
		ck_assert_uint_le(count[i], shared->done[i]);
		free(seen[i]);
	}
	ck_assert_uint_ge(count[0] + count[1] + lost, shared->done[0] + shared->done[1]);
	reader_decoded_deinit(&decoded);
	return lost;
}

START_TEST(killed_while_names_are_made)
{
	unsigned kills = kills_count(100, 30), with_losses = 0;
	char *path = check_path("killed.epp");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	srand((unsigned)recording_now_ns());
	for (unsigned i = 0; i < kills; i++) {
		memset(shared, 0, sizeof(*shared));
		kind = i % 4;
		pid_t child = fork();
		if (child == 0)
			be_killed(path);
		for (int ms = 0; ms < 20000 && !LOAD_ACQUIRE(&shared->done[0]); ms++)
			recording_sleep_ms(1);
		nanosleep(&(struct timespec){ .tv_nsec = rand() % 60000 * 1000 }, NULL);
		kill(child, SIGKILL);
		int status;
		waitpid(child, &status, 0);
		ck_assert(WIFSIGNALED(status));
		epp_trace *trace;
		check_ok(epp_trace_open(path, &trace));
		check_valid(trace);
		uint64_t lost = check_killed(trace);
		/* A disk that takes longer than a name waits is a limit, which the trace tells. */
		ck_assert(!lost || trace->reader->live.flags & EPF_LIVE_LOG_FULL);
		with_losses += lost != 0;
		epp_trace_close(trace);
	}
	ck_assert_uint_le(with_losses, kills / 10);
	munmap(shared, sizeof(*shared));
}
END_TEST

static Suite *log_suite(void)
{
	Suite *suite = suite_create("log");
	TCase *tcase = tcase_create("log");
	tcase_set_timeout(tcase, 300);
	tcase_add_test(tcase, it_grows_until_the_helper_comes);
	tcase_add_test(tcase, names_wait_for_the_helper);
	tcase_add_test(tcase, it_stays_small);
	tcase_add_test(tcase, a_start_comes_after_names);
	tcase_add_test(tcase, killed_while_names_are_made);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(log_suite)

/* The ring: what it keeps is the newest, whole, and every event that it overwrote stands in its owner's account; while
 * it is read, after a kill, and on a disk that fails: runtime/storage/blocks/ring_ledger.c, block_ring.c,
 * reader_ring.c. */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "epprof/trace_reader.h"
#include "storage/blocks/ring_ledger.h"
#include "tests/support/profiler_double.h"
#include "tests/support/reader_asserts.h"
#include "tests/support/recording.h"
#include "tests/support/valid_trace.h"
#include "trace/reader_private.h"

#define RING_BYTES (4u << 20)

static epp_name name, key;
static char text[4096];
static uint64_t last_ended;

static void set_up(void)
{
	name = epp_name_intern("ring");
	key = epp_name_intern("key");
	memset(text, 'r', sizeof(text));
}

/* ---- the account alone ---- */

static const struct epf_overwritten_row *rows_of(const void *payload)
{
	return (const struct epf_overwritten_row *)((const struct epf_overwritten *)payload + 1);
}

START_TEST(accounts_of_what_is_gone)
{
	struct ring ring;
	union {
		struct epf_overwritten head;
		uint8_t bytes[4096];
	} payload;

	ck_assert(ring_init(&ring, 3));
	ck_assert_ptr_null(ring_oldest(&ring));
	ck_assert_uint_eq(ring_reserve(&ring), 0);
	for (uint64_t number = 1; number <= 4; number++) {
		if (number > 2) {
			ck_assert_uint_eq(ring_oldest(&ring)->number, number - 2);
			ck_assert_uint_gt(ring_drop_oldest(&ring, &payload), 0);
			/* Asked twice, because a write failed: the same answer.  Two owners are on both sides. */
			ck_assert_uint_eq(ring_drop_oldest(&ring, &payload) + sizeof(struct epf_block),
			                  ring_reserve(&ring) - (number > 3 ? 2 : 0) * sizeof(struct epf_overwritten_row));
			ck_assert_uint_eq(ring_forget(&ring), 100 + number - 2);
		}
		ring_begin(&ring, 100 + number, number);
		ck_assert(ring_room(&ring));
		ring_count(&ring, 9, 1, 5);
		ring_count(&ring, EPF_OVERWRITTEN_PRODUCER | 3, 0, 2);
		ring_count(&ring, 9, 1, number);
		if (number == 2)
			ring_count(&ring, 4, 2, 1);
	}
	/* 1 and 2 are gone, the second account says so. */
	ck_assert_uint_eq(payload.head.through, 2);
	ck_assert_uint_eq(payload.head.row_count, 3);
	const struct epf_overwritten_row *rows = rows_of(&payload);
	ck_assert(rows[0].of == 4 && rows[0].run == 2 && rows[0].events == 1);
	ck_assert(rows[1].of == 9 && rows[1].run == 1 && rows[1].events == 5 + 1 + 5 + 2);
	ck_assert(rows[2].of == (EPF_OVERWRITTEN_PRODUCER | 3) && rows[2].events == 4);
	ck_assert_uint_eq(ring.overwritten_events, 14);
	/* What can be asked of the rest. */
	size_t count;
	uint32_t first_run, *owners = ring_owners(&ring, &count, &first_run);
	ck_assert_uint_eq(count, 4);
	ck_assert(owners[0] == 9 && owners[1] == 9 && owners[2] == (EPF_OVERWRITTEN_PRODUCER | 3));
	ck_assert_uint_eq(first_run, 1);
	free(owners);
	ck_assert_uint_eq(ring_overwritten(&ring, 9, 1), 13);
	ck_assert_uint_eq(ring_overwritten(&ring, 9, 2), 0);
	ring_drop(&ring, (const uint32_t[]){ 4, 7 }, 2);
	ck_assert_uint_eq(ring_encode(&ring, &payload), sizeof(payload.head) + 2 * sizeof(struct epf_overwritten_row));
	ck_assert_uint_eq(payload.head.through, 2);
	ck_assert(rows_of(&payload)[0].of == 9 && rows_of(&payload)[0].events == 13);
	ring_deinit(&ring);
}
END_TEST

START_TEST(more_accounts_than_fit)
{
	struct ring ring;
	uint8_t *payload = malloc(2 * RING_ROWS_MAX * sizeof(struct epf_overwritten_row));

	ck_assert(ring_init(&ring, 2));
	ring_begin(&ring, 0, 1);
	for (uint32_t i = 0; i < RING_ROWS_MAX; i++) {
		ck_assert(ring_room(&ring));
		ring_count(&ring, i + 1, i, 1);
	}
	ck_assert(ring_is_crowded(&ring));
	ring_begin(&ring, 1, 2);
	ck_assert(!ring_is_crowded(&ring));
	ck_assert_uint_eq(ring_drop_oldest(&ring, payload),
	                  sizeof(struct epf_overwritten) + RING_ROWS_MAX * sizeof(struct epf_overwritten_row));
	ck_assert_uint_le(ring_reserve(&ring) + (256u << 10), EPF_SEGMENT_BYTES);
	ring_forget(&ring);
	ck_assert(ring_room(&ring));
	ring_count(&ring, RING_ROWS_MAX + 1, 0, 1);
	ring_begin(&ring, 0, 3);
	ck_assert_uint_eq(ring_drop_oldest(&ring, payload), 0);
	ring_deinit(&ring);
	free(payload);
}
END_TEST

/* ---- sessions ---- */

static void record(epp_session *session, uint64_t events)
{
	epp_arg arg = { .key = key, .type = EPP_ARG_TEXT, .value.text = text, .text_bytes = sizeof(text) };
	for (uint64_t i = 0; i < events; i++) {
		uint64_t id = epp_event_begin(session, EPP_NODE, name);
		epp_event_end(session, id, &arg, 1);
		/* One that was lost for want of a chunk is in no trace. */
		if (epp_session_lost(session, EPP_LOSS_NO_BUFFER) == 0)
			STORE_RELAXED(&last_ended, id);
		if (i % 256 == 255)
			recording_sleep_ms(4);
	}
}

struct job {
	epp_session *session;
	uint64_t events;
};

static void *record_job(void *argument)
{
	const struct job *job = argument;
	record(job->session, job->events);
	return NULL;
}

/* The accounts: all that was emitted, most of it overwritten, the rest written. */
static void check_accounts(epp_trace *trace, uint64_t events)
{
	epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
	uint64_t emitted = 0, lost = 0, written = 0;

	check_valid(trace);
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		check_ok(epp_trace_ledger_at(trace, i, &account));
		check_balance(&account);
		emitted += account.emitted;
		written += account.written;
		lost += account.lost[EPP_LOSS_POLICY];
	}
	ck_assert_uint_eq(emitted, events);
	ck_assert_uint_gt(lost, 0);
	ck_assert_uint_gt(written, 100);
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* Regions become blocks in no exact order, so that what goes first is not exactly the oldest; but the last ones are all
 * there, and none is there twice. */
static void check_newest(epp_trace *trace, uint64_t last_id, uint64_t lost)
{
	struct reader *reader = trace->reader;
	struct reader_decoded records = { 0 };
	uint64_t *ids = NULL;
	size_t count = 0;

	for (size_t i = 0; i < reader->blocks_count; i++) {
		check_ok(reader_block_decode(reader, &reader->blocks[i], &records));
		ids = reallocarray(ids, count + records.count, sizeof(*ids));
		for (uint32_t r = 0; r < records.count; r++)
			ids[count++] = records.records[r].id;
	}
	reader_decoded_deinit(&records);
	ck_assert_uint_gt(count, 400);
	qsort(ids, count, sizeof(*ids), by_value);
	/* The last one too may be lost for want of a chunk, where the helper comes late. */
	ck_assert_msg(lost || ids[count - 1] == last_id, "the last %d are not there", (int)(last_id - ids[count - 1]));
	for (size_t i = count - 1; i > 0; i--)
		ck_assert_uint_gt(ids[i], ids[i - 1]);
	for (size_t i = count - 1; i > count - 400 && !lost; i--)
		ck_assert_uint_eq(ids[i - 1], ids[i] - 1);
	free(ids);
}

START_TEST(the_newest_are_kept)
{
	char *path = _i ? NULL : check_path("ring.epp");
	epp_session *session = recording_ring(path, RING_BYTES);
	struct stat st;
	epp_trace *trace;

	check_ok(epp_session_start(session));
	record(session, 6000);
	uint64_t last = epp_event_begin(session, EPP_NODE, name);
	epp_event_end(session, last, NULL, 0);
	recording_end(session);
	ck_assert_uint_gt(epp_session_lost(session, EPP_LOSS_POLICY), 1000);
	trace = recording_open(session);
	check_accounts(trace, 6001);
	uint64_t lost = epp_session_lost(session, EPP_LOSS_NO_BUFFER);
	check_newest(trace, last, lost);
	epp_trace_close(trace);
	epp_session_destroy(session);
	if (!path)
		return;
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_le(st.st_size, EPF_SEGMENTS_OFFSET + RING_BYTES);
	check_ok(epp_trace_open(path, &trace));
	check_accounts(trace, 6001);
	check_newest(trace, last, lost);
	epp_trace_close(trace);
}
END_TEST

START_TEST(threads_and_runs)
{
	char *path = check_path("ring_threads.epp");
	epp_session *session = recording_ring(path, RING_BYTES);
	struct job job = { session, 1500 };
	epp_trace *trace;

	for (int run = 0; run < 2; run++) {
		check_ok(epp_session_start(session));
		pthread_t threads[3];
		for (int i = 0; i < 3; i++)
			threads[i] = recording_thread(record_job, &job);
		for (int i = 0; i < 3; i++)
			pthread_join(threads[i], NULL);
		recording_end(session);
	}
	epp_session_destroy(session);
	check_ok(epp_trace_open(path, &trace));
	check_accounts(trace, 9000);
	epp_trace_close(trace);
}
END_TEST

/* What ended before a trace was opened is in it, or so is something that came later and pushed it out. */
static void check_has(epp_trace *trace, uint64_t id)
{
	/* What was read may be overwritten before it is decoded, if the ring turned meanwhile. */
	const uint64_t turn_events = RING_BYTES / sizeof(text) * 3 / 4;
	struct reader *reader = trace->reader;
	struct reader_decoded records = { 0 };
	uint64_t largest = 0;

	for (size_t i = 0; i < reader->blocks_count; i++) {
		check_ok(reader_block_decode(reader, &reader->blocks[i], &records));
		for (uint32_t r = 0; r < records.count; r++)
			largest = records.records[r].id > largest ? records.records[r].id : largest;
	}
	reader_decoded_deinit(&records);
	ck_assert_msg(largest >= id || LOAD_RELAXED(&last_ended) - id > turn_events, "event %llu is missing",
	              (unsigned long long)id);
}

START_TEST(read_while_it_turns)
{
	char *path = check_path("ring_live.epp");
	epp_session *session = recording_ring(path, RING_BYTES);
	struct job job = { session, 8000 / RECORDING_SLOW };
	unsigned reads = 0;

	check_ok(epp_session_start(session));
	pthread_t thread = recording_thread(record_job, &job);
	while (pthread_tryjoin_np(thread, NULL)) {
		epp_trace *trace;
		uint64_t ended = LOAD_RELAXED(&last_ended);
		check_ok(epp_trace_open(path, &trace));
		check_valid(trace);
		check_has(trace, ended);
		epp_trace_close(trace);
		reads++;
	}
	ck_assert_uint_gt(reads, 0);
	recording_end(session);
	epp_trace *trace = recording_open(session);
	check_accounts(trace, job.events);
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

/* ---- kills, and a disk that fails ---- */

static void record_for_ever(const char *path, uint64_t *begun)
{
	epp_session *session = recording_ring(path, RING_BYTES);
	check_ok(epp_session_start(session));
	epp_arg arg = { .key = key, .type = EPP_ARG_TEXT, .value.text = text, .text_bytes = sizeof(text) };
	for (;;) {
		uint64_t id = epp_event_begin(session, EPP_NODE, name);
		epp_event_end(session, id, &arg, 1);
		__atomic_store_n(begun, *begun + 1, __ATOMIC_RELEASE);
	}
}

START_TEST(killed_while_it_turns)
{
	char *path = check_path("ring_killed.epp");
	uint64_t *ended = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(ended, MAP_FAILED);
	for (unsigned i = 0; i < 12; i++) {
		epp_trace *trace;
		*ended = 0;
		pid_t child = fork();
		if (child == 0)
			record_for_ever(path, ended);
		while (__atomic_load_n(ended, __ATOMIC_ACQUIRE) < 3000 + i * 711 / RECORDING_SLOW)
			sched_yield();
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		check_ok(epp_trace_open(path, &trace));
		epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
		uint64_t accounted = 0;
		check_valid(trace);
		for (size_t a = 0; a < epp_trace_ledger_count(trace); a++) {
			check_ok(epp_trace_ledger_at(trace, a, &account));
			accounted += account.written + account.lost_total + account.open;
		}
		ck_assert_uint_ge(accounted, *ended);
		/* One that ended and was not noted; one that was counted as lost and not yet closed. */
		ck_assert_uint_le(accounted, *ended + 2);
		epp_trace_close(trace);
	}
	munmap(ended, 4096);
}
END_TEST

START_TEST(a_disk_that_is_smaller_than_the_ring)
{
	char *path = check_path("ring_limited.epp");
	int status;
	pid_t child = fork();

	if (child == 0) {
		epp_session *session = recording_ring(path, RING_BYTES);
		setrlimit(RLIMIT_FSIZE, &(struct rlimit){ EPF_SEGMENTS_OFFSET + (2 << 20), RLIM_INFINITY });
		check_ok(epp_session_start(session));
		/* More than the window can grow to. */
		record(session, 60 * (1 << 20) / sizeof(text));
		epp_status_destroy(epp_session_end(session));
		epp_status_destroy(epp_session_wait(session, UINT64_MAX));
		epp_session_destroy(session);
		_exit(0);
	}
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	epp_trace *trace;
	epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
	check_ok(epp_trace_open(path, &trace));
	check_valid(trace);
	uint64_t lost = 0;
	for (size_t a = 0; a < epp_trace_ledger_count(trace); a++) {
		check_ok(epp_trace_ledger_at(trace, a, &account));
		lost += account.lost[EPP_LOSS_DISK];
	}
	ck_assert_uint_gt(lost, 0);
	epp_trace_close(trace);
}
END_TEST

START_TEST(too_small_a_ring)
{
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options), .policy = EPP_POLICY_RING };
	check_fails(EPP_INVALID_ARGUMENT, epp_session_create(&options, &session));
	options.max_bytes = RING_BYTES - 1;
	check_fails(EPP_INVALID_ARGUMENT, epp_session_create(&options, &session));
	ck_assert_ptr_null(session);
}
END_TEST

static Suite *ring_suite(void)
{
	Suite *suite = suite_create("ring");
	TCase *tcase = tcase_create("ring");
	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_test(tcase, accounts_of_what_is_gone);
	tcase_add_test(tcase, more_accounts_than_fit);
	tcase_add_loop_test(tcase, the_newest_are_kept, 0, 2);
	tcase_add_test(tcase, threads_and_runs);
	tcase_add_test(tcase, read_while_it_turns);
	tcase_add_test(tcase, killed_while_it_turns);
	tcase_add_test(tcase, a_disk_that_is_smaller_than_the_ring);
	tcase_add_test(tcase, too_small_a_ring);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(ring_suite)

/* A kill while all of a session is at work: two threads at full speed, and a profiler that pushes what its device did,
 * into a file without end and into a ring.  What each of them had done is noted in shared memory before and after each
 * call.
 *
 * CHECK_KILLS=300 build/tests/check_kill_pushed: so many of each instead of 150, or 25 where the environment has CI. */
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "epprof/profiler.h"
#include "epprof/trace_reader.h"
#include "tests/support/kills.h"
#include "tests/support/profiler_double.h"
#include "tests/support/recording.h"
#include "tests/support/valid_trace.h"
#include "trace/reader_private.h"

#define THREADS 2
#define THREADS_ALL (THREADS + 2) /* with the one that pushes, and the helper */
#define BATCH 40
#define RING_BYTES (8u << 20)

struct notes {
	uint32_t thread_id;
	uint64_t begins_called, begins_done, ends_done;
	uint64_t last_ended;     /* id */
	uint64_t last_end_ticks; /* not after its end */
};

static struct shared {
	struct notes notes[THREADS];
	uint64_t pushes_called, pushes_done;
	uint64_t last_push_ticks; /* not after it */
	long kill_us;
	int ready;
} * shared;

static epp_session *session;
static epp_name inner, outer;

/* ---- the child ---- */

static void *record(void *argument)
{
	struct notes *notes = argument;
	STORE_RELAXED(&notes->thread_id, (uint32_t)syscall(SYS_gettid));
	for (;;) {
		uint64_t ids[2];
		for (int i = 0; i < 2; i++) {
			STORE_RELEASE(&notes->begins_called, notes->begins_called + 1);
			ids[i] = epp_event_begin(session, EPP_NODE, i ? inner : outer);
			STORE_RELEASE(&notes->begins_done, notes->begins_done + 1);
		}
		for (int i = 2; i-- > 0;) {
			uint64_t ticks = clock_ticks();
			epp_event_end(session, ids[i], NULL, 0);
			STORE_RELAXED(&notes->last_end_ticks, ticks);
			STORE_RELAXED(&notes->last_ended, ids[i]);
			STORE_RELEASE(&notes->ends_done, notes->ends_done + 1);
		}
	}
	return NULL;
}

/* Events are numbered by their start.  Every other profiler counts for itself. */
static void push_for_ever(struct profiler_double *profiler, bool counts)
{
	static const EpprofClock clock = { .id = 5, .kind = 1, .ticks_per_second = 1000000000 };
	EpprofEvent events[BATCH];
	uint64_t number = 1;
	for (;;) {
		for (unsigned i = 0; i < BATCH; i++, number++)
			events[i] = (EpprofEvent){ .start_ticks = number,
				                   .end_ticks = number + 1,
				                   .name = "kernel",
				                   .category = EPP_KERNEL,
				                   .clock = 5,
				                   .stream = (int64_t)(number % 3) };
		EpprofLedger ledger = { .emitted = number - 1 };
		uint64_t ticks = clock_ticks();
		STORE_RELEASE(&shared->pushes_called, number - 1);
		profiler_registry_push(&profiler->impl, &(EpprofBatch){ .struct_size = sizeof(EpprofBatch),
		                                                        .clocks = &clock,
		                                                        .clocks_count = 1,
		                                                        .events = events,
		                                                        .events_count = BATCH,
		                                                        .ledger = counts ? &ledger : NULL });
		STORE_RELAXED(&shared->last_push_ticks, ticks);
		STORE_RELEASE(&shared->pushes_done, number - 1);
		if (!shared->ready)
			kills_limit(shared->kill_us * THREADS_ALL);
		STORE_RELEASE(&shared->ready, 1);
	}
}

static void be_killed(const char *path, bool ring, bool counts)
{
	epp_session_options options = { .struct_size = sizeof(options),
		                        .path = path,
		                        .overwrite = 1,
		                        .policy = ring ? EPP_POLICY_RING : EPP_POLICY_STREAM,
		                        .max_bytes = ring ? RING_BYTES : 0 };
	struct profiler_double profiler = double_make('a');
	pthread_t thread;
	profiler.impl.StartEvent = NULL;
	profiler.impl.StopEvent = NULL;
	if (epp_session_create(&options, &session) || epp_session_attach(session, &profiler.impl, "pusher") ||
	    epp_session_start(session))
		_exit(1);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread, NULL, record, &shared->notes[i]);
	push_for_ever(&profiler, counts);
}

/* ---- what it left ---- */

struct seen {
	uint64_t last_id[THREADS]; /* the largest of each thread's complete events */
	uint8_t *pushed;           /* how often each number is there */
	uint64_t pushed_count;
};

static void see_block(struct seen *seen, const struct reader *reader, const struct reader_decoded *records)
{
	const epp_trace_track *track = reader_track(reader, records->header.track);
	ck_assert_ptr_nonnull(track);
	for (uint32_t r = 0; r < records->count; r++) {
		const struct codec_record *record = &records->records[r];
		if (EPF_BITS_KIND(record->bits) == EPF_COMPLETE) {
			MUST(record->start_ticks <= shared->pushes_called);
			MUST(seen->pushed[record->start_ticks]++ == 0);
			seen->pushed_count++;
		}
		for (unsigned i = 0; i < THREADS && EPF_BITS_KIND(record->bits) == EPF_EVENT; i++)
			if (track->thread_id == shared->notes[i].thread_id && record->id > seen->last_id[i])
				seen->last_id[i] = record->id;
	}
}

/* In a ring, all events of a thread that got no processor for some milliseconds may have been overwritten. Then the ring
 * has much that began since, in blocks of threads; those that were pushed have no times to compare. */
static bool is_overwritten(const struct reader *reader, bool ring, uint64_t since_ticks)
{
	uint64_t later_bytes = 0;
	for (size_t i = 0; i < reader->blocks_count; i++) {
		const struct reader_block *block = &reader->blocks[i];
		if (block->kinds & 1u << EPF_EVENT && block->own_first_ticks >= since_ticks)
			later_bytes += block->payload_bytes;
	}
	return ring && later_bytes >= RING_BYTES / 16;
}

static void check_thread(const struct reader *reader, const epp_trace_ledger_entry *line, const struct notes *notes,
                         uint64_t last_id, bool ring)
{
	uint64_t lost = line->lost[EPP_LOSS_NO_BUFFER], gone = line->lost[EPP_LOSS_POLICY];
	ck_assert_uint_eq(line->lost_total, lost + gone);
	ck_assert(ring || !gone);
	ck_assert_uint_ge(line->emitted, notes->begins_done);
	ck_assert_uint_le(line->emitted, notes->begins_called + 1);
	/* What has ended is complete or counted; only the end that was under way may have left either state. */
	ck_assert_uint_ge(line->written + line->lost_total, notes->ends_done);
	ck_assert_uint_le(line->written + line->lost_total, notes->ends_done + 1 + (lost > 0));
	if (!lost && last_id < notes->last_ended)
		ck_assert_msg(is_overwritten(reader, ring, notes->last_end_ticks), "last id %" PRIu64 ", not %" PRIu64,
		              last_id, notes->last_ended);
}

static void check_pushed(const struct reader *reader, const epp_trace_ledger_entry *line, const struct seen *seen, bool ring)
{
	uint64_t lost = line->lost[EPP_LOSS_NO_BUFFER], in_hand = line->lost[EPP_LOSS_KILLED];
	ck_assert_uint_eq(line->written, seen->pushed_count);
	ck_assert_uint_le(in_hand, BATCH);
	ck_assert_uint_eq(line->lost[EPP_LOSS_PLUGIN], 0);
	ck_assert_uint_ge(line->emitted, shared->pushes_done);
	ck_assert_uint_le(line->emitted, shared->pushes_called);
	if (lost)
		return;
	/* In the order in which they were pushed: a ring has the last ones of them. */
	uint64_t first = 1, last = shared->pushes_called;
	while (first < last && !seen->pushed[first] && ring)
		first++;
	while (last && !seen->pushed[last])
		last--;
	if (last < shared->pushes_done)
		ck_assert_msg(is_overwritten(reader, ring, shared->last_push_ticks), "last %" PRIu64 ", not %" PRIu64,
		              last, shared->pushes_done);
	uint64_t missing = 0;
	for (uint64_t number = first; number <= last; number++)
		missing += !seen->pushed[number];
	/* Regions become blocks in no exact order. */
	if (!ring)
		ck_assert_uint_eq(missing, 0);
	ck_assert_uint_le(missing, line->lost[EPP_LOSS_POLICY]);
}

static void check_file(const char *path, bool ring)
{
	struct seen seen = { .pushed = calloc(shared->pushes_called + 1, 1) };
	struct reader_decoded records = { 0 };
	unsigned threads_seen = 0, profilers_seen = 0;
	/* That no id is there twice is among what it looks at. */
	epp_trace *trace = open_valid(path);
	for (size_t i = 0; i < trace->reader->blocks_count; i++) {
		check_ok(reader_block_decode(trace->reader, &trace->reader->blocks[i], &records));
		see_block(&seen, trace->reader, &records);
	}
	reader_decoded_deinit(&records);
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		epp_trace_ledger_entry line = { .struct_size = sizeof(line) };
		check_ok(epp_trace_ledger_at(trace, i, &line));
		check_balance(&line);
		const epp_trace_track *track = line.is_plugin ? NULL : reader_track(trace->reader, line.track);
		for (unsigned t = 0; t < THREADS && track; t++)
			if (track->thread_id == shared->notes[t].thread_id) {
				check_thread(trace->reader, &line, &shared->notes[t], seen.last_id[t], ring);
				threads_seen++;
			}
		if (line.is_plugin) {
			check_pushed(trace->reader, &line, &seen, ring);
			profilers_seen++;
		}
	}
	ck_assert_uint_eq(profilers_seen, 1);
	ck_assert_uint_le(threads_seen, THREADS);
	ck_assert_uint_ge(threads_seen, (shared->notes[0].begins_done > 0) + (shared->notes[1].begins_done > 0));
	epp_trace_close(trace);
	free(seen.pushed);
}

START_TEST(killed_at_any_instant)
{
	unsigned kills = kills_count(150, 25);
	bool ring = _i;
	char *path = strdup(check_path("killed.epp"));
	inner = epp_name_intern("inner");
	outer = epp_name_intern("outer");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	srand((unsigned)recording_now_ns());
	for (unsigned i = 0; i < kills; i++) {
		memset(shared, 0, sizeof(*shared));
		/* A ring has turned by then, most often. */
		shared->kill_us = rand() % (ring ? 100000 : 15000);
		pid_t child = fork();
		if (child == 0)
			be_killed(path, ring, i % 2);
		for (int ms = 0; ms < 20000 && !LOAD_ACQUIRE(&shared->ready); ms++)
			recording_sleep_ms(1);
		nanosleep(&(struct timespec){ .tv_nsec = shared->kill_us * 1000 }, NULL);
		kill(child, SIGKILL);
		int status;
		waitpid(child, &status, 0);
		ck_assert(WIFSIGNALED(status));
		check_file(path, ring);
	}
	munmap(shared, sizeof(*shared));
	free(path);
}
END_TEST

static Suite *kill_pushed_suite(void)
{
	Suite *suite = suite_create("kill_pushed");
	TCase *tcase = tcase_create("kill_pushed");
	tcase_set_timeout(tcase, 600);
	tcase_add_loop_test(tcase, killed_at_any_instant, 0, 2);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(kill_pushed_suite)

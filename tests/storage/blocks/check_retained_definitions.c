/* A ring while threads come and go without end: what is kept of them is emptied again and again, and at every instant,
 * also between any two writes, the accounts add up and each event has its thread and its name:
 * runtime/storage/blocks/retained_definitions.c. */
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "epprof/trace_reader.h"
#include "tests/support/reader_asserts.h"
#include "tests/support/recording.h"
#include "tests/support/valid_trace.h"
#include "trace/reader_private.h"

#define RING_BYTES (4u << 20)

static epp_name name;

/* ---- writes that are the last ---- */

/* Shared with a child that is to end between two writes: after `fatal_after` more writes from the one on that begins
 * emptying a segment, or in the middle of the next one. */
static struct fate {
	uint64_t passed;
	int64_t fatal_after; /* negative: never */
	uint32_t cleanings_before;
	uint32_t half;
	uint32_t fulfilled;
} * fate;

/* In place of the C library's: all that becomes of a ring comes through here. */
ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
	static bool counts;
	if (fate && fate->fatal_after >= 0) {
		const struct epf_segment *segment = data;
		bool begins = bytes == sizeof(*segment) && segment->magic == EPF_SEGMENT_MAGIC && segment->number &&
		              segment->flags == EPF_SEGMENT_RETAINED && !segment->first_ticks;
		/* The first kept segment is begun with nothing to empty. */
		if (begins && fate->cleanings_before-- == 0)
			counts = true;
		if (counts && fate->fatal_after-- == 0) {
			fate->fulfilled = 1;
			if (fate->half)
				syscall(SYS_pwrite64, fd, data, bytes / 2, offset);
			kill(getpid(), SIGKILL);
		}
	}
	return syscall(SYS_pwrite64, fd, data, bytes, offset);
}

/* ---- sessions ---- */

#define PASSERS_EVENTS 3
#define STAYERS 3

static void *pass(void *session)
{
	for (unsigned i = 0; i < PASSERS_EVENTS; i++)
		epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
	return NULL;
}

struct stayer {
	epp_session *session;
	unsigned number;
	int leave;
};

/* Records now and then while the others come and go; what it has left open stays so. */
static void *stay(void *argument)
{
	struct stayer *stayer = argument;
	char own[16];
	snprintf(own, sizeof(own), "stayer %u", stayer->number);
	pthread_setname_np(pthread_self(), own);
	uint64_t outer = epp_event_begin(stayer->session, EPP_NODE, epp_name_intern(own));
	while (!LOAD_ACQUIRE(&stayer->leave)) {
		pass(stayer->session);
		recording_sleep_ms(1);
	}
	pass(stayer->session);
	epp_event_end(stayer->session, outer, NULL, 0);
	return NULL;
}

/* All that anybody emitted, whether there is still a line of its own for it or not. */
static uint64_t check_all_accounts(epp_trace *trace, uint64_t *folded)
{
	epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
	uint64_t emitted = 0;

	check_valid(trace);
	*folded = 0;
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		check_ok(epp_trace_ledger_at(trace, i, &account));
		ck_assert_msg(account.balanced, "%s: emitted %llu, written %llu, lost %llu", account.producer,
		              (unsigned long long)account.emitted, (unsigned long long)account.written,
		              (unsigned long long)account.lost_total);
		ck_assert_uint_eq(account.lost[EPP_LOSS_NO_SLOT], 0);
		if (account.track == EPF_TRACK_GONE)
			*folded = account.lost[EPP_LOSS_POLICY];
		emitted += account.emitted;
	}
	return emitted;
}

static bool has_track(epp_trace *trace, const char *track_name)
{
	for (size_t i = 0; i < trace->reader->tracks_count; i++)
		if (!strcmp(trace->reader->tracks[i].name, track_name))
			return true;
	return false;
}

static void check_stayers(epp_trace *trace)
{
	for (unsigned i = 0; i < STAYERS; i++) {
		char own[16];
		snprintf(own, sizeof(own), "stayer %u", i);
		ck_assert_msg(has_track(trace, own), "%s", own);
	}
}

/* Threads come and go, and are counted. */
static void let_pass(epp_session *session, uint64_t *passed, unsigned count)
{
	const struct storage *inside = recording_storage(session);
	for (unsigned i = 0; i < count; i++) {
		/* A disk may be slow, and then slots are rare; but they come back. */
		for (int ms = 0; LOAD_RELAXED(&inside->slots.free) < EPF_SLOT_COUNT / 4 && ms < 10000; ms++)
			recording_sleep_ms(1);
		recording_on_thread(pass, session);
		__atomic_store_n(passed, *passed + 1, __ATOMIC_RELEASE);
	}
}

START_TEST(threads_without_end)
{
	char *path = _i ? NULL : check_path("ring_passers.epp");
	epp_session *session = recording_ring(path, RING_BYTES);
	struct stayer stayers[STAYERS];
	pthread_t threads[STAYERS];
	uint64_t passed = 0, folded, lost;
	epp_trace *trace;

	for (unsigned run = 0; run < 2; run++) {
		check_ok(epp_session_start(session));
		for (unsigned i = 0; i < STAYERS; i++) {
			stayers[i] = (struct stayer){ session, i, 0 };
			threads[i] = recording_thread(stay, &stayers[i]);
		}
		let_pass(session, &passed, 20000 / RECORDING_SLOW);
		for (unsigned i = 0; i < STAYERS; i++)
			STORE_RELEASE(&stayers[i].leave, 1);
		for (unsigned i = 0; i < STAYERS; i++)
			pthread_join(threads[i], NULL);
		recording_end(session);
		trace = recording_open(session);
		check_all_accounts(trace, &folded);
		check_stayers(trace);
		epp_trace_close(trace);
	}
	/* One more, whose events are the newest. */
	check_ok(epp_session_start(session));
	let_pass(session, &passed, 1);
	recording_end(session);
	trace = recording_open(session);
	uint64_t emitted = check_all_accounts(trace, &folded);
	ck_assert_uint_ge(emitted, passed * PASSERS_EVENTS);
	if (RECORDING_SLOW == 1)
		ck_assert_uint_gt(folded, 50000);
	ck_assert_uint_ge(trace->reader->runs_count, 1);
	ck_assert_uint_eq(trace->reader->runs[trace->reader->runs_count - 1].run, 3);
	lost = epp_session_lost(session, EPP_LOSS_POLICY);
	ck_assert_uint_ge(lost, folded);
	epp_trace_close(trace);
	epp_session_destroy(session);
	if (!path)
		return;
	struct stat st;
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_le(st.st_size, EPF_SEGMENTS_OFFSET + RING_BYTES);
	check_ok(epp_trace_open(path, &trace));
	uint64_t again;
	ck_assert_uint_eq(check_all_accounts(trace, &again), emitted);
	ck_assert_uint_eq(again, folded);
	epp_trace_close(trace);
}
END_TEST

/* More names and threads than an eighth of the ring has room for: what is kept takes the place of what goes round. */
START_TEST(names_take_the_place_of_events)
{
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options),
		                        .path = check_path("ring_names.epp"),
		                        .policy = EPP_POLICY_RING,
		                        .max_bytes = 2 * RING_BYTES,
		                        .overwrite = 1 };
	char long_name[2000];
	epp_trace *trace;
	uint64_t folded;

	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_start(session));
	for (unsigned i = 0; i < 1500; i++) {
		memset(long_name, 'a' + (int)(i % 26), sizeof(long_name) - 1);
		snprintf(long_name, sizeof(long_name), "%u", i);
		long_name[strlen(long_name)] = '-';
		long_name[sizeof(long_name) - 1] = 0;
		uint64_t id = epp_event_begin_text(session, EPP_NODE, long_name);
		epp_event_end(session, id, NULL, 0);
		if (i % 64 == 0)
			recording_sleep_ms(3);
	}
	for (unsigned i = 0; i < 1500; i++)
		pass(session);
	recording_end(session);
	epp_session_destroy(session);
	check_ok(epp_trace_open(options.path, &trace));
	ck_assert_uint_eq(check_all_accounts(trace, &folded), 1500 + 1500 * PASSERS_EVENTS);
	ck_assert_uint_gt(trace->reader->names_count, 1500);
	unsigned known = 0;
	for (size_t i = 0; i < trace->reader->names_count; i++)
		known += trace->reader->names[i].text && trace->reader->names[i].bytes == sizeof(long_name) - 1;
	ck_assert_uint_eq(known, 1500);
	epp_trace_close(trace);
}
END_TEST

/* ---- kills ---- */

static void pass_for_ever(const char *path, uint64_t *passed)
{
	epp_session *session = recording_ring(path, RING_BYTES);
	struct stayer stayers[STAYERS];
	check_ok(epp_session_start(session));
	for (unsigned i = 0; i < STAYERS; i++) {
		stayers[i] = (struct stayer){ session, i, 0 };
		recording_thread(stay, &stayers[i]);
	}
	/* A stayer's first event, and so its name, is in a block early. */
	recording_sleep_ms(5);
	let_pass(session, passed, UINT32_MAX);
}

static void check_killed(const char *path)
{
	epp_trace *trace;
	uint64_t folded;

	check_ok(epp_trace_open(path, &trace));
	check_stayers(trace);
	ck_assert_uint_ge(check_all_accounts(trace, &folded), fate->passed * PASSERS_EVENTS);
	epp_trace_close(trace);
}

/* Its header, then copies, then what makes them count, then the old one's number; then the place is cleared for others.
 * */
START_TEST(killed_between_two_writes)
{
	char *path = check_path("kept_written.epp");
	unsigned way = (unsigned)_i * CHECK_ONE_IN;
	fate->cleanings_before = 1 + way % 2;
	fate->fatal_after = way / 4;
	fate->half = way / 2 % 2;
	pid_t child = fork();
	if (child == 0)
		pass_for_ever(path, &fate->passed);
	waitpid(child, NULL, 0);
	ck_assert_uint_eq(fate->fulfilled, 1);
	check_killed(path);
}
END_TEST

START_TEST(killed_while_threads_pass)
{
	char *path = check_path("kept_killed.epp");

	for (unsigned i = 0; i < 8; i++) {
		uint64_t *passed = &fate->passed;
		*passed = 0;
		pid_t child = fork();
		if (child == 0)
			pass_for_ever(path, passed);
		/* When the first kept segment is emptied, or some time later. */
		while (__atomic_load_n(passed, __ATOMIC_ACQUIRE) < (2000 + i * 777) / RECORDING_SLOW)
			recording_sleep_ms(1);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		check_killed(path);
	}
}
END_TEST

static void set_up(void)
{
	name = epp_name_intern("kept");
	fate = mmap(NULL, sizeof(*fate), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(fate, MAP_FAILED);
	fate->fatal_after = -1;
}

static Suite *retained_suite(void)
{
	Suite *suite = suite_create("kept");
	TCase *tcase = tcase_create("kept");
	tcase_set_timeout(tcase, 240);
	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_loop_test(tcase, threads_without_end, 0, 2);
	tcase_add_test(tcase, names_take_the_place_of_events);
	tcase_add_loop_test(tcase, killed_between_two_writes, 0, 56 / CHECK_ONE_IN);
	tcase_add_test(tcase, killed_while_threads_pass);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(retained_suite)

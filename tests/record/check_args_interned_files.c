/* Args that many events have in common, where records still name them by their number: in what a killed process left,
 * in a session that records, in a ring that goes round, and in files that are damaged:
 * runtime/trace/reader_definitions.c. */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "epprof/timeline.h"
#include "epprof/trace_writer.h"
#include "tests/support/kills.h"
#include "tests/support/reader_asserts.h"
#include "tests/support/recording.h"
#include "tests/support/valid_trace.h"

#define RING_BYTES (4u << 20)
#define PER_SET 64
#define SHORT_TEXT 21
/* All that fits into a set beside a number. */
#define LONG_TEXT ((EPF_DEFINED_SLOTS_MAX - 2) * 16 - 2)

static epp_name event_name, key_number, key_set, key_text, key_twice;
static char letters[LONG_TEXT];

/* What is recorded: an event has its number, a set, and its number twice; so many have one set before there is another.
 * */
struct recording {
	epp_session *session;
	uint64_t per_set;
	size_t text_bytes;
	uint64_t events;
	uint64_t *ended;
};

static void set_up(void)
{
	event_name = epp_name_intern("event");
	key_number = epp_name_intern("number");
	key_set = epp_name_intern("set");
	key_text = epp_name_intern("text");
	key_twice = epp_name_intern("twice");
	memset(letters, 'x', sizeof(letters));
}

static epp_name intern_set(const struct recording *recording, uint64_t event)
{
	const epp_arg common[] = {
		{ .key = key_set, .type = EPP_ARG_I64, .value.i64 = -(int64_t)(event / recording->per_set) },
		{ .key = key_text, .type = EPP_ARG_TEXT, .value.text = letters, .text_bytes = recording->text_bytes }
	};
	return epp_args_intern(common, 2);
}

static void *record(void *argument)
{
	const struct recording *recording = argument;
	for (uint64_t i = 0; i < recording->events; i++) {
		uint64_t id = epp_event_begin(recording->session, EPP_NODE, event_name);
		const epp_arg args[] = { { .key = key_number, .type = EPP_ARG_U64, .value.u64 = i },
			                 EPP_ARGS_OF(intern_set(recording, i)),
			                 { .key = key_twice, .type = EPP_ARG_U64, .value.u64 = 2 * i } };
		epp_event_end(recording->session, id, args, 3);
		STORE_RELEASE(recording->ended, i + 1);
		if (i % 256 == 255)
			recording_sleep_ms(1);
	}
	return NULL;
}

/* ---- what is there ---- */

struct found {
	uint64_t count, newest;
	uint64_t lost, lost_policy;
};

static uint64_t must_be_number(const epp_timeline *timeline, const epp_event *event, size_t *cursor, const char *key)
{
	epp_trace_arg arg;
	MUST(epp_event_args(timeline, event, cursor, &arg));
	MUST(!strcmp(arg.key, key) && arg.type != EPP_ARG_TEXT);
	return arg.value.u64;
}

/* The event's number; its args must be all that it was given. */
static uint64_t must_be_whole(const struct recording *recording, const epp_timeline *timeline, const epp_event *event)
{
	epp_trace_arg arg;
	size_t cursor = 0;
	MUST(event->args_count == 4 && !(event->flags & EPP_FLAG_ARGS_CUT));
	uint64_t number = must_be_number(timeline, event, &cursor, "number");
	MUST(must_be_number(timeline, event, &cursor, "set") == -(number / recording->per_set));
	MUST(epp_event_args(timeline, event, &cursor, &arg) && !strcmp(arg.key, "text") && arg.type == EPP_ARG_TEXT);
	MUST(arg.text_bytes == recording->text_bytes && !memcmp(arg.value.text, letters, arg.text_bytes));
	MUST(must_be_number(timeline, event, &cursor, "twice") == 2 * number);
	MUST(!epp_event_args(timeline, event, &cursor, &arg));
	return number;
}

static void add_losses(epp_trace *trace, struct found *found)
{
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
		check_ok(epp_trace_ledger_at(trace, i, &account));
		found->lost += account.lost_total;
		found->lost_policy += account.lost[EPP_LOSS_POLICY];
	}
}

/* The events with numbers below `most`; none may be there twice.  The one that was open has no args yet. */
static struct found look(const struct recording *recording, epp_trace *trace, uint64_t most)
{
	struct found found = { 0 };
	uint8_t *seen = calloc(most, 1);
	epp_timeline *timeline;
	const epp_event *event;
	MUST(seen);
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (epp_timeline_next(timeline, &event)) {
		if (event->flags & (EPP_FLAG_OPEN | EPP_FLAG_UNENDED))
			continue;
		uint64_t number = must_be_whole(recording, timeline, event);
		MUST(number < most && !seen[number]++);
		found.count++;
		found.newest = number > found.newest ? number : found.newest;
	}
	check_ok(epp_timeline_status(timeline));
	epp_timeline_destroy(timeline);
	free(seen);
	add_losses(trace, &found);
	return found;
}

/* ---- kills ---- */

static void be_killed(struct recording *recording, const char *path, bool ring)
{
	epp_session_options options = { .struct_size = sizeof(options), .path = path, .overwrite = 1 };
	if (ring) {
		options.policy = EPP_POLICY_RING;
		options.max_bytes = RING_BYTES;
		if (!intern_set(recording, 0))
			_exit(1);
	}
	if (epp_session_create(&options, &recording->session) || epp_session_start(recording->session))
		_exit(1);
	record(recording);
	_exit(0);
}

#define LOST_POLICY 20000

static bool has_dropped(const char *path)
{
	struct found found = { 0 };
	epp_trace *trace;
	check_ok(epp_trace_open(path, &trace));
	add_losses(trace, &found);
	epp_trace_close(trace);
	return found.lost_policy > LOST_POLICY;
}

/* A ring is killed when it has dropped many events, which may be late if the helper thread is delayed. */
static void record_and_kill(struct recording *recording, const char *path, bool ring, uint64_t events)
{
	int status;
	*recording->ended = 0;
	pid_t child = fork();
	if (child == 0)
		be_killed(recording, path, ring);
	for (int ms = 0; ms < 60000 && LOAD_ACQUIRE(recording->ended) < events; ms++)
		recording_sleep_ms(1);
	for (int tries = 0; ring && tries < 2000 && !has_dropped(path); tries++)
		recording_sleep_ms(10);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	ck_assert(WIFSIGNALED(status));
	ck_assert_uint_ge(*recording->ended, events);
}

static uint64_t *shared_count(void)
{
	uint64_t *count = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(count, MAP_FAILED);
	return count;
}

/* Opens what is at `path`, then what is recovered from it. */
static struct found look_and_recover(const struct recording *recording, const char *path)
{
	char *recovered = check_path("recovered.epp");
	epp_trace *trace = open_valid(path);
	ck_assert_uint_eq(epp_trace_get_info(trace)->state, EPP_TRACE_CUT_OFF);
	struct found found = look(recording, trace, *recording->ended + 1);
	check_ok(epp_trace_recover(trace, recovered, 1));
	epp_trace_close(trace);
	trace = open_valid(recovered);
	ck_assert_uint_eq(epp_trace_get_info(trace)->state, EPP_TRACE_FINISHED);
	struct found again = look(recording, trace, *recording->ended + 1);
	ck_assert_uint_eq(again.count, found.count);
	ck_assert_uint_eq(again.newest, found.newest);
	epp_trace_close(trace);
	return found;
}

/* While there is only a slot's region, and later; new sets come all the time. */
START_TEST(killed_they_are_all_there)
{
	static const uint64_t instants[] = { 1, 20, 300, 5000, 40000 };
	struct recording recording = {
		.per_set = PER_SET, .text_bytes = SHORT_TEXT, .events = UINT64_MAX, .ended = shared_count()
	};
	unsigned kills = kills_count(20, 10);
	char *path = strdup(check_path("killed.epp"));
	for (unsigned i = 0; i < kills; i++) {
		record_and_kill(&recording, path, false, instants[i % 5] + i);
		struct found found = look_and_recover(&recording, path);
		ck_assert_uint_ge(found.count + found.lost, *recording.ended);
	}
	munmap(recording.ended, 4096);
	free(path);
}
END_TEST

/* The set is older than anything that the ring still has. */
START_TEST(killed_a_ring_has_the_newest)
{
	struct recording recording = {
		.per_set = UINT64_MAX, .text_bytes = LONG_TEXT, .events = UINT64_MAX, .ended = shared_count()
	};
	unsigned kills = kills_count(4, 2);
	char *path = strdup(check_path("killed.epp"));
	for (unsigned i = 0; i < kills; i++) {
		record_and_kill(&recording, path, true, 40000 + i * 711);
		struct found found = look_and_recover(&recording, path);
		ck_assert_uint_gt(found.lost_policy, LOST_POLICY);
		ck_assert_uint_gt(found.count, 1000);
		ck_assert_uint_ge(found.newest + 1 + found.lost - found.lost_policy, *recording.ended);
	}
	munmap(recording.ended, 4096);
	free(path);
}
END_TEST

/* ---- sessions ---- */

/* 0: in a file, 1: in memory. */
START_TEST(finished_a_ring_has_the_newest)
{
	uint64_t ended = 0;
	char *path = _i ? NULL : check_path("ring.epp");
	struct recording recording = { .session = recording_ring(path, RING_BYTES),
		                       .per_set = UINT64_MAX,
		                       .text_bytes = LONG_TEXT,
		                       .events = 50000,
		                       .ended = &ended };
	ck_assert_uint_ne(intern_set(&recording, 0), 0);
	check_ok(epp_session_start(recording.session));
	record(&recording);
	recording_end(recording.session);
	for (int released = 0; released <= !_i; released++) {
		if (released)
			epp_session_destroy(recording.session);
		epp_trace *trace = released ? open_valid(path) : recording_open(recording.session);
		check_valid(trace);
		struct found found = look(&recording, trace, ended);
		ck_assert_uint_gt(found.lost_policy, 20000);
		ck_assert_uint_gt(found.count, 1000);
		ck_assert_uint_eq(found.count + found.lost, ended);
		ck_assert(found.newest == ended - 1 || found.lost > found.lost_policy);
		epp_trace_close(trace);
	}
	if (_i)
		epp_session_destroy(recording.session);
}
END_TEST

START_TEST(read_while_it_records)
{
	uint64_t ended = 0;
	unsigned reads = 0;
	struct recording recording = { .session = recording_start(_i ? NULL : check_path("live.epp")),
		                       .per_set = PER_SET,
		                       .text_bytes = SHORT_TEXT,
		                       .events = 100000 / RECORDING_SLOW,
		                       .ended = &ended };
	pthread_t thread = recording_thread(record, &recording);
	for (bool more = true; more; reads++) {
		more = pthread_tryjoin_np(thread, NULL) != 0;
		uint64_t before = LOAD_ACQUIRE(&ended);
		epp_trace *trace = recording_open(recording.session);
		check_valid(trace);
		struct found found = look(&recording, trace, recording.events);
		ck_assert_uint_ge(found.count + found.lost, before);
		ck_assert(!before || more || found.newest == before - 1 || found.lost);
		epp_trace_close(trace);
	}
	ck_assert_uint_gt(reads, 1);
	recording_end(recording.session);
	epp_session_destroy(recording.session);
}
END_TEST

static Suite *args_interned_files_suite(void)
{
	Suite *suite = suite_create("args_interned_files");
	TCase *tcase = tcase_create("args_interned_files");
	tcase_set_timeout(tcase, 600);
	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_test(tcase, killed_they_are_all_there);
	tcase_add_test(tcase, killed_a_ring_has_the_newest);
	tcase_add_loop_test(tcase, finished_a_ring_has_the_newest, 0, 2);
	tcase_add_loop_test(tcase, read_while_it_records, 0, 2);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(args_interned_files_suite)

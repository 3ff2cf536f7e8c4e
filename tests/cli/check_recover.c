/* A finished trace out of what a killed process left: runtime/trace/writer/trace_writer_copy.c and cli/recover.c. */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "epprof/trace_writer.h"
#include "epprof/track.h"
#include "tests/support/command.h"
#include "tests/support/reader_asserts.h"
#include "tests/support/recording.h"
#include "tests/support/valid_trace.h"
#include "trace/reader_private.h"

/* What a child says before it is killed. */
struct words {
	uint64_t ended;
	uint32_t ready;
};

static struct words *words;

static void set_up(void)
{
	words = mmap(NULL, sizeof(*words), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(words, MAP_FAILED);
}

static void *leave_one_open(void *session)
{
	epp_event_begin(session, EPP_SESSION, epp_name_intern("open on a thread"));
	__atomic_store_n(&words->ready, 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
	return NULL;
}

static void be_killed(const char *path, epp_policy policy)
{
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options),
		                        .path = path,
		                        .policy = policy,
		                        .max_bytes = policy == EPP_POLICY_RING ? 4 << 20 : 0,
		                        .overwrite = 1 };
	pthread_t thread;
	if (epp_session_create(&options, &session) || epp_session_start(session) ||
	    pthread_create(&thread, NULL, leave_one_open, session))
		_exit(1);
	epp_track track;
	epp_track_options device = { .struct_size = sizeof(device),
		                     .name = "stream \"1\"",
		                     .ticks_per_second = 1000000,
		                     .clock_kind = EPP_CLOCK_DURATION_ONLY };
	if (epp_track_create(session, &device, &track))
		_exit(1);
	epp_name names[] = { epp_name_intern("a \"name\""), epp_name_intern("\xff\n") };
	epp_event_begin(session, EPP_NODE, epp_name_intern("outer"));
	for (uint64_t i = 0;; i++) {
		uint64_t id = epp_event_begin(session, EPP_NODE, names[i % 2]);
		if (i % 7 == 0)
			epp_event_record(session, track, EPP_KERNEL, names[0], i, i + 1, id, NULL, 0);
		epp_event_end(session, id,
		              &(epp_arg){ .key = names[1], .type = EPP_ARG_TEXT, .value.text = "text", .text_bytes = 4 },
		              i % 3 == 0);
		__atomic_store_n(&words->ended, i + 1, __ATOMIC_RELEASE);
	}
}

static char *killed_trace(epp_policy policy, uint64_t events)
{
	char *path = check_path("killed.epp");
	*words = (struct words){ 0 };
	pid_t child = fork();
	if (child == 0)
		be_killed(path, policy);
	while (__atomic_load_n(&words->ended, __ATOMIC_ACQUIRE) < events ||
	       !__atomic_load_n(&words->ready, __ATOMIC_ACQUIRE))
		sched_yield();
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return strdup(path);
}

struct sums {
	uint64_t emitted, written, lost, open;
};

static struct sums accounts_of(epp_trace *trace)
{
	struct sums sums = { 0 };
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
		check_ok(epp_trace_ledger_at(trace, i, &account));
		check_balance(&account);
		sums.emitted += account.emitted;
		sums.written += account.written;
		sums.lost += account.lost_total;
		sums.open += account.open;
	}
	return sums;
}

static uint64_t named_events(epp_trace *trace, const char *name)
{
	struct reader *reader = trace->reader;
	struct reader_decoded records = { 0 };
	uint64_t count = 0;
	for (size_t i = 0; i < reader->blocks_count; i++) {
		check_ok(reader_block_decode(reader, &reader->blocks[i], &records));
		for (uint32_t r = 0; r < records.count; r++)
			count += strcmp(epp_trace_name(trace, records.records[r].name, NULL), name) == 0;
	}
	reader_decoded_deinit(&records);
	return count;
}

START_TEST(what_was_left_is_all_there)
{
	static const epp_policy policies[] = { EPP_POLICY_STREAM, EPP_POLICY_STREAM, EPP_POLICY_RING };
	static const uint64_t events[] = { 20, 300000, 900000 };
	char *path = killed_trace(policies[_i], events[_i] / RECORDING_SLOW);
	char *out = strdup(check_path("recovered.epp"));
	epp_trace *before, *after;

	unlink(out);
	check_ok(epp_trace_open(path, &before));
	ck_assert_uint_eq(epp_trace_get_info(before)->state, EPP_TRACE_CUT_OFF);
	struct sums left = accounts_of(before);
	ck_assert_uint_ge(left.open, 2);
	ck_assert_uint_ge(left.written + left.lost + left.open, words->ended);
	check_ok(epp_trace_recover(before, out, 0));
	check_fails(EPP_EXISTS, epp_trace_recover(before, out, 0));
	check_ok(epp_trace_open(out, &after));
	ck_assert_uint_eq(epp_trace_get_info(after)->state, EPP_TRACE_FINISHED);
	ck_assert_uint_eq(epp_trace_get_info(after)->records_count, epp_trace_get_info(before)->records_count + left.open);
	ck_assert_str_eq(epp_trace_get_info(after)->file_id, epp_trace_get_info(before)->file_id);
	ck_assert_uint_eq(epp_trace_get_info(after)->tracks_count, epp_trace_get_info(before)->tracks_count);
	struct sums settled = accounts_of(after);
	ck_assert_uint_eq(settled.emitted, left.emitted);
	ck_assert_uint_eq(settled.written, left.written + left.open);
	ck_assert_uint_eq(settled.lost, left.lost);
	ck_assert_uint_eq(settled.open, 0);
	check_valid(after);
	ck_assert_uint_eq(named_events(after, "outer"), 1);
	ck_assert_uint_eq(named_events(after, "open on a thread"), 1);
	/* One may have been open. */
	uint64_t named = named_events(before, "a \"name\"");
	ck_assert_uint_ge(named_events(after, "a \"name\""), named);
	ck_assert_uint_le(named_events(after, "a \"name\""), named + 1);
	epp_trace_close(before);
	/* A finished one is copied. */
	check_ok(epp_trace_recover(after, path, 1));
	epp_trace_close(after);
	check_ok(epp_trace_open(path, &after));
	check_valid(after);
	ck_assert_uint_eq(accounts_of(after).written, settled.written);
	epp_trace_close(after);
	free(path);
	free(out);
}
END_TEST

START_TEST(not_while_it_is_recorded)
{
	char *path = strdup(check_path("live.epp")), *out = strdup(check_path("copy.epp"));
	epp_session *session = recording_start(path);
	epp_trace *trace;
	struct stat st;
	check_ok(epp_trace_open(path, &trace));
	check_fails(EPP_BUSY, epp_trace_recover(trace, out, 1));
	ck_assert_int_ne(stat(out, &st), 0);
	epp_trace_close(trace);
	recording_end(session);
	epp_session_destroy(session);
	free(path);
	free(out);
}
END_TEST

struct recording {
	epp_session *session;
	epp_name name;
	uint32_t stop;
	uint64_t events;
};

static void *record_on(void *argument)
{
	struct recording *recording = argument;
	for (uint64_t i = 0; !LOAD_RELAXED(&recording->stop); i++) {
		epp_event_end(recording->session, epp_event_begin(recording->session, EPP_NODE, recording->name), NULL, 0);
		ADD_RELAXED(&recording->events, 1);
		if (i % 1000 == 999)
			recording_sleep_ms(1);
	}
	return NULL;
}

/* Takes a snapshot of the session or, as another process does, of its file. */
static void snap(const struct recording *recording, const char *path, const char *out, uint64_t last_ns)
{
	epp_trace *trace;

	if (!path) {
		check_ok(epp_session_snapshot(recording->session, out, last_ns, 1));
		return;
	}
	check_ok(epp_trace_open(path, &trace));
	check_ok(epp_trace_snapshot(trace, out, last_ns, 1));
	/* Nobody records the snapshot. */
	epp_trace_close(trace);
	check_ok(epp_trace_open(out, &trace));
	check_fails(EPP_WRONG_STATE, epp_trace_snapshot(trace, path, last_ns, 1));
	epp_trace_close(trace);
}

/* Taken while two threads record: each is a whole trace, and the last one has little of what was long ago. */
START_TEST(snapshots_of_a_live_session)
{
	char *path = strdup(check_path("ring.epp")), *out = strdup(check_path("snapshot.epp"));
	epp_session_options options = { .struct_size = sizeof(options),
		                        .path = _i ? path : NULL,
		                        .policy = EPP_POLICY_RING,
		                        .max_bytes = 8 << 20,
		                        .overwrite = 1 };
	struct recording recording = { .name = epp_name_intern("goes on") };
	epp_trace *trace;
	check_ok(epp_session_create(&options, &recording.session));
	check_ok(epp_session_start(recording.session));
	epp_event_begin(recording.session, EPP_NODE, epp_name_intern("outer"));
	pthread_t threads[] = { recording_thread(record_on, &recording), recording_thread(record_on, &recording) };
	for (int i = 0; i < (RECORDING_SLOW == 1 ? 8 : 4); i++) {
		uint64_t before = LOAD_RELAXED(&recording.events);
		while (LOAD_RELAXED(&recording.events) < before + 1000)
			recording_sleep_ms(50);
		snap(&recording, _i && i % 3 ? path : NULL, out, i % 2 ? UINT64_MAX : 200000000);
		check_ok(epp_trace_open(out, &trace));
		ck_assert_uint_eq(epp_trace_get_info(trace)->state, EPP_TRACE_FINISHED);
		check_valid(trace);
		/* On a busy machine the threads may not run for 200 ms. */
		if (i % 2)
			ck_assert_uint_gt(named_events(trace, "goes on"), 0);
		ck_assert_uint_eq(named_events(trace, "outer"), 1);
		epp_trace_close(trace);
	}
	check_fails(EPP_EXISTS, epp_session_snapshot(recording.session, out, UINT64_MAX, 0));
	STORE_RELAXED(&recording.stop, 1);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	recording_sleep_ms(300);
	check_ok(epp_session_snapshot(recording.session, out, 1000000, 1));
	check_ok(epp_trace_open(out, &trace));
	epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
	uint64_t filtered = 0;
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		check_ok(epp_trace_ledger_at(trace, i, &account));
		filtered += account.lost[EPP_LOSS_FILTER];
	}
	ck_assert_uint_gt(filtered, 0);
	ck_assert_uint_eq(named_events(trace, "goes on"), 0);
	ck_assert_uint_eq(named_events(trace, "outer"), 1);
	epp_trace_close(trace);
	recording_end(recording.session);
	epp_session_destroy(recording.session);
	free(path);
	free(out);
}
END_TEST

static void expect(int code, struct command command)
{
	ck_assert_msg(command.code == code, "exit status %d: %s%s", command.code, command.out, command.err);
	command_free(&command);
}

/* That is told from a trace which was cut behind its window, released or killed. */
START_TEST(nothing_was_started)
{
	char *path = strdup(check_path("idle.epp")), *out = strdup(check_path("recovered.epp"));
	epp_session_options options = { .struct_size = sizeof(options), .path = path, .overwrite = 1, .max_bytes = 4 << 20 };
	options.policy = _i & 2 ? EPP_POLICY_RING : EPP_POLICY_STREAM;
	bool killed = _i & 1;
	epp_session *session;
	pid_t child = fork();
	if (child == 0) {
		check_ok(epp_session_create(&options, &session));
		if (killed)
			raise(SIGKILL);
		epp_session_destroy(session);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	epp_trace_close(open_valid(path));
	expect(0, command_run(NULL, "validate", "--strict", path, NULL));
	expect(0, command_run(NULL, "recover", "--force", "-o", out, path, NULL));
	expect(0, command_run(NULL, "validate", "--strict", out, NULL));
	expect(0, command_run(NULL, "pack", "--force", "-o", out, path, NULL));
	expect(0, command_run(NULL, "validate", "--strict", out, NULL));
	if (!killed) {
		off_t segments = recording_segments_offset(path);
		ck_assert_int_eq(truncate(path, segments + 70), 0);
		expect(3, command_run(NULL, "validate", path, NULL));
		ck_assert_int_eq(truncate(path, segments), 0);
		expect(3, command_run(NULL, "validate", path, NULL));
	}
	free(path);
	free(out);
}
END_TEST

/* A file-size limit is an error, not the end of the process; nothing is left behind. */
/* Times that only damage can make: a run's end is limited to the last time that a clock can have. */
START_TEST(an_end_after_all_time)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 1);
	builder_event(b, thread, BUILDER_START + (1ull << 62), 7ull << 59, EPP_NODE, builder_name(b, "late"), NULL, 0);
	epp_trace *trace = builder_open(b, EPF_RECORDING);
	char *path = check_path("late.epp");
	check_ok(epp_trace_recover(trace, path, 0));
	epp_trace_close(trace);
	builder_destroy(b);
	check_ok(epp_trace_open(path, &trace));
	ck_assert_uint_eq(trace->reader->runs_count, 1);
	ck_assert_int_eq(trace->reader->runs[0].end.realtime_ns, INT64_MAX);
	epp_trace_close(trace);
}
END_TEST

START_TEST(a_file_size_limit)
{
	char *path = killed_trace(EPP_POLICY_STREAM, 30000 / RECORDING_SLOW), *out = strdup(check_path("limited.epp"));
	int status;
	pid_t child = fork();
	if (child == 0) {
		epp_trace *trace;
		setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 1 << 16, 1 << 16 });
		signal(SIGXFSZ, SIG_DFL);
		if (epp_trace_open(path, &trace))
			_exit(1);
		epp_status *failed = epp_trace_recover(trace, out, 0);
		_exit(epp_status_code(failed) == EPP_IO && access(out, F_OK) != 0 ? 0 : 2);
	}
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	free(path);
	free(out);
}
END_TEST

/* What is replaced keeps its mode; a link is not replaced, nor what is being recorded. */
START_TEST(what_is_replaced)
{
	char *path = killed_trace(EPP_POLICY_STREAM, 100), *link = strdup(check_path("link.epp"));
	struct stat st;
	epp_trace *trace;

	unlink(link);
	ck_assert_int_eq(chmod(path, 0640), 0);
	ck_assert_int_eq(symlink(path, link), 0);
	check_ok(epp_trace_open(link, &trace));
	check_fails(EPP_IO, epp_trace_recover(trace, link, 1));
	check_ok(epp_trace_recover(trace, path, 1));
	epp_trace_close(trace);
	ck_assert_int_eq(lstat(link, &st), 0);
	ck_assert(S_ISLNK(st.st_mode));
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0640);
	check_ok(epp_trace_open(path, &trace));
	ck_assert_uint_eq(epp_trace_get_info(trace)->state, EPP_TRACE_FINISHED);
	epp_trace_close(trace);

	epp_session *session = recording_start(path);
	check_fails(EPP_BUSY, epp_session_snapshot(session, path, UINT64_MAX, 1));
	recording_end(session);
	epp_session_destroy(session);
	free(path);
	free(link);
}
END_TEST

START_TEST(the_command)
{
	char *path = killed_trace(EPP_POLICY_STREAM, 1000), *out = strdup(check_path("out.epp"));

	expect(2, command_run(NULL, "recover", path, NULL));
	struct command both = command_run(NULL, "recover", "--in-place", "-o", out, path, NULL);
	ck_assert_msg(strstr(both.err, "-o and --in-place exclude each other"), "%s", both.err);
	expect(2, both);
	expect(5, command_run(NULL, "recover", "-o", out, "/nowhere", NULL));
	expect(1, command_run(NULL, "recover", "-o", "/nowhere/out.epp", path, NULL));
	expect(0, command_run(NULL, "recover", "-o", out, path, NULL));
	expect(1, command_run(NULL, "recover", "-o", out, path, NULL));
	expect(0, command_run(NULL, "recover", "--force", "-o", out, path, NULL));
	expect(0, command_run(NULL, "validate", out, NULL));
	expect(0, command_run(NULL, "recover", "--in-place", path, NULL));
	expect(0, command_run(NULL, "recover", "--in-place", path, NULL));
	expect(0, command_run(NULL, "validate", path, NULL));
	free(path);
	free(out);
}
END_TEST

static Suite *recover_suite(void)
{
	Suite *suite = suite_create("recover");
	TCase *tcase = tcase_create("recover");
	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_loop_test(tcase, what_was_left_is_all_there, 0, 3);
	tcase_add_test(tcase, not_while_it_is_recorded);
	tcase_add_loop_test(tcase, snapshots_of_a_live_session, 0, 2);
	tcase_add_loop_test(tcase, nothing_was_started, 0, 4);
	tcase_add_test(tcase, an_end_after_all_time);
	tcase_add_test(tcase, a_file_size_limit);
	tcase_add_test(tcase, what_is_replaced);
	tcase_add_test(tcase, the_command);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(recover_suite)

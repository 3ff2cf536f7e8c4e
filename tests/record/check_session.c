/* Sessions' lives: options, paths, states, restarts, reading while they record, and what the log is told:
 * runtime/record/session.c, run.c, and of runtime/storage/storage.c and run_error.c.  Limits and full disks are
 * check_session_limits's. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/helper.h"
#include "epprof/track.h"
#include "tests/support/emulated.h"
#include "tests/support/forking.h"
#include "tests/support/recording.h"

static epp_name name;

static void set_up(void)
{
	name = epp_name_intern("session");
}

static void one_event(epp_session *session)
{
	epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
}

static epp_status *create(const epp_session_options *given)
{
	epp_session *session = (epp_session *)1;
	epp_session_options options = *given;
	if (!options.struct_size)
		options.struct_size = sizeof(options);
	epp_status *status = epp_session_create(&options, &session);
	ck_assert_int_eq(status == NULL, session != NULL);
	if (session)
		epp_session_destroy(session);
	return status;
}

START_TEST(options_that_cannot_be_followed)
{
	struct {
		epp_session_options options;
		char tail[8];
	} longer = { .options.struct_size = sizeof(longer) };
	epp_session *session;
	check_ok(epp_session_create(&longer.options, &session));
	epp_session_destroy(session);
	longer.tail[3] = 1;
	check_fails(EPP_INVALID_ARGUMENT, epp_session_create(&longer.options, &session));
	ck_assert_ptr_null(session);
	/* An older caller's struct ends before `policy`, whose bytes are something else. */
	check_ok(create(&(epp_session_options){ .struct_size = offsetof(epp_session_options, policy), .policy = 9 }));
	check_fails(EPP_INVALID_ARGUMENT, epp_session_create(&(epp_session_options){ .label = "no size" }, &session));
	check_fails(EPP_INVALID_ARGUMENT, create(&(epp_session_options){ .policy = 9 }));
	check_fails(EPP_INVALID_ARGUMENT, create(&(epp_session_options){ .policy = EPP_POLICY_STOP }));
	check_fails(EPP_INVALID_ARGUMENT, create(&(epp_session_options){ .policy = EPP_POLICY_RING }));
	check_ok(epp_session_create(NULL, &session));
	epp_session_destroy(session);
}
END_TEST

static off_t size_of(const char *path)
{
	struct stat st;
	return stat(path, &st) ? -1 : st.st_size;
}

START_TEST(paths_that_cannot_be_written)
{
	char *there = check_path("there.epp");
	int fd = open(there, O_WRONLY | O_CREAT, 0666);
	ck_assert_int_eq(write(fd, "precious", 8), 8);
	close(fd);
	check_fails(EPP_IO, create(&(epp_session_options){ .path = there }));
	ck_assert_int_eq(size_of(there), 8);
	check_fails(EPP_NOT_FOUND, create(&(epp_session_options){ .path = check_path("no/such/directory.epp") }));
	check_fails(EPP_NOT_FOUND, create(&(epp_session_options){ .path = "" }));
	check_fails(EPP_IO, create(&(epp_session_options){ .path = check_path("."), .overwrite = 1 }));
	check_fails(EPP_IO, create(&(epp_session_options){ .path = "/dev/null", .overwrite = 1 }));
	ck_assert_int_eq(access("/dev/null", F_OK), 0);
	check_ok(create(&(epp_session_options){ .path = there, .overwrite = 1 }));
	ck_assert_int_ne(size_of(there), 8);
	/* Everything may be written by root. */
	if (emulated_without("there is one user"))
		return;
	char *locked = check_path("locked");
	ck_assert_int_eq(mkdir(locked, 0555), 0);
	pid_t child = fork();
	if (child == 0) {
		if (geteuid() == 0 && seteuid(65534))
			_exit(2);
		_exit(epp_status_code(create(&(epp_session_options){ .path = check_path("locked/x.epp") })) == EPP_IO ? 0
		                                                                                                      : 1);
	}
	int status;
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* Neither through a symbolic link, also one to nothing, nor into a file that has another name. */
START_TEST(a_trace_goes_through_no_link)
{
	char *target = check_path("target.epp"), *link_path = check_path("link.epp"), *dangling = check_path("none.epp");
	FILE *file = fopen(target, "w");
	ck_assert_int_eq(fputs("precious", file), 1);
	fclose(file);
	ck_assert_int_eq(symlink(target, link_path), 0);
	ck_assert_int_eq(symlink("nowhere", dangling), 0);
	for (uint32_t overwrite = 0; overwrite < 2; overwrite++) {
		check_fails(EPP_IO, create(&(epp_session_options){ .path = link_path, .overwrite = overwrite }));
		check_fails(EPP_IO, create(&(epp_session_options){ .path = dangling, .overwrite = overwrite }));
	}
	ck_assert_int_eq(access(check_path("nowhere"), F_OK), -1);
	ck_assert_int_eq(unlink(link_path), 0);
	ck_assert_int_eq(link(target, link_path), 0);
	check_fails(EPP_IO, create(&(epp_session_options){ .path = link_path, .overwrite = 1 }));
	ck_assert_int_eq(size_of(target), 8);
}
END_TEST

static mode_t mode_of_new(const char *path)
{
	struct stat st;
	check_ok(create(&(epp_session_options){ .path = path }));
	ck_assert_int_eq(stat(path, &st), 0);
	return st.st_mode & 07777;
}

/* A small trace is rewritten when it ends: that keeps the mode. */
START_TEST(only_the_user_reads_a_trace)
{
	umask(022);
	ck_assert_uint_eq(mode_of_new(check_path("own.epp")), 0600);
	setenv("EPPROF_FILE_MODE", "0664", 1);
	ck_assert_uint_eq(mode_of_new(check_path("shared.epp")), 0644);
	setenv("EPPROF_FILE_MODE", "all", 1);
	check_fails(EPP_INVALID_ARGUMENT, create(&(epp_session_options){ .path = check_path("wrong.epp") }));
	ck_assert_int_eq(access(check_path("wrong.epp"), F_OK), -1);
}
END_TEST

START_TEST(a_message_names_the_path)
{
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options), .path = check_path("no/such.epp") };
	epp_status *status = epp_session_create(&options, &session);
	ck_assert_ptr_nonnull(strstr(epp_status_message(status), "no/such.epp: No such file"));
	epp_status_destroy(status);
}
END_TEST

START_TEST(a_file_that_somebody_writes)
{
	char *path = check_path("busy.epp");
	epp_session *session = recording_start(path);
	one_event(session);
	check_fails(EPP_BUSY, create(&(epp_session_options){ .path = path, .overwrite = 1 }));
	pid_t child = forking_fork(true);
	if (child == 0) {
		epp_session *mine;
		epp_session_options options = { .struct_size = sizeof(options), .path = path, .overwrite = 1 };
		epp_status *status = epp_session_create(&options, &mine);
		_exit(epp_status_code(status) == EPP_BUSY ? 0 : 1);
	}
	int status;
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	one_event(session);
	struct trace_scan *scan = recording_finish_file(session, path);
	ck_assert_uint_eq(scan->records_count, 2);
	trace_scan_free(scan);
	check_ok(create(&(epp_session_options){ .path = path, .overwrite = 1 }));
}
END_TEST

START_TEST(states_in_any_order)
{
	epp_session *session;
	epp_status *none = epp_session_start(NULL);
	ck_assert_int_eq(epp_status_code(none), EPP_INVALID_ARGUMENT);
	ck_assert_ptr_nonnull(strstr(epp_status_message(none), "EPPROF_OUTPUT"));
	epp_status_destroy(none);
	check_fails(EPP_INVALID_ARGUMENT, epp_session_end(NULL));
	check_fails(EPP_INVALID_ARGUMENT, epp_session_wait(NULL, 0));
	epp_session_destroy(NULL);
	ck_assert_uint_eq(epp_session_lost(NULL, EPP_LOSS_DISK), 0);
	check_ok(epp_session_create(NULL, &session));
	check_ok(epp_session_end(session));
	check_ok(epp_session_wait(session, UINT64_MAX));
	check_ok(epp_session_start(session));
	check_fails(EPP_WRONG_STATE, epp_session_start(session));
	check_fails(EPP_WRONG_STATE, epp_session_wait(session, 0));
	one_event(session);
	check_ok(epp_session_end(session));
	check_ok(epp_session_end(session));
	check_ok(epp_session_wait(session, 0));
	struct trace_scan *scan = recording_look(session);
	ck_assert_uint_eq(scan->records_count, 1);
	ck_assert_uint_eq(scan->runs_count, 1);
	trace_scan_free(scan);
	epp_session_destroy(session);
	epp_session_destroy(session);
	check_fails(EPP_INVALID_ARGUMENT, epp_session_start(session));
	check_fails(EPP_INVALID_ARGUMENT, epp_session_wait(session, 0));
	ck_assert_uint_eq(epp_event_begin(session, EPP_NODE, name), 0);
	epp_event_end(session, 99, NULL, 0);
	ck_assert_uint_eq(epp_session_read(session, 0, &scan, sizeof(scan)), 0);
	/* The next one has the same entry; the stale handle still names nothing. */
	epp_session *next = recording_start(NULL);
	ck_assert_ptr_ne(next, session);
	ck_assert_uint_eq(epp_event_begin(session, EPP_NODE, name), 0);
	epp_event_end(session, 99, NULL, 0);
	ck_assert_uint_eq(epp_session_lost(next, EPP_LOSS_AFTER_END), 0);
	trace_scan_free(recording_finish(next));
}
END_TEST

START_TEST(a_release_ends_what_goes_on)
{
	char *path = check_path("released.epp");
	epp_session *session = recording_start(path);
	epp_event_begin(session, EPP_NODE, name);
	epp_session_destroy(session);
	ck_assert_uint_eq(epp_recording_count, 0);
	struct trace_scan *scan = trace_scan_file(path);
	ck_assert_ptr_null(scan_balance(scan));
	ck_assert_uint_eq(scan->header.state, EPF_FINISHED);
	ck_assert_uint_eq(scan->records_count, 1);
	ck_assert_uint_eq(EPF_BITS_FLAGS(scan->records[0].bits), EPF_FLAG_UNENDED);
	trace_scan_free(scan);
}
END_TEST

START_TEST(run_after_run)
{
	char *path = check_path("runs.epp");
	epp_session *session = recording_start(path);
	uint64_t left = epp_event_begin(session, EPP_NODE, name);
	one_event(session);
	check_ok(epp_session_end(session));
	epp_event_end(session, left, NULL, 0);
	ck_assert_uint_eq(epp_event_begin(session, EPP_NODE, name), 0);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_AFTER_END), 1);
	check_ok(epp_session_start(session));
	epp_event_end(session, left, NULL, 0);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_AFTER_END), 2);
	one_event(session);
	epp_event_end(session, left, NULL, 0);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_AFTER_END), 3);
	struct trace_scan *scan = recording_finish_file(session, path);
	ck_assert_uint_eq(scan->runs_count, 2);
	ck_assert_uint_eq(scan->runs[0].run, 1);
	ck_assert_uint_eq(scan->runs[1].run, 2);
	ck_assert_uint_eq(scan->records_count, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct scan_record *record = &scan->records[i];
		const struct epf_run *run = &scan->runs[record->run - 1];
		ck_assert_uint_eq(record->run, i < 2 ? 1 : 2);
		ck_assert(record->id >= run->first_id);
		ck_assert(record->start_ticks >= run->start.ticks);
		ck_assert(record->start_ticks + record->duration_ticks <= run->end.ticks);
	}
	ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_AFTER_END), 3);
	trace_scan_free(scan);
}
END_TEST

START_TEST(thousands_of_runs)
{
	epp_session *session;
	check_ok(epp_session_create(NULL, &session));
	for (int i = 0; i < 5000; i++) {
		check_ok(epp_session_start(session));
		one_event(session);
		check_ok(epp_session_end(session));
	}
	check_ok(epp_session_wait(session, UINT64_MAX));
	struct trace_scan *scan = recording_look(session);
	const char *wrong = scan_balance(scan);
	ck_assert_msg(!wrong, "%s", wrong);
	ck_assert_uint_eq(scan->records_count, 5000);
	ck_assert_uint_eq(scan->runs_count, 5000);
	trace_scan_free(scan);
	epp_session_destroy(session);
}
END_TEST

START_TEST(a_run_without_an_event)
{
	char *path = check_path("empty.epp");
	struct trace_scan *scan = recording_finish_file(recording_start(path), path);
	ck_assert_uint_eq(scan->records_count, 0);
	ck_assert_uint_eq(scan->runs_count, 1);
	ck_assert_uint_ge(scan->pairs_count, 1);
	ck_assert_uint_eq(scan->header.source.pid, (unsigned)getpid());
	ck_assert_str_eq(scan->header.source.label, scan->header.source.program);
	trace_scan_free(scan);
}
END_TEST

/* The end returns at once. Measured is the fastest of five, because a busy machine may delay one. */
START_TEST(a_wait_that_is_too_short)
{
	uint64_t least_ns = UINT64_MAX;
	for (int i = 0; i < 5; i++) {
		epp_session *session = recording_start(check_path("slow.epp"));
		struct storage *inside = recording_storage(session);
		one_event(session);
		pthread_mutex_lock(&inside->drain_lock);
		uint64_t before = recording_now_ns();
		check_ok(epp_session_end(session));
		uint64_t took_ns = recording_now_ns() - before;
		least_ns = took_ns < least_ns ? took_ns : least_ns;
		check_fails(EPP_TIMEOUT, epp_session_wait(session, 0));
		check_fails(EPP_TIMEOUT, epp_session_wait(session, 5000000));
		pthread_mutex_unlock(&inside->drain_lock);
		check_ok(epp_session_wait(session, UINT64_MAX));
		epp_session_destroy(session);
	}
	ck_assert_uint_lt(least_ns, 10000000u * RECORDING_SLOW);
}
END_TEST

START_TEST(names_before_and_while_it_records)
{
	char *path = check_path("names.epp"), huge[70000];
	memset(huge, 'n', sizeof(huge));
	huge[sizeof(huge) - 1] = 0;
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options), .path = path, .overwrite = 1, .label = "la\"bel" };
	epp_name before = epp_name_intern("before create"), cut = epp_name_intern(huge);
	check_ok(epp_session_create(&options, &session));
	epp_name idle = epp_name_intern("while idle");
	check_ok(epp_session_start(session));
	epp_name during = epp_name_intern("while it records");
	const epp_name names[] = { before, cut, idle, during };
	for (int i = 0; i < 4; i++)
		epp_instant_record(session, EPP_NODE, names[i], NULL, 0);
	/* As a kill would leave it. */
	struct trace_scan *live = trace_scan_file(path);
	ck_assert_uint_eq(live->header.state, EPF_RECORDING);
	struct trace_scan *scan = recording_finish_file(session, path);
	ck_assert_str_eq(scan->header.source.label, "la\"bel");
	for (int i = 0; i < 4; i++) {
		struct trace_scan *one = i % 2 ? live : scan;
		ck_assert_uint_eq(one->names[names[i]].bytes, strlen(epp_name_text(names[i])));
		ck_assert_mem_eq(one->names[names[i]].text, epp_name_text(names[i]), one->names[names[i]].bytes);
	}
	ck_assert_uint_eq(scan->names[cut].bytes, EPF_NAME_BYTES_MAX);
	trace_scan_free(live);
	trace_scan_free(scan);
}
END_TEST

/* At once, before the helper came by; with a file and without one. */
START_TEST(what_is_read_while_it_records_is_explained)
{
	char *path = _i ? check_path("explained.epp") : NULL, text[32];
	for (int round = 0; round < 50; round++) {
		epp_session *session;
		epp_session_options options = { .struct_size = sizeof(options), .path = path, .overwrite = 1 };
		epp_track_options device = {
			.struct_size = sizeof(device), .name = "stream", .group = "d", .clock_kind = EPP_CLOCK_HOST
		};
		epp_track track;
		check_ok(epp_session_create(&options, &session));
		check_ok(epp_session_start(session));
		snprintf(text, sizeof(text), "%s %d", path ? "file" : "memory", round);
		epp_name during = epp_name_intern(text);
		check_ok(epp_track_create(session, &device, &track));
		uint64_t start_ticks = epp_host_ticks();
		epp_event_record(session, track, EPP_KERNEL, during, start_ticks, start_ticks + 1, 0, NULL, 0);
		one_event(session);
		struct trace_scan *live = recording_look(session);
		const struct scan_record *record = scan_first(live, EPF_COMPLETE, during);
		ck_assert_ptr_nonnull(record);
		ck_assert(scan_name_is(live, during, text));
		ck_assert(scan_name_is(live, name, "session"));
		ck_assert_uint_eq(record->track, track);
		ck_assert_ptr_nonnull(scan_track(live, track));
		trace_scan_free(live);
		epp_session_destroy(session);
	}
}
END_TEST

static int told;
static char told_text[256];

static void log_tells(void *user, epp_blame blame, const char *text)
{
	ck_assert_ptr_eq(user, &told);
	ck_assert_int_eq(blame, EPP_BLAME_SYSTEM);
	told++;
	snprintf(told_text, sizeof(told_text), "%s", text);
}

START_TEST(the_log_is_told_once)
{
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options), .log = log_tells, .log_user = &told };
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_start(session));
	run_error_set(&recording_storage(session)->error, EPP_BLAME_SYSTEM, epp_status_create(EPP_IO, "the first"));
	run_error_set(&recording_storage(session)->error, EPP_BLAME_PLUGIN, epp_status_create(EPP_PLUGIN, "the second"));
	check_ok(epp_session_end(session));
	epp_status *status = epp_session_wait(session, UINT64_MAX);
	ck_assert_str_eq(epp_status_message(status), "the first");
	epp_status_destroy(status);
	check_ok(epp_session_wait(session, UINT64_MAX));
	/* Until then the helper may be about to tell. */
	epp_session_destroy(session);
	ck_assert_int_eq(told, 1);
	ck_assert_str_eq(told_text, "the first");
}
END_TEST

START_TEST(reading_in_pieces)
{
	epp_session *session = recording_start(NULL);
	for (int i = 0; i < 30000; i++)
		one_event(session);
	recording_end(session);
	struct trace_scan *scan = recording_look(session);
	uint8_t piece[1237];
	size_t at = 0, part;
	for (; (part = epp_session_read(session, at, piece, sizeof(piece))) > 0; at += part)
		ck_assert_mem_eq(piece, scan->bytes + at, part);
	ck_assert_uint_eq(at, scan->bytes_count);
	ck_assert_uint_eq(epp_session_read(session, UINT64_MAX, piece, 1), 0);
	ck_assert_uint_eq(epp_session_read(session, at - 1, piece, sizeof(piece)), 1);
	trace_scan_free(scan);
	epp_session_destroy(session);
}
END_TEST

START_TEST(the_helper_sleeps)
{
	epp_session *session = recording_start(NULL);
	one_event(session);
	/* It looks 50 times in a row, which takes longer on a busy machine, then ten times a second. */
	uint64_t before = helper_visits();
	while (helper_visits() < before + 55)
		recording_sleep_ms(10);
	uint64_t start_ns = recording_now_ns();
	before = helper_visits();
	recording_sleep_ms(1000);
	uint64_t visits = helper_visits() - before;
	ck_assert_uint_le(visits, 1 + (recording_now_ns() - start_ns) / 100000000);
	recording_end(session);
	/* Soon not at all. */
	do {
		before = helper_visits();
		recording_sleep_ms(300);
	} while (helper_visits() != before);
	epp_session_destroy(session);
}
END_TEST

static Suite *session_suite(void)
{
	Suite *suite = suite_create("session");
	TCase *tcase = tcase_create("session");
	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_test(tcase, options_that_cannot_be_followed);
	tcase_add_test(tcase, paths_that_cannot_be_written);
	tcase_add_test(tcase, a_trace_goes_through_no_link);
	tcase_add_test(tcase, only_the_user_reads_a_trace);
	tcase_add_test(tcase, a_message_names_the_path);
	tcase_add_test(tcase, a_file_that_somebody_writes);
	tcase_add_test(tcase, states_in_any_order);
	tcase_add_test(tcase, a_release_ends_what_goes_on);
	tcase_add_test(tcase, run_after_run);
	tcase_add_test(tcase, thousands_of_runs);
	tcase_add_test(tcase, a_run_without_an_event);
	tcase_add_test(tcase, a_wait_that_is_too_short);
	tcase_add_test(tcase, names_before_and_while_it_records);
	tcase_add_loop_test(tcase, what_is_read_while_it_records_is_explained, 0, 2);
	tcase_add_test(tcase, the_log_is_told_once);
	tcase_add_test(tcase, reading_in_pieces);
	tcase_add_test(tcase, the_helper_sleeps);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(session_suite)

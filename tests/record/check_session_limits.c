/* Sessions that meet a limit: of memory, of max_bytes, and of the process's file size (of the disk: check_disk).  What
 * is lost is counted to the event, what was written stays readable, and the process lives: runtime/record/session.c,
 * drain.c and runtime/storage/blocks/block_writer.c together. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "epprof/trace_writer.h"
#include "tests/support/epp_builder.h"
#include "tests/support/recording.h"
#include "tests/support/valid_trace.h"

static epp_name name;

static void set_up(void)
{
	name = epp_name_intern("limits");
}

static void check_lost(const struct trace_scan *scan, uint64_t events, epp_loss reason)
{
	const char *wrong = scan_balance(scan);
	ck_assert_msg(!wrong, "%s", wrong);
	ck_assert_uint_eq(scan_ids_taken(scan), events);
	ck_assert_uint_gt(scan_lost(scan, reason), 0);
	for (unsigned other = 0; other < EPF_LOSS_COUNT; other++)
		if (other != (unsigned)reason && other != EPP_LOSS_NO_BUFFER)
			ck_assert_uint_eq(scan_lost(scan, other), 0);
	/* What was recorded can be read: its name, its track. */
	ck_assert_uint_gt(scan->records_count, 0);
	for (size_t i = 0; i < scan->records_count; i++) {
		ck_assert_ptr_nonnull(scan_track(scan, scan->records[i].track));
		ck_assert(scan_name_is(scan, scan->records[i].name, "limits"));
	}
}

START_TEST(memory_that_runs_out)
{
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options), .memory_bytes = 2 << 20 };
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_start(session));
	uint64_t events = recording_fill(session, name, 40 << 20);
	/* The limit was asked for: no error. */
	check_ok(epp_session_end(session));
	check_ok(epp_session_wait(session, UINT64_MAX));
	struct trace_scan *scan = recording_look(session);
	check_lost(scan, events, EPP_LOSS_POLICY);
	ck_assert_uint_le(scan->bytes_count, EPF_SEGMENTS_OFFSET + (2 << 20));
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_POLICY), scan_lost(scan, EPP_LOSS_POLICY));
	ck_assert_uint_eq(scan->runs_count, 1);
	/* The oldest are kept. */
	uint64_t first = scan->runs[0].first_id + 65536;
	for (uint64_t id = first; id < first + 100; id++)
		ck_assert_ptr_nonnull(scan_id(scan, EPF_EVENT, id));
	trace_scan_free(scan);
	epp_session_destroy(session);
}
END_TEST

START_TEST(a_file_that_stops)
{
	char *path = check_path("stop.epp");
	epp_session *session;
	epp_session_options options = {
		.struct_size = sizeof(options), .path = path, .policy = EPP_POLICY_STOP, .max_bytes = 3 << 19
	};
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_start(session));
	uint64_t events = recording_fill(session, name, 30 << 20);
	check_ok(epp_session_end(session));
	check_ok(epp_session_wait(session, UINT64_MAX));
	epp_session_destroy(session);
	struct trace_scan *scan = trace_scan_file(path);
	check_lost(scan, events, EPP_LOSS_POLICY);
	ck_assert_uint_eq(scan->header.state, EPF_FINISHED);
	ck_assert_uint_eq(scan->header.policy, EPP_POLICY_STOP);
	ck_assert_uint_le(scan->bytes_count, EPF_SEGMENTS_OFFSET + (3 << 19));
	trace_scan_free(scan);
}
END_TEST

/* ---- a file-size limit: the signal that comes with it kills by default ---- */

struct outcome {
	uint64_t events;
	uint64_t lost;
	int code; /* of wait */
};

static void limit_file_size(rlim_t bytes)
{
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){ bytes, bytes });
	signal(SIGXFSZ, SIG_DFL);
}

static void record_under_limit(const char *path, size_t segments_bytes, int fd)
{
	epp_session *session;
	struct outcome outcome = { 0 };
	epp_session_options options = { .struct_size = sizeof(options), .path = path, .overwrite = 1 };
	limit_file_size(EPF_SEGMENTS_OFFSET + segments_bytes);
	if (epp_session_create(&options, &session) || epp_session_start(session))
		_exit(1);
	/* More than the window can grow to. */
	outcome.events = recording_fill(session, name, 80 << 20);
	epp_status_destroy(epp_session_end(session));
	outcome.code = epp_status_code(epp_session_wait(session, UINT64_MAX));
	outcome.lost = epp_session_lost(session, EPP_LOSS_DISK);
	/* A loss that belongs to no thread is written by release itself. */
	epp_event_end(session, 5, NULL, 0);
	epp_session_destroy(session);
	sigset_t pending;
	sigpending(&pending);
	if (sigismember(&pending, SIGXFSZ) || write(fd, &outcome, sizeof(outcome)) != sizeof(outcome))
		_exit(2);
	_exit(0);
}

START_TEST(a_file_size_limit_while_recording)
{
	char *path = check_path("limited.epp");
	int status, ends[2];
	size_t segments_bytes = _i ? 0 : 3 << 20;
	struct outcome outcome;
	ck_assert_int_eq(pipe(ends), 0);
	pid_t child = fork();
	if (child == 0)
		record_under_limit(path, segments_bytes, ends[1]);
	waitpid(child, &status, 0);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", status);
	ck_assert_int_eq(read(ends[0], &outcome, sizeof(outcome)), sizeof(outcome));
	ck_assert_int_eq(outcome.code, EPP_IO);
	ck_assert_uint_gt(outcome.lost, 0);
	struct trace_scan *scan = trace_scan_file(path);
	/* With not a byte to be had, the account did not fit either: the window, which is kept, has it. */
	if (!segments_bytes)
		ck_assert_uint_eq(scan->header.state, EPF_RECORDING);
	ck_assert_uint_gt(scan->records_count, 1000);
	ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_DISK), outcome.lost);
	ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_AFTER_END), 1);
	const char *wrong = scan_balance(scan);
	ck_assert_msg(!wrong, "%s", wrong);
	ck_assert_uint_eq(scan_ids_taken(scan), outcome.events);
	for (size_t i = 0; i < scan->records_count; i++)
		ck_assert(scan_name_is(scan, scan->records[i].name, "limits"));
	trace_scan_free(scan);
}
END_TEST

START_TEST(a_file_size_limit_at_creation)
{
	int status;
	pid_t child = fork();
	if (child == 0) {
		epp_session *session;
		epp_session_options options = { .struct_size = sizeof(options), .path = check_path("small.epp") };
		limit_file_size(40 << 20);
		epp_status *refused = epp_session_create(&options, &session);
		bool says = epp_status_code(refused) == EPP_IO && strstr(epp_status_message(refused), "60 MiB");
		_exit(says && !session && access(options.path, F_OK) ? 0 : 1);
	}
	waitpid(child, &status, 0);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", status);
}
END_TEST

/* What 5 GiB of segments would be is a hole, behind which the first of these is written; then the header says that
 * segments begin there.  Once finished, once as it is while it records, with its window. */
START_TEST(recorded_beyond_4_gib)
{
	const uint64_t by = 5ull << 30;
	char *path = strdup(check_path("far.epp")), *packed = strdup(check_path("packed.epp"));
	uint8_t page[EPF_PAGE_BYTES];
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options), .path = path };
	struct stat st;
	check_ok(epp_session_create(&options, &session));
	recording_storage(session)->writer.segments_count = by / EPF_SEGMENT_BYTES;
	check_ok(epp_session_start(session));
	uint64_t events = recording_fill(session, name, 5 << 20), open_id = epp_event_begin(session, EPP_NODE, name);
	/* A busy machine's helper may come too late for some, which are counted. */
	events -= epp_session_lost(session, EPP_LOSS_NO_BUFFER);
	if (!_i) {
		epp_event_end(session, open_id, NULL, 0);
		recording_end(session);
		epp_session_destroy(session);
	}
	int fd = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(pread(fd, page, sizeof(page), 0), sizeof(page));
	((struct epf_header *)(void *)page)->segments_offset += by;
	builder_seal_header(page);
	ck_assert_int_eq(pwrite(fd, page, sizeof(page), 0), sizeof(page));
	/* The helper's are several segments. */
	do {
		recording_sleep_ms(1);
		ck_assert_int_eq(fstat(fd, &st), 0);
	} while (st.st_size < (off_t)(by + EPF_SEGMENTS_OFFSET + 2 * EPF_SEGMENT_BYTES));
	close(fd);
	epp_trace *trace = open_valid(path);
	ck_assert_uint_eq(epp_trace_get_info(trace)->records_count, events + !_i);
	ck_assert_uint_eq(epp_trace_get_info(trace)->open_count, _i);
	if (_i) {
		epp_trace_close(trace);
		epp_session_destroy(session);
	} else {
		check_ok(epp_trace_pack(trace, packed, 1));
		epp_trace_close(trace);
		trace = open_valid(packed);
		ck_assert_uint_eq(epp_trace_get_info(trace)->records_count, events + 1);
		epp_trace_close(trace);
	}
	unlink(path);
	free(path);
	free(packed);
}
END_TEST

static Suite *limits_suite(void)
{
	Suite *suite = suite_create("session_limits");
	TCase *tcase = tcase_create("limits");
	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_test(tcase, memory_that_runs_out);
	tcase_add_test(tcase, a_file_that_stops);
	tcase_add_loop_test(tcase, a_file_size_limit_while_recording, 0, 2);
	tcase_add_test(tcase, a_file_size_limit_at_creation);
	tcase_add_loop_test(tcase, recorded_beyond_4_gib, 0, 2);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(limits_suite)

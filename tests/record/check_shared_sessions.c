/* Sessions that several users of a process share, what EPPROF_OUTPUT and EPPROF_POLICY ask for, and the numbers that
 * %session% gives: runtime/record/shared_sessions.c. */
#include <bsd/string.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/shared_sessions.h"
#include "tests/support/forking.h"
#include "tests/support/recording.h"

/* By default ThreadSanitizer ends the forked child of a process with several threads when it starts a thread. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "die_after_fork=0";
}

static epp_status *share(const char *path, epp_session **session)
{
	epp_session_options options = { .struct_size = sizeof(options), .path = path, .overwrite = 1 };
	return epp_session_share(&options, session);
}

static uint64_t record_one(epp_session *session)
{
	uint64_t id = epp_event_begin_text(session, EPP_NODE, "shared");
	epp_event_end(session, id, NULL, 0);
	return id;
}

static struct trace_scan *finished(const char *path)
{
	struct trace_scan *scan = trace_scan_file(path);
	const char *wrong = scan_balance(scan);
	ck_assert_msg(!wrong, "%s: %s", path, wrong);
	ck_assert_uint_eq(scan->header.state, EPF_FINISHED);
	return scan;
}

START_TEST(one_file_two_users)
{
	epp_session *first, *second, *other;
	char *path = check_path("two.epp"), *elsewhere = check_path("other.epp");
	check_ok(share(path, &first));
	check_ok(share(path, &second));
	check_ok(share(elsewhere, &other));
	ck_assert_ptr_eq(first, second);
	ck_assert_ptr_ne(first, other);
	ck_assert_uint_ne(record_one(first), 0);
	epp_session_destroy(first);
	/* The other user goes on. */
	ck_assert_uint_ne(record_one(second), 0);
	epp_session_destroy(second);
	ck_assert_uint_eq(record_one(second), 0);
	epp_session_destroy(second);
	epp_session_destroy(other);
	struct trace_scan *scan = finished(path);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, 0), 2);
	trace_scan_free(scan);
	/* Whoever comes after the last begins anew. */
	check_ok(share(path, &first));
	epp_session_destroy(first);
	scan = finished(path);
	ck_assert_uint_eq(scan->records_count, 0);
	trace_scan_free(scan);
}
END_TEST

START_TEST(a_session_with_one_owner_is_not_shared)
{
	char *path = check_path("owned.epp");
	epp_session *owned = recording_start(path), *session = owned;
	check_fails(EPP_BUSY, share(path, &session));
	ck_assert_ptr_null(session);
	trace_scan_free(recording_finish_file(owned, path));
}
END_TEST

START_TEST(what_cannot_be_shared)
{
	epp_session *session = (epp_session *)8;
	epp_session_options options = { .struct_size = sizeof(options) };
	check_fails(EPP_INVALID_ARGUMENT, epp_session_share(&options, &session));
	ck_assert_ptr_null(session);
	check_fails(EPP_INVALID_ARGUMENT, epp_session_share(NULL, &session));
	options.path = check_path("no/such/file.epp");
	check_fails(EPP_NOT_FOUND, epp_session_share(&options, &session));
	ck_assert_ptr_null(session);
}
END_TEST

#define SHARERS 8
#define ROUNDS (200 / RECORDING_SLOW)

static void *share_and_release(void *path)
{
	for (int i = 0; i < ROUNDS; i++) {
		epp_session *session;
		check_ok(share(path, &session));
		ck_assert_uint_ne(record_one(session), 0);
		epp_session_destroy(session);
	}
	return NULL;
}

START_TEST(threads_that_share_at_once)
{
	pthread_t threads[SHARERS];
	char *path = check_path("threads.epp");
	for (int i = 0; i < SHARERS; i++)
		threads[i] = recording_thread(share_and_release, path);
	for (int i = 0; i < SHARERS; i++)
		pthread_join(threads[i], NULL);
	trace_scan_free(finished(path));
}
END_TEST

/* ---- the environment ---- */

/* Runs `child` in a process of its own, since what it leaves is the process's; its exit finishes what is shared.
 * `helper_runs`: this process has a session that records. */
static pid_t in_child_while(bool helper_runs, void (*child)(const char *), const char *output, const char *policy)
{
	pid_t pid = forking_fork(helper_runs);
	if (!pid) {
		if (output)
			setenv("EPPROF_OUTPUT", output, 1);
		else
			unsetenv("EPPROF_OUTPUT");
		setenv("EPPROF_POLICY", policy, 1);
		child(output);
		share_end_all();
		_exit(0);
	}
	int result;
	waitpid(pid, &result, 0);
	ck_assert_int_eq(result, 0);
	return pid;
}

static pid_t in_child(void (*child)(const char *), const char *output, const char *policy)
{
	return in_child_while(false, child, output, policy);
}

static void refuse_to_share(const char *output)
{
	epp_session *session;
	epp_status *status = epp_session_share_output(&session);
	if (!status || session || !strstr(epp_status_message(status), getenv("EPPROF_POLICY")))
		_exit(1);
	epp_status_destroy(status);
	_exit(access(output, F_OK) == 0);
}

static void find_nothing(const char *output)
{
	epp_session *session = (epp_session *)8;
	check_ok(epp_session_share_output(&session));
	(void)output;
	_exit(session != NULL);
}

static void share_twice(const char *output)
{
	epp_session *first, *second;
	(void)output;
	check_ok(epp_session_share_output(&first));
	/* The process keeps it, so that who comes after the first has gone goes on in the same file, in a run of its
	 * own. */
	record_one(first);
	epp_session_destroy(first);
	if (record_one(NULL))
		_exit(1);
	check_ok(epp_session_share_output(&second));
	record_one(NULL);
	if (first != second || epp_session_default() != first)
		_exit(1);
	epp_session_destroy(second);
}

/* The run is over when all have gone who came while it was on. */
static void overlap(const char *output)
{
	epp_session *first, *second, *third;
	(void)output;
	check_ok(epp_session_share_output(&first));
	check_ok(epp_session_share_output(&second));
	epp_session_destroy(first);
	check_ok(epp_session_share_output(&third));
	epp_session_destroy(second);
	if (!record_one(third))
		_exit(1);
	epp_session_destroy(third);
}

static void record_in_output(const char *output)
{
	epp_session *session;
	(void)output;
	check_ok(epp_session_share_output(&session));
	record_one(session);
	epp_session_destroy(session);
	check_ok(epp_session_share_output(&session));
	record_one(session);
	epp_session_destroy(session);
}

/* The child of one that records must not write over its parent's trace, which may be finished by then. */
static void record_and_fork(const char *output)
{
	epp_session *session;
	int result;
	check_ok(epp_session_share_output(&session));
	record_one(session);
	pid_t pid = fork();
	epp_session_destroy(session);
	if (pid) {
		waitpid(pid, &result, 0);
		if (result)
			_exit(1);
		return;
	}
	check_ok(epp_session_share_output(&session));
	record_one(session);
	share_end_all();
	_exit(!strstr(output, "forked") || access(check_path("forked.%d.epp", (int)getpid()), F_OK));
}

/* A program that has the session already, as `epprof run` has, says when the file is finished. */
static void join_what_the_program_has(const char *output)
{
	epp_session *own, *joined;
	check_ok(share(output, &own));
	check_ok(epp_session_share_output(&joined));
	if (joined != own || epp_session_default())
		_exit(1);
	record_one(joined);
	epp_session_destroy(joined);
	epp_session_destroy(own);
	struct trace_scan *scan = trace_scan_file(output);
	if (scan->header.state != EPF_FINISHED || scan_count(scan, EPF_EVENT, 0) != 1)
		_exit(2);
	trace_scan_free(scan);
}

static void share_a_file_each(const char *output)
{
	epp_session *own, *first, *second;
	(void)output;
	check_ok(share_default(&own));
	session_default_handle = (uintptr_t)own;
	check_ok(epp_session_share_output(&first));
	check_ok(epp_session_share_output(&second));
	/* The process's own file is the first one's too: none stays empty. */
	if (first != own || second == own)
		_exit(1);
	record_one(first);
	record_one(second);
	record_one(second);
	epp_session_destroy(second);
	epp_session_destroy(first);
}

static void set_time(const char *variable, int64_t from_now_ns)
{
	struct timespec now;
	char text[32];
	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(text, sizeof(text), "%lld", (long long)now.tv_sec * 1000000000 + now.tv_nsec + from_now_ns);
	setenv(variable, text, 1);
}

static void record_late(const char *output)
{
	epp_session *session;
	(void)output;
	set_time("EPPROF_FROM_NS", 100000000);
	check_ok(epp_session_share_output(&session));
	while (!record_one(session))
		usleep(1000);
	epp_session_destroy(session);
	/* The time range has begun. */
	check_ok(epp_session_share_output(&session));
	if (!record_one(session))
		_exit(1);
	epp_session_destroy(session);
}

/* The users are gone before the time range begins, so that nothing is recorded until there is one again. */
static void leave_early(const char *output)
{
	epp_session *session;
	set_time("EPPROF_FROM_NS", 500000000);
	check_ok(epp_session_share_output(&session));
	epp_session_destroy(session);
	(void)output;
	usleep(500000);
	check_ok(epp_session_share_output(&session));
	while (!record_one(session))
		usleep(1000);
	epp_session_destroy(session);
}

/* The file is finished while the process runs on. */
static void record_until(const char *output)
{
	epp_session *session, *own;
	uint64_t open, count = 0;
	set_time("EPPROF_UNTIL_NS", 1000000000);
	check_ok(epp_session_share_output(&session));
	check_ok(share(check_path("not limited.epp"), &own));
	open = epp_event_begin_text(session, EPP_NODE, "open");
	for (; record_one(session); count++)
		usleep(1000);
	epp_event_end(session, open, NULL, 0);
	if (epp_session_default())
		_exit(1);
	epp_session_destroy(session);
	check_ok(epp_session_share_output(&session));
	if (session || !record_one(own))
		_exit(2);
	struct trace_scan *scan = trace_scan_file(output);
	if (scan->header.state != EPF_FINISHED || scan_count(scan, EPF_EVENT, 0) < count)
		_exit(3);
	trace_scan_free(scan);
}

static void refuse_times(const char *output)
{
	epp_session *session;
	(void)output;
	setenv("EPPROF_FROM_NS", "soon", 1);
	check_fails(EPP_INVALID_ARGUMENT, epp_session_share_output(&session));
	unsetenv("EPPROF_FROM_NS");
	setenv("EPPROF_UNTIL_NS", "-1", 1);
	check_fails(EPP_INVALID_ARGUMENT, epp_session_share_output(&session));
	_exit(session != NULL || access(output, F_OK) == 0);
}

START_TEST(policies_that_are_none)
{
	static const char *const policies[] = { "stop",      "stop:",    "stop:many", "stop:1",    "ring:1",
		                                "stream:1M", "Stop:64M", "sto:64M",   "stop:64M:1" };
	in_child(refuse_to_share, check_path("policy-%d.epp", _i), policies[_i]);
}
END_TEST

START_TEST(nothing_is_asked_for)
{
	in_child(find_nothing, NULL, "stop:64M");
	in_child(find_nothing, "", "stop:64M");
}
END_TEST

START_TEST(an_output_of_the_process)
{
	char *path = check_path("output-%d.epp", _i);
	in_child(share_twice, path, _i ? "stop:64M" : "");
	struct trace_scan *scan = finished(path);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, 0), 2);
	ck_assert_uint_eq(scan->header.policy, _i ? EPP_POLICY_STOP : EPP_POLICY_STREAM);
	ck_assert_uint_eq(scan->runs_count, 2);
	trace_scan_free(scan);
}
END_TEST

START_TEST(an_output_in_a_time_range)
{
	char *late = check_path("late.epp"), *until = check_path("until.epp");
	in_child(record_late, late, "");
	struct trace_scan *scan = finished(late);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, 0), 2);
	ck_assert_uint_eq(scan->runs_count, 2);
	trace_scan_free(scan);
	in_child(leave_early, late, "");
	scan = finished(late);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, 0), 1);
	ck_assert_uint_eq(scan->runs_count, 1);
	trace_scan_free(scan);
	in_child(record_until, until, "");
	scan = finished(until);
	ck_assert_uint_ge(scan_count(scan, EPF_EVENT, 0), 1);
	trace_scan_free(scan);
	in_child(refuse_times, check_path("refused.epp"), "");
}
END_TEST

START_TEST(an_output_of_several_at_once)
{
	char *path = check_path("overlap.epp");
	in_child(overlap, path, "");
	struct trace_scan *scan = finished(path);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, 0), 1);
	ck_assert_uint_eq(scan->runs_count, 1);
	trace_scan_free(scan);
}
END_TEST

START_TEST(an_output_that_another_process_writes)
{
	static const char *const names[][2] = { { "taken.epp", "taken.%d.epp" },
		                                { ".epp", ".%d.epp" },
		                                { "taken", "taken.%d" } };
	char *path = check_path("%s", names[_i][0]);
	epp_session *session;
	check_ok(share(path, &session));
	pid_t pid = in_child_while(true, record_in_output, path, "");
	epp_session_destroy(session);
	struct trace_scan *scan = finished(path);
	ck_assert_uint_eq(scan->records_count, 0);
	trace_scan_free(scan);
	char name[64];
	snprintf(name, sizeof(name), names[_i][1], (int)pid);
	scan = finished(check_path("%s", name));
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, 0), 2);
	trace_scan_free(scan);
}
END_TEST

START_TEST(an_output_of_a_process_that_forks)
{
	char *path = check_path("forked.epp");
	in_child(record_and_fork, path, "");
	struct trace_scan *scan = finished(path);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, 0), 1);
	trace_scan_free(scan);
}
END_TEST

START_TEST(an_output_that_the_program_has_already)
{
	in_child(join_what_the_program_has, check_path("own.epp"), "");
}
END_TEST

START_TEST(an_output_for_each_session)
{
	in_child(share_a_file_each, check_path("each-%%session%%-%%session%%.epp"), "");
	for (unsigned number = 1; number <= 2; number++) {
		struct trace_scan *scan = finished(check_path("each-%u-%u.epp", number, number));
		ck_assert_uint_eq(scan_count(scan, EPF_EVENT, 0), number);
		trace_scan_free(scan);
	}
	ck_assert_int_eq(access(check_path("each-3-3.epp"), F_OK), -1);
}
END_TEST

static Suite *share_suite(void)
{
	Suite *suite = suite_create("share");
	TCase *tcase = tcase_create("share");
	tcase_add_test(tcase, one_file_two_users);
	tcase_add_test(tcase, a_session_with_one_owner_is_not_shared);
	tcase_add_test(tcase, what_cannot_be_shared);
	tcase_add_test(tcase, threads_that_share_at_once);
	tcase_add_loop_test(tcase, policies_that_are_none, 0, 9);
	tcase_add_test(tcase, nothing_is_asked_for);
	tcase_add_loop_test(tcase, an_output_of_the_process, 0, 2);
	tcase_add_test(tcase, an_output_in_a_time_range);
	tcase_add_test(tcase, an_output_of_several_at_once);
	tcase_add_loop_test(tcase, an_output_that_another_process_writes, 0, 3);
	tcase_add_test(tcase, an_output_of_a_process_that_forks);
	tcase_add_test(tcase, an_output_that_the_program_has_already);
	tcase_add_test(tcase, an_output_for_each_session);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(share_suite)

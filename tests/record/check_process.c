/* The library in its process: the default session, what the environment asks for, and where a trace says that it was
 * made: runtime/record/process.c.  It runs itself again to be a process of its own. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "epprof/epprof.h"
#include "record/process.h"
#include "tests/support/recording.h"

static int record_by_default(const char *ending)
{
	epp_name name = epp_name_intern("by default");
	if (!strcmp(ending, "restart")) {
		epp_status *twice = epp_session_start(NULL);
		if (epp_status_code(twice) != EPP_WRONG_STATE || epp_session_end(NULL) ||
		    epp_session_wait(NULL, UINT64_MAX) || epp_session_start(NULL))
			_exit(30);
		epp_status_destroy(twice);
	}
	for (int i = 0; i < 100; i++) {
		uint64_t id = epp_event_begin(NULL, EPP_NODE, name);
		epp_event_end(NULL, id, NULL, 0);
	}
	epp_track track;
	epp_track_options options = { .struct_size = sizeof(options), .name = "t", .device = -1 };
	epp_status_destroy(epp_track_create(NULL, &options, &track));
	epp_event_record(NULL, track, EPP_NODE, name, 1, 2, 0, NULL, 0);
	epp_event_begin(NULL, EPP_NODE, epp_name_intern("open at exit"));
	if (!strcmp(ending, "exec"))
		execl("/proc/self/exe", "check_process", "return", (char *)NULL);
	if (!strcmp(ending, "_exit"))
		_exit(epp_session_default() ? 10 : 20);
	return epp_session_default() ? 10 : 20;
}

/* Its exit status; what it printed is in `output`. */
static int run(const char *variable, const char *ending, char *output, size_t room)
{
	int ends[2], status;
	ck_assert_int_eq(pipe(ends), 0);
	pid_t child = fork();
	if (child == 0) {
		if (variable)
			setenv("EPPROF_OUTPUT", variable, 1);
		dup2(ends[1], 1);
		dup2(ends[1], 2);
		execl("/proc/self/exe", "check_process", ending, (char *)NULL);
		_exit(99);
	}
	close(ends[1]);
	size_t done = 0;
	for (ssize_t part; (part = read(ends[0], output + done, room - 1 - done)) > 0;)
		done += (size_t)part;
	output[done] = 0;
	close(ends[0]);
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

START_TEST(without_the_variable_nothing_is_recorded)
{
	char output[1000];
	ck_assert_int_eq(run(NULL, "return", output, sizeof(output)), 20);
	ck_assert_str_eq(output, "");
	ck_assert_int_eq(run("", "return", output, sizeof(output)), 20);
	ck_assert_ptr_null(epp_session_default());
	ck_assert_uint_eq(epp_event_begin(NULL, EPP_NODE, EPF_NAME_NONE), 0);
	ck_assert_int_eq(EPPROF_ENABLED(), 0);
	ck_assert_str_eq(epp_version(), EPPROF_VERSION);
	/* Another session makes no default. */
	epp_session *session = recording_start(NULL);
	ck_assert_int_eq(EPPROF_ENABLED(), 1);
	ck_assert_uint_eq(epp_event_begin(NULL, EPP_NODE, EPF_NAME_NONE), 0);
	epp_event_end(NULL, 5, NULL, 0);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan->records_count, 0);
	trace_scan_free(scan);
}
END_TEST

START_TEST(with_it_any_program_records)
{
	static const char *const endings[] = { "return", "_exit", "exec", "restart" };
	char output[1000], *path = check_path("default-%s.epp", endings[_i]);
	ck_assert_int_eq(run(path, endings[_i], output, sizeof(output)), 10);
	ck_assert_str_eq(output, "");
	struct trace_scan *scan = trace_scan_file(path);
	const char *wrong = scan_balance(scan);
	ck_assert_msg(!wrong, "%s", wrong);
	/* exec takes the process's memory away, and the trace begins anew. */
	ck_assert_uint_eq(scan->header.state, _i == 1 ? EPF_RECORDING : EPF_FINISHED);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, 0), _i == 1 ? 100 : 101);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, 0), 1);
	ck_assert_uint_eq(scan->open_count, _i == 1);
	ck_assert_str_eq(scan->header.source.program, "check_process");
	trace_scan_free(scan);
}
END_TEST

START_TEST(a_variable_that_cannot_be_followed)
{
	char output[1000];
	ck_assert_int_eq(run(check_path("no/such/file.epp"), "return", output, sizeof(output)), 20);
	ck_assert_str_eq(output, "");
	/* A file that somebody writes stays theirs, and the trace has the pid in its name. */
	char *path = check_path("taken.epp"), command[500];
	epp_session *session = recording_start(path);
	ck_assert_int_eq(run(path, "return", output, sizeof(output)), 10);
	ck_assert_str_eq(output, "");
	trace_scan_free(recording_finish_file(session, path));
	snprintf(command, sizeof(command), "test \"$(ls '%.*s' | grep -c '^taken\\.[0-9]*\\.epp$')\" = 1",
	         (int)(strrchr(path, '/') - path), path);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(a_path_per_process)
{
	char output[1000], expected[300], host[200];
	char *pattern = check_path("%%pid%%-%%%%.epp");
	gethostname(host, sizeof(host));
	char *path = process_expand_path("a%pid%b%hostname%c%%d%unknown%e%");
	snprintf(expected, sizeof(expected), "a%db%.63sc%%d%%unknown%%e%%", (int)getpid(), host);
	ck_assert_str_eq(path, expected);
	free(path);
	path = process_expand_path("");
	ck_assert_str_eq(path, "");
	free(path);
	ck_assert_int_eq(run(pattern, "return", output, sizeof(output)), 10);
	ck_assert_int_eq(access(check_path("%d-%%.epp", (int)getpid()), F_OK), -1);
}
END_TEST

START_TEST(where_it_was_made)
{
	struct epf_header first = { 0 }, second = { 0 };
	char host[64];
	process_describe(&first, NULL);
	process_describe(&second, "a label that is longer than the sixty-four bytes that a header has room for");
	ck_assert_mem_ne(first.file_id, second.file_id, sizeof(first.file_id));
	ck_assert_uint_eq(first.source.pid, (unsigned)getpid());
	ck_assert_str_eq(first.source.program, "check_process");
	ck_assert_str_eq(first.source.label, "check_process");
	ck_assert_uint_eq(strlen(second.source.label), sizeof(second.source.label) - 1);
	gethostname(host, sizeof(host));
	host[sizeof(host) - 1] = 0;
	ck_assert_str_eq(first.source.hostname, host);
	ck_assert_mem_eq(first.source.boot_id, second.source.boot_id, 16);
	ck_assert_uint_eq(first.source.process_start_ns, second.source.process_start_ns);
	ck_assert_uint_ge(first.created_unix_ns, first.source.process_start_ns);
	/* As the system writes it. */
	char text[64] = "", *at = text;
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY);
	ck_assert_int_gt(read(fd, text, sizeof(text) - 1), 0);
	close(fd);
	for (int i = 0; i < 16; i++) {
		at += *at == '-';
		ck_assert_uint_eq(first.source.boot_id[i], strtoul((char[]){ at[0], at[1], 0 }, NULL, 16));
		at += 2;
	}
}
END_TEST

static Suite *process_suite(void)
{
	Suite *suite = suite_create("process");
	TCase *tcase = tcase_create("process");
	tcase_add_test(tcase, without_the_variable_nothing_is_recorded);
	tcase_add_loop_test(tcase, with_it_any_program_records, 0, 4);
	tcase_add_test(tcase, a_variable_that_cannot_be_followed);
	tcase_add_test(tcase, a_path_per_process);
	tcase_add_test(tcase, where_it_was_made);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(int count, char **arguments)
{
	if (count > 1)
		return record_by_default(arguments[1]);
	setenv("CK_DEFAULT_TIMEOUT", "120", 0);
	return check_main(process_suite);
}

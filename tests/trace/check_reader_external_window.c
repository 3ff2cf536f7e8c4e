/* A window in a file of its own (EPPROF_WINDOW_DIR): a killed process's events are found there, a finished trace does
 * not need it any more, and a window that is gone or somebody else's is told. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "epprof/epprof.h"
#include "epprof/trace_writer.h"
#include "tests/support/check.h"
#include "trace/reader.h"

#define EVENTS 5000

/* Records EVENTS events and one that stays open; then dies or finishes. */
static void record(const char *path, bool die)
{
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		epp_session *session;
		epp_session_options options = { .struct_size = sizeof(options), .path = path };
		if (epp_session_create(&options, &session) || epp_session_start(session))
			_exit(1);
		epp_name name = epp_name_intern("work");
		for (int i = 0; i < EVENTS; i++)
			epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
		epp_event_begin(session, EPP_NODE, epp_name_intern("last words"));
		if (die)
			raise(SIGKILL);
		epp_session_destroy(session);
		_exit(0);
	}
	int status;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(die ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void window_path(const char *path, char *to, size_t bytes)
{
	struct epf_header header;
	FILE *file = fopen(path, "rb");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fread(&header, sizeof(header), 1, file), 1);
	fclose(file);
	ck_assert(header.features & EPF_FEATURE_EXTERNAL_WINDOW);
	snprintf(to, bytes, "%s", header.window_path);
}

static size_t errors_of(epp_trace *trace)
{
	size_t errors = 0;
	for (size_t i = 0; i < trace->reader->findings_count; i++)
		errors += trace->reader->findings[i].severity == EPP_ERROR;
	return errors;
}

static void set_directory(void)
{
	char directory[512];
	const char *path = check_path("x");
	snprintf(directory, sizeof(directory), "%.*s", (int)(strrchr(path, '/') - path), path);
	setenv("EPPROF_WINDOW_DIR", directory, 1);
}

START_TEST(a_kill_loses_nothing)
{
	epp_trace *trace;
	char path[512], window[1100];
	set_directory();
	snprintf(path, sizeof(path), "%s", check_path("killed.epp"));
	record(path, true);
	window_path(path, window, sizeof(window));
	check_ok(epp_trace_open(path, &trace));
	const epp_trace_info *info = epp_trace_get_info(trace);
	ck_assert_uint_eq(info->state, EPP_TRACE_CUT_OFF);
	ck_assert_uint_eq(info->records_count, EVENTS);
	ck_assert_uint_eq(info->open_count, 1);
	ck_assert_uint_eq(errors_of(trace), 0);
	epp_trace_close(trace);

	ck_assert_int_eq(truncate(window, 100), 0);
	check_ok(epp_trace_open(path, &trace));
	ck_assert_uint_gt(errors_of(trace), 0);
	epp_trace_close(trace);

	ck_assert_int_eq(unlink(window), 0);
	check_ok(epp_trace_open(path, &trace));
	ck_assert_uint_gt(errors_of(trace), 0);
	epp_trace_close(trace);
}
END_TEST

START_TEST(a_session_s_trace_has_it_while_it_records)
{
	const epp_session_options options = { .struct_size = sizeof(options), .path = check_path("live.epp") };
	epp_session *session;
	epp_trace *trace;
	set_directory();
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_start(session));
	epp_event_end(session, epp_event_begin(session, EPP_NODE, epp_name_intern("work")), NULL, 0);
	check_ok(epp_trace_open_session(session, &trace));
	ck_assert_uint_eq(epp_trace_get_info(trace)->records_count, 1);
	ck_assert_uint_eq(errors_of(trace), 0);
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

START_TEST(a_finished_trace_needs_no_window)
{
	epp_trace *trace;
	char path[512];
	set_directory();
	snprintf(path, sizeof(path), "%s", check_path("finished.epp"));
	record(path, false);
	check_ok(epp_trace_open(path, &trace));
	const epp_trace_info *info = epp_trace_get_info(trace);
	ck_assert_uint_eq(info->state, EPP_TRACE_FINISHED);
	ck_assert_uint_eq(info->records_count, EVENTS + 1);
	ck_assert_uint_eq(trace->reader->header.features & EPF_FEATURE_EXTERNAL_WINDOW, 0);
	epp_trace_close(trace);
}
END_TEST

START_TEST(recovered_in_place_it_goes_with_the_trace)
{
	epp_trace *trace;
	char path[512], other[512], window[1100];
	set_directory();
	snprintf(path, sizeof(path), "%s", check_path("in_place.epp"));
	snprintf(other, sizeof(other), "%s", check_path("elsewhere.epp"));
	record(path, true);
	window_path(path, window, sizeof(window));
	check_ok(epp_trace_open(path, &trace));
	/* The trace that stays needs it. */
	check_ok(epp_trace_recover(trace, other, 0));
	ck_assert_int_eq(access(window, F_OK), 0);
	check_ok(epp_trace_recover(trace, path, 1));
	ck_assert_int_ne(access(window, F_OK), 0);
	epp_trace_close(trace);
	check_ok(epp_trace_open(path, &trace));
	ck_assert_uint_eq(epp_trace_get_info(trace)->records_count, EVENTS + 1);
	epp_trace_close(trace);

	/* A window that is another trace's is left alone. */
	ck_assert_int_eq(unlink(path), 0);
	record(path, true);
	window_path(path, window, sizeof(window));
	ck_assert_int_eq(rename(other, window), 0);
	check_ok(epp_trace_open(path, &trace));
	check_ok(epp_trace_recover(trace, path, 1));
	ck_assert_int_eq(access(window, F_OK), 0);
	epp_trace_close(trace);
}
END_TEST

START_TEST(a_directory_that_is_none_is_told)
{
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options), .path = check_path("none.epp") };
	setenv("EPPROF_WINDOW_DIR", "relative", 1);
	check_fails(EPP_INVALID_ARGUMENT, epp_session_create(&options, &session));
	setenv("EPPROF_WINDOW_DIR", "/nowhere/at/all", 1);
	check_fails(EPP_NOT_FOUND, epp_session_create(&options, &session));
	ck_assert_int_ne(access(options.path, F_OK), 0);
}
END_TEST

static Suite *reader_external_window_suite(void)
{
	Suite *suite = suite_create("reader_external_window");
	TCase *test = tcase_create("window");
	tcase_add_test(test, a_kill_loses_nothing);
	tcase_add_test(test, a_session_s_trace_has_it_while_it_records);
	tcase_add_test(test, a_finished_trace_needs_no_window);
	tcase_add_test(test, recovered_in_place_it_goes_with_the_trace);
	tcase_add_test(test, a_directory_that_is_none_is_told);
	suite_add_tcase(suite, test);
	return suite;
}

CHECK_MAIN(reader_external_window_suite)

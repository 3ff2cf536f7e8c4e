/* epp_trace_open on what a path may be: missing, a directory, a pipe, empty, cut, good. */
#include "epprof/trace_reader.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "epprof/epprof.h"
#include "tests/support/check.h"
#include "tests/support/epp_builder.h"

static void fails(const char *path, epp_code code, const char *part)
{
	epp_trace *trace = (epp_trace *)1;
	epp_status *status = epp_trace_open(path, &trace);
	ck_assert_ptr_nonnull(status);
	ck_assert_ptr_null(trace);
	ck_assert_msg(epp_status_code(status) == code, "%s", epp_status_message(status));
	ck_assert_msg(strstr(epp_status_message(status), part) != NULL, "%s", epp_status_message(status));
	/* Object and reason: the path comes first, once. */
	if (path)
		ck_assert_msg(!strncmp(epp_status_message(status), path, strlen(path)) &&
		                  !strstr(epp_status_message(status) + 1, path),
		              "%s", epp_status_message(status));
	epp_status_destroy(status);
}

static void write_file(const char *path, const void *bytes, size_t count)
{
	FILE *file = fopen(path, "wb");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(bytes, 1, count, file), count);
	ck_assert_int_eq(fclose(file), 0);
}

START_TEST(paths)
{
	fails(NULL, EPP_INVALID_ARGUMENT, "path");
	check_fails(EPP_INVALID_ARGUMENT, epp_trace_open("x", NULL));
	fails(check_path("missing.epp"), EPP_NOT_FOUND, "No such file");
	fails(check_path("missing/x.epp"), EPP_NOT_FOUND, "No such file");
	char *directory = check_path("directory");
	ck_assert_int_eq(mkdir(directory, 0777), 0);
	fails(directory, EPP_IO, "Is a directory");
	char *pipe = check_path("pipe");
	ck_assert_int_eq(mkfifo(pipe, 0666), 0);
	fails(pipe, EPP_IO, "not a regular file");
	fails("/dev/null", EPP_IO, "not a regular file");
	char *empty = check_path("empty.epp");
	write_file(empty, "", 0);
	fails(empty, EPP_CORRUPT, "empty");
	char *text = check_path("a \"text\".epp");
	write_file(text, "hello, this is not a trace", 26);
	fails(text, EPP_CORRUPT, "not an .epp file");
	if (geteuid() != 0) {
		ck_assert_int_eq(chmod(text, 0), 0);
		fails(text, EPP_IO, "Permission denied");
	}
}
END_TEST

START_TEST(a_file)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 1);
	builder_event(b, thread, BUILDER_START + 1, 1, EPP_NODE, builder_name(b, "name"), NULL, 0);
	char *path = check_path("good.epp");
	builder_write(b, EPF_FINISHED, path);
	epp_trace *trace;
	check_ok(epp_trace_open(path, &trace));
	ck_assert_str_eq(epp_trace_get_info(trace)->path, path);
	ck_assert_uint_eq(epp_trace_get_info(trace)->records_count, 1);
	struct stat about;
	ck_assert_int_eq(stat(path, &about), 0);
	ck_assert_uint_eq(epp_trace_get_info(trace)->file_bytes, (uint64_t)about.st_size);
	epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
	ck_assert_uint_eq(epp_trace_ledger_count(trace), 2);
	check_ok(epp_trace_ledger_at(trace, 1, &account));
	ck_assert_str_eq(account.producer, "thread main (1)");
	ck_assert_uint_eq(account.written, 1);

	/* Cut off under the reader: an error, not a signal. */
	ck_assert_int_eq(truncate(path, EPF_PAGE_BYTES), 0);
	uint64_t errors;
	check_fails(EPP_CORRUPT, epp_trace_validate(trace, NULL, NULL, &errors));
	epp_trace_close(trace);
	check_ok(epp_trace_open(path, &trace));
	ck_assert_uint_eq(epp_trace_get_info(trace)->records_count, 0);
	check_ok(epp_trace_validate(trace, NULL, NULL, &errors));
	ck_assert_uint_gt(errors, 0);
	epp_trace_close(trace);
	builder_destroy(b);
}
END_TEST

/* A caller of an older version has less room: the bytes behind it keep their values. */
START_TEST(results_of_other_sizes)
{
	struct epp_builder *b = builder_create();
	builder_thread(b, "main", 1);
	char *path = check_path("sizes.epp");
	builder_write(b, EPF_FINISHED, path);
	epp_trace *trace;
	check_ok(epp_trace_open(path, &trace));
	epp_trace_run run;
	memset(&run, 0xaa, sizeof(run));
	run.struct_size = offsetof(epp_trace_run, source);
	ck_assert_int_eq(epp_trace_run_at(trace, 0, &run), 1);
	ck_assert_uint_eq(run.run, 1);
	ck_assert_uint_eq(run.source, 0xaaaaaaaa);
	ck_assert_uint_eq(run.page_faults, UINT64_C(0xaaaaaaaaaaaaaaaa));
	run.struct_size = 0;
	ck_assert_int_eq(epp_trace_run_at(trace, 0, &run), 0);
	epp_trace_source source;
	memset(&source, 0xaa, sizeof(source));
	source.struct_size = offsetof(epp_trace_source, relation);
	ck_assert_int_eq(epp_trace_source_at(trace, 0, &source), 1);
	ck_assert_str_eq(source.program, "test");
	ck_assert_uint_eq(source.relation, 0xaaaaaaaa);
	epp_trace_clock clock;
	memset(&clock, 0xaa, sizeof(clock));
	clock.struct_size = offsetof(epp_trace_clock, rate_error_ppb);
	epp_trace_get_clock(trace, &clock);
	ck_assert_uint_eq(clock.pairs_count, 2);
	ck_assert_uint_eq((uint64_t)clock.rate_error_ppb, UINT64_C(0xaaaaaaaaaaaaaaaa));
	epp_trace_ledger_entry account;
	memset(&account, 0xaa, sizeof(account));
	account.struct_size = offsetof(epp_trace_ledger_entry, errors);
	check_ok(epp_trace_ledger_at(trace, 0, &account));
	ck_assert_str_eq(account.producer, "session");
	ck_assert_uint_eq(account.errors, UINT64_C(0xaaaaaaaaaaaaaaaa));
	account.struct_size = 0;
	check_fails(EPP_INVALID_ARGUMENT, epp_trace_ledger_at(trace, 0, &account));
	epp_trace_close(trace);
	builder_destroy(b);
}
END_TEST

/* Opening many times leaves no descriptor behind, nor does failing. */
START_TEST(descriptors)
{
	struct epp_builder *b = builder_create();
	char *path = check_path("d.epp");
	builder_write(b, EPF_FINISHED, path);
	char *bad = check_path("bad.epp");
	write_file(bad, "x", 1);
	int before = open("/dev/null", O_RDONLY);
	close(before);
	for (int i = 0; i < 20; i++) {
		epp_trace *trace;
		check_ok(epp_trace_open(path, &trace));
		epp_trace_close(trace);
		fails(bad, EPP_CORRUPT, "not an .epp");
	}
	int after = open("/dev/null", O_RDONLY);
	close(after);
	ck_assert_int_eq(before, after);
	builder_destroy(b);
}
END_TEST

START_TEST(sessions)
{
	epp_trace *trace = (epp_trace *)1;
	check_fails(EPP_INVALID_ARGUMENT, epp_trace_open_session(NULL, &trace));
	ck_assert_ptr_null(trace);
	check_fails(EPP_INVALID_ARGUMENT, epp_trace_open_session(NULL, NULL));
}
END_TEST

/* The descriptor of an open file of this process. */
static int descriptor_of(const char *path)
{
	struct stat wanted, found;
	ck_assert_int_eq(stat(path, &wanted), 0);
	for (int fd = 3; fd < 64; fd++)
		if (fstat(fd, &found) == 0 && found.st_ino == wanted.st_ino && found.st_dev == wanted.st_dev)
			return fd;
	ck_abort_msg("%s is not open", path);
}

/* What cannot be read is not taken for a part of the trace that is empty. */
START_TEST(a_session_with_a_read_error)
{
	const char *path = check_path("session.epp");
	epp_session_options options = { .struct_size = sizeof options, .path = path };
	epp_session *session;
	epp_trace *trace;
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_trace_open_session(session, &trace));
	epp_trace_close(trace);
	int fd = descriptor_of(path), kept = dup(fd), unreadable = open(path, O_WRONLY);
	ck_assert_int_eq(dup2(unreadable, fd), fd);
	check_fails(EPP_IO, epp_trace_open_session(session, &trace));
	ck_assert_int_eq(dup2(kept, fd), fd);
	check_ok(epp_trace_open_session(session, &trace));
	epp_trace_close(trace);
	epp_session_destroy(session);
	close(kept);
	close(unreadable);
}
END_TEST

static Suite *trace_reader_suite(void)
{
	Suite *suite = suite_create("trace_reader");
	TCase *cases = tcase_create("all");
	tcase_add_test(cases, paths);
	tcase_add_test(cases, a_file);
	tcase_add_test(cases, results_of_other_sizes);
	tcase_add_test(cases, descriptors);
	tcase_add_test(cases, sessions);
	tcase_add_test(cases, a_session_with_a_read_error);
	suite_add_tcase(suite, cases);
	return suite;
}

CHECK_MAIN(trace_reader_suite)

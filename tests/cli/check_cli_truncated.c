/* A finished trace that lost its end, as by an interrupted copy: info, summary and validate state that it is cut off
 * and what is missing.  Each kind of file is cut at many sizes. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codec/file_header.h"
#include "tests/support/check.h"
#include "tests/support/command.h"
#include "tests/support/recording.h"

#define WHOLE check_path("whole.epp")
#define CUT check_path("cut.epp")

static off_t size_of(const char *path)
{
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	return st.st_size;
}

static void cut_at(off_t bytes)
{
	int from = open(WHOLE, O_RDONLY | O_CLOEXEC), to = open(CUT, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	for (off_t at = 0; at < bytes;) {
		ssize_t copied = sendfile(to, from, NULL, (size_t)(bytes - at));
		ck_assert_int_gt(copied, 0);
		at += copied;
	}
	close(from);
	close(to);
}

static void expect(int code, const char *const *texts, const char *command, const char *option, const char *path)
{
	struct command run = command_run(NULL, command, path, option, NULL);

	ck_assert_msg(run.code == code, "%s of %lld bytes: status %d: %s%s", command, (long long)size_of(path),
	              run.code, run.out, run.err);
	for (; *texts; texts++)
		ck_assert_msg(strstr(run.out, *texts) || strstr(run.err, *texts), "%s of %lld bytes: no '%s' in: %s%s",
		              command, (long long)size_of(path), *texts, run.out, run.err);
	ck_assert_ptr_null(strstr(run.out, "lost    none"));
	ck_assert_ptr_null(strstr(run.out, "do not balance"));
	command_free(&run);
}

#define EXPECT(code, command, option, path, ...) \
	expect(code, (const char *const[]){ __VA_ARGS__, NULL }, command, option, path)

/* `missing`: whether the accounts are left, so that missing events can be counted. */
static void expect_cut(off_t whole, off_t bytes, bool missing)
{
	char of[80], json[120];

	cut_at(bytes);
	snprintf(of, sizeof of, "it ends after %lld of %lld bytes", (long long)bytes, (long long)whole);
	EXPECT(3, "validate", "--strict", CUT, of, "invalid: cut off");
	EXPECT(0, "info", NULL, CUT, "cut.epp, cut off;", "WARNING: the file is truncated: ", " are left",
	       missing ? "events are missing" : "");
	EXPECT(0, "summary", NULL, CUT, ", cut off\n", "WARNING: the file is truncated: ");
	EXPECT(3, "info", "--strict", CUT, "epprof: the file is truncated");
	snprintf(json, sizeof json, "\"state\": \"cut off\", \"truncated\": true, \"missing_bytes\": %lld,",
	         (long long)(whole - bytes));
	EXPECT(0, "info", "--format=json", CUT, json);
	EXPECT(0, "summary", "--format=json", CUT, json);
}

static void expect_whole(void)
{
	struct command run = command_run(NULL, "validate", WHOLE, NULL);

	ck_assert_msg(run.code == 0 && strstr(run.out, ", finished\n"), "%s", run.out);
	command_free(&run);
	run = command_run(NULL, "info", "--format=json", WHOLE, NULL);
	ck_assert_msg(strstr(run.out, "\"state\": \"finished\", \"truncated\": false, ") != NULL, "%s", run.out);
	command_free(&run);
}

/* The last byte of a file may be part of no block; without it a trace is cut off all the same. */
static void cut_everywhere(void)
{
	static const off_t sizes[] = { 4096, 5000, 20000, 100000, 1000000, 10000000, 60000000 };
	off_t whole = size_of(WHOLE);

	expect_whole();
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] < whole; i++)
		expect_cut(whole, sizes[i], false);
	for (off_t part = 1; part < 8; part++)
		expect_cut(whole, whole / 8 * part, false);
	expect_cut(whole, whole - 1, false);
}

static void record(const char *path, uint32_t policy, size_t bytes)
{
	epp_session_options options = {
		.struct_size = sizeof options, .path = path, .overwrite = 1, .policy = policy, .max_bytes = 8 << 20
	};
	epp_session *session;

	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_start(session));
	recording_fill(session, epp_name_intern("op"), bytes);
	recording_end(session);
	epp_session_destroy(session);
}

START_TEST(a_large_trace)
{
	record(WHOLE, EPP_POLICY_STREAM, 24 << 20);
	ck_assert_int_gt(size_of(WHOLE), 22000000);
	cut_everywhere();
}
END_TEST

START_TEST(a_trace_without_its_window)
{
	record(WHOLE, EPP_POLICY_STREAM, 4 << 20);
	ck_assert_int_lt(size_of(WHOLE), 6 << 20);
	cut_everywhere();
}
END_TEST

/* The accounts of a ring stand in front, so it is known how many events are missing, and how long the run was. */
START_TEST(a_ring)
{
	record(WHOLE, EPP_POLICY_RING, 24 << 20);
	cut_everywhere();
	expect_cut(size_of(WHOLE), size_of(WHOLE) / 2, true);
	EXPECT(0, "summary", NULL, CUT, " of a run of ");
}
END_TEST

START_TEST(what_the_command_writes)
{
	static const char *const commands[] = { "pack", "merge", "recover" };

	record(check_path("source.epp"), EPP_POLICY_STREAM, 4 << 20);
	for (size_t i = 0; i < 3; i++) {
		struct command run = command_run(NULL, commands[i], check_path("source.epp"), "-o", WHOLE, "--force", NULL);
		ck_assert_msg(run.code == 0, "%s: %s", commands[i], run.err);
		command_free(&run);
		cut_everywhere();
	}
}
END_TEST

/* Files of earlier versions do not state where they end: what cannot be the end of one is seen. */
START_TEST(a_file_that_does_not_state_its_end)
{
	static const uint8_t zeros[sizeof(struct epf_end)];

	record(WHOLE, EPP_POLICY_STREAM, 4 << 20);
	int fd = open(WHOLE, O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(pwrite(fd, zeros, sizeof zeros, EPF_END_OFFSET), sizeof zeros);
	close(fd);
	expect_whole();
	for (off_t bytes = 100000; bytes < size_of(WHOLE); bytes += 1000000) {
		cut_at(bytes);
		EXPECT(0, "info", NULL, CUT, "cut.epp, cut off;", "WARNING: the file is truncated");
		EXPECT(3, "validate", NULL, CUT, "invalid: cut off");
		EXPECT(0, "summary", "--format=json", CUT,
		       "\"state\": \"cut off\", \"truncated\": true, \"missing_bytes\": null,");
	}
}
END_TEST

/* An end that is damaged is none. */
START_TEST(an_end_that_is_damaged)
{
	record(WHOLE, EPP_POLICY_STREAM, 1 << 20);
	for (size_t i = 0; i < sizeof(struct epf_end); i++) {
		uint8_t byte;
		int fd = open(WHOLE, O_RDWR | O_CLOEXEC);
		ck_assert_int_eq(pread(fd, &byte, 1, (off_t)(EPF_END_OFFSET + i)), 1);
		byte ^= 0x40;
		ck_assert_int_eq(pwrite(fd, &byte, 1, (off_t)(EPF_END_OFFSET + i)), 1);
		expect_whole();
		byte ^= 0x40;
		ck_assert_int_eq(pwrite(fd, &byte, 1, (off_t)(EPF_END_OFFSET + i)), 1);
		close(fd);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("cli_truncated");
	TCase *tc = tcase_create("cli_truncated");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, a_large_trace);
	tcase_add_test(tc, a_trace_without_its_window);
	tcase_add_test(tc, a_ring);
	tcase_add_test(tc, what_the_command_writes);
	tcase_add_test(tc, a_file_that_does_not_state_its_end);
	tcase_add_test(tc, an_end_that_is_damaged);
	suite_add_tcase(s, tc);
	return s;
}
CHECK_MAIN(suite)

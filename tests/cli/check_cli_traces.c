/* Traces in the hands of somebody who types: where the commands that make them write to, what these ask for, and what
 * is said of a trace that was cut. */
#include <string.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/command.h"
#include "tests/support/export_text.h"

/* Runs it, and expects an exit status and a part of what it prints on standard error. */
#define EXPECT(expected_code, error, ...) \
	do { \
		struct command run_ = command_run(NULL, __VA_ARGS__, NULL); \
		ck_assert_msg(run_.code == (expected_code), "status %d: %s", run_.code, run_.err); \
		ck_assert_msg(strstr(run_.err, error) != NULL, "told '%s', not '%s'", run_.err, error); \
		command_free(&run_); \
	} while (0)

/* A trace is never a stream, and never takes its input for its output. */
START_TEST(traces_go_to_files_of_their_own)
{
	static const char *const makers[] = { "recover", "pack", "merge", "import", "run" };
	static const char *const refused[] = { "is the input trace", "is the input trace", "is one of the input traces",
		                               "is the input file", "is the model itself" };
	struct epp_builder *b = export_sample();
	const char *sample = check_path("sample.epp"), *maker = makers[_i];

	builder_write(b, EPF_FINISHED, sample);
	builder_destroy(b);
	EXPECT(2, "cannot be written to standard output", maker, "-o", "-", sample);
	EXPECT(2, "the file name is empty", maker, "-o", "", sample);
	EXPECT(2, refused[_i], maker, "--force", "-o", sample, sample);
	ck_assert_int_ne(access("-", F_OK), 0);
}
END_TEST

START_TEST(import_asks_for_a_profile)
{
	const char *output = check_path("imported.epp");

	EXPECT(2, "which profile?", "import", "-o", output);
	EXPECT(2, "only one profile is allowed", "import", "-o", output, "a.json", "b.json");
	EXPECT(5, "No such file or directory", "import", "-o", output, "/no/where.json");
	EXPECT(5, "Is a directory", "import", "-o", output, "/");
	EXPECT(1, "No such file or directory", "import", "-o", "/no/where.epp", "tests/golden/ort_profile_1.30.json");
}
END_TEST

/* A finished trace that was cut says so wherever losses are told, though no account knows what is missing. */
START_TEST(a_cut_trace_is_not_taken_for_a_whole_one)
{
	static const char *const makers[] = { "convert", "report", "flame", "recover", "pack", "merge" };
	struct epp_builder *b = export_sample();
	const char *sample = check_path("sample.epp"), *cut = check_path("cut.epp"), *made = check_path("made");
	size_t bytes;

	builder_write(b, EPF_FINISHED, sample);
	builder_destroy(b);
	char *whole = command_file(sample, &bytes);
	size_t last = bytes - 1;
	while (!whole[last]) /* room in the last segment */
		last--;
	const size_t ends[] = { EPF_PAGE_BYTES, last / 2, last };
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		FILE *file = fopen(cut, "w");
		ck_assert_uint_eq(fwrite(whole, 1, ends[i], file), ends[i]);
		ck_assert_int_eq(fclose(file), 0);
		for (int j = 0; j < 2; j++) {
			struct command run = command_run(NULL, j ? "info" : "summary", cut, NULL);
			ck_assert_int_eq(run.code, 0);
			ck_assert_msg(strstr(run.out, "WARNING: the file is truncated") != NULL, "%zu of %zu: %s",
			              ends[i], bytes, run.out);
			command_free(&run);
			EXPECT(3, "the file is truncated", j ? "info" : "summary", "--strict", cut);
		}
		EXPECT(3, "the file is truncated", "convert", "--strict", "-o", "/dev/null", cut);
		/* What is made of it does not show it. */
		for (size_t j = 0; j < sizeof makers / sizeof *makers; j++)
			EXPECT(0, "WARNING: the file is truncated", makers[j], "--force", "-o", made, cut);
	}
	free(whole);
}
END_TEST

/* Seconds stand in a line as they do in a column, without the blank that makes them as wide as the others. */
START_TEST(seconds_in_lines_and_columns)
{
	struct epp_builder *b = builder_create();
	const char *path = check_path("seconds.epp");

	builder_event(b, builder_thread(b, "main", 1), BUILDER_START, 2000000000, EPP_NODE, builder_name(b, "slow"),
	              NULL, 0);
	builder_write(b, EPF_FINISHED, path);
	builder_destroy(b);
	struct command run = command_run(NULL, "summary", path, NULL);
	ck_assert_msg(strstr(run.out, "  wall    2.00 s\n") != NULL, "%s", run.out);
	ck_assert_msg(strstr(run.out, "busy 2.00 s\n") != NULL, "%s", run.out);
	ck_assert_msg(strstr(run.out, " 2.00 s   2.00 s   2.00 s   2.00 s ") != NULL, "%s", run.out);
	command_free(&run);
}
END_TEST

static Suite *traces_suite(void)
{
	Suite *suite = suite_create("cli_traces");
	TCase *tests = tcase_create("traces");

	tcase_add_loop_test(tests, traces_go_to_files_of_their_own, 0, 5);
	tcase_add_test(tests, import_asks_for_a_profile);
	tcase_add_test(tests, a_cut_trace_is_not_taken_for_a_whole_one);
	tcase_add_test(tests, seconds_in_lines_and_columns);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(traces_suite)

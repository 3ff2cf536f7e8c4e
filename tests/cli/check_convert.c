/* epprof convert, report and flame: every format onto a full device, filters, what is an error on request. */
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/command.h"
#include "tests/support/export_text.h"

static char sample[512];

static void setup(void)
{
	struct epp_builder *b = export_sample();

	snprintf(sample, sizeof sample, "%s", check_path("sample.epp"));
	builder_write(b, EPF_FINISHED, sample);
	builder_destroy(b);
}

/* Runs it, and expects an exit status and a part of what it prints on standard error. */
#define EXPECT(expected_code, error, ...) \
	do { \
		struct command run_ = command_run(NULL, "convert", __VA_ARGS__, sample, NULL); \
		ck_assert_msg(run_.code == (expected_code), "status %d: %s", run_.code, run_.err); \
		ck_assert_msg(strstr(run_.err, error) != NULL, "told '%s', not '%s'", run_.err, error); \
		command_free(&run_); \
	} while (0)

START_TEST(every_format_notices_a_full_device)
{
	const epp_export_format *format;
	size_t count = 0;

	for (; (format = epp_export_format_at(count)) != NULL; count++)
		EXPECT(1, "No space left on device", "-t", format->name, "-o", "/dev/full");
	ck_assert_uint_ge(count, 9);
}
END_TEST

START_TEST(every_format_is_chosen_by_its_ending)
{
	const epp_export_format *format;
	char told[64];

	for (size_t i = 0; (format = epp_export_format_at(i)) != NULL; i++) {
		if (strcmp(format->name, "ort") == 0) /* ".json" is Chrome's */
			continue;
		snprintf(told, sizeof told, ": %s, ", format->name);
		EXPECT(0, told, "-o", check_path("out%s", format->extension));
	}
	EXPECT(2, "the file name is empty", "-o", "");
	/* An unknown ending lists the formats; a name without one means chrome, also in a folder with a dot. */
	EXPECT(2, "no format has the ending of 'x.xyz'; -t FORMAT chooses one:\n", "-o", "x.xyz");
	EXPECT(2, "\n  perfetto ", "-o", "x.xyz");
	ck_assert_int_ne(access("x.xyz", F_OK), 0);
	EXPECT(0, ": chrome, ", "-o", check_path("no_ending"));
	EXPECT(1, "No such file or directory", "-o", check_path("no.folder/no_ending"));
	EXPECT(0, ": csv, ", "-t", "csv", "-o", check_path("x.xyz"));
}
END_TEST

START_TEST(filters_are_understood)
{
	struct command run = command_run(NULL, "convert", "-o-", "-t", "ndjson", "--name", "gemm", "--min-duration=9us",
	                                 "--track", "stream*", "--process", "Accelerator*", sample, NULL);
	unsigned slices = 0;

	ck_assert_int_eq(run.code, 0);
	for (const char *at = run.out; (at = strstr(at, "\"kind\":\"slice\"")) != NULL; at++)
		slices++;
	ck_assert_uint_eq(slices, 2);
	ck_assert_ptr_nonnull(strstr(run.out, "\"filters of this export\",\"emitted\":26"));
	command_free(&run);
	EXPECT(2, "--min-duration '5'", "--min-duration", "5", "-o", "-");
}
END_TEST

START_TEST(what_is_left_out_is_an_error_on_request)
{
	char *path = check_path("lossless.json");

	EXPECT(1, "ort cannot represent all of the trace", "--lossless", "-t", "ort", "-o", path);
	ck_assert_int_ne(access(path, F_OK), 0);
	EXPECT(0, "wrote", "--lossless", "-t", "perfetto", "-o", path);
}
END_TEST

START_TEST(pictures_stand_beside_their_trace)
{
	char *page = check_path("sample.html");
	struct command run = command_run(NULL, "report", "--events", "5", sample, NULL);

	ck_assert_int_eq(run.code, 0);
	ck_assert_ptr_nonnull(strstr(run.err, "22 events only in the tables"));
	ck_assert_int_eq(access(page, F_OK), 0);
	command_free(&run);
	run = command_run(NULL, "report", sample, NULL);
	ck_assert_int_eq(run.code, 1);
	ck_assert_ptr_nonnull(strstr(run.err, "--force replaces it"));
	command_free(&run);
	run = command_run(NULL, "report", "-o", "/dev/full", sample, NULL);
	ck_assert_int_eq(run.code, 1);
	command_free(&run);
	run = command_run(NULL, "report", "--strict", "--events=5", "--force", sample, NULL);
	ck_assert_int_eq(run.code, 3);
	command_free(&run);
	run = command_run(NULL, "report", "--events", "0", sample, NULL);
	ck_assert_int_eq(run.code, 2);
	command_free(&run);
	run = command_run(NULL, "flame", sample, NULL);
	ck_assert_int_eq(run.code, 0);
	ck_assert_int_eq(access(check_path("sample.flame.svg"), F_OK), 0);
	command_free(&run);
}
END_TEST

START_TEST(ranks_are_numbers)
{
	struct command run = command_run(NULL, "convert", "-tkineto", "--rank", "1", "--world-size=2", "-o-", sample, NULL);

	ck_assert_int_eq(run.code, 0);
	ck_assert_ptr_nonnull(strstr(run.out, "\"rank\": 1, \"world_size\": 2"));
	command_free(&run);
	EXPECT(2, "--rank 'x'", "--rank", "x", "-o", "-");
	EXPECT(2, "--world-size '0'", "--world-size", "0", "-o", "-");
	EXPECT(2, "--rank is for -t kineto", "--rank", "1", "-t", "csv", "-o", "-");
	EXPECT(2, "--world-size is for -t kineto", "--world-size", "2", "-o", "-");
	EXPECT(2, "--gpu-planes is for -t xspace", "--gpu-planes", "-t", "kineto", "-o", "-");
	EXPECT(2, "--gpu-stages is for -t perfetto", "--gpu-stages", "-t", "chrome", "-o", "-");
	EXPECT(2, "--run is for -t parquet", "--run", "r", "-t", "csv", "-o", "-");
}
END_TEST

static Suite *convert_suite(void)
{
	Suite *suite = suite_create("convert");
	TCase *tests = tcase_create("convert");

	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_add_test(tests, every_format_notices_a_full_device);
	tcase_add_test(tests, every_format_is_chosen_by_its_ending);
	tcase_add_test(tests, filters_are_understood);
	tcase_add_test(tests, what_is_left_out_is_an_error_on_request);
	tcase_add_test(tests, pictures_stand_beside_their_trace);
	tcase_add_test(tests, ranks_are_numbers);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(convert_suite)

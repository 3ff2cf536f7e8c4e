/* The words of the epprof command: help, mistakes on its command lines, options anywhere. */
#include "epprof/epprof.h"
#include "tests/support/command_expect.h"
#include "tests/support/export_text.h"

static const char *const commands[] = { "info", "summary", "convert", "validate", "tail" };
#define COMMANDS_COUNT 5

static char sample[512];

static void make_trace(void)
{
	struct epp_builder *b = export_sample();

	snprintf(sample, sizeof sample, "%s", check_path("sample.epp"));
	builder_write(b, EPF_FINISHED, sample);
	builder_destroy(b);
}

START_TEST(help_goes_to_standard_output)
{
	static const char *const words[][3] = { { "help" }, { "--help" }, { "-h" }, { "help", "help" } };
	struct command plain = command_run(NULL, "help", NULL);

	for (unsigned i = 0; i < 4; i++) {
		struct command run = command_run(NULL, words[i][0], words[i][1], NULL);
		ck_assert_int_eq(run.code, 0);
		ck_assert_str_eq(run.out, plain.out);
		ck_assert_str_eq(run.err, "");
		command_free(&run);
	}
	for (unsigned i = 0; i < COMMANDS_COUNT; i++)
		ck_assert_ptr_nonnull(strstr(plain.out, commands[i]));
	command_free(&plain);
}
END_TEST

START_TEST(every_command_has_help)
{
	struct command by_option = command_run(NULL, commands[_i], "--help", NULL);
	struct command by_command = command_run(NULL, "help", commands[_i], NULL);
	char usage[64];

	snprintf(usage, sizeof usage, "usage: epprof %s ", commands[_i]);
	ck_assert_int_eq(by_option.code, 0);
	ck_assert_int_eq(by_command.code, 0);
	ck_assert_str_eq(by_option.out, by_command.out);
	ck_assert_int_eq(strncmp(by_option.out, usage, strlen(usage)), 0);
	ck_assert_str_eq(by_option.err, "");
	for (const char *line = by_option.out; *line; line += strcspn(line, "\n") + 1)
		ck_assert_uint_le(strcspn(line, "\n"), 120);
	command_free(&by_option);
	command_free(&by_command);
}
END_TEST

START_TEST(the_version_is_told)
{
	struct command run = command_run(NULL, "--version", NULL);

	ck_assert_int_eq(run.code, 0);
	ck_assert_str_eq(run.out, "epprof " EPPROF_VERSION "\n");
	command_free(&run);
}
END_TEST

START_TEST(nothing_gives_the_usage)
{
	struct command run = command_run(NULL, NULL);

	ck_assert_int_eq(run.code, 2);
	ck_assert_str_eq(run.out, "");
	ck_assert_int_eq(strncmp(run.err, "usage: epprof", 13), 0);
	command_free(&run);
}
END_TEST

START_TEST(mistakes_name_what_was_meant)
{
	EXPECT(2, "unknown command 'sumnary'; did you mean 'summary'?", "sumnary", sample);
	EXPECT(2, "did you mean 'convert'?", "cnovert");
	EXPECT(2, "unknown command 'xyzzy'\n", "xyzzy");
	EXPECT(2, "unknown command 'sumnary'", "help", "sumnary");
	EXPECT(2, "unknown option '--hepl'; did you mean '--help'?", "--hepl");
	EXPECT(2, "unknown option '--fromat'; did you mean '--format'?", "info", "--fromat", "json", sample);
	EXPECT(2, "unknown option '--zzz'\n", "info", sample, "--zzz=1");
	EXPECT(2, "unknown option '-q'", "info", "-q", sample);
	EXPECT(2, "option '--format' needs a value", "info", sample, "--format");
	EXPECT(2, "option '-o' needs a value", "convert", sample, "-o");
	EXPECT(2, "option '--force' takes no value", "convert", sample, "-o", "x", "--force=yes");
	EXPECT(2, "unknown option '--stirct'; did you mean '--strict'?", "convert", "--stirct", sample);
	EXPECT(2, "option '--f' is ambiguous", "convert", "--f", sample);
	EXPECT(2, "--format 'jsn': did you mean 'json'?", "info", "--format=jsn", sample);
	EXPECT(2, "--format 'xml': must be one of text, csv, json", "summary", "--format", "xml", sample);
	EXPECT(2, "--top 'x': the number is invalid", "summary", "--top", "x", sample);
	EXPECT(2, "--top '-1': the number is too small", "summary", "--top=-1", sample);
	EXPECT(2, "--from '5': must be a number and a unit", "convert", "--from", "5", "-o", "-", sample);
	EXPECT(2, "--to must be later than --from", "convert", "--from", "5ms", "--to", "4ms", "-o", "-", sample);
	EXPECT(2, "--type 'crome': did you mean 'chrome'?", "convert", "-t", "crome", "-o", "-", sample);
	EXPECT(2, "--by 'foo': must be one of op, kernel,", "summary", "--by", "foo", sample);
	EXPECT(2, "'x.epp' would be a trace: 'epprof pack' writes a smaller one", "convert", "-o", "x.epp", sample);
	EXPECT(2, "--run '../R': only letters, digits,", "convert", "--run", "../R", "-o", check_path("set"), sample);
	EXPECT(2, "-o is missing", "convert", sample);
	EXPECT(2, "which profile?", "import", "-o", "x");
	EXPECT(2, "only one profile is allowed", "import", "-o", "x", "one.json", "another.json");
	EXPECT(2, "is the input trace", "convert", "--force", "-o", sample, sample);
	for (unsigned i = 0; i < COMMANDS_COUNT; i++) {
		EXPECT(2, "which trace?", commands[i]);
		EXPECT(2, "only one trace is allowed", commands[i], sample, "another.epp");
	}
}
END_TEST

START_TEST(options_may_stand_anywhere)
{
	struct command before = command_run(NULL, "info", "--format", "json", sample, NULL);
	struct command behind = command_run(NULL, "info", sample, "--form=json", NULL);
	struct command dashes = command_run(NULL, "info", "--format=json", "--", sample, NULL);

	ck_assert_int_eq(before.code, 0);
	ck_assert_str_eq(before.out, behind.out);
	ck_assert_str_eq(before.out, dashes.out);
	command_free(&before);
	command_free(&behind);
	command_free(&dashes);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("options");
	TCase *tc = tcase_create("options");

	tcase_add_unchecked_fixture(tc, make_trace, NULL);
	tcase_add_test(tc, help_goes_to_standard_output);
	tcase_add_loop_test(tc, every_command_has_help, 0, COMMANDS_COUNT);
	tcase_add_test(tc, the_version_is_told);
	tcase_add_test(tc, nothing_gives_the_usage);
	tcase_add_test(tc, mistakes_name_what_was_meant);
	tcase_add_test(tc, options_may_stand_anywhere);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)

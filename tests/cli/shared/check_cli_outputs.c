/* Outputs of the commands: not through a link, for the user alone, with a warning where others can write. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/support/check.h"
#include "tests/support/command.h"
#include "tests/support/export_text.h"

static char trace[512], json[512];

static void setup(void)
{
	struct epp_builder *b = export_sample();

	snprintf(trace, sizeof trace, "%s", check_path("trace.epp"));
	snprintf(json, sizeof json, "%s", check_path("trace.json"));
	builder_write(b, EPF_FINISHED, trace);
	builder_destroy(b);
	struct command run = command_run(NULL, "convert", "-o", json, trace, NULL);
	ck_assert_msg(run.code == 0, "%s", run.err);
	command_free(&run);
}

/* Runs the command number `i` with an output, and --force; returns false behind the last one. */
static bool write_with(unsigned i, const char *output, struct command *run)
{
	switch (i) {
	case 0:
		*run = command_run(NULL, "convert", "--force", "-t", "csv", "-o", output, trace, NULL);
		return true;
	case 1:
		*run = command_run(NULL, "report", "--force", "-o", output, trace, NULL);
		return true;
	case 2:
		*run = command_run(NULL, "flame", "--force", "-o", output, trace, NULL);
		return true;
	case 3:
		*run = command_run(NULL, "pack", "--force", "-o", output, trace, NULL);
		return true;
	case 4:
		*run = command_run(NULL, "recover", "--force", "-o", output, trace, NULL);
		return true;
	case 5:
		*run = command_run(NULL, "merge", "--force", "-o", output, trace, NULL);
		return true;
	case 6:
		*run = command_run(NULL, "import", "--force", "-o", output, json, NULL);
		return true;
	case 7:
		*run = command_run(NULL, "conform", "--case", "1.load.library", "-o", output,
		                   CHECK_BUILD "/libsample_ort_ep.so", NULL);
		return true;
	default:
		return false;
	}
}

START_TEST(no_command_writes_through_a_link)
{
	char *target = check_path("target"), *link = check_path("link.epp");
	struct command run;

	FILE *file = fopen(target, "w");
	ck_assert_int_eq(fputs("precious", file), 1);
	fclose(file);
	ck_assert_int_eq(symlink(target, link), 0);
	for (unsigned i = 0; write_with(i, link, &run); i++) {
		struct stat st;
		ck_assert_msg(run.code == 1, "%u: status %d, %s", i, run.code, run.err);
		ck_assert_msg(strstr(run.err, "link.epp: is a symbolic link") != NULL, "%u: %s", i, run.err);
		ck_assert_int_eq(lstat(link, &st), 0);
		ck_assert(S_ISLNK(st.st_mode));
		ck_assert_int_eq(stat(target, &st), 0);
		ck_assert_int_eq(st.st_size, 8);
		command_free(&run);
	}
}
END_TEST

START_TEST(only_the_user_reads_what_a_command_wrote)
{
	struct command run;
	struct stat st;

	umask(0);
	ck_assert_int_eq(mkdir(check_path("open"), 0777), 0);
	for (unsigned i = 0; write_with(i, check_path("open/%u.epp", i), &run); i++) {
		ck_assert_msg(run.code == 0, "%u: %s", i, run.err);
		ck_assert_int_eq(stat(check_path("open/%u.epp", i), &st), 0);
		ck_assert_uint_eq(st.st_mode & 07777, 0600);
		/* The file of conform is no trace. */
		if (i < 7)
			ck_assert_msg(strstr(run.err, "WARNING: ") && strstr(run.err, "open: every user can write to it"),
			              "%u: %s", i, run.err);
		command_free(&run);
	}
}
END_TEST

START_TEST(a_library_that_others_can_write)
{
	char *folder = check_path("plugins"), *plugin = check_path("plugins/plugin.so"), *there;

	ck_assert_int_eq(mkdir(folder, 0700), 0);
	ck_assert_ptr_nonnull(there = realpath(CHECK_BUILD "/libsample_ort_ep.so", NULL));
	ck_assert_int_eq(symlink(there, plugin), 0);
	struct command run = command_run(NULL, "probe", plugin, NULL);
	ck_assert_msg(run.code == 0 && !*run.err, "%s", run.err);
	command_free(&run);
	ck_assert_int_eq(unlink(plugin), 0);
	char copy[2048];
	snprintf(copy, sizeof copy, "cp '%s' '%s' && chmod 0777 '%s'", there, plugin, plugin);
	ck_assert_int_eq(system(copy), 0);
	run = command_run(NULL, "probe", plugin, NULL);
	ck_assert_msg(run.code == 0 && strstr(run.err, "plugin.so: every user can write to it"), "%s", run.err);
	command_free(&run);
	free(there);
}
END_TEST

static Suite *cli_outputs_suite(void)
{
	Suite *suite = suite_create("cli_outputs");
	TCase *tests = tcase_create("cli_outputs");

	tcase_add_unchecked_fixture(tests, setup, NULL);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, no_command_writes_through_a_link);
	tcase_add_test(tests, only_the_user_reads_what_a_command_wrote);
	tcase_add_test(tests, a_library_that_others_can_write);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(cli_outputs_suite)

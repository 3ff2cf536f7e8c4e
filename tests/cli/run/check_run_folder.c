/* What epprof run leaves in TMPDIR when it is killed goes when the next one begins; what others have there stays. */
#include <signal.h>
#include <sys/wait.h>

#include "tests/cli/run/fake_run.h"

static int count_folders(void)
{
	FILE *pipe = popen("ls -d temporary/epprof-run-* 2>/dev/null | wc -l", "r");
	int count = -1;

	ck_assert_ptr_nonnull(pipe);
	ck_assert_int_eq(fscanf(pipe, "%d", &count), 1);
	pclose(pipe);
	return count;
}

/* Starts a run that lasts, and waits until it is in the middle of it. */
static pid_t start_long(const char *trace)
{
	pid_t pid;

	unlink(check_path("log"));
	setenv("FAKE_ORT", "run_ms=600000", 1);
	pid = command_start("out", "err", "run", MODEL, "--shape", "x=3,4", "-o", trace, NULL);
	for (int i = 0; i < 3000 && !logged("value x"); i++)
		usleep(10000);
	ck_assert(logged("value x"));
	unsetenv("FAKE_ORT");
	return pid;
}

static void end(pid_t pid)
{
	int status;

	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
}

START_TEST(one_that_was_killed_leaves_it_to_the_next)
{
	pid_t killed = start_long("killed.epp"), living = start_long("living.epp");

	ck_assert_int_eq(count_folders(), 2);
	end(killed);
	ck_assert_int_eq(count_folders(), 2);
	EXPECT(0, "", MODEL, "--shape", "x=3,4");
	ck_assert_int_eq(count_folders(), 1);
	EXPECT(0, "", MODEL, "--shape", "x=3,4", "--force");
	ck_assert_int_eq(count_folders(), 1);
	end(living);
	EXPECT(0, "", MODEL, "--shape", "x=3,4", "--force");
	ck_assert_int_eq(count_folders(), 0);
	ck_assert_int_eq(rmdir(check_path("temporary")), 0);
}
END_TEST

START_TEST(what_others_have_there_stays)
{
	ck_assert(system("cd temporary && mkdir epprof-run.old epprof-ru elsewhere && touch elsewhere/kept epprof-run-file &&"
	                 " ln -s elsewhere epprof-run-link && mkdir -p epprof-run-stale/deep && touch epprof-run-stale/deep/file"
	                 " && ln -s ../elsewhere epprof-run-stale/link") == 0);
	EXPECT(0, "", MODEL, "--shape", "x=3,4");
	ck_assert(system("cd temporary && test -d epprof-run.old -a -d epprof-ru -a -f elsewhere/kept -a -f epprof-run-file"
	                 " -a -L epprof-run-link -a ! -e epprof-run-stale") == 0);
}
END_TEST

START_TEST(without_a_place_it_says_where)
{
	setenv("TMPDIR", "/nonexistent", 1);
	EXPECT(1, "/nonexistent/epprof-run-", MODEL, "--shape", "x=3,4");
}
END_TEST

static Suite *run_folder_suite(void)
{
	Suite *suite = suite_create("run_folder");
	TCase *tests = tcase_create("run_folder");

	tcase_add_checked_fixture(tests, begin, NULL);
	tcase_add_test(tests, one_that_was_killed_leaves_it_to_the_next);
	tcase_add_test(tests, what_others_have_there_stays);
	tcase_add_test(tests, without_a_place_it_says_where);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(run_folder_suite)

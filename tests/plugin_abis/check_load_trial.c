/* Trials of loads: a library whose constructor does not return is refused, and the process goes on; whatever else
 * happens in a trial changes nothing, whatever the host does with its children.  Covers plugins/load_trial.c. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "epprof/plugin.h"
#include "tests/support/check.h"
#include "tests/support/hanging.h"
#include "tests/support/recording.h"

#define PLUGIN(name) CHECK_BUILD "/tests/plugins/" name ".so"
#define LIMIT_MS 500
#define SECOND_NS INT64_C(1000000000)

static char loads[4096]; /* the file in which the library counts its loads */

static void set_up(void)
{
	setenv("EPPROF_PLUGIN_TIMEOUT_MS", "500", 1);
	unsetenv("EPPROF_PLUGIN_TRIAL");
	unsetenv("SLOW_LOAD");
	snprintf(loads, sizeof(loads), "%s", check_path("loads-%d", (int)getpid()));
	remove(loads);
	setenv("SLOW_LOAD_FILE", loads, 1);
}

/* Copies the library, so that a file has a trial of its own. */
static const char *copy_as(const char *folder, const char *file)
{
	static char path[4200], command[9000];
	mkdir(folder, 0700);
	snprintf(path, sizeof(path), "%s/%s", folder, file);
	snprintf(command, sizeof(command), "cp '%s' '%s'", PLUGIN("slow_load"), path);
	ck_assert_int_eq(system(command), 0);
	return path;
}

struct load {
	int pid;
	bool has_variables;
};

/* Reads the file; returns the number of loads. */
static int loads_count(struct load all[8])
{
	char line[64];
	int count = 0;
	FILE *file = fopen(loads, "r");
	while (file && fgets(line, sizeof(line), file) && count < 8)
		all[count++] = (struct load){ (int)strtol(line, NULL, 10), strstr(line, "set") != NULL };
	if (file)
		fclose(file);
	return count;
}

static void check_hangs(const char *path)
{
	epp_plugin *plugin;
	epp_status *status = epp_plugin_load(path, &plugin);
	ck_assert_int_eq(epp_status_code(status), EPP_TIMEOUT);
	ck_assert_msg(strstr(epp_status_message(status), "slow_load.so: dlopen: it has not returned after 500 ms") != NULL,
	              "%s", epp_status_message(status));
	epp_status_destroy(status);
}

/* Loads the library, which is no plugin, but loads. */
static void check_loads(const char *path)
{
	epp_plugin *plugin;
	check_fails(EPP_INCOMPATIBLE, epp_plugin_load(path, &plugin));
}

static void *return_null(void *argument)
{
	(void)argument;
	return NULL;
}

START_TEST(a_constructor_that_hangs_is_found)
{
	struct load all[8];
	epp_plugin *plugin;
	int64_t before_ns = hanging_now_ns();
	check_hangs(PLUGIN("slow_load"));
	ck_assert_int_ge(hanging_now_ns() - before_ns, LIMIT_MS * 1000000);
	ck_assert_int_lt(hanging_now_ns() - before_ns, 4 * SECOND_NS);
	/* Once in a process; the process of the trial is gone. */
	before_ns = hanging_now_ns();
	check_hangs(PLUGIN("slow_load"));
	ck_assert_int_lt(hanging_now_ns() - before_ns, LIMIT_MS * 1000000);
	ck_assert_int_eq(loads_count(all), 1);
	ck_assert_int_eq(kill(all[0].pid, 0), -1);
	ck_assert(!all[0].has_variables);
	/* The loader is free. */
	pthread_join(recording_thread(return_null, NULL), NULL);
	check_ok(epp_plugin_load(PLUGIN("plain_ep"), &plugin));
	check_ok(epp_plugin_unload(plugin));
}
END_TEST

START_TEST(one_that_computes_has_four_times_as_long)
{
	setenv("SLOW_LOAD", "compute", 1);
	setenv("EPPROF_PLUGIN_TIMEOUT_MS", "500", 1);
	int64_t before_ns = hanging_now_ns();
	check_hangs(PLUGIN("slow_load"));
	ck_assert_int_ge(hanging_now_ns() - before_ns, 4 * LIMIT_MS * INT64_C(1000000));
}
END_TEST

/* Also in a folder whose name LD_PRELOAD could not have. */
START_TEST(several_that_hang_cost_one_limit)
{
	char paths[4][4200], folder[4200];
	setenv("EPPROF_PLUGIN_TIMEOUT_MS", "2000", 1);
	snprintf(folder, sizeof(folder), "%s", check_path("a folder: of several"));
	for (int i = 0; i < 4; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s", copy_as(folder, (char[]){ (char)('a' + i), '.', 's', 'o', 0 }));
		epp_plugin_trial_begin(paths[i]);
	}
	int64_t before_ns = hanging_now_ns();
	for (int i = 0; i < 4; i++)
		check_fails(EPP_TIMEOUT, epp_plugin_trial_await(paths[i]));
	ck_assert_int_lt(hanging_now_ns() - before_ns, 2 * 2 * SECOND_NS);
	struct load all[8];
	ck_assert_int_eq(loads_count(all), 4);
}
END_TEST

START_TEST(what_returns_is_loaded_as_before)
{
	struct load all[8];
	setenv("SLOW_LOAD", _i ? "crash in the trial" : "return", 1);
	check_loads(PLUGIN("slow_load"));
	ck_assert_int_eq(loads_count(all), 2);
	ck_assert_int_ne(all[0].pid, getpid());
	ck_assert_int_eq(all[1].pid, getpid());
	/* One trial. */
	check_loads(PLUGIN("slow_load"));
	ck_assert_int_eq(loads_count(all), 3);
	ck_assert_int_eq(all[2].pid, getpid());
}
END_TEST

START_TEST(there_is_no_trial)
{
	struct load all[8];
	const char *path = PLUGIN("slow_load");
	void *library = NULL;
	setenv("SLOW_LOAD", "return", 1);
	if (_i == 0)
		setenv("EPPROF_PLUGIN_TRIAL", "0", 1);
	else if (_i == 1)
		path = copy_as(check_path("names"), "a blank.so");
	else if (_i == 2)
		path = copy_as(check_path("names"), "a:colon.so");
	else
		library = dlopen(path, RTLD_NOW);
	check_loads(path);
	ck_assert_int_eq(loads_count(all), 1);
	ck_assert_int_eq(all[0].pid, getpid());
	if (library)
		dlclose(library);
	/* Nor for what cannot be loaded. */
	ck_assert(!epp_plugin_trial_await(NULL));
	ck_assert(!epp_plugin_trial_await("slow_load.so"));
	ck_assert(!epp_plugin_trial_await("/nowhere/x.so"));
	ck_assert(!epp_plugin_trial_await("/tmp"));
}
END_TEST

/* ---- hosts ---- */

static void reap(int number)
{
	int saved_errno = errno;
	(void)number;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		continue;
	errno = saved_errno;
}

START_TEST(the_host_may_wait_for_any_child)
{
	struct load all[8];
	signal(SIGCHLD, _i % 3 == 0 ? SIG_IGN : _i % 3 == 1 ? reap : SIG_DFL);
	if (_i < 3) {
		setenv("SLOW_LOAD", "return", 1);
		check_loads(PLUGIN("slow_load"));
		ck_assert_int_eq(loads_count(all), 2);
	} else {
		check_hangs(PLUGIN("slow_load"));
	}
	ck_assert_int_eq(waitpid(-1, NULL, 0), -1);
	ck_assert_int_eq(errno, ECHILD);
}
END_TEST

static void *await_trial(void *path)
{
	return epp_plugin_trial_await(path);
}

START_TEST(threads_share_a_trial)
{
	struct load all[8];
	pthread_t threads[8];
	for (int i = 0; i < 8; i++)
		threads[i] = recording_thread(await_trial, (void *)PLUGIN("slow_load"));
	for (int i = 0; i < 8; i++) {
		void *status;
		pthread_join(threads[i], &status);
		check_fails(EPP_TIMEOUT, (epp_status *)status);
	}
	ck_assert_int_eq(loads_count(all), 1);
}
END_TEST

START_TEST(a_forked_child_has_its_own_trial)
{
	int status;
	epp_plugin_trial_begin(PLUGIN("slow_load"));
	pid_t child = fork();
	if (child == 0) {
		check_hangs(PLUGIN("slow_load"));
		_exit(0);
	}
	check_hangs(PLUGIN("slow_load"));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	struct load all[8];
	ck_assert_int_eq(loads_count(all), 2);
}
END_TEST

START_TEST(it_ends_with_its_host)
{
	struct load all[8];
	pid_t host = fork();
	if (host == 0) {
		epp_plugin_trial_begin(PLUGIN("slow_load"));
		while (!loads_count(all))
			recording_sleep_ms(1);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(host, NULL, 0), host);
	ck_assert_int_eq(loads_count(all), 1);
	char stat[64], text[256] = "";
	snprintf(stat, sizeof(stat), "/proc/%d/stat", all[0].pid);
	/* It may be a zombie, if nobody waits for orphans. */
	for (int i = 0; i < 5000; i++, recording_sleep_ms(1)) {
		FILE *file = fopen(stat, "r");
		if (!file || !fgets(text, sizeof(text), file) || strstr(text, ") Z"))
			i = 5000;
		else
			ck_assert_int_lt(i, 4999);
		if (file)
			fclose(file);
	}
}
END_TEST

static Suite *load_trial_suite(void)
{
	Suite *suite = suite_create("load_trial");
	TCase *tcase = tcase_create("load_trial");
	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_test(tcase, a_constructor_that_hangs_is_found);
	tcase_add_test(tcase, one_that_computes_has_four_times_as_long);
	tcase_add_test(tcase, several_that_hang_cost_one_limit);
	tcase_add_loop_test(tcase, what_returns_is_loaded_as_before, 0, 2);
	tcase_add_loop_test(tcase, there_is_no_trial, 0, 4);
	tcase_add_loop_test(tcase, the_host_may_wait_for_any_child, 0, 6);
	tcase_add_test(tcase, threads_share_a_trial);
	tcase_add_test(tcase, a_forked_child_has_its_own_trial);
	tcase_add_test(tcase, it_ends_with_its_host);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(load_trial_suite)

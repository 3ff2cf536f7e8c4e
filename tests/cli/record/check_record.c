/* epprof record with programs on libepprof: statuses and signals that are passed on, processes that are merged, names of
 * the output, and programs without a trace.  This program runs itself under the command ("events 3", "kill 2"). */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "epprof/epprof.h"
#include "tests/support/command_expect.h"
#include "tests/support/strict_json.h"

#define EVENTS_COUNT 5
#define PRELOAD CHECK_BUILD "/libepprof_preload.so"

static char self[512];

/* ---- the recorded program ---- */

static void record_events(int count)
{
	epp_name work = epp_name_intern("work");

	for (int i = 0; i < count; i++)
		epp_event_end(NULL, epp_event_begin(NULL, EPP_NODE, work), NULL, 0);
}

/* Returns true if a file has a text. */
static bool has_printed(const char *path, const char *text)
{
	char bytes[4096] = "";
	int fd = open(path, O_RDONLY);
	ssize_t count = fd >= 0 ? read(fd, bytes, sizeof bytes - 1) : -1;

	if (fd >= 0)
		close(fd);
	return count > 0 && strstr(bytes, text);
}

static void record_named(const char *name, int count)
{
	for (int i = 0; i < count; i++)
		epp_event_end(NULL, epp_event_begin_text(NULL, EPP_NODE, name), NULL, 0);
}

/* Waits until nothing is recorded any more. */
static void wait_for_end(void)
{
	for (int i = 0; i < 10000 && epp_session_default(); i++)
		usleep(10000);
}

static void wait_for_file(const char *path)
{
	for (int i = 0; i < 10000 && access(path, F_OK) != 0; i++)
		usleep(10000);
}

static void make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	if (fd >= 0)
		close(fd);
}

static void end_with_5(int number)
{
	(void)number;
	exit(5);
}

/* Does what the first argument is; the second one is a number or a path. */
static int program(char **arguments)
{
	const char *scenario = arguments[0], *value = arguments[1];

	record_events(EVENTS_COUNT);
	/* Events before this are not recorded: the program resumes its own recording. */
	if (strcmp(scenario, "resume") == 0) {
		char command[128];
		snprintf(command, sizeof command, "%s/epprof ctl resume %d >&2", CHECK_BUILD, (int)getpid());
		if (EPPROF_ENABLED() || system(command) != 0 || !EPPROF_ENABLED())
			return 1;
		record_events(EVENTS_COUNT);
	}
	if (strcmp(scenario, "until printed") == 0) {
		for (int i = 0; i < 10000 && !has_printed("err", value); i++) {
			record_events(EVENTS_COUNT);
			usleep(10000);
		}
	}
	if (strcmp(scenario, "names") == 0) {
		record_named("left out", 3);
		record_named("also left out", 2);
		record_named(value, 4);
	}
	if (strcmp(scenario, "until the end") == 0) {
		wait_for_end();
		record_events(EVENTS_COUNT);
	}
	if (strcmp(scenario, "exit") == 0 || strcmp(scenario, "until the end") == 0)
		return (int)strtol(value, NULL, 10);
	if (strcmp(scenario, "kill") == 0)
		raise((int)strtol(value, NULL, 10));
	if (strcmp(scenario, "print") == 0)
		printf("%s\n", getenv(value) ? getenv(value) : "not set");
	if (strcmp(scenario, "make") == 0)
		make_file(value);
	if (strcmp(scenario, "handle") == 0)
		signal(SIGINT, end_with_5);
	if (strcmp(scenario, "sleep") == 0 || strcmp(scenario, "handle") == 0) {
		make_file(value);
		wait_for_file("never");
	}
	if (strcmp(scenario, "linger") == 0) {
		make_file("lingers");
		wait_for_file(value);
		make_file("has ended");
	}
	return 0;
}

/* ---- what is left ---- */

static void begin(void)
{
	static const char *const ranks[] = { "PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "RANK", "SLURM_PROCID" };

	ck_assert_int_eq(chdir(check_directory_path), 0);
	ck_assert(system("rm -rf ./*") == 0);
	for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
		unsetenv(ranks[i]);
	unsetenv("EPPROF_OUTPUT");
	unsetenv("EPPROF_POLICY");
	unsetenv("EPPROF_PROFILERS");
	unsetenv("EPPROF_FROM_NS");
	unsetenv("EPPROF_UNTIL_NS");
	unsetenv("EPPROF_ONLY_PID");
	unsetenv("EPPROF_RANKS");
	unsetenv("EPPROF_START_PAUSED");
	unsetenv("EPPROF_INCLUDE");
	unsetenv("EPPROF_EXCLUDE");
	unsetenv("EPPROF_SCHEDULE");
	unsetenv("EPPROF_STEP");
	unsetenv("EPPROF_MAX_OVERHEAD");
}

/* The number of entries in the folder whose names begin with a text. */
static unsigned entries_count(const char *begins)
{
	DIR *folder = opendir(".");
	unsigned count = 0;

	for (struct dirent *entry; (entry = readdir(folder));)
		count += entry->d_name[0] != '.' && strncmp(entry->d_name, begins, strlen(begins)) == 0;
	closedir(folder);
	return count;
}

/* The trace is finished, and has the events of so many processes and no others. */
static void expect_work(const char *path, unsigned processes_count)
{
	struct command run = command_run(NULL, "summary", "--format", "json", path, NULL);

	ck_assert_msg(run.code == 0, "%s", run.err);
	struct json *summary = json_expect(run.out, run.out_bytes);
	command_free(&run);
	ck_assert_str_eq(json_text(summary, "state"), "finished");
	const struct json *ops = json_get(summary, "ops");
	ck_assert_uint_eq(ops->count, 1);
	ck_assert_str_eq(json_text(&ops->items[0], "name"), "work");
	ck_assert_int_eq(json_thousandths(&ops->items[0], "count") / 1000, EVENTS_COUNT * processes_count);
	json_free(summary);
}

/* As expect_work; the trace is also valid, and nothing was lost. */
static void expect_trace(const char *path, unsigned processes_count)
{
	struct command run = command_run(NULL, "validate", "--strict", path, NULL);

	ck_assert_msg(run.code == 0, "%s%s", run.out, run.err);
	command_free(&run);
	expect_work(path, processes_count);
}

/* What the filter left out is counted, and the accounts add up. */
static void expect_left_out(const char *path, const char *count)
{
	struct command run = command_run(NULL, "info", path, NULL);

	ck_assert_msg(run.code == 0 && strstr(run.out, count), "%s%s", run.out, run.err);
	command_free(&run);
	run = command_run(NULL, "validate", path, NULL);
	ck_assert_msg(run.code == 0, "%s%s", run.out, run.err);
	command_free(&run);
	expect_work(path, 1);
}

/* ---- statuses ---- */

START_TEST(a_program_is_recorded_and_summed_up)
{
	struct command run = command_run(NULL, "record", "-o", "a.epp", "--", self, "print", "HOME", NULL);

	ck_assert_msg(run.code == 0, "%s", run.err);
	/* Standard output is the program's alone. */
	ck_assert_int_eq(strncmp(run.out, getenv("HOME"), strlen(getenv("HOME"))), 0);
	ck_assert_str_eq(run.out + strlen(getenv("HOME")), "\n");
	ck_assert_ptr_nonnull(strstr(run.err, "a.epp: check_record (pid "));
	ck_assert_ptr_nonnull(strstr(run.err, "  host    1 thread, 5 events"));
	command_free(&run);
	expect_trace("a.epp", 1);
	ck_assert_uint_eq(entries_count(""), 1);
}
END_TEST

START_TEST(the_exit_status_is_passed_on)
{
	static const struct {
		const char *scenario, *value;
		int code;
	} cases[] = { { "exit", "7", 7 }, { "kill", "15", 143 }, { "kill", "9", 137 } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		EXPECT(cases[i].code, "a.epp: check_record", "record", "--force", "-o", "a.epp", self,
		       cases[i].scenario, cases[i].value);
		expect_trace("a.epp", 1);
	}
	ck_assert_uint_eq(entries_count(""), 1);
}
END_TEST

START_TEST(a_program_that_cannot_be_started)
{
	ck_assert(system("echo text >text; mkdir folder") == 0);
	EXPECT(127, "no-such-program: No such file or directory", "record", "no-such-program");
	EXPECT(126, "./text: Permission denied", "record", "./text");
	EXPECT(126, "./folder: Permission denied", "record", "./folder");
	ck_assert_uint_eq(entries_count(""), 2);
}
END_TEST

START_TEST(a_program_without_events_runs_as_it_would)
{
	EXPECT(0, "no trace: true used none of these: libepprof; ", "record", "true");
	EXPECT(0, "", "record", "--quiet", "true");
	EXPECT(1, "no trace: false used none of these: libepprof; ", "record", "false");
	ck_assert_uint_eq(entries_count(""), 0);
}
END_TEST

START_TEST(setuid_programs_are_refused)
{
	if (geteuid() != 0) {
		EXPECT(126, "/su: a setuid or setgid program cannot be recorded", "record", "su", "--version");
		return;
	}
	ck_assert(
	    system("cp /bin/true privileged && chown 65534:65534 privileged && "
	           "cp privileged group && chown 65534:65534 group && chmod 4755 privileged && chmod 2755 group") == 0);
	EXPECT(126, "./privileged: a setuid or setgid program cannot be recorded", "record", "./privileged");
	setenv("PATH", check_directory_path, 1);
	EXPECT(126, "/group: a setuid or setgid program cannot be recorded", "record", "group");
	ck_assert_int_eq(chmod("group", 0755), 0);
	EXPECT(0, "no trace", "record", "group");
}
END_TEST

/* ---- signals ---- */

/* A time range that has not begun when the program is interrupted. */
START_TEST(an_interrupt_before_the_recording)
{
	pid_t pid = command_start("out", "err", "record", "-o", "a.epp", "--delay", "1min", self, "sleep", "is running",
	                          NULL);

	wait_for_file("is running");
	ck_assert_int_eq(kill(pid, SIGINT), 0);
	ck_assert_int_eq(command_wait(pid), 128 + SIGINT);
	size_t bytes;
	char *err = command_file("err", &bytes);
	ck_assert_msg(strstr(err, " ended before the recording began\n"), "%s", err);
	free(err);
	ck_assert_uint_eq(entries_count("a.epp."), 0);
}
END_TEST

static void expect_interrupted(const char *scenario, int signal_number, int code)
{
	pid_t pid = command_start("out", "err", "record", "-o", "a.epp", self, scenario, "is running", NULL);

	wait_for_file("is running");
	ck_assert_int_eq(kill(pid, signal_number), 0);
	ck_assert_int_eq(command_wait(pid), code);
	expect_trace("a.epp", 1);
	size_t bytes;
	char *err = command_file("err", &bytes);
	ck_assert_msg(strstr(err, "By op, on the host"), "%s", err);
	free(err);
	ck_assert(system("rm -rf ./*") == 0);
}

START_TEST(signals_are_passed_on_and_the_trace_is_finished)
{
	expect_interrupted("sleep", SIGINT, 128 + SIGINT);
	expect_interrupted("sleep", SIGTERM, 128 + SIGTERM);
	expect_interrupted("handle", SIGINT, 5);
}
END_TEST

/* ---- processes ---- */

static const char three[] = "\"$0\" exit 0 & \"$0\" kill 9 & \"$0\" exit 0; wait";

START_TEST(processes_are_merged)
{
	EXPECT(0, "By op, on the host", "record", "-o", "a.epp", "--", "sh", "-c", three, self);
	expect_trace("a.epp", 3);
	EXPECT(1, "a.epp: File exists; --force replaces it", "record", "-o", "a.epp", "--", "sh", "-c", three, self);
	EXPECT(0, "By op, on the host", "record", "--force", "-o", "a.epp", "--", "sh", "-c", three, self);
	expect_trace("a.epp", 3);
	ck_assert_uint_eq(entries_count(""), 1);
}
END_TEST

START_TEST(only_the_program_itself)
{
	/* The last process replaces the shell, so that it is the program. */
	static const char last[] = "\"$0\" exit 0; \"$0\" exit 0 & wait; exec \"$0\" exit 6";

	EXPECT(6, "By op, on the host", "record", "--no-follow", "-o", "a.epp", "--", "sh", "-c", last, self);
	expect_trace("a.epp", 1);
	/* Another recording inside follows its own program. */
	EXPECT(0, "By op, on the host", "record", "--no-follow", "--quiet", "-o", "b.epp", "--", CHECK_BUILD "/epprof",
	       "record", "-o", "c.epp", self, "exit", "0");
	expect_trace("c.epp", 1);
}
END_TEST

START_TEST(only_some_ranks)
{
	static const char ranks[] = "RANK=0 \"$0\" exit 0; RANK=1 \"$0\" exit 0; RANK=17 \"$0\" exit 0; \"$0\" exit 0; "
				    "RANK=1 SLURM_PROCID=7 \"$0\" exit 0; PMI_RANK=7 RANK=2 \"$0\" exit 0";

	EXPECT(0, "By op, on the host", "record", "--ranks-to-sample", "0,7", "-o", "a.epp", "--", "sh", "-c", ranks, self);
	expect_trace("a.epp", 2);
	/* The command's own rank is not in the list: it records nothing, and has nothing to print. */
	setenv("PMIX_RANK", "3", 1);
	struct command run = command_run(NULL, "record", "--ranks-to-sample", "0,7", "-o", "b.%rank%.epp", self, "exit",
	                                 "4", NULL);
	ck_assert_int_eq(run.code, 4);
	ck_assert_str_eq(run.err, "");
	command_free(&run);
	EXPECT(4, "By op", "record", "--ranks-to-sample", "3", "-o", "b.%rank%.epp", self, "exit", "4");
	expect_trace("b.3.epp", 1);
	ck_assert_uint_eq(entries_count(""), 2);
}
END_TEST

START_TEST(a_process_that_goes_on_keeps_its_trace)
{
	static const char script[] = "\"$0\" linger 'may end' >out 2>&1 & \"$0\" exit 0; "
				     "until [ -e lingers ]; do sleep 0.01; done";

	EXPECT(0, "is still running", "record", "-o", "a.epp", "--", "sh", "-c", script, self);
	expect_trace("a.epp", 1);
	ck_assert_uint_eq(entries_count("a.epp."), 1);
	make_file("may end");
	wait_for_file("has ended");
	ck_assert(system("until \"$EPPROF\" info a.epp.*/*.epp | grep -q finished; do sleep 0.01; done") == 0);
}
END_TEST

START_TEST(notes_are_printed_once)
{
	struct command run = command_run(NULL, "record", "sh", "-c",
	                                 "printf 'one \\033[1m\\ntwo\\none \\033[1m\\none\\n' >\"$EPPROF_RECORD/notes\"",
	                                 NULL);

	ck_assert_int_eq(run.code, 0);
	ck_assert_int_eq(strncmp(run.err, "epprof: one \xEF\xBF\xBD[1m\nepprof: two\nepprof: one\nepprof: no trace", 52),
	                 0);
	command_free(&run);
	ck_assert_uint_eq(entries_count(""), 0);
}
END_TEST

/* A profile, as the import hooks write it, and one that is none. */
START_TEST(profiles_of_frameworks_are_imported)
{
	static const char script[] = "\"$0\" exit 0; echo '{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"work\", \"pid\": 1, "
				     "\"tid\": 1, \"ts\": 10, \"dur\": 5}]}' >\"$EPPROF_RECORD/PyTorch.1.profile\"";
	static const char junk[] = "\"$0\" exit 0; echo junk >\"$EPPROF_RECORD/PyTorch.1.profile\"";
	static const char cut[] = "\"$0\" exit 0; echo '{\"traceEvents\": [{\"ph\": ' >\"$EPPROF_RECORD/PyTorch.1.profile\"";
	/* Of a framework that was loaded and did nothing. */
	static const char empty[] = "\"$0\" exit 0; echo '{\"traceEvents\": []}' >\"$EPPROF_RECORD/PyTorch.1.profile\"";

	EXPECT(0, "By op", "record", "-o", "a.epp", "--", "sh", "-c", script, self);
	struct command run = command_run(NULL, "summary", "--format", "json", "a.epp", NULL);
	struct json *summary = json_expect(run.out, run.out_bytes);
	command_free(&run);
	int64_t count = 0;
	const struct json *ops = json_get(summary, "ops");
	for (size_t i = 0; i < ops->count; i++)
		count += json_thousandths(&ops->items[i], "count") / 1000;
	ck_assert_int_eq(count, EVENTS_COUNT + 1);
	json_free(summary);
	EXPECT(1, "PyTorch.1.profile: ", "record", "--force", "-o", "a.epp", "--", "sh", "-c", junk, self);
	expect_trace("a.epp", 1);
	ck_assert_uint_eq(entries_count("a.epp."), 1);
	EXPECT(1, "PyTorch.1.profile: ", "record", "--force", "-o", "a.epp", "--", "sh", "-c", cut, self);
	ck_assert_uint_eq(entries_count("a.epp."), 2);
	EXPECT(0, "By op", "record", "--force", "-o", "a.epp", "--", "sh", "-c", empty, self);
	ck_assert_uint_eq(entries_count("a.epp."), 2);
}
END_TEST

START_TEST(a_damaged_trace_is_left)
{
	EXPECT(1, "traces are left in a.epp.", "record", "-o", "a.epp", "--", "sh", "-c",
	       "\"$0\" exit 0; echo junk >$(dirname \"$EPPROF_OUTPUT\")/junk.epp", self);
	expect_trace("a.epp", 1);
	ck_assert_uint_eq(entries_count("a.epp."), 1);
}
END_TEST

/* ---- the output ---- */

START_TEST(placeholders_in_the_name)
{
	char expected[512], host[256];

	ck_assert_int_eq(gethostname(host, sizeof host), 0);
	EXPECT(1, "%rank%: none of PMIX_RANK", "record", "-o", "a.%rank%.epp", self, "exit", "0");
	setenv("RANK", "not a number", 1);
	EXPECT(1, "%rank%: none of PMIX_RANK", "record", "-o", "a.%rank%.epp", self, "exit", "0");
	setenv("SLURM_PROCID", "12", 1);
	EXPECT(0, "By op", "record", "-o", "%hostname% %rank% 5%% %x%.epp", self, "exit", "0");
	snprintf(expected, sizeof expected, "%s 12 5%% %%x%%.epp", host);
	expect_trace(expected, 1);
	setenv("PMI_RANK", "3", 1);
	EXPECT(0, "By op", "record", "-o", "%rank%.epp", self, "exit", "0");
	expect_trace("3.epp", 1);

	pid_t pid = command_start("out", "err", "record", self, "exit", "0", NULL);
	ck_assert_int_eq(command_wait(pid), 0);
	snprintf(expected, sizeof expected, "check_record.%ld.epp", (long)pid);
	expect_trace(expected, 1);
}
END_TEST

START_TEST(a_folder_with_any_name)
{
	ck_assert_int_eq(mkdir("it's \"100%pid%\"", 0700), 0);
	ck_assert_int_eq(chdir("it's \"100%pid%\""), 0);
	EXPECT(0, "By op", "record", "-o", "a.epp", self, "exit", "0");
	expect_trace("a.epp", 1);
	ck_assert_uint_eq(entries_count(""), 1);
}
END_TEST

START_TEST(an_output_that_cannot_be_written)
{
	EXPECT(1, "nowhere/a.epp: No such file or directory", "record", "-o", "nowhere/a.epp", self, "make", "ran");
	ck_assert_uint_eq(entries_count(""), 0);
	/* Somebody else made the file while the program ran. */
	EXPECT(1, "a.epp: File exists; --force replaces it", "record", "-o", "a.epp", self, "make", "a.epp");
	ck_assert_uint_eq(entries_count("a.epp."), 1);
	ck_assert(system("rm -rf a.epp*") == 0);
	EXPECT(1, "a.epp: exists already; --force replaces it", "record", "-o", "a.epp", "--", "sh", "-c",
	       "\"$0\" exit 0; \"$0\" make a.epp", self);
	struct stat st;
	ck_assert_int_eq(stat("a.epp", &st), 0);
	ck_assert_int_eq(st.st_size, 0);
}
END_TEST

/* ---- options ---- */

static void expect_variable(const char *name, const char *value, const char *option, const char *argument)
{
	struct command run = command_run(NULL, "record", "--force", "-o", "a.epp", option, argument, self, "print",
	                                 name, NULL);

	ck_assert_msg(run.code == 0, "%s", run.err);
	ck_assert_str_eq(run.out, value);
	command_free(&run);
}

START_TEST(options_become_variables)
{
	expect_variable("EPPROF_POLICY", "ring:8388608\n", "--max-bytes", "8M");
	expect_variable("EPPROF_POLICY", "stop:64M\n", "--policy", "stop:64M");
	expect_variable("EPPROF_PROFILERS", "one.so:two.so\n", "--profilers", "one.so:two.so");
	setenv("PYTHONPATH", "its own", 1);
	expect_variable("PYTHONPATH", CHECK_BUILD "/python/epprof_record:its own\n", "--profilers", "one.so");
	/* The command itself is preloaded with the library too, so that a sanitized one needs its option. */
	setenv("LD_PRELOAD", PRELOAD, 1);
	setenv("ASAN_OPTIONS", "verify_asan_link_order=0:symbolize=1", 1);
	expect_variable("LD_PRELOAD", PRELOAD ":" PRELOAD "\n", "--profilers", "one.so");
	expect_variable("ASAN_OPTIONS", "verify_asan_link_order=0:verify_asan_link_order=0:symbolize=1\n",
	                "--profilers", "one.so");
	unsetenv("LD_PRELOAD");
	expect_variable("LD_PRELOAD", PRELOAD "\n", "--profilers", "one.so");
	setenv("EPPROF_POLICY", "ring:16M", 1);
	expect_variable("EPPROF_POLICY", "ring:16M\n", "--profilers", "one.so");
	setenv("EPPROF_OUTPUT", "elsewhere.epp", 1);
	EXPECT(0, "By op", "record", "--force", "-o", "a.epp", self, "exit", "0");
	ck_assert_uint_eq(entries_count("elsewhere"), 0);
}
END_TEST

START_TEST(a_time_range)
{
	/* The program runs on after the end, and what it does then is not recorded. */
	EXPECT(3, "By op", "record", "-o", "a.epp", "--duration", "1s", self, "until the end", "3");
	expect_trace("a.epp", 1);
	EXPECT(0, "By op", "record", "-o", "b.epp", "--delay", "0", "--duration", "1min", self, "exit", "0");
	expect_trace("b.epp", 1);
	EXPECT(5, " ended before the recording began\n", "record", "-o", "c.epp", "--delay", "1min", self, "exit", "5");
	EXPECT(0, "sh ended before the recording began\n", "record", "-o", "d.epp", "--delay", "1min", "sh", "-c", ":");
	ck_assert_uint_eq(entries_count("d.epp"), 0);
	EXPECT(0, "no trace: true used none of these in the time range: ", "record", "--duration", "1min", "true");
	expect_variable("EPPROF_FROM_NS", "not set\n", "--duration", "1min");
	expect_variable("EPPROF_UNTIL_NS", "not set\n", "--delay", "0");
}
END_TEST

START_TEST(a_recording_that_begins_paused)
{
	setenv("EPPROF_CONTROL", check_directory_path, 1);
	EXPECT(0, "1 session resumed", "record", "-o", "a.epp", "--start-paused", self, "resume", "it");
	expect_trace("a.epp", 1);
	/* Nobody resumes it. */
	EXPECT(4, "check_record ended before the recording began\n", "record", "-o", "b.epp", "--start-paused", self,
	       "exit", "4");
	EXPECT(0, "true ended before the recording began\n", "record", "-o", "c.epp", "--start-paused", "true");
	expect_variable("EPPROF_START_PAUSED", "not set\n", "--delay", "0");
	setenv("EPPROF_CONTROL", "0", 1);
	EXPECT(2, "--start-paused: EPPROF_CONTROL=0 turns 'epprof ctl' off", "record", "--start-paused", "true");
	EXPECT(2, "exclude each other", "record", "--start-paused", "--delay", "1s", "true");
}
END_TEST

START_TEST(events_are_selected_by_name)
{
	EXPECT(0, "By op", "record", "-o", "a.epp", "--include", "work", self, "names", "other");
	expect_left_out("a.epp", "9 filter");
	/* The options replace what the variable has. */
	setenv("EPPROF_EXCLUDE", "*", 1);
	EXPECT(0, "By op", "record", "-o", "b.epp", "--exclude", "left*", "--exclude", "also*;other", self, "names",
	       "other");
	expect_left_out("b.epp", "9 filter");
}
END_TEST

/* The program records 5 other events and then `work` 4 times more than it may. */
START_TEST(steps_are_selected_by_a_schedule)
{
	char active[16];

	snprintf(active, sizeof active, "%d", EVENTS_COUNT);
	EXPECT(0, "By op", "record", "-o", "a.epp", "--active", active, "--step", "work", "--repeat", "1", "--exclude",
	       "*left out", self, "names", "work");
	expect_left_out("a.epp", "9 filter");
	/* The options replace what the variables have. */
	setenv("EPPROF_SCHEDULE", "active=1000", 1);
	setenv("EPPROF_STEP", "left out", 1);
	expect_variable("EPPROF_SCHEDULE", "skip=0,warmup=2,active=3,repeat=0\n", "--active=3", "--warmup=2");
	expect_variable("EPPROF_STEP", "not set\n", "--active", "3");
	expect_variable("EPPROF_STEP", "left out\n", "--delay", "0");
	EXPECT(2, "--skip, --warmup, --repeat and --step need --active", "record", "--step", "a", "true");
	EXPECT(2, "--active '0': too small", "record", "--active", "0", "true");
	EXPECT(2, "--skip '-1': too small", "record", "--skip", "-1", "true");
	EXPECT(2, "--repeat '2x': invalid", "record", "--repeat", "2x", "true");
}
END_TEST

START_TEST(a_budget_for_overhead)
{
	setenv("EPPROF_SCHEDULE", "active=1000", 1);
	setenv("EPPROF_STEP", "left out", 1);
	expect_variable("EPPROF_MAX_OVERHEAD", "0.5%\n", "--max-overhead=0.5%", "--delay=0s");
	expect_variable("EPPROF_SCHEDULE", "not set\n", "--max-overhead=1%", "--delay=0s");
	expect_variable("EPPROF_STEP", "not set\n", "--max-overhead=1%", "--delay=0s");
	expect_variable("EPPROF_STEP", "work\n", "--max-overhead=1%", "--step=work");
	setenv("EPPROF_MAX_OVERHEAD", "2%", 1);
	expect_variable("EPPROF_MAX_OVERHEAD", "not set\n", "--active=1", "--skip=1");
	EXPECT(2, "--active and --max-overhead exclude each other", "record", "--active", "1", "--max-overhead", "1%",
	       "true");
	static const char *const wrong[] = { "1", "0%", "-1%", "51%", "%", "x%", "nan%", "1%%" };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		EXPECT(2, "must be of the form 1%", "record", "--max-overhead", wrong[i], "true");
}
END_TEST

/* The program records until the estimate is there. */
static void expect_estimate(const char *option, const char *value, const char *text)
{
	pid_t pid = command_start("out", "err", "record", "--force", "-o", "a.epp", option, value, self,
	                          "until printed", " an hour", NULL);

	ck_assert_int_eq(command_wait(pid), 0);
	ck_assert(has_printed("err", " events a second, about "));
	ck_assert_msg(has_printed("err", text), "no '%s'", text);
}

START_TEST(size_and_cost_are_estimated)
{
	setenv("EPPROF_CONTROL", check_directory_path, 1);
	expect_estimate("--max-bytes", "8M", " % of a processor; the ring of 8.0 MiB a process holds about the last ");
	expect_estimate("--policy", "stream", " % of a processor\n");
	EXPECT(0, "", "record", "--quiet", "--force", "-o", "a.epp", "--duration", "1500ms", self, "until the end", "0");
}
END_TEST

START_TEST(mistakes_on_the_command_line)
{
	EXPECT(2, "--ranks-to-sample '0,': must be numbers", "record", "--ranks-to-sample", "0,", "true");
	EXPECT(2, "--ranks-to-sample '': must be numbers", "record", "--ranks-to-sample", "", "true");
	EXPECT(2, "--ranks-to-sample '1-3': must be numbers", "record", "--ranks-to-sample", "1-3", "true");
	EXPECT(2, "--ranks-to-sample '1,99999999999999999999'", "record", "--ranks-to-sample", "1,99999999999999999999",
	       "true");
	EXPECT(2, "--duration '0': must be more than 0", "record", "--duration", "0", "true");
	EXPECT(2, "--delay '-1s': must be at least 0", "record", "--delay", "-1s", "true");
	EXPECT(2, "--delay '2': must be a number and a unit", "record", "--delay", "2", "true");
	EXPECT(2, "--duration '1e9s': must be more than 0 and at most a year", "record", "--duration", "1e9s", "true");
	EXPECT(2, "which program?", "record", "-o", "a.epp");
	EXPECT(2, "cannot be written to standard output", "record", "-o", "-", "true");
	EXPECT(2, "--policy 'rong:4M': must be stream, ring:64M or stop:64M", "record", "--policy", "rong:4M", "true");
	EXPECT(2, "a ring has at least 4M", "record", "--policy", "ring:3M", "true");
	EXPECT(2, "a ring has at least 4M", "record", "--max-bytes", "1M", "true");
	EXPECT(2, "must be a number and a unit", "record", "--policy", "stop:many", "true");
	EXPECT(2, "at least 1M", "record", "--policy", "stop:2K", "true");
	/* Options after the program are the program's. */
	EXPECT(7, "By op", "record", "-o", "a.epp", "sh", "-c", "\"$0\" exit 7", self, "--force");
}
END_TEST

START_TEST(a_report_is_written_beside_the_trace)
{
	EXPECT(0, "By op", "record", "--report", "-o", "a.epp", self, "exit", "0");
	EXPECT(0, "", "record", "--quiet", "--force", "-o", "b.epp", self, "exit", "0");
	size_t bytes;
	char *report = command_file("a.html", &bytes);
	ck_assert_ptr_nonnull(strstr(report, "<html"));
	free(report);
	ck_assert_uint_eq(entries_count(""), 3);
}
END_TEST

static Suite *record_suite(void)
{
	Suite *suite = suite_create("record");
	TCase *tests = tcase_create("record");

	tcase_add_checked_fixture(tests, begin, NULL);
	tcase_add_test(tests, a_program_is_recorded_and_summed_up);
	tcase_add_test(tests, the_exit_status_is_passed_on);
	tcase_add_test(tests, a_program_that_cannot_be_started);
	tcase_add_test(tests, a_program_without_events_runs_as_it_would);
	tcase_add_test(tests, setuid_programs_are_refused);
	tcase_add_test(tests, signals_are_passed_on_and_the_trace_is_finished);
	tcase_add_test(tests, an_interrupt_before_the_recording);
	tcase_add_test(tests, processes_are_merged);
	tcase_add_test(tests, only_the_program_itself);
	tcase_add_test(tests, only_some_ranks);
	tcase_add_test(tests, a_process_that_goes_on_keeps_its_trace);
	tcase_add_test(tests, notes_are_printed_once);
	tcase_add_test(tests, profiles_of_frameworks_are_imported);
	tcase_add_test(tests, a_damaged_trace_is_left);
	tcase_add_test(tests, placeholders_in_the_name);
	tcase_add_test(tests, a_folder_with_any_name);
	tcase_add_test(tests, an_output_that_cannot_be_written);
	tcase_add_test(tests, options_become_variables);
	tcase_add_test(tests, a_time_range);
	tcase_add_test(tests, a_recording_that_begins_paused);
	tcase_add_test(tests, events_are_selected_by_name);
	tcase_add_test(tests, steps_are_selected_by_a_schedule);
	tcase_add_test(tests, a_budget_for_overhead);
	tcase_add_test(tests, size_and_cost_are_estimated);
	tcase_add_test(tests, mistakes_on_the_command_line);
	tcase_add_test(tests, a_report_is_written_beside_the_trace);
	suite_add_tcase(suite, tests);
	return suite;
}

int main(int argc, char **argv)
{
	if (argc == 3)
		return program(argv + 1);
	ssize_t bytes = readlink("/proc/self/exe", self, sizeof self - 1);
	if (bytes < 0)
		return EXIT_FAILURE;
	setenv("EPPROF", CHECK_BUILD "/epprof", 1);
	setenv("CK_DEFAULT_TIMEOUT", "120", 0);
	return check_main(record_suite);
}

/* epprof ctl with programs on libepprof: list, status, pause, resume and stop from the command to the trace.  This
 * program runs itself as the one that is controlled: it records an event each time a file `more` appears, and ends when
 * there is a file `end`. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "epprof/epprof.h"
#include "tests/support/command_expect.h"
#include "tests/support/strict_json.h"

static char self[512];

/* ---- the recorded program ---- */

static void make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	if (fd >= 0)
		close(fd);
}

static int program(void)
{
	epp_name work = epp_name_intern("work");

	for (int i = 0; i < 60000 && access("end", F_OK) != 0; i++) {
		if (unlink("more") == 0) {
			epp_event_end(NULL, epp_event_begin(NULL, EPP_NODE, work), NULL, 0);
			make_file("done");
		}
		usleep(1000);
	}
	return 0;
}

static void wait_for_file(const char *path)
{
	for (int i = 0; i < 20000 && access(path, F_OK) != 0; i++)
		usleep(1000);
	ck_assert_msg(access(path, F_OK) == 0, "%s", path);
}

/* Lets the program record an event, unless it is paused. */
static void more(void)
{
	make_file("more");
	wait_for_file("done");
	unlink("done");
}

static pid_t start(void)
{
	unlink("end");
	pid_t pid = fork();
	if (pid == 0) {
		setenv("EPPROF_OUTPUT", "run.epp", 1);
		execl(self, self, "program", NULL);
		_exit(127);
	}
	more();
	return pid;
}

static void end(pid_t pid)
{
	int status;

	make_file("end");
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

/* ---- checks ---- */

static void begin(void)
{
	ck_assert_int_eq(chdir(check_directory_path), 0);
	ck_assert(system("rm -rf ./*") == 0);
	ck_assert_int_eq(mkdir("sockets", 0700), 0);
	/* Those of other processes of this user are not listed. */
	setenv("EPPROF_CONTROL", check_path("sockets"), 1);
	setenv("XDG_RUNTIME_DIR", check_path("sockets"), 1);
}

static struct json *run_json(const char *action, const char *pid)
{
	struct command run = command_run(NULL, "ctl", action, "--format", "json", pid, NULL);
	ck_assert_msg(run.code == 0, "%s", run.err);
	struct json *json = json_expect(run.out, run.out_bytes);
	command_free(&run);
	return json;
}

/* The process with this pid; others may be recording on this machine. */
static const struct json *find_process(const struct json *json, pid_t pid)
{
	const struct json *processes = json_get(json, "processes");
	for (size_t i = 0; i < processes->count; i++)
		if (json_thousandths(&processes->items[i], "pid") / 1000 == pid)
			return &processes->items[i];
	return NULL;
}

static void expect_session(const char *pid_text, const char *state, int events)
{
	struct json *json = run_json("status", pid_text);
	const struct json *process = find_process(json, (pid_t)strtol(pid_text, NULL, 10));

	ck_assert_ptr_nonnull(process);
	ck_assert_str_eq(json_text(process, "program"), "check_ctl");
	const struct json *sessions = json_get(process, "sessions");
	ck_assert_uint_eq(sessions->count, 1);
	ck_assert_str_eq(json_text(&sessions->items[0], "state"), state);
	ck_assert_str_eq(json_text(&sessions->items[0], "output"), "run.epp");
	ck_assert_int_eq(json_thousandths(&sessions->items[0], "events") / 1000, events);
	json_free(json);
}

static void expect_events(int events)
{
	char count[32];
	struct command run = command_run(NULL, "validate", "--strict", "run.epp", NULL);

	ck_assert_msg(run.code == 0, "%s%s", run.out, run.err);
	command_free(&run);
	run = command_run(NULL, "info", "run.epp", NULL);
	snprintf(count, sizeof count, "%d", events);
	ck_assert_msg(run.code == 0 && strstr(run.out, "finished"), "%s%s", run.out, run.err);
	command_free(&run);
	run = command_run(NULL, "sql", "--format", "csv", "run.epp", "SELECT count(*) FROM events", NULL);
	ck_assert_msg(run.code == 0 && strstr(run.out, count), "%s%s", run.out, run.err);
	command_free(&run);
}

#define EXPECT_OUT(text, ...) \
	do { \
		struct command run_ = command_run(NULL, "ctl", __VA_ARGS__, NULL); \
		ck_assert_msg(run_.code == 0 && strstr(run_.out, text), "status %d: %s%s", run_.code, run_.out, run_.err); \
		command_free(&run_); \
	} while (0)

START_TEST(from_list_to_stop)
{
	char pid[16];
	pid_t process = start();

	snprintf(pid, sizeof pid, "%d", (int)process);
	EXPECT_OUT(pid, "list");
	EXPECT_OUT("check_ctl", "list");
	expect_session(pid, "recording", 1);
	EXPECT_OUT("1 session paused", "pause", pid);
	more();
	expect_session(pid, "paused", 1);
	EXPECT(1, "no session records", "ctl", "pause", pid);
	EXPECT_OUT("1 session resumed", "resume", pid);
	more();
	expect_session(pid, "recording", 2);
	EXPECT_OUT("1 session finished", "stop", pid);
	/* The trace is complete while the program goes on. */
	expect_events(2);
	more();
	expect_session(pid, "stopped", 2);
	end(process);
	expect_events(2);
	EXPECT(1, "cannot be controlled", "ctl", "status", pid);
}
END_TEST

START_TEST(the_only_process_needs_no_pid)
{
	EXPECT(1, "no process that can be controlled is recording", "ctl", "status");
	EXPECT(0, "no process that can be controlled is recording", "ctl", "list");
	pid_t process = start();
	struct command run = command_run(NULL, "ctl", "status", NULL);
	ck_assert_msg(run.code == 0, "%s", run.err);
	ck_assert_msg(strstr(run.out, "a second") && strstr(run.out, "recording") && strstr(run.out, "none") &&
	                  strstr(run.out, "run.epp"),
	              "%s", run.out);
	command_free(&run);
	/* A folder of one's own hides the programs of all other folders. */
	ck_assert_int_eq(mkdir("others", 0700), 0);
	setenv("EPPROF_CONTROL", check_path("others"), 1);
	EXPECT(1, "no process that can be controlled is recording", "ctl", "status");
	end(process);
}
END_TEST

START_TEST(a_killed_process_leaves_no_socket)
{
	char pid[16], socket[64];
	pid_t process = start();

	snprintf(pid, sizeof pid, "%d", (int)process);
	snprintf(socket, sizeof socket, "sockets/epprof-%s.sock", pid);
	ck_assert_int_eq(access(socket, F_OK), 0);
	kill(process, SIGKILL);
	waitpid(process, NULL, 0);
	ck_assert_int_eq(access(socket, F_OK), 0);
	/* A file with such a name that is no socket stays. */
	make_file("sockets/epprof-1.sock");
	struct json *json = run_json("list", NULL);
	ck_assert_ptr_null(find_process(json, process));
	json_free(json);
	ck_assert_int_ne(access(socket, F_OK), 0);
	ck_assert_int_eq(access("sockets/epprof-1.sock", F_OK), 0);
}
END_TEST

static void expect_snapshot(const char *path, int events)
{
	struct command run = command_run(NULL, "sql", "--format", "csv", path, "SELECT count(*) FROM events", NULL);
	char count[32];
	struct stat st;

	snprintf(count, sizeof count, "%d", events);
	ck_assert_msg(run.code == 0 && strstr(run.out, count), "%s%s", run.out, run.err);
	command_free(&run);
	run = command_run(NULL, "validate", "--strict", path, NULL);
	ck_assert_msg(run.code == 0, "%s%s", run.out, run.err);
	command_free(&run);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
}

START_TEST(snapshots_of_a_ring)
{
	char pid[16];

	setenv("EPPROF_POLICY", "ring:4M", 1);
	pid_t process = start();
	unsetenv("EPPROF_POLICY");
	snprintf(pid, sizeof pid, "%d", (int)process);
	/* The command may be in another folder than the program. */
	ck_assert_int_eq(mkdir("elsewhere", 0700), 0);
	more();
	EXPECT_OUT("snapshot.epp", "snapshot", "-o", "snapshot.epp", pid);
	expect_snapshot("snapshot.epp", 2);
	EXPECT(1, "--force replaces it", "ctl", "snapshot", "-o", "snapshot.epp", pid);
	/* The recording goes on. */
	more();
	ck_assert_int_eq(chdir("elsewhere"), 0);
	EXPECT_OUT("snapshot.epp", "snapshot", "--force", "--last", "1min", "-o", "../snapshot.epp", pid);
	ck_assert_int_eq(chdir(".."), 0);
	expect_snapshot("snapshot.epp", 3);
	expect_session(pid, "recording", 3);
	ck_assert_int_eq(symlink("other.epp", "link.epp"), 0);
	EXPECT(1, "link.epp", "ctl", "snapshot", "--force", "-o", "link.epp", pid);
	ck_assert_int_ne(access("other.epp", F_OK), 0);
	EXPECT(1, "a session is writing to it", "ctl", "snapshot", "--force", "-o", "run.epp", pid);
	EXPECT(1, "no such session", "ctl", "snapshot", "--session", "9", "-o", "a.epp", pid);
	EXPECT_OUT("1 session finished", "stop", pid);
	EXPECT(1, "no process is recording it", "ctl", "snapshot", "-o", "a.epp", pid);
	end(process);
	expect_events(3);
}
END_TEST

/* A program under epprof record can be controlled. */
START_TEST(a_recorded_program)
{
	char *folder = strdup(check_path("sockets")), text[16] = "";

	unsetenv("EPPROF_CONTROL");
	pid_t process = command_start("out", "err", "record", "-o", "recorded.epp", self, "program", NULL);
	more();
	struct command run = command_run(NULL, "ctl", "list", NULL);
	const char *line = strstr(run.out, "check_ctl");
	ck_assert_msg(line != NULL, "%s%s", run.out, run.err);
	while (line > run.out && line[-1] != '\n')
		line--;
	ck_assert_int_eq(sscanf(line, "%15s", text), 1);
	command_free(&run);
	EXPECT_OUT("1 session paused", "pause", text);
	more();
	make_file("end");
	ck_assert_int_eq(command_wait(process), 0);
	free(folder);
}
END_TEST

START_TEST(command_lines)
{
	EXPECT(2, "which action", "ctl");
	EXPECT(2, "did you mean 'status'?", "ctl", "statsu");
	EXPECT(2, "unknown action 'remove'", "ctl", "remove");
	EXPECT(2, "'5' is unexpected", "ctl", "list", "5");
	EXPECT(2, "'x' is no process id", "ctl", "stop", "x");
	EXPECT(2, "'6' is unexpected", "ctl", "stop", "5", "6");
	EXPECT(2, "must be one of", "ctl", "list", "--format", "xml");
	EXPECT(2, "which file?", "ctl", "snapshot", "5");
	EXPECT(2, "standard output", "ctl", "snapshot", "-o", "-", "5");
	EXPECT(2, "negative", "ctl", "snapshot", "--last", "-1s", "-o", "a.epp");
	EXPECT(1, "process 1 cannot be controlled", "ctl", "pause", "1");
}
END_TEST

static Suite *ctl_suite(void)
{
	Suite *suite = suite_create("ctl");
	TCase *tcase = tcase_create("ctl");

	tcase_add_checked_fixture(tcase, begin, NULL);
	tcase_add_test(tcase, from_list_to_stop);
	tcase_add_test(tcase, the_only_process_needs_no_pid);
	tcase_add_test(tcase, a_killed_process_leaves_no_socket);
	tcase_add_test(tcase, snapshots_of_a_ring);
	tcase_add_test(tcase, a_recorded_program);
	tcase_add_test(tcase, command_lines);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return program();
	if (!realpath(argv[0], self))
		return EXIT_FAILURE;
	setenv("CK_DEFAULT_TIMEOUT", "120", 0);
	return check_main(ctl_suite);
}

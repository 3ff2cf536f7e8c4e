/* The control socket of a recording process: who gets one, who is answered, clients that misbehave, and what pause,
 * resume and stop do to sessions: runtime/control/, runtime/record/control/, session_pause and its kin in
 * runtime/record/run.c. */
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/emulated.h"
#include "tests/support/forking.h"
#include "tests/support/recording.h"

/* By default ThreadSanitizer ends the forked child of a process with several threads when it starts a thread. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "die_after_fork=0";
}

#define NOBODY 65534

static const char *socket_path(pid_t pid)
{
	return check_path("epprof-%d.sock", (int)pid);
}

static bool has_socket(void)
{
	return access(socket_path(getpid()), F_OK) == 0;
}

/* Connects to a path; -1: refused. */
static int connect_path(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int connect_to(pid_t pid)
{
	int fd = connect_path(socket_path(pid));
	ck_assert_int_ge(fd, 0);
	return fd;
}

/* Reads to the end of the stream, and closes it. The text is valid until the next call. */
static const char *receive(int fd)
{
	static char text[65536];
	size_t used = 0;
	for (ssize_t bytes; (bytes = read(fd, text + used, sizeof(text) - 1 - used)) > 0;)
		used += (size_t)bytes;
	text[used] = '\0';
	close(fd);
	return text;
}

static const char *ask_of(pid_t pid, const char *request)
{
	int fd = connect_to(pid);
	ck_assert_int_eq(dprintf(fd, "%s\n", request), (int)strlen(request) + 1);
	return receive(fd);
}

static const char *ask(const char *request)
{
	return ask_of(getpid(), request);
}

static void expect_in(const char *answer, const char *text)
{
	ck_assert_msg(strstr(answer, text) != NULL, "'%s' is not in '%s'", text, answer);
}

static void record(epp_session *session, int count)
{
	for (int i = 0; i < count; i++)
		epp_event_end(session, epp_event_begin_text(session, EPP_NODE, "work"), NULL, 0);
}

static unsigned descriptors_count(void)
{
	unsigned count = 0;
	DIR *folder = opendir("/proc/self/fd");
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

static void turn_on(void)
{
	setenv("EPPROF_CONTROL", check_directory_path, 1);
}

/* ---- who gets a socket ---- */

static void expect_none(const char *setting)
{
	setenv("EPPROF_CONTROL", setting, 1);
	unsigned before = descriptors_count();
	epp_session *session = recording_start(NULL);
	ck_assert_uint_eq(descriptors_count(), before);
	ck_assert(!has_socket());
	recording_end(session);
	epp_session_destroy(session);
}

START_TEST(nothing_is_created_without_the_variable)
{
	unsetenv("EPPROF_CONTROL");
	unsigned before = descriptors_count();
	epp_session *session = recording_start(NULL);
	ck_assert_uint_eq(descriptors_count(), before);
	ck_assert(!has_socket());
	epp_session_destroy(session);
	expect_none("0");
	expect_none("");
	expect_none("yes");
}
END_TEST

START_TEST(a_folder_that_others_can_use_is_refused)
{
	char *open = check_path("open"), *link = check_path("link"), *file = check_path("file");
	ck_assert_int_eq(mkdir(open, 0700), 0);
	ck_assert_int_eq(symlink(open, link), 0);
	FILE *made = fopen(file, "w");
	fclose(made);
	expect_none(link);
	expect_none(file);
	expect_none(check_path("missing"));
	ck_assert_int_eq(chmod(open, 0750), 0);
	expect_none(open);
	ck_assert_int_eq(chmod(open, 0700), 0);
	if (geteuid() == 0 && !emulated_without("there is one user")) {
		ck_assert_int_eq(chown(open, NOBODY, NOBODY), 0);
		expect_none(open);
	}
}
END_TEST

START_TEST(the_socket_is_the_users_alone)
{
	struct stat st;
	turn_on();
	umask(0);
	epp_session *session = recording_start(NULL);
	ck_assert_int_eq(lstat(socket_path(getpid()), &st), 0);
	ck_assert(S_ISSOCK(st.st_mode));
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
	/* Sessions share it. */
	unsigned before = descriptors_count();
	epp_session *second = recording_start(NULL);
	ck_assert_uint_eq(descriptors_count(), before);
	const char *answer = ask("status");
	expect_in(answer, "session=1\t");
	expect_in(answer, "session=2\t");
	epp_session_destroy(second);
	ck_assert_ptr_null(strstr(ask("status"), "session=2\t"));
	epp_session_destroy(session);
}
END_TEST

START_TEST(the_runtime_folder_is_the_default)
{
	setenv("EPPROF_CONTROL", "1", 1);
	setenv("XDG_RUNTIME_DIR", check_directory_path, 1);
	epp_session *session = recording_start(NULL);
	expect_in(ask("status"), "state=recording");
	epp_session_destroy(session);
}
END_TEST

START_TEST(a_stale_socket_is_replaced)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	turn_on();
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", socket_path(getpid()));
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
	epp_session *session = recording_start(NULL);
	expect_in(ask("status"), "ok\tpid=");
	epp_session_destroy(session);
}
END_TEST

START_TEST(a_fork_has_its_own_socket)
{
	turn_on();
	epp_session *session = recording_start(NULL);
	int ready[2];
	ck_assert_int_eq(pipe(ready), 0);
	pid_t child = forking_fork(true);
	if (child == 0) {
		/* The parent's socket is not the child's. */
		bool has_none = !has_socket();
		epp_session *own = recording_start(NULL);
		record(own, 7);
		has_none = write(ready[1], has_none ? "y" : "n", 1) == 1 && has_none;
		pause();
		_exit(1);
	}
	char had_none;
	ck_assert_int_eq(read(ready[0], &had_none, 1), 1);
	ck_assert_int_eq(had_none, 'y');
	expect_in(ask_of(child, "status"), "events=7\t");
	record(session, 3);
	expect_in(ask("status"), "events=3\t");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	/* The child had no copy of the parent's socket, nor the parent one of the child's. */
	ck_assert_int_eq(connect_path(socket_path(child)), -1);
	epp_session_destroy(session);
}
END_TEST

START_TEST(an_exit_removes_the_socket)
{
	turn_on();
	pid_t child = forking_fork(false);
	if (child == 0) {
		recording_start(NULL);
		exit(has_socket() ? 0 : 1);
	}
	int status;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_int_ne(access(socket_path(child), F_OK), 0);
}
END_TEST

/* ---- clients ---- */

START_TEST(clients_that_misbehave)
{
	turn_on();
	epp_session *session = recording_start(NULL);
	unsigned before = descriptors_count();
	static char large[1 << 20];
	memset(large, 'a', sizeof(large));

	expect_in(ask("\x01\xff garbage"), "error\t");
	expect_in(ask(""), "error\t");
	int half = connect_to(getpid());
	ck_assert_int_eq(write(half, "stat", 4), 4);
	close(half);
	int gone = connect_to(getpid());
	ck_assert_int_eq(write(gone, "status\n", 7), 7);
	close(gone);
	int long_line = connect_to(getpid());
	for (size_t sent = 0; sent < sizeof(large);) {
		ssize_t bytes = send(long_line, large + sent, sizeof(large) - sent, MSG_NOSIGNAL);
		if (bytes <= 0)
			break;
		sent += (size_t)bytes;
	}
	ck_assert_str_eq(receive(long_line), "");
	/* One client sends nothing: it is dropped, and the next one is answered. */
	int silent = connect_to(getpid());
	expect_in(ask("status"), "state=recording");
	ck_assert_str_eq(receive(silent), "");
	ck_assert_uint_eq(descriptors_count(), before);
	record(session, 4);
	expect_in(ask("status"), "events=4\t");
	recording_end(session);
	epp_session_destroy(session);
}
END_TEST

START_TEST(other_users_are_not_answered)
{
	if (geteuid() != 0) {
		printf("other_users_are_not_answered needs root\n");
		return;
	}
	turn_on();
	epp_session *session = recording_start(NULL);
	/* Not even if the permissions of folder and socket let them connect. */
	ck_assert_int_eq(chmod(check_directory_path, 0755), 0);
	ck_assert_int_eq(chmod(socket_path(getpid()), 0777), 0);
	pid_t process = getpid(), child = forking_fork(true);
	if (child == 0) {
		char text[64];
		int fd = setgid(NOBODY) == 0 && setuid(NOBODY) == 0 ? connect_path(socket_path(process)) : -1;
		if (fd < 0)
			_exit(2);
		ssize_t sent = send(fd, "pause\n", 6, MSG_NOSIGNAL);
		(void)sent; /* the process may have closed the connection already */
		_exit(read(fd, text, sizeof(text)) > 0);
	}
	int status;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(chmod(check_directory_path, 0700), 0);
	ck_assert_int_eq(status, 0);
	expect_in(ask("status"), "state=recording");
	epp_session_destroy(session);
}
END_TEST

/* ---- what requests do ---- */

static void expect_finished(const char *path, uint64_t events)
{
	struct trace_scan *scan = trace_scan_file(path);
	const char *wrong = scan_balance(scan);
	ck_assert_msg(!wrong, "%s", wrong);
	ck_assert_uint_eq(scan->header.state, EPF_FINISHED);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, 0), events);
	trace_scan_free(scan);
}

START_TEST(pause_resume_stop)
{
	char *path = strdup(check_path("a\tb.epp"));
	turn_on();
	epp_session *session = recording_start(path);
	record(session, 3);
	const char *answer = ask("status");
	expect_in(answer, "state=recording\t");
	expect_in(answer, "events=3\tlost=0,0,");
	expect_in(answer, "/a?b.epp\n");
	expect_in(ask("resume"), "error\tno session is paused\n");

	ck_assert_str_eq(ask("pause"), "ok\tsessions=1\n");
	expect_in(ask("status"), "state=paused\t");
	expect_in(ask("pause"), "error\tno session records\n");
	/* A paused session costs what an idle one does. */
	ck_assert(!EPPROF_ENABLED());
	ck_assert_uint_eq(epp_event_begin_text(session, EPP_NODE, "paused"), 0);
	ck_assert_str_eq(ask("resume"), "ok\tsessions=1\n");
	record(session, 2);
	expect_in(ask("status"), "events=5\t");

	ck_assert_str_eq(ask("stop"), "ok\tsessions=1\n");
	expect_finished(path, 5);
	expect_in(ask("status"), "state=stopped\t");
	expect_in(ask("resume"), "error\t");
	/* The program goes on as if nothing had happened. */
	record(session, 1);
	check_ok(epp_session_end(session));
	check_ok(epp_session_wait(session, UINT64_MAX));
	check_ok(epp_session_start(session));
	record(session, 1);
	ck_assert_str_eq(ask("stop"), "ok\tsessions=1\n");
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_NO_BUFFER), 0);
	epp_session_destroy(session);
	expect_finished(path, 5);
	expect_in(ask("stop"), "error\tthere is no session\n");
	free(path);
}
END_TEST

START_TEST(events_that_are_open_at_a_pause)
{
	char *path = check_path("open.epp");
	turn_on();
	epp_session *session = recording_start(path);
	uint64_t open = epp_event_begin_text(session, EPP_NODE, "open");
	ck_assert_str_eq(ask("pause"), "ok\tsessions=1\n");
	ck_assert_str_eq(ask("resume"), "ok\tsessions=1\n");
	epp_event_end(session, open, NULL, 0);
	record(session, 1);
	recording_end(session);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_AFTER_END), 1);
	epp_session_destroy(session);
	expect_finished(path, 2);
}
END_TEST

START_TEST(the_owner_ends_a_pause)
{
	turn_on();
	epp_session *session = recording_start(NULL);
	ck_assert_str_eq(ask("pause"), "ok\tsessions=1\n");
	check_ok(epp_session_end(session));
	expect_in(ask("status"), "state=idle\t");
	expect_in(ask("resume"), "error\t");
	check_ok(epp_session_start(session));
	expect_in(ask("status"), "state=recording\t");
	ck_assert_str_eq(ask("pause"), "ok\tsessions=1\n");
	/* A start of the owner's resumes it. */
	check_ok(epp_session_start(session));
	expect_in(ask("resume"), "error\t");
	recording_end(session);
	epp_session_destroy(session);
}
END_TEST

/* Sessions of EPPROF_OUTPUT begin paused until the first resume, others do not. */
START_TEST(a_start_that_is_paused)
{
	char *path = strdup(check_path("paused.%%session%%.epp"));
	epp_session *first, *second, *other;
	turn_on();
	setenv("EPPROF_OUTPUT", path, 1);
	setenv("EPPROF_START_PAUSED", "1", 1);
	check_ok(epp_session_share_output(&first));
	record(first, 4);
	ck_assert(!EPPROF_ENABLED());
	other = recording_start(NULL);
	expect_in(ask("status"), "state=paused\t");
	/* A paused session can be given back, and another one is paused, too. */
	check_ok(epp_session_share_output(&second));
	epp_session_destroy(second);
	ck_assert_str_eq(ask("resume"), "ok\tsessions=1\n");
	expect_in(ask("resume"), "error\tno session is paused\n");
	check_ok(epp_session_share_output(&second));
	record(first, 3);
	record(second, 2);
	record(other, 1);
	trace_scan_free(recording_finish(other));
	epp_session_destroy(first);
	epp_session_destroy(second);
	expect_finished(check_path("paused.1.epp"), 3);
	expect_finished(check_path("paused.2.epp"), 0);
	expect_finished(check_path("paused.3.epp"), 2);
	free(path);
}
END_TEST

static void *record_ten(void *session)
{
	record(session, 10);
	return NULL;
}

START_TEST(events_of_threads_that_have_ended_are_counted)
{
	turn_on();
	epp_session *session = recording_start(NULL);
	for (int i = 0; i < 4; i++)
		recording_on_thread(record_ten, session);
	expect_in(ask("status"), "events=40\t");
	recording_end(session);
	expect_in(ask("status"), "events=40\t");
	epp_session_destroy(session);
}
END_TEST

static bool goes_on, records;

static void *record_until_end(void *session)
{
	while (__atomic_load_n(&records, __ATOMIC_RELAXED))
		record(session, 100);
	return NULL;
}

static void *ask_until_end(void *answers_count)
{
	static const char *const requests[] = { "pause\n", "status\n", "resume\n" };
	for (unsigned i = 0; __atomic_load_n(&goes_on, __ATOMIC_RELAXED); i++) {
		int fd = connect_path(socket_path(getpid()));
		/* There is none before the first session. */
		if (fd >= 0 && write(fd, requests[i % 3], strlen(requests[i % 3])) > 0)
			*(unsigned *)answers_count += receive(fd)[0] == 'o';
	}
	return NULL;
}

#define ROUNDS (40 / RECORDING_SLOW)

/* The owner starts, ends and destroys sessions while a client pauses and resumes them and a thread records. */
START_TEST(owner_thread_and_client_at_once)
{
	turn_on();
	goes_on = true;
	unsigned answers_count = 0;
	pthread_t client = recording_thread(ask_until_end, &answers_count);
	for (int i = 0; i < ROUNDS; i++) {
		char *path = check_path("race-%d.epp", i);
		epp_session *session;
		epp_session_options options = { .struct_size = sizeof(options), .path = path };
		check_ok(epp_session_create(&options, &session));
		records = true;
		pthread_t thread = recording_thread(record_until_end, session);
		for (int runs = 0; runs < 3; runs++) {
			check_ok(epp_session_start(session));
			recording_sleep_ms(1);
			check_ok(epp_session_end(session));
		}
		check_ok(epp_session_wait(session, UINT64_MAX));
		check_ok(epp_session_start(session));
		recording_sleep_ms(i % 3);
		epp_session_destroy(session);
		struct trace_scan *scan = trace_scan_file(path);
		const char *wrong = scan_balance(scan);
		ck_assert_msg(!wrong, "%s", wrong);
		ck_assert_uint_eq(scan->header.state, EPF_FINISHED);
		trace_scan_free(scan);
		__atomic_store_n(&records, false, __ATOMIC_RELAXED);
		pthread_join(thread, NULL);
	}
	__atomic_store_n(&goes_on, false, __ATOMIC_RELAXED);
	pthread_join(client, NULL);
	ck_assert_uint_gt(answers_count, 0);
}
END_TEST

static Suite *control_suite(void)
{
	Suite *suite = suite_create("control");
	TCase *tcase = tcase_create("socket");
	tcase_add_test(tcase, nothing_is_created_without_the_variable);
	tcase_add_test(tcase, a_folder_that_others_can_use_is_refused);
	tcase_add_test(tcase, the_socket_is_the_users_alone);
	tcase_add_test(tcase, the_runtime_folder_is_the_default);
	tcase_add_test(tcase, a_stale_socket_is_replaced);
	tcase_add_test(tcase, a_fork_has_its_own_socket);
	tcase_add_test(tcase, an_exit_removes_the_socket);
	tcase_add_test(tcase, clients_that_misbehave);
	if (!emulated_without("there is one user"))
		tcase_add_test(tcase, other_users_are_not_answered);
	suite_add_tcase(suite, tcase);
	tcase = tcase_create("requests");
	tcase_add_test(tcase, pause_resume_stop);
	tcase_add_test(tcase, events_that_are_open_at_a_pause);
	tcase_add_test(tcase, the_owner_ends_a_pause);
	tcase_add_test(tcase, a_start_that_is_paused);
	tcase_add_test(tcase, events_of_threads_that_have_ended_are_counted);
	tcase_add_test(tcase, owner_thread_and_client_at_once);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(control_suite)

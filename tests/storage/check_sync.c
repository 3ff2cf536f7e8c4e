/* sync_ms: that passes come, of the right files, whatever the session does; that nobody waits for one, and a failed one
 * is told. */
#include "storage/sync.h"

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/support/forking.h"
#include "tests/support/recording.h"

/* By default ThreadSanitizer ends the forked child of a process with several threads when it starts a thread. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "die_after_fork=0";
}

#define PASSES_BLOCKED_MOST 4

static _Atomic unsigned files_count, directories_count;
static _Atomic int fails_with;
static _Atomic ino_t inodes[64];
static sem_t may_go;
static _Atomic bool blocks;
static _Atomic unsigned blocked_count;

/* A pass that begins from now on copies the file that it would send. */
static const char *_Atomic copy_to;
static _Atomic unsigned copies_count;

static void copy(int fd, const struct stat *st)
{
	const char *path = copy_to;
	if (!path || copies_count)
		return;
	int to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	off_t at = 0;
	while (at < st->st_size && sendfile(to, fd, &at, (size_t)(st->st_size - at)) > 0)
		;
	close(to);
	copies_count++;
}

static int shim(int fd)
{
	struct stat st;
	if (fstat(fd, &st))
		return -1;
	if (blocks) {
		blocked_count++;
		sem_wait(&may_go);
	}
	if (S_ISDIR(st.st_mode)) {
		directories_count++;
	} else {
		copy(fd, &st);
		inodes[files_count % 64] = st.st_ino;
		files_count++;
	}
	if (fails_with) {
		errno = fails_with;
		return -1;
	}
	return 0;
}

static void set_up(void)
{
	sem_init(&may_go, 0, 0);
	sync_inject(shim);
	files_count = directories_count = blocked_count = copies_count = 0;
	fails_with = 0;
	blocks = false;
}

static void wait_for(const _Atomic unsigned *count, unsigned at_least)
{
	while (*count < at_least)
		recording_sleep_ms(1);
}

static epp_session *start(const char *path, uint32_t sync_ms)
{
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options), .path = path, .overwrite = 1, .sync_ms = sync_ms };
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_start(session));
	return session;
}

START_TEST(passes_come_without_events)
{
	const char *path = check_path("quiet.epp");
	struct stat st;
	epp_session *session = start(path, 1);
	ck_assert_int_eq(stat(path, &st), 0);
	wait_for(&files_count, 5);
	for (unsigned i = 0; i < 5; i++)
		ck_assert_uint_eq(inodes[i], st.st_ino);
	/* The name of the new file, once. */
	ck_assert_uint_eq(directories_count, 1);
	trace_scan_free(recording_finish_file(session, path));
}
END_TEST

/* What release wrote is sent off as well. */
START_TEST(the_last_pass_comes_after_release)
{
	const char *path = check_path("last.epp");
	epp_session *session = start(path, UINT32_MAX);
	epp_event_end(session, epp_event_begin(session, EPP_NODE, epp_name_intern("event")), NULL, 0);
	recording_end(session);
	ck_assert_uint_eq(files_count, 0);
	epp_session_destroy(session);
	wait_for(&files_count, 1);
	ck_assert_uint_eq(files_count, 1);
}
END_TEST

START_TEST(without_it_nothing_is_synced)
{
	const char *path = check_path("none.epp");
	trace_scan_free(recording_finish_file(start(path, 0), path));
	ck_assert_uint_eq(files_count + directories_count, 0);
}
END_TEST

/* What a thread has in hand is in the file that is sent: a chunk need not be full, nor anything drained. */
START_TEST(a_chunk_in_hand_goes_along)
{
	char *copy = strdup(check_path("copy.epp"));
	epp_session *session = start(check_path("in-hand.epp"), 5);
	pthread_mutex_t *drain_lock = &recording_storage(session)->drain_lock;
	epp_name name = epp_name_intern("event");
	/* The copy takes milliseconds: what is drained meanwhile would be in neither of its parts. */
	pthread_mutex_lock(drain_lock);
	for (unsigned i = 0; i < 300; i++)
		epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
	epp_event_begin(session, EPP_NODE, name);
	copy_to = copy;
	wait_for(&copies_count, 1);
	pthread_mutex_unlock(drain_lock);
	struct trace_scan *scan = trace_scan_file(copy);
	ck_assert_msg(!scan->error, "%s", scan->error);
	ck_assert_uint_gt(scan->window_regions_count, 0);
	ck_assert_uint_eq(scan->records_count, 300);
	ck_assert_uint_eq(scan->open_count, 1);
	trace_scan_free(scan);
	epp_session_destroy(session);
	free(copy);
}
END_TEST

/* The disk hangs: events, end and release go on, and the file is another session's at once. */
START_TEST(nobody_waits_for_a_pass)
{
	const char *path = check_path("hangs.epp");
	blocks = true;
	epp_session *session = start(path, 1);
	wait_for(&blocked_count, 1);
	for (unsigned i = 0; i < 100000; i++)
		epp_event_end(session, epp_event_begin(session, EPP_NODE, epp_name_intern("event")), NULL, 0);
	struct trace_scan *scan = recording_finish_file(session, path);
	ck_assert_uint_eq(scan->records_count, 100000);
	trace_scan_free(scan);
	ck_assert_uint_eq(files_count, 0);
	trace_scan_free(recording_finish_file(recording_start(path), path));
	blocks = false;
	for (unsigned i = 0; i < PASSES_BLOCKED_MOST; i++)
		sem_post(&may_go);
	wait_for(&files_count, 2);
}
END_TEST

START_TEST(a_failed_pass_is_told)
{
	epp_session *session = start(check_path("fails.epp"), 1);
	fails_with = EIO;
	wait_for(&files_count, files_count + 3);
	fails_with = 0;
	check_ok(epp_session_end(session));
	epp_status *status = epp_session_wait(session, UINT64_MAX);
	ck_assert_ptr_nonnull(status);
	ck_assert_int_eq(epp_status_code(status), EPP_IO);
	epp_status_destroy(status);
	epp_session_destroy(session);
}
END_TEST

START_TEST(an_external_window_is_synced)
{
	const char *path = check_path("apart.epp");
	setenv("EPPROF_WINDOW_DIR", check_directory_path, 1);
	epp_session *session = start(path, 1);
	unsetenv("EPPROF_WINDOW_DIR");
	wait_for(&files_count, 4);
	ck_assert_uint_ne(inodes[0], inodes[1]);
	ck_assert_uint_eq(inodes[0], inodes[2]);
	ck_assert_uint_eq(inodes[1], inodes[3]);
	trace_scan_free(recording_finish_file(session, path));
}
END_TEST

START_TEST(it_is_for_files)
{
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options), .sync_ms = 100 };
	check_fails(EPP_INVALID_ARGUMENT, epp_session_create(&options, &session));
	options.sync_ms = 0;
	options.lossless = 2;
	check_fails(EPP_INVALID_ARGUMENT, epp_session_create(&options, &session));
}
END_TEST

START_TEST(the_environment_asks_for_it)
{
	epp_session *session;
	setenv("EPPROF_OUTPUT", check_path("environment.epp"), 1);
	setenv("EPPROF_SYNC_MS", "soon", 1);
	check_fails(EPP_INVALID_ARGUMENT, epp_session_share_output(&session));
	setenv("EPPROF_SYNC_MS", "4294967296", 1);
	check_fails(EPP_INVALID_ARGUMENT, epp_session_share_output(&session));
	setenv("EPPROF_SYNC_MS", "1", 1);
	check_ok(epp_session_share_output(&session));
	wait_for(&files_count, 2);
	epp_session_destroy(session);
}
END_TEST

/* The child has no such thread, and its own sessions get theirs. */
START_TEST(after_fork)
{
	epp_session *session = start(check_path("parent.epp"), 1);
	wait_for(&files_count, 1);
	pid_t child = forking_fork(true);
	if (child == 0) {
		files_count = 0;
		recording_sleep_ms(20);
		if (files_count)
			_exit(1);
		epp_session *own = start(check_path("child.epp"), 1);
		wait_for(&files_count, 2);
		epp_session_destroy(own);
		_exit(0);
	}
	int status;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	epp_session_destroy(session);
}
END_TEST

static Suite *sync_suite(void)
{
	Suite *suite = suite_create("sync");
	TCase *tests = tcase_create("sync");
	tcase_add_checked_fixture(tests, set_up, NULL);
	tcase_add_test(tests, passes_come_without_events);
	tcase_add_test(tests, the_last_pass_comes_after_release);
	tcase_add_test(tests, without_it_nothing_is_synced);
	tcase_add_test(tests, a_chunk_in_hand_goes_along);
	tcase_add_test(tests, nobody_waits_for_a_pass);
	tcase_add_test(tests, a_failed_pass_is_told);
	tcase_add_test(tests, an_external_window_is_synced);
	tcase_add_test(tests, it_is_for_files);
	tcase_add_test(tests, the_environment_asks_for_it);
	tcase_add_test(tests, after_fork);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(sync_suite)

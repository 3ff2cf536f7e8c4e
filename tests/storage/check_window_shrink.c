/* Small finished traces lose their window's hole, and only these: runtime/storage/window/window_shrink.c. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codec/checksum.h"
#include "storage/window/window.h"
#include "tests/support/recording.h"

#define LONG ((off_t)EPF_SEGMENTS_OFFSET)

static off_t size_of(const char *path)
{
	struct stat st;
	ck_assert_msg(stat(path, &st) == 0, "%s: %s", path, strerror(errno));
	return st.st_size;
}

static ino_t inode_of(const char *path)
{
	struct stat st;
	ck_assert_int_eq(lstat(path, &st), 0);
	return st.st_ino;
}

static unsigned files_in(const char *path)
{
	unsigned count = 0;
	DIR *directory = opendir(path);
	for (struct dirent *entry; (entry = readdir(directory));)
		count += entry->d_name[0] != '.';
	closedir(directory);
	return count;
}

/* An empty directory of the test's own, and a path in it. */
static char *fresh(const char *directory, const char *name)
{
	char *path = check_path("%s", directory);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	return check_path("%s/%s", directory, name);
}

#define TEXT "what the segments hold"

/* A finished window at `path`, behind it a text at the beginning of its segments and, if they are longer, at their
 * end. */
static struct window finished(const char *path, off_t bytes)
{
	struct window window;
	const off_t length = sizeof(TEXT) - 1;
	check_ok(window_open_file(path, true, &(struct epf_header){ .created_unix_ns = 77 }, &window));
	ck_assert_int_eq(pwrite(window.fd, TEXT, (size_t)length, LONG), length);
	if (bytes > length)
		ck_assert_int_eq(pwrite(window.fd, TEXT, (size_t)length, LONG + bytes - length), length);
	ck_assert_int_eq(window_finish(&window), 0);
	return window;
}

static void expect_text(int fd, off_t at)
{
	char text[sizeof(TEXT)] = "";
	ck_assert_int_eq(pread(fd, text, sizeof(TEXT) - 1, at), sizeof(TEXT) - 1);
	ck_assert_str_eq(text, TEXT);
}

static void stays(const char *path, off_t bytes)
{
	struct window window = finished(path, bytes);
	ino_t inode = inode_of(path);
	window_shrink(&window, false);
	ck_assert_uint_eq(inode_of(path), inode);
	ck_assert_int_eq(size_of(path), LONG + bytes);
	window_close(&window, 0, 0);
}

START_TEST(the_segments_follow_the_header)
{
	const off_t bytes = (5 << 20) + 123;
	struct epf_header header, plain;
	struct stat before, after;
	char *path = fresh("follow", "a.epp");
	struct window window = finished(path, bytes), second;
	ck_assert_int_eq(fchmod(window.fd, 0604), 0);
	ck_assert_int_eq(fstat(window.fd, &before), 0);
	int old = open(path, O_RDONLY);
	window_shrink(&window, true);
	/* Until now nobody else could write it. */
	window_close(&window, 0, 0);
	ck_assert_int_eq(stat(path, &after), 0);
	ck_assert_int_eq(after.st_size, EPF_SLOTS_OFFSET + bytes);
	ck_assert_uint_eq(after.st_mode, before.st_mode);
	ck_assert_uint_eq(after.st_uid, before.st_uid);
	ck_assert_uint_eq(files_in(check_path("follow")), 1);

	int fd = open(path, O_RDONLY);
	ck_assert_int_eq(read(fd, &header, sizeof(header)), sizeof(header));
	plain = header;
	plain.state = plain.checksum = 0;
	ck_assert_uint_eq(header.checksum, checksum_crc32c(0, &plain, offsetof(struct epf_header, checksum)));
	ck_assert_uint_eq(header.state, EPF_FINISHED);
	ck_assert_uint_eq(header.created_unix_ns, 77);
	ck_assert_uint_eq(header.segments_offset, EPF_SLOTS_OFFSET);
	ck_assert_uint_eq(header.slot_count | header.chunk_count | header.log_bytes, 0);
	expect_text(fd, EPF_SLOTS_OFFSET);
	expect_text(fd, EPF_SLOTS_OFFSET + bytes - (off_t)sizeof(TEXT) + 1);
	close(fd);
	/* Who had it open has all of the old one. */
	ck_assert_int_eq(pread(old, &header, sizeof(header), 0), sizeof(header));
	ck_assert_uint_eq(header.segments_offset, EPF_SEGMENTS_OFFSET);
	expect_text(old, LONG);
	close(old);
	check_ok(window_open_file(path, true, &plain, &second));
	window_close(&second, 0, 0);
}
END_TEST

START_TEST(a_trace_without_segments)
{
	struct window window;
	char *path = fresh("empty", "a.epp");
	check_ok(window_open_file(path, true, &(struct epf_header){ .created_unix_ns = 77 }, &window));
	ck_assert_int_eq(window_finish(&window), 0);
	window_shrink(&window, false);
	window_close(&window, 0, 0);
	ck_assert_int_eq(size_of(path), EPF_SLOTS_OFFSET);
}
END_TEST

/* A large one has a hole that is small beside it. */
START_TEST(a_large_trace_stays)
{
	stays(fresh("large", "a.epp"), (16 << 20) + 1);
	char *path = check_path("large/b.epp");
	struct window window = finished(path, 16 << 20);
	window_shrink(&window, false);
	window_close(&window, 0, 0);
	ck_assert_int_eq(size_of(path), EPF_SLOTS_OFFSET + (16 << 20));
}
END_TEST

/* The copy's name is six characters and a dot longer. */
START_TEST(a_name_that_is_too_long_for_another)
{
	char name[256];
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	stays(fresh("long", name), 1000);
	ck_assert_uint_eq(files_in(check_path("long")), 1);
}
END_TEST

START_TEST(two_names)
{
	char *path = fresh("names", "a.epp"), *other = check_path("names/b.epp");
	struct window window = finished(path, 1000);
	ck_assert_int_eq(link(path, other), 0);
	window_shrink(&window, false);
	window_close(&window, 0, 0);
	ck_assert_uint_eq(inode_of(path), inode_of(other));
	ck_assert_int_eq(size_of(path), LONG + 1000);
}
END_TEST

/* The name that it has, not the one that it had: a folder may be a link, and a directory may have been left. */
START_TEST(the_name_that_it_has_today)
{
	char here[4096];
	char *path = fresh("today", "a.epp"), *link_path = check_path("link"), *moved = check_path("today/moved.epp");
	ck_assert_int_eq(symlink("today", link_path), 0);
	struct window window = finished(check_path("link/a.epp"), 1000);
	window_shrink(&window, false);
	window_close(&window, 0, 0);
	struct stat st;
	ck_assert_int_eq(lstat(link_path, &st), 0);
	ck_assert(S_ISLNK(st.st_mode));
	ck_assert_int_eq(size_of(path), EPF_SLOTS_OFFSET + 1000);

	ck_assert_ptr_nonnull(getcwd(here, sizeof(here)));
	ck_assert_int_eq(chdir(check_path("today")), 0);
	window = finished("relative.epp", 1000);
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(rename(check_path("today/relative.epp"), moved), 0);
	window_shrink(&window, false);
	window_close(&window, 0, 0);
	ck_assert_int_eq(size_of(moved), EPF_SLOTS_OFFSET + 1000);
	ck_assert_uint_eq(files_in(check_path("today")), 2);
	ck_assert_int_eq(chdir(here), 0);
}
END_TEST

START_TEST(a_file_that_is_gone_does_not_come_back)
{
	char *path = fresh("gone", "a.epp");
	struct window window = finished(path, 1000);
	ck_assert_int_eq(unlink(path), 0);
	window_shrink(&window, false);
	ck_assert_uint_eq(files_in(check_path("gone")), 0);
	/* Nor does it take the place of another. */
	int fd = open(path, O_CREAT | O_WRONLY, 0600);
	ino_t inode = inode_of(path);
	window_shrink(&window, false);
	ck_assert_uint_eq(inode_of(path), inode);
	ck_assert_int_eq(size_of(path), 0);
	close(fd);
	window_close(&window, 0, 0);
}
END_TEST

/* As a disk that is full: the copy is taken away, and no signal reaches the process. */
START_TEST(no_room_for_the_copy)
{
	char *path = fresh("full", "a.epp");
	struct window window = finished(path, 1 << 20);
	pid_t child = fork();
	if (!child) {
		signal(SIGXFSZ, SIG_DFL);
		setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 512 << 10, 512 << 10 });
		window_shrink(&window, false);
		_exit(0);
	}
	int status;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(files_in(check_path("full")), 1);
	ck_assert_int_eq(size_of(path), LONG + (1 << 20));
	window_close(&window, 0, 0);
}
END_TEST

static void record(const char *path)
{
	epp_session *session = recording_start(path);
	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t id = epp_event_begin(session, EPP_NODE, epp_name_intern("work"));
		epp_event_end(session, id,
		              &(epp_arg){ .key = epp_name_intern("i"), .type = EPP_ARG_I64, .value.i64 = 7 }, 1);
	}
	struct trace_scan *scan = recording_finish_file(session, path);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, 0), 1000);
	trace_scan_free(scan);
}

START_TEST(a_session_leaves_what_it_recorded)
{
	char *path = fresh("session", "a.epp");
	for (int again = 0; again < 2; again++) {
		record(path);
		ck_assert_int_lt(size_of(path), 100 << 10);
	}
	ck_assert_int_eq(mkdir(check_path("session/window"), 0700), 0);
	setenv("EPPROF_WINDOW_DIR", check_path("session/window"), 1);
	record(path);
	unsetenv("EPPROF_WINDOW_DIR");
	ck_assert_int_lt(size_of(path), 100 << 10);
	ck_assert_uint_eq(files_in(check_path("session/window")), 0);
	ck_assert_uint_eq(files_in(check_path("session")), 2);
}
END_TEST

static Suite *window_shrink_suite(void)
{
	Suite *suite = suite_create("window_shrink");
	TCase *tcase = tcase_create("window_shrink");
	tcase_add_test(tcase, the_segments_follow_the_header);
	tcase_add_test(tcase, a_trace_without_segments);
	tcase_add_test(tcase, a_large_trace_stays);
	tcase_add_test(tcase, a_name_that_is_too_long_for_another);
	tcase_add_test(tcase, two_names);
	tcase_add_test(tcase, the_name_that_it_has_today);
	tcase_add_test(tcase, a_file_that_is_gone_does_not_come_back);
	tcase_add_test(tcase, no_room_for_the_copy);
	tcase_add_test(tcase, a_session_leaves_what_it_recorded);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(window_shrink_suite)

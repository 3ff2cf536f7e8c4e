/* Sinks: the buffer, errors that stick, memory; and files that are whole or not there, by both ways of writing them. */
#include "export/sink/sink.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/support/check.h"

/* ---- the buffer ---- */

struct taken {
	struct sink_memory memory;
	size_t limit;
	unsigned calls;
	int error;
};

static size_t take(const void *bytes, size_t count, void *user)
{
	struct taken *taken = user;
	size_t room = taken->limit - taken->memory.count;

	taken->calls++;
	sink_memory_write(bytes, count < room ? count : room, &taken->memory);
	errno = taken->error;
	return count < room ? count : room;
}

START_TEST(bytes_arrive_in_order_and_whole)
{
	struct taken taken = { .limit = SIZE_MAX };
	struct sink sink;
	char *large = malloc(3 * SINK_BUFFER_BYTES);

	for (size_t i = 0; i < 3 * SINK_BUFFER_BYTES; i++)
		large[i] = (char)(i * 7 / 3);
	check_ok(sink_init(&sink, take, &taken));
	sink_text(&sink, "head");
	for (unsigned i = 0; i < 10000; i++)
		sink_format(&sink, "%u,", i);
	sink_bytes(&sink, large, 3 * SINK_BUFFER_BYTES);
	sink_bytes(&sink, "", 0);
	sink_commit(&sink, mempcpy(sink_reserve(&sink, 4), "tail", 4));
	check_ok(sink_flush(&sink));
	check_ok(sink_flush(&sink));
	size_t numbers = 10 * 2 + 90 * 3 + 900 * 4 + 9000 * 5;
	ck_assert_uint_eq(taken.memory.count, 4 + numbers + 3 * SINK_BUFFER_BYTES + 4);
	ck_assert_mem_eq(taken.memory.bytes, "head0,1,2,", 10);
	ck_assert_mem_eq(taken.memory.bytes + 4 + numbers, large, 3 * SINK_BUFFER_BYTES);
	ck_assert_mem_eq(taken.memory.bytes + taken.memory.count - 4, "tail", 4);
	ck_assert_uint_le(taken.calls, 6);
	sink_deinit(&sink);
	free(taken.memory.bytes);
	free(large);
}
END_TEST

START_TEST(the_first_error_sticks)
{
	struct taken taken = { .limit = SINK_BUFFER_BYTES / 2, .error = EDQUOT };
	char block[SINK_RESERVE_MAX] = { 0 };
	struct sink sink;

	check_ok(sink_init(&sink, take, &taken));
	for (unsigned i = 0; i < 40; i++)
		sink_bytes(&sink, block, sizeof block);
	ck_assert_uint_eq(taken.calls, 1);
	ck_assert(sink.failed);
	for (unsigned i = 0; i < 2; i++) {
		epp_status *status = sink_flush(&sink);
		ck_assert_int_eq(epp_status_code(status), EPP_IO);
		ck_assert_str_eq(epp_status_message(status), "writing: Disk quota exceeded");
		epp_status_destroy(status);
	}
	sink_deinit(&sink);
	free(taken.memory.bytes);
}
END_TEST

START_TEST(an_error_without_errno_is_one_too)
{
	struct taken taken = { .limit = 3 };
	struct sink sink;

	check_ok(sink_init(&sink, take, &taken));
	sink_text(&sink, "four");
	check_fails(EPP_IO, sink_flush(&sink));
	sink_deinit(&sink);
	free(taken.memory.bytes);
}
END_TEST

START_TEST(a_long_text_is_escaped_in_pieces)
{
	struct sink_memory memory = { 0 };
	struct sink sink;
	size_t bytes = 300000;
	char *text = malloc(bytes);

	for (size_t i = 0; i < bytes; i++)
		text[i] = "\xE4\xB8\xAD\""[i % 4];
	check_ok(sink_init(&sink, sink_memory_write, &memory));
	sink_json_text(&sink, text, bytes);
	check_ok(sink_flush(&sink));
	ck_assert_uint_eq(memory.count, bytes / 4 * 5);
	for (size_t i = 0; i < memory.count; i++) {
		if (memory.bytes[i] != "\xE4\xB8\xAD\\\""[i % 5])
			ck_abort_msg("byte %zu is wrong", i);
	}
	sink_deinit(&sink);
	free(memory.bytes);
	free(text);
}
END_TEST

/* ---- files; each test runs with and without nameless files ---- */

static void choose_way(void)
{
	atomic_file_nameless = true;
}

static epp_status *write_file(const char *path, bool overwrite, const char *text)
{
	struct sink_file file;
	epp_status *status = sink_file_open(&file, path, overwrite);

	if (status)
		return status;
	if (sink_file_write(text, strlen(text), &file) != strlen(text)) {
		status = epp_status_create(EPP_IO, "%s", strerror(errno));
		sink_file_discard(&file);
		return status;
	}
	return sink_file_commit(&file);
}

static void holds(const char *path, const char *expected)
{
	char text[64] = "";
	FILE *file = fopen(path, "r");

	ck_assert_msg(file != NULL, "%s: %s", path, strerror(errno));
	ck_assert_uint_le(fread(text, 1, sizeof text - 1, file), sizeof text);
	fclose(file);
	ck_assert_str_eq(text, expected);
}

/* How many names stand in a directory. */
static unsigned names_in(const char *path)
{
	DIR *directory = opendir(path);
	unsigned count = 0;

	ck_assert_ptr_nonnull(directory);
	for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
		count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(directory);
	return count;
}

static char *new_directory(void)
{
	static char path[512];

	snprintf(path, sizeof path, "%s", check_path("d.XXXXXX"));
	ck_assert_ptr_nonnull(mkdtemp(path));
	return path;
}

static char *in(const char *directory, const char *name)
{
	static char paths[4][600];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof paths[0], "%s/%s", directory, name);
	return path;
}

START_TEST(a_file_appears_when_it_is_complete)
{
	struct sink_file file;
	char *directory = new_directory(), *path = in(directory, "out");

	atomic_file_nameless = _i == 0;
	check_ok(sink_file_open(&file, path, false));
	ck_assert_uint_eq(names_in(directory), _i == 0 ? 0 : 1);
	ck_assert_uint_eq(sink_file_write("text", 4, &file), 4);
	ck_assert_int_ne(access(path, F_OK), 0);
	check_ok(sink_file_commit(&file));
	holds(path, "text");
	ck_assert_uint_eq(names_in(directory), 1);
}
END_TEST

START_TEST(a_discarded_file_leaves_nothing)
{
	struct sink_file file;
	char *directory = new_directory(), *path = in(directory, "out");

	atomic_file_nameless = _i == 0;
	check_ok(sink_file_open(&file, path, false));
	ck_assert_uint_eq(sink_file_write("text", 4, &file), 4);
	sink_file_discard(&file);
	ck_assert_uint_eq(names_in(directory), 0);
}
END_TEST

START_TEST(an_existing_file_is_replaced_only_on_request)
{
	char *directory = new_directory(), *path = in(directory, "out");
	struct stat st;

	atomic_file_nameless = _i == 0;
	check_ok(write_file(path, false, "first"));
	ck_assert_int_eq(chmod(path, 0640), 0);
	check_fails(EPP_EXISTS, write_file(path, false, "second"));
	holds(path, "first");
	check_ok(write_file(path, true, "third"));
	holds(path, "third");
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0640);
	ck_assert_uint_eq(names_in(directory), 1);
}
END_TEST

START_TEST(a_file_that_comes_in_between_is_kept)
{
	struct sink_file file;
	char *directory = new_directory(), *path = in(directory, "out");

	atomic_file_nameless = _i == 0;
	check_ok(sink_file_open(&file, path, false));
	ck_assert_uint_eq(sink_file_write("mine", 4, &file), 4);
	check_ok(write_file(path, false, "theirs"));
	check_fails(EPP_EXISTS, sink_file_commit(&file));
	holds(path, "theirs");
	ck_assert_uint_eq(names_in(directory), 1);
}
END_TEST

START_TEST(a_link_is_neither_followed_nor_replaced)
{
	char *directory = new_directory(), *target = in(directory, "target"), *link = in(directory, "link");
	struct stat st;

	atomic_file_nameless = _i == 0;
	check_ok(write_file(target, false, "old"));
	ck_assert_int_eq(symlink("target", link), 0);
	check_fails(EPP_EXISTS, write_file(link, false, "new"));
	check_fails(EPP_IO, write_file(link, true, "new"));
	holds(target, "old");
	ck_assert_uint_eq(names_in(directory), 2);
	ck_assert_int_eq(lstat(link, &st), 0);
	ck_assert(S_ISLNK(st.st_mode));
}
END_TEST

/* A link that comes while the file is written is replaced, or kept, as a file would be: its target is never written. */
START_TEST(a_link_that_comes_in_between)
{
	struct sink_file file;
	char *directory = new_directory(), *path = in(directory, "out"), *target = in(directory, "target");

	atomic_file_nameless = _i % 2 == 0;
	check_ok(write_file(target, false, "old"));
	check_ok(sink_file_open(&file, path, _i / 2));
	ck_assert_uint_eq(sink_file_write("new", 3, &file), 3);
	ck_assert_int_eq(symlink("target", path), 0);
	if (_i / 2)
		check_ok(sink_file_commit(&file));
	else
		check_fails(EPP_EXISTS, sink_file_commit(&file));
	holds(target, "old");
}
END_TEST

static mode_t new_mode(const char *asked)
{
	char *path = in(new_directory(), "out");
	struct stat st;

	setenv("EPPROF_FILE_MODE", asked, 1);
	check_ok(write_file(path, false, "text"));
	ck_assert_int_eq(stat(path, &st), 0);
	return st.st_mode & 07777;
}

/* The umask applies to a mode that was asked for. */
START_TEST(only_the_user_reads_a_new_file)
{
	atomic_file_nameless = _i == 0;
	umask(0);
	ck_assert_uint_eq(new_mode(""), 0600);
	ck_assert_uint_eq(new_mode("0644"), 0644);
	umask(027);
	ck_assert_uint_eq(new_mode("666"), 0640);
	static const char *const wrong[] = { "0400", "1777", "x", "0600x", "-1", "0888" };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		char *path = in(new_directory(), "out");
		setenv("EPPROF_FILE_MODE", wrong[i], 1);
		check_fails(EPP_INVALID_ARGUMENT, write_file(path, false, "text"));
		ck_assert_int_ne(access(path, F_OK), 0);
	}
}
END_TEST

/* The descriptor itself is written, whatever it is, and stays open. */
START_TEST(a_path_may_name_a_descriptor)
{
	char *path = in(new_directory(), "out"), name[64];
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	ck_assert_int_ge(fd, 0);
	snprintf(name, sizeof name, "/dev/fd/%d", fd);
	check_ok(write_file(name, false, "one"));
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	check_ok(write_file(name, true, "two"));
	holds(path, "onetwo");
	ck_assert_int_eq(close(fd), 0);
	check_fails(EPP_IO, write_file(name, true, "three"));
	check_fails(EPP_NOT_FOUND, write_file("/dev/fd/x", false, "text"));
}
END_TEST

START_TEST(a_full_disk_leaves_nothing)
{
	char *directory = new_directory(), *path = in(directory, "out");
	struct rlimit limit = { 2, 2 };

	atomic_file_nameless = _i == 0;
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	epp_status *status = write_file(path, true, "text");
	ck_assert_int_eq(epp_status_code(status), EPP_IO);
	ck_assert_str_eq(epp_status_message(status), "File too large");
	epp_status_destroy(status);
	ck_assert_uint_eq(names_in(directory), 0);
}
END_TEST

START_TEST(what_cannot_be_written_is_told_with_its_path)
{
	static const struct {
		const char *path;
		epp_code code;
	} paths[] = {
		{ "missing/out", EPP_NOT_FOUND },
		{ ".", EPP_IO },
		{ "", EPP_NOT_FOUND },
	};
	char *directory = new_directory();

	atomic_file_nameless = _i == 0;
	ck_assert_int_eq(chdir(directory), 0);
	for (unsigned i = 0; i < 3; i++) {
		struct sink_file file;
		epp_status *status = sink_file_open(&file, paths[i].path, true);
		ck_assert_msg(epp_status_code(status) == paths[i].code, "%s: %s", paths[i].path,
		              epp_status_message(status));
		ck_assert_ptr_nonnull(strstr(epp_status_message(status), paths[i].path));
		ck_assert_int_eq(file.file.fd, -1);
		epp_status_destroy(status);
	}
	ck_assert_uint_eq(names_in("."), 0);
	/* Without a directory in its name, and with a name that looks like an option. */
	check_ok(write_file("-x", false, "here"));
	holds("./-x", "here");
	ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

START_TEST(a_device_is_written_directly)
{
	struct sink_file file;

	check_fails(EPP_IO, write_file("/dev/full", false, "text"));
	check_ok(write_file("/dev/null", false, "text"));
	check_ok(sink_file_open(&file, "/dev/null", false));
	ck_assert(file.direct);
	sink_file_discard(&file);
	ck_assert_int_eq(access("/dev/null", W_OK), 0);
}
END_TEST

START_TEST(a_pipe_is_written_directly)
{
	char *path = in(new_directory(), "pipe"), text[8] = "";

	ck_assert_int_eq(mkfifo(path, 0600), 0);
	int reader = open(path, O_RDONLY | O_NONBLOCK);
	ck_assert_int_ge(reader, 0);
	check_ok(write_file(path, false, "text"));
	ck_assert_int_eq(read(reader, text, sizeof text), 4);
	ck_assert_str_eq(text, "text");
	close(reader);
	ck_assert_int_eq(access(path, F_OK), 0);
}
END_TEST

START_TEST(standard_output_stays_open)
{
	char *path = check_path("stdout");
	int kept = dup(STDOUT_FILENO), out = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	ck_assert_int_eq(dup2(out, STDOUT_FILENO), STDOUT_FILENO);
	check_ok(write_file("-", false, "a"));
	check_ok(write_file("/dev/stdout", false, "b"));
	ck_assert_int_eq(write(STDOUT_FILENO, "c", 1), 1);
	ck_assert_int_eq(dup2(kept, STDOUT_FILENO), STDOUT_FILENO);
	close(kept);
	close(out);
	holds(path, "abc");
}
END_TEST

START_TEST(a_kill_leaves_nothing)
{
	char *directory = new_directory(), *path = in(directory, "out");
	struct sink_file file;
	int status;

	pid_t child = fork();
	if (child == 0) {
		epp_status *opened = sink_file_open(&file, path, false);
		_exit(opened || sink_file_write("text", 4, &file) != 4 || kill(getpid(), SIGKILL));
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status));
	ck_assert_uint_eq(names_in(directory), 0);
}
END_TEST

static Suite *sink_suite(void)
{
	Suite *suite = suite_create("sink");
	TCase *buffer = tcase_create("buffer"), *files = tcase_create("files");

	tcase_add_test(buffer, bytes_arrive_in_order_and_whole);
	tcase_add_test(buffer, the_first_error_sticks);
	tcase_add_test(buffer, an_error_without_errno_is_one_too);
	tcase_add_test(buffer, a_long_text_is_escaped_in_pieces);
	suite_add_tcase(suite, buffer);

	tcase_add_checked_fixture(files, choose_way, NULL);
	tcase_add_loop_test(files, a_file_appears_when_it_is_complete, 0, 2);
	tcase_add_loop_test(files, a_discarded_file_leaves_nothing, 0, 2);
	tcase_add_loop_test(files, an_existing_file_is_replaced_only_on_request, 0, 2);
	tcase_add_loop_test(files, a_file_that_comes_in_between_is_kept, 0, 2);
	tcase_add_loop_test(files, a_link_is_neither_followed_nor_replaced, 0, 2);
	tcase_add_loop_test(files, a_link_that_comes_in_between, 0, 4);
	tcase_add_loop_test(files, only_the_user_reads_a_new_file, 0, 2);
	tcase_add_test(files, a_path_may_name_a_descriptor);
	tcase_add_loop_test(files, a_full_disk_leaves_nothing, 0, 2);
	tcase_add_loop_test(files, what_cannot_be_written_is_told_with_its_path, 0, 2);
	tcase_add_test(files, a_device_is_written_directly);
	tcase_add_test(files, a_pipe_is_written_directly);
	tcase_add_test(files, standard_output_stays_open);
	tcase_add_test(files, a_kill_leaves_nothing);
	suite_add_tcase(suite, files);
	return suite;
}
CHECK_MAIN(sink_suite)

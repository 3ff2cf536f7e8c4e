/* An import's memory has a bound, whatever the input's size and whatever is in it: the command's peak. */
#include <sys/resource.h>
#include <sys/wait.h>

#include "import/lanes.h"
#include "tests/support/check.h"
#include "tests/support/command.h"
#include "tests/support/recording.h"
#include "tests/support/xplane_builder.h"

/* As api/epprof/import.h says; of the whole command, so that there is something to spare. */
#define MOST_KIB (16 * 1024)

static FILE *input_open(const char *path)
{
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fputs("[", file);
	return file;
}

static void input_close(FILE *file)
{
	fputs("{}]", file);
	ck_assert_int_eq(fclose(file), 0);
}

static void add_slice(FILE *file, unsigned number, unsigned pid)
{
	fprintf(file,
	        "{\"ph\":\"X\",\"name\":\"work %u\",\"cat\":\"c\",\"pid\":%u,\"tid\":%u,\"ts\":%u,\"dur\":2,"
	        "\"args\":{\"number\":%u,\"text\":\"of %u\"}},\n",
	        number % 50, pid, pid, number * 3, number, number % 7);
}

static void add_name(FILE *file, const char *what, unsigned pid)
{
	fprintf(file,
	        "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":\"%s that is called %.30u\"}},\n",
	        what, pid, pid, what, pid);
}

/* The peak of its memory. */
static long import(const char *path)
{
	struct rusage usage;
	int status;
	pid_t pid = command_start("/dev/null", check_path("err"), "import", "--force", "-o", check_path("out.epp"),
	                          path, NULL);
	ck_assert_int_eq(wait4(pid, &status, 0, &usage), pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s",
	              command_file(check_path("err"), &(size_t){ 0 }));
	return usage.ru_maxrss;
}

static void check_peak(const char *path, const char *what)
{
	long peak = import(path);
	ck_assert_msg(peak <= MOST_KIB, "%s: %ld KiB", what, peak);
}

START_TEST(many_events)
{
	const char *path = check_path("events.json");
	FILE *file = input_open(path);
	for (unsigned i = 0; i < 1000000; i++)
		add_slice(file, i, 1 + i % 48);
	input_close(file);
	check_peak(path, "a million events");
}
END_TEST

START_TEST(as_many_processes_as_there_may_be)
{
	const char *path = check_path("processes.json");
	FILE *file = input_open(path);
	for (unsigned pid = 1; pid <= LANES_MAX; pid++)
		add_name(file, "process_name", pid);
	for (unsigned i = 0; i < 12 * LANES_MAX; i++)
		add_slice(file, i, 1 + i % LANES_MAX);
	input_close(file);
	check_peak(path, "16,384 processes");
}
END_TEST

/* A thread that is named takes the room of two, until an event tells whether it is a device's. */
START_TEST(as_many_threads_with_names_as_there_may_be)
{
	const char *path = check_path("threads.json");
	FILE *file = input_open(path);
	for (unsigned pid = 1; pid <= LANES_MAX; pid++) {
		add_name(file, "process_name", pid);
		add_name(file, "thread_name", pid);
	}
	for (unsigned i = 0; i < 12 * LANES_MAX; i++)
		add_slice(file, i, 1 + i % LANES_MAX);
	input_close(file);
	check_peak(path, "16,384 processes and threads with names");
}
END_TEST

START_TEST(more_names_of_processes_than_there_are)
{
	const char *path = check_path("names.json");
	FILE *file = input_open(path);
	add_slice(file, 1, 1);
	for (unsigned pid = 1; pid <= 8 * LANES_MAX; pid++)
		add_name(file, "process_name", pid);
	input_close(file);
	check_peak(path, "131,072 names of processes");
}
END_TEST

/* A plane whose tables, and names, are beyond what memory holds. */
START_TEST(an_xspace_of_any_size)
{
	const char *path = check_path("space.pb");
	struct xbytes plane = { 0 }, line = { 0 }, event = { 0 };
	FILE *file = fopen(path, "w");

	xtext(&plane, 2, "/host:CPU");
	xline(&line, 1, "thread", 0);
	for (int i = 0; i < 400000; i++) {
		xevent(&event, 1 + (int64_t)i * 7919 % 200000, (int64_t)i * 3000, 2000);
		xstat_number(&event, 4, 1 + i % 200000, 3, (uint64_t)i);
		xput(&line, 4, &event);
	}
	xput(&plane, 3, &line);
	for (int i = 0; i < 200000; i++) {
		char name[64];
		snprintf(name, sizeof name, "an operation that is called %.30d", i);
		xentry(&plane, 4, 1 + i, name, NULL);
		xentry(&plane, 5, 1 + i, i ? name : "correlation_id", NULL);
	}
	struct xbytes head = { 0 };
	xvarint(&head, 1 << 3 | 2);
	xvarint(&head, plane.count);
	ck_assert_uint_eq(fwrite(head.bytes, 1, head.count, file), head.count);
	ck_assert_uint_eq(fwrite(plane.bytes, 1, plane.count, file), plane.count);
	ck_assert_int_eq(fclose(file), 0);
	free(head.bytes);
	free(plane.bytes);
	check_peak(path, "an XSpace of 400,000 events and names");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("import_memory");
	TCase *tc = tcase_create("import_memory");

	tcase_add_test(tc, many_events);
	tcase_add_test(tc, as_many_processes_as_there_may_be);
	tcase_add_test(tc, as_many_threads_with_names_as_there_may_be);
	tcase_add_test(tc, more_names_of_processes_than_there_are);
	tcase_add_test(tc, an_xspace_of_any_size);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	if (RECORDING_SLOW > 1)
		CHECK_SKIP("a sanitizer's memory is not the command's");
	setenv("CK_DEFAULT_TIMEOUT", "120", 0);
	return check_main(suite);
}

/* Whether a trace's writer is alive: this process, another boot, a pid given to somebody else, a zombie. */
#include "trace/reader_process.h"

#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/support/check.h"

#define NS_PER_SECOND 1000000000ull

static struct epf_header this_process(void)
{
	struct epf_header header = { .source = { .pid = (uint32_t)getpid() } };
	unsigned value[16];
	char text[64] = "";
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY);
	ck_assert_int_gt(read(fd, text, sizeof(text) - 1), 0);
	close(fd);
	ck_assert_int_eq(sscanf(text, "%2x%2x%2x%2x-%2x%2x-%2x%2x-%2x%2x-%2x%2x%2x%2x%2x%2x", &value[0], &value[1],
	                        &value[2], &value[3], &value[4], &value[5], &value[6], &value[7], &value[8], &value[9],
	                        &value[10], &value[11], &value[12], &value[13], &value[14], &value[15]),
	                 16);
	for (int i = 0; i < 16; i++)
		header.source.boot_id[i] = (uint8_t)value[i];
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	header.created_unix_ns = (uint64_t)now.tv_sec * NS_PER_SECOND;
	return header;
}

START_TEST(alive)
{
	struct epf_header header = this_process();
	ck_assert(reader_process_is_alive(&header));
}
END_TEST

START_TEST(another_boot)
{
	struct epf_header header = this_process();
	header.source.boot_id[15] ^= 1;
	ck_assert(!reader_process_is_alive(&header));
	header.source.boot_id[15] ^= 1;
	header.source.boot_id[0] ^= 0x80;
	ck_assert(!reader_process_is_alive(&header));
}
END_TEST

START_TEST(another_process)
{
	struct epf_header header = this_process();
	header.created_unix_ns -= 3600 * NS_PER_SECOND; /* created before this process began */
	ck_assert(!reader_process_is_alive(&header));
	header = this_process();
	header.source.pid = 0;
	ck_assert(!reader_process_is_alive(&header));
	header.source.pid = 0x7ffffff0;
	ck_assert(!reader_process_is_alive(&header));
}
END_TEST

START_TEST(gone)
{
	struct epf_header header = this_process();
	pid_t child = fork();
	if (child == 0)
		_exit(0);
	ck_assert_int_gt(child, 0);
	header.source.pid = (uint32_t)child;
	siginfo_t info;
	ck_assert_int_eq(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	ck_assert(!reader_process_is_alive(&header)); /* a zombie writes no more */
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	ck_assert(!reader_process_is_alive(&header));
}
END_TEST

static Suite *process_suite(void)
{
	Suite *suite = suite_create("reader_process");
	TCase *cases = tcase_create("all");
	tcase_add_test(cases, alive);
	tcase_add_test(cases, another_boot);
	tcase_add_test(cases, another_process);
	tcase_add_test(cases, gone);
	suite_add_tcase(suite, cases);
	return suite;
}

CHECK_MAIN(process_suite)

/* Disk blocks behind a growing trace's end: allocated before they are written, and given back. */
#include "storage/blocks/allocate_ahead.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/check.h"

/* In the folder of the build, which is on a disk. */
static const char name[] = CHECK_BUILD "/check_allocate_ahead.tmp";
static int fd;

static void set_up(void)
{
	fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, "trace", 5, 0), 5);
}

static void tear_down(void)
{
	close(fd);
	unlink(name);
}

static uint64_t allocated(int of, off_t expected_size)
{
	struct stat st;
	ck_assert_int_eq(fstat(of, &st), 0);
	ck_assert_int_eq(st.st_size, expected_size);
	return (uint64_t)st.st_blocks * 512;
}

START_TEST(blocks_come_ahead_and_go_back)
{
	struct allocate_ahead ahead = { 0 };
	allocate_ahead(&ahead, fd, 4096);
	uint64_t first = allocated(fd, 5);
	ck_assert_uint_ge(first, ALLOCATE_AHEAD_BYTES);
	/* Enough is left. */
	allocate_ahead(&ahead, fd, ALLOCATE_AHEAD_BYTES / 2);
	ck_assert_uint_eq(allocated(fd, 5), first);
	allocate_ahead(&ahead, fd, ALLOCATE_AHEAD_BYTES);
	ck_assert_uint_ge(allocated(fd, 5), 2 * ALLOCATE_AHEAD_BYTES - 4096);
	allocate_ahead_end(&ahead, fd);
	ck_assert_uint_lt(allocated(fd, 5), 1 << 20);
	ck_assert_int_eq(pwrite(fd, "trace", 5, 5), 5);
	allocate_ahead_end(&ahead, fd);
	allocated(fd, 10);
}
END_TEST

/* Blocks of a file in memory are memory. */
START_TEST(memory_is_not_allocated)
{
	struct allocate_ahead ahead = { 0 };
	int memory = memfd_create("trace", MFD_CLOEXEC);
	allocate_ahead(&ahead, memory, 0);
	ck_assert_uint_eq(allocated(memory, 0), 0);
	allocate_ahead_end(&ahead, memory);
	close(memory);
}
END_TEST

START_TEST(a_failure_and_a_size_limit_are_ignored)
{
	struct allocate_ahead ahead = { 0 };
	struct rlimit before;
	allocate_ahead(&ahead, -1, 0);
	allocate_ahead_end(&ahead, -1);
	ahead = (struct allocate_ahead){ .end = 1 };
	allocate_ahead(&ahead, -1, 0);
	allocate_ahead_end(&ahead, -1);
	getrlimit(RLIMIT_FSIZE, &before);
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 4096, before.rlim_max });
	ahead = (struct allocate_ahead){ 0 };
	allocate_ahead(&ahead, fd, 0);
	allocate_ahead_end(&ahead, fd);
	setrlimit(RLIMIT_FSIZE, &before);
	ck_assert_uint_lt(allocated(fd, 5), 1 << 20);
}
END_TEST

static Suite *allocate_ahead_suite(void)
{
	Suite *suite = suite_create("allocate_ahead");
	TCase *tests = tcase_create("allocate_ahead");
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, blocks_come_ahead_and_go_back);
	tcase_add_test(tests, memory_is_not_allocated);
	tcase_add_test(tests, a_failure_and_a_size_limit_are_ignored);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(allocate_ahead_suite)

/* Full segments are written back and leave the page cache, in order, and nobody waits for that:
 * runtime/storage/blocks/writeback.c. */
#include "storage/blocks/writeback.h"

#include <dirent.h>
#include <fcntl.h>
#include <semaphore.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "storage/blocks/block_writer.h"
#include "tests/support/recording.h"

#define PAYLOAD_BYTES (200u << 10)
#define PIECE_BYTES WRITEBACK_BYTES
#define CALLS_MAX 8u

static struct epf_block *block;
static struct block_writer writer;
static char *path;
static int fd;

static sem_t may_go;
static _Atomic bool blocks;
static _Atomic unsigned begun_count, calls_count;
static struct call {
	uint64_t offset, bytes;
} calls[CALLS_MAX];

static void shim(int of, uint64_t offset, uint64_t bytes)
{
	unsigned call = begun_count++;
	ck_assert_int_ne(of, fd);
	if (blocks)
		sem_wait(&may_go);
	if (call < CALLS_MAX)
		calls[call] = (struct call){ offset, bytes };
	calls_count++;
}

static void wait_for(const _Atomic unsigned *count, unsigned at_least)
{
	while (*count < at_least)
		recording_sleep_ms(1);
}

static void set_up(void)
{
	block = calloc(1, sizeof(*block) + PAYLOAD_BYTES);
	path = check_path("written.epp");
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0666);
	ck_assert_int_ge(fd, 0);
	sem_init(&may_go, 0, 0);
	blocks = false;
	begun_count = calls_count = 0;
	writeback_inject(shim);
	block_writer_init(&writer, fd, 0);
}

static void tear_down(void)
{
	writeback_inject(NULL);
	/* What is removed is not written to the disk. */
	unlink(path);
	free(block);
}

/* Until the file's segments have this size. */
static void write_until(uint64_t bytes)
{
	while (writer.current.at < bytes) {
		*block = (struct epf_block){ .type = EPF_BLOCK_RECORDS, .payload_bytes = PAYLOAD_BYTES };
		ck_assert_int_eq(block_writer_append(&writer, block), 0);
	}
}

static unsigned open_files(void)
{
	unsigned count = 0;
	DIR *directory = opendir("/proc/self/fd");
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

START_TEST(pieces_follow_each_other)
{
	write_until(PIECE_BYTES - EPF_SEGMENT_BYTES);
	ck_assert_ptr_null(writer.writeback);
	for (unsigned pieces = 1; pieces <= 3; pieces++) {
		write_until(pieces * PIECE_BYTES + 1);
		wait_for(&calls_count, pieces);
		ck_assert_uint_eq(calls[pieces - 1].offset, EPF_SEGMENTS_OFFSET + (pieces - 1) * PIECE_BYTES);
		ck_assert_uint_eq(calls[pieces - 1].bytes, PIECE_BYTES);
	}
	block_writer_deinit(&writer);
	ck_assert_uint_eq(calls_count, 3);
	close(fd);
}
END_TEST

static _Atomic uint64_t advanced;

static void *advance_far(void *writeback)
{
	for (uint64_t end = PIECE_BYTES; end <= WRITEBACK_BEHIND_MAX + 3 * PIECE_BYTES; end += PIECE_BYTES) {
		writeback_advance(writeback, end);
		if (calls_count == 0)
			ck_assert_uint_le(end, WRITEBACK_BEHIND_MAX);
		advanced = end;
	}
	return NULL;
}

/* The disk hangs for longer: the page cache does not take more and more. */
START_TEST(a_disk_that_is_far_behind_is_waited_for)
{
	blocks = true;
	struct writeback *writeback = writeback_begin(fd, 0);
	pthread_t thread = recording_thread(advance_far, writeback);
	while (advanced < WRITEBACK_BEHIND_MAX)
		recording_sleep_ms(1);
	recording_sleep_ms(20);
	ck_assert_uint_eq(advanced, WRITEBACK_BEHIND_MAX);
	blocks = false;
	sem_post(&may_go);
	pthread_join(thread, NULL);
	wait_for(&calls_count, WRITEBACK_BEHIND_MAX / PIECE_BYTES + 3);
	writeback_end(writeback);
	close(fd);
}
END_TEST

/* The disk hangs: appends and the end go on, and the file's lock is free at once. */
START_TEST(nobody_waits)
{
	blocks = true;
	ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
	write_until(PIECE_BYTES + 1);
	wait_for(&begun_count, 1);
	write_until(4 * PIECE_BYTES + 1);
	sem_post(&may_go);
	wait_for(&begun_count, 2);
	block_writer_deinit(&writer);
	close(fd);
	int again = open(path, O_RDWR);
	ck_assert_int_eq(flock(again, LOCK_EX | LOCK_NB), 0);
	ck_assert_uint_eq(calls_count, 1);
	sem_post(&may_go);
	wait_for(&calls_count, 2);
	ck_assert_uint_eq(calls[1].offset, EPF_SEGMENTS_OFFSET + PIECE_BYTES);
	ck_assert_uint_eq(calls[1].bytes, PIECE_BYTES);
	close(again);
}
END_TEST

static size_t present(const uint8_t *mapped, size_t bytes)
{
	unsigned char pages[64];
	size_t count = 0;
	ck_assert_int_eq(mincore((void *)(uintptr_t)mapped, bytes, pages), 0);
	for (size_t i = 0; i < bytes / EPF_PAGE_BYTES; i++)
		count += pages[i] & 1;
	return count;
}

/* In the folder of the build, which is on a disk: in a file system in memory, pages stay. */
START_TEST(pages_leave_the_cache)
{
	static const char name[] = CHECK_BUILD "/check_writeback.tmp";
	static const uint8_t bytes[64 * EPF_PAGE_BYTES] = { 1 };
	int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	ck_assert_int_eq(write(file, bytes, sizeof(bytes)), sizeof(bytes));
	const uint8_t *mapped = mmap(NULL, sizeof(bytes), PROT_READ, MAP_SHARED, file, 0);
	ck_assert_ptr_ne(mapped, MAP_FAILED);
	ck_assert_uint_eq(present(mapped, sizeof(bytes)), 64);
	writeback_inject(NULL);
	struct writeback *writeback = writeback_begin(file, 0);
	writeback_advance(writeback, sizeof(bytes));
	while (present(mapped, sizeof(bytes)) > 0)
		recording_sleep_ms(1);
	writeback_end(writeback);
	close(file);
	unlink(name);
}
END_TEST

/* Its pages are few, and are overwritten. */
START_TEST(a_ring_has_no_thread)
{
	block_writer_deinit(&writer);
	ck_assert(block_writer_init_ring(&writer, fd, 8u * EPF_SEGMENT_BYTES));
	for (unsigned i = 0; i < 3 * PIECE_BYTES / PAYLOAD_BYTES; i++) {
		*block = (struct epf_block){ .type = EPF_BLOCK_RECORDS, .payload_bytes = PAYLOAD_BYTES };
		ck_assert_int_eq(block_writer_append(&writer, block), 0);
		block_writer_count(&writer, 1, 1, 0);
	}
	ck_assert_uint_gt(writer.numbers, 32);
	ck_assert_ptr_null(writer.writeback);
	block_writer_deinit(&writer);
	close(fd);
}
END_TEST

/* The file is in the folder of the build, since nothing is allocated ahead in memory. */
START_TEST(blocks_are_allocated_ahead)
{
	static const char name[] = CHECK_BUILD "/check_writeback_ahead.tmp";
	struct stat st;
	int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	block_writer_init(&writer, file, 0);
	write_until(PIECE_BYTES + 1);
	ck_assert_int_eq(fstat(file, &st), 0);
	ck_assert_uint_ge((uint64_t)st.st_blocks * 512, ALLOCATE_AHEAD_BYTES);
	ck_assert_int_lt(st.st_size, EPF_SEGMENTS_OFFSET + 2 * PIECE_BYTES);
	block_writer_end(&writer);
	off_t bytes = st.st_size;
	ck_assert_int_eq(fstat(file, &st), 0);
	ck_assert_int_eq(st.st_size, bytes);
	ck_assert_uint_lt((uint64_t)st.st_blocks * 512, 2 * PIECE_BYTES);
	block_writer_deinit(&writer);
	close(file);
	unlink(name);
}
END_TEST

START_TEST(without_a_descriptor_the_file_goes_on)
{
	struct rlimit before;
	getrlimit(RLIMIT_NOFILE, &before);
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 3, before.rlim_max });
	write_until(PIECE_BYTES + 1);
	ck_assert_ptr_null(writer.writeback);
	setrlimit(RLIMIT_NOFILE, &before);
	write_until(2 * PIECE_BYTES + 1);
	wait_for(&calls_count, 1);
	block_writer_deinit(&writer);
	close(fd);
}
END_TEST

START_TEST(a_child_closes_its_descriptor)
{
	write_until(PIECE_BYTES + 1);
	wait_for(&calls_count, 1);
	pid_t child = fork();
	if (child == 0) {
		unsigned before = open_files();
		writeback_fork_child(writer.writeback);
		_exit(open_files() == before - 1 ? 0 : 1);
	}
	int status;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	write_until(2 * PIECE_BYTES + 1);
	wait_for(&calls_count, 2);
	block_writer_deinit(&writer);
	close(fd);
}
END_TEST

static Suite *writeback_suite(void)
{
	Suite *suite = suite_create("writeback");
	TCase *tests = tcase_create("writeback");
	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, pieces_follow_each_other);
	tcase_add_test(tests, nobody_waits);
	tcase_add_test(tests, a_disk_that_is_far_behind_is_waited_for);
	tcase_add_test(tests, pages_leave_the_cache);
	tcase_add_test(tests, a_ring_has_no_thread);
	tcase_add_test(tests, blocks_are_allocated_ahead);
	tcase_add_test(tests, without_a_descriptor_the_file_goes_on);
	tcase_add_test(tests, a_child_closes_its_descriptor);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(writeback_suite)

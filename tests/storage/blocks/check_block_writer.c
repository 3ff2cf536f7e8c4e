/* Blocks, one behind the other, into a file and into memory: runtime/storage/blocks/block_writer.c. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "codec/checksum.h"
#include "storage/blocks/block_writer.h"
#include "tests/support/recording.h"

#define PAYLOAD_MAX (210u << 10)

static struct epf_block *block;

static void set_up(void)
{
	block = calloc(1, sizeof(*block) + PAYLOAD_MAX);
}

static void tear_down(void)
{
	free(block);
}

/* A block whose payload tells its number and its length. */
static int append(struct block_writer *writer, unsigned number, size_t bytes)
{
	*block = (struct epf_block){ .type = EPF_BLOCK_RECORDS,
		                     .payload_bytes = (uint32_t)bytes,
		                     .sequence = number,
		                     .first_ticks = 1000 + number,
		                     .last_ticks = 2000 + number };
	memset(block + 1, (int)(number % 251), bytes);
	return block_writer_append(writer, block);
}

/* The same of three blocks with one write; -1: there is no room for that. */
static int append_three(struct block_writer *writer, unsigned number, size_t bytes)
{
	size_t each = (sizeof(*block) + bytes + 7) & ~(size_t)7;
	if (block_writer_room(writer) < 3 * each)
		return -1;
	uint8_t *blocks = malloc(3 * each);
	memset(blocks, 0xee, 3 * each);
	for (unsigned i = 0; i < 3; i++) {
		struct epf_block *one = (struct epf_block *)(void *)(blocks + i * each);
		*one = (struct epf_block){ .type = EPF_BLOCK_RECORDS,
			                   .payload_bytes = (uint32_t)bytes,
			                   .sequence = number + i,
			                   .first_ticks = 1000 + number + i,
			                   .last_ticks = 2000 + number + i };
		memset(one + 1, (int)((number + i) % 251), bytes);
	}
	int error = block_writer_append_several(writer, (struct epf_block *)(void *)blocks, 3 * each);
	free(blocks);
	ck_assert_int_eq(writer->error, error);
	return error;
}

/* Reads blocks as format.h says; each must be what `append` made.  Returns how many there were. */
static unsigned count_blocks(const uint8_t *bytes, size_t bytes_count)
{
	unsigned count = 0;
	for (uint64_t number = 1; number * EPF_SEGMENT_BYTES - EPF_SEGMENT_BYTES < bytes_count; number++) {
		size_t start = (number - 1) * EPF_SEGMENT_BYTES, end = start + EPF_SEGMENT_BYTES;
		struct epf_segment segment;
		memcpy(&segment, bytes + start, sizeof(segment));
		uint32_t sum = segment.checksum;
		segment.checksum = 0;
		ck_assert_uint_eq(segment.magic, EPF_SEGMENT_MAGIC);
		ck_assert_uint_eq(sum, checksum_crc32c(0, &segment, sizeof(segment)));
		ck_assert_uint_eq(segment.number, number);
		uint64_t first = UINT64_MAX, last = 0;
		if (end > bytes_count)
			end = bytes_count;
		for (size_t at = start + EPF_SEGMENT_HEADER_BYTES; at + sizeof(struct epf_block) <= end;) {
			struct epf_block one;
			memcpy(&one, bytes + at, sizeof(one));
			if (one.magic != EPF_BLOCK_MAGIC || one.payload_bytes > end - at - sizeof(one))
				break;
			uint32_t checksum = one.checksum;
			one.checksum = 0;
			uint32_t right = checksum_crc32c(checksum_crc32c(0, &one, sizeof(one)),
			                                 bytes + at + sizeof(one), one.payload_bytes);
			if (checksum != right)
				break;
			ck_assert_uint_eq(one.sequence, ++count);
			for (size_t i = 0; i < one.payload_bytes; i++)
				if (bytes[at + sizeof(one) + i] != one.sequence % 251)
					ck_abort_msg("block %u is not what was written", count);
			first = one.first_ticks < first ? one.first_ticks : first;
			last = one.last_ticks > last ? one.last_ticks : last;
			at = (at + sizeof(one) + one.payload_bytes + 7) & ~(size_t)7;
		}
		/* A segment that is full says which times it holds; the last one does not know yet. */
		if (number * EPF_SEGMENT_BYTES < bytes_count) {
			ck_assert_uint_eq(segment.first_ticks, first);
			ck_assert_uint_eq(segment.last_ticks, last);
		} else {
			ck_assert_uint_eq(segment.first_ticks, 0);
		}
	}
	return count;
}

static uint8_t *read_all(const char *path, size_t *bytes)
{
	struct stat st;
	int fd = open(path, O_RDONLY);
	ck_assert_int_ge(fd, 0);
	fstat(fd, &st);
	*bytes = (size_t)st.st_size - EPF_SEGMENTS_OFFSET;
	uint8_t *all = malloc(*bytes);
	ck_assert_int_eq(pread(fd, all, *bytes, EPF_SEGMENTS_OFFSET), (ssize_t)*bytes);
	close(fd);
	return all;
}

static const size_t lengths[] = { 0, 1, 7, 8, 9, 100, 4096, 65536, 131072, 200u << 10 };

START_TEST(memory_and_file_are_alike)
{
	struct block_writer memory, file;
	char *path = check_path("blocks");
	int fd = open(path, O_RDWR | O_CREAT, 0666);
	block_writer_init(&memory, -1, 0);
	block_writer_init(&file, fd, 0);
	unsigned count = 0;
	while (count < 400) {
		ck_assert_int_eq(append(&memory, count + 1, lengths[count % 10] + count), 0);
		ck_assert_int_eq(append(&file, count + 1, lengths[count % 10] + count), 0);
		count++;
	}
	ck_assert_uint_eq(file.blocks_count, count);
	ck_assert_uint_eq(memory.current.at, file.current.at);
	size_t bytes;
	uint8_t *all = read_all(path, &bytes), *copy = calloc(1, memory.current.at + 100);
	size_t done = block_writer_read(&memory, 0, copy, memory.current.at + 100);
	ck_assert_uint_eq(done, memory.current.at);
	ck_assert_uint_eq(count_blocks(all, bytes), count);
	ck_assert_uint_eq(count_blocks(copy, done), count);
	ck_assert_mem_eq(all, copy, bytes < done ? bytes : done);
	ck_assert_uint_eq(block_writer_read(&memory, memory.current.at, copy, 1), 0);
	ck_assert_uint_eq(block_writer_read(&memory, UINT64_MAX, copy, 1), 0);
	ck_assert_uint_eq(block_writer_read(&memory, 12345, copy, 777), 777);
	ck_assert_mem_eq(copy, all + 12345, 777);
	block_writer_deinit(&memory);
	block_writer_deinit(&file);
	close(fd);
	free(all);
	free(copy);
}
END_TEST

START_TEST(several_with_one_write)
{
	struct block_writer one_by_one, together;
	char *paths[] = { strdup(check_path("one")), strdup(check_path("together")) };
	int fds[] = { open(paths[0], O_RDWR | O_CREAT, 0666), open(paths[1], O_RDWR | O_CREAT, 0666) };
	block_writer_init(&one_by_one, fds[0], 0);
	block_writer_init(&together, fds[1], 0);
	/* A segment has to be begun first. */
	ck_assert_uint_eq(block_writer_room(&together), 0);
	unsigned count = 0, batches = 0;
	while (count < 400) {
		size_t bytes = lengths[count % 7] + count;
		int error = append_three(&together, count + 1, bytes);
		ck_assert_int_le(error, 0);
		batches += !error;
		for (unsigned i = 0; i < 3; i++) {
			ck_assert_int_eq(append(&one_by_one, count + i + 1, bytes), 0);
			if (error)
				ck_assert_int_eq(append(&together, count + i + 1, bytes), 0);
		}
		count += 3;
	}
	ck_assert_uint_gt(batches, 100);
	ck_assert_uint_eq(together.blocks_count, count);
	ck_assert_uint_eq(together.current.at, one_by_one.current.at);
	size_t bytes[2];
	uint8_t *all[] = { read_all(paths[0], &bytes[0]), read_all(paths[1], &bytes[1]) };
	ck_assert_uint_eq(count_blocks(all[1], bytes[1]), count);
	ck_assert_mem_eq(all[0], all[1], bytes[0] < bytes[1] ? bytes[0] : bytes[1]);
	for (unsigned i = 0; i < 2; i++) {
		close(fds[i]);
		free(all[i]);
		free(paths[i]);
	}
	block_writer_deinit(&one_by_one);
	block_writer_deinit(&together);
}
END_TEST

START_TEST(memory_comes_back_clean)
{
	uint8_t *copy = malloc(3 << 20);
	for (int round = 0; round < 3; round++) {
		struct block_writer writer;
		block_writer_init(&writer, -1, 0);
		unsigned count = 0;
		/* Long ones first, then short ones in the same memory. */
		while (writer.current.at < (2 << 20) + 100000)
			ck_assert_int_eq(append(&writer, ++count, round ? 17 : 90000), 0);
		size_t done = block_writer_read(&writer, 0, copy, 3 << 20);
		ck_assert_uint_eq(count_blocks(copy, done), count);
		block_writer_deinit(&writer);
	}
	free(copy);
}
END_TEST

START_TEST(a_limit_leaves_room_to_explain)
{
	struct block_writer writer;
	const uint64_t limit = 2 << 20;
	block_writer_init(&writer, -1, limit);
	unsigned count = 0;
	int error;
	while (!(error = append(&writer, count + 1, 1000)))
		count++;
	ck_assert_int_eq(error, ENOBUFS);
	ck_assert_int_eq(writer.error, ENOBUFS);
	ck_assert_uint_eq(block_writer_room(&writer), 0);
	ck_assert_uint_le(writer.current.at, limit - limit / 8);
	ck_assert_uint_gt(writer.current.at, limit - limit / 8 - 2000);
	while (true) {
		*block = (struct epf_block){ .type = EPF_BLOCK_LEDGER,
			                     .payload_bytes = 1000,
			                     .sequence = ++count,
			                     .first_ticks = 5000,
			                     .last_ticks = 5000 };
		memset(block + 1, (int)(count % 251), 1000);
		if (block_writer_append(&writer, block))
			break;
	}
	ck_assert_uint_le(writer.current.at, limit);
	ck_assert_uint_gt(writer.current.at, limit - 2000);
	uint8_t *copy = malloc(limit);
	size_t done = block_writer_read(&writer, 0, copy, limit);
	ck_assert_uint_eq(count_blocks(copy, done), count - 1);
	free(copy);
	block_writer_deinit(&writer);
}
END_TEST

/* In a child: a file-size limit that moves by a step each time, so that writes are cut off at every place. */
static int write_under_limits(const char *path, size_t step)
{
	struct block_writer writer;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
	unsigned count = 0, failed = 0;
	signal(SIGXFSZ, SIG_DFL);
	block_writer_init(&writer, fd, 0);
	for (rlim_t limit = EPF_SEGMENTS_OFFSET; failed < 100; limit += step) {
		setrlimit(RLIMIT_FSIZE, &(struct rlimit){ limit, RLIM_INFINITY });
		int error;
		/* What failed is tried again, or something shorter is, in its place; and some with one write. */
		while (failed % 2 && !append_three(&writer, count + 1, 9001))
			count += 3;
		while (!(error = append(&writer, count + 1, failed % 3 ? 40000 : 11)))
			count++;
		if (error != EFBIG)
			return 2;
		failed++;
	}
	close(fd);
	sigset_t pending;
	sigpending(&pending);
	return sigismember(&pending, SIGXFSZ) || count < 20 ? 3 : 0;
}

START_TEST(writes_that_are_cut_off)
{
	char *path = check_path("cut-%d", _i);
	static const size_t steps[] = { 1000, 12345, 39999 };
	pid_t child = fork();
	if (child == 0)
		_exit(write_under_limits(path, steps[_i]));
	int status;
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	size_t bytes;
	uint8_t *all = read_all(path, &bytes);
	ck_assert_uint_ge(count_blocks(all, bytes), 20);
	free(all);
}
END_TEST

static Suite *block_writer_suite(void)
{
	Suite *suite = suite_create("block_writer");
	TCase *tcase = tcase_create("block_writer");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, memory_and_file_are_alike);
	tcase_add_test(tcase, several_with_one_write);
	tcase_add_test(tcase, memory_comes_back_clean);
	tcase_add_test(tcase, a_limit_leaves_room_to_explain);
	tcase_add_loop_test(tcase, writes_that_are_cut_off, 0, 3);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(block_writer_suite)

/* Windows: files made, locked, finished and given up, and clean ones from the pool: runtime/storage/window/window.c,
 * window_room.c. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "codec/checksum.h"
#include "storage/window/window.h"
#include "tests/support/emulated.h"
#include "tests/support/recording.h"

#define FIRST_BYTES ((size_t)EPF_CHUNKS_OFFSET + (size_t)WINDOW_FIRST_CHUNKS * EPF_CHUNK_BYTES)

/* What the file system of every file is said to be; 0: the truth. */
static uint32_t said;

__attribute__((visibility("default"))) int fstatfs(int fd, struct statfs *system);
int fstatfs(int fd, struct statfs *system)
{
	int result = (int)syscall(SYS_fstatfs, fd, system);
	if (said)
		system->f_type = (__typeof__(system->f_type))said;
	return result;
}

static const struct epf_header plain = { .created_unix_ns = 77, .file_id = { 1, 2, 3 } };

static int grow(struct window *window)
{
	struct chunk_range added;
	return window_grow(window, &added);
}

/* All chunks that have room from the beginning are made usable. */
static void prepare(struct window *window)
{
	while (!window_is_whole(window))
		ck_assert_int_eq(grow(window), 0);
	ck_assert_uint_eq(window->chunks_count, WINDOW_FIRST_CHUNKS);
}

static void check_header(const struct epf_header *header, uint32_t state)
{
	struct epf_header copy = *header;
	copy.state = copy.checksum = 0;
	ck_assert_mem_eq(header->magic, EPF_MAGIC, 8);
	ck_assert_uint_eq(header->state, state);
	ck_assert_uint_eq(header->checksum, checksum_crc32c(0, &copy, offsetof(struct epf_header, checksum)));
	ck_assert_uint_eq(header->created_unix_ns, 77);
	ck_assert_uint_eq(header->segments_offset, EPF_SEGMENTS_OFFSET);
	ck_assert_uint_eq(header->chunk_count, EPF_CHUNK_COUNT);
}

static struct epf_header read_header(const char *path)
{
	struct epf_header header = { .state = 99 };
	int fd = open(path, O_RDONLY);
	ck_assert_int_eq(read(fd, &header, sizeof(header)), sizeof(header));
	close(fd);
	return header;
}

START_TEST(a_file_is_made_mapped_and_finished)
{
	struct window window, second;
	struct stat st;
	char *path = check_path("window.epp");
	check_ok(window_open_file(path, false, &plain, &window));
	check_header(window.header, EPF_RECORDING);
	ck_assert(window_is_shared(&window));
	ck_assert_uint_eq(window.header->features, 0);
	ck_assert_ptr_eq(window.slots, window.base + EPF_SLOTS_OFFSET);
	ck_assert_ptr_eq(window.chunks + EPF_CHUNK_COUNT * EPF_CHUNK_BYTES, window.extents);
	ck_assert_ptr_eq(window.extents + EPF_LOG_EXTENTS * EPF_LOG_BYTES, window.base + WINDOW_BYTES);
	/* A store is in the file at once. */
	window.slots[5].thread_id = 4711;
	int fd = open(path, O_RDONLY);
	struct epf_slot slot;
	ck_assert_int_eq(pread(fd, &slot, sizeof(slot), EPF_SLOTS_OFFSET + 5 * EPF_SLOT_BYTES), sizeof(slot));
	ck_assert_uint_eq(slot.thread_id, 4711);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(st.st_size, WINDOW_BYTES);
	ck_assert_uint_ge((uint64_t)st.st_blocks * 512, FIRST_BYTES);
	ck_assert_uint_lt((uint64_t)st.st_blocks * 512, FIRST_BYTES + (8 << 20));
	/* Nobody else may write it, in this process or another. */
	check_fails(EPP_BUSY, window_open_file(path, true, &plain, &second));
	ck_assert_ptr_null(second.base);
	ck_assert_int_eq(second.fd, -1);
	check_fails(EPP_IO, window_open_file(path, false, &plain, &second));
	ck_assert_uint_gt(window_populate(&window, 0), 0);
	ck_assert_uint_eq(window.slots[5].thread_id, 4711);
	ck_assert_int_eq(window_finish(&window), 0);
	window_close(&window, 6, 0);
	ck_assert_ptr_null(window.base);
	window_close(&window, 0, 0);
	struct epf_header header = read_header(path);
	check_header(&header, EPF_FINISHED);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(st.st_size, WINDOW_BYTES);
	ck_assert_uint_le((uint64_t)st.st_blocks * 512, 64 << 10);
	close(fd);
	check_ok(window_open_file(path, true, &plain, &second));
	check_header(second.header, EPF_RECORDING);
	ck_assert_uint_eq(second.slots[5].thread_id, 0);
	window_close(&second, 0, 0);
}
END_TEST

static uint64_t disk_bytes(int fd)
{
	struct stat st;
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(st.st_size, WINDOW_BYTES);
	return (uint64_t)st.st_blocks * 512;
}

START_TEST(a_window_grows_and_gives_all_back)
{
	struct window window;
	char *path = check_path("grows.epp");
	check_ok(window_open_file(path, false, &plain, &window));
	int fd = open(path, O_RDONLY);
	uint8_t *base = window.base;
	prepare(&window);
	for (uint32_t count = WINDOW_FIRST_CHUNKS; count < EPF_CHUNK_COUNT; count += WINDOW_STEP_CHUNKS) {
		ck_assert_uint_eq(window.chunks_count, count);
		ck_assert_int_eq(grow(&window), 0);
		ck_assert_uint_ge(disk_bytes(fd),
		                  FIRST_BYTES + (count - WINDOW_FIRST_CHUNKS + WINDOW_STEP_CHUNKS) * EPF_CHUNK_BYTES);
		/* A store into what is new is in the file at once. */
		size_t at = EPF_CHUNKS_OFFSET + (size_t)count * EPF_CHUNK_BYTES + 12345;
		uint8_t byte = 0;
		ck_assert_uint_eq(base[at], 0);
		base[at] = 77;
		ck_assert_int_eq(pread(fd, &byte, 1, (off_t)at), 1);
		ck_assert_uint_eq(byte, 77);
	}
	ck_assert_uint_eq(window.chunks_count, EPF_CHUNK_COUNT);
	ck_assert_int_eq(grow(&window), ENOBUFS);
	ck_assert_ptr_eq(window.base, base);
	/* All of it is kept populated: round once, to where it began. */
	size_t at = 0, parts = 0;
	do
		at = window_populate(&window, at), parts++;
	while (at && parts < 1000);
	ck_assert_uint_ge(parts, EPF_EXTENTS_OFFSET >> 20);
	ck_assert_uint_lt(parts, 1000);
	ck_assert_int_eq(window_finish(&window), 0);
	window_close(&window, 0, EPF_CHUNK_COUNT);
	ck_assert_uint_le(disk_bytes(fd), 64 << 10);
	close(fd);
}
END_TEST

/* How many of the pages are in memory. */
static size_t present(uint8_t *at, size_t bytes)
{
	static unsigned char pages[WINDOW_BYTES / EPF_PAGE_BYTES];
	size_t count = 0;
	ck_assert_int_eq(mincore(at, bytes, pages), 0);
	for (size_t i = 0; i < bytes / EPF_PAGE_BYTES; i++)
		count += pages[i] & 1;
	return count;
}

/* Of the chunks and the log what is usable, and of the slots the first and more with each step. */
static void check_present(const struct window *window, size_t slots)
{
	const size_t slots_bytes = slots * EPF_SLOT_BYTES, chunks = (size_t)window->chunks_count * EPF_CHUNK_BYTES;

	ck_assert_uint_eq(present(window->base, EPF_SLOTS_OFFSET + slots_bytes),
	                  (EPF_SLOTS_OFFSET + slots_bytes) / EPF_PAGE_BYTES);
	ck_assert_uint_eq(present(window->log, EPF_LOG_BYTES), EPF_LOG_BYTES / EPF_PAGE_BYTES);
	ck_assert_uint_eq(present(window->chunks, chunks), chunks / EPF_PAGE_BYTES);
}

/* A new window is touched as far as its usable chunks go, and no further; a chunk is touched before it is usable. */
START_TEST(what_is_usable_was_touched)
{
	struct window window;
	check_ok(window_open_file(check_path("touched.epp"), false, &plain, &window));
	const size_t all = (size_t)WINDOW_FIRST_CHUNKS * EPF_CHUNK_BYTES, all_slots = EPF_SLOT_COUNT * EPF_SLOT_BYTES;
	ck_assert_uint_eq(window.chunks_count, WINDOW_READY_CHUNKS);
	ck_assert_uint_lt(present(window.chunks, all), all / EPF_PAGE_BYTES / 2);
	ck_assert_uint_lt(present((uint8_t *)window.slots, all_slots), all_slots / EPF_PAGE_BYTES / 2);
	while (!window_is_whole(&window)) {
		uint32_t count = window.chunks_count;
		check_present(&window, WINDOW_READY_SLOTS);
		/* What is in use is left as it is. */
		memset(window.chunks + (size_t)(count - 1) * EPF_CHUNK_BYTES, 77, EPF_CHUNK_BYTES);
		memset(window.slots, 78, all_slots);
		ck_assert_int_eq(grow(&window), 0);
		ck_assert_uint_eq(window.chunks_count, count + WINDOW_PREPARE_CHUNKS);
		for (size_t i = 0; i < EPF_CHUNK_BYTES; i += 4095)
			ck_assert_uint_eq(window.chunks[(size_t)(count - 1) * EPF_CHUNK_BYTES + i], 77);
		for (size_t i = 0; i < all_slots; i += 4095)
			ck_assert_uint_eq(((uint8_t *)window.slots)[i], 78);
		ck_assert_uint_eq(window.chunks[(size_t)count * EPF_CHUNK_BYTES], 0);
	}
	window_close(&window, 0, 0);
}
END_TEST

/* Slots too become present before threads need them. */
START_TEST(slots_are_prepared)
{
	struct window window;
	check_ok(window_open_file(check_path("slots.epp"), false, &plain, &window));
	for (size_t slots = WINDOW_READY_SLOTS; !window_is_whole(&window);) {
		check_present(&window, slots);
		ck_assert_int_eq(grow(&window), 0);
		slots += WINDOW_PREPARE_SLOTS;
		slots = slots < EPF_SLOT_COUNT ? slots : EPF_SLOT_COUNT;
	}
	check_present(&window, EPF_SLOT_COUNT);
	window_close(&window, 0, 0);
}
END_TEST

/* Chunks that cannot be prepared are not used, and are prepared later. */
START_TEST(a_window_that_cannot_be_prepared)
{
	struct window window;
	char *path = check_path("unprepared.epp");
	check_ok(window_open_file(path, false, &plain, &window));
	int fd = window.mapped_fd;
	window.mapped_fd = open(path, O_RDONLY);
	ck_assert_int_eq(grow(&window), EBADF);
	ck_assert_uint_eq(window.chunks_count, WINDOW_READY_CHUNKS);
	close(window.mapped_fd);
	window.mapped_fd = fd;
	prepare(&window);
	window_close(&window, 0, 0);
}
END_TEST

/* Whatever the reason, it is as before: it may go on, and grow later. */
START_TEST(a_window_that_cannot_grow)
{
	struct window window;
	char *path = check_path("stays.epp");
	check_ok(window_open_file(path, false, &plain, &window));
	prepare(&window);
	uint64_t before = disk_bytes(window.fd);
	int fd = window.mapped_fd;
	window.mapped_fd = open(path, O_RDONLY);
	ck_assert_int_ne(grow(&window), 0);
	ck_assert_uint_eq(window.chunks_count, WINDOW_FIRST_CHUNKS);
	ck_assert_uint_eq(disk_bytes(fd), before);
	close(window.mapped_fd);
	window.mapped_fd = fd;
	ck_assert_int_eq(grow(&window), 0);
	ck_assert_uint_eq(window.chunks_count, WINDOW_FIRST_CHUNKS + WINDOW_STEP_CHUNKS);
	window_close(&window, 0, 0);
}
END_TEST

/* Where a store may wait for a program, or be a SIGBUS, nothing is mapped. */
START_TEST(a_place_that_maps_badly)
{
	static const uint32_t kinds[] = { 0x9123683e, 0x65735546 };
	struct window window;
	char *path = strdup(check_path("badly.epp"));
	for (unsigned i = 0; i < 2; i++) {
		said = kinds[i];
		ck_assert_int_eq(setenv("EPPROF_WINDOW_DIR", "/dev/shm", 1), 0);
		check_fails(EPP_INVALID_ARGUMENT, window_open_file(path, true, &plain, &window));
		ck_assert_int_ne(access(path, F_OK), 0);
		ck_assert_ptr_null(window.base);
		unsetenv("EPPROF_WINDOW_DIR");
		/* Here /dev/shm is called the same, which leaves memory that no kill leaves. */
		check_ok(window_open_file(path, true, &plain, &window));
		ck_assert(!window_is_shared(&window));
		ck_assert(window.header->features & EPF_FEATURE_NO_SURVIVAL);
		window_close(&window, 0, 0);
	}
	free(path);
}
END_TEST

START_TEST(a_window_that_is_given_up)
{
	struct window window, again;
	char *path = check_path("given-up.epp");
	check_ok(window_open_file(path, false, &plain, &window));
	uint8_t *base = window.base;
	window_abandon(&window);
	ck_assert_ptr_null(window.base);
	/* Somebody may still store there, so the file is not to be had. */
	base[EPF_CHUNKS_OFFSET] = 1;
	check_fails(EPP_BUSY, window_open_file(path, true, &plain, &again));
	munmap(base, WINDOW_BYTES);
	check_ok(window_open_file(path, true, &plain, &again));
	window_close(&again, 0, 0);
}
END_TEST

START_TEST(a_child_lets_go)
{
	struct window window;
	char *path = check_path("child.epp");
	check_ok(window_open_file(path, false, &plain, &window));
	window.slots[0].thread_id = 1;
	pid_t child = fork();
	if (child == 0) {
		window_drop(&window);
		window_fork_child();
		_exit(window.base ? 1 : 0);
	}
	int status;
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(window.slots[0].thread_id, 1);
	/* The lock is still held. */
	struct window second;
	check_fails(EPP_BUSY, window_open_file(path, true, &plain, &second));
	window_close(&window, 1, 0);
}
END_TEST

/* ---- memory ---- */

/* As sessions leave them: slots and region headers dirty, records zeroed. */
static void soil(const struct window *window, uint32_t slots, uint32_t chunks)
{
	memset(window->live, 0xAB, EPF_SLOTS_OFFSET - EPF_LIVE_OFFSET);
	memset(window->slots, 0xAB, slots * sizeof(*window->slots));
	for (uint32_t i = 0; i < chunks; i++)
		memset(window->chunks + i * EPF_CHUNK_BYTES, 0xAB, sizeof(struct epf_region));
}

static void check_clean(const struct window *window)
{
	static const uint8_t zero[EPF_CHUNK_BYTES];
	check_header(window->header, EPF_RECORDING);
	for (size_t at = EPF_LIVE_OFFSET; at < EPF_LOG_OFFSET; at += EPF_PAGE_BYTES)
		ck_assert_mem_eq(window->base + at, zero, EPF_PAGE_BYTES);
	for (size_t at = EPF_CHUNKS_OFFSET; at < WINDOW_BYTES; at += EPF_CHUNK_BYTES)
		ck_assert_mem_eq(window->base + at, zero, EPF_CHUNK_BYTES);
}

START_TEST(memory_is_clean_each_time)
{
	static const uint32_t used[][2] = { { 0, 0 },
		                            { 1, 1 },
		                            { WINDOW_WARM_SLOTS, WINDOW_WARM_CHUNKS },
		                            { WINDOW_WARM_SLOTS + 1, WINDOW_WARM_CHUNKS + 1 },
		                            { EPF_SLOT_COUNT, EPF_CHUNK_COUNT } };
	uint8_t *first = NULL;
	for (unsigned i = 0; i < 10; i++) {
		struct window window;
		check_ok(window_open_memory(&plain, &window));
		ck_assert_int_eq(window.fd, -1);
		ck_assert(!window_is_shared(&window));
		/* The same memory, or nothing is shown. */
		if (first)
			ck_assert_ptr_eq(window.base, first);
		first = window.base;
		check_clean(&window);
		ck_assert_uint_eq(window.chunks_count, WINDOW_FIRST_CHUNKS);
		while (window.chunks_count < used[i % 5][1])
			ck_assert_int_eq(grow(&window), 0);
		soil(&window, used[i % 5][0], used[i % 5][1]);
		ck_assert_int_eq(window_finish(&window), 0);
		window_close(&window, used[i % 5][0], used[i % 5][1]);
	}
}
END_TEST

START_TEST(more_windows_than_the_pool_keeps)
{
	struct window windows[20];
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 20; i++) {
			check_ok(window_open_memory(&plain, &windows[i]));
			check_clean(&windows[i]);
			soil(&windows[i], 3, 3);
		}
		for (int i = 0; i < 20; i++)
			window_close(&windows[i], 3, 3);
	}
}
END_TEST

/* ---- elsewhere ---- */

START_TEST(a_window_in_a_directory_of_its_own)
{
	struct window window;
	char *directory = check_path("windows"), *path = check_path("elsewhere.epp"), kept[1024];
	struct stat st;
	ck_assert_int_eq(mkdir(directory, 0777), 0);
	setenv("EPPROF_WINDOW_DIR", directory, 1);
	check_ok(window_open_file(path, false, &plain, &window));
	ck_assert_str_eq(window.header->window_path, window.external_path);
	snprintf(kept, sizeof(kept), "%s", window.external_path);
	check_header(window.header, EPF_RECORDING);
	ck_assert_uint_eq(window.header->features, EPF_FEATURE_EXTERNAL_WINDOW);
	struct epf_header header = read_header(path);
	check_header(&header, EPF_RECORDING);
	header = read_header(kept);
	check_header(&header, EPF_RECORDING);
	/* It is that file that grows. */
	int fd = open(kept, O_RDONLY);
	prepare(&window);
	ck_assert_int_eq(grow(&window), 0);
	ck_assert_uint_ge(disk_bytes(fd), FIRST_BYTES + WINDOW_STEP_BYTES);
	ck_assert_int_eq(fstat(window.fd, &st), 0);
	ck_assert_uint_le((uint64_t)st.st_blocks * 512, 64 << 10);
	close(fd);
	ck_assert_int_eq(window_finish(&window), 0);
	window_close(&window, 0, 0);
	header = read_header(path);
	check_header(&header, EPF_FINISHED);
	ck_assert_uint_eq(header.features, 0);
	ck_assert_int_eq(stat(kept, &st), -1);
	setenv("EPPROF_WINDOW_DIR", "relative/path", 1);
	check_fails(EPP_INVALID_ARGUMENT, window_open_file(check_path("x.epp"), false, &plain, &window));
	setenv("EPPROF_WINDOW_DIR", check_path("no/such/directory"), 1);
	check_fails(EPP_NOT_FOUND, window_open_file(check_path("x.epp"), false, &plain, &window));
	ck_assert_int_eq(stat(check_path("x.epp"), &st), -1);
	unsetenv("EPPROF_WINDOW_DIR");
}
END_TEST

static Suite *window_suite(void)
{
	Suite *suite = suite_create("window");
	TCase *tcase = tcase_create("window");
	tcase_add_test(tcase, a_file_is_made_mapped_and_finished);
	tcase_add_test(tcase, a_window_grows_and_gives_all_back);
	tcase_add_test(tcase, what_is_usable_was_touched);
	if (!emulated_without("pages cannot be made present"))
		tcase_add_test(tcase, slots_are_prepared);
	tcase_add_test(tcase, a_window_that_cannot_be_prepared);
	tcase_add_test(tcase, a_window_that_cannot_grow);
	tcase_add_test(tcase, a_place_that_maps_badly);
	tcase_add_test(tcase, a_window_that_is_given_up);
	tcase_add_test(tcase, a_child_lets_go);
	tcase_add_test(tcase, memory_is_clean_each_time);
	tcase_add_test(tcase, more_windows_than_the_pool_keeps);
	tcase_add_test(tcase, a_window_in_a_directory_of_its_own);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(window_suite)

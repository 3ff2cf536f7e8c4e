/* Allocates parts of a window on the disk first, so that no store into the mapping raises SIGBUS, and then makes their
 * pages present, so that no recording thread causes a page fault.
 *
 * An unused part of a file is filled with zeros by write before its pages are mapped: the kernel creates pages for one
 * large write several times faster than for a fault per page (21 MiB on ext4: 2.2 ms instead of 20 ms). */
#include "storage/window/window_room.h"

#include <errno.h>

#include "base/os/os.h"
#include "storage/window/window.h"

#define POPULATE_BYTES ((size_t)1 << 20)
/* If the disk has less free space than this, the window does not grow. */
#define ROOM_TO_SPARE (256ull << 20)

int window_reserve(const struct window *window, int fd, uint64_t offset, uint64_t bytes)
{
	struct os_signals before;
	const uint64_t page = os_page_bytes(), end = (offset + bytes + page - 1) / page * page;
	os_size_limit_hold(&before);
	/* Only the window is allocated here, and not the segments behind it. */
	int error = os_file_reserve(fd, offset, (end < window->bytes ? end : window->bytes) - offset);
	os_size_limit_release(&before, error);
	return error;
}

static int write_zeros(int fd, uint64_t at, size_t bytes)
{
	struct os_signals before;
	os_size_limit_hold(&before);
	int error = os_file_write_zeros(fd, bytes, at);
	os_size_limit_release(&before, error);
	return error;
}

int window_touch(int fd, uint8_t *base, size_t at, size_t bytes)
{
	int error = write_zeros(fd, at, bytes);
	return error ? error : os_memory_populate(base + at, bytes);
}

static size_t bytes_in_use(const struct window *window)
{
	return EPF_CHUNKS_OFFSET + (size_t)window_chunks_count(window) * EPF_CHUNK_BYTES;
}

size_t window_populate(const struct window *window, size_t at)
{
	size_t end = bytes_in_use(window);
	size_t bytes = at + POPULATE_BYTES < end ? POPULATE_BYTES : end - at;
	if (window_is_shared(window))
		os_memory_populate(window->base + at, bytes);
	return at + bytes < end ? at + bytes : 0;
}

static int make_present(const struct window *window, size_t at, size_t bytes)
{
	return window_is_shared(window) ? window_touch(window->mapped_fd, window->base, at, bytes)
	                                : os_memory_populate(window->base + at, bytes);
}

static int reserve_step(const struct window *window, uint64_t offset, size_t bytes)
{
	uint64_t room;
	int error = os_file_free_bytes(window->mapped_fd, &room);
	if (!error && room < ROOM_TO_SPARE)
		error = ENOSPC;
	return error ? error : window_reserve(window, window->mapped_fd, offset, bytes);
}

static int make_usable(const struct window *window, size_t at, size_t bytes)
{
	bool shared = window_is_shared(window);
	int error = shared ? reserve_step(window, at, bytes) : 0;
	if (!error)
		error = make_present(window, at, bytes);
	/* A failed call may have allocated a part. */
	if (error && shared)
		os_file_punch(window->mapped_fd, at, bytes);
	return error;
}

/* Makes some more slots present. Writes no zeros, because a slot may be in use already. */
static void prepare_slots(struct window *window)
{
	uint32_t room = EPF_SLOT_COUNT - window->slots_count;
	uint32_t count = room < WINDOW_PREPARE_SLOTS ? room : WINDOW_PREPARE_SLOTS;
	size_t at = EPF_SLOTS_OFFSET + (size_t)window->slots_count * EPF_SLOT_BYTES;

	if (count)
		os_memory_populate(window->base + at, (size_t)count * EPF_SLOT_BYTES);
	window->slots_count += count;
}

int window_prepare(struct window *window, uint32_t most, struct chunk_range *added)
{
	uint32_t first = window_chunks_count(window), count;

	/* The thread that adds these chunks to chunks_count is the only one that prepares them. */
	do {
		uint32_t room = first < window->chunks_first ? window->chunks_first - first : 0;
		count = room < most ? room : most;
	} while (count && !__atomic_compare_exchange_n(&window->chunks_count, &first, first + count, false,
	                                               __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	*added = (struct chunk_range){ first, count };
	size_t at = EPF_CHUNKS_OFFSET + (size_t)first * EPF_CHUNK_BYTES;
	int error = count ? make_present(window, at, (size_t)count * EPF_CHUNK_BYTES) : 0;
	/* After an error the chunks are removed from the count and tried again later, unless another thread has added
	 * more. */
	uint32_t end = first + count;
	if (error)
		__atomic_compare_exchange_n(&window->chunks_count, &end, first, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return error;
}

int window_grow(struct window *window, struct chunk_range *added)
{
	uint32_t count = window_chunks_count(window);
	if (count == window->chunks_limit)
		return ENOBUFS;
	if (!window_is_whole(window)) {
		prepare_slots(window);
		return window_prepare(window, WINDOW_PREPARE_CHUNKS, added);
	}
	int error = make_usable(window, bytes_in_use(window), WINDOW_STEP_BYTES);
	*added = (struct chunk_range){ count, error ? 0 : WINDOW_STEP_CHUNKS };
	/* window_prepare has no chunks left to add, so this thread is the only one that changes chunks_count. */
	__atomic_store_n(&window->chunks_count, count + added->count, __ATOMIC_RELAXED);
	return error;
}

int window_grow_log(struct window *window)
{
	if (window->log_pieces == EPF_LOG_PIECES)
		return ENOBUFS;
	size_t at = (size_t)(window->extents - window->base) + (size_t)(window->log_pieces - 1) * EPF_LOG_BYTES;
	int error = make_usable(window, at, EPF_LOG_BYTES);
	if (!error)
		window->log_pieces++;
	return error;
}

/* Maps and unmaps windows. Only this file and window_room.c change a file's size. They block the signal of a file-size
 * limit (SIGXFSZ) meanwhile. */
#include "storage/window/window.h"

#include <bsd/string.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os/os.h"
#include "base/output_file.h"
#include "codec/file_header.h"
#include "storage/window/window_room.h"

#define POOL_MAX 16
#define READY_SLOTS_END ((size_t)EPF_SLOTS_OFFSET + (size_t)WINDOW_READY_SLOTS * EPF_SLOT_BYTES)

static const struct window none = { .fd = -1, .mapped_fd = -1 };

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *pool[POOL_MAX];
static unsigned pool_count;

/* Returns the end of the first `count` chunks. */
static size_t chunks_end(uint32_t count)
{
	return EPF_CHUNKS_OFFSET + (size_t)count * EPF_CHUNK_BYTES;
}

/* Returns a window that is not mapped yet. It has `chunks` chunks from the start; 0: the default pool, which grows. */
static struct window sized_window(uint32_t chunks)
{
	struct window window = none;
	window.chunks_ready = chunks ? chunks : WINDOW_READY_CHUNKS;
	window.chunks_first = chunks ? chunks : WINDOW_FIRST_CHUNKS;
	window.chunks_limit = chunks ? chunks : EPF_CHUNK_COUNT;
	window.bytes = chunks_end(window.chunks_limit) + EPF_LOG_EXTENTS * EPF_LOG_BYTES;
	return window;
}

static void set_pointers(struct window *window)
{
	window->header = (struct epf_header *)window->base;
	window->live = (struct epf_live *)(window->base + EPF_LIVE_OFFSET);
	window->producers = (struct epf_producer *)(window->base + EPF_PRODUCERS_OFFSET);
	window->slots = (struct epf_slot *)(window->base + EPF_SLOTS_OFFSET);
	window->log = window->base + EPF_LOG_OFFSET;
	window->chunks = window->base + EPF_CHUNKS_OFFSET;
	window->extents = window->base + chunks_end(window->chunks_limit);
	bool grows = window_is_shared(window) && window->chunks_ready < window->chunks_first;
	window->chunks_count = grows ? window->chunks_ready : window->chunks_first;
	window->slots_count = grows ? WINDOW_READY_SLOTS : EPF_SLOT_COUNT;
	window->log_pieces = 1;
}

static void fill_header(const struct window *window, const struct epf_header *header)
{
	struct epf_header full = *header;
	memcpy(full.magic, EPF_MAGIC, sizeof(full.magic));
	full.version = EPF_VERSION;
	full.byte_order = EPF_BYTE_ORDER;
	full.header_bytes = EPF_PAGE_BYTES;
	full.live_offset = EPF_LIVE_OFFSET;
	full.slots_offset = EPF_SLOTS_OFFSET;
	full.log_offset = EPF_LOG_OFFSET;
	full.chunks_offset = EPF_CHUNKS_OFFSET;
	full.segments_offset = window->bytes;
	full.slot_bytes = EPF_SLOT_BYTES;
	full.slot_count = EPF_SLOT_COUNT;
	full.chunk_bytes = EPF_CHUNK_BYTES;
	full.chunk_count = window->chunks_limit;
	full.log_bytes = EPF_LOG_BYTES;
	full.segment_bytes = EPF_SEGMENT_BYTES;
	if (window->fd >= 0 && !window_is_shared(window))
		full.features |= EPF_FEATURE_NO_SURVIVAL;
	if (window->external_path) {
		full.features |= EPF_FEATURE_EXTERNAL_WINDOW;
		strlcpy(full.window_path, window->external_path, sizeof(full.window_path));
	}
	header_seal(&full, EPF_RECORDING);
	memcpy(window->header, &full, sizeof(full));
}

static bool read_header(int fd, struct epf_header *header)
{
	return os_file_read_at(fd, header, sizeof(*header), 0) == (int64_t)sizeof(*header) &&
	       memcmp(header->magic, EPF_MAGIC, sizeof(header->magic)) == 0;
}

/* Removes the external window file of a trace that is being overwritten. Only the old header refers to that file. */
static void remove_window_of(const struct epf_header *old)
{
	struct epf_header theirs;
	if (!(old->features & EPF_FEATURE_EXTERNAL_WINDOW) || !memchr(old->window_path, 0, sizeof(old->window_path)))
		return;
	int fd = os_file_open(old->window_path, false);
	if (fd < 0)
		return;
	if (read_header(fd, &theirs) && memcmp(theirs.file_id, old->file_id, sizeof(theirs.file_id)) == 0)
		os_file_remove(old->window_path);
	close(fd);
}

/* Allocates the first part of a window in a file; the rest is a hole. Returns 0 or errno. */
static int make_room(const struct window *window, int fd)
{
	int error = window_reserve(window, fd, 0, chunks_end(window->chunks_first));
	if (error)
		return error;
	struct os_signals before;
	os_size_limit_hold(&before);
	error = os_file_set_size(fd, window->bytes);
	os_size_limit_release(&before, error);
	return error;
}

static epp_status *open_locked(const char *path, bool overwrite, int *fd)
{
	EPP_TRY(output_file_open(path, overwrite, fd));
	int error = os_file_lock(*fd);
	if (error) {
		close(*fd);
		if (error != EWOULDBLOCK)
			return epp_status_errno(error, "%s: locking it", path);
		return epp_status_create(EPP_BUSY, "%s: another session is writing to it", path);
	}
	struct epf_header old;
	bool was_trace = read_header(*fd, &old);
	uint64_t bytes;
	/* Truncates to 1 byte, not 0: after a truncation to 0, ext4 writes the whole file to the disk at close, and
	 * epp_session_destroy would wait for that. */
	if (!os_file_size(*fd, &bytes))
		error = errno;
	else if (bytes > 1 || !os_file_is_regular(*fd))
		error = os_file_set_size(*fd, 1);
	if (error) {
		epp_status *status = epp_status_errno(error, "%s", path);
		close(*fd);
		return status;
	}
	if (was_trace)
		remove_window_of(&old);
	return NULL;
}

/* Maps the beginning of `fd`. The first chunks are allocated, and the first of these are touched. Returns NULL on
 * failure; if `*error` is 0, the file system does not support the mapping, or its pages could not be touched. */
static uint8_t *map_shared(const struct window *window, int fd, int *error)
{
	*error = make_room(window, fd);
	if (*error == EOPNOTSUPP || *error == ENODEV) {
		*error = 0;
		return NULL;
	}
	uint8_t *base = *error ? NULL : os_memory_map_file(fd, window->bytes);
	if (!base)
		return NULL;
	/* If the pool never grows, all slots are touched now, because no later step touches them. */
	size_t slots_end = window->chunks_ready < window->chunks_limit ? READY_SLOTS_END : EPF_LOG_OFFSET;
	if (!window_touch(fd, base, 0, slots_end) &&
	    !window_touch(fd, base, EPF_LOG_OFFSET, chunks_end(window->chunks_ready) - EPF_LOG_OFFSET))
		return base;
	os_memory_unmap(base, window->bytes);
	return NULL;
}

/* Maps the window as a separate file: DIRECTORY/FILE-ID.epw. */
static epp_status *map_external(const char *directory, const struct epf_header *header, struct window *window)
{
	char id[2 * sizeof(header->file_id) + 1];
	for (size_t i = 0; i < sizeof(header->file_id); i++)
		snprintf(id + 2 * i, 3, "%02x", header->file_id[i]);
	if (!os_path_is_absolute(directory))
		return epp_status_create(EPP_INVALID_ARGUMENT, "EPPROF_WINDOW_DIR: '%s' is not an absolute path",
		                         directory);
	if (asprintf(&window->external_path, "%s/%s.epw", directory, id) < 0) {
		window->external_path = NULL;
		return epp_status_no_memory();
	}
	if (strlen(window->external_path) >= sizeof(header->window_path))
		return epp_status_create(EPP_INVALID_ARGUMENT, "EPPROF_WINDOW_DIR: the path is too long");
	/* Mode 0600, because users who cannot access the trace's directory may have access to this one. */
	int fd = os_file_create(window->external_path);
	if (fd < 0)
		return epp_status_errno(errno, "%s", window->external_path);
	int error = 0;
	bool badly = os_file_is_unsafe_to_map(fd);
	window->base = badly ? NULL : map_shared(window, fd, &error);
	if (window->base) {
		window->mapped_fd = fd;
		return NULL;
	}
	close(fd);
	os_file_remove(window->external_path);
	if (badly)
		return epp_status_create(EPP_INVALID_ARGUMENT,
		                         "EPPROF_WINDOW_DIR: on the file system of '%s' a store may wait, or end the process: "
		                         "/dev/shm is a better place",
		                         directory);
	return epp_status_errno(error ? error : ENODEV, "%s: mapping the window", window->external_path);
}

/* Used without EPPROF_WINDOW_DIR: maps the window in a file that survives a kill or, if that is not possible, as
 * anonymous memory. */
static epp_status *map_window(const struct epf_header *header, struct window *window)
{
	int error = 0;
	if (!os_file_is_unsafe_to_map(window->fd))
		window->base = map_shared(window, window->fd, &error);
	/* ENOSPC refers to the part that is allocated at first; EFBIG refers to the length of the whole file. */
	if (error)
		return epp_status_errno(error, "making room for %zu MiB",
		                        (error == EFBIG ? window->bytes : chunks_end(window->chunks_first)) >> 20);
	if (window->base)
		window->mapped_fd = window->fd;
	else if (os_folder_in_memory())
		epp_status_destroy(map_external(os_folder_in_memory(), header, window));
	if (window->base)
		return NULL;
	free(window->external_path);
	window->external_path = NULL;
	window->base = os_memory_map(window->bytes);
	return window->base ? NULL : epp_status_no_memory();
}

/* If the window is not in the trace file, writes the header page to the trace file. */
static int write_header(const struct window *window)
{
	if (window->mapped_fd == window->fd)
		return 0;
	struct os_signals before;
	os_size_limit_hold(&before);
	int error = os_file_write_at(window->fd, window->base, EPF_PAGE_BYTES, 0);
	os_size_limit_release(&before, error);
	return error;
}

static void unmap(struct window *window)
{
	if (window->base)
		os_memory_unmap(window->base, window->bytes);
	if (window->mapped_fd >= 0 && window->mapped_fd != window->fd)
		close(window->mapped_fd);
	if (window->fd >= 0)
		close(window->fd);
	free(window->external_path);
	*window = none;
}

epp_status *window_open_file(const char *path, bool overwrite, const struct epf_header *header, struct window *window)
{
	*window = none;
	int fd;
	EPP_TRY(open_locked(path, overwrite, &fd));
	*window = sized_window(header->chunk_count);
	window->fd = fd;
	const char *directory = os_variable("EPPROF_WINDOW_DIR");
	epp_status *status;
	if (directory && *directory)
		status = map_external(directory, header, window);
	else
		status = epp_status_prefix(map_window(header, window), "%s", path);
	if (!status) {
		set_pointers(window);
		fill_header(window, header);
		int error = write_header(window);
		if (error)
			status = epp_status_errno(error, "%s", path);
	}
	if (status) {
		os_file_remove(path);
		if (window->external_path && window->base)
			os_file_remove(window->external_path);
		unmap(window);
	}
	return status;
}

void window_remove_files(const struct window *window, const char *path)
{
	os_file_remove(path);
	if (window->external_path)
		os_file_remove(window->external_path);
}

epp_status *window_open_memory(const struct epf_header *header, struct window *window)
{
	*window = sized_window(header->chunk_count);
	bool is_pooled = window->bytes == WINDOW_BYTES;
	pthread_mutex_lock(&pool_lock);
	if (pool_count && is_pooled) {
		window->base = pool[--pool_count];
		pool[pool_count] = NULL;
	}
	pthread_mutex_unlock(&pool_lock);
	if (!window->base) {
		uint32_t present = is_pooled ? WINDOW_WARM_CHUNKS : window->chunks_first;
		window->base = os_memory_map(window->bytes);
		if (!window->base)
			return epp_status_no_memory();
		os_memory_populate(window->base, EPF_SLOTS_OFFSET + WINDOW_WARM_SLOTS * EPF_SLOT_BYTES);
		os_memory_populate(window->base + EPF_CHUNKS_OFFSET, (size_t)present * EPF_CHUNK_BYTES);
	}
	set_pointers(window);
	fill_header(window, header);
	return NULL;
}

int window_finish(struct window *window)
{
	uint64_t file_bytes;

	/* The end is written before the state, because a finished file must contain its end. */
	if (window->fd >= 0 && os_file_size(window->fd, &file_bytes)) {
		struct epf_end end = header_end(file_bytes);
		memcpy(window->base + EPF_END_OFFSET, &end, sizeof(end));
	}
	if (window->external_path) {
		window->header->features &= ~EPF_FEATURE_EXTERNAL_WINDOW;
		header_seal(window->header, EPF_FINISHED);
	} else {
		window->header->state = EPF_FINISHED;
	}
	int error = write_header(window);
	if (error)
		return error;
	if (window->external_path)
		os_file_remove(window->external_path);
	/* Readers do not use the window of a finished file, so its disk space can be freed. */
	window->room_due = window->fd >= 0;
	return 0;
}

/* Frees the disk space of the window, unless the whole file was removed. */
static void release_disk_space(const struct window *window)
{
	if (window->room_due)
		os_file_punch(window->fd, EPF_LIVE_OFFSET, window->bytes - EPF_LIVE_OFFSET);
}

/* Cleans an anonymous window for the pool. Memory beyond the part that stays present is returned to the system. */
static void clear_for_pool(const struct window *window, uint32_t used_slots, uint32_t used_chunks)
{
	memset(window->base, 0, EPF_SLOTS_OFFSET);
	if (used_slots > WINDOW_WARM_SLOTS) {
		os_memory_release(window->slots + WINDOW_WARM_SLOTS, (EPF_SLOT_COUNT - WINDOW_WARM_SLOTS) * EPF_SLOT_BYTES);
		used_slots = WINDOW_WARM_SLOTS;
	}
	memset(window->slots, 0, used_slots * sizeof(*window->slots));
	if (used_chunks > WINDOW_WARM_CHUNKS) {
		os_memory_release(window->chunks + WINDOW_WARM_CHUNKS * EPF_CHUNK_BYTES,
		                  (EPF_CHUNK_COUNT - WINDOW_WARM_CHUNKS) * EPF_CHUNK_BYTES);
		used_chunks = WINDOW_WARM_CHUNKS;
	}
	if (window->log_pieces > 1)
		os_memory_release(window->extents, EPF_LOG_EXTENTS * EPF_LOG_BYTES);
	/* Only the region's header is cleared, because the records were zeroed when they became blocks. */
	for (uint32_t i = 0; i < used_chunks; i++)
		memset(window->chunks + i * EPF_CHUNK_BYTES, 0, sizeof(struct epf_region));
}

void window_close(struct window *window, uint32_t used_slots, uint32_t used_chunks)
{
	if (!window->base)
		return;
	bool kept = false;
	if (window->fd < 0 && window->bytes == WINDOW_BYTES) {
		clear_for_pool(window, used_slots, used_chunks);
		pthread_mutex_lock(&pool_lock);
		if (pool_count < POOL_MAX) {
			pool[pool_count++] = window->base;
			kept = true;
		}
		pthread_mutex_unlock(&pool_lock);
	}
	release_disk_space(window);
	if (kept)
		*window = none;
	else
		unmap(window);
}

void window_abandon(struct window *window)
{
	release_disk_space(window);
	window->base = NULL;
	unmap(window);
}

void window_drop(struct window *window)
{
	unmap(window);
}

void window_fork_child(void)
{
	pthread_mutex_init(&pool_lock, NULL);
	for (unsigned i = 0; i < POOL_MAX; i++) {
		/* A fork may happen between the change of the count and the change of its entry. */
		if (i < pool_count && pool[i])
			os_memory_unmap(pool[i], WINDOW_BYTES);
		pool[i] = NULL;
	}
	pool_count = 0;
}

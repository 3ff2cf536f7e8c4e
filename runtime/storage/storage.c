/* Opens, closes and reads back a trace that is being recorded. */
#include "storage/storage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomics.h"
#include "base/os/os.h"
#include "storage/blocks/writeback.h"
#include "storage/drain.h"

#define MEMORY_BYTES_DEFAULT (256ull << 20)

static void init_locks(struct storage *storage)
{
	pthread_mutex_init(&storage->drain_lock, NULL);
	pthread_mutex_init(&storage->lock, NULL);
	pthread_mutex_init(&storage->error.lock, NULL);
	pthread_mutex_init(&storage->definitions.log.lock, NULL);
}

void storage_create(struct storage *storage)
{
	init_locks(storage);
	storage->window.fd = storage->window.mapped_fd = storage->writer.fd = -1;
}

static bool init_writer(struct storage *storage, const epp_session_options *options)
{
	uint64_t limit = options->max_bytes;
	if (options->policy == EPP_POLICY_RING)
		return block_writer_init_ring(&storage->writer, storage->window.fd, limit);
	if (options->policy != EPP_POLICY_STOP)
		limit = 0;
	if (!storage->path)
		limit = options->memory_bytes ? options->memory_bytes : MEMORY_BYTES_DEFAULT;
	block_writer_init(&storage->writer, storage->window.fd, limit);
	return true;
}

static epp_status *start_parts(struct storage *storage, const epp_session_options *options)
{
	if (options->sync_ms)
		EPP_TRY(sync_begin(storage->path, storage->window.external_path, options->sync_ms, &storage->sync));
	if (!chunks_init(&storage->chunks, &storage->window) || !init_writer(storage, options))
		return epp_status_no_memory();
	storage->writer.segments_offset = storage->window.bytes;
	return NULL;
}

/* Opens the window and starts the parts that need it. If one of these fails, the new file is removed. */
static epp_status *open_parts(struct storage *storage, const epp_session_options *options, const struct epf_header *header)
{
	if (!storage->scratch && !(storage->scratch = malloc(STORAGE_SCRATCH_BYTES)))
		return epp_status_no_memory();
	EPP_TRY(storage->path ? window_open_file(storage->path, options->overwrite, header, &storage->window)
	                      : window_open_memory(header, &storage->window));
	epp_status *status = start_parts(storage, options);
	if (status && storage->path)
		window_remove_files(&storage->window, storage->path);
	return status;
}

epp_status *storage_open(struct storage *storage, const epp_session_options *options, char *path,
                         const struct epf_header *header)
{
	storage->path = path;
	storage->sync = NULL;
	epp_status *status = open_parts(storage, options, header);
	if (status) {
		sync_end(storage->sync);
		window_close(&storage->window, 0, 0);
		free(storage->path);
		return status;
	}
	storage->is_lossless = options->lossless;
	storage->is_finished = storage->unsafe_to_unmap = false;
	storage->next_sequence = 1;
	storage->drain = (struct drain){ 0 };
	run_error_init(&storage->error, options->log, options->log_user);
	slots_init(&storage->slots, &storage->window);
	definitions_init(&storage->definitions, &storage->window);
	return NULL;
}

/* If the file contains all events, marks it as finished. The drain lock is held. */
static void finish(struct storage *storage)
{
	drain_rest(storage);
	block_writer_end(&storage->writer);
	if (storage->definitions.is_due || storage->drain.ledger_due || LOAD_RELAXED(&storage->slots.free) != EPF_SLOT_COUNT)
		return;
	int error = window_finish(&storage->window);
	if (error) {
		run_error_set(&storage->error, EPP_BLAME_SYSTEM, epp_status_errno(error, "%s", storage->path));
		return;
	}
	storage->is_finished = true;
	if (!storage->unsafe_to_unmap)
		window_shrink(&storage->window, storage->sync != NULL);
}

epp_status *storage_finish(struct storage *storage)
{
	if (!storage->path)
		return NULL;
	pthread_mutex_lock(&storage->drain_lock);
	if (!storage->is_finished)
		finish(storage);
	bool is_finished = storage->is_finished;
	pthread_mutex_unlock(&storage->drain_lock);
	run_error_log(&storage->error);
	if (is_finished)
		return NULL;
	epp_status *status = run_error_take(&storage->error);
	return status ? status : epp_status_create(EPP_IO, "%s: not everything could be written", storage->path);
}

static void close_window(struct storage *storage)
{
	pthread_mutex_lock(&storage->error.lock);
	if (storage->unsafe_to_unmap) {
		window_abandon(&storage->window);
		storage->chunks.full = NULL; /* not freed: a recorder may still use this memory */
		storage->chunks.room = 0;
	} else {
		window_close(&storage->window, storage->slots.used, storage->chunks.used);
	}
	pthread_mutex_unlock(&storage->error.lock);
}

void storage_close(struct storage *storage)
{
	definitions_end_names(&storage->definitions);
	pthread_mutex_lock(&storage->drain_lock);
	if (!storage->is_finished)
		finish(storage);
	close_window(storage);
	/* Clear `sync` first: from here on the handler of a fork must not find it, because in the child it would close
	 * descriptors of a freed struct. */
	struct sync *sync = storage->sync;
	storage->sync = NULL;
	sync_end(sync);
	block_writer_deinit(&storage->writer);
	pthread_mutex_unlock(&storage->drain_lock);
	run_error_log(&storage->error);
	run_error_end_log(&storage->error);
	epp_status_destroy(run_error_take(&storage->error));
	definitions_deinit(&storage->definitions);
	free(storage->path);
}

void storage_fork_child(struct storage *storage, bool is_open)
{
	/* The threads that held these locks exist only in the parent, so the locks are initialized again. */
	init_locks(storage);
	if (!is_open)
		return;
	sync_fork_child(storage->sync);
	writeback_fork_child(storage->writer.writeback);
	/* The file belongs to the parent. The child closes and unmaps it, so that it cannot change it. Heap memory is
	 * not freed, because another thread may have been changing the memory at the time of the fork. */
	window_drop(&storage->window);
	storage->writer.fd = -1;
}

/* ---- reading back ---- */

/* Copies bytes that recorders may be writing at the same time; a reader of the format handles torn values.
 * ThreadSanitizer would report a race in a call of memcpy, and copying single bytes takes too long for a window. */
#if defined(__SANITIZE_THREAD__)
__attribute__((no_sanitize("thread"), optimize("no-tree-loop-distribute-patterns")))
#endif
static void
copy_live(uint8_t *to, const uint8_t *from, size_t bytes)
{
	size_t i = 0;
	for (; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t))
		memcpy(to + i, from + i, sizeof(uint64_t));
	for (; i < bytes; i++)
		to[i] = from[i];
}

static size_t read_file(int fd, uint64_t offset, uint8_t *to, size_t bytes)
{
	int64_t done = os_file_read_at(fd, to, bytes, offset);
	return done > 0 ? (size_t)done : 0;
}

static size_t read_memory(struct storage *storage, uint64_t offset, uint8_t *to, size_t bytes)
{
	size_t done = 0;
	size_t window_bytes = storage->window.bytes;
	if (offset < window_bytes && storage->window.base) {
		done = bytes < window_bytes - offset ? bytes : window_bytes - offset;
		copy_live(to, storage->window.base + offset, done);
		offset += done;
	}
	if (done < bytes && storage->window.fd >= 0)
		done += read_file(storage->window.fd, offset, to + done, bytes - done);
	else if (done < bytes)
		done += block_writer_read(&storage->writer, offset - window_bytes, to + done, bytes - done);
	return done;
}

/* Reads from the file. If there is no file, or if the window is not in the file, reads from the window and the segments
 * in memory. */
size_t storage_read(struct storage *storage, uint64_t offset, void *buffer, size_t bytes)
{
	if (storage->window.fd >= 0 && storage->window.mapped_fd == storage->window.fd)
		return read_file(storage->window.fd, offset, buffer, bytes);
	pthread_mutex_lock(&storage->drain_lock);
	size_t done = read_memory(storage, offset, buffer, bytes);
	pthread_mutex_unlock(&storage->drain_lock);
	return done;
}

uint64_t storage_lost(const struct storage *storage, epp_loss reason)
{
	uint64_t lost = slots_lost(&storage->slots, reason) + LOAD_RELAXED(&storage->window.live->lost[reason]);
	return reason == EPP_LOSS_POLICY ? lost + block_writer_overwritten(&storage->writer) : lost;
}

/* Reads a session's trace as bytes in the same process: from the file or, if the window is not in the file or there is
 * no file, from the window and the segments. Readers expect a live trace to change while they read
 * (format/format.h). */
#include <unistd.h>

#include "record/session.h"

/* Copies bytes that recorders may be writing at the same time; a reader of the format handles torn values. */
#if defined(__SANITIZE_THREAD__)
__attribute__((no_sanitize("thread"), optimize("no-tree-loop-distribute-patterns")))
#endif
static void
copy_live(uint8_t *to, const uint8_t *from, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		to[i] = from[i];
}

static size_t read_file(int fd, uint64_t offset, uint8_t *to, size_t bytes)
{
	size_t done = 0;
	while (done < bytes) {
		ssize_t part = pread(fd, to + done, bytes - done, (off_t)(offset + done));
		if (part <= 0)
			break;
		done += (size_t)part;
	}
	return done;
}

static size_t read_memory(struct session *session, uint64_t offset, uint8_t *to, size_t bytes)
{
	size_t done = 0;
	if (offset < WINDOW_BYTES && session->window.base) {
		done = bytes < WINDOW_BYTES - offset ? bytes : WINDOW_BYTES - offset;
		copy_live(to, session->window.base + offset, done);
		offset += done;
	}
	if (done < bytes && session->window.fd >= 0)
		done += read_file(session->window.fd, offset, to + done, bytes - done);
	else if (done < bytes)
		done += block_writer_read(&session->writer, offset - WINDOW_BYTES, to + done, bytes - done);
	return done;
}

size_t epp_session_read(epp_session *handle, uint64_t offset, void *buffer, size_t bytes)
{
	struct session *session = session_of(handle ? (uintptr_t)handle : LOAD_RELAXED(&session_default_handle));
	if (!session)
		return 0;
	if (session->window.fd >= 0 && session->window.mapped_fd == session->window.fd)
		return read_file(session->window.fd, offset, buffer, bytes);
	pthread_mutex_lock(&session->drain_lock);
	size_t done = read_memory(session, offset, buffer, bytes);
	pthread_mutex_unlock(&session->drain_lock);
	return done;
}

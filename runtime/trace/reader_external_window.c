/* Reads a window in a separate file (EPF_FEATURE_WINDOW_ELSEWHERE): offsets between the live page and the segments
 * are read from that file, all others from the trace.  The window's file has the same layout and a copy of the
 * header page, whose file_id must match the trace. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/reader_private.h"

struct elsewhere {
	struct reader_source trace;
	int fd;
	uint64_t first, end; /* range of the window's offsets */
};

static size_t read_window(int fd, uint64_t offset, uint8_t *to, size_t bytes)
{
	size_t done = 0;
	while (done < bytes) {
		ssize_t part = pread(fd, to + done, bytes - done, (off_t)(offset + done));
		if (part < 0 && errno == EINTR)
			continue;
		if (part <= 0)
			break;
		done += (size_t)part;
	}
	return done;
}

static size_t read_either(void *user, uint64_t offset, void *buffer, size_t bytes)
{
	const struct elsewhere *elsewhere = user;
	uint8_t *to = buffer;
	size_t done = 0;
	while (done < bytes) {
		uint64_t at = offset + done;
		bool window = at >= elsewhere->first && at < elsewhere->end;
		size_t part = bytes - done;
		if (window && part > elsewhere->end - at)
			part = (size_t)(elsewhere->end - at);
		if (at < elsewhere->first && part > elsewhere->first - at)
			part = (size_t)(elsewhere->first - at);
		size_t got = window ? read_window(elsewhere->fd, at, to + done, part)
		                    : elsewhere->trace.read(elsewhere->trace.user, at, to + done, part);
		done += got;
		if (got < part)
			break;
	}
	return done;
}

static void close_both(void *user)
{
	struct elsewhere *elsewhere = user;
	close(elsewhere->fd);
	elsewhere->trace.close(elsewhere->trace.user);
	free(elsewhere);
}

bool reader_elsewhere(struct reader_impl *impl)
{
	const struct epf_header *header = &impl->reader.header;
	struct epf_header theirs;
	int fd = open(header->window_path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		reader_find(impl, EPP_ERROR, UINT64_MAX, "the window is the file %s: %s", header->window_path,
		            strerror(errno));
		return false;
	}
	struct elsewhere *elsewhere = NULL;
	if (read_window(fd, 0, (uint8_t *)&theirs, sizeof(theirs)) != sizeof(theirs) ||
	    memcmp(theirs.file_id, header->file_id, sizeof(theirs.file_id)) != 0)
		reader_find(impl, EPP_ERROR, UINT64_MAX, "the window %s belongs to another trace", header->window_path);
	else
		elsewhere = malloc(sizeof(*elsewhere));
	if (!elsewhere) {
		close(fd);
		return false;
	}
	*elsewhere = (struct elsewhere){ impl->reader.source, fd, header->live_offset, header->segments_offset };
	impl->reader.source = (struct reader_source){ .read = read_either, .close = close_both, .user = elsewhere };
	impl->has_elsewhere = true;
	return true;
}

/* Rewrites a small finished trace without the window's hole. In a finished trace with the default window, a hole of 60
 * MiB is in front of the segments. The hole takes no disk space, but a copy or an archive of the file may contain
 * it.
 *
 * The trace is not changed in place, because a reader may be using it, and the process may be killed at any store.
 * Instead a complete copy is renamed to the trace's name in one step; a process that has the old file open keeps
 * reading it. On any unexpected condition the trace is not changed; it is valid with the hole, too. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/os.h"
#include "codec/file_header.h"
#include "storage/window/window.h"

/* The largest size of the contents; copying them takes a few milliseconds. In a larger trace the hole is the smaller
 * part. */
#define SHRINK_BYTES_MAX ((off_t)16 << 20)

/* Finds the trace's current name, if it has exactly one. The name at creation may be relative to an old working
 * directory, may go through a symbolic link, or may by now belong to another file. */
static bool find_name(int fd, const struct stat *trace, char name[PATH_MAX])
{
	char link[sizeof("/proc/self/fd/") + 11];
	struct stat named;

	if (!S_ISREG(trace->st_mode) || trace->st_nlink != 1)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t length = readlink(link, name, PATH_MAX - 1);
	if (length <= 0)
		return false;
	name[length] = '\0';
	return stat(name, &named) == 0 && named.st_dev == trace->st_dev && named.st_ino == trace->st_ino;
}

static bool write_header(int to, const struct epf_header *finished, uint64_t file_bytes)
{
	const struct epf_end end = header_end(file_bytes);
	uint8_t page[EPF_PAGE_BYTES] = { 0 };
	struct epf_header header = *finished;

	header_without_window(&header);
	header_seal(&header, EPF_FINISHED);
	memcpy(page, &header, sizeof(header));
	memcpy(page + EPF_END_OFFSET, &end, sizeof(end));
	return pwrite(to, page, sizeof(page), 0) == (ssize_t)sizeof(page);
}

static bool copy_segments(const struct window *window, int to, off_t bytes)
{
	off_t at = (off_t)window->bytes;

	/* If the trace has no event, the file ends at the offset at which its segments would begin. */
	if (ftruncate(to, EPF_BARE_SEGMENTS_OFFSET) < 0 || lseek(to, EPF_BARE_SEGMENTS_OFFSET, SEEK_SET) < 0)
		return false;
	while (bytes > 0) {
		ssize_t copied = sendfile(to, window->fd, &at, (size_t)bytes);
		if (copied < 0 && errno == EINTR)
			continue;
		if (copied <= 0)
			return false;
		bytes -= copied;
	}
	return true;
}

static bool copy(const struct window *window, int to, const struct stat *trace, bool durable)
{
	off_t segments_bytes = trace->st_size - (off_t)window->bytes;

	return fchown(to, trace->st_uid, trace->st_gid) == 0 && fchmod(to, trace->st_mode & 07777) == 0 &&
	       write_header(to, window->header, EPF_BARE_SEGMENTS_OFFSET + (uint64_t)segments_bytes) &&
	       copy_segments(window, to, segments_bytes) && (!durable || fdatasync(to) == 0);
}

void window_shrink(struct window *window, bool durable)
{
	struct stat trace;
	char name[PATH_MAX], temporary[PATH_MAX];
	struct os_signals before;

	if (window->fd < 0 || fstat(window->fd, &trace) < 0 || trace.st_size < (off_t)window->bytes ||
	    trace.st_size - (off_t)window->bytes > SHRINK_BYTES_MAX || !find_name(window->fd, &trace, name) ||
	    (size_t)snprintf(temporary, sizeof(temporary), "%s.XXXXXX", name) >= sizeof(temporary))
		return;
	int to = mkostemp(temporary, O_CLOEXEC);
	if (to < 0)
		return;
	os_size_limit_hold(&before);
	errno = 0;
	bool done = copy(window, to, &trace, durable);
	os_size_limit_release(&before, done ? 0 : errno);
	if (!done || rename(temporary, name) < 0)
		unlink(temporary);
	else
		window->room_due = false; /* the old file has no name any more, so its disk space is freed when it is
		                             closed */
	close(to);
}

/* Allocates disk blocks behind the end of a growing trace (see allocate_ahead.h). */
#include "storage/blocks/allocate_ahead.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/limit_signal.h"

/* In tmpfs allocated blocks are memory, which is filled with zeros at once. */
static bool is_on_disk(int fd)
{
	struct statfs system;
	return fstatfs(fd, &system) == 0 && system.f_type != TMPFS_MAGIC;
}

void allocate_ahead(struct allocate_ahead *ahead, int fd, uint64_t at)
{
	sigset_t before;

	if (ahead->end == 0 && !is_on_disk(fd))
		ahead->end = UINT64_MAX;
	if (ahead->end > at && ahead->end - at >= ALLOCATE_AHEAD_BYTES / 2)
		return;
	if (ahead->end < at)
		ahead->end = at;
	limit_signal_hold(&before);
	off_t begin = (off_t)ahead->end, bytes = (off_t)(at + ALLOCATE_AHEAD_BYTES - ahead->end);
	int error = fallocate(fd, FALLOC_FL_KEEP_SIZE, begin, bytes) ? errno : 0;
	limit_signal_let_go(&before, error);
	/* A call that failed may have allocated a part. It is not tried again before half of that would be used. */
	ahead->end += (uint64_t)bytes;
}

void allocate_ahead_end(struct allocate_ahead *ahead, int fd)
{
	struct stat st;
	/* Truncation to the size that a file has frees the blocks behind it. */
	if (ahead->end && ahead->end != UINT64_MAX && fstat(fd, &st) == 0 && (uint64_t)st.st_size < ahead->end &&
	    ftruncate(fd, st.st_size))
		return;
	ahead->end = 0;
}

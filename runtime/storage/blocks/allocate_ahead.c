/* Allocates disk blocks behind the end of a growing trace (see allocate_ahead.h). */
#include "storage/blocks/allocate_ahead.h"

#include "base/os/os.h"

void allocate_ahead(struct allocate_ahead *ahead, int fd, uint64_t at)
{
	struct os_signals before;

	if (ahead->end == 0 && !os_file_is_on_disk(fd))
		ahead->end = UINT64_MAX;
	if (ahead->end > at && ahead->end - at >= ALLOCATE_AHEAD_BYTES / 2)
		return;
	if (ahead->end < at)
		ahead->end = at;
	os_size_limit_hold(&before);
	uint64_t bytes = at + ALLOCATE_AHEAD_BYTES - ahead->end;
	int error = os_file_reserve_behind(fd, ahead->end, bytes);
	os_size_limit_release(&before, error);
	/* A call that failed may still have allocated a part. The next attempt is made only when half of that part
	 * would be used. */
	ahead->end += bytes;
}

void allocate_ahead_end(struct allocate_ahead *ahead, int fd)
{
	uint64_t bytes;
	/* Setting a file to the size that it already has frees the disk blocks behind its end. */
	if (ahead->end && ahead->end != UINT64_MAX && os_file_size(fd, &bytes) && bytes < ahead->end &&
	    os_file_set_size(fd, bytes))
		return;
	ahead->end = 0;
}

/* Preloaded into a program, gives it a system with pages of 64 KiB: mappings begin at such pages, madvise and munmap refuse
 * addresses within one, and whole pages are given back. */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define PAGE ((size_t)64 << 10)

/* The next library's function of this name. */
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static size_t whole(size_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

EXPORT long sysconf(int name)
{
	return name == _SC_PAGESIZE ? (long)PAGE : NEXT(sysconf)(name);
}

EXPORT void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	if (at || bytes > SIZE_MAX - 2 * PAGE || offset % (off_t)PAGE)
		return NEXT(mmap)(at, bytes, protection, flags, fd, offset);
	/* What follows the last page and what precedes the first one is unmapped again. */
	char *all = NEXT(mmap)(NULL, whole(bytes) + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (all == MAP_FAILED)
		return MAP_FAILED;
	char *first = (char *)whole((uintptr_t)all);
	if (first > all)
		NEXT(munmap)(all, (size_t)(first - all));
	NEXT(munmap)(first + whole(bytes), (size_t)(all + PAGE - first));
	void *mapped = NEXT(mmap)(first, whole(bytes), protection, flags | MAP_FIXED, fd, offset);
	if (mapped == MAP_FAILED) {
		int error = errno;
		NEXT(munmap)(first, whole(bytes));
		errno = error;
	}
	return mapped;
}

EXPORT int munmap(void *at, size_t bytes)
{
	if ((uintptr_t)at % PAGE == 0)
		return NEXT(munmap)(at, whole(bytes));
	errno = EINVAL;
	return -1;
}

EXPORT int madvise(void *at, size_t bytes, int advice)
{
	if ((uintptr_t)at % PAGE == 0)
		return NEXT(madvise)(at, whole(bytes), advice);
	errno = EINVAL;
	return -1;
}

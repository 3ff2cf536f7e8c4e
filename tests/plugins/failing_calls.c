/* Preloaded into a program, makes selected system calls fail: those that open, map, read, write, size, name and sync
 * files, make and list folders, the creation of threads, membarrier and futex.  Calls that libc itself makes, as in
 * stdio, never fail; nor do fstat of an open file, and openat, without which a folder cannot be removed.
 * Or it makes reads and writes transfer only a part. */
#include "failing_preload.h"

#include <dirent.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

/* Defines a function that fails with `error` and returns `failed`. */
#define WRAP(result, name, parameters, arguments, error, failed) \
	EXPORT result name parameters \
	{ \
		static __typeof__(&name) next; \
\
		if (!next) \
			next = NEXT(name); \
		return fails(error) ? (failed) : next arguments; \
	}

WRAP(void *, mmap, (void *at, size_t bytes, int protection, int flags, int fd, off_t offset),
     (at, bytes, protection, flags, fd, offset), ENOMEM, MAP_FAILED)
WRAP(void *, mmap64, (void *at, size_t bytes, int protection, int flags, int fd, off64_t offset),
     (at, bytes, protection, flags, fd, offset), ENOMEM, MAP_FAILED)
/* The same for a function that transfers `bytes` bytes. */
#define WRAP_TRANSFER(name, parameters, arguments, error) \
	EXPORT ssize_t name parameters \
	{ \
		static __typeof__(&name) next; \
\
		if (!next) \
			next = NEXT(name); \
		if (fails(error)) \
			return -1; \
		bytes = shortened(bytes); \
		return next arguments; \
	}

static size_t shortened(size_t bytes)
{
	return shared && shared->is_short && bytes > 1 ? bytes / 2 : bytes;
}

WRAP_TRANSFER(read, (int fd, void *to, size_t bytes), (fd, to, bytes), EIO)
WRAP_TRANSFER(pread, (int fd, void *to, size_t bytes, off_t offset), (fd, to, bytes, offset), EIO)
WRAP_TRANSFER(pread64, (int fd, void *to, size_t bytes, off64_t offset), (fd, to, bytes, offset), EIO)
WRAP_TRANSFER(write, (int fd, const void *from, size_t bytes), (fd, from, bytes), ENOSPC)
WRAP_TRANSFER(pwrite, (int fd, const void *from, size_t bytes, off_t offset), (fd, from, bytes, offset), ENOSPC)
WRAP_TRANSFER(pwrite64, (int fd, const void *from, size_t bytes, off64_t offset), (fd, from, bytes, offset), ENOSPC)
WRAP_TRANSFER(sendfile, (int to, int from, off_t *offset, size_t bytes), (to, from, offset, bytes), ENOSPC)

EXPORT ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
	static __typeof__(&pwritev) next;

	if (!next)
		next = NEXT(pwritev);
	if (fails(ENOSPC))
		return -1;
	/* Half of the first part. */
	if (shared && shared->is_short && parts->iov_len > 1)
		return pwrite(fd, parts->iov_base, parts->iov_len, offset);
	return next(fd, parts, count, offset);
}

WRAP(ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count), ENOSPC, -1)
WRAP(int, ftruncate, (int fd, off_t bytes), (fd, bytes), ENOSPC, -1)
WRAP(int, ftruncate64, (int fd, off64_t bytes), (fd, bytes), ENOSPC, -1)
WRAP(int, fallocate, (int fd, int mode, off_t at, off_t bytes), (fd, mode, at, bytes), ENOSPC, -1)
WRAP(int, fallocate64, (int fd, int mode, off64_t at, off64_t bytes), (fd, mode, at, bytes), ENOSPC, -1)
WRAP(int, link, (const char *from, const char *to), (from, to), EIO, -1)
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode), EIO, -1)
WRAP(int, memfd_create, (const char *name, unsigned flags), (name, flags), EMFILE, -1)
WRAP(int, rename, (const char *from, const char *to), (from, to), EIO, -1)
WRAP(int, renameat2, (int from_fd, const char *from, int to_fd, const char *to, unsigned flags),
     (from_fd, from, to_fd, to, flags), EIO, -1)
WRAP(int, linkat, (int from_fd, const char *from, int to_fd, const char *to, int flags),
     (from_fd, from, to_fd, to, flags), EIO, -1)
WRAP(int, fsync, (int fd), (fd), EIO, -1)
WRAP(int, fdatasync, (int fd), (fd), EIO, -1)
WRAP(int, mkstemp, (char *path), (path), ENOSPC, -1)
WRAP(int, mkostemp, (char *path, int flags), (path, flags), ENOSPC, -1)
WRAP(FILE *, fdopen, (int fd, const char *mode), (fd, mode), ENOMEM, NULL)
WRAP(DIR *, opendir, (const char *path), (path), EMFILE, NULL)
WRAP(FILE *, fopen, (const char *path, const char *mode), (path, mode), EMFILE, NULL)
WRAP(int, pthread_create, (pthread_t * thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument),
     (thread, attributes, run, argument), EAGAIN, EAGAIN)

static unsigned mode_of(int flags, va_list args)
{
	return flags & (O_CREAT | __O_TMPFILE) ? va_arg(args, unsigned) : 0;
}

#define WRAP_OPEN(name) \
	EXPORT int name(const char *path, int flags, ...) \
	{ \
		static __typeof__(&name) next; \
		va_list args; \
\
		if (!next) \
			next = NEXT(name); \
		va_start(args, flags); \
		unsigned mode = mode_of(flags, args); \
		va_end(args); \
		return fails(EMFILE) ? -1 : next(path, flags, mode); \
	}

WRAP_OPEN(open)
WRAP_OPEN(open64)

EXPORT long syscall(long number, ...)
{
	static __typeof__(&syscall) next;
	long arguments[6];
	va_list args;

	if (!next)
		next = NEXT(syscall);
	va_start(args, number);
	for (int i = 0; i < 6; i++)
		arguments[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_fallocate && fails(ENOSPC))
		return -1;
	/* A wait of a futex can be interrupted; a wake cannot fail. */
	if (number == SYS_futex && (arguments[1] & FUTEX_CMD_MASK) != FUTEX_WAKE && fails(EINTR))
		return -1;
	if (number == SYS_membarrier && fails(ENOSYS))
		return -1;
	return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}

/* Functions of POSIX, glibc and libbsd that Windows' C library lacks, or has for paths that are not UTF-8 and for texts with
 * carriage returns. The build includes it in front of every file.
 *
 * libc.c has the functions that the recorder needs; posix*.c have those that only the reader and the command need. */
#ifndef EPPROF_RUNTIME_BASE_OS_WINDOWS_INCLUDE_LIBC_H
#define EPPROF_RUNTIME_BASE_OS_WINDOWS_INCLUDE_LIBC_H

/* nanosleep of winpthreads takes a lock that winpthreads also holds while it calls the destructors of a thread's keys.
 * If such a destructor waits for a thread that calls nanosleep, both threads wait for ever. */
#define nanosleep libc_nanosleep
/* Makes stdlib.h declare rand_s. */
#define _CRT_RAND_S

/* Without winsock.h, which has a gethostname of its own. */
#define WIN32_LEAN_AND_MEAN

/* These declare the functions that the macros below replace, so they come first. */
#include <direct.h>
#include <fcntl.h>
#include <io.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <uchar.h>
#include <unistd.h>
#include <wctype.h>

/* threads.c; the function of winpthreads gives the name to debuggers only. */
int libc_setname(pthread_t thread, const char *name);
#define pthread_setname_np(thread, name) libc_setname(thread, name)

void *reallocarray(void *array, size_t count, size_t item_bytes);
void *mempcpy(void *to, const void *from, size_t bytes);
char *strchrnul(const char *text, int c);
/* Sorts as the qsort of glibc: the order of equal elements is kept, except if out of memory. */
void libc_qsort(void *base, size_t count, size_t bytes, int (*compare)(const void *a, const void *b));
#define qsort(base, count, bytes, compare) libc_qsort(base, count, bytes, compare)

/* ---- posix_files.c ---- */

/* All paths are UTF-8, and no file changes the ends of lines. Files can be renamed and removed while they are open. */

/* Bytes in UTF-8 of the longest name of a file. */
#define NAME_MAX (255 * 3)
#define O_CLOEXEC _O_NOINHERIT
#define O_NOCTTY 0
#define O_NONBLOCK 0
#define O_NOFOLLOW 0x1000000
#define O_TMPFILE 0x2000000 /* open fails with EOPNOTSUPP */

int libc_open(const char *path, int flags, ...);
#define open(...) libc_open(__VA_ARGS__)
FILE *libc_fopen(const char *path, const char *mode);
#define fopen(path, mode) libc_fopen(path, mode)
FILE *libc_fdopen(int fd, const char *mode);
#define fdopen(fd, mode) libc_fdopen(fd, mode)
int libc_fclose(FILE *file);
#define fclose(file) libc_fclose(file)
FILE *open_memstream(char **text, size_t *bytes);
ssize_t getline(char **line, size_t *room, FILE *file);

struct libc_stat {
	mode_t st_mode;
	uint64_t st_dev, st_ino, st_blocks;
	unsigned st_nlink;
	int64_t st_size;
	struct timespec st_mtim;
};
#undef stat
#undef fstat
#define stat libc_stat
#define lstat libc_lstat
#define fstat libc_fstat
int libc_stat(const char *path, struct libc_stat *about);
int libc_lstat(const char *path, struct libc_stat *about);
int libc_fstat(int fd, struct libc_stat *about);
#define S_IFLNK 0120000
#define S_ISLNK(mode) (((mode)&S_IFMT) == S_IFLNK)

#undef access
int libc_access(const char *path, int what);
#define access(path, what) libc_access(path, what)
/* The result has slashes as separators.  `resolved` has room for PATH_MAX bytes, or is NULL. */
char *libc_realpath(const char *path, char *resolved);
#define realpath(path, resolved) libc_realpath(path, resolved)
char *libc_basename(const char *path);
#define basename(path) libc_basename(path)
int libc_unlink(const char *path);
#define unlink(path) libc_unlink(path)
int libc_rmdir(const char *path);
#define rmdir(path) libc_rmdir(path)
int libc_rename(const char *from, const char *to);
#define rename(from, to) libc_rename(from, to)
int libc_mkdir(const char *path, mode_t mode);
#define mkdir(path, mode) libc_mkdir(path, mode)
char *mkdtemp(char *path);
int mkostemp(char *path, int flags);
ssize_t pread(int fd, void *to, size_t bytes, off_t at);
ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at);
/* These do nothing, because a file has the access rights of its folder. */
#define chmod(path, mode) ((void)(path), (void)(mode), 0)
#define fchmod(fd, mode) ((void)(fd), (void)(mode), 0)

#define AT_FDCWD (-100)
#define AT_EMPTY_PATH 0
#define AT_SYMLINK_FOLLOW 0
#define RENAME_NOREPLACE 1
int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags);
/* Fail with ENOSYS. */
int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags);
int link(const char *from, const char *to);

#define F_GETFD 1
/* Fails if the descriptor is closed. */
int fcntl(int fd, int what);

/* ---- posix_text.c ---- */

char *strndup(const char *text, size_t bytes);
char *strsep(char **rest, const char *separators);
char *stpcpy(char *to, const char *from);
char *strcasestr(const char *text, const char *part);
void *memmem(const void *bytes, size_t count, const void *part, size_t part_bytes);
void explicit_bzero(void *bytes, size_t count);

/* Decodes UTF-8, independent of the locale, to any character of Unicode. */
size_t libc_mbrtoc32(char32_t *character, const char *text, size_t bytes, mbstate_t *state);
#undef mbrtoc32
#define mbrtoc32(character, text, bytes, state) libc_mbrtoc32(character, text, bytes, state)
int libc_iswprint(char32_t character);
#undef iswprint
#define iswprint(character) libc_iswprint(character)
/* Returns 1 for rare characters, even if they are wider. */
int wcwidth(char32_t character);

/* newlocale can create only the locale "C", which then applies only to numbers. */
typedef const char *locale_t;
#define LC_NUMERIC_MASK 1
locale_t newlocale(int mask, const char *name, locale_t base);
locale_t uselocale(locale_t locale);
void freelocale(locale_t locale);

/* ---- posix.c ---- */

/* As libc_qsort. */
void qsort_r(void *base, size_t count, size_t bytes, int (*compare)(const void *a, const void *b, void *user), void *user);
void tdestroy(void *root, void (*destroy)(void *node));
/* x must be positive. */
double lgamma_r(double x, int *sign);
/* If TMPDIR is not set, its value is the folder that Windows has for temporary files. */
const char *secure_getenv(const char *name);
/* A variable whose value is empty is not set. */
int setenv(const char *name, const char *value, int overwrite);
int unsetenv(const char *name);
int gethostname(char *name, size_t bytes);

/* The name of a signal that a command catches. */
const char *strsignal(int number);
typedef _sigset_t sigset_t;
#define SIGHUP SIGBREAK
#define SA_RESETHAND 1
#define SA_RESTART 0
struct sigaction {
	void (*sa_handler)(int number);
	int sa_flags;
};
/* The handler is called on a separate thread. */
int sigaction(int number, const struct sigaction *action, struct sigaction *before);

#endif

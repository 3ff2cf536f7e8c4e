/* Implements os.h with the system calls of Linux. */
#include "base/os/os.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <linux/membarrier.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define NS_PER_SECOND 1000000000u
#define SLICE_NS 100000 /* the shortest time slice that the kernel accepts */
#define NICE (-10)
#define ZEROS_BYTES ((size_t)64 << 10)
#define ZEROS_PARTS 16

/* Reads the beginning of a file of /proc or /sys as text. Returns false if the file cannot be opened. */
static bool read_text(const char *path, char *text, size_t bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t length = read(fd, text, bytes - 1);
	close(fd);
	text[length > 0 ? length : 0] = '\0';
	return true;
}

/* ---- threads ---- */

uint32_t os_thread_id(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

void os_thread_name(char name[OS_THREAD_NAME_BYTES])
{
	prctl(PR_GET_NAME, name);
}

static bool read_name(const char *path, char name[OS_THREAD_NAME_BYTES])
{
	char line[OS_THREAD_NAME_BYTES + 1] = ""; /* the name and its line end */
	if (!read_text(path, line, sizeof(line)))
		return false;
	line[strcspn(line, "\n")] = '\0';
	memcpy(name, line, OS_THREAD_NAME_BYTES);
	return true;
}

bool os_thread_name_of(uint32_t thread_id, char name[OS_THREAD_NAME_BYTES])
{
	char path[48];
	snprintf(path, sizeof(path), "/proc/self/task/%u/comm", thread_id);
	return read_name(path, name);
}

bool os_thread_name_of_main(char name[OS_THREAD_NAME_BYTES])
{
	return read_name("/proc/self/comm", name);
}

bool os_thread_faults(uint64_t *faults)
{
	struct rusage usage;
	if (getrusage(RUSAGE_THREAD, &usage))
		return false;
	*faults = (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
	return true;
}

/* Reads fields 10 and 12 of /proc/.../stat, the thread's faults. Field 2 is a name in parentheses and may contain any
 * characters, so the fields are counted from the last ')'. */
bool os_thread_faults_of(uint32_t thread_id, uint64_t *faults)
{
	char path[64], text[512];
	unsigned long minor, major;
	snprintf(path, sizeof(path), "/proc/self/task/%u/stat", thread_id);
	if (!read_text(path, text, sizeof(text)))
		return false;
	const char *name_end = strrchr(text, ')');
	if (!name_end || sscanf(name_end + 1, " %*c %*d %*d %*d %*d %*d %*u %lu %*u %lu", &minor, &major) != 2)
		return false;
	*faults = (uint64_t)minor + major;
	return true;
}

void os_thread_park(uint32_t *word, int64_t ns)
{
	struct timespec timeout = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, ns < 0 ? NULL : &timeout, NULL, 0);
}

void os_thread_unpark(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

uint32_t os_thread_processor(void)
{
	return (uint32_t)sched_getcpu();
}

static cpu_set_t all_processors, other_processors;
static bool avoids;

void os_thread_avoid_processor(uint32_t processor)
{
	avoids = processor < CPU_SETSIZE && sched_getaffinity(0, sizeof(all_processors), &all_processors) == 0;
	if (!avoids)
		return;
	other_processors = all_processors;
	CPU_CLR(processor, &other_processors);
	avoids = CPU_COUNT(&other_processors) && sched_setaffinity(0, sizeof(other_processors), &other_processors) == 0;
}

void os_thread_avoid_no_processor(void)
{
	cpu_set_t now;
	/* Restores the affinity, unless other code has changed it meanwhile. */
	if (avoids && sched_getaffinity(0, sizeof(now), &now) == 0 && CPU_EQUAL(&now, &other_processors))
		sched_setaffinity(0, sizeof(all_processors), &all_processors);
	avoids = false;
}

/* The argument of the kernel's sched_setattr. It is declared here because the kernel's header conflicts with the C
 * library's sched_param. */
struct scheduling {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t slice_ns; /* the kernel's sched_runtime. For SCHED_OTHER it is the time slice; before Linux 6.12 it is
	                      ignored */
	uint64_t deadline_ns, period_ns;
};
#define RESET_ON_FORK 1 /* threads that this thread creates have the default policy */

/* Requests short time slices, because the kernel schedules threads with short slices earlier. Also requests a higher
 * priority, unless the process already has a nice value other than 0; the kernel may refuse it. */
void os_thread_reduce_latency(void)
{
	struct scheduling how = { .size = 0 };
	if (syscall(SYS_sched_getattr, 0, &how, sizeof(how), 0) || how.policy != SCHED_OTHER)
		return;
	how = (struct scheduling){ .size = sizeof(how), .flags = RESET_ON_FORK, .nice = how.nice, .slice_ns = SLICE_NS };
	if (how.nice == 0) {
		how.nice = NICE;
		if (syscall(SYS_sched_setattr, 0, &how, 0) == 0)
			return;
		how.nice = 0;
	}
	syscall(SYS_sched_setattr, 0, &how, 0);
}

clockid_t os_wait_clock(void)
{
	return CLOCK_MONOTONIC;
}

bool os_thread_join(pthread_t thread, uint64_t ns)
{
	struct timespec deadline;
	clock_gettime(CLOCK_REALTIME, &deadline);
	ns += (uint64_t)deadline.tv_nsec;
	deadline.tv_sec += (time_t)(ns / NS_PER_SECOND);
	deadline.tv_nsec = (long)(ns % NS_PER_SECOND);
	return pthread_timedjoin_np(thread, NULL, &deadline) == 0;
}

void os_thread_pause(uint32_t ns)
{
	/* A direct system call, because the C library's wrapper is a cancellation point. */
	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &(struct timespec){ .tv_nsec = ns }, NULL);
}

void os_thread_sleep_until(int64_t monotonic_ns)
{
	const struct timespec at = { .tv_sec = monotonic_ns / NS_PER_SECOND, .tv_nsec = monotonic_ns % NS_PER_SECOND };
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

static bool barrier_is_registered;

/* A direct system call, because glibc has no wrapper for membarrier. */
static bool membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0) == 0;
}

void os_thread_barrier_setup(void)
{
	barrier_is_registered = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

bool os_thread_barrier(void)
{
	return barrier_is_registered && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

_Static_assert(sizeof(struct os_signals) >= sizeof(sigset_t), "a sigset_t fits");

static void change_signals(int how, const sigset_t *change, struct os_signals *before)
{
	sigset_t old;
	pthread_sigmask(how, change, &old);
	memcpy(before, &old, sizeof(old));
}

void os_signals_block(struct os_signals *before)
{
	sigset_t all;
	sigfillset(&all);
	change_signals(SIG_SETMASK, &all, before);
}

void os_signals_restore(const struct os_signals *before)
{
	sigset_t old;
	memcpy(&old, before, sizeof(old));
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void os_size_limit_hold(struct os_signals *before)
{
	sigset_t limit;
	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	change_signals(SIG_BLOCK, &limit, before);
}

void os_size_limit_release(const struct os_signals *before, int error)
{
	sigset_t limit;
	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	if (error == EFBIG)
		sigtimedwait(&limit, NULL, &(struct timespec){ 0 });
	os_signals_restore(before);
}

/* ---- files ---- */

int os_file_open(const char *path, bool follows)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (follows ? 0 : O_NOFOLLOW));
}

int os_file_open_again(int fd)
{
	char path[sizeof("/proc/self/fd/") + 11];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

int os_file_open_folder_of(const char *path)
{
	char *copy = strdup(path);
	int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	free(copy);
	return fd;
}

int os_file_create(const char *path)
{
	return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

int os_file_open_output(const char *path, bool overwrite, mode_t mode)
{
	return open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC | (overwrite ? 0 : O_EXCL), mode);
}

bool os_file_is_link(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

int os_file_lock(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB) ? errno : 0;
}

bool os_file_is_locked(int fd)
{
	return flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
}

int64_t os_file_read_at(int fd, void *to, size_t bytes, uint64_t at)
{
	size_t done = 0;
	while (done < bytes) {
		ssize_t part = pread(fd, (uint8_t *)to + done, bytes - done, (off_t)(at + done));
		if (part < 0 && errno == EINTR) {
			errno = 0;
			continue;
		}
		if (part < 0 && !done)
			return -1;
		if (part <= 0)
			break;
		done += (size_t)part;
	}
	return (int64_t)done;
}

int os_file_write_at(int fd, const void *from, size_t bytes, uint64_t at)
{
	for (const uint8_t *next = from; bytes;) {
		ssize_t done = pwrite(fd, next, bytes, (off_t)at);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? errno : ENOSPC;
		next += done;
		at += (uint64_t)done;
		bytes -= (size_t)done;
	}
	return 0;
}

int os_file_write_zeros(int fd, size_t bytes, uint64_t at)
{
	/* Not const, so that it is in .bss and takes no space in the library file. */
	static uint8_t zeros[ZEROS_BYTES];
	while (bytes) {
		struct iovec parts[ZEROS_PARTS];
		int count = 0;
		for (size_t rest = bytes; rest && count < ZEROS_PARTS; rest -= parts[count++].iov_len)
			parts[count] = (struct iovec){ zeros, rest < ZEROS_BYTES ? rest : ZEROS_BYTES };
		ssize_t written = pwritev(fd, parts, count, (off_t)at);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written ? errno : ENOSPC;
		at += (uint64_t)written;
		bytes -= (size_t)written;
	}
	return 0;
}

bool os_file_size(int fd, uint64_t *bytes)
{
	struct stat st;
	if (fstat(fd, &st))
		return false;
	*bytes = (uint64_t)st.st_size;
	return true;
}

bool os_file_is_regular(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

bool os_file_is_folder(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

bool os_file_has_second_name(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink > 1;
}

int os_file_set_size(int fd, uint64_t bytes)
{
	return ftruncate(fd, (off_t)bytes) ? errno : 0;
}

int os_file_sync(int fd)
{
	return fdatasync(fd);
}

int os_file_remove(const char *path)
{
	return unlink(path) ? errno : 0;
}

/* Removes the file or folder `name` in the folder `parent`. Unlike nftw, this function allocates no memory, so it also
 * works when memory is exhausted. */
static void remove_in(int parent, const char *name)
{
	_Alignas(struct dirent64) char entries[4096];
	ssize_t bytes;

	if (unlinkat(parent, name, 0) == 0)
		return;
	int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return;
	while ((bytes = syscall(SYS_getdents64, folder, entries, sizeof(entries))) > 0) {
		for (ssize_t at = 0; at < bytes;) {
			const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
			if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
				remove_in(folder, entry->d_name);
			at += entry->d_reclen;
		}
	}
	close(folder);
	unlinkat(parent, name, AT_REMOVEDIR);
}

void os_file_remove_all(const char *path)
{
	remove_in(AT_FDCWD, path);
}

int os_file_reserve(int fd, uint64_t at, uint64_t bytes)
{
	/* Calls fallocate itself: on a file system that does not support it, glibc's posix_fallocate would fill the
	 * file with writes, which is slow. */
	int error;
	do
		error = syscall(SYS_fallocate, fd, 0, (off_t)at, (off_t)bytes) ? errno : 0;
	while (error == EINTR);
	return error;
}

int os_file_reserve_behind(int fd, uint64_t at, uint64_t bytes)
{
	return fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)bytes) ? errno : 0;
}

void os_file_punch(int fd, uint64_t at, uint64_t bytes)
{
	syscall(SYS_fallocate, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)bytes);
}

void os_file_write_back(int fd, uint64_t at, uint64_t bytes)
{
	/* Wait for the write first, because the kernel drops only pages that are on the disk. */
	sync_file_range(fd, (off_t)at, (off_t)bytes, SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
	posix_fadvise(fd, (off_t)at, (off_t)bytes, POSIX_FADV_DONTNEED);
}

int os_file_free_bytes(int fd, uint64_t *bytes)
{
	struct statvfs disk;
	if (fstatvfs(fd, &disk))
		return errno;
	/* If a file system reports no block size, its free space is unknown. */
	*bytes = disk.f_frsize ? disk.f_bavail * (uint64_t)disk.f_frsize : UINT64_MAX;
	return 0;
}

bool os_file_is_on_disk(int fd)
{
	struct statfs system;
	return fstatfs(fd, &system) == 0 && system.f_type != TMPFS_MAGIC;
}

/* A copy-on-write file system moves a page when it is written, and allocates room at that time. If the disk or a quota
 * is then full, the store raises SIGBUS, in spite of earlier fallocate calls. An overlay reports its own type, but the
 * inode count of the file system that it writes to; only btrfs reports 0 inodes. With FUSE the file system is unknown,
 * and a store waits for a program. */
bool os_file_is_unsafe_to_map(int fd)
{
	static const uint32_t kinds[] = { 0x9123683e /* btrfs */, 0xca451a4e /* bcachefs */, 0x2fc12fc1 /* zfs */,
		                          0x3434 /* nilfs */, 0x65735546 /* FUSE */ };
	static const uint32_t overlay = 0x794c7630;
	struct statfs system;
	bool badly = fstatfs(fd, &system) != 0 || ((uint32_t)system.f_type == overlay && !system.f_files);
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		badly |= (uint32_t)system.f_type == kinds[i];
	return badly;
}

bool os_path_is_absolute(const char *path)
{
	return path[0] == '/';
}

void os_path_copy(const void *path, char *text, size_t bytes)
{
	snprintf(text, bytes, "%s", (const char *)path);
}

const char *os_path_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

const char *os_folder_in_memory(void)
{
	return "/dev/shm";
}

/* ---- memory ---- */

size_t os_page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

void *os_memory_map(size_t bytes)
{
	void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return base == MAP_FAILED ? NULL : base;
}

void *os_memory_map_file(int fd, size_t bytes)
{
	void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		return NULL;
	/* Without this advice, a fault of one page reads further pages ahead, which may take longer than the window is
	 * in use. */
	madvise(base, bytes, MADV_RANDOM);
	return base;
}

void os_memory_unmap(void *at, size_t bytes)
{
	munmap(at, bytes);
}

void os_memory_release(void *at, size_t bytes)
{
	const size_t page = os_page_bytes(), over = (uintptr_t)at % page, before = over ? page - over : 0;
	if (bytes < before + page) {
		memset(at, 0, bytes);
		return;
	}
	char *whole = (char *)at + before;
	size_t behind = (bytes - before) % page, whole_bytes = bytes - before - behind;
	memset(at, 0, before);
	madvise(whole, whole_bytes, MADV_DONTNEED);
	memset(whole + whole_bytes, 0, behind);
}

int os_memory_populate(void *at, size_t bytes)
{
	size_t before = (uintptr_t)at % os_page_bytes();
	if (madvise((char *)at - before, before + bytes, MADV_POPULATE_WRITE) == 0)
		return 0;
	return errno == EINVAL ? 0 : errno; /* an older kernel, in which the first store into a page causes the fault */
}

size_t os_memory_copy(uintptr_t address, void *copy, size_t bytes)
{
	struct iovec to = { copy, bytes };
	struct iovec from = { (void *)address, bytes };
	ssize_t done = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
	if (done >= 0)
		return (size_t)done;
	return errno == EFAULT ? 0 : SIZE_MAX;
}

void *os_memory_aligned(size_t alignment, size_t bytes)
{
	return aligned_alloc(alignment, bytes);
}

void os_memory_free(void *at)
{
	free(at);
}

/* ---- the process ---- */

const char *os_error_text(int error, char *buffer, size_t bytes)
{
	/* The GNU strerror_r may return a static text instead of filling the buffer. */
	return strerror_r(error, buffer, bytes);
}

static locale_t c_locale;

static void make_c_locale(void)
{
	c_locale = newlocale(LC_ALL_MASK, "C", NULL);
}

size_t os_number_print(char *text, size_t bytes, double value)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, make_c_locale);
	locale_t before = c_locale ? uselocale(c_locale) : (locale_t)0;
	int length = snprintf(text, bytes, "%.15g", value);
	if (strtod(text, NULL) != value)
		length = snprintf(text, bytes, "%.17g", value);
	if (before)
		uselocale(before);
	return (size_t)length;
}

bool os_random(uint8_t number[16])
{
	return getrandom(number, 16, GRND_NONBLOCK) == 16;
}

bool os_host_name(char *name, size_t bytes)
{
	/* A name that does not fit is reported as an error, but its beginning is in the buffer. */
	if (gethostname(name, bytes) && errno != ENAMETOOLONG)
		return false;
	name[bytes - 1] = '\0';
	return true;
}

void os_boot_id(uint8_t id[16])
{
	char text[64];
	if (!read_text("/proc/sys/kernel/random/boot_id", text, sizeof(text)))
		return;
	/* The text has the form "8-4-4-4-12" hexadecimal digits. */
	for (unsigned digits = 0, i = 0; text[i] && digits < 32; i++) {
		const char *at = strchr("0123456789abcdef", text[i]);
		if (at)
			id[digits / 2] |= (uint8_t)((unsigned)(at - "0123456789abcdef") << (digits % 2 ? 0 : 4)), digits++;
	}
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

bool os_process_start(uint32_t pid, uint64_t *unix_ns)
{
	char path[64], text[1024], state;
	unsigned long long start;
	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (!read_text(path, text, sizeof(text)))
		return false;
	/* "pid (program) state ppid ...": the program may contain any characters, so the fields are counted from the
	 * last parenthesis. The 3rd field is the state, the 22nd the start in clock ticks since the boot. */
	const char *fields = strrchr(text, ')');
	if (!fields || sscanf(fields + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
	                      &state, &start) != 2)
		return false;
	if (state == 'Z' || state == 'X')
		return false;
	*unix_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME) +
	           start * NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK);
	return true;
}

const char *os_program(void)
{
	return program_invocation_short_name;
}

const char *os_variable(const char *name)
{
	return secure_getenv(name);
}

bool os_counter_is_sound(void)
{
#if defined(__x86_64__)
	unsigned a, b, c, d;
	/* The bit "nonstop" (invariant TSC) includes "constant". */
	if (!__get_cpuid(0x80000007u, &a, &b, &c, &d) || !(d & 1u << 8))
		return false;
	/* If the TSC is the kernel's clock source, the kernel has checked it against other clocks. */
	char source[32];
	if (!read_text("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof(source)))
		return false;
	source[strcspn(source, "\n")] = '\0';
	return !strcmp(source, "tsc") || !strcmp(source, "kvm-clock") || !strncmp(source, "hyperv", 6);
#else
	return false;
#endif
}

void os_at_exit(void (*end)(void))
{
	(void)end;
}

void os_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
	pthread_atfork(prepare, parent, child);
}

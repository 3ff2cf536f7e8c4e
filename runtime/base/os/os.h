/* The functions of the operating system that the recorder needs. Everything that differs between systems is behind
 * these functions; linux.c implements them. Both libraries have a hidden copy.
 *
 * Functions that return int return 0 or an errno, unless described otherwise. Files are descriptors of the C library.
 *
 * Thread: [any-thread], unless described otherwise. */
#ifndef EPPROF_RUNTIME_BASE_OS_OS_H
#define EPPROF_RUNTIME_BASE_OS_OS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* ---- threads ---- */

/* The maximum size of a thread's name with its NUL. */
#define OS_THREAD_NAME_BYTES 16u

/* Returns the system's id of the calling thread. */
uint32_t os_thread_id(void);

/* Read the name of the calling thread, of another thread of this process, and of the process's main thread.
 * os_thread_name_of returns false if there is no such thread. */
void os_thread_name(char name[OS_THREAD_NAME_BYTES]);
bool os_thread_name_of(uint32_t thread_id, char name[OS_THREAD_NAME_BYTES]);
bool os_thread_name_of_main(char name[OS_THREAD_NAME_BYTES]);

/* Read the number of page faults of the calling thread, and of another thread of this process. Return false if it is
 * unknown. */
bool os_thread_faults(uint64_t *faults);
bool os_thread_faults_of(uint32_t thread_id, uint64_t *faults);

/* Waits while `*word` is 0, at most `ns`; a negative `ns` means no limit. May return earlier. */
void os_thread_park(uint32_t *word, int64_t ns);
/* Wakes one thread that is parked at `word`. */
void os_thread_unpark(uint32_t *word);

/* Returns the processor on which the calling thread runs. */
uint32_t os_thread_processor(void);
/* Excludes a processor for the calling thread until os_thread_avoid_no_processor, if the thread may run on other
 * processors. If the program changes the thread's affinity meanwhile, os_thread_avoid_no_processor leaves that change
 * as it is. Only one thread of the process may call these functions. */
void os_thread_avoid_processor(uint32_t processor);
void os_thread_avoid_no_processor(void);

/* Requests that the calling thread is scheduled soon after a wake-up, as far as the process has the permission. Threads
 * that the calling thread creates are not affected. */
void os_thread_reduce_latency(void);

/* Returns the clock of timed waits on a condition variable. */
clockid_t os_wait_clock(void);
/* Waits for the end of a joinable thread, and joins it. Returns false if it has not ended within `ns`. */
bool os_thread_join(pthread_t thread, uint64_t ns);

/* Waits for `ns`. Not a cancellation point. */
void os_thread_pause(uint32_t ns);

/* Sleeps until a time of the monotonic clock, also if signals are handled meanwhile. */
void os_thread_sleep_until(int64_t monotonic_ns);

/* Registers with the system for os_thread_barrier; called once at load, and again in a forked child. */
void os_thread_barrier_setup(void);
/* Makes every running thread of the process execute a full barrier. Returns false if the system does not support it. */
bool os_thread_barrier(void);

/* A set of signals that a thread blocks. */
struct os_signals {
	uint64_t words[16];
};

/* Blocks all signals in the calling thread. A thread that it creates inherits this. */
void os_signals_block(struct os_signals *before);
void os_signals_restore(const struct os_signals *before);

/* Blocks the signal of a file-size limit (SIGXFSZ), which ends a process by default, around calls that may write beyond
 * the limit.
 *
 *   struct os_signals before;
 *   os_size_limit_hold(&before);
 *   int error = pwrite(...) < 0 ? errno : 0;
 *   os_size_limit_release(&before, error); */
void os_size_limit_hold(struct os_signals *before);
/* Restores the signals. `error`: 0, or the errno of the write. */
void os_size_limit_release(const struct os_signals *before, int error);

/* ---- files ---- */

/* Opens a file for reading, without waiting for the other end of a pipe. If `follows` is false, a path that is a link
 * is an error. This and the next three functions return -1 and set errno on failure. */
int os_file_open(const char *path, bool follows);
/* Opens the file of another descriptor again, without its lock. */
int os_file_open_again(int fd);
/* Opens the folder that contains `path`, to sync it. */
int os_file_open_folder_of(const char *path);
/* Creates a file that does not exist, for reading and writing by its user alone. */
int os_file_create(const char *path);

/* Opens an output for reading and writing: a new file with this mode or, if `overwrite` is set, also an existing file.
 * Fails with ELOOP if the path is a link. */
int os_file_open_output(const char *path, bool overwrite, mode_t mode);
bool os_file_is_link(const char *path);

/* Locks a file against other writers. Returns EWOULDBLOCK if another descriptor has the lock. Closing the file releases
 * the lock. */
int os_file_lock(int fd);
/* Returns true if another descriptor has the lock. */
bool os_file_is_locked(int fd);
/* Reads a part of a file. Returns the number of bytes, fewer at the end of the file, or -1 and sets errno. */
int64_t os_file_read_at(int fd, void *to, size_t bytes, uint64_t at);
/* Writes all bytes. Returns ENOSPC also if the system writes only a part of them. */
int os_file_write_at(int fd, const void *from, size_t bytes, uint64_t at);
/* Writes `bytes` zeros. */
int os_file_write_zeros(int fd, size_t bytes, uint64_t at);
/* Gets the size of a file. Returns false if it is unknown. */
bool os_file_size(int fd, uint64_t *bytes);
/* Returns false for devices, pipes and folders. */
bool os_file_is_regular(int fd);
bool os_file_is_folder(int fd);
/* Returns true if a regular file has more than one hard link. */
bool os_file_has_second_name(int fd);
int os_file_set_size(int fd, uint64_t bytes);
/* Writes the contents and the size of a file to the disk. Returns -1 and sets errno on failure. */
int os_file_sync(int fd);
int os_file_remove(const char *path);
/* Removes a file, or a folder with all that it contains; what cannot be removed stays. */
void os_file_remove_all(const char *path);

/* Allocates disk space for a part of a file. The file may become longer. Returns EOPNOTSUPP if the file system does not
 * support it. */
int os_file_reserve(int fd, uint64_t at, uint64_t bytes);
/* Allocates disk space behind the end of a file. The size of the file does not change. */
int os_file_reserve_behind(int fd, uint64_t at, uint64_t bytes);
/* Frees the disk space of a part of a file, which then reads as zeros. If the file system does not support it, the file
 * is not changed. */
void os_file_punch(int fd, uint64_t at, uint64_t bytes);
/* Writes a part of a file to the disk, and drops its pages from the page cache. */
void os_file_write_back(int fd, uint64_t at, uint64_t bytes);

/* Gets the free space, in bytes, of the file system that contains the file; UINT64_MAX: it is unknown. */
int os_file_free_bytes(int fd, uint64_t *bytes);
/* Returns false for a file system in memory, where allocating costs as much as writing. */
bool os_file_is_on_disk(int fd);
/* Returns true for a file system on which a store into a mapping is not safe: the store may wait, or end the
 * process. */
bool os_file_is_unsafe_to_map(int fd);

/* Returns true if a path does not depend on the working folder. */
bool os_path_is_absolute(const char *path);
/* Copies a path in the form that ONNX Runtime has it (UTF-16 on Windows) to UTF-8, shortened if necessary. */
void os_path_copy(const void *path, char *text, size_t bytes);
/* Returns the part of a path behind the folders. */
const char *os_path_name(const char *path);
/* Returns a folder in memory whose files survive the process; NULL if the system has none. */
const char *os_folder_in_memory(void);

/* ---- memory ---- */

/* Returns the size of the system's pages: 4, 16 or 64 KiB. The parts of a mapping that are passed to the functions
 * below may begin and end within pages. */
size_t os_page_bytes(void);
/* Maps zeroed memory. A page takes room when it is first used. Returns NULL on failure. */
void *os_memory_map(size_t bytes);
/* Maps the first bytes of a file. If the process is killed, the system keeps all stores. Returns NULL and sets errno on
 * failure. */
void *os_memory_map_file(int fd, size_t bytes);
/* Unmaps memory of os_memory_map or os_memory_map_file. */
void os_memory_unmap(void *at, size_t bytes);
/* Returns the whole pages in a part of memory of os_memory_map to the system. The part stays mapped, and all of it
 * reads as zeros. */
void os_memory_release(void *at, size_t bytes);
/* Makes pages of memory present and writable, without changing their contents. */
int os_memory_populate(void *at, size_t bytes);
/* Copies memory of this process that may not be readable. Returns how many bytes were copied; SIZE_MAX: the system does
 * not support it. */
size_t os_memory_copy(uintptr_t address, void *copy, size_t bytes);
/* Allocates memory at a multiple of `alignment`, of which `bytes` is a multiple too. Returns NULL on failure.
 * Ownership: os_memory_free. */
void *os_memory_aligned(size_t alignment, size_t bytes);
void os_memory_free(void *at);

/* ---- the process ---- */

/* Returns the text of an errno. The text may be in `buffer`. */
const char *os_error_text(int error, char *buffer, size_t bytes);

/* Prints a number with 15 digits or, if the text would not read back as the same number, with 17 digits; always with a
 * point, independent of the locale. Returns the number of bytes without the NUL. */
size_t os_number_print(char *text, size_t bytes, double value);

/* Fills `number` with random bytes. Returns false if the system has none yet. */
bool os_random(uint8_t number[16]);
/* Gets the name of the machine, shortened if necessary. Returns false if it is unknown. */
bool os_host_name(char *name, size_t bytes);
/* Gets a number that differs for each boot of the machine. Leaves `id` unchanged if the number is unknown. */
void os_boot_id(uint8_t id[16]);
/* Gets the time since 1970 at which a process was started. Returns false if no such process runs, or if its start is
 * unknown. */
bool os_process_start(uint32_t pid, uint64_t *unix_ns);
/* Returns the name of the process's program, without its folder. */
const char *os_program(void);
/* Returns a variable of the environment. Returns NULL if the variable is not set, or if the program has more rights
 * than its user (setuid). */
const char *os_variable(const char *name);
/* Returns true if the processor's counter (TSC) never stops or changes its rate, and the system uses it as its
 * clock. */
bool os_counter_is_sound(void);
/* Calls a function when the program exits, while its other threads still run, if destructors of a library run later. On
 * Linux it does nothing, because they run at that time. Called once, at load. */
void os_at_exit(void (*end)(void));
/* Registers fork handlers, as pthread_atfork does. */
void os_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void));

#endif

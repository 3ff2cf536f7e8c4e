/* Checks that something that is repeated many times does not leak memory, files or threads. */
#ifndef EPPROF_TESTS_SUPPORT_LIVES_H
#define EPPROF_TESTS_SUPPORT_LIVES_H

#include <dirent.h>
#include <malloc.h>

#include "recording.h"

/* Memory is not measured under the address sanitizer, which finds leaks itself, or under the thread sanitizer: both
 * replace the allocator. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIVES 20u
#define LIVES_MAY_GROW SIZE_MAX
#else
#define LIVES 100u
#define LIVES_MAY_GROW (LIVES * 64)
#endif
#define LIVES_TRIES 10

RECORDING_INLINE size_t lives_count_in(const char *path)
{
	size_t count = 0;
	DIR *directory = opendir(path);
	ck_assert_ptr_nonnull(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

RECORDING_INLINE void lives_lead(void (*life)(void), unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		life();
	/* Wait for work that the library's threads have not finished. */
	recording_sleep_ms(200);
}

RECORDING_INLINE void lives_leave_nothing(void (*life)(void))
{
	size_t grown = SIZE_MAX;
	lives_lead(life, 10);
	size_t files = lives_count_in("/proc/self/fd"), threads = lives_count_in("/proc/self/task");
	/* Tables grow at first and sometimes later, and the allocator's caches of each thread fill up by some ten bytes
	 * a life; a leak grows each time. */
	for (int tries = 0; tries < LIVES_TRIES && grown >= LIVES_MAY_GROW; tries++) {
		size_t before = mallinfo2().uordblks;
		lives_lead(life, LIVES);
		size_t after = mallinfo2().uordblks;
		grown = after > before ? after - before : 0;
	}
	ck_assert_uint_lt(grown, LIVES_MAY_GROW);
	ck_assert_uint_le(lives_count_in("/proc/self/fd"), files);
	ck_assert_uint_le(lives_count_in("/proc/self/task"), threads);
}

#endif

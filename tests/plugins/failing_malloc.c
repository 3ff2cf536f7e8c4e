/* Preloaded into a program, makes selected allocations fail: malloc, calloc, realloc and the aligned ones; libc's own
 * strdup, asprintf, reallocarray and so on call these. */
#include "failing_preload.h"

#include <regex.h>

EXPORT void *malloc(size_t bytes);
EXPORT void *calloc(size_t count, size_t bytes);
EXPORT void *realloc(void *old, size_t bytes);
EXPORT void *aligned_alloc(size_t alignment, size_t bytes);
EXPORT int posix_memalign(void **result, size_t alignment, size_t bytes);

void *malloc(size_t bytes)
{
	static __typeof__(&malloc) next;

	if (!next)
		next = NEXT(malloc);
	return fails(ENOMEM) ? NULL : next(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	static __typeof__(&calloc) next;

	if (!next)
		next = NEXT(calloc);
	return fails(ENOMEM) ? NULL : next(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
	static __typeof__(&realloc) next;

	if (!next)
		next = NEXT(realloc);
	return fails(ENOMEM) ? NULL : next(old, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	static __typeof__(&aligned_alloc) next;

	if (!next)
		next = NEXT(aligned_alloc);
	return fails(ENOMEM) ? NULL : next(alignment, bytes);
}

int posix_memalign(void **result, size_t alignment, size_t bytes)
{
	static __typeof__(&posix_memalign) next;

	if (!next)
		next = NEXT(posix_memalign);
	return fails(ENOMEM) ? ENOMEM : next(result, alignment, bytes);
}

/* regcomp of glibc 2.36 frees memory twice if some of its allocations fail, so it fails as a whole. */
EXPORT int regcomp(regex_t *regex, const char *pattern, int flags)
{
	static __typeof__(&regcomp) next;

	if (!next)
		next = NEXT(regcomp);
	if (fails(ENOMEM))
		return REG_ESPACE;
	is_paused = true;
	int error = next(regex, pattern, flags);
	is_paused = false;
	return error;
}

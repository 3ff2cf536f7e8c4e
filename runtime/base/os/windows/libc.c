/* Functions of glibc and libbsd that Windows' C library lacks. */
#include <bsd/libutil.h>
#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <windows.h>

void *reallocarray(void *array, size_t count, size_t item_bytes)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, item_bytes, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(array, bytes);
}

/* Rounds the time up to milliseconds. A signal does not end the wait. */
int nanosleep(const struct timespec *time, struct timespec *rest)
{
	(void)rest;
	Sleep((DWORD)(time->tv_sec * 1000 + (time->tv_nsec + 999999) / 1000000));
	return 0;
}

void *mempcpy(void *to, const void *from, size_t bytes)
{
	return (char *)memcpy(to, from, bytes) + bytes;
}

char *strchrnul(const char *text, int c)
{
	while (*text && *text != (char)c)
		text++;
	return (char *)text;
}

size_t strlcpy(char *to, const char *from, size_t bytes)
{
	size_t from_bytes = strlen(from);
	size_t copied = from_bytes < bytes ? from_bytes : bytes - 1;
	if (bytes) {
		memcpy(to, from, copied);
		to[copied] = '\0';
	}
	return from_bytes;
}

size_t strlcat(char *to, const char *from, size_t bytes)
{
	size_t to_bytes = strnlen(to, bytes);
	return to_bytes == bytes ? bytes + strlen(from) : to_bytes + strlcpy(to + to_bytes, from, bytes - to_bytes);
}

long long strtonum(const char *text, long long least, long long most, const char **problem)
{
	char *end;
	int before = errno;
	errno = 0;
	long long number = strtoll(text, &end, 10);
	bool is_number = end != text && !*end;
	bool is_small = number<least, is_large = number> most;
	if (errno == ERANGE) {
		is_small = number < 0;
		is_large = number > 0;
	}
	*problem = !is_number ? "invalid" : is_small ? "too small" : is_large ? "too large" : NULL;
	errno = !*problem ? before : is_number ? ERANGE : EINVAL;
	return *problem ? 0 : number;
}

/* Merges [0, middle) and [middle, count) of `from` into `to`. */
static void merge(uint8_t *to, const uint8_t *from, size_t middle, size_t count, size_t bytes,
                  int (*compare)(const void *a, const void *b))
{
	size_t a = 0, b = middle;
	for (size_t i = 0; i < count; i++) {
		bool takes_a = b == count || (a < middle && compare(from + a * bytes, from + b * bytes) <= 0);
		memcpy(to + i * bytes, from + (takes_a ? a++ : b++) * bytes, bytes);
	}
}

int mergesort(void *base, size_t count, size_t bytes, int (*compare)(const void *a, const void *b))
{
	uint8_t *room = reallocarray(NULL, count + 1, bytes), *from = base, *to = room;
	if (!room)
		return -1;
	for (size_t half = 1; half < count; half *= 2) {
		for (size_t at = 0; at < count; at += 2 * half) {
			size_t rest = count - at, part = rest < 2 * half ? rest : 2 * half;
			merge(to + at * bytes, from + at * bytes, part < half ? part : half, part, bytes, compare);
		}
		uint8_t *swapped = from;
		from = to;
		to = swapped;
	}
	if (from != base)
		memcpy(base, from, count * bytes);
	free(room);
	return 0;
}

void libc_qsort(void *base, size_t count, size_t bytes, int (*compare)(const void *a, const void *b))
{
	if (mergesort(base, count, bytes, compare))
		(qsort)(base, count, bytes, compare);
}

int expand_number(const char *text, uint64_t *number)
{
	static const char units[] = "kmgtpe";
	char *end;
	errno = 0;
	*number = strtoull(text, &end, 10);
	if (errno || end == text)
		return -1;
	if (!*end)
		return 0;
	const char *unit = strchr(units, *end | 0x20);
	if (!unit || !*unit)
		return -1;
	unsigned shift = 10 * (unsigned)(unit - units + 1);
	if (*number << shift >> shift != *number)
		return -1;
	*number <<= shift;
	return 0;
}

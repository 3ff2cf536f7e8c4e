/* The libraries that have this are never unloaded, so the destructor is always there to run. */
#include "ort_thread.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/queue.h>

struct piece {
	SLIST_ENTRY(piece) link;
	void **pointer;
	_Alignas(64) char memory[];
};
SLIST_HEAD(pieces, piece);

static pthread_key_t key;
static bool key_made;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void free_all(void *of)
{
	struct piece *piece = of;
	while (piece) {
		struct piece *next = SLIST_NEXT(piece, link);
		*piece->pointer = NULL;
		free(piece);
		piece = next;
	}
}

static void make_key(void)
{
	key_made = pthread_key_create(&key, free_all) == 0;
}

void *ort_thread_memory(void **pointer, size_t bytes)
{
	size_t whole = (sizeof(struct piece) + bytes + 63) / 64 * 64;
	pthread_once(&once, make_key);
	struct piece *made = key_made ? aligned_alloc(64, whole) : NULL;
	if (!made)
		return NULL;
	__builtin_memset(made, 0, whole);
	made->pointer = pointer;
	SLIST_NEXT(made, link) = pthread_getspecific(key);
	if (pthread_setspecific(key, made)) {
		free(made);
		return NULL;
	}
	return *pointer = made->memory;
}

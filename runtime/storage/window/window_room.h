/* Reserves disk space for parts of a window, and maps their pages before threads use them. Functions return 0
 * or errno. */
#ifndef EPPROF_RUNTIME_STORAGE_WINDOW_WINDOW_ROOM_H
#define EPPROF_RUNTIME_STORAGE_WINDOW_WINDOW_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct window;

/* Allocates disk space for a part of a window's file, up to the end of a page, because a store needs room for the whole
 * page. */
int window_reserve(const struct window *window, int fd, uint64_t offset, uint64_t bytes);

/* As os_memory_populate, for a part of a file that is mapped at `base`. The part must be allocated, contain only zeros
 * and not be in use yet. */
int window_touch(int fd, uint8_t *base, size_t at, size_t bytes);

#endif

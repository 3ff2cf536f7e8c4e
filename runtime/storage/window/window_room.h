/* Reserves disk space for parts of a window, and maps their pages before threads use them. All functions but the last
 * return 0 or errno. */
#ifndef EPPROF_RUNTIME_STORAGE_WINDOW_WINDOW_ROOM_H
#define EPPROF_RUNTIME_STORAGE_WINDOW_WINDOW_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Allocates a part of the file. */
int window_reserve(int fd, off_t offset, off_t bytes);

/* Makes the pages of memory present and writable, without changing them. */
int window_make_present(uint8_t *at, size_t bytes);

/* As window_make_present, for a part of a file mapped at `base` that is allocated, reads as zeros and is not in use
 * yet. */
int window_touch(int fd, uint8_t *base, size_t at, size_t bytes);

/* Punches a hole into the file. On a file system that cannot, the disk space stays allocated. */
void window_give_back(int fd, off_t offset, off_t bytes);

#endif

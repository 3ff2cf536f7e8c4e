/* The buffers that PU1 plugins fill: 4 MiB each, 128 MiB in total, for all plugins together.
 *
 *   FREE -take-> OUT (the plugin's) -return-> FULL (in order, one queue for each owner) -next-> READ -put_back-> FREE
 *
 * If a plugin returns a buffer that it does not have, the call has no effect: an address that is no buffer, another
 * plugin's buffer, a buffer that it returned before.  Address space is reserved at the first use, and the kernel
 * allocates memory when a buffer is touched.  One free buffer is touched in advance, so that no launch waits for page
 * faults.  The pool is never unmapped, because a plugin may keep a buffer forever.
 *
 * Thread: [any-thread]; one short lock, never held while foreign code runs. */
#ifndef EPPROF_RUNTIME_PLUGINS_PU1_PU1_POOL_H
#define EPPROF_RUNTIME_PLUGINS_PU1_PU1_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PU1_BUFFER_BYTES ((size_t)4 << 20)
#define PU1_BUFFERS_COUNT 32u

/* Maps the pool, once.  False: no memory. */
bool pu1_pool_setup(void);

/* Takes a buffer for a plugin; NULL: all are in use. */
uint8_t *pu1_pool_take(unsigned owner);

/* Returns a buffer of a plugin, with the number of bytes that have records.  Returns NULL, or the plugin's error as
 * static text.  If the number is larger than the buffer, it is cut; after any other error nothing has changed. */
const char *pu1_pool_return(unsigned owner, const uint8_t *buffer, size_t valid_bytes);

/* Returns the oldest full buffer of an owner, to be read and put back; NULL: none. */
const uint8_t *pu1_pool_next(unsigned owner, size_t *valid_bytes);
void pu1_pool_put_back(const uint8_t *buffer);

/* Returns the number of full buffers of an owner. */
unsigned pu1_pool_full_count(unsigned owner);

/* Touches the buffer that pu1_pool_take will return next. */
void pu1_pool_touch(void);

/* Returns the memory of free buffers to the system, except for the buffer that is touched in advance.  Called when no
 * session is profiling any more. */
void pu1_pool_trim(void);

/* Handlers for fork. */
void pu1_pool_fork_prepare(void);
void pu1_pool_fork_parent(void);
void pu1_pool_fork_child(void);

#endif

/* The buffers that PU1 plugins fill: 4 MiB each, 128 MiB in all, for all of them together.
 *
 *   FREE -take-> OUT (the plugin's) -give-> FULL (in order, one row for each owner) -next-> READ -put_back-> FREE
 *
 * A plugin that gives what it does not have (an address that is no buffer, another plugin's, one it gave before) changes
 * nothing.  Address space is taken at the first use, memory as buffers are touched; a free one is kept warm, so that no
 * launch pays for it.  Once mapped it stays: a plugin may hold on to a buffer for ever.
 *
 * Thread: [any-thread]; one short lock, never held while foreign code runs.
 */
#ifndef EPPROF_RUNTIME_PLUGINS_PU1_PU1_POOL_H
#define EPPROF_RUNTIME_PLUGINS_PU1_PU1_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PU1_BUFFER_BYTES ((size_t)4 << 20)
#define PU1_BUFFERS_COUNT 32u

/* Maps the pool, once.  False: no memory. */
bool pu1_pool_setup(void);

/* A buffer for a plugin; NULL: all are in use. */
uint8_t *pu1_pool_take(unsigned owner);

/* It is given back with so many bytes of records; more than it has is cut.  NULL, or what is wrong (static text): then
 * nothing has happened, or the bytes were cut. */
const char *pu1_pool_give(unsigned owner, const uint8_t *buffer, size_t valid_bytes);

/* The oldest full buffer of an owner, to be read and put back; NULL: none. */
const uint8_t *pu1_pool_next(unsigned owner, size_t *valid_bytes);
void pu1_pool_put_back(const uint8_t *buffer);

/* How many of an owner's are full. */
unsigned pu1_pool_full_count(unsigned owner);

/* Touches the buffer that will be taken next. */
void pu1_pool_warm(void);

/* Gives the memory of free buffers back to the system, but for the warm one: nobody profiles any more. */
void pu1_pool_cool(void);

/* Around fork. */
void pu1_pool_fork_prepare(void);
void pu1_pool_fork_parent(void);
void pu1_pool_fork_child(void);

#endif

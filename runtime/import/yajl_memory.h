/* Memory for yajl, which does not check the result of malloc: a failed allocation jumps out of yajl instead.
 *
 *   if (setjmp(memory->no_memory) == 0)
 *           yajl_parse(...);
 *   else
 *           yajl_memory_release(memory);
 *
 * Thread: one at a time. */
#ifndef EPPROF_RUNTIME_IMPORT_YAJL_MEMORY_H
#define EPPROF_RUNTIME_IMPORT_YAJL_MEMORY_H

#include <setjmp.h>
#include <sys/queue.h>
#include <yajl/yajl_common.h>

struct yajl_memory {
	yajl_alloc_funcs functions; /* for yajl_alloc */
	LIST_HEAD(, yajl_memory_block) blocks;
	jmp_buf no_memory;
};

/* The struct must not move after this call. */
void yajl_memory_init(struct yajl_memory *memory);
/* Frees everything that yajl has allocated, including its handle. */
void yajl_memory_release(struct yajl_memory *memory);

#endif

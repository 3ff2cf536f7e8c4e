/* Memory of the calling thread, for who is called with each event: to reach it through a pointer in the thread's static storage
 * takes one instruction, where a library that is opened late has to call for anything larger. */
#ifndef EPPROF_BRIDGES_ORT_THREAD_H
#define EPPROF_BRIDGES_ORT_THREAD_H

#include <stddef.h>

#define ORT_THREAD_POINTER __thread __attribute__((tls_model("initial-exec")))

/* Zeroed memory that *pointer, such a variable of the calling thread, then points to; when the thread ends it is freed, and the
 * pointer NULL again.  NULL: there is none. */
void *ort_thread_memory(void **pointer, size_t bytes);

#endif

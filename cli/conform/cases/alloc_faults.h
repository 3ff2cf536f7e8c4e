/* Makes allocations of a plugin fail: of the library, and of those that were loaded because it needs them.  Their
 * references to malloc, calloc and the like are redirected; libepprof and libc keep theirs. */
#ifndef EPPROF_CLI_CONFORM_CASES_ALLOC_FAULTS_H
#define EPPROF_CLI_CONFORM_CASES_ALLOC_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

/* `library` is from dlopen with RTLD_NOW.  Returns false if this machine's relocations are not known. */
bool alloc_faults_install(void *library);

/* From now on allocations are counted in `*count`, and number `failing` fails, counted from 1; 0: none. */
void alloc_faults_begin(uint64_t *count, uint64_t failing);
void alloc_faults_end(void);

#endif

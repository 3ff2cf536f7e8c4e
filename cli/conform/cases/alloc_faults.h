/* Makes allocations of a plugin fail.  The calls of malloc, calloc and the like are redirected in the plugin's library,
 * and in the libraries that were loaded with it as its dependencies.  Calls from libepprof and libc are not changed. */
#ifndef EPPROF_CLI_CONFORM_CASES_ALLOC_FAULTS_H
#define EPPROF_CLI_CONFORM_CASES_ALLOC_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

/* Redirects the calls.  `library` was opened by dlopen with RTLD_NOW.  Returns false if the relocations of this
 * machine's processor are not implemented here. */
bool alloc_faults_install(void *library);

/* From this call up to alloc_faults_end, each allocation adds 1 to `*count`, and the allocation that makes `*count`
 * equal to `failing` fails.  `failing` 0: none fails. */
void alloc_faults_begin(uint64_t *count, uint64_t failing);
void alloc_faults_end(void);

#endif

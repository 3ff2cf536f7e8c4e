/* A look at a library before dlopen, which maps what the headers say and takes SIGBUS if the file ends before that. */
#ifndef EPPROF_RUNTIME_PLUGINS_ELF_H
#define EPPROF_RUNTIME_PLUGINS_ELF_H

#include <stdint.h>

#include "base/status.h"

/* Whether the file is an ELF file whose segments lie in its `bytes` bytes.  All else is left to dlopen.
 * Errors: EPP_INCOMPATIBLE for another kind of file, EPP_CORRUPT for one that was cut, EPP_IO. */
epp_status *elf_check(int fd, uint64_t bytes);

#endif

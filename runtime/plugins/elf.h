/* Checks the ELF headers of a library before dlopen.  dlopen maps the segments in the headers, and gets SIGBUS if the
 * file ends before a segment does. */
#ifndef EPPROF_RUNTIME_PLUGINS_ELF_H
#define EPPROF_RUNTIME_PLUGINS_ELF_H

#include <stdint.h>

#include "base/status.h"

/* Checks that the file is an ELF file whose segments are within its `bytes` bytes.  All other checks are left to
 * dlopen.  Errors: EPP_INCOMPATIBLE for another kind of file, EPP_CORRUPT for a truncated one, EPP_IO. */
epp_status *elf_check(int fd, uint64_t bytes);

#endif

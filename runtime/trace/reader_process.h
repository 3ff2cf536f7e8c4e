/* Whether the process that wrote a trace is still there. */
#ifndef EPPROF_RUNTIME_TRACE_READER_PROCESS_H
#define EPPROF_RUNTIME_TRACE_READER_PROCESS_H

#include <stdbool.h>

#include "format/format.h"

/* True if this machine, since this boot, runs a process of that number that began before the trace was created. */
bool reader_process_is_alive(const struct epf_header *header);

#endif

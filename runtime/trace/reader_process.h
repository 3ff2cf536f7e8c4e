/* Detects if the process that wrote a trace is still running. */
#ifndef EPPROF_RUNTIME_TRACE_READER_PROCESS_H
#define EPPROF_RUNTIME_TRACE_READER_PROCESS_H

#include <stdbool.h>

#include "format/format.h"

/* Returns true if this boot of this machine runs a process with the trace's pid that started before the trace was
 * created. */
bool reader_process_is_alive(const struct epf_header *header);

#endif

/* The library in its process: setup, placeholders in paths, and the description of process and machine in a trace. */
#ifndef EPPROF_RUNTIME_RECORD_PROCESS_H
#define EPPROF_RUNTIME_RECORD_PROCESS_H

#include "format/format.h"

/* Sets up the clock, the barrier, ids and fork handlers once: at load, or at the first session if another library's
 * constructor creates one earlier. A reference to this function also makes the linker take the constructor from the
 * static library. */
void process_setup(void);

/* Fills in the file id, the time, and the source (process, machine, clock). If `label` is NULL, the label is the
 * program's name. */
void process_describe(struct epf_header *header, const char *label);

/* Replaces %pid%, %hostname%, %session% and %% (a percent sign) in a path. %session% is the number of paths of this
 * process that contained it so far: 1, 2, ... Returns NULL if out of memory. The caller frees the result. */
char *process_expand_path(const char *path);

#endif

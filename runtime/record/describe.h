/* What a trace says of where it was made. */
#ifndef EPPROF_RUNTIME_RECORD_DESCRIBE_H
#define EPPROF_RUNTIME_RECORD_DESCRIBE_H

#include "format/format.h"

/* Fills in the file id, the time, and the source: process, machine, clock.  `label` NULL: the program's name. */
void describe_process(struct epf_header *header, const char *label);

/* A path with %pid%, %hostname% and %session% replaced (%% is a percent sign), to be freed; NULL: no memory.  The last is
 * how many paths of this process have had it: 1, 2, ... */
char *describe_path(const char *path);

/* Once, at load. */
void describe_setup(void);

#endif

/* The description of the process and machine in a trace's header. */
#ifndef EPPROF_RUNTIME_RECORD_DESCRIBE_H
#define EPPROF_RUNTIME_RECORD_DESCRIBE_H

#include "format/format.h"

/* Fills in the file id, the time, and the source: process, machine, clock.  `label` NULL: the program's name. */
void describe_process(struct epf_header *header, const char *label);

/* Replaces %pid%, %hostname%, %session% and %% (a percent sign) in a path. %session% is the number of paths of this
 * process that contained it so far: 1, 2, ... The result is to be freed; NULL: no memory. */
char *describe_path(const char *path);

/* Called once, at load. */
void describe_setup(void);

#endif

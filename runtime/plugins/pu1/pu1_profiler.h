/* Creates the OrtEpProfilerImpl of a PU1 library.  Any number of sessions profile one library at the same time, in one
 * run of it. */
#ifndef EPPROF_RUNTIME_PLUGINS_PU1_PU1_PROFILER_H
#define EPPROF_RUNTIME_PLUGINS_PU1_PU1_PROFILER_H

#include "plugins/pu1/pu1_library.h"

/* Creates a profiler; its Release frees it. */
epp_status *pu1_profiler_create(struct pu1_library *library, OrtEpProfilerImpl **profiler);

#endif

/* Creates the OrtEpProfilerImpl of a PU1 library.  Any number of sessions can profile a library at the same time; the
 * library has one run for all of them. */
#ifndef EPPROF_RUNTIME_PLUGINS_PU1_PU1_PROFILER_H
#define EPPROF_RUNTIME_PLUGINS_PU1_PU1_PROFILER_H

#include "plugins/pu1/pu1_library.h"

/* Creates a profiler.  Its Release frees it. */
epp_status *pu1_profiler_create(struct pu1_library *library, OrtEpProfilerImpl **profiler);

#endif

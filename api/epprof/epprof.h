/* epprof: one profiler plugin for every framework, one timeline for every viewer.  This header includes all others of
 * libepprof; tools that read traces include epprof/timeline.h and epprof/export.h too.
 *
 * Names.  A function is epp_<noun>_<verb>; a function without a verb returns a property of its object.
 *   create, destroy   objects: destroy frees an object that create returned, and accepts NULL
 *   open, close       traces
 *   load, unload      plugins
 *   attach            passes a profiler to a session, which destroys it
 *   share             returns the session for a path, which all callers share; destroy releases the share
 *   start, end        a run: the time between a session's start and its end
 *   begin, end        events
 *   record            an event that is complete: an instant, a counter's value, a flow, a device's event
 *   add, set, get     parts and properties of an object; a function ..._at returns the element at an index
 *   count             adds to the ledger
 *
 * Sizes.  A struct that may grow begins with `struct_size`, which the caller sets to its sizeof; members are added at
 * its end only.
 *   options     An older caller has a smaller struct: the members that are not in it have their defaults, which are 0
 *               unless an ..._init function sets others.  A call fails with EPP_INVALID_ARGUMENT if the struct is
 *               larger and its unknown bytes are not 0, or if struct_size is not set.
 *   results     The library writes only the members that are within the caller's struct_size.
 * A struct that the library owns and returns by pointer (epp_event, epp_trace_info, epp_summary_line, ...) has no size
 * and grows at its end.  epp_arg, epp_trace_arg, epp_trace_record, epp_trace_track, epp_trace_pair and
 * epp_hosted_profiler_call do not grow. */
#ifndef EPPROF_EPPROF_H
#define EPPROF_EPPROF_H

#define EPPROF_VERSION_MAJOR 0
#define EPPROF_VERSION_MINOR 2
#define EPPROF_VERSION_PATCH 0
#define EPPROF_VERSION "0.2.0"

#include "epprof/plugin.h"
#include "epprof/profiler.h"
#include "epprof/record.h"
#include "epprof/session.h"
#include "epprof/status.h"
#include "epprof/track.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the version of the loaded library as text: the EPPROF_VERSION with which it was compiled.
 * Thread: [any-thread]. */
EPP_EXPORT const char *epp_version(void);

#ifdef __cplusplus
}
#endif
#endif

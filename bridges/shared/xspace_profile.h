/* A part of a trace as the XSpace that a framework collects, limited to the size that the framework accepts. */
#ifndef EPPROF_BRIDGES_SHARED_XSPACE_PROFILE_H
#define EPPROF_BRIDGES_SHARED_XSPACE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "epprof/trace_reader.h"

/* Frameworks store the size in an int. */
#define XSPACE_PROFILE_BYTES_MAX ((size_t)INT32_MAX)

struct xspace_profile {
	uint8_t *bytes; /* malloc; NULL: there are no events */
	size_t count;
	uint64_t left_out_count; /* number of events at the end that were left out because they did not fit */
	uint64_t events_count;   /* number of all events, if some were left out */
};

/* Creates the profile of events since `from_ns` (trace time).  Device planes are named /device:CUSTOM:NAME, or
 * /device:GPU:n if gpu_planes is set.  Ownership: the caller frees its bytes; on failure there are none. */
epp_status *xspace_profile_make(epp_trace *trace, int64_t from_ns, size_t bytes_max, bool gpu_planes,
                                struct xspace_profile *profile);

#endif

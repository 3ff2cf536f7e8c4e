/* Devices of a trace: a device is all streams of one group of one profiler in one process. */
#ifndef EPPROF_RUNTIME_ANALYSIS_DEVICE_H
#define EPPROF_RUNTIME_ANALYSIS_DEVICE_H

#include <stdbool.h>
#include <string.h>

#include "epprof/trace_reader.h"

/* Returns true if two streams are of the same device. */
static inline bool device_is_same(const epp_trace_track *stream, const epp_trace_track *other)
{
	return stream->source == other->source && stream->producer == other->producer &&
	       strcmp(stream->group, other->group) == 0;
}

#endif

/* What an event of a device or a call is: a kernel, a copy and its direction, a fill; a call into the runtime or the driver.
 *
 * A profiler states it in the arg `kind` ("kernel", "memcpy", "memset", "driver"; epprof/pu1.h), a trace of PyTorch's in the arg
 * `cat` ("kernel", "gpu_memcpy", "gpu_memset", "cuda_driver").  Where neither is there, the name decides:
 *
 *   copy in    "h2d", "htod", "host to device", "copy in" or "upload" is part of the name
 *   copy out   likewise "d2h", "dtoh", "device to host", "copy out", "download"
 *   fill       likewise "memset"
 *   copy       likewise "copy", "memcpy", "transfer"
 *   kernel     all other events of devices
 *
 * Letters may be large or small; what stands between words does not matter.  The direction of a copy is always that of its name. */
#ifndef EPPROF_RUNTIME_TIMELINE_EVENTS_WORK_H
#define EPPROF_RUNTIME_TIMELINE_EVENTS_WORK_H

#include <stdbool.h>

#include "epprof/timeline.h"

enum work {
	WORK_KERNEL,
	WORK_COPY_IN,
	WORK_COPY_OUT,
	WORK_COPY,
	WORK_FILL,
	WORK_RUNTIME,
	WORK_DRIVER,
	WORK_COUNT,
	WORK_NONE = WORK_COUNT
};

/* "kernel", "copy in", ... */
extern const char *const work_names[WORK_COUNT];

/* Kernels, copies and fills are of devices. */
static inline bool work_is_copy(enum work work)
{
	return work >= WORK_COPY_IN && work <= WORK_FILL;
}

/* False of events of a host that are no calls (category EPP_API), and of all that take no time. */
static inline bool work_is_told(const epp_event *event)
{
	bool is_slice = event->kind == EPP_EVENT_SLICE || event->kind == EPP_EVENT_ASYNC;

	return is_slice && (event->track->kind == EPP_TRACK_DEVICE || event->track->kind == EPP_TRACK_CALLS ||
	                    event->category == EPP_API);
}

/* WORK_NONE: work_is_told is false.  `timeline`: that of the event; NULL: the args are an array,
 * as exporters get them. */
enum work work_of(const epp_timeline *timeline, const epp_event *event);

/* The number that joins a call to what it launched: the arg `correlation` or `correlation_id`.  False: it has none. */
bool work_correlation(const epp_timeline *timeline, const epp_event *event, uint64_t *number);

/* Adds how much an event copied or filled, the arg `bytes`.  False: it does not state it. */
bool work_add_bytes(const epp_timeline *timeline, const epp_event *event, uint64_t *bytes);

/* An arg of an event, whose args are `timeline`'s or an array, likewise; `*cursor` is 0 at first.  False behind the last. */
static inline bool work_next_arg(const epp_timeline *timeline, const epp_event *event, size_t *cursor, epp_trace_arg *arg)
{
	if (timeline)
		return epp_event_args(timeline, event, cursor, arg);
	if (*cursor >= event->args_count)
		return false;
	*arg = ((const epp_trace_arg *)event->args)[(*cursor)++];
	return true;
}

#endif

/* Classifies an event of a device as a kernel, a copy and its direction, or a fill, and an event of the host as a call
 * into the runtime or the driver.
 *
 * A profiler states the class in the arg `kind` ("kernel", "memcpy", "memset", "driver"; epprof/abi/pu1.h), with the
 * direction of a copy if it is known ("memcpy_htod", "memcpy_dtoh", "memcpy_dtod"; epprof/ep.h), a PyTorch trace in the
 * arg `cat` ("kernel", "gpu_memcpy", "gpu_memset", "cuda_driver").  Without either arg, the name decides:
 *
 *   copy in    the name contains "h2d", "htod", "host to device", "copy in" or "upload"
 *   copy out   the name contains "d2h", "dtoh", "device to host", "copy out" or "download"
 *   fill       the name contains "memset"
 *   copy       the name contains "copy", "memcpy" or "transfer"
 *   kernel     all other events of devices
 *
 * Case and the characters between words are ignored.  The direction of a "memcpy" or a "gpu_memcpy" comes from the
 * name. */
#ifndef EPPROF_RUNTIME_TIMELINE_EVENTS_WORK_KIND_H
#define EPPROF_RUNTIME_TIMELINE_EVENTS_WORK_KIND_H

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

/* the texts "kernel", "copy in", ..., by enum work */
extern const char *const work_names[WORK_COUNT];

/* Returns true for copies and fills. */
static inline bool work_is_copy(enum work work)
{
	return work >= WORK_COPY_IN && work <= WORK_FILL;
}

/* Returns false for events that have no class: host events whose category is not EPP_API, and events without a
 * duration. */
static inline bool work_is_classified(const epp_event *event)
{
	bool is_slice = event->kind == EPP_EVENT_SLICE || event->kind == EPP_EVENT_ASYNC;

	return is_slice && (event->track->kind == EPP_TRACK_DEVICE || event->track->kind == EPP_TRACK_CALLS ||
	                    event->category == EPP_API);
}

/* Returns WORK_NONE if work_is_classified is false.  `timeline` is the timeline of the event; NULL: event->args is an
 * array, which exporters get. */
enum work work_of(const epp_timeline *timeline, const epp_event *event);

/* Classifies a device event by its name alone: WORK_KERNEL, or a copy or fill. */
enum work work_of_name(const char *name, size_t bytes);

/* Gets the number that joins a call to the work that it launched: the arg `correlation` or `correlation_id`.
 * Returns false if there is none. */
bool work_correlation(const epp_timeline *timeline, const epp_event *event, uint64_t *number);

/* Adds the number of bytes that an event copied or filled: the arg `bytes`.  Returns false if there is none. */
bool work_add_bytes(const epp_timeline *timeline, const epp_event *event, uint64_t *bytes);

/* Gets the next arg of an event; false: there are no more.  `timeline` is as for work_of.  `*cursor` must be 0 before
 * the first call. */
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

/* What a device event or a plugin's call is: a kernel, a copy, a fill; a call into the runtime or the driver.
 *
 * A plugin states it in the arg `kind` ("memcpy", "memset", "driver"; epprof/pu1.h).  Without the arg an event is a copy or a fill
 * if its name begins as Kineto names these. */
#ifndef EPPROF_TIMELINE_WORK_H
#define EPPROF_TIMELINE_WORK_H

#include "epprof/timeline.h"

enum work { WORK_KERNEL, WORK_MEMCPY, WORK_MEMSET, WORK_RUNTIME, WORK_DRIVER, WORK_COUNT };

/* "kernel", "memcpy", ... */
extern const char *const work_names[WORK_COUNT];

/* Of an event on a device's track or a track of calls.  `timeline`: that of the event; NULL: the args are an array, as exporters
 * get them. */
enum work work_of(const epp_timeline *timeline, const epp_event *event);

#endif

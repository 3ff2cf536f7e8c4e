/* The clock samples that a timeline uses, for exporters: first those of the host clock against CLOCK_MONOTONIC and
 * CLOCK_REALTIME, then, for each device clock, the samples against the host clock that are starts of segments of its
 * fit. */
#ifndef EPPROF_RUNTIME_TIMELINE_CLOCK_SAMPLES_H
#define EPPROF_RUNTIME_TIMELINE_CLOCK_SAMPLES_H

#include <stdbool.h>

#include "epprof/timeline.h"

struct timeline_pair {
	bool is_device;
	uint32_t source;
	uint32_t clock;  /* the device's clock number, or its track if it has no number; 0: host clock */
	uint64_t ticks;  /* of the clock `clock` */
	int64_t time_ns; /* on the timeline */
	int64_t half_width_ns;
	int64_t monotonic_ns, realtime_ns; /* only for the host clock */
};

/* Gets the sample with this index; false: there is no such sample.  The samples of a clock are in order of its
 * ticks. */
bool timeline_pair_at(const epp_timeline *timeline, size_t index, struct timeline_pair *pair);

#endif

/* The clock samples that a timeline uses, for exporters: first those of the host clock against CLOCK_MONOTONIC and
 * CLOCK_REALTIME, then those of each device clock against the host clock that its fit keeps. */
#ifndef EPPROF_RUNTIME_TIMELINE_CLOCK_SAMPLES_H
#define EPPROF_RUNTIME_TIMELINE_CLOCK_SAMPLES_H

#include <stdbool.h>

#include "epprof/timeline.h"

struct timeline_pair {
	bool is_device;
	uint32_t source;
	uint32_t clock;  /* a device's clock number, or its track if it has no number; 0: the host's clock */
	uint64_t ticks;  /* of that clock */
	int64_t time_ns; /* on the timeline */
	int64_t half_width_ns;
	int64_t monotonic_ns, realtime_ns; /* only of the host's clock */
};

/* Returns false past the last sample.  Samples are in file order; a call with the next index is cheap. */
bool timeline_pair_at(const epp_timeline *timeline, size_t index, struct timeline_pair *pair);

#endif

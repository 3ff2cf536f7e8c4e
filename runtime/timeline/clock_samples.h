/* The readings of clocks side by side that a timeline goes by, for exporters: first those of the host's clock beside
 * CLOCK_MONOTONIC and CLOCK_REALTIME, then those of each device's clock beside the host's that its fit keeps. */
#ifndef EPPROF_RUNTIME_TIMELINE_CLOCK_SAMPLES_H
#define EPPROF_RUNTIME_TIMELINE_CLOCK_SAMPLES_H

#include <stdbool.h>

#include "epprof/timeline.h"

struct timeline_pair {
	bool is_device;
	uint32_t source;
	uint32_t clock;  /* a device's: its number, or the track's if it has none of its own; 0: the host's */
	uint64_t ticks;  /* of that clock */
	int64_t time_ns; /* on the timeline */
	int64_t half_width_ns;
	int64_t monotonic_ns, realtime_ns; /* the host's */
};

/* False beyond the last.  The order is that of the file; a step of `index` costs little. */
bool timeline_pair_at(const epp_timeline *timeline, size_t index, struct timeline_pair *pair);

#endif

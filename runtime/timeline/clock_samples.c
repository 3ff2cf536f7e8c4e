/* Lists the clock samples of a timeline: the reader's host samples, then the segment starts of the device clock
 * fits. */
#include "timeline/clock_samples.h"

#include "timeline/timeline.h"

static int64_t span_ns(const epp_timeline *timeline, uint64_t ticks)
{
	int64_t ns = host_clock_span_ns(&timeline->host, ticks);

	return ns < 0 ? INT64_MAX : ns;
}

static void host_pair(const epp_timeline *timeline, const struct epf_host_pair *from, struct timeline_pair *pair)
{
	size_t hint = 0;

	*pair = (struct timeline_pair){ .ticks = from->ticks,
		                        .time_ns = host_clock_ns(&timeline->host, &hint, from->ticks),
		                        .half_width_ns = span_ns(timeline, from->half_width_ticks),
		                        .monotonic_ns = from->monotonic_ns,
		                        .realtime_ns = from->realtime_ns };
}

static void device_pair(const epp_timeline *timeline, const struct device_clock *clock, size_t index,
                        struct timeline_pair *pair)
{
	const struct clock_segment *segment = &clock->segments[index];
	size_t hint = 0;

	*pair = (struct timeline_pair){ .is_device = true,
		                        .source = clock->source,
		                        .clock = clock->number ? clock->number : clock->track,
		                        .ticks = clock->fit.device_first + (uint64_t)segment->position,
		                        .time_ns = host_clock_ns(&timeline->host, &hint, segment->host),
		                        .half_width_ns = span_ns(timeline, segment->half_width) };
}

bool timeline_pair_at(const epp_timeline *timeline, size_t index, struct timeline_pair *pair)
{
	const struct reader *reader = timeline->reader;

	if (index < reader->pairs_count) {
		host_pair(timeline, &reader->pairs[index], pair);
		return true;
	}
	index -= reader->pairs_count;
	for (size_t i = 0; i < timeline->clocks.count; i++) {
		const struct device_clock *clock = timeline->clocks.clocks[i];
		size_t count = clock->segments ? clock->fit.count : 0;
		if (index < count) {
			device_pair(timeline, clock, index, pair);
			return true;
		}
		index -= count;
	}
	return false;
}

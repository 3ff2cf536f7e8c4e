/* Implements device_clock.h.  The fit converts device ticks to host ticks, and the host clock converts these to
 * nanoseconds, rounded down.  Its error bound is that of the fit, converted with the host's nominal rate and rounded
 * up.  A clock is identified by its number, or by its track if it has no number. */
#include "timeline/clock/device_clock.h"

#include <stdlib.h>

#include "base/status.h"
#include "containers/array.h"

void device_clocks_deinit(struct device_clocks *clocks)
{
	for (size_t i = 0; i < clocks->count; i++) {
		free(clocks->clocks[i]->pairs);
		free(clocks->clocks[i]->segments);
		free(clocks->clocks[i]);
	}
	free(clocks->clocks);
	*clocks = (struct device_clocks){ 0 };
}

epp_status *device_clocks_find(struct device_clocks *clocks, const struct epf_track *definition, struct device_clock **found)
{
	uint32_t track = definition->clock ? 0 : definition->track;

	*found = NULL;
	for (size_t i = 0; i < clocks->count; i++) {
		struct device_clock *clock = clocks->clocks[i];
		if (clock->source == definition->source && clock->number == definition->clock && clock->track == track) {
			*found = clock;
			return NULL;
		}
	}
	struct device_clock **room = reallocarray(clocks->clocks, clocks->count + 1, sizeof(struct device_clock *));
	if (!room)
		return epp_status_no_memory();
	clocks->clocks = room;
	struct device_clock *clock = calloc(1, sizeof(*clock));
	if (!clock)
		return epp_status_no_memory();
	clock->source = definition->source;
	clock->number = definition->clock;
	clock->track = track;
	clock->bits = definition->clock_bits;
	clock->ticks_per_second = definition->ticks_per_second;
	clocks->clocks[clocks->count++] = *found = clock;
	return NULL;
}

epp_status *device_clock_add_pair(struct device_clock *clock, uint64_t device_ticks, uint64_t host_ticks,
                                  uint64_t half_width_ticks)
{
	if (!array_reserve(&clock->pairs, &clock->pairs_room, clock->pairs_count + 1, sizeof(*clock->pairs)))
		return epp_status_no_memory();
	clock->pairs[clock->pairs_count++] = (struct clock_pair){ device_ticks, host_ticks, half_width_ticks };
	return NULL;
}

epp_status *device_clocks_fit(struct device_clocks *clocks, const struct host_clock *host)
{
	for (size_t i = 0; i < clocks->count; i++) {
		struct device_clock *clock = clocks->clocks[i];
		clock->bound_ns = host_clock_span_ns(host, clock->bound);
		if (!clock->pairs_count)
			continue;
		clock->pairs_count = clock_fit_prepare(clock->pairs, clock->pairs_count, host->ticks_per_second);
		clock->segments = calloc(clock->pairs_count, sizeof(*clock->segments));
		if (!clock->segments)
			return epp_status_no_memory();
		clock_fit_build(&clock->fit, clock->segments, clock->pairs, clock->pairs_count, clock->ticks_per_second,
		                host->ticks_per_second, clock->bits);
		free(clock->pairs);
		clock->pairs = NULL;
		clock->ambiguous = (clock->bits && clock->bits < 64) || clock->fit.is_doubtful;
	}
	return NULL;
}

struct device_time device_clock_place(struct device_clock *clock, const struct host_clock *host, size_t *host_hint,
                                      uint64_t ticks, int64_t near_ns)
{
	struct clock_place place;
	if (near_ns != INT64_MIN && clock->ambiguous) {
		uint64_t near_ticks = host_clock_ticks(host, near_ns);
		clock_fit_hint(&clock->fit, near_ticks, &clock->hint);
		place = clock_fit_map_near(&clock->fit, ticks, near_ticks, &clock->hint);
	} else {
		place = clock_fit_map(&clock->fit, ticks, &clock->hint);
	}
	/* A host tick below zero, as a negative number in two's complement: an imported clock may begin there. */
	bool before_zero = place.host > UINT64_MAX / 2;
	int64_t ns = before_zero ? host_clock_ns(host, host_hint, 0) - host_clock_span_ns(host, -place.host)
	                         : host_clock_ns(host, host_hint, place.host);
	int64_t error_ns = host_clock_span_ns(host, place.bound), doubt_ns = host_clock_doubt_ns(host, host_hint);
	return (struct device_time){ .ns = ns < -ITEM_NS_MAX ? -ITEM_NS_MAX : ns,
		                     .error_ns = error_ns < ITEM_NS_MAX - doubt_ns ? error_ns + doubt_ns : ITEM_NS_MAX,
		                     .fitted = place.kind != CLOCK_FIT_FORMULA };
}

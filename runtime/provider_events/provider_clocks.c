/* Assigns the events of execution providers to clocks.
 *
 * Each provider measures with its own clock, but ONNX Runtime's profile does not name the provider of an event.  If
 * only one provider is profiled, all events are on its clock.  If there are several, each stream of a device has a
 * clock of its own.  If the causes of a stream's events are nodes of several providers, the stream has a clock for each
 * of these providers.  So events of two providers only share a clock if they have the same stream and the same cause.
 *
 * A provider compares its clock with ONNX Runtime's at the start of each profile, so profiles that are added one after
 * the other have different clocks.  A profiler has a limited number of clocks.  All further ones share the last. */
#include "provider_events/provider_events.h"

static bool is_on(const struct provider_clock *clock, int32_t device, int64_t stream)
{
	return clock->device == device && clock->stream == stream;
}

static uint32_t find(struct provider_clocks *clocks, int32_t device, int64_t stream, uint32_t provider)
{
	uint32_t number = 0;

	for (; number < clocks->count; number++) {
		struct provider_clock *clock = &clocks->clocks[number];
		if (!is_on(clock, device, stream))
			continue;
		/* Events without a cause are on the first clock of the stream. */
		if (!provider || clock->provider == provider)
			return number;
		if (!clock->provider) {
			clock->provider = provider;
			return number;
		}
	}
	return number;
}

uint32_t provider_clocks_find(struct provider_clocks *clocks, int32_t device, int64_t stream, uint32_t provider,
                              bool *is_new)
{
	uint32_t number = clocks->is_one ? 0 : find(clocks, device, stream, provider);

	*is_new = number == clocks->count && clocks->used_count + number < PROVIDER_CLOCKS_MAX;
	if (*is_new)
		clocks->clocks[clocks->count++] = (struct provider_clock){ device, stream, provider };
	number += clocks->used_count;
	return number < PROVIDER_CLOCKS_MAX ? number : PROVIDER_CLOCKS_MAX - 1;
}

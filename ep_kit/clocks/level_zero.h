/* The clock of a Level Zero device for the kit.  Copy this file into your project; it needs only Level Zero's
 * header.
 *
 *   struct epp_level_zero_clock clock;
 *   if (epp_level_zero_clock_open(&clock, device) == ZE_RESULT_SUCCESS)
 *       options.read_clocks = epp_level_zero_clock_read, options.clock = &clock,
 *       options.ticks_per_second = clock.ticks_per_second, options.clock_bits = clock.bits;
 *
 * Ticks are those of zeEventQueryKernelTimestamp: kernelTimestampValidBits bits, which are the lower ones of the
 * device's global timestamp.  The frequency is exact only with the device properties of version 1.2; earlier ones round
 * a tick of 52.08 ns to 52 ns.
 * Level Zero does not define the clock of its host timestamp, so the pair uses host times before and after the call.
 * docs/clocks.md lists the systems on which this was tried. */
#ifndef EPPROF_EP_KIT_CLOCKS_LEVEL_ZERO_H
#define EPPROF_EP_KIT_CLOCKS_LEVEL_ZERO_H

#include <level_zero/ze_api.h>
#include <stdint.h>
#include <string.h>

struct epp_level_zero_clock {
	ze_device_handle_t device;
	uint64_t ticks_per_second;
	uint32_t bits;
};

/* Errors: those of Level Zero; ZE_RESULT_ERROR_UNSUPPORTED_FEATURE if the device has no timestamps. */
static inline ze_result_t epp_level_zero_clock_open(struct epp_level_zero_clock *clock, ze_device_handle_t device)
{
	ze_device_properties_t properties;
	memset(clock, 0, sizeof(*clock));
	memset(&properties, 0, sizeof(properties));
	properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;
	ze_result_t result = zeDeviceGetProperties(device, &properties);
	if (result != ZE_RESULT_SUCCESS)
		return result;
	clock->device = device;
	clock->ticks_per_second = properties.timerResolution;
	clock->bits = properties.kernelTimestampValidBits < properties.timestampValidBits
	                  ? properties.kernelTimestampValidBits
	                  : properties.timestampValidBits;
	return clock->bits && clock->ticks_per_second ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}

/* The function for epp_ep_options.read_clocks.  `open_clock` points to a struct epp_level_zero_clock. */
static inline int epp_level_zero_clock_read(void *open_clock, uint64_t (*host_ticks)(void),
                                            uint64_t host_ticks_per_second, uint64_t pair[3])
{
	const struct epp_level_zero_clock *clock = (const struct epp_level_zero_clock *)open_clock;
	uint64_t host_time = 0, device_ticks = 0, before = host_ticks();
	ze_result_t result = zeDeviceGetGlobalTimestamps(clock->device, &host_time, &device_ticks);
	uint64_t width = host_ticks() - before;
	pair[0] = clock->bits < 64 ? device_ticks & ((UINT64_C(1) << clock->bits) - 1) : device_ticks;
	pair[1] = before + width / 2;
	pair[2] = width - width / 2 + host_ticks_per_second / clock->ticks_per_second + 1;
	return result != ZE_RESULT_SUCCESS;
}

#endif

/* The clock of a Vulkan device for the kit.  Copy this file into your project; it needs only Vulkan's header, and
 * POSIX's clock_gettime (C11 with _POSIX_C_SOURCE, gnu11, C++) or Windows's performance counter.
 *
 *   struct epp_vulkan_clock clock;
 *   if (epp_vulkan_clock_open(&clock, physical_device, device, queue_family) == VK_SUCCESS)
 *       options.read_clocks = epp_vulkan_clock_read, options.clock = &clock,
 *       options.ticks_per_second = clock.ticks_per_second, options.clock_bits = clock.bits;
 *
 * The device must be created with the extension VK_EXT_calibrated_timestamps.  Ticks are those of vkCmdWriteTimestamp in
 * queues of the family: timestampValidBits bits, timestampPeriod nanoseconds each.
 * Vulkan returns the device's time, a time of the system's clock, and their maximum difference (maxDeviation).
 * docs/clocks.md lists the systems on which this was tried. */
#ifndef EPPROF_EP_KIT_CLOCKS_VULKAN_H
#define EPPROF_EP_KIT_CLOCKS_VULKAN_H

#include <stdint.h>
#include <string.h>
#include <vulkan/vulkan.h>

#ifdef _WIN32
#include <windows.h>
#define EPP_VULKAN_HOST_DOMAIN VK_TIME_DOMAIN_QUERY_PERFORMANCE_COUNTER_EXT
#else
#include <time.h>
#define EPP_VULKAN_HOST_DOMAIN VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT
#endif

struct epp_vulkan_clock {
	VkDevice device;
	PFN_vkGetCalibratedTimestampsEXT get;
	double period_ns;
	uint64_t ticks_per_second;
	uint32_t bits;
};

/* Returns the present time of the clock EPP_VULKAN_HOST_DOMAIN. */
static inline uint64_t epp_vulkan_system_time(void)
{
#ifdef _WIN32
	LARGE_INTEGER now;
	QueryPerformanceCounter(&now);
	return (uint64_t)now.QuadPart;
#else
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
#endif
}

/* Errors: those of Vulkan; VK_ERROR_EXTENSION_NOT_PRESENT also if the queues of the family have no timestamps. */
static inline VkResult epp_vulkan_clock_open(struct epp_vulkan_clock *clock, VkPhysicalDevice physical_device,
                                             VkDevice device, uint32_t queue_family)
{
	VkPhysicalDeviceProperties properties;
	VkQueueFamilyProperties families[16];
	uint32_t count = 16;
	memset(clock, 0, sizeof(*clock));
	vkGetPhysicalDeviceProperties(physical_device, &properties);
	vkGetPhysicalDeviceQueueFamilyProperties(physical_device, &count, families);
	clock->device = device;
	clock->bits = queue_family < count ? families[queue_family].timestampValidBits : 0;
	clock->period_ns = (double)properties.limits.timestampPeriod;
	clock->ticks_per_second = (uint64_t)(1e9 / clock->period_ns + 0.5);
	clock->get = (PFN_vkGetCalibratedTimestampsEXT)vkGetDeviceProcAddr(device, "vkGetCalibratedTimestampsEXT");
	return clock->get && clock->bits ? VK_SUCCESS : VK_ERROR_EXTENSION_NOT_PRESENT;
}

/* The function for epp_ep_options.read_clocks.  `open_clock` points to a struct epp_vulkan_clock.  Both clocks are read
 * before and after the call, to convert the system's time to host ticks. */
static inline int epp_vulkan_clock_read(void *open_clock, uint64_t (*host_ticks)(void), uint64_t host_ticks_per_second,
                                        uint64_t pair[3])
{
	const struct epp_vulkan_clock *clock = (const struct epp_vulkan_clock *)open_clock;
	VkCalibratedTimestampInfoEXT domains[2];
	uint64_t times[2] = { 0, 0 }, deviation_ns = 0;
	memset(domains, 0, sizeof(domains));
	domains[0].sType = domains[1].sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT;
	domains[0].timeDomain = VK_TIME_DOMAIN_DEVICE_EXT;
	domains[1].timeDomain = EPP_VULKAN_HOST_DOMAIN;
	uint64_t first = host_ticks(), system_before = epp_vulkan_system_time(), before = host_ticks();
	VkResult result = clock->get(clock->device, 2, domains, times, &deviation_ns);
	uint64_t after = host_ticks(), system_after = epp_vulkan_system_time(), last = host_ticks();
	pair[0] = clock->bits < 64 ? times[0] & ((UINT64_C(1) << clock->bits) - 1) : times[0];
	/* Both times were read during the call, so its middle is used. */
	pair[1] = before + (after - before) / 2;
	pair[2] = (after - before) / 2 + 1;
	if (system_before < system_after && times[1] >= system_before && times[1] <= system_after) {
		double at = (double)(times[1] - system_before) / (double)(system_after - system_before);
		uint64_t reading = before - first > last - after ? before - first : last - after;
		/* The half-width also includes a step of 1 ns of the system's clock, and the rounding of four
		 * numbers. */
		double deviation = (double)deviation_ns * (double)host_ticks_per_second / 1e9;
		uint64_t half_width = deviation < 1e18 ? (uint64_t)deviation : UINT64_MAX / 2;
		half_width += reading / 2 + host_ticks_per_second / 1000000000 + 4;
		if (half_width < pair[2]) {
			double start = (double)(before - first) / 2,
			       end = (double)(after - first) + (double)(last - after) / 2;
			pair[1] = first + (uint64_t)(start + at * (end - start));
			pair[2] = half_width;
		}
	}
	return result != VK_SUCCESS;
}

#endif

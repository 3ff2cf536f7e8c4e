/* To be preloaded: makes the clock of a Vulkan device whose ticks are nanoseconds one of 36 bits and 52.08 ns, which wraps
 * 150 ms after its first timestamp.  Writes the numbers of timestamps before and after the wrap into the file
 * WRAPPING_VULKAN. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <vulkan/vulkan.h>

#define BITS 36
#define PERIOD_NS 52.08f
#define BEFORE_WRAP_NS 150000000

static uint64_t base_ns;
static unsigned before_count, after_count;
static PFN_vkGetCalibratedTimestampsEXT real_calibrated;

static void *real(const char *name)
{
	static void *library;
	if (!library)
		library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
	return library ? dlsym(library, name) : NULL;
}

static uint64_t ticks_of(uint64_t time_ns)
{
	const uint64_t span = UINT64_C(1) << BITS;
	if (!base_ns) {
		struct timespec now;
		clock_gettime(CLOCK_MONOTONIC, &now);
		base_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	}
	int64_t since_wrap_ns = (int64_t)(time_ns - base_ns) - BEFORE_WRAP_NS;
	if (since_wrap_ns < 0)
		return span - 1 - (uint64_t)((double)-since_wrap_ns / (double)PERIOD_NS);
	return (uint64_t)((double)since_wrap_ns / (double)PERIOD_NS);
}

void vkGetPhysicalDeviceProperties(VkPhysicalDevice device, VkPhysicalDeviceProperties *properties)
{
	((PFN_vkGetPhysicalDeviceProperties)real("vkGetPhysicalDeviceProperties"))(device, properties);
	if (properties->limits.timestampPeriod != 1)
		abort();
	properties->limits.timestampPeriod = PERIOD_NS;
}

void vkGetPhysicalDeviceQueueFamilyProperties(VkPhysicalDevice device, uint32_t *count, VkQueueFamilyProperties *families)
{
	((PFN_vkGetPhysicalDeviceQueueFamilyProperties)real("vkGetPhysicalDeviceQueueFamilyProperties"))(device, count,
	                                                                                                 families);
	for (uint32_t i = 0; families && i < *count; i++)
		families[i].timestampValidBits = BITS;
}

VkResult vkGetQueryPoolResults(VkDevice device, VkQueryPool pool, uint32_t first, uint32_t count, size_t bytes,
                               void *data, VkDeviceSize stride, VkQueryResultFlags flags)
{
	uint64_t *ticks = data;
	VkResult result = ((PFN_vkGetQueryPoolResults)real("vkGetQueryPoolResults"))(device, pool, first, count, bytes,
	                                                                             data, stride, flags);
	for (uint32_t i = 0; i < count && result == VK_SUCCESS; i++) {
		ticks[i] = ticks_of(ticks[i]);
		if (ticks[i] >> (BITS - 1))
			before_count++;
		else
			after_count++;
	}
	return result;
}

static VkResult calibrated(VkDevice device, uint32_t count, const VkCalibratedTimestampInfoEXT *domains,
                           uint64_t *times, uint64_t *deviation)
{
	VkResult result = real_calibrated(device, count, domains, times, deviation);
	for (uint32_t i = 0; i < count && result == VK_SUCCESS; i++) {
		if (domains[i].timeDomain == VK_TIME_DOMAIN_DEVICE_EXT)
			times[i] = ticks_of(times[i]);
	}
	*deviation += (uint64_t)PERIOD_NS + 1;
	return result;
}

PFN_vkVoidFunction vkGetDeviceProcAddr(VkDevice device, const char *name)
{
	PFN_vkVoidFunction function = ((PFN_vkGetDeviceProcAddr)real("vkGetDeviceProcAddr"))(device, name);
	if (strcmp(name, "vkGetCalibratedTimestampsEXT") != 0)
		return function;
	real_calibrated = (PFN_vkGetCalibratedTimestampsEXT)function;
	return function ? (PFN_vkVoidFunction)calibrated : NULL;
}

__attribute__((destructor)) static void report(void)
{
	const char *path = getenv("WRAPPING_VULKAN");
	FILE *file = path && before_count + after_count ? fopen(path, "w") : NULL;
	if (file) {
		fprintf(file, "%u %u\n", before_count, after_count);
		fclose(file);
	}
}

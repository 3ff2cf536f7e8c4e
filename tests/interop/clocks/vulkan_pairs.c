/* Pairs of ep_kit/clocks/vulkan.h on each Vulkan device.  The device of lavapipe, which is the processor, counts
 * nanoseconds of CLOCK_MONOTONIC: so the truth is known there. */
#include "ep_kit/clocks/vulkan.h"

#include <stdio.h>

#define PAIRS 5000

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int check(VkPhysicalDevice physical)
{
	const char *const extension = "VK_EXT_calibrated_timestamps";
	const float priority = 1;
	const VkDeviceQueueCreateInfo queue = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
		                                .queueCount = 1,
		                                .pQueuePriorities = &priority };
	const VkDeviceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
		                          .queueCreateInfoCount = 1,
		                          .pQueueCreateInfos = &queue,
		                          .enabledExtensionCount = 1,
		                          .ppEnabledExtensionNames = &extension };
	VkPhysicalDeviceProperties properties;
	VkDevice device;
	struct epp_vulkan_clock clock;
	unsigned wrong = 0, failed = 0;
	uint64_t widths = 0;
	vkGetPhysicalDeviceProperties(physical, &properties);
	VkResult result = vkCreateDevice(physical, &info, NULL, &device);
	if (result != VK_SUCCESS) {
		printf("%s: no device with %s: %d\n", properties.deviceName, extension, (int)result);
		return result == VK_ERROR_EXTENSION_NOT_PRESENT ? 77 : 1;
	}
	result = epp_vulkan_clock_open(&clock, physical, device, 0);
	for (int i = 0; i < PAIRS && result == VK_SUCCESS; i++) {
		uint64_t pair[3];
		failed += epp_vulkan_clock_read(&clock, now_ns, 1000000000, pair) != 0;
		uint64_t off = pair[0] > pair[1] ? pair[0] - pair[1] : pair[1] - pair[0];
		wrong += off > pair[2];
		widths += pair[2];
	}
	printf("%s: %u bits, period %g ns, %u of %u wrong, %u failed, half width %llu ns on average, result %d\n",
	       properties.deviceName, clock.bits, clock.period_ns, wrong, PAIRS, failed,
	       (unsigned long long)(widths / PAIRS), (int)result);
	vkDestroyDevice(device, NULL);
	return result != VK_SUCCESS || failed || (strstr(properties.deviceName, "llvmpipe") && wrong > PAIRS / 1000);
}

int main(void)
{
	const VkApplicationInfo application = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
		                                .apiVersion = VK_API_VERSION_1_1 };
	const VkInstanceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
		                            .pApplicationInfo = &application };
	VkInstance instance;
	VkPhysicalDevice devices[8];
	uint32_t count = 8;
	int worst = 77;
	if (vkCreateInstance(&info, NULL, &instance) != VK_SUCCESS ||
	    vkEnumeratePhysicalDevices(instance, &count, devices) != VK_SUCCESS || count == 0) {
		printf("no Vulkan device\n");
		return 77;
	}
	for (uint32_t i = 0; i < count; i++) {
		int result = check(devices[i]);
		worst = result == 77 || worst == 1 ? worst : result;
	}
	vkDestroyInstance(instance, NULL);
	return worst;
}

/* A header of ep_kit/clocks/ with a driver of the test's own, which implements the API's functions around a device clock
 * of 36 bits and 19.2 MHz (CUDA and HIP: 64 bits and 1 GHz): each pair must hold.  The driver reads its clock anywhere within a call, which may be slow,
 * and fails each 11th one.
 * Compiled once for each API, against its real headers: -DAPI_CUDA, API_HIP, API_LEVEL_ZERO, API_VULKAN or API_D3D12. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAIRS 20000
#define BITS 36
#define MASK ((UINT64_C(1) << BITS) - 1)
#define PER_SECOND 19200000
#define SECOND UINT64_C(1000000000)

#ifdef _WIN32
#include <windows.h>
static uint64_t now_ns(void)
{
	LARGE_INTEGER now, per_second;
	QueryPerformanceCounter(&now);
	QueryPerformanceFrequency(&per_second);
	return (uint64_t)((double)now.QuadPart * 1e9 / (double)per_second.QuadPart);
}
#else
static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}
#endif

/* The host's ticks are not the system's clock: 2.4 a nanosecond. */
#define HOST_PER_SECOND (SECOND * 12 / 5)

static uint64_t host_of(uint64_t ns)
{
	return ns / 5 * 12 + ns % 5 * 12 / 5;
}

static uint64_t host_ticks(void)
{
	return host_of(now_ns());
}

static uint32_t dice = 1;
static uint64_t read_ns; /* when the driver last read its clock */
static unsigned calls_count;

static uint32_t roll(uint32_t sides)
{
	dice = dice * 1664525 + 1013904223;
	return (dice >> 8) % sides;
}

static void spin(uint32_t most_ns)
{
	uint64_t end = now_ns() + roll(most_ns);
	while (now_ns() < end) {}
}

#ifndef API_VULKAN
/* Reads the device's clock somewhere in a call. */
static uint64_t driver_read_ns(void)
{
	spin(3000);
	read_ns = now_ns();
	uint64_t read = read_ns;
	spin(3000);
	return read;
}
#endif

static int driver_fails(void)
{
	return ++calls_count % 11 == 0;
}

static uint64_t device_ticks(uint64_t ns)
{
	return (MASK - PER_SECOND / 100 + (uint64_t)((double)(ns % (SECOND * 3600)) * PER_SECOND / 1e9)) & MASK;
}

#if defined(API_CUDA)
#include "ep_kit/clocks/cuda.h"

CUptiResult CUPTIAPI cuptiGetTimestamp(uint64_t *timestamp)
{
	if (driver_fails())
		return CUPTI_ERROR_NOT_INITIALIZED;
	*timestamp = driver_read_ns() + 77;
	return CUPTI_SUCCESS;
}

#define READ epp_cuda_clock_read
#define CLOCK NULL
#define OPENED (EPP_CUDA_CLOCK_BITS == 64 && EPP_CUDA_TICKS_PER_SECOND == SECOND)
#define EXPECTED(ns) ((ns) + 77)
#define TOLERANCE 0

#elif defined(API_HIP)
#include "ep_kit/clocks/hip.h"

struct ihipEvent_t {
	uint64_t ns;
};
static struct ihipEvent_t events[8];
static unsigned events_count;
static uint64_t first_ns;

hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned int flags)
{
	*stream = (hipStream_t)(void *)&events[7];
	return flags == hipStreamNonBlocking ? hipSuccess : hipErrorInvalidValue;
}
hipError_t hipStreamDestroy(hipStream_t stream)
{
	return stream ? hipSuccess : hipErrorInvalidValue;
}
hipError_t hipEventCreate(hipEvent_t *event)
{
	*event = &events[events_count++];
	return hipSuccess;
}
hipError_t hipEventDestroy(hipEvent_t event)
{
	return event ? hipSuccess : hipErrorInvalidValue;
}
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream)
{
	if (!stream || (first_ns && driver_fails()))
		return hipErrorInvalidValue;
	event->ns = driver_read_ns();
	first_ns = first_ns ? first_ns : event->ns;
	return hipSuccess;
}
hipError_t hipEventSynchronize(hipEvent_t event)
{
	return event ? hipSuccess : hipErrorInvalidValue;
}
hipError_t hipEventElapsedTime(float *ms, hipEvent_t start, hipEvent_t stop)
{
	*ms = (float)((double)(int64_t)(stop->ns - start->ns) / 1e6);
	return hipSuccess;
}

static struct epp_hip_clock opened;

/* An event of the EP's, half a second before the last reading: only a float's steps may be lost. */
static int opens(void)
{
	struct ihipEvent_t earlier;
	if (epp_hip_clock_open(&opened) != hipSuccess)
		return 0;
	earlier.ns = first_ns - SECOND / 2;
	int64_t off = (int64_t)(epp_hip_clock_ticks(&opened, &earlier) - (EPP_HIP_TICKS_PER_SECOND - SECOND / 2));
	return off > -40 && off < 40;
}

#define READ epp_hip_clock_read
#define CLOCK &opened
#define OPENED opens()
/* Rounded at each reading. */
#define EXPECTED(ns) (EPP_HIP_TICKS_PER_SECOND + (ns)-first_ns)
#define TOLERANCE PAIRS

#elif defined(API_LEVEL_ZERO)
#include "ep_kit/clocks/level_zero.h"

ze_result_t ZE_APICALL zeDeviceGetProperties(ze_device_handle_t device, ze_device_properties_t *properties)
{
	if (!device || properties->stype != ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 || properties->pNext)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	properties->timerResolution = PER_SECOND;
	properties->timestampValidBits = 64;
	properties->kernelTimestampValidBits = BITS;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDeviceGetGlobalTimestamps(ze_device_handle_t device, uint64_t *host, uint64_t *timestamp)
{
	if (!device || driver_fails())
		return ZE_RESULT_ERROR_DEVICE_LOST;
	uint64_t ns = driver_read_ns();
	*host = 4711;
	*timestamp = device_ticks(ns) | UINT64_C(5) << BITS;
	return ZE_RESULT_SUCCESS;
}

static struct epp_level_zero_clock opened;
#define READ epp_level_zero_clock_read
#define CLOCK &opened
#define OPENED \
	(epp_level_zero_clock_open(&opened, (ze_device_handle_t)(void *)&dice) == ZE_RESULT_SUCCESS && \
	 opened.bits == BITS && opened.ticks_per_second == PER_SECOND)
#define EXPECTED(ns) device_ticks(ns)
#define TOLERANCE 0

#elif defined(API_VULKAN)
#include "ep_kit/clocks/vulkan.h"

/* The device's time is read up to the deviation before or after the host's, which is false now and then. */
static VKAPI_ATTR VkResult VKAPI_CALL get(VkDevice device, uint32_t count, const VkCalibratedTimestampInfoEXT *infos,
                                          uint64_t *timestamps, uint64_t *deviation)
{
	if (!device || count != 2 || infos[0].timeDomain != VK_TIME_DOMAIN_DEVICE_EXT ||
	    infos[1].timeDomain != VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT || driver_fails())
		return VK_ERROR_DEVICE_LOST;
	spin(5000);
	uint64_t host_ns = now_ns();
	*deviation = 200 + roll(100);
	spin(150);
	read_ns = now_ns();
	if (read_ns - host_ns > *deviation)
		*deviation = read_ns - host_ns;
	timestamps[0] = device_ticks(read_ns) | UINT64_C(5) << BITS;
	timestamps[1] = calls_count % 7 ? host_ns : host_ns + SECOND;
	spin(5000);
	return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL vkGetPhysicalDeviceProperties(VkPhysicalDevice device, VkPhysicalDeviceProperties *properties)
{
	(void)device;
	properties->limits.timestampPeriod = 52.083332f;
}
VKAPI_ATTR void VKAPI_CALL vkGetPhysicalDeviceQueueFamilyProperties(VkPhysicalDevice device, uint32_t *count,
                                                                    VkQueueFamilyProperties *families)
{
	(void)device;
	*count = 2;
	families[0].timestampValidBits = 0;
	families[1].timestampValidBits = BITS;
}
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetDeviceProcAddr(VkDevice device, const char *name)
{
	(void)device;
	return strcmp(name, "vkGetCalibratedTimestampsEXT") == 0 ? (PFN_vkVoidFunction)get : NULL;
}

static struct epp_vulkan_clock opened;

static int opens(void)
{
	VkPhysicalDevice physical = (VkPhysicalDevice)(void *)&dice;
	VkDevice device = (VkDevice)(void *)&dice;
	return epp_vulkan_clock_open(&opened, physical, device, 0) == VK_ERROR_EXTENSION_NOT_PRESENT &&
	       epp_vulkan_clock_open(&opened, physical, device, 2) == VK_ERROR_EXTENSION_NOT_PRESENT &&
	       epp_vulkan_clock_open(&opened, physical, device, 1) == VK_SUCCESS && opened.bits == BITS &&
	       opened.ticks_per_second == PER_SECOND;
}

#define READ epp_vulkan_clock_read
#define CLOCK &opened
#define OPENED opens()
#define EXPECTED(ns) device_ticks(ns)
#define TOLERANCE 0

#elif defined(API_D3D12)
#include "ep_kit/clocks/d3d12.h"

static HRESULT STDMETHODCALLTYPE frequency(ID3D12CommandQueue *queue, UINT64 *per_second)
{
	*per_second = PER_SECOND;
	return queue ? S_OK : E_FAIL;
}
static HRESULT STDMETHODCALLTYPE calibration(ID3D12CommandQueue *queue, UINT64 *gpu, UINT64 *cpu)
{
	if (!queue || driver_fails())
		return E_FAIL;
	*cpu = 4711;
	*gpu = device_ticks(driver_read_ns());
	return S_OK;
}

static struct epp_d3d12_clock opened;

static int opens(void)
{
	static ID3D12CommandQueueVtbl functions;
	static ID3D12CommandQueue queue;
	functions.GetTimestampFrequency = frequency;
	functions.GetClockCalibration = calibration;
	queue.lpVtbl = &functions;
	return SUCCEEDED(epp_d3d12_clock_open(&opened, &queue)) && opened.ticks_per_second == PER_SECOND;
}

#define READ epp_d3d12_clock_read
#define CLOCK &opened
#define OPENED opens()
#define EXPECTED(ns) device_ticks(ns)
#define TOLERANCE 0
#endif

int main(void)
{
	unsigned wrong = 0, failed = 0;
	uint64_t widths = 0, last = 0;
	if (!OPENED) {
		printf("it does not open\n");
		return 1;
	}
	for (unsigned i = 0; i < PAIRS; i++) {
		uint64_t pair[3] = { 0, 0, 0 };
		if (READ(CLOCK, host_ticks, HOST_PER_SECOND, pair)) {
			failed++;
			continue;
		}
		uint64_t truth = host_of(read_ns), off = pair[1] > truth ? pair[1] - truth : truth - pair[1];
		int64_t ticks = (int64_t)(pair[0] - EXPECTED(read_ns));
		if (off > pair[2] || ticks > TOLERANCE || ticks < -TOLERANCE || pair[1] <= last) {
			if (wrong++ < 5)
				printf("pair %u: %llu host ticks from the truth, half width %llu, %lld device ticks\n",
				       i, (unsigned long long)off, (unsigned long long)pair[2], (long long)ticks);
		}
		last = pair[1];
		widths += pair[2];
	}
	printf("%u pairs, %u wrong, %u failed, half width %llu ns on average\n", PAIRS, wrong, failed,
	       (unsigned long long)(widths * 5 / 12 / (PAIRS - failed)));
	return wrong != 0 || failed < PAIRS / 12 || failed > PAIRS / 10;
}

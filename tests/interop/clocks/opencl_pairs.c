/* Pairs of ep_kit/clocks/opencl.h on each OpenCL device: commands between two pairs end, by the line through the pairs,
 * between their submission and the end of the wait for them.  Prints a line a device; "timer" or "commands" is where the
 * pairs come from.  With `commands` as argument, pairs come from commands on all devices. */
#define CL_TARGET_OPENCL_VERSION 300
#include "ep_kit/clocks/opencl.h"

#include <stdio.h>
#include <time.h>

#define COMMANDS 2000

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int check(cl_device_id device, int by_events)
{
	char name[128] = "", version[128] = "";
	cl_int error;
	unsigned wrong = 0;
	uint64_t widths = 0;
	clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(name), name, NULL);
	clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof(version), version, NULL);
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	struct epp_opencl_clock clock;
	error = error ? error : epp_opencl_clock_open(&clock, context, device);
	if (error) {
		printf("%s: error %d\n", name, error);
		return 1;
	}
	clock.by_events |= by_events;
	for (int i = 0; i < COMMANDS && !error; i++) {
		uint64_t first[3] = { 0 }, last[3] = { 0 };
		cl_ulong end = 0;
		error = epp_opencl_clock_read(&clock, now_ns, 1000000000, first);
		uint64_t before = now_ns();
		error = error ? error : epp_opencl_clock_command(&clock, &end);
		uint64_t after = now_ns();
		error = error ? error : epp_opencl_clock_read(&clock, now_ns, 1000000000, last);
		double rate = (double)(last[1] - first[1]) / (double)(last[0] - first[0]);
		double at = (double)first[1] + (double)(int64_t)(end - first[0]) * rate;
		double bound = (double)(first[2] > last[2] ? first[2] : last[2]);
		wrong += at < (double)before - bound || at > (double)after + bound;
		widths += first[2];
	}
	printf("%s, %s: %s, resolution %llu ns, %u of %u wrong, half width %llu ns on average, error %d\n", version,
	       name, clock.by_events ? "commands" : "timer", (unsigned long long)clock.resolution_ns, wrong, COMMANDS,
	       (unsigned long long)(widths / COMMANDS), error);
	epp_opencl_clock_close(&clock);
	clReleaseContext(context);
	return wrong > COMMANDS / 1000 || error;
}

int main(int count, char **arguments)
{
	cl_platform_id platforms[8];
	cl_uint platforms_count = 0;
	int failures = 0;
	(void)arguments;
	if (clGetPlatformIDs(8, platforms, &platforms_count) || platforms_count == 0) {
		printf("no OpenCL platform\n");
		return 77;
	}
	for (cl_uint i = 0; i < platforms_count; i++) {
		cl_device_id devices[8];
		cl_uint devices_count = 0;
		clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 8, devices, &devices_count);
		for (cl_uint j = 0; j < devices_count; j++)
			failures += check(devices[j], count > 1);
	}
	return failures != 0;
}

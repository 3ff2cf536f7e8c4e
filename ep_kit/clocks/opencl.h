/* The clock of an OpenCL device for the kit.  Copy this file into your project; it needs only OpenCL's header.
 *
 *   struct epp_opencl_clock clock;
 *   if (epp_opencl_clock_open(&clock, context, device) == CL_SUCCESS)
 *       options.read_clocks = epp_opencl_clock_read, options.clock = &clock,
 *       options.ticks_per_second = clock.ticks_per_second, options.clock_bits = clock.bits;
 *
 * Ticks are nanoseconds, as clGetEventProfilingInfo returns them, in steps of resolution_ns.  The timer of OpenCL 2.1
 * is used if the driver's events have the times of this timer, as OpenCL requires; epp_opencl_clock_open tests this.
 * Otherwise a small command is run, whose end is between its submission and the end of the wait for it.
 * docs/clocks.md lists the systems on which this was tried.  epp_opencl_event_times corrects times of a command that
 * contradict each other. */
#ifndef EPPROF_EP_KIT_CLOCKS_OPENCL_H
#define EPPROF_EP_KIT_CLOCKS_OPENCL_H

#include <CL/cl.h>
#include <stdint.h>
#include <string.h>

struct epp_opencl_clock {
	cl_device_id device;
	cl_command_queue queue;
	cl_mem word;
	int by_events; /* the driver has no timer, or its events do not have the times of the timer */
	uint64_t resolution_ns;
	uint64_t ticks_per_second;
	uint32_t bits;
};

static inline cl_int epp_opencl_clock_timer(const struct epp_opencl_clock *clock, cl_ulong *device_ns)
{
#ifdef CL_VERSION_2_1
	cl_ulong host_ns;
	return clGetDeviceAndHostTimer(clock->device, device_ns, &host_ns);
#else
	(void)clock, (void)device_ns;
	return CL_INVALID_OPERATION;
#endif
}

/* Runs a small command, waits for it, and gets the time of its end. */
static inline cl_int epp_opencl_clock_command(const struct epp_opencl_clock *clock, cl_ulong *end_ns)
{
	const cl_uint zero = 0;
	cl_event event;
	cl_int error = clEnqueueFillBuffer(clock->queue, clock->word, &zero, sizeof(zero), 0, sizeof(zero), 0, NULL,
	                                   &event);
	if (error)
		return error;
	error = clWaitForEvents(1, &event);
	if (!error)
		error = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(*end_ns), end_ns, NULL);
	clReleaseEvent(event);
	return error;
}

static inline void epp_opencl_clock_close(struct epp_opencl_clock *clock)
{
	if (clock->word)
		clReleaseMemObject(clock->word);
	if (clock->queue)
		clReleaseCommandQueue(clock->queue);
	memset(clock, 0, sizeof(*clock));
}

/* Thread: [any-thread].  Errors: those of OpenCL; the clock is then closed. */
static inline cl_int epp_opencl_clock_open(struct epp_opencl_clock *clock, cl_context context, cl_device_id device)
{
	const cl_queue_properties profiled[] = { CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0 };
	char version[64] = "";
	size_t resolution_ns = 1;
	cl_int error = CL_SUCCESS;
	cl_ulong before, end, after;
	memset(clock, 0, sizeof(*clock));
	clock->device = device;
	clock->bits = 64;
	clock->ticks_per_second = 1000000000;
	clGetDeviceInfo(device, CL_DEVICE_PROFILING_TIMER_RESOLUTION, sizeof(resolution_ns), &resolution_ns, NULL);
	clock->resolution_ns = resolution_ns;
	clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof(version) - 1, version, NULL); /* "OpenCL 3.0 ..." */
	clock->by_events = strncmp(version, "OpenCL 2.1", 10) < 0;
	clock->queue = clCreateCommandQueueWithProperties(context, device, profiled, &error);
	if (!error)
		clock->word = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(cl_uint), NULL, &error);
	for (int i = 0; i < 3 && !error; i++) {
		if (!clock->by_events)
			clock->by_events = epp_opencl_clock_timer(clock, &before) != CL_SUCCESS;
		error = epp_opencl_clock_command(clock, &end);
		if (!error && !clock->by_events)
			clock->by_events = epp_opencl_clock_timer(clock, &after) != CL_SUCCESS ||
			                   end + resolution_ns < before || end > after + resolution_ns;
	}
	if (error)
		epp_opencl_clock_close(clock);
	return error;
}

/* The function for epp_ep_options.read_clocks.  `open_clock` points to a struct epp_opencl_clock. */
static inline int epp_opencl_clock_read(void *open_clock, uint64_t (*host_ticks)(void), uint64_t host_ticks_per_second,
                                        uint64_t pair[3])
{
	const struct epp_opencl_clock *clock = (const struct epp_opencl_clock *)open_clock;
	cl_ulong device_ns = 0;
	uint64_t before = host_ticks();
	cl_int error = clock->by_events ? epp_opencl_clock_command(clock, &device_ns)
	                                : epp_opencl_clock_timer(clock, &device_ns);
	uint64_t width = host_ticks() - before;
	pair[0] = device_ns;
	pair[1] = before + width / 2;
	pair[2] = width - width / 2 + clock->resolution_ns * host_ticks_per_second / 1000000000 + 1;
	return error != CL_SUCCESS;
}

/* The times of a command that has ended. */
struct epp_opencl_times {
	cl_ulong queued, submitted, start, end;
	cl_ulong early; /* if the driver reported the start before the submission: the difference; `start` is then the
	                   submission.  Else 0 */
};

/* Gets the times of a command.  Thread: [any-thread].  Errors: those of OpenCL. */
static inline cl_int epp_opencl_event_times(cl_event event, struct epp_opencl_times *times)
{
	memset(times, 0, sizeof(*times));
	cl_int error = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED, sizeof(cl_ulong), &times->queued, NULL);
	if (!error)
		error = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_SUBMIT, sizeof(cl_ulong), &times->submitted,
		                                NULL);
	if (!error)
		error = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(cl_ulong), &times->start, NULL);
	if (!error)
		error = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(cl_ulong), &times->end, NULL);
	if (!error && times->start < times->submitted) {
		times->early = times->submitted - times->start;
		times->start = times->submitted < times->end ? times->submitted : times->end;
	}
	if (times->queued > times->start)
		times->queued = 0;
	return error;
}

#endif

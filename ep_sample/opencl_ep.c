/* The sample EP around an OpenCL device: accelerator.h's streams, buffers and commands on two queues for kernels and one
 * for copies, with profiling events.  The clock is ep_kit/clocks/opencl.h; device_queue.c has the queues, and ort_ep.c emits
 * the events.
 *
 * Environment:
 *   OPENCL_EP_DEVICE=N   the N-th device of all platforms, from 0; else the first GPU, else the first device
 *   OPENCL_EP_TRUTH      set: a function of the host before and after each kernel, in its queue, reads CLOCK_MONOTONIC, and
 *                        the event gets these times as args; for tests, on devices that are the processor */
#define CL_TARGET_OPENCL_VERSION 300
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_queue.h"
#include "ep_kit/clocks/opencl.h"

#define DEVICES_MAX 16

struct accelerator_buffer {
	cl_mem memory;
	size_t bytes;
};

/* A command that was queued and is not reported yet. */
struct entry {
	cl_event event;   /* event whose times are reported */
	cl_event reached; /* event that is reached last: the same, or that of the host function after it */
};

struct engine {
	cl_command_queue queue;
	struct entry entries[DEVICE_QUEUE_COMMANDS];
};

struct accelerator {
	struct device_queues queues;
	cl_context context;
	cl_device_id id;
	/* NULL until the first kernel.  It is built then, because a driver may compile for seconds, and hosts wait for
	 * the factory */
	cl_program program;
	cl_kernel kernels[DEVICE_KERNELS_COUNT];
	struct epp_opencl_clock clock;
	bool has_truth;
	struct engine engines[ACCELERATOR_STREAM_COUNT];
};

static const char *const
    source = "kernel void gemm(global const float *a, global const float *b, global float *out, uint n, uint k) {\n"
	     "	size_t row = get_global_id(0), column = get_global_id(1);\n"
	     "	float sum = 0;\n"
	     "	for (uint i = 0; i < k; i++) sum += a[row * k + i] * b[i * n + column];\n"
	     "	out[row * n + column] = sum;\n"
	     "}\n"
	     "kernel void bias(global const float *a, global const float *b, global float *out, uint n, uint k) {\n"
	     "	size_t column = get_global_id(1), at = get_global_id(0) * n + column;\n"
	     "	out[at] = a[at] + b[column];\n"
	     "}\n"
	     "kernel void relu(global const float *a, global const float *b, global float *out, uint n, uint k) {\n"
	     "	size_t at = get_global_id(0) * n + get_global_id(1);\n"
	     "	out[at] = fmax(a[at], 0.0f);\n"
	     "}\n"
	     "kernel void softmax(global const float *a, global const float *b, global float *out, uint n, uint k) {\n"
	     "	size_t row = get_global_id(0) * n;\n"
	     "	float most = a[row], sum = 0;\n"
	     "	for (uint i = 1; i < n; i++) most = fmax(most, a[row + i]);\n"
	     "	for (uint i = 0; i < n; i++) sum += exp(a[row + i] - most);\n"
	     "	for (uint i = 0; i < n; i++) out[row + i] = exp(a[row + i] - most) / sum;\n"
	     "}\n";

/* Context of the process's device, for buffers. */
static cl_context the_context;

/* ---- buffers ---- */

accelerator_result accelerator_buffer_create(size_t bytes, accelerator_buffer **buffer)
{
	cl_int error = CL_SUCCESS;
	if (buffer == NULL)
		return ACCELERATOR_BAD_ARGUMENT;
	*buffer = NULL;
	if (bytes == 0)
		return ACCELERATOR_BAD_ARGUMENT;
	accelerator_buffer *made = calloc(1, sizeof(*made));
	void *zeros = calloc(1, bytes);
	if (made && zeros)
		made->memory = clCreateBuffer(the_context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, zeros, &error);
	free(zeros);
	if (made == NULL || zeros == NULL || error) {
		free(made);
		return ACCELERATOR_OUT_OF_MEMORY;
	}
	made->bytes = bytes;
	*buffer = made;
	return ACCELERATOR_OK;
}

/* OpenCL keeps the memory until the commands that use the buffer have ended. */
void accelerator_buffer_release(accelerator_buffer *buffer)
{
	if (buffer)
		clReleaseMemObject(buffer->memory);
	free(buffer);
}

size_t device_buffer_bytes(const accelerator_buffer *buffer)
{
	return buffer->bytes;
}

/* ---- commands ---- */

/* The caller holds the lock. */
static cl_int program_build(accelerator *device)
{
	cl_int error = CL_SUCCESS;
	if (device->program)
		return CL_SUCCESS;
	device->program = clCreateProgramWithSource(device->context, 1, (const char **)(uintptr_t)&source, NULL, &error);
	if (!error)
		error = clBuildProgram(device->program, 1, &device->id, "", NULL, NULL);
	for (unsigned i = 0; i < DEVICE_KERNELS_COUNT && !error; i++)
		device->kernels[i] = clCreateKernel(device->program, device_names[i], &error);
	return error;
}

static cl_int kernel_enqueue(accelerator *device, cl_command_queue queue, const accelerator_command *command,
                             cl_event *event)
{
	const size_t sizes[2] = { command->m, command->op == ACCELERATOR_SOFTMAX ? 1 : command->n };
	cl_mem b = command->b ? command->b->memory : NULL;
	cl_int error = program_build(device);
	cl_kernel kernel = device->kernels[command->op];
	error = error ? error : clSetKernelArg(kernel, 0, sizeof(cl_mem), &command->a->memory);
	error = error ? error : clSetKernelArg(kernel, 1, sizeof(cl_mem), b ? &b : NULL);
	error = error ? error : clSetKernelArg(kernel, 2, sizeof(cl_mem), &command->out->memory);
	error = error ? error : clSetKernelArg(kernel, 3, sizeof(cl_uint), &command->n);
	error = error ? error : clSetKernelArg(kernel, 4, sizeof(cl_uint), &command->k);
	return error ? error : clEnqueueNDRangeKernel(queue, kernel, 2, NULL, sizes, NULL, 0, NULL, event);
}

static cl_int command_enqueue(accelerator *device, cl_command_queue queue, const accelerator_command *command,
                              cl_event *event)
{
	const cl_uint zero = 0;
	switch (command->op) {
	case ACCELERATOR_COPY_IN:
		return clEnqueueWriteBuffer(queue, command->out->memory, CL_FALSE, 0, command->bytes,
		                            command->from_host, 0, NULL, event);
	case ACCELERATOR_COPY_OUT:
		return clEnqueueReadBuffer(queue, command->a->memory, CL_FALSE, 0, command->bytes, command->to_host, 0,
		                           NULL, event);
	case ACCELERATOR_FILL:
		return clEnqueueFillBuffer(queue, command->out->memory, &zero, sizeof(zero), 0, command->bytes, 0, NULL,
		                           event);
	default:
		return kernel_enqueue(device, queue, command, event);
	}
}

static void CL_CALLBACK stamp(void *place)
{
	uint64_t now_ns = device_monotonic_ns();
	memcpy(*(void **)place, &now_ns, sizeof(now_ns));
}

static cl_int stamp_enqueue(cl_command_queue queue, uint64_t *place, cl_event *event)
{
	return clEnqueueNativeKernel(queue, stamp, (void *)&place, sizeof(place), 0, NULL, NULL, 0, NULL, event);
}

bool device_enqueue(accelerator *device, accelerator_stream stream, const accelerator_command *command,
                    accelerator_completion *completion)
{
	struct engine *engine = &device->engines[stream];
	struct entry *entry = &engine->entries[device_slot(device->queues.engines[stream].submitted_count)];
	bool has_truth = device->has_truth && stream != ACCELERATOR_COPY_ENGINE;
	cl_int error = has_truth ? stamp_enqueue(engine->queue, &completion->true_before_ns, NULL) : CL_SUCCESS;
	error = error ? error : command_enqueue(device, engine->queue, command, &entry->event);
	if (error && has_truth)
		clFinish(engine->queue); /* the host function before the kernel writes into the completion */
	if (error)
		return false;
	entry->reached = entry->event;
	if (has_truth && stamp_enqueue(engine->queue, &completion->true_after_ns, &entry->reached))
		entry->reached = entry->event;
	clFlush(engine->queue);
	return true;
}

void device_finish(accelerator *device, accelerator_stream stream, uint64_t number, accelerator_completion *completion)
{
	struct entry *entry = &device->engines[stream].entries[device_slot(number)];
	struct epp_opencl_times times;
	if (epp_opencl_event_times(entry->event, &times) == CL_SUCCESS) {
		completion->queue_ticks = times.queued;
		completion->start_ticks = times.start;
		completion->end_ticks = times.end;
		completion->early_ticks = times.early;
	}
	if (entry->reached != entry->event)
		clReleaseEvent(entry->reached);
	clReleaseEvent(entry->event);
}

bool device_wait(accelerator *device, accelerator_stream stream, uint64_t count)
{
	cl_event reached = device->engines[stream].entries[device_slot(count - 1)].reached;
	clRetainEvent(reached);
	pthread_mutex_unlock(&device->queues.lock);
	cl_int error = clWaitForEvents(1, &reached);
	clReleaseEvent(reached);
	pthread_mutex_lock(&device->queues.lock);
	return error == CL_SUCCESS;
}

bool device_wait_before_next(accelerator *device, accelerator_stream stream, accelerator_event event)
{
	struct entry *entry = &device->engines[event.stream].entries[device_slot(event.commands_count - 1)];
	return clEnqueueBarrierWithWaitList(device->engines[stream].queue, 1, &entry->reached, NULL) == CL_SUCCESS;
}

/* ---- the device ---- */

/* Returns the device to use; NULL: there is none. */
static cl_device_id device_choose(void)
{
	cl_platform_id platforms[DEVICES_MAX];
	cl_device_id devices[DEVICES_MAX], chosen = NULL;
	cl_uint platforms_count = 0, devices_count, before = 0;
	const char *number = secure_getenv("OPENCL_EP_DEVICE");
	unsigned long wanted = number ? strtoul(number, NULL, 10) : 0;
	bool is_gpu = false;
	if (clGetPlatformIDs(DEVICES_MAX, platforms, &platforms_count))
		return NULL;
	for (cl_uint i = 0; i < platforms_count && i < DEVICES_MAX; i++, before += devices_count) {
		if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, DEVICES_MAX, devices, &devices_count))
			devices_count = 0;
		for (cl_uint j = 0; j < devices_count && j < DEVICES_MAX; j++) {
			cl_device_type type = 0;
			clGetDeviceInfo(devices[j], CL_DEVICE_TYPE, sizeof(type), &type, NULL);
			bool is_better = number ? before + j == wanted
			                        : !chosen || (!is_gpu && (type & CL_DEVICE_TYPE_GPU));
			if (is_better) {
				chosen = devices[j];
				is_gpu = (type & CL_DEVICE_TYPE_GPU) != 0;
			}
		}
	}
	return chosen;
}

static cl_int device_open(accelerator *device, cl_device_id id)
{
	const cl_queue_properties profiled[] = { CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0 };
	cl_int error;
	device->id = id;
	device->context = clCreateContext(NULL, 1, &id, NULL, NULL, &error);
	for (unsigned i = 0; i < ACCELERATOR_STREAM_COUNT && !error; i++)
		device->engines[i].queue = clCreateCommandQueueWithProperties(device->context, id, profiled, &error);
	return error ? error : epp_opencl_clock_open(&device->clock, device->context, id);
}

void accelerator_destroy(accelerator *device)
{
	if (device == NULL)
		return;
	accelerator_synchronise(device);
	epp_opencl_clock_close(&device->clock);
	for (unsigned i = 0; i < ACCELERATOR_STREAM_COUNT; i++) {
		if (device->engines[i].queue)
			clReleaseCommandQueue(device->engines[i].queue);
	}
	for (unsigned i = 0; i < DEVICE_KERNELS_COUNT; i++) {
		if (device->kernels[i])
			clReleaseKernel(device->kernels[i]);
	}
	if (device->program)
		clReleaseProgram(device->program);
	if (device->context)
		clReleaseContext(device->context);
	device_queues_deinit(&device->queues);
	free(device);
}

static const char *device_create(const accelerator_options *options, accelerator **device)
{
	cl_device_id id = device_choose();
	*device = NULL;
	if (id == NULL)
		return "OpenCL EP: no OpenCL device";
	accelerator *made = calloc(1, sizeof(*made));
	if (made == NULL)
		return "OpenCL EP: out of memory";
	cl_device_exec_capabilities capabilities = 0;
	clGetDeviceInfo(id, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof(capabilities), &capabilities, NULL);
	device_queues_init(&made->queues, options);
	made->has_truth = secure_getenv("OPENCL_EP_TRUTH") && (capabilities & CL_EXEC_NATIVE_KERNEL);
	if (device_open(made, id) != CL_SUCCESS) {
		accelerator_destroy(made);
		return "OpenCL EP: the device cannot be opened";
	}
	the_context = made->context;
	*device = made;
	return NULL;
}

/* [profiling] Sets the clock of the device, which takes one line, and options for the tests. */
static void clock_describe(accelerator *device, epp_ep_options *options)
{
	options->read_clocks = epp_opencl_clock_read;
	options->clock = &device->clock;
	options->ticks_per_second = device->clock.ticks_per_second;
	options->clock_bits = device->clock.bits;
}

const struct sample_device_kind sample_device_kind = {
	.ep_name = "OpenCLEP",
	.device_name = "OpenCL device",
	.has_softmax = true,
	.clock_describe = clock_describe,
	.create = device_create,
};

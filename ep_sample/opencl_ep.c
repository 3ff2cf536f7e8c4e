/* The sample EP around an OpenCL device: accelerator.h's streams, buffers and commands on two queues for kernels and one
 * for copies, with profiling events.  The clock is ep_kit/clocks/opencl.h; ort_ep.c emits the events.
 *
 * No thread of its own waits for commands: a thread that waits for some, or finds a full queue, reads the times of those
 * that have ended and reports them.  A command is reported after those that its queue waited for, in other queues too.
 *
 * Environment:
 *   OPENCL_EP_DEVICE=N   the N-th device of all platforms, from 0; else the first GPU, else the first device
 *   OPENCL_EP_TRUTH      set: a function of the host before and after each kernel, in its queue, reads CLOCK_MONOTONIC, and
 *                        the event gets these times as args; for tests, on devices that are the processor */
#define CL_TARGET_OPENCL_VERSION 300
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ep_kit/clocks/opencl.h"
#include "ort_ep_device.h"

#define QUEUE_COMMANDS_COUNT 256
#define DEVICES_MAX 16

struct accelerator_buffer {
	cl_mem memory;
	size_t bytes;
};

/* A command that was queued and not reported. */
struct entry {
	cl_event event;                           /* whose times count */
	cl_event reached;                         /* the last one: the same, or of the function behind it */
	uint64_t after[ACCELERATOR_STREAM_COUNT]; /* how many commands of each engine ended before it began */
	accelerator_completion completion;
};

struct engine {
	cl_command_queue queue;
	uint64_t submitted_count;
	uint64_t done_count;
	uint64_t after[ACCELERATOR_STREAM_COUNT]; /* of the next entry */
	struct entry entries[QUEUE_COMMANDS_COUNT];
};

struct accelerator {
	void (*completed)(void *user, const accelerator_completion *completion);
	void *user;
	cl_context context;
	cl_device_id id;
	cl_program program; /* NULL until the first kernel: a driver may compile for seconds, and hosts wait for a factory */
	cl_kernel kernels[ACCELERATOR_SOFTMAX + 1];
	struct epp_opencl_clock clock;
	bool has_truth;
	pthread_mutex_t lock; /* guards the engines and the arguments of kernels */
	struct engine engines[ACCELERATOR_STREAM_COUNT];
};

static const char *const names[] = { "gemm", "bias", "relu", "softmax", "copy_in", "copy_out", "fill" };

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

/* Of the process's device, for buffers. */
static cl_context the_context;

const char *accelerator_result_text(accelerator_result result)
{
	static const char *const texts[] = { "no error", "bad argument", "out of memory", "cannot create a thread" };
	return (unsigned)result < sizeof(texts) / sizeof(texts[0]) ? texts[result] : "an error of OpenCL";
}

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

/* OpenCL keeps the memory until the commands that use it have ended. */
void accelerator_buffer_release(accelerator_buffer *buffer)
{
	if (buffer)
		clReleaseMemObject(buffer->memory);
	free(buffer);
}

/* ---- commands ---- */

static uint64_t monotonic_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool buffer_has(const accelerator_buffer *buffer, size_t rows, size_t columns)
{
	return buffer && buffer->bytes / sizeof(float) / columns >= rows;
}

static bool command_valid(const accelerator_command *command, accelerator_stream stream)
{
	size_t m = command->m, n = command->n, k = command->k;
	bool is_copy = command->op == ACCELERATOR_COPY_IN || command->op == ACCELERATOR_COPY_OUT ||
	               command->op == ACCELERATOR_FILL;
	const accelerator_buffer *copied = command->op == ACCELERATOR_COPY_OUT ? command->a : command->out;
	if ((unsigned)command->op >= ACCELERATOR_OP_COUNT || is_copy != (stream == ACCELERATOR_COPY_ENGINE))
		return false;
	if (is_copy)
		return copied && command->bytes > 0 && command->bytes <= copied->bytes &&
		       (command->op != ACCELERATOR_COPY_IN || command->from_host) &&
		       (command->op != ACCELERATOR_COPY_OUT || command->to_host);
	if (m < 1 || n < 1 || m > ACCELERATOR_MAX_SIDE || n > ACCELERATOR_MAX_SIDE || !buffer_has(command->out, m, n))
		return false;
	if (command->op == ACCELERATOR_GEMM)
		return k >= 1 && k <= ACCELERATOR_MAX_SIDE && buffer_has(command->a, m, k) && buffer_has(command->b, k, n);
	return buffer_has(command->a, m, n) && (command->op != ACCELERATOR_BIAS || buffer_has(command->b, 1, n));
}

/* The lock is held. */
static cl_int program_build(accelerator *device)
{
	cl_int error = CL_SUCCESS;
	if (device->program)
		return CL_SUCCESS;
	device->program = clCreateProgramWithSource(device->context, 1, (const char **)(uintptr_t)&source, NULL, &error);
	if (!error)
		error = clBuildProgram(device->program, 1, &device->id, "", NULL, NULL);
	for (unsigned i = 0; i <= ACCELERATOR_SOFTMAX && !error; i++)
		device->kernels[i] = clCreateKernel(device->program, names[i], &error);
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
	uint64_t now_ns = monotonic_ns();
	memcpy(*(void **)place, &now_ns, sizeof(now_ns));
}

static cl_int stamp_enqueue(cl_command_queue queue, uint64_t *place, cl_event *event)
{
	return clEnqueueNativeKernel(queue, stamp, (void *)&place, sizeof(place), 0, NULL, NULL, 0, NULL, event);
}

static void entry_describe(const accelerator_command *command, accelerator_stream stream, accelerator_completion *completion)
{
	bool is_kernel = stream != ACCELERATOR_COPY_ENGINE;
	*completion = (accelerator_completion){ .name = names[command->op], .op = command->op, .stream = stream };
	completion->bytes = command->bytes;
	completion->m = is_kernel ? command->m : 0;
	completion->n = is_kernel ? command->n : 0;
	completion->k = command->op == ACCELERATOR_GEMM ? command->k : 0;
	completion->tag = command->tag;
}

/* [profiling] Reports the oldest command of an engine, which has ended.  The lock is held. */
static void entry_report(accelerator *device, struct engine *engine)
{
	struct entry *entry = &engine->entries[engine->done_count % QUEUE_COMMANDS_COUNT];
	struct epp_opencl_times times;
	for (unsigned i = 0; i < ACCELERATOR_STREAM_COUNT; i++) {
		while (device->engines[i].done_count < entry->after[i])
			entry_report(device, &device->engines[i]);
	}
	if (epp_opencl_event_times(entry->event, &times) == CL_SUCCESS) {
		entry->completion.queue_ticks = times.queued;
		entry->completion.start_ticks = times.start;
		entry->completion.end_ticks = times.end;
		entry->completion.early_ticks = times.early;
	}
	if (entry->reached != entry->event)
		clReleaseEvent(entry->reached);
	clReleaseEvent(entry->event);
	engine->done_count++;
	if (device->completed)
		device->completed(device->user, &entry->completion);
}

/* Waits until the first `count` commands of an engine have ended, and reports them.  The lock is held, and released
 * meanwhile. */
static accelerator_result engine_wait(accelerator *device, struct engine *engine, uint64_t count)
{
	cl_int error = CL_SUCCESS;
	if (engine->done_count >= count)
		return ACCELERATOR_OK;
	cl_event reached = engine->entries[(count - 1) % QUEUE_COMMANDS_COUNT].reached;
	clRetainEvent(reached);
	pthread_mutex_unlock(&device->lock);
	error = clWaitForEvents(1, &reached);
	clReleaseEvent(reached);
	pthread_mutex_lock(&device->lock);
	while (engine->done_count < count)
		entry_report(device, engine);
	return error ? ACCELERATOR_BAD_ARGUMENT : ACCELERATOR_OK;
}

accelerator_result accelerator_submit(accelerator *device, accelerator_stream stream,
                                      const accelerator_command *command, accelerator_event *done)
{
	if (device == NULL || command == NULL || (unsigned)stream >= ACCELERATOR_STREAM_COUNT ||
	    !command_valid(command, stream))
		return ACCELERATOR_BAD_ARGUMENT;
	struct engine *engine = &device->engines[stream];
	bool has_truth = device->has_truth && stream != ACCELERATOR_COPY_ENGINE;
	pthread_mutex_lock(&device->lock);
	while (engine->submitted_count - engine->done_count == QUEUE_COMMANDS_COUNT)
		engine_wait(device, engine, engine->done_count + 1);
	struct entry *entry = &engine->entries[engine->submitted_count % QUEUE_COMMANDS_COUNT];
	entry_describe(command, stream, &entry->completion);
	memcpy(entry->after, engine->after, sizeof(entry->after));
	cl_int error = has_truth ? stamp_enqueue(engine->queue, &entry->completion.true_before_ns, NULL) : CL_SUCCESS;
	error = error ? error : command_enqueue(device, engine->queue, command, &entry->event);
	if (!error) {
		entry->reached = entry->event;
		if (has_truth && stamp_enqueue(engine->queue, &entry->completion.true_after_ns, &entry->reached))
			entry->reached = entry->event;
		clFlush(engine->queue);
		engine->submitted_count++;
		if (done)
			*done = (accelerator_event){ stream, engine->submitted_count };
	} else if (has_truth) {
		clFinish(engine->queue); /* the function before it writes into the entry */
	}
	pthread_mutex_unlock(&device->lock);
	return error ? ACCELERATOR_OUT_OF_MEMORY : ACCELERATOR_OK;
}

/* ---- waiting ---- */

/* The lock is held. */
static bool event_valid(const accelerator *device, accelerator_event event)
{
	return (unsigned)event.stream < ACCELERATOR_STREAM_COUNT &&
	       event.commands_count <= device->engines[event.stream].submitted_count;
}

accelerator_result accelerator_stream_wait(accelerator *device, accelerator_stream stream, accelerator_event event)
{
	if (device == NULL || (unsigned)stream >= ACCELERATOR_STREAM_COUNT)
		return ACCELERATOR_BAD_ARGUMENT;
	cl_int error = CL_SUCCESS;
	pthread_mutex_lock(&device->lock);
	bool valid = event_valid(device, event);
	struct engine *engine = valid ? &device->engines[event.stream] : NULL;
	if (valid && engine->done_count < event.commands_count) {
		struct entry *entry = &engine->entries[(event.commands_count - 1) % QUEUE_COMMANDS_COUNT];
		error = clEnqueueBarrierWithWaitList(device->engines[stream].queue, 1, &entry->reached, NULL);
		device->engines[stream].after[event.stream] = event.commands_count;
	}
	pthread_mutex_unlock(&device->lock);
	return error ? ACCELERATOR_OUT_OF_MEMORY : valid ? ACCELERATOR_OK : ACCELERATOR_BAD_ARGUMENT;
}

accelerator_result accelerator_event_synchronise(accelerator *device, accelerator_event event)
{
	if (device == NULL)
		return ACCELERATOR_BAD_ARGUMENT;
	accelerator_result result = ACCELERATOR_BAD_ARGUMENT;
	pthread_mutex_lock(&device->lock);
	if (event_valid(device, event))
		result = engine_wait(device, &device->engines[event.stream], event.commands_count);
	pthread_mutex_unlock(&device->lock);
	return result;
}

accelerator_result accelerator_synchronise(accelerator *device)
{
	accelerator_result result = device ? ACCELERATOR_OK : ACCELERATOR_BAD_ARGUMENT;
	if (device)
		pthread_mutex_lock(&device->lock);
	for (unsigned i = 0; device && i < ACCELERATOR_STREAM_COUNT && result == ACCELERATOR_OK; i++)
		result = engine_wait(device, &device->engines[i], device->engines[i].submitted_count);
	if (device)
		pthread_mutex_unlock(&device->lock);
	return result;
}

/* ---- the device ---- */

/* NULL: there is none. */
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
	for (unsigned i = 0; i <= ACCELERATOR_SOFTMAX; i++) {
		if (device->kernels[i])
			clReleaseKernel(device->kernels[i]);
	}
	if (device->program)
		clReleaseProgram(device->program);
	if (device->context)
		clReleaseContext(device->context);
	pthread_mutex_destroy(&device->lock);
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
	pthread_mutex_init(&made->lock, NULL);
	made->completed = options->completed;
	made->user = options->user;
	made->has_truth = secure_getenv("OPENCL_EP_TRUTH") && (capabilities & CL_EXEC_NATIVE_KERNEL);
	if (device_open(made, id) != CL_SUCCESS) {
		accelerator_destroy(made);
		return "OpenCL EP: the device cannot be opened";
	}
	the_context = made->context;
	*device = made;
	return NULL;
}

/* [profiling] The one line for the clock, and what goes with it. */
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

/* An EP library written against ONNX Runtime's own headers, without the kit: it claims no node, so ONNX Runtime reports
 * every event to its profiler, and in EndProfiling it adds a kernel for each node.  A kernel has the node's own times,
 * on the clock of both, and the true values as args: `true_id` is the node's correlation id, `true_thread` its thread.
 *
 * KERNELS_EP_PPM    a number: the device has its own clock, so many ppm fast, which is compared with ONNX Runtime's
 *                   once, in StartProfiling; a kernel takes the middle half of its node, and has times of
 *                   CLOCK_MONOTONIC as args: its own, `true_start_ns` and `true_end_ns`, and the node's start,
 *                   `true_node_ns`
 * KERNELS_EP_JUMP   with KERNELS_EP_PPM, microseconds: the device's clock jumps by this after 200 ms, back after the
 *                   next 200 ms, and so on
 * KERNELS_EP_ARGS   further args of each kernel: KEY, byte 31, VALUE, byte 31, KEY, ...
 * KERNELS_EP_ID     set: `ort_correlation_id` too, as ONNX Runtime's own providers add it
 * KERNELS_EP_TIMES  set: four more kernels, whose times are invalid
 * KERNELS_EP_LOST   set: an event `epprof.lost` as the kit adds it, of 30 events
 * KERNELS_EP_FAIL   a message: EndProfiling fails with it
 */
#include <onnxruntime_c_api.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define EP_VERSION 25
#define ARGS_MAX 32
#define SEPARATORS "\x1f"
#define OPEN_MAX 16
#define JUMP_EVERY_NS 200000000

static const OrtApi *api;
static const OrtEpApi *ep_api;

struct kernel {
	uint64_t id;
	int64_t timestamp_us, duration_us;
	long thread;
	int64_t node_ns, start_ns, end_ns; /* true times, if the device has its own clock */
	char name[96];
};

/* The device's clock, which is 0 when the profiler is made. */
struct device_clock {
	bool is_own;
	double ppm;
	int64_t jump_ns, zero_ns;
	int64_t compared_ns, offset_ns; /* in StartProfiling: the clock's value, and ONNX Runtime's time */
};

struct profiler {
	OrtEpProfilerImpl impl;
	pthread_mutex_t lock; /* guards the kernels */
	struct device_clock clock;
	struct kernel *kernels;
	size_t count, room;
};

static int64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int64_t shown_ns(const struct device_clock *clock, int64_t true_ns)
{
	int64_t since_ns = true_ns - clock->zero_ns;

	return since_ns + (int64_t)((double)since_ns * clock->ppm / 1e6) +
	       (since_ns / JUMP_EVERY_NS % 2 ? clock->jump_ns : 0);
}

/* ONNX Runtime's documented formula. */
static int64_t formula_us(const struct device_clock *clock, int64_t true_ns)
{
	return (clock->offset_ns + shown_ns(clock, true_ns) - clock->compared_ns) / 1000;
}

/* ---- the profiler ---- */

static void profiler_release(OrtEpProfilerImpl *this_ptr)
{
	struct profiler *profiler = (struct profiler *)this_ptr;

	pthread_mutex_destroy(&profiler->lock);
	free(profiler->kernels);
	free(profiler);
}

static OrtStatus *profiler_start(OrtEpProfilerImpl *this_ptr, int64_t offset_ns)
{
	struct profiler *profiler = (struct profiler *)this_ptr;

	profiler->count = 0;
	profiler->clock.offset_ns = offset_ns;
	profiler->clock.compared_ns = shown_ns(&profiler->clock, monotonic_ns());
	return NULL;
}

/* The start times of the events that are open on this thread. */
static _Thread_local int64_t open_ns[OPEN_MAX];
static _Thread_local size_t open_count;

static OrtStatus *profiler_start_event(OrtEpProfilerImpl *this_ptr, uint64_t id)
{
	(void)this_ptr, (void)id;
	if (open_count < OPEN_MAX)
		open_ns[open_count] = monotonic_ns();
	open_count++;
	return NULL;
}

/* The end of the node on CLOCK_MONOTONIC: ONNX Runtime measured it before it called any profiler.  If the thread is
 * interrupted between the two readings, the end is too early, never after the node. */
static int64_t node_end_ns(const struct kernel *kernel)
{
	struct timespec now;
	int64_t now_ns = monotonic_ns();

	clock_gettime(CLOCK_REALTIME, &now);
	int64_t since_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec -
	                   ((int64_t)kernel->id + kernel->duration_us) * 1000;
	return now_ns - (since_ns > 0 ? since_ns : 0);
}

static void take_times(const struct device_clock *clock, struct kernel *kernel)
{
	int64_t end_ns = node_end_ns(kernel);

	kernel->node_ns = open_ns[open_count < OPEN_MAX ? open_count : OPEN_MAX - 1];
	end_ns = end_ns > kernel->node_ns ? end_ns : kernel->node_ns;
	kernel->start_ns = kernel->node_ns + (end_ns - kernel->node_ns) / 4;
	kernel->end_ns = end_ns - (end_ns - kernel->node_ns) / 4;
	kernel->timestamp_us = formula_us(clock, kernel->start_ns);
	kernel->duration_us = formula_us(clock, kernel->end_ns) - kernel->timestamp_us;
}

static void add_kernel(struct profiler *profiler, const struct kernel *kernel)
{
	pthread_mutex_lock(&profiler->lock);
	if (profiler->count == profiler->room) {
		size_t room = profiler->room ? 2 * profiler->room : 1024;
		struct kernel *larger = reallocarray(profiler->kernels, room, sizeof *larger);
		if (!larger)
			abort();
		profiler->kernels = larger;
		profiler->room = room;
	}
	profiler->kernels[profiler->count++] = *kernel;
	pthread_mutex_unlock(&profiler->lock);
}

static OrtStatus *profiler_stop_event(OrtEpProfilerImpl *this_ptr, uint64_t id, const OrtProfilingEvent *event)
{
	struct kernel kernel = { .id = id, .thread = syscall(SYS_gettid) };
	OrtProfilingEventCategory category;
	const char *name = NULL;
	struct profiler *profiler = (struct profiler *)this_ptr;
	OrtStatus *status;

	open_count--;
	if ((status = ep_api->ProfilingEvent_GetCategory(event, &category)) ||
	    (status = ep_api->ProfilingEvent_GetName(event, &name)) ||
	    (status = ep_api->ProfilingEvent_GetTimestampUs(event, &kernel.timestamp_us)) ||
	    (status = ep_api->ProfilingEvent_GetDurationUs(event, &kernel.duration_us)))
		return status;
	if (category != OrtProfilingEventCategory_NODE)
		return NULL;
	snprintf(kernel.name, sizeof kernel.name, "kernel of %s", name);
	if (profiler->clock.is_own)
		take_times(&profiler->clock, &kernel);
	/* A kernel during which the clock jumps has no valid duration. */
	if (kernel.duration_us >= 0 && (!profiler->clock.jump_ns || kernel.duration_us < JUMP_EVERY_NS / 8000))
		add_kernel(profiler, &kernel);
	return NULL;
}

static OrtStatus *emit(OrtProfilingEventsContainer *container, OrtProfilingEventCategory category,
                       const struct kernel *kernel, const char *const *keys, const char *const *values, size_t count)
{
	OrtProfilingEvent *event = NULL;

	OrtStatus *status = ep_api->CreateProfilingEvent(category, -1, -1, kernel->name, kernel->timestamp_us,
	                                                 kernel->duration_us, keys, values, count, &event);
	if (!status)
		status = ep_api->ProfilingEventsContainer_AddEvents(container, (const OrtProfilingEvent *const *)&event, 1);
	ep_api->ReleaseProfilingEvent(event);
	return status;
}

/* Splits `text` into keys and values. */
static size_t read_args(char *text, const char **keys, const char **values)
{
	size_t count = 0;
	char *key;

	while (text && count < ARGS_MAX - 6 && (key = strsep(&text, SEPARATORS)) && text) {
		keys[count] = key;
		values[count++] = strsep(&text, SEPARATORS);
	}
	return count;
}

static OrtStatus *emit_kernels(const struct profiler *profiler, OrtProfilingEventsContainer *container)
{
	const char *keys[ARGS_MAX], *values[ARGS_MAX], *more = getenv("KERNELS_EP_ARGS");
	char *text = more ? strdup(more) : NULL, id[24], thread[24];
	size_t count = read_args(text, keys, values);
	char times[3][24];
	OrtStatus *status = NULL;

	keys[count] = "true_id";
	values[count++] = id;
	keys[count] = "true_thread";
	values[count++] = thread;
	if (getenv("KERNELS_EP_ID")) {
		keys[count] = "ort_correlation_id";
		values[count++] = id;
	}
	for (unsigned i = 0; i < 3 && profiler->clock.is_own; i++) {
		static const char *const names[] = { "true_node_ns", "true_start_ns", "true_end_ns" };
		keys[count] = names[i];
		values[count++] = times[i];
	}
	for (size_t i = 0; i < profiler->count && !status; i++) {
		const struct kernel *kernel = &profiler->kernels[i];
		snprintf(times[0], sizeof times[0], "%" PRId64, kernel->node_ns);
		snprintf(times[1], sizeof times[1], "%" PRId64, kernel->start_ns);
		snprintf(times[2], sizeof times[2], "%" PRId64, kernel->end_ns);
		snprintf(id, sizeof id, "%" PRIu64, kernel->id);
		snprintf(thread, sizeof thread, "%ld", kernel->thread);
		status = emit(container, OrtProfilingEventCategory_KERNEL, kernel, keys, values, count);
	}
	free(text);
	return status;
}

static OrtStatus *emit_odd_times(OrtProfilingEventsContainer *container)
{
	static const struct kernel odd[] = {
		{ .name = "odd: ends before it begins", .timestamp_us = 1000, .duration_us = -5 },
		{ .name = "odd: begins at the last moment", .timestamp_us = INT64_MAX, .duration_us = 1 },
		{ .name = "odd: begins at the first moment", .timestamp_us = INT64_MIN, .duration_us = 1 },
		{ .name = "odd: lasts for ever", .timestamp_us = 1000, .duration_us = INT64_MAX },
	};
	OrtStatus *status = NULL;

	for (size_t i = 0; i < sizeof odd / sizeof *odd && !status; i++)
		status = emit(container, OrtProfilingEventCategory_KERNEL, &odd[i], NULL, NULL, 0);
	return status;
}

static OrtStatus *emit_lost(OrtProfilingEventsContainer *container)
{
	static const char *const keys[] = { "ep", "emitted", "lost_no_buffer", "lost_refused", "parents_lost" };
	static const char *const values[] = { "kernels", "1000", "28", "2", "7" };
	const struct kernel lost = { .name = "epprof.lost", .timestamp_us = 1000 };

	return emit(container, OrtProfilingEventCategory_API, &lost, keys, values, 5);
}

static OrtStatus *profiler_end(OrtEpProfilerImpl *this_ptr, OrtProfilingEventsContainer *container)
{
	const char *failure = getenv("KERNELS_EP_FAIL");

	OrtStatus *status = emit_kernels((const struct profiler *)this_ptr, container);
	if (!status && getenv("KERNELS_EP_TIMES"))
		status = emit_odd_times(container);
	if (!status && getenv("KERNELS_EP_LOST"))
		status = emit_lost(container);
	return !status && failure ? api->CreateStatus(ORT_EP_FAIL, failure) : status;
}

static OrtStatus *ep_create_profiler(OrtEp *this_ptr, OrtEpProfilerImpl **impl)
{
	struct profiler *made = calloc(1, sizeof *made);

	(void)this_ptr;
	if (!made)
		return api->CreateStatus(ORT_EP_FAIL, "out of memory");
	pthread_mutex_init(&made->lock, NULL);
	const char *ppm = getenv("KERNELS_EP_PPM"), *jump = getenv("KERNELS_EP_JUMP");
	made->clock = (struct device_clock){ .is_own = ppm != NULL,
		                             .ppm = ppm ? strtod(ppm, NULL) : 0,
		                             .jump_ns = jump ? strtoll(jump, NULL, 10) * 1000 : 0,
		                             .zero_ns = monotonic_ns() };
	made->impl.ort_version_supported = EP_VERSION;
	made->impl.Release = profiler_release;
	made->impl.StartProfiling = profiler_start;
	made->impl.StartEvent = profiler_start_event;
	made->impl.StopEvent = profiler_stop_event;
	made->impl.EndProfiling = profiler_end;
	*impl = &made->impl;
	return NULL;
}

/* ---- EP and factory ---- */

static const char *ep_get_name(const OrtEp *this_ptr)
{
	(void)this_ptr;
	return "KernelsEP";
}

static OrtStatus *ep_get_capability(OrtEp *this_ptr, const OrtGraph *graph, OrtEpGraphSupportInfo *support)
{
	(void)this_ptr, (void)graph, (void)support;
	return NULL;
}

static const char *factory_get_name(const OrtEpFactory *this_ptr)
{
	(void)this_ptr;
	return "KernelsEP";
}

static const char *factory_get_version(const OrtEpFactory *this_ptr)
{
	(void)this_ptr;
	return "1.0.0";
}

static OrtStatus *factory_get_devices(OrtEpFactory *this_ptr, const OrtHardwareDevice *const *devices, size_t num_devices,
                                      OrtEpDevice **ep_devices, size_t max_ep_devices, size_t *num_ep_devices)
{
	*num_ep_devices = 0;
	for (size_t i = 0; i < num_devices && *num_ep_devices < max_ep_devices; i++) {
		if (api->HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU)
			continue;
		OrtStatus *status = ep_api->CreateEpDevice(this_ptr, devices[i], NULL, NULL, &ep_devices[*num_ep_devices]);
		if (status)
			return status;
		++*num_ep_devices;
	}
	return NULL;
}

static OrtStatus *factory_create_ep(OrtEpFactory *this_ptr, const OrtHardwareDevice *const *devices,
                                    const OrtKeyValuePairs *const *ep_metadata_pairs, size_t num_devices,
                                    const OrtSessionOptions *session_options, const OrtLogger *logger, OrtEp **ep)
{
	(void)this_ptr, (void)devices, (void)ep_metadata_pairs, (void)num_devices, (void)session_options, (void)logger;
	OrtEp *made = calloc(1, sizeof *made);

	*ep = made;
	if (!made)
		return api->CreateStatus(ORT_EP_FAIL, "out of memory");
	made->ort_version_supported = EP_VERSION;
	made->GetName = ep_get_name;
	made->GetCapability = ep_get_capability;
	made->CreateProfiler = ep_create_profiler;
	return NULL;
}

static void factory_release_ep(OrtEpFactory *this_ptr, OrtEp *ep)
{
	(void)this_ptr;
	free(ep);
}

static OrtStatus *factory_create_data_transfer(OrtEpFactory *this_ptr, OrtDataTransferImpl **data_transfer)
{
	(void)this_ptr;
	*data_transfer = NULL;
	return NULL;
}

static OrtEpFactory factory = { .ort_version_supported = EP_VERSION,
	                        .GetName = factory_get_name,
	                        .GetVendor = factory_get_name,
	                        .GetVersion = factory_get_version,
	                        .GetSupportedDevices = factory_get_devices,
	                        .CreateEp = factory_create_ep,
	                        .ReleaseEp = factory_release_ep,
	                        .CreateDataTransfer = factory_create_data_transfer };

EXPORT OrtStatus *CreateEpFactories(const char *registered_name, const OrtApiBase *ort_api_base,
                                    const OrtLogger *default_logger, OrtEpFactory **factories, size_t max_factories,
                                    size_t *num_factories);
EXPORT OrtStatus *ReleaseEpFactory(OrtEpFactory *this_ptr);

OrtStatus *CreateEpFactories(const char *registered_name, const OrtApiBase *ort_api_base, const OrtLogger *default_logger,
                             OrtEpFactory **factories, size_t max_factories, size_t *num_factories)
{
	(void)registered_name, (void)default_logger;
	api = ort_api_base->GetApi(EP_VERSION);
	if (!api || !(ep_api = api->GetEpApi()) || max_factories < 1)
		abort();
	factories[0] = &factory;
	*num_factories = 1;
	return NULL;
}

OrtStatus *ReleaseEpFactory(OrtEpFactory *this_ptr)
{
	(void)this_ptr;
	return NULL;
}

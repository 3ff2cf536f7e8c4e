/* The sample execution provider: one library for ONNX Runtime and for every epprof host, around the software
 * accelerator; and the same around an OpenCL device (ort_ep_device.h).  This file contains the entry points and the
 * profiling; ort_ep_graph.c and ort_ep_compute.c run models, ort_ep_work.c gives work to the device without a model.
 * Code that an EP adds for profiling is marked [profiling]: it creates a profiler with the kit, takes a token where
 * work is launched, and emits an event where the device reports that work is done.
 *
 * Three options make it the sample of an unusual device (sample_ep.h): it reports its work late, counts cycles only, or
 * replays captured graphs.
 *
 * A process has one device, like hardware: it is created with the first factory and destroyed with the last.  A launch
 * is the work of one node, and the tag of its commands.  It ends when its last command, the copy out, has ended;
 * without a copy out, the code that began it ends it.  A profiler is released when no launch of it is running, and
 * freed when no launch refers to it any more. */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "accelerator_node.h"
#include "epprof/ep.h"
#include "ort_ep_device.h"
#include "ort_ep_graph.h"
#include "ort_ep_launch.h"
#include "ort_ep_reports.h"
#include "sample_ep.h"

EPP_EXPORT OrtStatus *CreateEpFactories(const char *registered_name, const OrtApiBase *ort_api_base,
                                        const OrtLogger *default_logger, OrtEpFactory **factories, size_t max_factories,
                                        size_t *num_factories);
EPP_EXPORT OrtStatus *ReleaseEpFactory(OrtEpFactory *factory);

#define LATE_MS_MAX 3600000
/* How long the reports may take when they are due. */
#define REPORTS_NS 10000000000

struct sample_factory {
	OrtEpFactory factory;
	const OrtApiBase *ort_api_base;
	struct sample_api api;
};

struct sample_ep {
	OrtEp ep;
	const struct sample_factory *factory;
};

struct sample_profiler {
	struct epp_ep_profiler kit; /* first: this is the OrtEpProfilerImpl that hosts see */
	LIST_ENTRY(sample_profiler) others;
	size_t launches_count;                    /* that are running */
	size_t users_count;                       /* its host, and the launches that refer to it */
	void (*release)(OrtEpProfilerImpl *impl); /* the kit's */
};

/* The kernels of one replay. */
struct replay {
	size_t count, room;
	epp_ep_graph_node *nodes;
	uint64_t (*ticks)[2];
};

struct sample_launch {
	const char *const *kernel_names; /* one for each kernel, or NULL; kernels are reported in order */
	size_t kernels_done;
	uint64_t number; /* unique */
	uint64_t graph;  /* 0: its kernels are not those of a graph */
	struct replay replay;
	size_t users_count; /* the code that began it, and its late reports */
	size_t parents_count;
	struct {
		struct sample_profiler *profiler;
		uint64_t token;
		uint64_t submit_host_ticks;
	} parents[];
};

static struct {
	pthread_mutex_t lock; /* guards all below; device and options change with the first and last factory only */
	pthread_cond_t launch_ended, closed;
	size_t factories_count;
	bool is_closing; /* the last factory was released, and its device is being destroyed */
	uint64_t launches_count;
	accelerator *device;
	bool leave_running;
	bool has_details;
	bool counts_cycles;
	bool replays_graphs;
	uint64_t late_ns; /* 0: it reports commands at once */
	LIST_HEAD(, sample_profiler) profilers;
} sample = { .lock = PTHREAD_MUTEX_INITIALIZER,
	     .launch_ended = PTHREAD_COND_INITIALIZER,
	     .closed = PTHREAD_COND_INITIALIZER };

/* ---- running a node ---- */

accelerator *sample_device(void)
{
	return sample.device;
}

/* [profiling] A counter of the device. */
static void count_launches(struct sample_profiler *profiler)
{
	if (sample.has_details)
		epp_ep_counter_record(
		    &profiler->kit,
		    &(epp_ep_counter){ .name = "launches", .type = EPP_EP_U64, .u64 = profiler->launches_count });
}

/* [profiling] Takes the calling thread's tokens, in each session that has an open event on this thread.  With
 * `of_nobody` the other sessions get the work too, without a token; not from a late device, because another run may
 * have begun when it is reported. */
struct sample_launch *sample_launch_begin(const char *const *kernel_names, uint64_t graph, bool of_nobody)
{
	pthread_mutex_lock(&sample.lock);
	struct sample_profiler *profiler;
	size_t profilers_count = 0;
	LIST_FOREACH(profiler, &sample.profilers, others)
		profilers_count++;
	struct sample_launch *launch = calloc(1, sizeof(*launch) + profilers_count * sizeof(launch->parents[0]));
	if (launch) {
		/* The model may be released before a late report. */
		launch->kernel_names = sample.late_ns ? NULL : kernel_names;
		launch->graph = sample.replays_graphs ? graph : 0;
		launch->number = ++sample.launches_count;
		launch->users_count = 1;
	}
	LIST_FOREACH(profiler, &sample.profilers, others) {
		uint64_t token = launch ? epp_ep_current(&profiler->kit) : 0;
		if (token == 0 && !(of_nobody && launch && !sample.late_ns))
			continue;
		profiler->launches_count++;
		profiler->users_count++;
		launch->parents[launch->parents_count].profiler = profiler;
		launch->parents[launch->parents_count].submit_host_ticks = epp_ep_host_ticks(&profiler->kit);
		launch->parents[launch->parents_count++].token = token;
		count_launches(profiler);
	}
	pthread_mutex_unlock(&sample.lock);
	return launch;
}

/* Called with the lock held, here and below. */
static void profiler_leave(struct sample_profiler *profiler)
{
	if (--profiler->users_count == 0)
		free(profiler);
}

static void launch_leave(struct sample_launch *launch)
{
	if (--launch->users_count > 0)
		return;
	for (size_t i = 0; i < launch->parents_count; i++)
		profiler_leave(launch->parents[i].profiler);
	free(launch->replay.nodes);
	free(launch->replay.ticks);
	free(launch);
}

/* [profiling] All kernels of a replay belong to the host event that launched it. */
static void replay_emit(const struct sample_launch *launch)
{
	for (size_t i = 0; i < launch->parents_count; i++)
		epp_ep_replay_emit(&launch->parents[i].profiler->kit,
		                   &(epp_ep_replay){ .parent = launch->parents[i].token,
		                                     .graph = launch->graph,
		                                     .nodes = launch->replay.nodes,
		                                     .ticks = (const uint64_t(*)[2])launch->replay.ticks,
		                                     .nodes_count = launch->replay.count });
}

void sample_launch_end(struct sample_launch *launch)
{
	if (launch->replay.count > 0)
		replay_emit(launch);
	pthread_mutex_lock(&sample.lock);
	for (size_t i = 0; i < launch->parents_count; i++) {
		launch->parents[i].profiler->launches_count--;
		count_launches(launch->parents[i].profiler);
	}
	pthread_cond_broadcast(&sample.launch_ended);
	launch_leave(launch);
	pthread_mutex_unlock(&sample.lock);
}

/* [profiling] Adds a kernel to a replay; both streams may do it at once.  The names are literals, the same in each
 * replay.  Returns false without memory. */
static bool replay_add(struct replay *replay, const accelerator_completion *completion)
{
	pthread_mutex_lock(&sample.lock);
	if (replay->count == replay->room) {
		size_t room = replay->room ? replay->room * 2 : 16;
		epp_ep_graph_node *nodes = realloc(replay->nodes, room * sizeof(*nodes));
		if (nodes)
			replay->nodes = nodes;
		uint64_t(*ticks)[2] = realloc(replay->ticks, room * sizeof(*ticks));
		if (ticks)
			replay->ticks = ticks;
		if (nodes && ticks)
			replay->room = room;
	}
	bool has_room = replay->count < replay->room;
	if (has_room) {
		replay->nodes[replay->count] = (epp_ep_graph_node){ .name = completion->name,
			                                            .stream = completion->stream };
		replay->ticks[replay->count][0] = completion->start_ticks;
		replay->ticks[replay->count++][1] = completion->end_ticks;
	}
	pthread_mutex_unlock(&sample.lock);
	return has_room;
}

/* [profiling] Emits an event for a command that has ended. */
static void command_report(const accelerator_completion *completion)
{
	struct sample_launch *launch = (struct sample_launch *)(uintptr_t)completion->tag;
	epp_ep_arg args[7];
	epp_ep_event event = {
		.name = completion->name,
		.start_ticks = completion->start_ticks,
		.end_ticks = completion->end_ticks,
		.stream = completion->stream,
		.queue_ticks = completion->queue_ticks,
		.args = args,
	};
	/* A number of cycles has no place in time: any start, and nothing that is measured from it. */
	if (sample.counts_cycles) {
		event.start_ticks = event.queue_ticks = 0;
		event.end_ticks = completion->end_ticks - completion->start_ticks;
	}
	if (completion->stream == ACCELERATOR_COPY_ENGINE) {
		event.copy = completion->op == ACCELERATOR_COPY_IN    ? EPP_EP_HOST_TO_DEVICE
		             : completion->op == ACCELERATOR_COPY_OUT ? EPP_EP_DEVICE_TO_HOST
		                                                      : EPP_EP_FILL;
		event.bytes = completion->bytes;
		/* The kernels wait for the copies in. */
		if (sample.has_details && completion->op == ACCELERATOR_COPY_IN)
			event.flow_begin = launch->number;
	} else {
		if (sample.has_details)
			event.flow_end = launch->number;
		args[event.args_count++] = (epp_ep_arg){ .key = "m", .i64 = completion->m };
		args[event.args_count++] = (epp_ep_arg){ .key = "n", .i64 = completion->n };
		if (completion->op == ACCELERATOR_GEMM)
			args[event.args_count++] = (epp_ep_arg){ .key = "k", .i64 = completion->k };
		if (launch->kernel_names)
			args[event.args_count++] = (epp_ep_arg){ .key = "node",
				                                 .text = launch->kernel_names[launch->kernels_done++] };
	}
	if (completion->early_ticks)
		args[event.args_count++] = (epp_ep_arg){ .key = "reported_too_early_ns",
			                                 .u64 = completion->early_ticks,
			                                 .type = EPP_EP_U64 };
	if (completion->true_after_ns) {
		args[event.args_count++] = (epp_ep_arg){ .key = "true_before_ns",
			                                 .u64 = completion->true_before_ns,
			                                 .type = EPP_EP_U64 };
		args[event.args_count++] = (epp_ep_arg){ .key = "true_after_ns",
			                                 .u64 = completion->true_after_ns,
			                                 .type = EPP_EP_U64 };
	}
	for (size_t i = 0; i < launch->parents_count; i++) {
		event.parent = launch->parents[i].token;
		event.submit_host_ticks = sample.counts_cycles ? 0 : launch->parents[i].submit_host_ticks;
		epp_ep_emit(&launch->parents[i].profiler->kit, &event);
	}
}

/* [profiling] The driver reports a command that ended some time ago.  Its host may have ended the run since, or have
 * released the profiler, which then takes no events. */
static void command_report_late(const accelerator_completion *completion)
{
	struct sample_launch *launch = (struct sample_launch *)(uintptr_t)completion->tag;
	command_report(completion);
	for (size_t i = 0; i < launch->parents_count; i++)
		epp_ep_pending_add(&launch->parents[i].profiler->kit, -1);
	pthread_mutex_lock(&sample.lock);
	launch_leave(launch);
	pthread_mutex_unlock(&sample.lock);
}

/* [profiling] Its event comes later: until then EndProfiling waits for it, or counts it as lost. */
static void command_report_later(struct sample_launch *launch, const accelerator_completion *completion)
{
	pthread_mutex_lock(&sample.lock);
	launch->users_count++;
	pthread_mutex_unlock(&sample.lock);
	for (size_t i = 0; i < launch->parents_count; i++)
		epp_ep_pending_add(&launch->parents[i].profiler->kit, 1);
	if (!sample_report_later(completion))
		command_report_late(completion);
}

/* [profiling] The device calls this on its own thread when a command is done. */
static void command_completed(void *user, const accelerator_completion *completion)
{
	(void)user;
	struct sample_launch *launch = (struct sample_launch *)(uintptr_t)completion->tag;
	bool is_kernel = completion->stream != ACCELERATOR_COPY_ENGINE;
	if (sample.late_ns)
		command_report_later(launch, completion);
	else if (!(launch->graph && is_kernel && replay_add(&launch->replay, completion)))
		command_report(completion);
	if (completion->op == ACCELERATOR_COPY_OUT)
		sample_launch_end(launch);
}

/* [profiling] Reports to each profiler with an open event on this thread that the work launched by the event has
 * ended. */
void sample_wait(accelerator_event done)
{
	struct sample_profiler *profiler;
	pthread_mutex_lock(&sample.lock);
	profiler = LIST_FIRST(&sample.profilers);
	uint64_t since = profiler ? epp_ep_host_ticks(&profiler->kit) : 0;
	pthread_mutex_unlock(&sample.lock);
	accelerator_event_synchronise(sample.device, done);
	pthread_mutex_lock(&sample.lock);
	LIST_FOREACH(profiler, &sample.profilers, others)
		epp_ep_waited(&profiler->kit, epp_ep_current(&profiler->kit), since);
	pthread_mutex_unlock(&sample.lock);
}

const char *sample_ep_run(const sample_ep_node *node)
{
	static const char *const op_types[] = {
		[ACCELERATOR_GEMM] = "MatMul",
		[ACCELERATOR_BIAS] = "Add",
		[ACCELERATOR_RELU] = "Relu",
		[ACCELERATOR_SOFTMAX] = "Softmax",
	};
	if (sample.device == NULL)
		return "the sample EP has no factory";
	if (node == NULL || node->op_type == NULL)
		return accelerator_result_text(ACCELERATOR_BAD_ARGUMENT);
	unsigned op = 0;
	while (strcmp(node->op_type, op_types[op]) != 0) {
		if (++op == sizeof(op_types) / sizeof(op_types[0]))
			return "the sample EP has no such op";
	}
	struct sample_launch *launch = sample_launch_begin(NULL, 0, false);
	if (launch == NULL)
		return accelerator_result_text(ACCELERATOR_OUT_OF_MEMORY);
	accelerator_node work = {
		.op = (accelerator_op)op,
		.stream = (accelerator_stream)node->stream,
		.x = node->x,
		.weights = node->weights,
		.y = node->y,
		.rows = node->rows,
		.columns = node->columns,
		.outputs = node->outputs,
		.tag = (uintptr_t)launch,
	};
	accelerator_event done;
	accelerator_result result = accelerator_node_submit(sample.device, &work, &done);
	if (result) {
		sample_launch_end(launch);
		return accelerator_result_text(result);
	}
	if (!sample.leave_running)
		sample_wait(done);
	return NULL;
}

void sample_ep_synchronise(void)
{
	accelerator_synchronise(sample.device);
}

/* ---- [profiling] the profiler ---- */

static void device_finish(void *device)
{
	accelerator_synchronise(device);
}

/* Removes the profiler from the lists first, because other threads, which run nodes of other sessions, look at all
 * profilers. */
static void profiler_release(OrtEpProfilerImpl *impl)
{
	struct sample_profiler *profiler = (struct sample_profiler *)impl;
	pthread_mutex_lock(&sample.lock);
	LIST_REMOVE(profiler, others);
	while (profiler->launches_count > 0)
		pthread_cond_wait(&sample.launch_ended, &sample.lock);
	pthread_mutex_unlock(&sample.lock);
	/* Late reports may come until here; afterwards the kit ignores them. */
	sample_reports_hold();
	profiler->release(impl);
	sample_reports_resume();
}

/* The kit's state is gone, and the rest is needed until the last report. */
static void profiler_free(epp_ep_profiler *kit, void *device)
{
	(void)device;
	pthread_mutex_lock(&sample.lock);
	profiler_leave((struct sample_profiler *)kit);
	pthread_mutex_unlock(&sample.lock);
}

static OrtStatus *ep_create_profiler(OrtEp *ep, OrtEpProfilerImpl **impl)
{
	const struct sample_factory *factory = ((struct sample_ep *)ep)->factory;
	*impl = NULL;
	struct sample_profiler *profiler = calloc(1, sizeof(*profiler));
	if (profiler == NULL)
		return factory->api.ort->CreateStatus(ORT_FAIL, "sample EP: out of memory");
	epp_ep_options options = {
		.struct_size = sizeof(options),
		.ort_api_base = factory->ort_api_base,
		.ep_name = sample_device_kind.ep_name,
		.end_profiling = device_finish,
		.release = profiler_free,
		.user = sample.device,
	};
	sample_device_kind.clock_describe(sample.device, &options);
	if (sample.counts_cycles) {
		options.now_ticks = NULL;
		options.read_clocks = NULL;
	}
	/* ONNX Runtime has no grace time of its own. */
	if (sample.late_ns)
		options.grace_ns = sample.late_ns + REPORTS_NS;
	OrtStatus *status = epp_ep_profiler_init(&profiler->kit, &options);
	if (status) {
		free(profiler);
		return status;
	}
	profiler->users_count = 1;
	epp_ep_device_name_set(&profiler->kit, 0, sample_device_kind.device_name);
	epp_ep_stream_name_set(&profiler->kit, 0, ACCELERATOR_STREAM_0, "compute 0");
	epp_ep_stream_name_set(&profiler->kit, 0, ACCELERATOR_STREAM_1, "compute 1");
	epp_ep_stream_name_set(&profiler->kit, 0, ACCELERATOR_COPY_ENGINE, "copy engine");
	profiler->release = profiler->kit.impl.Release;
	profiler->kit.impl.Release = profiler_release;
	pthread_mutex_lock(&sample.lock);
	LIST_INSERT_HEAD(&sample.profilers, profiler, others);
	pthread_mutex_unlock(&sample.lock);
	*impl = &profiler->kit.impl;
	return NULL;
}

/* ---- the EP ---- */

static const char *ep_name(const OrtEp *ep)
{
	(void)ep;
	return sample_device_kind.ep_name;
}

static OrtStatus *ep_get_capability(OrtEp *ep, const OrtGraph *graph, OrtEpGraphSupportInfo *support)
{
	return sample_graph_claim(&((struct sample_ep *)ep)->factory->api, graph, support);
}

static void ep_release_node_compute_infos(OrtEp *ep, OrtNodeComputeInfo **infos, size_t count)
{
	(void)ep;
	for (size_t i = 0; i < count; i++)
		sample_graph_release(infos[i]);
}

static OrtStatus *ep_compile(OrtEp *ep, const OrtGraph **graphs, const OrtNode **fused_nodes, size_t count,
                             OrtNodeComputeInfo **infos, OrtNode **ep_context_nodes)
{
	(void)ep_context_nodes;
	const struct sample_api *api = &((struct sample_ep *)ep)->factory->api;
	OrtStatus *status = NULL;
	for (size_t i = 0; i < count; i++)
		infos[i] = NULL;
	for (size_t i = 0; i < count && status == NULL; i++)
		status = sample_graph_compile(api, graphs[i], fused_nodes[i], &infos[i]);
	return status;
}

/* The device accepts work from any thread. */
static OrtStatus *ep_is_concurrent_run_supported(OrtEp *ep, bool *is_supported)
{
	(void)ep;
	*is_supported = true;
	return NULL;
}

/* ---- the factory ---- */

static const char *factory_name(const OrtEpFactory *factory)
{
	(void)factory;
	return sample_device_kind.ep_name;
}

static const char *factory_vendor(const OrtEpFactory *factory)
{
	(void)factory;
	return "epprof";
}

static const char *factory_version(const OrtEpFactory *factory)
{
	(void)factory;
	return "1.0.0";
}

/* The accelerator is software, so every machine with a CPU has one.  ONNX Runtime does not list devices of OpenCL. */
static OrtStatus *factory_supported_devices(OrtEpFactory *ort_factory, const OrtHardwareDevice *const *devices,
                                            size_t devices_count, OrtEpDevice **ep_devices, size_t max_count,
                                            size_t *count)
{
	struct sample_factory *factory = (struct sample_factory *)ort_factory;
	*count = 0;
	for (size_t i = 0; i < devices_count && *count < max_count; i++) {
		if (factory->api.ort->HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU)
			continue;
		OrtStatus *status = factory->api.ep->CreateEpDevice(ort_factory, devices[i], NULL, NULL,
		                                                    &ep_devices[*count]);
		if (status)
			return status;
		++*count;
	}
	return NULL;
}

static OrtStatus *factory_create_ep(OrtEpFactory *ort_factory, const OrtHardwareDevice *const *devices,
                                    const OrtKeyValuePairs *const *metadata, size_t devices_count,
                                    const OrtSessionOptions *options, const OrtLogger *logger, OrtEp **ep)
{
	(void)devices, (void)metadata, (void)devices_count, (void)options, (void)logger;
	struct sample_factory *factory = (struct sample_factory *)ort_factory;
	*ep = NULL;
	struct sample_ep *made = calloc(1, sizeof(*made));
	if (made == NULL)
		return factory->api.ort->CreateStatus(ORT_FAIL, "sample EP: out of memory");
	made->factory = factory;
	made->ep.ort_version_supported = EPPROF_ORT_API_VERSION_MIN;
	made->ep.GetName = ep_name;
	made->ep.GetCapability = ep_get_capability;
	made->ep.Compile = ep_compile;
	made->ep.ReleaseNodeComputeInfos = ep_release_node_compute_infos;
	made->ep.IsConcurrentRunSupported = ep_is_concurrent_run_supported;
	made->ep.CreateProfiler = ep_create_profiler;
	*ep = &made->ep;
	return NULL;
}

static void factory_release_ep(OrtEpFactory *factory, OrtEp *ep)
{
	(void)factory;
	free(ep);
}

/* Returns no transfer: the EP copies data itself, but ONNX Runtime requires the entry. */
static OrtStatus *factory_create_data_transfer(OrtEpFactory *factory, OrtDataTransferImpl **data_transfer)
{
	(void)factory;
	*data_transfer = NULL;
	return NULL;
}

/* ---- the library ---- */

/* Reads how the device reports its work.  Returns NULL, or a text that describes the error. */
static const char *reports_read(void)
{
	const char *late_ms = secure_getenv("SAMPLE_EP_LATE_MS");
	char *end = NULL;
	unsigned long long ms = late_ms ? strtoull(late_ms, &end, 10) : 0;
	if (late_ms && (*end || end == late_ms || ms > LATE_MS_MAX))
		return "sample EP: SAMPLE_EP_LATE_MS is not a number of milliseconds";
	sample.late_ns = (uint64_t)ms * 1000000;
	sample.counts_cycles = secure_getenv("SAMPLE_EP_DURATIONS_ONLY") != NULL;
	sample.replays_graphs = secure_getenv("SAMPLE_EP_GRAPHS") != NULL;
	if (sample.replays_graphs && sample.late_ns)
		return "sample EP: SAMPLE_EP_GRAPHS and SAMPLE_EP_LATE_MS exclude each other";
	return NULL;
}

/* Creates the device with the first factory.  Returns NULL, or a text that describes the error. */
static const char *device_create(void)
{
	const accelerator_options options = { .completed = command_completed };
	const char *error = reports_read();
	if (error)
		return error;
	sample.leave_running = secure_getenv("SAMPLE_EP_LEAVE_RUNNING") != NULL;
	sample.has_details = secure_getenv("SAMPLE_EP_DETAILS") != NULL;
	if (sample.late_ns && !sample_reports_start(sample.late_ns, command_report_late))
		return accelerator_result_text(ACCELERATOR_NO_THREAD);
	error = sample_device_kind.create(&options, &sample.device);
	if (error)
		sample_reports_end();
	return error;
}

OrtStatus *CreateEpFactories(const char *registered_name, const OrtApiBase *ort_api_base, const OrtLogger *default_logger,
                             OrtEpFactory **factories, size_t max_factories, size_t *num_factories)
{
	(void)registered_name, (void)default_logger;
	*num_factories = 0;
	const OrtApi *ort_api = ort_api_base->GetApi(EPPROF_ORT_API_VERSION_MIN);
	if (ort_api == NULL)
		return ort_api_base->GetApi(1)->CreateStatus(ORT_FAIL, "sample EP: needs API version 25 or later");
	if (max_factories < 1)
		return ort_api->CreateStatus(ORT_INVALID_ARGUMENT, "sample EP: no room for a factory");
	struct sample_factory *made = calloc(1, sizeof(*made));
	if (made == NULL)
		return ort_api->CreateStatus(ORT_FAIL, "sample EP: out of memory");

	pthread_mutex_lock(&sample.lock);
	while (sample.is_closing)
		pthread_cond_wait(&sample.closed, &sample.lock);
	const char *error = sample.factories_count ? NULL : device_create();
	if (error == NULL)
		sample.factories_count++;
	pthread_mutex_unlock(&sample.lock);
	if (error) {
		free(made);
		return ort_api->CreateStatus(ORT_FAIL, error);
	}
	made->ort_api_base = ort_api_base;
	made->api = (struct sample_api){ ort_api, ort_api->GetEpApi() };
	made->factory = (OrtEpFactory){
		.ort_version_supported = EPPROF_ORT_API_VERSION_MIN,
		.GetName = factory_name,
		.GetVendor = factory_vendor,
		.GetVersion = factory_version,
		.GetSupportedDevices = factory_supported_devices,
		.CreateEp = factory_create_ep,
		.ReleaseEp = factory_release_ep,
		.CreateDataTransfer = factory_create_data_transfer,
	};
	factories[0] = &made->factory;
	*num_factories = 1;
	return NULL;
}

OrtStatus *ReleaseEpFactory(OrtEpFactory *factory)
{
	free(factory);
	pthread_mutex_lock(&sample.lock);
	if (--sample.factories_count > 0) {
		pthread_mutex_unlock(&sample.lock);
		return NULL;
	}
	accelerator *last = sample.device;
	sample.device = NULL;
	sample.is_closing = true;
	pthread_mutex_unlock(&sample.lock);
	/* Without the lock, because commands that are still running are reported before the device is destroyed. */
	accelerator_destroy(last);
	sample_reports_end();
	pthread_mutex_lock(&sample.lock);
	sample.is_closing = false;
	pthread_cond_broadcast(&sample.closed);
	pthread_mutex_unlock(&sample.lock);
	return NULL;
}

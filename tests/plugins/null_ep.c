/* The collector's library with a profiler that does nothing, for the benchmark: measures the cost of a profiler in ONNX
 * Runtime itself.  asking_ep.c compiles the same text into a library that also reads what the collector reads, and
 * stores none of it. */
#ifndef EP_NAME
#define EP_NAME "null"
#endif

#include "bridges/onnxruntime/ort.c"
#ifdef ASKING
#include "bridges/onnxruntime/ort_event_record.c"
#endif

struct null_profiler {
	OrtEpProfilerImpl impl; /* first */
	const struct ort_host *host;
};

static void null_release(OrtEpProfilerImpl *impl)
{
	free(impl);
}

static OrtStatus *null_start_profiling(OrtEpProfilerImpl *impl, int64_t offset_ns)
{
	(void)impl, (void)offset_ns;
	return NULL;
}

static OrtStatus *null_start_event(OrtEpProfilerImpl *impl, uint64_t ort_id)
{
	(void)impl, (void)ort_id;
	return NULL;
}

static OrtStatus *null_stop_event(OrtEpProfilerImpl *impl, uint64_t ort_id, const OrtProfilingEvent *event)
{
	OrtStatus *status = NULL;
	(void)impl, (void)ort_id, (void)event;
#ifdef ASKING
	const struct ort_host *host = ((struct null_profiler *)impl)->host;
	const char *text = NULL;
	unsigned end = host->version >= MEMORY_VERSION ? KEYS : KEY_OF_MEMORY;
	for (unsigned key = KEY_NODE_INDEX; key < end && !status; key++)
		status = host->ep->ProfilingEvent_GetArgValue(event, key_texts[key], &text);
#endif
	return status;
}

static OrtStatus *null_end_profiling(OrtEpProfilerImpl *impl, OrtProfilingEventsContainer *container)
{
	(void)impl, (void)container;
	return NULL;
}

void ort_collector_run_starts(const struct ort_host *host, const OrtLogger *logger, const OrtRunOptions *options,
                              struct ort_runs *runs)
{
	(void)host, (void)logger, (void)options, (void)runs;
}

void ort_collector_run_ends(struct ort_runs *runs)
{
	(void)runs;
}

OrtEpProfilerImpl *ort_collector_create(const struct ort_host *host, const OrtLogger *logger, struct ort_eps *eps,
                                        struct ort_runs *runs)
{
	(void)logger, (void)eps, (void)runs;
	struct null_profiler *made = calloc(1, sizeof(*made));
	if (!made)
		return NULL;
	made->host = host;
	made->impl = (OrtEpProfilerImpl){
		.ort_version_supported = EPPROF_ORT_API_VERSION_MIN,
		.Release = null_release,
		.StartProfiling = null_start_profiling,
		.StartEvent = null_start_event,
		.StopEvent = null_stop_event,
		.EndProfiling = null_end_profiling,
	};
	return &made->impl;
}

bool ort_output_wanted(void)
{
	return true;
}

/* ---- no hosted plugins ---- */

OrtStatus *ort_libraries_load(const struct ort_host *host, const OrtLogger *logger, struct ort_libraries **libraries)
{
	(void)host, (void)logger;
	*libraries = NULL;
	return NULL;
}

OrtStatus *ort_libraries_set_devices(struct ort_libraries *libraries, const OrtHardwareDevice *const *devices, size_t count)
{
	(void)libraries, (void)devices, (void)count;
	return NULL;
}

void ort_libraries_unload(struct ort_libraries *libraries)
{
	(void)libraries;
}

OrtStatus *ort_eps_create(struct ort_libraries *libraries, const OrtSessionOptions *options, const OrtLogger *logger,
                          struct ort_eps **eps)
{
	(void)libraries, (void)options, (void)logger;
	*eps = NULL;
	return NULL;
}

size_t ort_eps_count(const struct ort_eps *eps)
{
	(void)eps;
	return 0;
}

void ort_eps_release(struct ort_eps *eps)
{
	(void)eps;
}

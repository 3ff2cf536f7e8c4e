/* Interface between the parts of libepprof_ort.so, the bridge into ONNX Runtime. */
#ifndef EPPROF_BRIDGES_ONNXRUNTIME_ORT_H
#define EPPROF_BRIDGES_ONNXRUNTIME_ORT_H

#include "epprof/abi/ort_ep_profiler.h"
#include "epprof/epprof.h"

/* ONNX Runtime's tables, of the newest version that both sides know. */
struct ort_host {
	const OrtApiBase *base;
	const OrtApi *api;
	const OrtEpApi *ep;
	uint32_t version; /* of the library: the minor of its version string */
};

/* Converts an epprof status, which it releases, to one of ONNX Runtime's. NULL stays NULL. */
OrtStatus *ort_status_of(const struct ort_host *host, epp_status *status);

/* The same for an OrtStatus of libepprof's own tables. */
OrtStatus *ort_status_from_epprof(const struct ort_host *host, OrtStatus *status);

/* Logs a status and releases it. NULL does nothing. Without a logger the status is only released. */
void ort_log(const struct ort_host *host, const OrtLogger *logger, OrtLoggingLevel level, OrtStatus *status);

/* Nanoseconds since a reading of the host's clock. */
int64_t ort_ns_since(uint64_t ticks);

/* True if the environment names an output. */
bool ort_output_wanted(void);

/* True if the host program reads ONNX Runtime's profile itself (EPPROF_COLLECTOR_NAME_OF_READER). */
bool ort_host_reads_profile(void);

/* Creates a collector: the profiler of one session of ONNX Runtime, or of one profiled run. It costs nothing until its
 * StartProfiling, which also creates the profilers of `eps` (NULL: none). Host, EPs, runs and logger (NULL: none) outlive it.
 * Errors: NULL without memory. */
struct ort_eps;
struct ort_runs;
OrtEpProfilerImpl *ort_collector_create(const struct ort_host *host, const OrtLogger *logger, const struct ort_eps *eps,
                                        struct ort_runs *runs);

/* Called when a run starts, on its thread: gives the run's event to the request whose traceparent is in the config
 * entries of the run, and notes its tag. The options exist until the run's event has ended. */
void ort_collector_run_starts(const struct ort_host *host, const OrtLogger *logger, const OrtRunOptions *options,
                              struct ort_runs *runs);
/* Called when its nodes are over, on the same thread. */
void ort_collector_run_ends(struct ort_runs *runs);

#endif

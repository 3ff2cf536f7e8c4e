/* Interface between the parts of libepprof_ort.so, the bridge into ONNX Runtime. */
#ifndef EPPROF_BRIDGES_ONNXRUNTIME_ORT_H
#define EPPROF_BRIDGES_ONNXRUNTIME_ORT_H

#include "epprof/abi/ort_ep_profiler.h"
#include "epprof/epprof.h"

/* ONNX Runtime's tables, in the newest version that both sides support. */
struct ort_host {
	const OrtApiBase *base;
	const OrtApi *api;
	const OrtEpApi *ep;
	uint32_t version; /* version of ONNX Runtime: the minor number of its version string */
};

/* Converts an epprof status to one of ONNX Runtime's, and releases the epprof status.  NULL stays NULL. */
OrtStatus *ort_status_of(const struct ort_host *host, epp_status *status);

/* As ort_status_of, for an OrtStatus of libepprof's own tables. */
OrtStatus *ort_status_from_epprof(const struct ort_host *host, OrtStatus *status);

/* Logs a status and releases it. NULL does nothing. Without a logger the status is only released. */
void ort_log(const struct ort_host *host, const OrtLogger *logger, OrtLoggingLevel level, OrtStatus *status);

/* Returns the nanoseconds since `ticks`, a reading of the host's clock. */
int64_t ort_ns_since(uint64_t ticks);

/* Returns true if the environment names an output. */
bool ort_output_wanted(void);

/* Returns true if the host program reads ONNX Runtime's profile itself (EPPROF_COLLECTOR_NAME_OF_READER). */
bool ort_host_reads_profile(void);

/* Creates a collector: the profiler of one session of ONNX Runtime, or of one profiled run.  Until StartProfiling, it
 * opens no session and creates no profiler; StartProfiling also creates the profilers of `eps` (NULL: none).  Host,
 * EPs, runs and logger (NULL: none) must be valid as long as the collector.  Returns NULL if there is no memory. */
struct ort_eps;
struct ort_runs;
OrtEpProfilerImpl *ort_collector_create(const struct ort_host *host, const OrtLogger *logger, struct ort_eps *eps,
                                        struct ort_runs *runs);

/* Must be called when a run starts, on its thread.  Assigns the run's event to the request whose traceparent is in the
 * config entries of the run, and stores the run's tag.  The options are valid until the run's event has ended. */
void ort_collector_run_starts(const struct ort_host *host, const OrtLogger *logger, const OrtRunOptions *options,
                              struct ort_runs *runs);
/* Must be called when the last node of the run has ended, on the same thread. */
void ort_collector_run_ends(struct ort_runs *runs);

#endif

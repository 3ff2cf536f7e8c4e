/* Libraries whose profilers are carried beside the collector: those of epp_plugin_find_carried. */
#ifndef EPPROF_BRIDGES_ONNXRUNTIME_ORT_CARRIED_H
#define EPPROF_BRIDGES_ONNXRUNTIME_ORT_CARRIED_H

#include "ort.h"

/* The libraries, loaded with their factories, and the EPs of one session.  NULL is none of each. */
struct ort_libraries;
struct ort_eps;

/* Opens the libraries, of EPs or plugins of another framework's; without any it gives NULL.  One that is not for ONNX Runtime
 * alone, named elsewhere than in EPPROF_PROFILERS, is left out with a warning.
 * Errors: of what EPPROF_PROFILERS names; the status names the library and the step, and nothing stays loaded. */
OrtStatus *ort_libraries_load(const struct ort_host *host, const OrtLogger *logger, struct ort_libraries **libraries);
/* Asks each which of the devices it serves.  Errors: one that serves none. */
OrtStatus *ort_libraries_find_devices(struct ort_libraries *libraries, const OrtHardwareDevice *const *devices,
                                      size_t count);
void ort_libraries_unload(struct ort_libraries *libraries);

OrtStatus *ort_eps_create(const struct ort_libraries *libraries, const OrtSessionOptions *options,
                          const OrtLogger *logger, struct ort_eps **eps);
void ort_eps_release(struct ort_eps *eps);

/* A profiler of one of them. */
struct ort_eps_profiler {
	OrtEpProfilerImpl *profiler; /* NULL: it has none */
	const char *label;
	bool is_foreign; /* a plugin's of another framework: its statuses are of libepprof's tables */
};
size_t ort_eps_count(const struct ort_eps *eps);
const struct ort_host *ort_eps_host(const struct ort_eps *eps);
const OrtLogger *ort_eps_logger(const struct ort_eps *eps);
/* Ownership: epp_plugin_profiler_release. */
OrtStatus *ort_eps_profiler(const struct ort_eps *eps, size_t index, struct ort_eps_profiler *made);

#endif

/* Libraries whose profilers are hosted in addition to the collector: those of epp_plugin_find_hosted. */
#ifndef EPPROF_BRIDGES_ONNXRUNTIME_ORT_HOSTED_H
#define EPPROF_BRIDGES_ONNXRUNTIME_ORT_HOSTED_H

#include "ort.h"

/* The libraries, loaded with their factories, and the EPs of one session. NULL means none. */
struct ort_libraries;
struct ort_eps;

/* Opens the libraries: EP libraries and plugins of other frameworks. `*libraries` is NULL if there are none. A library
 * that is named elsewhere than in EPPROF_PROFILERS may be meant for another framework: if it fails, it is skipped with
 * a warning.
 * Errors: of libraries in EPPROF_PROFILERS; the status names the library and the step, and nothing stays loaded. */
OrtStatus *ort_libraries_load(const struct ort_host *host, const OrtLogger *logger, struct ort_libraries **libraries);
/* Asks each library which of the devices it supports. Errors: a library that supports none. */
OrtStatus *ort_libraries_find_devices(struct ort_libraries *libraries, const OrtHardwareDevice *const *devices,
                                      size_t count);
void ort_libraries_unload(struct ort_libraries *libraries);

OrtStatus *ort_eps_create(const struct ort_libraries *libraries, const OrtSessionOptions *options,
                          const OrtLogger *logger, struct ort_eps **eps);
void ort_eps_release(struct ort_eps *eps);

/* A profiler of one of the EPs or plugins. */
struct ort_eps_profiler {
	OrtEpProfilerImpl *profiler; /* NULL: it has none */
	const char *label;
	bool is_hosted; /* of another framework's plugin: its statuses belong to libepprof's tables */
};
/* Adds accounts to the session for the libraries that hung before they had a profiler. */
void ort_eps_report_hung(const struct ort_eps *eps, epp_session *session);

size_t ort_eps_count(const struct ort_eps *eps);
const struct ort_host *ort_eps_host(const struct ort_eps *eps);
const OrtLogger *ort_eps_logger(const struct ort_eps *eps);
/* Ownership: epp_plugin_profiler_destroy. */
OrtStatus *ort_eps_profiler(const struct ort_eps *eps, size_t index, struct ort_eps_profiler *made);

#endif

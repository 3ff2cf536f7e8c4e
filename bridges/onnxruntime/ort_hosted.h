/* Libraries whose profilers are hosted in addition to the collector: those that epp_plugin_find_hosted finds. */
#ifndef EPPROF_BRIDGES_ONNXRUNTIME_ORT_HOSTED_H
#define EPPROF_BRIDGES_ONNXRUNTIME_ORT_HOSTED_H

#include "ort.h"

/* The libraries, loaded with their factories, and the EPs of one session. NULL means none. */
struct ort_libraries;
struct ort_eps;

/* Opens the libraries: EP libraries and plugins of other frameworks.  `*libraries` is NULL if there are none.  A
 * library that EPPROF_PROFILERS does not name may be meant for another framework.  If it fails, it is skipped with a
 * warning.
 * Errors: a library in EPPROF_PROFILERS failed; the status names the library and the step, and no library stays
 * loaded. */
OrtStatus *ort_libraries_load(const struct ort_host *host, const OrtLogger *logger, struct ort_libraries **libraries);
/* Asks each library which of the devices it supports.  Errors: a library supports none of them. */
OrtStatus *ort_libraries_find_devices(struct ort_libraries *libraries, const OrtHardwareDevice *const *devices,
                                      size_t count);
void ort_libraries_unload(struct ort_libraries *libraries);

OrtStatus *ort_eps_create(const struct ort_libraries *libraries, const OrtSessionOptions *options,
                          const OrtLogger *logger, struct ort_eps **eps);
void ort_eps_release(struct ort_eps *eps);

/* A profiler of one of the EPs or plugins. */
struct ort_eps_profiler {
	OrtEpProfilerImpl *profiler; /* NULL: the EP has no profiler */
	const char *label;
	/* the profiler is from a plugin of another framework, so its statuses are those of libepprof's tables */
	bool is_hosted;
};
/* Adds a profiler to the session's ledger for each library that hung before it had a profiler. */
void ort_eps_report_hung(const struct ort_eps *eps, epp_session *session);

size_t ort_eps_count(const struct ort_eps *eps);
const struct ort_host *ort_eps_host(const struct ort_eps *eps);
const OrtLogger *ort_eps_logger(const struct ort_eps *eps);
/* Ownership: epp_plugin_profiler_destroy. */
OrtStatus *ort_eps_profiler(const struct ort_eps *eps, size_t index, struct ort_eps_profiler *made);

#endif

/* Libraries whose profilers are hosted in addition to the collector: those that epp_plugin_find_hosted finds. */
#ifndef EPPROF_BRIDGES_ONNXRUNTIME_ORT_HOSTED_H
#define EPPROF_BRIDGES_ONNXRUNTIME_ORT_HOSTED_H

#include "ort.h"

/* struct ort_libraries: the loaded libraries and their factories.  struct ort_eps: the EPs that one session has of
 * them.  In all functions, NULL means that there are none. */
struct ort_libraries;
struct ort_eps;

/* Opens the libraries: EP libraries and plugins of other frameworks.  `*libraries` is NULL if there are none.  If a
 * library fails that EPPROF_PROFILERS does not name, it is skipped with a warning, because it may be meant for another
 * framework.  The functions of EP libraries are not called yet.
 * Errors: a library in EPPROF_PROFILERS failed; the status names the library and the step, and no library stays
 * loaded. */
OrtStatus *ort_libraries_load(const struct ort_host *host, const OrtLogger *logger, struct ort_libraries **libraries);
/* Sets the devices that the libraries may support, once.  Ownership: the array is copied; the devices are valid as long as
 * ONNX Runtime's environment. */
OrtStatus *ort_libraries_set_devices(struct ort_libraries *libraries, const OrtHardwareDevice *const *devices,
                                     size_t count);
void ort_libraries_unload(struct ort_libraries *libraries);

/* Creates an EP of each library that is not registered with ONNX Runtime.  The first session in which a library is hosted
 * creates its factories.  Thread: [any-thread].
 * Errors: a library in EPPROF_PROFILERS failed, or supports none of the devices. */
OrtStatus *ort_eps_create(struct ort_libraries *libraries, const OrtSessionOptions *options, const OrtLogger *logger,
                          struct ort_eps **eps);
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

/* Returns the budget of the session's creation (epp_plugin_budget_begin) for the first profile, which ONNX Runtime starts
 * in the same call; 0 for further profiles. */
uint64_t ort_eps_take_budget(struct ort_eps *eps);

/* ort_eps_count returns the number of EPs and plugins.  ort_eps_note returns a note for the trace about libraries that are
 * not hosted, "" if there is none.  Both accept NULL. */
size_t ort_eps_count(const struct ort_eps *eps);
const char *ort_eps_note(const struct ort_eps *eps);
const struct ort_host *ort_eps_host(const struct ort_eps *eps);
const OrtLogger *ort_eps_logger(const struct ort_eps *eps);
/* Ownership: epp_plugin_profiler_destroy. */
OrtStatus *ort_eps_profiler(const struct ort_eps *eps, size_t index, struct ort_eps_profiler *made);

#endif

/* epprof: loading profiler plugins.
 *
 * A plugin is a shared library that a framework would load for its device.  What kind it is, is told by the symbols it
 * exports; whatever the kind, it gives OrtEpProfilerImpl objects for epp_session_attach.
 */
#ifndef EPPROF_PLUGIN_H
#define EPPROF_PLUGIN_H

#include "epprof/ort_ep_profiler.h"
#include "epprof/session.h"
#include "epprof/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct epp_plugin epp_plugin;

/* Opens a plugin, as its framework would: for an execution provider library dlopen(RTLD_NOW | RTLD_LOCAL), then
 * CreateEpFactories, GetSupportedDevices, CreateEp.
 * Errors: EPP_NOT_FOUND, EPP_INCOMPATIBLE, EPP_PLUGIN; the message names the library and the step.  Nothing half-loaded
 * stays.  `*plugin` is NULL on failure.
 * Thread: [any-thread].  Ownership: the caller unloads it. */
EPP_EXPORT epp_status *epp_plugin_load(const char *path, epp_plugin **plugin) EPP_MUST_CHECK;

/* Told of each library that was looked at: a plugin, which is the callee's from here on, or why it is none.
 * Ownership: path and failure are borrowed for the call. */
typedef void (*epp_plugin_found_fn)(void *user, const char *path, epp_plugin *plugin, const epp_status *failure);

/* Loads what PyTorch's tracing proposal would: the files in KINETO_PLUGIN_PATH (colon-separated; of a directory its *.so, in
 * sorted order) or, if that is not set, in /usr/lib/kineto/plugins, /usr/local/lib/kineto/plugins and
 * ~/.local/lib/kineto/plugins; plugins of any kind.  Returns how many were loaded.
 * Thread: [any-thread]. */
EPP_EXPORT size_t epp_plugin_load_kineto_path(epp_plugin_found_fn found, void *user);

/* Makes a profiler.  NULL in `*profiler` with success does not happen: a plugin without a profiler is EPP_PLUGIN.
 * Thread: one at a time for one plugin.  Ownership: attach it to a session, which releases it, or give it
 * to epp_plugin_profiler_release; a bare Release leaves the plugin counting it as alive. */
EPP_EXPORT epp_status *epp_plugin_profiler_create(epp_plugin *plugin, OrtEpProfilerImpl **profiler) EPP_MUST_CHECK;

/* Releases a profiler of epp_plugin_profiler_create that no session took.  NULL does nothing.
 * Thread: one at a time for one plugin. */
EPP_EXPORT void epp_plugin_profiler_release(OrtEpProfilerImpl *profiler);

/* What the plugin calls itself (the EP's name), by which ABI it was opened ("ort", "tf"), and where it was found.
 * Ownership: valid until unload. */
EPP_EXPORT const char *epp_plugin_name(const epp_plugin *plugin);
EPP_EXPORT const char *epp_plugin_kind(const epp_plugin *plugin);
EPP_EXPORT const char *epp_plugin_path(const epp_plugin *plugin);

/* A symbol of the plugin's library, or NULL.
 * Thread: [any-thread]. */
EPP_EXPORT void *epp_plugin_symbol(const epp_plugin *plugin, const char *name);

/* Unloads a plugin.  NULL does nothing.
 * Errors: EPP_BUSY while profilers of it live (attached ones live until their session has released them).
 * Thread: one at a time for one plugin. */
EPP_EXPORT epp_status *epp_plugin_unload(epp_plugin *plugin) EPP_MUST_CHECK;

/* Where the messages go that plugins log at severity warning and above: `log` is called with the plugin's name in front
 * of each.  NULL: nowhere, as at first.  For the whole process; a call to what was set before may still be running when
 * this returns.
 * Thread: [any-thread]. */
EPP_EXPORT void epp_plugin_log_set(epp_log_fn log, void *user);

/* For processes that are no framework's, as epprof's own commands: brings the functions by which plugins made for
 * TensorFlow report errors (TF_SetStatus, ...), from `path` or, if that is NULL, from libepprof_tf_shim.so beside this
 * library.  Does nothing where TensorFlow itself is loaded.  Never call it in a process that may load TensorFlow later;
 * there a plugin that needs these functions and does not bring them is refused by epp_plugin_load, with their names.
 * Errors: EPP_NOT_FOUND.  Thread: one at a time, before plugins are loaded. */
EPP_EXPORT epp_status *epp_tf_shim_load(const char *path) EPP_MUST_CHECK;

/* The tables that plugins are given: OrtApiBase -> OrtApi -> OrtEpApi with ONNX Runtime's slots, for hosts that load an
 * execution provider by themselves.
 * Thread: [any-thread].  Ownership: static. */
EPP_EXPORT const OrtApiBase *epp_ort_api_base(void);

#ifdef __cplusplus
}
#endif
#endif

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

/* A hardware device as execution providers are offered it. */
typedef struct epp_plugin_device {
	size_t struct_size; /* sizeof(epp_plugin_device) of the caller */
	uint32_t type;      /* OrtHardwareDeviceType: 0 CPU, 1 GPU, 2 NPU */
	uint32_t vendor_id; /* of PCI, 0x8086; 0: none */
	uint32_t device_id;
	uint32_t reserved;
} epp_plugin_device;

/* Offers execution providers this device instead of the processor, for the whole process.  Nothing needs to be behind it: a
 * provider that opens its device fails at that.
 * Errors: EPP_INVALID_ARGUMENT.
 * Thread: one at a time, before plugins are loaded.  Ownership: copied. */
EPP_EXPORT epp_status *epp_plugin_offer_device(const epp_plugin_device *device) EPP_MUST_CHECK;

/* Opens a plugin, as its framework would: for an execution provider library dlopen(RTLD_NOW | RTLD_LOCAL), then
 * CreateEpFactories, GetSupportedDevices, CreateEp.  All of a plugin's functions but StartEvent and StopEvent are called on a
 * thread of its own, and waited for no longer than EPPROF_PLUGIN_TIMEOUT_MS (of the environment, or else 2 s); a library whose
 * constructor hangs in dlopen holds its caller.
 * Errors: EPP_NOT_FOUND, EPP_INCOMPATIBLE, EPP_PLUGIN, EPP_UNAVAILABLE (a ninth PU1 library), EPP_TIMEOUT (it hangs, and
 * stays loaded); the message names the library and the step.  Nothing half-loaded stays.  `*plugin` is NULL on failure.
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

/* Told of a library that somebody named, which nobody has opened yet; `place` is the variable, or the directory.
 * Ownership: both are borrowed for the call. */
typedef void (*epp_plugin_named_fn)(void *user, const char *place, const char *path);

/* Tells the libraries that bridges carry into their frameworks, each file once: those that EPPROF_PROFILERS names, then those
 * that KINETO_PLUGIN_PATH names, in whose form both are; if the first names none and the second is not set, those in the
 * proposal's standard directories.
 * Thread: [any-thread], while nobody changes the environment. */
EPP_EXPORT void epp_plugin_find_carried(epp_plugin_named_fn found, void *user);

/* Makes a profiler.  NULL in `*profiler` with success does not happen: a plugin without a profiler is EPP_PLUGIN.
 * Any number of sessions may profile one plugin at once, but those of a PU1 plugin are 64: StartProfiling of one more is
 * an error, which its session counts and tells.  Of PU1 libraries a process uses 8, until it ends.
 * Thread: one at a time for one plugin.  Ownership: attach it to a session, which releases it, or give it
 * to epp_plugin_profiler_release; a bare Release leaves the plugin counting it as alive.
 * Errors: EPP_PLUGIN, EPP_OUT_OF_MEMORY, EPP_TIMEOUT. */
EPP_EXPORT epp_status *epp_plugin_profiler_create(epp_plugin *plugin, OrtEpProfilerImpl **profiler) EPP_MUST_CHECK;

/* What a profile is asked to hold, in the words of TensorFlow's ProfileOptions. */
typedef enum epp_device_type {
	EPP_DEVICE_UNSPECIFIED = 0,
	EPP_DEVICE_CPU = 1,
	EPP_DEVICE_GPU = 2,
	EPP_DEVICE_TPU = 3,
	EPP_DEVICE_PLUGGABLE = 4
} epp_device_type;

typedef struct epp_profile_options {
	size_t struct_size;           /* sizeof(epp_profile_options) of the caller */
	uint32_t device_tracer_level; /* 0: no devices */
	uint32_t device_type;         /* epp_device_type */
} epp_profile_options;

/* Whether the options select the plugin, that is, whether its framework would profile it: TensorFlow leaves out pluggable
 * devices at level 0 and for another type.  Plugins of other kinds are always selected, as is everything by NULL.
 * Thread: [any-thread]. */
EPP_EXPORT uint32_t epp_plugin_selected(const epp_plugin *plugin, const epp_profile_options *options);

/* Releases a profiler of epp_plugin_profiler_create, or of epp_plugin_thread_own, that no session will release: its Release
 * is called on the plugin's thread, before anything that is called there later, and not waited for.  NULL does nothing.
 * Thread: [any-thread]. */
EPP_EXPORT void epp_plugin_profiler_release(OrtEpProfilerImpl *profiler);

/* ---- libraries that the caller opens by itself ---- */

/* A thread for the calls of one library, so that one that does not return holds up nobody else. */
typedef struct epp_plugin_thread epp_plugin_thread;

/* Errors: EPP_OUT_OF_MEMORY.
 * Thread: [any-thread].  Ownership: the caller releases it; calls that hang, and profilers, hold it too. */
EPP_EXPORT epp_status *epp_plugin_thread_create(epp_plugin_thread **thread) EPP_MUST_CHECK;

/* Ends it when nothing uses it any more.  NULL does nothing.
 * Thread: [any-thread]. */
EPP_EXPORT void epp_plugin_thread_release(epp_plugin_thread *thread);

/* Calls `run` there and waits for it, EPPROF_PLUGIN_TIMEOUT_MS at most.
 * Errors: EPP_TIMEOUT: it has not returned, or an earlier call has not; EPP_UNAVAILABLE, EPP_OUT_OF_MEMORY.
 * Thread: [any-thread].  Ownership: with an error the argument belongs to the thread: `discard` (NULL: nothing) is called
 * with it, at once if `run` did not begin, else when `run` returns. */
EPP_EXPORT epp_status *epp_plugin_thread_call(epp_plugin_thread *thread, const char *step, void (*run)(void *argument),
                                              void (*discard)(void *argument), void *argument) EPP_MUST_CHECK;

/* EPPROF_PLUGIN_TIMEOUT_MS, or else 2 s.
 * Units: nanoseconds.  Thread: [any-thread]. */
EPP_EXPORT uint64_t epp_plugin_timeout_ns(void);

/* Has a profiler of the library called there: by epp_members_start, epp_members_end and epp_plugin_profiler_release, which is
 * the only way to release it.
 * Errors: EPP_PLUGIN if it has a thread already, or without memory.
 * Thread: [any-thread]. */
EPP_EXPORT epp_status *epp_plugin_thread_own(epp_plugin_thread *thread, OrtEpProfilerImpl *profiler) EPP_MUST_CHECK;

/* What the plugin calls itself (the EP's name), by which ABI it was opened ("ort", "tf"), and where it was found.
 * Thread: [any-thread], not beside unload.  Ownership: valid until unload. */
EPP_EXPORT const char *epp_plugin_name(const epp_plugin *plugin);
EPP_EXPORT const char *epp_plugin_kind(const epp_plugin *plugin);
EPP_EXPORT const char *epp_plugin_path(const epp_plugin *plugin);

/* A symbol of the plugin's library, or NULL.
 * Thread: [any-thread]. */
EPP_EXPORT void *epp_plugin_symbol(const epp_plugin *plugin, const char *name);

/* Unloads a plugin.  NULL does nothing.
 * Errors: EPP_BUSY while profilers of it live (attached ones live until their session has released them); EPP_TIMEOUT: it hangs.
 * Thread: one at a time for one plugin. */
EPP_EXPORT epp_status *epp_plugin_unload(epp_plugin *plugin) EPP_MUST_CHECK;

/* A library that may be a plugin; nothing was opened yet.  Ownership: the path is borrowed for the call. */
typedef void (*epp_plugin_path_fn)(void *user, const char *path);

/* Tells the libraries at `path`: a file itself, or those in a directory (*.so, *.so.1), sorted by name.
 * Errors: EPP_NOT_FOUND, EPP_IO; a directory without libraries is none.
 * Thread: [any-thread]. */
EPP_EXPORT epp_status *epp_plugin_find(const char *path, epp_plugin_path_fn found, void *user) EPP_MUST_CHECK;

/* Tells the libraries that TensorFlow would load by itself: what TF_PLUGGABLE_DEVICE_LIBRARY_PATH names (a file or a
 * directory), then tensorflow-plugins in the site-packages of VIRTUAL_ENV, of the user and of the system, each once.
 * Places that are not there are passed over.
 * Errors: EPP_NOT_FOUND, EPP_IO for what the variable names; EPP_OUT_OF_MEMORY.
 * Thread: [any-thread], while nobody changes the environment. */
EPP_EXPORT epp_status *epp_tf_plugin_find(epp_plugin_path_fn found, void *user) EPP_MUST_CHECK;

/* What is found out about a library as a plugin of one kind. */
typedef enum epp_fact_type {
	EPP_FACT_KIND = 0,    /* it is of this kind; what follows is about it */
	EPP_FACT_SYMBOL = 1,  /* it exports `name`, or not */
	EPP_FACT_NAME = 2,    /* it calls itself `text` */
	EPP_FACT_VERSION = 3, /* `name` has version `text` */
	EPP_FACT_SIZE = 4,    /* its struct `name` has `bytes`, of `known_bytes` that are known here */
	EPP_FACT_ENTRY = 5,   /* its table has an entry `name`, or not */
	EPP_FACT_PROBLEM = 6  /* it cannot be used as this kind: `text` */
} epp_fact_type;

typedef struct epp_plugin_fact {
	uint32_t type;        /* epp_fact_type */
	uint32_t is_present;  /* symbols and entries */
	uint32_t is_required; /* likewise */
	uint32_t reserved;
	const char *kind;
	const char *name;
	const char *text;
	uint64_t bytes;
	uint64_t known_bytes;
} epp_plugin_fact;

/* Ownership: the fact is borrowed for the call. */
typedef void (*epp_plugin_fact_fn)(void *user, const epp_plugin_fact *fact);

/* Tells what a library is: for each kind of plugin that it is, in the order of their preference, facts.  It is opened as
 * epp_plugin_load would, as each kind, and closed again; it is not profiled.
 * Errors: as epp_plugin_load; EPP_INCOMPATIBLE if it is of no kind; EPP_TIMEOUT if an entry, which is named, does not return
 * within EPPROF_PLUGIN_TIMEOUT_MS.  That it cannot be used as one kind is a fact.
 * Thread: [any-thread]; facts are told on another one, before this returns. */
EPP_EXPORT epp_status *epp_plugin_probe(const char *path, epp_plugin_fact_fn tell, void *user) EPP_MUST_CHECK;

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

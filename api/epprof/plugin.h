/* epprof: loads profiler plugins.
 *
 * A plugin is a shared library that a framework would load for its device.  The symbols that a plugin exports determine
 * its kind.  A plugin of any kind provides OrtEpProfilerImpl objects for epp_session_attach. */
#ifndef EPPROF_PLUGIN_H
#define EPPROF_PLUGIN_H

#include "epprof/abi/ort_ep_profiler.h"
#include "epprof/session.h"
#include "epprof/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct epp_plugin epp_plugin;

/* A hardware device, as it is passed to execution providers. */
typedef struct epp_plugin_device {
	size_t struct_size; /* sizeof(epp_plugin_device) of the caller */
	uint32_t type;      /* OrtHardwareDeviceType: 0 CPU, 1 GPU, 2 NPU */
	uint32_t vendor_id; /* the PCI id of the vendor, for example 0x8086; 0: none */
	uint32_t device_id;
	uint32_t reserved;
} epp_plugin_device;

/* Sets the device that execution providers of this process get; without a call they get the processor.  The device need
 * not exist: a provider that opens it then gets an error.
 * Errors: EPP_INVALID_ARGUMENT.
 * Thread: one at a time, before plugins are loaded.  Ownership: copied. */
EPP_EXPORT epp_status *epp_plugin_offer_device(const epp_plugin_device *device) EPP_MUST_CHECK;

/* Opens a plugin by the same calls as its framework: an execution provider library by dlopen(RTLD_NOW | RTLD_LOCAL),
 * CreateEpFactories, GetSupportedDevices and CreateEp.  All functions of a plugin except StartEvent and StopEvent are
 * called on the plugin's own thread, and the caller waits at most EPPROF_PLUGIN_TIMEOUT_MS (of the environment, or else
 * 2 s).  A constructor of the library that hangs is found by a trial (epp_plugin_trial_await); where there is no trial,
 * this function does not return from dlopen.
 *
 * `path` contains a '/': a bare name such as "libfoo.so" is refused, because it would depend on the working directory.
 * The file is opened by its real path.
 * Errors: EPP_INVALID_ARGUMENT (a NULL, a bare name), EPP_NOT_FOUND, EPP_INCOMPATIBLE, EPP_PLUGIN, EPP_LIMIT (a ninth
 * PU1 library), EPP_TIMEOUT (a call into the library hangs; the library stays loaded); the message names the library
 * and the step.  After any other error the library is unloaded.
 * `*plugin` is NULL on failure.
 * Thread: [any-thread].  Ownership: the caller unloads it. */
EPP_EXPORT epp_status *epp_plugin_load(const char *path, epp_plugin **plugin) EPP_MUST_CHECK;

/* Load a library in another process, to find out whether its load hangs, before this process opens it.  A constructor
 * that does not return holds the loader's lock: the process could not load or close a library any more, nor could its
 * threads exit.  _begin starts the trial and returns at once, so that those of several libraries run side by side (16
 * at most); _await starts it if it was not started, and waits for its end.  A library that has not been loaded after
 * EPPROF_PLUGIN_TIMEOUT_MS is ended, or after four times as long if it computes or reads from a disk.  All other
 * results, such as a crash or a missing symbol, do not count.
 *
 * A file has one trial in a process.  There is none if EPPROF_PLUGIN_TRIAL is 0, if the library is loaded already, or
 * if the name of the file has a blank or a colon.  epp_plugin_load and epp_plugin_probe call _await; who opens a plugin
 * with dlopen calls it before.
 * The other process is `true` with LD_PRELOAD, without the variables EPPROF_*, and a child of this process, which may
 * ignore SIGCHLD or wait for any child.
 * Errors: EPP_TIMEOUT: the load hangs ("dlopen: it has not returned after 2000 ms").
 * Thread: [any-thread], while no thread changes the environment; the process ends with the thread that started it. */
EPP_EXPORT void epp_plugin_trial_begin(const char *path);
EPP_EXPORT epp_status *epp_plugin_trial_await(const char *path) EPP_MUST_CHECK;

/* Checks that only this user and root can change the file at `path`, or replace it in its folder: file and folder
 * belong to one of them.  Others cannot write to them, except to a folder with the sticky bit.  A group cannot write to
 * them, except a group whose number is the owner's.  If the file does not exist, only its folder is checked.  Devices
 * and pipes are not checked.
 * If the check fails, epprof itself only warns (the command on standard error, the bridges in their framework's log)
 * and continues.
 * Errors: EPP_INVALID_ARGUMENT; the message names the path and who can write to it; EPP_OUT_OF_MEMORY.
 * Thread: [any-thread]. */
EPP_EXPORT epp_status *epp_path_check(const char *path) EPP_MUST_CHECK;

/* Called for each library that was examined.  Gets either the plugin, which the called function then owns, or
 * `failure`, the reason why the library cannot be used as a plugin. Ownership: path and failure are valid only during
 * the call. */
typedef void (*epp_plugin_found_fn)(void *user, const char *path, epp_plugin *plugin, const epp_status *failure);

/* Loads plugins, of any kind, from the places that PyTorch's tracing proposal defines: the files in KINETO_PLUGIN_PATH
 * (colon-separated; of a directory its *.so, in sorted order; a name without a '/' is reported as refused) or, if that
 * variable is not set, in /usr/lib/kineto/plugins, /usr/local/lib/kineto/plugins and ~/.local/lib/kineto/plugins.
 * Returns the number of plugins loaded.
 * Thread: [any-thread]. */
EPP_EXPORT size_t epp_plugin_load_kineto_path(epp_plugin_found_fn found, void *user);

/* Called for a library that was configured and is not opened yet.  `place` is the environment variable or the directory
 * in which the library was found.
 * Ownership: both are borrowed for the call. */
typedef void (*epp_plugin_named_fn)(void *user, const char *place, const char *path);

/* Lists the libraries that bridges load into their frameworks, each file once: those in EPPROF_PROFILERS, then those in
 * KINETO_PLUGIN_PATH.  Both variables have the syntax of KINETO_PLUGIN_PATH.  If EPPROF_PROFILERS contains no library
 * and KINETO_PLUGIN_PATH is not set, lists those in the proposal's standard directories.
 * Thread: [any-thread], while no thread changes the environment. */
EPP_EXPORT void epp_plugin_find_hosted(epp_plugin_named_fn found, void *user);

/* Creates a profiler.  On success `*profiler` is never NULL: if the plugin has no profiler, the call fails with
 * EPP_PLUGIN.
 * Any number of sessions may profile one plugin at once, but at most 64 may profile one PU1 plugin: in a further
 * session StartProfiling returns an error, which the session counts and reports.  A process can use at most 8 different
 * PU1 libraries until it ends.
 * Thread: one at a time for one plugin.  Ownership: attach it to a session, which destroys it, or pass it to
 * epp_plugin_profiler_destroy; if the caller calls Release itself, the plugin still counts the profiler as live.
 * Errors: EPP_PLUGIN, EPP_OUT_OF_MEMORY, EPP_TIMEOUT. */
EPP_EXPORT epp_status *epp_plugin_profiler_create(epp_plugin *plugin, OrtEpProfilerImpl **profiler) EPP_MUST_CHECK;

/* The type of the devices that a profile should contain, with the values of TensorFlow's ProfileOptions. */
typedef enum epp_device_type {
	EPP_DEVICE_UNSPECIFIED = 0,
	EPP_DEVICE_CPU = 1,
	EPP_DEVICE_GPU = 2,
	EPP_DEVICE_TPU = 3,
	EPP_DEVICE_PLUGGABLE = 4
} epp_device_type;

typedef struct epp_profile_options {
	size_t struct_size;           /* sizeof(epp_profile_options) of the caller */
	uint32_t device_tracer_level; /* 0: devices are not traced */
	uint32_t device_type;         /* epp_device_type */
} epp_profile_options;

/* Returns 1 if the options select the plugin, that is, if its framework would profile the plugin with these options.
 * TensorFlow does not profile pluggable devices if the level is 0 or the options have another type.  Plugins of other
 * kinds are always selected.  If `options` is NULL, or has members that this version does not have, every plugin is
 * selected.
 * Thread: [any-thread]. */
EPP_EXPORT uint32_t epp_plugin_is_selected(const epp_plugin *plugin, const epp_profile_options *options);

/* Destroys a profiler of epp_plugin_profiler_create, or of epp_plugin_thread_assign, that no session will destroy.
 * Release is called on the plugin's thread, before any later call on that thread.  This function does not wait for
 * Release.  NULL does nothing.
 * Thread: [any-thread]. */
EPP_EXPORT void epp_plugin_profiler_destroy(OrtEpProfilerImpl *profiler);

/* ---- libraries that the caller opens ---- */

/* A thread for the calls into one library.  If a call hangs, calls into other libraries are not blocked. */
typedef struct epp_plugin_thread epp_plugin_thread;

/* Creates a thread.
 * Errors: EPP_OUT_OF_MEMORY.
 * Thread: [any-thread].  Ownership: the caller destroys it.  It exists as long as hanging calls and profilers refer to
 * it. */
EPP_EXPORT epp_status *epp_plugin_thread_create(epp_plugin_thread **thread) EPP_MUST_CHECK;

/* Releases the caller's reference; the thread ends when the last reference is released.  NULL does nothing.
 * Thread: [any-thread]. */
EPP_EXPORT void epp_plugin_thread_destroy(epp_plugin_thread *thread);

/* Calls `function` on the thread and waits at most EPPROF_PLUGIN_TIMEOUT_MS until it returns.
 * Errors: EPP_TIMEOUT: `function` or an earlier call has not returned in time; EPP_UNAVAILABLE, EPP_OUT_OF_MEMORY.
 * Thread: [any-thread].  Ownership: after an error the thread owns the argument and calls `discard` (if not NULL) with
 * it: at once if `function` was not called, else when `function` returns. */
EPP_EXPORT epp_status *epp_plugin_thread_call(epp_plugin_thread *thread, const char *step,
                                              void (*function)(void *argument), void (*discard)(void *argument),
                                              void *argument) EPP_MUST_CHECK;

/* Limits the time for which this thread waits for each plugin, until epp_plugin_budget_end: all calls into one plugin
 * together take at most the time limit, instead of each.  A host calls it when a profile starts, before it loads the
 * plugins.  It returns the number of the budget, with which a later call continues it; for a new one `budget` is 0.  A
 * budget ends when a plugin is called with another one.
 * Thread: [any-thread]; one budget at a time for each thread. */
EPP_EXPORT uint64_t epp_plugin_budget_begin(uint64_t budget);
EPP_EXPORT void epp_plugin_budget_end(void);

/* Returns the time limit for calls into plugins: EPPROF_PLUGIN_TIMEOUT_MS of the environment, or else 2 s.
 * Units: nanoseconds.  Thread: [any-thread]. */
EPP_EXPORT uint64_t epp_plugin_timeout_ns(void);

/* Assigns a profiler of the library to the thread: epp_hosted_profilers_start, epp_hosted_profilers_end and
 * epp_plugin_profiler_destroy call the profiler on this thread.  The profiler must be destroyed by
 * epp_plugin_profiler_destroy.
 * Errors: EPP_PLUGIN if the profiler already has a thread, or if there is no memory.
 * Thread: [any-thread]. */
EPP_EXPORT epp_status *epp_plugin_thread_assign(epp_plugin_thread *thread, OrtEpProfilerImpl *profiler) EPP_MUST_CHECK;

/* Return the plugin's own name (for an EP the EP's name), the ABI by which the plugin was opened ("ort", "tf"), and the
 * path of its library.
 * Thread: [any-thread], not during unload.  Ownership: valid until unload. */
EPP_EXPORT const char *epp_plugin_name(const epp_plugin *plugin);
EPP_EXPORT const char *epp_plugin_kind(const epp_plugin *plugin);
EPP_EXPORT const char *epp_plugin_path(const epp_plugin *plugin);

/* Returns the address of a symbol of the plugin's library, or NULL.
 * Thread: [any-thread]. */
EPP_EXPORT void *epp_plugin_symbol(const epp_plugin *plugin, const char *name);

/* Unloads a plugin.  NULL does nothing.
 * Errors: EPP_BUSY while the plugin has live profilers (an attached profiler is live until its session has released
 * it); EPP_TIMEOUT: a call into the plugin hangs.
 * Thread: one at a time for one plugin. */
EPP_EXPORT epp_status *epp_plugin_unload(epp_plugin *plugin) EPP_MUST_CHECK;

/* Called for a library that may be a plugin and is not opened yet.  Ownership: the path is borrowed for the call. */
typedef void (*epp_plugin_path_fn)(void *user, const char *path);

/* Lists the libraries at `path`: the file, or the libraries in a directory (*.so, *.so.1), sorted by name.
 * Errors: EPP_NOT_FOUND, EPP_IO; a directory without libraries is not an error.
 * Thread: [any-thread]. */
EPP_EXPORT epp_status *epp_plugin_find(const char *path, epp_plugin_path_fn found, void *user) EPP_MUST_CHECK;

/* Lists the libraries that TensorFlow would load: those at TF_PLUGGABLE_DEVICE_LIBRARY_PATH (a file or a directory),
 * then those in tensorflow-plugins in the site-packages of VIRTUAL_ENV, of the user and of the system, each once.
 * Places that do not exist are skipped.
 * Errors: EPP_NOT_FOUND, EPP_IO for the path in the variable; EPP_OUT_OF_MEMORY.
 * Thread: [any-thread], while no thread changes the environment. */
EPP_EXPORT epp_status *epp_plugin_find_tf(epp_plugin_path_fn found, void *user) EPP_MUST_CHECK;

/* The types of facts about a library as a plugin of one kind. */
typedef enum epp_fact_type {
	EPP_FACT_KIND = 0,    /* the library is a plugin of the kind `kind`; the facts that follow are about this
	                         kind */
	EPP_FACT_SYMBOL = 1,  /* the library exports the symbol `name`, if is_present */
	EPP_FACT_NAME = 2,    /* the plugin's own name is `text` */
	EPP_FACT_VERSION = 3, /* `name` has version `text` */
	EPP_FACT_SIZE = 4,    /* the plugin's struct `name` has `bytes` bytes; the declaration of this build has
	                         `known_bytes` */
	EPP_FACT_ENTRY = 5,   /* the plugin's table has an entry `name`, if is_present */
	EPP_FACT_PROBLEM = 6  /* the library cannot be used as this kind, for the reason `text` */
} epp_fact_type;

typedef struct epp_plugin_fact {
	uint32_t type;        /* epp_fact_type */
	uint32_t is_present;  /* for symbols and entries: 1 if the library has it */
	uint32_t is_required; /* for symbols and entries: 1 if the ABI requires it */
	uint32_t reserved;
	const char *kind;
	const char *name;
	const char *text;
	uint64_t bytes;
	uint64_t known_bytes;
} epp_plugin_fact;

/* Ownership: the fact is borrowed for the call. */
typedef void (*epp_plugin_fact_fn)(void *user, const epp_plugin_fact *fact);

/* Reports the kinds of plugin that a library is, with facts about each kind, the preferred kind first.  The library is
 * opened as each kind, as epp_plugin_load would, and closed again; it is not profiled.
 * Errors: as epp_plugin_load; EPP_INCOMPATIBLE if it is of no kind; EPP_TIMEOUT if the load (dlopen) or an entry point,
 * named in the message, does not return within EPPROF_PLUGIN_TIMEOUT_MS.  Without a trial (epp_plugin_trial_await), a
 * load that does not return keeps the loader's lock: the process cannot load libraries any more, and must end with
 * _exit.  If the library cannot be used as
 * one kind, the function reports a fact (EPP_FACT_PROBLEM) and does not fail.
 * Thread: [any-thread]; `tell` is called on another thread, before this function returns. */
EPP_EXPORT epp_status *epp_plugin_probe(const char *path, epp_plugin_fact_fn tell, void *user) EPP_MUST_CHECK;

/* Sets the function that receives the messages that plugins of this process log with severity warning and above.  Each
 * message begins with the plugin's name.  NULL, the initial value: messages are dropped.  When this call returns, a
 * call of the previous function may still be running.
 * Thread: [any-thread]. */
EPP_EXPORT void epp_plugin_set_log(epp_log_fn log, void *user);

/* Loads the functions by which plugins for TensorFlow report errors (TF_SetStatus, ...), from `path` or, if `path` is
 * NULL, from libepprof_tf_shim.so in the folder of this library.  For processes that have no framework, such as
 * epprof's own commands.  Does nothing if TensorFlow is loaded.  Never call it in a process that may load TensorFlow
 * later; in such a process epp_plugin_load refuses a plugin that needs these functions and does not contain them.  Its
 * message names the functions.
 * Errors: EPP_NOT_FOUND.  Thread: one at a time, before plugins are loaded. */
EPP_EXPORT epp_status *epp_tf_shim_load(const char *path) EPP_MUST_CHECK;

/* Returns the function tables for plugins: OrtApiBase -> OrtApi -> OrtEpApi with ONNX Runtime's slots, for hosts that
 * load an execution provider themselves.
 * Thread: [any-thread].  Ownership: static. */
EPP_EXPORT const OrtApiBase *epp_ort_api_base(void);

#ifdef __cplusplus
}
#endif
#endif

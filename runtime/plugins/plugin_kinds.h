/* Plugin kinds: the ABIs by which frameworks load profilers, distinguished by the symbols that a library exports.
 *
 * One table has all kinds, so the loader and `epprof probe` need no code for a particular ABI.  Each kind has an
 * adapter, which makes OrtEpProfilerImpl objects from the library.  It is a file in a subfolder that defines `const
 * struct plugin_adapter plugin_adapter_<kind>`, to which the kind's row of the table refers. */
#ifndef EPPROF_RUNTIME_PLUGINS_PLUGIN_KINDS_H
#define EPPROF_RUNTIME_PLUGINS_PLUGIN_KINDS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/status.h"
#include "base/worker.h"
#include "epprof/plugin.h"

#define PLUGIN_KIND_SYMBOLS_MAX 2

struct plugin_probe;

/* All functions are called on the worker of the plugin's library, for a library that exports all symbols of its kind.
 * Messages begin with the step ("CreateEp: ..."); the loader puts the library's name before the message. */
struct plugin_adapter {
	/* Opens the library for use and sets `name` and `state`.  After a failure, it has released everything that it
	 * created. */
	epp_status *(*open_plugin)(epp_plugin *plugin);
	/* The name in messages for the step that makes a profiler. */
	const char *profiler_step;
	/* Makes a profiler. plugin.c then checks its version and required entries.  The profiler delivers its events
	 * with EpprofApi_PushEvents_SinceV1, from StartProfiling until EndProfiling returns. */
	epp_status *(*profiler_create)(epp_plugin *plugin, OrtEpProfilerImpl **profiler);
	/* Undoes open_plugin.  All profilers are released before the call; the library is still loaded. */
	void (*close_plugin)(epp_plugin *plugin);
	/* Returns true if the options select plugins of this kind.  NULL: they are always selected. */
	bool (*selected)(const epp_profile_options *options);
	/* Reports the properties of an open plugin to `epprof probe` (plugin_probe.h).  May be NULL. */
	void (*describe)(epp_plugin *plugin, const struct plugin_probe *probe);
};

struct plugin_kind {
	const char *name;
	/* If a library exports any of these symbols, it is of this kind, and must export all of them. */
	const char *symbols[PLUGIN_KIND_SYMBOLS_MAX];
	const struct plugin_adapter *adapter; /* NULL: the kind is known but not supported */
};

struct epp_plugin {
	const struct plugin_kind *kind;
	void *library;
	char *path;            /* absolute */
	const char *file;      /* the last part of path */
	char *name;            /* the name that the plugin gives itself; malloc, set by the adapter's open_plugin */
	void *state;           /* owned by the adapter */
	struct worker *worker; /* runs the calls of the adapter and the profilers; NULL: they run on the caller's
                                * thread */
	atomic_int live;       /* number of profilers that are not released yet */
};

/* Waits for the library's trial (epp_plugin_trial_await).  Errors: EPP_TIMEOUT; the message begins with the file's
 * name. */
epp_status *plugin_library_try(const char *path);
/* Finds and opens the library.  After a failure, everything is released.  Errors: as epp_plugin_load. */
epp_status *plugin_library_open(const char *path, epp_plugin **plugin);
void plugin_destroy(epp_plugin *plugin);

/* Adapters call this in open_plugin, describe and close_plugin before each call into the plugin, so that a probe can
 * name the call that hangs. */
void plugin_entry(const char *entry);

/* In the order of preference for a library of several kinds.  The last row has no name. */
extern const struct plugin_kind plugin_kinds[];

/* Returns true if an opened library is of a kind. */
bool plugin_kind_found(const struct plugin_kind *kind, void *library);

/* Checks that the library exports all symbols of the kind, and that the kind has an adapter.  Errors:
 * EPP_INCOMPATIBLE. */
epp_status *plugin_kind_check(const struct plugin_kind *kind, void *library);

/* Returns the error for a library that is of no kind.  The message names the symbols of the known kinds. */
epp_status *plugin_kind_none(void);

extern const struct plugin_adapter plugin_adapter_ort;
extern const struct plugin_adapter plugin_adapter_pjrt;
extern const struct plugin_adapter plugin_adapter_tf;
extern const struct plugin_adapter plugin_adapter_pu1;

#endif

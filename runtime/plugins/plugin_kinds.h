/* Plugin kinds: the ABIs by which frameworks load profilers, distinguished by the symbols that a library exports.
 *
 * One table has all kinds; the loader, `epprof probe` and their messages do not depend on any ABI.  A kind is
 * implemented by its adapter, which makes OrtEpProfilerImpl objects from the library: a file in a subfolder that
 * defines `const struct plugin_adapter plugin_adapter_<kind>`, which the kind's row refers to. */
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
 * Messages begin with the step ("CreateEp: ..."); the loader puts the library's name before it. */
struct plugin_adapter {
	/* Opens the library for use and sets `name` and `state`. After a failure it leaves nothing behind. */
	epp_status *(*open)(epp_plugin *plugin);
	/* The name in messages of the step that makes a profiler. */
	const char *profiler_step;
	/* Makes a profiler, which plugin.c admits if its version and required entries are valid.  The profiler delivers
	 * its events with EpprofApi_PushEvents_SinceV1, from StartProfiling until EndProfiling returns. */
	epp_status *(*profiler_create)(epp_plugin *plugin, OrtEpProfilerImpl **profiler);
	/* Undoes open, while the library is still loaded and all profilers are released. */
	void (*close)(epp_plugin *plugin);
	/* Returns whether options select such a plugin.  NULL: always. */
	bool (*selected)(const epp_profile_options *options);
	/* Reports the properties of an open plugin to `epprof probe` (plugin_probe.h).  May be NULL. */
	void (*describe)(epp_plugin *plugin, const struct plugin_probe *probe);
};

struct plugin_kind {
	const char *name;
	/* A library that exports one of these symbols is of this kind; it must export all of them. */
	const char *symbols[PLUGIN_KIND_SYMBOLS_MAX];
	const struct plugin_adapter *adapter; /* NULL: the kind is known but not supported */
};

struct epp_plugin {
	const struct plugin_kind *kind;
	void *library;
	char *path;            /* absolute */
	const char *file;      /* the last part of path */
	char *name;            /* the plugin's name for itself; malloc, set by the adapter's open */
	void *state;           /* owned by the adapter */
	struct worker *worker; /* runs the adapter and the profilers; NULL: the caller's thread does */
	atomic_int live;       /* number of profilers that are not released */
};

/* Finds and opens the library; after a failure, everything is released.  Errors: as epp_plugin_load. */
epp_status *plugin_library_open(const char *path, epp_plugin **plugin);
void plugin_destroy(epp_plugin *plugin);

/* In open, describe and close, adapters call this before each entry of the plugin, so that a probe can name the entry
 * that hangs. */
void plugin_entry(const char *entry);

/* In the order of preference for a library of several kinds.  The last row has no name. */
extern const struct plugin_kind plugin_kinds[];

/* Returns whether an opened library is of a kind. */
bool plugin_kind_found(const struct plugin_kind *kind, void *library);

/* Checks that the library exports all symbols of the kind, and that the kind has an adapter.  Errors:
 * EPP_INCOMPATIBLE. */
epp_status *plugin_kind_check(const struct plugin_kind *kind, void *library);

/* Returns the error for a library of no kind, with the symbols of the known kinds. */
epp_status *plugin_kind_none(void);

extern const struct plugin_adapter plugin_adapter_ort;
extern const struct plugin_adapter plugin_adapter_pjrt;
extern const struct plugin_adapter plugin_adapter_tf;
extern const struct plugin_adapter plugin_adapter_pu1;

#endif

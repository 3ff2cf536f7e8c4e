/* Plugin kinds: the ABIs by which frameworks load profilers, told apart by the symbols that a library exports.
 *
 * One table has them all; the loader, `epprof probe` and their messages know nothing else of any ABI.  A kind's work is
 * done by its adapter, which makes OrtEpProfilerImpl objects of what the library offers: one file in this directory that
 * defines `const struct plugin_adapter plugin_adapter_<kind>`, and its name in the kind's row.
 */
#ifndef EPPROF_RUNTIME_PLUGINS_PLUGIN_KINDS_H
#define EPPROF_RUNTIME_PLUGINS_PLUGIN_KINDS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/status.h"
#include "base/worker.h"
#include "epprof/plugin.h"

#define PLUGIN_KIND_SYMBOLS_MAX 2

struct plugin_probe;

/* Each is called on the worker of the plugin's library, for one that exports all symbols of its kind.  Messages begin
 * with the step ("CreateEp: ..."); the loader puts the library in front. */
struct plugin_adapter {
	/* Takes the library into use and sets `name` and `state`.  On failure it leaves nothing behind. */
	epp_status *(*open)(epp_plugin *plugin);
	/* What making a profiler is called in messages. */
	const char *profiler_step;
	/* Makes a profiler, which plugin.c admits: anything whose version and required entries are in order.  It delivers its
	 * events with EpprofApi_PushEvents_SinceV1, from StartProfiling until EndProfiling returns. */
	epp_status *(*profiler_create)(epp_plugin *plugin, OrtEpProfilerImpl **profiler);
	/* Undoes open, while the library is still loaded and no profiler lives. */
	void (*close)(epp_plugin *plugin);
	/* Whether options select such a plugin.  NULL: always. */
	bool (*selected)(const epp_profile_options *options);
	/* Tells `epprof probe` what is to be known of an open plugin (plugin_probe.h).  May be NULL. */
	void (*describe)(epp_plugin *plugin, const struct plugin_probe *probe);
};

struct plugin_kind {
	const char *name;
	/* A library that exports one of these is of this kind; it needs all of them. */
	const char *symbols[PLUGIN_KIND_SYMBOLS_MAX];
	const struct plugin_adapter *adapter; /* NULL: known, and not served */
};

struct epp_plugin {
	const struct plugin_kind *kind;
	void *library;
	char *path;            /* absolute */
	const char *file;      /* the last part of path */
	char *name;            /* what the plugin calls itself; the adapter's open makes it with malloc */
	void *state;           /* the adapter's */
	struct worker *worker; /* that its adapter and its profilers are called on; NULL: on the caller's thread */
	atomic_int live;       /* profilers that are not released */
};

/* Finds the file and opens it, and what that made is given back.
 * Errors: as epp_plugin_load. */
epp_status *plugin_library_open(const char *path, epp_plugin **plugin);
void plugin_destroy(epp_plugin *plugin);

/* Adapters say so before they call an entry of the plugin in open, describe and close: a probe names the one that hangs. */
void plugin_entry(const char *entry);

/* In the order in which a library of several kinds is tried.  The last row has no name. */
extern const struct plugin_kind plugin_kinds[];

/* Whether an opened library is of a kind. */
bool plugin_kind_found(const struct plugin_kind *kind, void *library);

/* Whether it exports what its kind needs, and the kind has an adapter.
 * Errors: EPP_INCOMPATIBLE. */
epp_status *plugin_kind_check(const struct plugin_kind *kind, void *library);

/* That a library is of no kind, and which symbols would make it one. */
epp_status *plugin_kind_none(void);

extern const struct plugin_adapter plugin_adapter_ort;
extern const struct plugin_adapter plugin_adapter_pjrt;
extern const struct plugin_adapter plugin_adapter_tf;
extern const struct plugin_adapter plugin_adapter_pu1;

#endif

/* A plugin kind: one ABI by which some framework loads profilers.  plugin.c finds a library's kind by its symbols and
 * leaves the rest to it; a new ABI is one file that defines a kind, and one row in plugin.c. */
#ifndef EPPROF_PLUGINS_PLUGIN_KIND_H
#define EPPROF_PLUGINS_PLUGIN_KIND_H

#include <stdatomic.h>

#include "base/status.h"
#include "epprof/plugin.h"

struct plugin_kind {
	const char *name;
	/* A library that exports one of these is of this kind. */
	const char *symbols[2];
	/* Takes the library into use and sets `state` and `name`.  On failure it leaves nothing behind.
	 * Errors: the message begins with the step. */
	epp_status *(*open)(epp_plugin *plugin);
	/* What making a profiler is called in messages. */
	const char *profiler_step;
	/* Makes a profiler; plugin.c admits it. */
	epp_status *(*profiler_create)(epp_plugin *plugin, OrtEpProfilerImpl **profiler);
	/* Undoes open, while the library is still loaded and no profiler lives. */
	void (*close)(epp_plugin *plugin);
};

struct epp_plugin {
	const struct plugin_kind *kind;
	void *library;
	char *path;       /* absolute */
	const char *file; /* the last part of path */
	char *name;       /* what the plugin calls itself; the kind's open makes it with malloc */
	void *state;      /* the kind's */
	atomic_int live;  /* profilers that are not released */
};

extern const struct plugin_kind plugin_kind_ort;

#endif

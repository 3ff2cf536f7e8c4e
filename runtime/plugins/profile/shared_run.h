/* Plugins with one run at a time, which sessions share: those of TensorFlow and PJRT.  The first session that starts
 * begins the run.  When a session ends, the run is stopped and its data collected.  Each active session gets the events
 * that start during this session.  If other sessions remain, the plugin is started again, and their traces record the
 * gap.  If a session has several profilers (epp_hosted_profiler_create), only the oldest one gets events, so that an
 * event is in a trace once.  A plugin is never started twice, and a plugin that no session profiles is never called.
 *
 * Calls are serialized: a session that starts while another session's data is collected waits. */
#ifndef EPPROF_RUNTIME_PLUGINS_PROFILE_SHARED_RUN_H
#define EPPROF_RUNTIME_PLUGINS_PROFILE_SHARED_RUN_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "plugins/plugin_kinds.h"
#include "plugins/profile/profile_delivery.h"

struct shared_run;

/* The data of a run, as collected from the plugin. */
struct shared_data {
	struct profile_data xspace;
	struct profile_data run_metadata; /* RunMetadata of the same work; used only if the XSpace has no events */
};

/* The functions of an ABI.  Each plugin is in at most one call at a time. */
struct shared_run_calls {
	epp_status *(*start)(struct shared_run *run);
	epp_status *(*stop)(struct shared_run *run);
	/* Collects the data.  Called only after a stop that succeeded.  There may be data even if an error is
	 * returned. */
	epp_status *(*collect)(struct shared_run *run, struct shared_data *data);
	/* Releases the data.  Called after each stop, when the data has been read. */
	epp_status *(*discard)(struct shared_run *run, struct shared_data *data);
	/* Called when no plugin object uses the run any more. */
	void (*destroy)(struct shared_run *run);
};

/* One for each library, even if the library is loaded several times.  It is the first member of the adapter's own
 * struct. */
struct shared_run {
	LIST_ENTRY(shared_run) others;
	const struct shared_run_calls *calls;
	void *library;
	const char *name; /* name of the plugin */
	unsigned users_count;
	pthread_mutex_t lock;                /* held during each call into the plugin; also guards the members below */
	LIST_HEAD(, shared_profiler) active; /* profilers that are profiling, the newest first */
	bool is_on;
};

/* Implements an adapter's open: finds the run of the plugin's library, or creates it with `make`, counts one more user,
 * and sets the plugin's name.  `make` sets the run's name and the adapter's members; after a failure it has released
 * everything. */
epp_status *shared_run_open(epp_plugin *plugin, const struct shared_run_calls *calls,
                            epp_status *(*make)(const epp_plugin *plugin, struct shared_run **run));
/* Implement an adapter's close and profiler_create. */
void shared_run_close(epp_plugin *plugin);
epp_status *shared_run_profiler_create(epp_plugin *plugin, OrtEpProfilerImpl **profiler);

#endif

/* Plugins with one run at a time, which sessions share: those of TensorFlow and PJRT.
 * The first session that starts begins the run.  When a session ends, the run is stopped and its data collected, and
 * each active session gets the events that start in its time.  If other sessions remain, the plugin is started again,
 * and their traces record the gap.  If a session has several profilers (epp_hosted_profiler_create), the oldest gets
 * the events for all of them, so that an event is in a trace once.  A plugin is never started twice, and a plugin that
 * no session profiles is never called.
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

/* The data of a run. */
struct shared_data {
	struct profile_data xspace;
	struct profile_data run_metadata; /* RunMetadata of the same work: used only if there is no XSpace */
};

/* The functions of the ABI; one call at a time for each plugin. */
struct shared_run_calls {
	epp_status *(*start)(struct shared_run *run);
	epp_status *(*stop)(struct shared_run *run);
	/* Called only after a stop that succeeded.  There may be data even with an error. */
	epp_status *(*collect)(struct shared_run *run, struct shared_data *data);
	/* Called after each stop, when the data was read. */
	epp_status *(*discard)(struct shared_run *run, struct shared_data *data);
	/* Called when the plugin has no users any more. */
	void (*destroy)(struct shared_run *run);
};

/* One for each library, even if it is loaded several times; the first member of the adapter's own struct. */
struct shared_run {
	LIST_ENTRY(shared_run) others;
	const struct shared_run_calls *calls;
	void *library;
	const char *name; /* the plugin's */
	unsigned users_count;
	pthread_mutex_t lock;                /* one call into the plugin at a time; also guards the members below */
	LIST_HEAD(, shared_profiler) active; /* the newest first */
	bool is_on;
};

/* For an adapter's open: finds the run of the plugin's library, or creates it with `make`, adds a user, and names the
 * plugin.  `make` sets the name and the adapter's members; after a failure it leaves nothing behind. */
epp_status *shared_run_open(epp_plugin *plugin, const struct shared_run_calls *calls,
                            epp_status *(*make)(const epp_plugin *plugin, struct shared_run **run));
/* The adapter's close and profiler_create. */
void shared_run_close(epp_plugin *plugin);
epp_status *shared_run_profiler_create(epp_plugin *plugin, OrtEpProfilerImpl **profiler);

#endif

/* Plugins that have one run at a time, which sessions share: TensorFlow's and PJRT's.
 *
 * The first session to start starts the run.  When one ends, the run is stopped and its data collected; each session that is
 * there gets the events that start in its time; if others remain, the plugin is started again, and the gap stands in their
 * traces.  Of profilers that one session has (epp_session_join), the one that is there longest gets what all of them should,
 * so that an event stands in a trace once.  A plugin is never started twice, and one that no session profiles is never called.
 *
 * Calls go one at a time: a session that starts while another one's data is collected waits for that. */
#ifndef EPPROF_RUNTIME_PLUGINS_PROFILE_SHARED_RUN_H
#define EPPROF_RUNTIME_PLUGINS_PROFILE_SHARED_RUN_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "plugins/plugin_kinds.h"
#include "plugins/profile/profile_delivery.h"

struct shared_run;

/* What a run gave. */
struct shared_data {
	struct profile_data xspace;
	struct profile_data run_metadata; /* of the same work; read where there is no XSpace */
};

/* How the ABI says it; one call at a time for one plugin. */
struct shared_run_calls {
	epp_status *(*start)(struct shared_run *run);
	epp_status *(*stop)(struct shared_run *run);
	/* Only after a stop that worked.  There may be data in spite of an error. */
	epp_status *(*collect)(struct shared_run *run, struct shared_data *data);
	/* After each stop, when the data was read. */
	epp_status *(*discard)(struct shared_run *run, struct shared_data *data);
	/* Nobody uses the plugin any more. */
	void (*destroy)(struct shared_run *run);
};

/* One for each library, however often it is loaded; the first member of what its adapter knows of it. */
struct shared_run {
	LIST_ENTRY(shared_run) others;
	const struct shared_run_calls *calls;
	void *library;
	const char *name; /* the plugin's */
	unsigned users_count;
	pthread_mutex_t lock;                /* one call into the plugin at a time, and all below */
	LIST_HEAD(, shared_profiler) active; /* the newest first */
	bool is_on;
};

/* For an adapter's open: takes the run of the plugin's library, or what `make` makes of it, into use, and names the plugin.
 * `make` sets the name and what is its adapter's; on failure it leaves nothing behind. */
epp_status *shared_run_open(epp_plugin *plugin, const struct shared_run_calls *calls,
                            epp_status *(*make)(const epp_plugin *plugin, struct shared_run **run));
/* An adapter's close, and its profiler_create. */
void shared_run_close(epp_plugin *plugin);
epp_status *shared_run_profiler_create(epp_plugin *plugin, OrtEpProfilerImpl **profiler);

#endif

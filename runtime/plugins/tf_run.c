/* A plugin of this ABI has one run at a time; sessions share it.  The first session to start starts it.  When a session
 * ends, the run is stopped and its data collected; each session that is there gets the events that start in its time; if
 * others remain, the plugin is started again, and the gap stands in their traces.  A plugin is never started twice, and
 * one that no session profiles is never called.
 *
 * Calls go one at a time: a session that starts while another one's data is collected waits for that.
 */
#include <stdlib.h>

#include "base/ort_status.h"
#include "base/profiler_registry.h"
#include "plugins/tf_plugin.h"

/* A plugin's clock may be off by so much before its events count as of another time. */
#define SLACK_NS 1000000000

static OrtStatus *ort_status_of(epp_status *status)
{
	if (!status)
		return NULL;
	OrtStatus *made = ort_status_create(ORT_EP_FAIL, epp_status_message(status));
	epp_status_release(status);
	return made;
}

/* The first of several things that went wrong. */
static void keep(epp_status **first, epp_status *status)
{
	if (*first)
		epp_status_release(status);
	else
		*first = status;
}

static OrtStatus *start_profiling(OrtEpProfilerImpl *impl, int64_t offset_ns)
{
	struct tf_profiler *self = (struct tf_profiler *)impl;
	struct tf_plugin *plugin = self->plugin;
	epp_status *status = NULL;
	(void)offset_ns;
	pthread_mutex_lock(&plugin->lock);
	clock_pair_read(&self->start);
	self->ledger = (EpprofLedger){ 0 };
	if (!plugin->running)
		status = tf_call(plugin, "start", plugin->fns.accepted.start);
	if (!status) {
		plugin->running = true;
		self->active = true;
		LIST_INSERT_HEAD(&plugin->active, self, others);
		tf_deliver_clock(self, &self->start, 0);
	}
	pthread_mutex_unlock(&plugin->lock);
	return ort_status_of(status);
}

/* What all profilers of one collection share. */
struct collection {
	struct tf_data xspace;
	struct tf_data run_metadata;
	int64_t earliest_ns; /* the start of the profiler that is there longest */
	struct epf_host_pair end;
};

/* The plugin's clock is the system's, which may be set: by how much it was, against the one that never is, nobody can
 * tell when, so every reading may be off by that. */
static uint64_t step_ticks(const struct epf_host_pair *from, const struct epf_host_pair *until)
{
	int64_t step_ns = (until->realtime_ns - from->realtime_ns) - (until->monotonic_ns - from->monotonic_ns);
	uint64_t ns = (uint64_t)(step_ns < 0 ? -step_ns : step_ns);
	return (uint64_t)((unsigned __int128)ns * clock_ticks_per_second() / 1000000000u);
}

static epp_status *deliver(struct tf_profiler *to, const struct collection *collection, bool answers)
{
	uint64_t events_count = 0;
	struct tf_window window = { .from_ns = to->start.realtime_ns,
		                    .until_ns = collection->end.realtime_ns + SLACK_NS,
		                    .now_ns = collection->end.realtime_ns,
		                    .answers = answers };
	if (to->start.realtime_ns == collection->earliest_ns)
		window.from_ns -= SLACK_NS;
	tf_deliver_clock(to, &collection->end, step_ticks(&to->start, &collection->end));
	epp_status *status = tf_deliver_xspace(to, &collection->xspace, &window, &events_count);
	/* Both tell of the same work. */
	if (!events_count)
		keep(&status, tf_deliver_run_metadata(to, &collection->run_metadata, &window));
	tf_deliver_ledger(to);
	return status;
}

static void start_again(struct tf_plugin *plugin, const struct epf_host_pair *stopped)
{
	struct tf_profiler *other;
	epp_status *status = tf_call(plugin, "start", plugin->fns.accepted.start);
	struct epf_host_pair now;
	clock_pair_read(&now);
	plugin->running = !status;
	LIST_FOREACH(other, &plugin->active, others) {
		if (status)
			keep(&other->failed, epp_status_create(EPP_PLUGIN, "after another session's end: %s",
			                                       epp_status_message(status)));
		tf_deliver_note(other, "epprof.restart_gap", stopped->realtime_ns, now.realtime_ns, NULL);
		tf_deliver_ledger(other);
	}
	epp_status_release(status);
}

/* The lock is held, and `self` active. */
static epp_status *end_run(struct tf_profiler *self)
{
	struct tf_plugin *plugin = self->plugin;
	struct collection collection = { .earliest_ns = INT64_MAX };
	struct tf_profiler *other;
	epp_status *status = self->failed;
	self->failed = NULL;
	if (plugin->running) {
		plugin->running = false;
		struct epf_host_pair stopped;
		clock_pair_read(&stopped);
		epp_status *stop = tf_call(plugin, "stop", plugin->fns.accepted.stop);
		bool may_collect = !stop;
		keep(&status, stop);
		tf_collect_fn *xspace = plugin->is_first ? plugin->fns.first.collect_data_xspace
		                                         : plugin->fns.accepted.collect_data_xspace;
		if (may_collect && xspace)
			keep(&status, tf_collect(plugin, "collect_data_xspace", xspace, &collection.xspace));
		if (may_collect && plugin->is_first && plugin->fns.first.collect_data_run_metadata)
			keep(&status, tf_collect(plugin, "collect_data_run_metadata",
			                         plugin->fns.first.collect_data_run_metadata, &collection.run_metadata));
		clock_pair_read(&collection.end);
		LIST_FOREACH(other, &plugin->active, others) {
			if (other->start.realtime_ns < collection.earliest_ns)
				collection.earliest_ns = other->start.realtime_ns;
		}
		LIST_FOREACH(other, &plugin->active, others) {
			epp_status *delivered = deliver(other, &collection, other == self);
			keep(other == self ? &status : &other->failed, delivered);
		}
		tf_data_release(&collection.xspace);
		tf_data_release(&collection.run_metadata);
		LIST_REMOVE(self, others);
		if (!LIST_EMPTY(&plugin->active))
			start_again(plugin, &stopped);
	} else {
		LIST_REMOVE(self, others);
	}
	self->active = false;
	return status;
}

static OrtStatus *end_profiling(OrtEpProfilerImpl *impl, OrtProfilingEventsContainer *container)
{
	struct tf_profiler *self = (struct tf_profiler *)impl;
	epp_status *status = NULL;
	(void)container;
	pthread_mutex_lock(&self->plugin->lock);
	/* It never started, or was refused. */
	if (self->active)
		status = end_run(self);
	pthread_mutex_unlock(&self->plugin->lock);
	return ort_status_of(status);
}

static void release(OrtEpProfilerImpl *impl)
{
	struct tf_profiler *self = (struct tf_profiler *)impl;
	pthread_mutex_lock(&self->plugin->lock);
	if (self->active)
		epp_status_release(end_run(self));
	pthread_mutex_unlock(&self->plugin->lock);
	epp_status_release(self->failed);
	free(self);
}

epp_status *tf_profiler_create(struct tf_plugin *plugin, OrtEpProfilerImpl **profiler)
{
	struct tf_profiler *made = calloc(1, sizeof(*made));
	if (!made)
		return epp_status_no_memory();
	/* StartEvent and StopEvent stay NULL: the ABI has no such calls, so the host's events cost nothing more. */
	made->impl.ort_version_supported = EPPROF_ORT_API_VERSION_MIN;
	made->impl.Release = release;
	made->impl.StartProfiling = start_profiling;
	made->impl.EndProfiling = end_profiling;
	made->plugin = plugin;
	*profiler = &made->impl;
	return NULL;
}

/* A plugin of this ABI has one run at a time; sessions share it.  The first session to start starts it.  When a session
 * ends, the run is stopped and its data collected; each session that is there gets the events that start in its time; if
 * others remain, the plugin is started again, and the gap stands in their traces.  A plugin is never started twice, nor
 * after a stop that failed, before one has worked; and one that no session profiles is never called.
 *
 * Calls go one at a time: a session that starts while another one's data is collected waits for that.
 */
#include <stdlib.h>

#include "base/ort_status.h"
#include "base/profiler_registry.h"
#include "plugins/tf_plugin.h"

static epp_status *stop(struct tf_plugin *plugin)
{
	epp_status *status = tf_call(plugin, "stop", plugin->fns.accepted.stop);
	plugin->running = false;
	plugin->unstopped = status != NULL;
	return status;
}

/* A run whose stop failed may be going on yet. */
static epp_status *start(struct tf_plugin *plugin)
{
	epp_status *status = plugin->unstopped ? stop(plugin) : NULL;
	if (!status)
		status = tf_call(plugin, "start", plugin->fns.accepted.start);
	plugin->running = !status;
	return status;
}

static OrtStatus *start_profiling(OrtEpProfilerImpl *impl, int64_t offset_ns)
{
	struct tf_profiler *self = (struct tf_profiler *)impl;
	struct tf_plugin *plugin = self->plugin;
	epp_status *status = NULL;
	(void)offset_ns;
	pthread_mutex_lock(&plugin->lock);
	if (self->active) {
		pthread_mutex_unlock(&plugin->lock);
		return ort_status_create(1, "StartProfiling without EndProfiling in between");
	}
	clock_pair_read(&self->start);
	self->target.ledger = (EpprofLedger){ 0 };
	if (!plugin->running)
		status = start(plugin);
	if (!status) {
		self->active = true;
		LIST_INSERT_HEAD(&plugin->active, self, others);
		profile_deliver_clock_start(&self->target, &self->start);
	}
	pthread_mutex_unlock(&plugin->lock);
	return ort_status_take(status);
}

/* What all profilers of one collection share. */
struct collection {
	struct profile_data xspace;
	struct profile_data run_metadata;
	int64_t earliest_ns; /* the start of the profiler that is there longest */
	struct epf_host_pair end;
};

static epp_status *deliver(struct tf_profiler *to, const struct collection *collection, bool answers)
{
	uint64_t events_count = 0;
	struct profile_window window = { .from_ns = to->start.realtime_ns,
		                         .until_ns = collection->end.realtime_ns + PROFILE_SLACK_NS,
		                         .now_ns = collection->end.realtime_ns,
		                         .answers = answers };
	if (to->start.realtime_ns == collection->earliest_ns)
		window.from_ns -= PROFILE_SLACK_NS;
	profile_deliver_clock_end(&to->target, &to->start, &collection->end);
	epp_status *status = profile_deliver_xspace(&to->target, &collection->xspace, &window, &events_count);
	/* Both tell of the same work. */
	if (!events_count)
		status_keep(&status, profile_deliver_run_metadata(&to->target, &collection->run_metadata, &window));
	profile_deliver_ledger(&to->target);
	return status;
}

static void start_again(struct tf_plugin *plugin, const struct epf_host_pair *stopped)
{
	struct tf_profiler *other;
	epp_status *status = start(plugin);
	struct epf_host_pair now;
	clock_pair_read(&now);
	LIST_FOREACH(other, &plugin->active, others) {
		if (status)
			status_keep(&other->failed, epp_status_create(EPP_PLUGIN, "after another session's end: %s",
			                                              epp_status_message(status)));
		profile_deliver_note(&other->target, "epprof.restart_gap", stopped->realtime_ns, now.realtime_ns, NULL);
		profile_deliver_ledger(&other->target);
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
		struct epf_host_pair stopped;
		clock_pair_read(&stopped);
		status_keep(&status, stop(plugin));
		bool may_collect = !plugin->unstopped;
		tf_collect_fn *xspace = plugin->is_first ? plugin->fns.first.collect_data_xspace
		                                         : plugin->fns.accepted.collect_data_xspace;
		if (may_collect && xspace)
			status_keep(&status, tf_collect(plugin, "collect_data_xspace", xspace, &collection.xspace));
		if (may_collect && plugin->is_first && plugin->fns.first.collect_data_run_metadata)
			status_keep(&status,
			            tf_collect(plugin, "collect_data_run_metadata",
			                       plugin->fns.first.collect_data_run_metadata, &collection.run_metadata));
		clock_pair_read(&collection.end);
		LIST_FOREACH(other, &plugin->active, others) {
			if (other->start.realtime_ns < collection.earliest_ns)
				collection.earliest_ns = other->start.realtime_ns;
		}
		LIST_FOREACH(other, &plugin->active, others) {
			epp_status *delivered = deliver(other, &collection, other == self);
			status_keep(other == self ? &status : &other->failed, delivered);
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
	return ort_status_take(status);
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
	made->target.profiler = &made->impl;
	made->target.name = plugin->device_type;
	*profiler = &made->impl;
	return NULL;
}

/* Shares one run of a plugin between sessions: starts, stops and restarts it, and delivers its data to each session. */
#include "plugins/profile/shared_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ort_abi/ort_status.h"
#include "ort_abi/profiler_registry.h"

struct shared_profiler {
	OrtEpProfilerImpl impl;             /* must be first, because sessions get a pointer to it */
	LIST_ENTRY(shared_profiler) others; /* link in the run's list of active profilers */
	struct shared_run *run;
	const void *session; /* the session of this profiler, set by look_up_sessions */
	bool is_active;
	struct epf_host_pair start;   /* start of the profiler's part of the run */
	struct profile_target target; /* its counts are those since `start` */
	epp_status *failed;           /* an error of this profiler that occurred when another session ended */
};

static pthread_mutex_t runs_lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, shared_run) runs = LIST_HEAD_INITIALIZER(runs);

static epp_status *start(struct shared_run *run)
{
	epp_status *status = run->calls->start(run);
	run->is_on = !status;
	return status;
}

static OrtStatus *start_profiling(OrtEpProfilerImpl *impl, int64_t offset_ns)
{
	struct shared_profiler *self = (struct shared_profiler *)impl;
	struct shared_run *run = self->run;
	epp_status *status = NULL;
	(void)offset_ns;
	pthread_mutex_lock(&run->lock);
	if (self->is_active) {
		pthread_mutex_unlock(&run->lock);
		return ort_status_create(1, "StartProfiling without EndProfiling in between");
	}
	clock_pair_read(&self->start);
	self->target.ledger = (EpprofLedger){ 0 };
	self->target.misplaced = self->target.pushed = (struct profile_misplaced){ 0 };
	if (!run->is_on)
		status = start(run);
	if (!status) {
		self->is_active = true;
		LIST_INSERT_HEAD(&run->active, self, others);
		profile_deliver_clock_start(&self->target, &self->start);
	}
	pthread_mutex_unlock(&run->lock);
	return ort_status_take(status);
}

/* ---- sessions ---- */

static bool is_same_session(const struct shared_profiler *a, const struct shared_profiler *b)
{
	return a == b || (a->session && a->session == b->session);
}

/* Returns true if the profiler is the oldest one of its session.  A profiler whose session is unknown counts as the
 * only one of its session. */
static bool is_first_of_session(const struct shared_profiler *profiler)
{
	const struct shared_profiler *older = profiler;
	while ((older = LIST_NEXT(older, others)))
		if (is_same_session(older, profiler))
			return false;
	return true;
}

static void look_up_sessions(struct shared_run *run)
{
	struct shared_profiler *profiler;
	LIST_FOREACH(profiler, &run->active, others)
		profiler->session = profiler_registry_session(&profiler->impl);
}

/* ---- the end ---- */

/* Returns an error for dropped events that no error has reported yet; NULL: there are none. */
static epp_status *misplaced_error(const struct profile_target *of)
{
	uint64_t before = of->misplaced.before_start - of->pushed.before_start;
	uint64_t after = of->misplaced.after_end - of->pushed.after_end;
	uint64_t negative = of->misplaced.negative - of->pushed.negative;

	if (!before && !after && !negative)
		return NULL;
	return epp_status_create(EPP_PLUGIN,
	                         "events are lost because of their times: %" PRIu64 " before start, %" PRIu64
	                         " after end, %" PRIu64 " negative duration",
	                         before, after, negative);
}

static epp_status *deliver(struct shared_profiler *to, const struct shared_data *data, const struct epf_host_pair *end,
                           bool counts_losses)
{
	uint64_t events_count = 0;
	struct profile_time_range time_range = { .from_ns = to->start.realtime_ns,
		                                 .until_ns = end->realtime_ns + PROFILE_SLACK_NS,
		                                 .now_ns = end->realtime_ns,
		                                 .counts_losses = counts_losses };
	const struct shared_profiler *oldest = to;
	while (LIST_NEXT(oldest, others))
		oldest = LIST_NEXT(oldest, others);
	time_range.oldest_ns = oldest->start.realtime_ns - PROFILE_SLACK_NS;
	if (oldest == to)
		time_range.from_ns = time_range.oldest_ns;
	epp_status *status = profile_deliver_xspace(&to->target, &data->xspace, &time_range, &events_count);
	/* The RunMetadata describes the same work as the XSpace, so it is used only if the XSpace has no events. */
	if (!events_count)
		status_keep(&status, profile_deliver_run_metadata(&to->target, &data->run_metadata, &time_range));
	status_keep(&status, misplaced_error(&to->target));
	return status;
}

static epp_status *deliver_to_all(struct shared_profiler *self, const struct shared_data *data)
{
	struct shared_profiler *to;
	struct epf_host_pair end;
	epp_status *status = NULL;
	clock_pair_read(&end);
	look_up_sessions(self->run);
	LIST_FOREACH(to, &self->run->active, others) {
		profile_deliver_clock_end(&to->target, &to->start, &end);
		if (is_first_of_session(to))
			status_keep(to == self ? &status : &to->failed,
			            deliver(to, data, &end, is_same_session(to, self)));
		profile_deliver_ledger(&to->target);
	}
	return status;
}

static void start_again(struct shared_run *run, const struct epf_host_pair *stopped)
{
	struct shared_profiler *other;
	epp_status *status = start(run);
	struct epf_host_pair now;
	clock_pair_read(&now);
	LIST_FOREACH(other, &run->active, others) {
		if (status)
			status_keep(&other->failed, epp_status_create(EPP_PLUGIN, "after another session's end: %s",
			                                              epp_status_message(status)));
		if (!is_first_of_session(other))
			continue;
		profile_deliver_gap(&other->target, stopped->realtime_ns, now.realtime_ns);
		profile_deliver_ledger(&other->target);
	}
	epp_status_destroy(status);
}

/* Ends a profiler's part of the run.  The caller holds the lock, and `self` is active. */
static epp_status *end(struct shared_profiler *self)
{
	struct shared_run *run = self->run;
	struct shared_data data = { 0 };
	struct epf_host_pair stopped;
	epp_status *status = self->failed;
	bool was_on = run->is_on;
	self->failed = NULL;
	if (was_on) {
		clock_pair_read(&stopped);
		epp_status *not_stopped = run->calls->stop(run);
		run->is_on = false;
		if (!not_stopped)
			status_keep(&status, run->calls->collect(run, &data));
		else
			status_keep(&status, not_stopped);
		status_keep(&status, deliver_to_all(self, &data));
		status_keep(&status, run->calls->discard(run, &data));
	}
	LIST_REMOVE(self, others);
	self->is_active = false;
	if (was_on && !LIST_EMPTY(&run->active))
		start_again(run, &stopped);
	return status;
}

static OrtStatus *end_profiling(OrtEpProfilerImpl *impl, OrtProfilingEventsContainer *container)
{
	struct shared_profiler *self = (struct shared_profiler *)impl;
	epp_status *status = NULL;
	(void)container;
	pthread_mutex_lock(&self->run->lock);
	/* If it is not active, it never started, or its start failed. */
	if (self->is_active)
		status = end(self);
	pthread_mutex_unlock(&self->run->lock);
	return ort_status_take(status);
}

static void release(OrtEpProfilerImpl *impl)
{
	struct shared_profiler *self = (struct shared_profiler *)impl;
	ort_status_release(end_profiling(impl, NULL));
	epp_status_destroy(self->failed);
	free(self);
}

epp_status *shared_run_profiler_create(epp_plugin *plugin, OrtEpProfilerImpl **profiler)
{
	struct shared_profiler *made = calloc(1, sizeof(*made));
	if (!made)
		return epp_status_no_memory();
	/* StartEvent and StopEvent are NULL, because the ABIs of TensorFlow and PJRT have no such calls.  Host events
	 * thus cost nothing more. */
	made->impl.ort_version_supported = EPPROF_ORT_API_VERSION_MIN;
	made->impl.Release = release;
	made->impl.StartProfiling = start_profiling;
	made->impl.EndProfiling = end_profiling;
	made->run = plugin->state;
	made->target.profiler = &made->impl;
	made->target.name = made->run->name;
	*profiler = &made->impl;
	return NULL;
}

/* ---- libraries ---- */

/* Returns the run of the plugin's library and adds one to its users; NULL: there is none. */
static struct shared_run *find(const epp_plugin *plugin, const struct shared_run_calls *calls)
{
	struct shared_run *run;
	pthread_mutex_lock(&runs_lock);
	LIST_FOREACH(run, &runs, others)
		if (run->library == plugin->library && run->calls == calls)
			break;
	if (run)
		run->users_count++;
	pthread_mutex_unlock(&runs_lock);
	return run;
}

static void add(struct shared_run *run, const epp_plugin *plugin, const struct shared_run_calls *calls)
{
	run->calls = calls;
	run->library = plugin->library;
	run->users_count = 1;
	pthread_mutex_init(&run->lock, NULL);
	LIST_INIT(&run->active);
	pthread_mutex_lock(&runs_lock);
	LIST_INSERT_HEAD(&runs, run, others);
	pthread_mutex_unlock(&runs_lock);
}

/* No lock is needed while the library's code runs, because every open of a library runs on the library's worker. */
epp_status *shared_run_open(epp_plugin *plugin, const struct shared_run_calls *calls,
                            epp_status *(*make)(const epp_plugin *plugin, struct shared_run **run))
{
	struct shared_run *run = find(plugin, calls);
	if (!run) {
		EPP_TRY(make(plugin, &run));
		add(run, plugin, calls);
	}
	plugin->state = run;
	if ((plugin->name = strdup(run->name)))
		return NULL;
	shared_run_close(plugin);
	return epp_status_no_memory();
}

void shared_run_close(epp_plugin *plugin)
{
	struct shared_run *run = plugin->state;
	plugin->state = NULL;
	pthread_mutex_lock(&runs_lock);
	bool is_last = --run->users_count == 0;
	if (is_last)
		LIST_REMOVE(run, others);
	pthread_mutex_unlock(&runs_lock);
	if (!is_last)
		return;
	pthread_mutex_destroy(&run->lock);
	run->calls->destroy(run);
}

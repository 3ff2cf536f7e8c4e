/* Runs the profilers of hosted EPs and plugins (ort_hosted.c), in addition to the collector, as ONNX Runtime runs
 * profilers.  Profilers of EPs add their events at the end, to both the trace and ONNX Runtime's profile.  Plugins of
 * other frameworks record into the trace directly; their events are then copied to ONNX Runtime's profile
 * (ort_plugin_events.c).
 *
 * The profilers' StartEvent gets the trace's id of the event, because ONNX Runtime's ids are not unique.  A table of at
 * most NOTES_MAX entries (notes) maps an id of the trace to ONNX Runtime's id.  It is used for the events that the
 * profilers add to ONNX Runtime's profile at the end.
 *
 * Errors of the profilers are counted and returned to ONNX Runtime, which logs them.  After an error of EndProfiling
 * ONNX Runtime would drop the events of all profilers, so those errors are logged here instead. */
#include "ort_profilers.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "epprof/plugin.h"
#include "epprof/profiler.h"
#include "ort_copies.h"
#include "ort_missing.h"
#include "ort_plugin_events.h"

#define NOTES_MAX (4u << 20) /* 64 MiB */

/* Maximum age of ONNX Runtime's offset when StartProfiling is called.  If the computed age is larger, an event's id is
 * not a time of the system's clock, and the age is not used. */
#define LATE_MAX_NS 1000000000

struct ort_profilers {
	const struct ort_host *host;
	const OrtLogger *logger;
	epp_session *session;
	struct ort_start_times start_times;
	struct ort_devices devices; /* devices of all plugins */
	int64_t profile_us;         /* start of ONNX Runtime's profile, since the UNIX epoch; 0: not known yet */
	pthread_mutex_t lock;       /* protects the notes */
	struct note {
		uint64_t id, ort_id;
	} * notes;
	size_t notes_count, notes_room;
	bool notes_sorted; /* the notes are sorted; none is added any more */
	size_t count;
	struct hosted {
		struct ort_eps_profiler made;
		epp_hosted_profiler *registration;
		/* NULL: a plugin of another framework, whose events go into the trace */
		struct ort_container *container;
		bool is_hung;    /* a call did not return, so no further call is made */
		bool is_held;    /* a thread may never return from a call, so the profiler is never freed */
		unsigned inside; /* number of threads in StartEvent or StopEvent */
		bool has_given;  /* the profiler has added events at the end */
	} all[];
};

/* ---- errors ---- */

/* Returns the first of two statuses, or the second if the first is NULL.  Releases the other one. */
static OrtStatus *first_of(const struct ort_host *host, OrtStatus *first, OrtStatus *second)
{
	if (first && second)
		host->api->ReleaseStatus(second);
	return first ? first : second;
}

/* Converts a status of a profiler to one of ONNX Runtime's whose message names the profiler. */
static OrtStatus *status_from(const struct ort_profilers *profilers, const struct hosted *of, const char *step,
                              OrtStatus *given)
{
	const OrtApi *api = of->made.is_hosted ? epp_ort_api_base()->GetApi(EPPROF_ORT_API_VERSION) : profilers->host->api;
	if (!given)
		return NULL;
	epp_hosted_profiler_count_error(of->registration);
	epp_status *status = epp_status_create(EPP_PLUGIN, "epprof: %s: %s: %s", of->made.label, step,
	                                       api->GetErrorMessage(given));
	api->ReleaseStatus(given);
	return ort_status_of(profilers->host, status);
}

static void log_status(const struct ort_profilers *profilers, OrtStatus *status)
{
	ort_log(profilers->host, profilers->logger, ORT_LOGGING_LEVEL_ERROR, status);
}

/* ---- ids ---- */

static int by_id(const void *a, const void *b)
{
	const struct note *left = a, *right = b;
	return (left->id > right->id) - (left->id < right->id);
}

static uint64_t ort_id_of(const void *user, uint64_t id)
{
	const struct ort_profilers *profilers = user;
	const struct note key = { .id = id }, *found = NULL;
	if (profilers->notes_count)
		found = bsearch(&key, profilers->notes, profilers->notes_count, sizeof(key), by_id);
	return found ? found->ort_id : 0;
}

/* ---- start ---- */

static OrtStatus *add_profiler(struct ort_profilers *profilers, const struct ort_eps *eps, size_t index)
{
	const struct ort_host *host = profilers->host;
	struct hosted *of = &profilers->all[profilers->count];
	OrtStatus *status = ort_eps_profiler(eps, index, &of->made);
	if (status || !of->made.profiler)
		return status;
	status = ort_status_of(
	    host, epp_hosted_profiler_create(profilers->session, of->made.profiler, of->made.label, &of->registration));
	if (status) {
		/* The events that the profiler would have recorded are counted as one refused event, because their
		 * number is unknown. */
		epp_session_count_refused(profilers->session, 1);
		epp_plugin_profiler_destroy(of->made.profiler);
		return status;
	}
	of->container = of->made.is_hosted ? NULL
	                                   : ort_container_create(of->registration, of->made.label, &profilers->devices,
	                                                          ort_id_of, profilers);
	if (!of->made.is_hosted && !of->container) {
		epp_hosted_profiler_destroy(of->registration);
		epp_plugin_profiler_destroy(of->made.profiler);
		return ort_status_of(host, epp_status_no_memory());
	}
	profilers->count++;
	return NULL;
}

/* Logs a failure.  It is not returned, because only one of several failures could be returned. */
static void log_failure(const struct ort_profilers *profilers, const struct hosted *of, epp_status *failure)
{
	if (failure)
		log_status(profilers,
		           ort_status_of(profilers->host, epp_status_prefix(failure, "epprof: %s", of->made.label)));
}

/* Returns an array for one call per profiler; NULL: no memory. */
static epp_hosted_profiler_call *calls_make(const struct ort_profilers *profilers)
{
	epp_hosted_profiler_call *calls = calloc(profilers->count + 1, sizeof(*calls));
	for (size_t i = 0; calls && i < profilers->count; i++)
		calls[i].hosted = profilers->all[i].registration;
	return calls;
}

static OrtStatus *start_all(struct ort_profilers *profilers)
{
	OrtStatus *status = NULL;
	epp_hosted_profiler_call *calls = calls_make(profilers);
	if (!calls)
		return ort_status_of(profilers->host, epp_status_no_memory());
	epp_hosted_profilers_start(calls, profilers->count, profilers->start_times.offset_ns, profilers->start_times.ticks);
	for (size_t i = 0; i < profilers->count; i++) {
		struct hosted *of = &profilers->all[i];
		of->is_hung = calls[i].failure != NULL;
		log_failure(profilers, of, calls[i].failure);
		status = first_of(profilers->host, status, status_from(profilers, of, "StartProfiling", calls[i].status));
	}
	free(calls);
	return status;
}

OrtStatus *ort_profilers_start(struct ort_eps *eps, epp_session *session, const struct ort_start_times *start_times,
                               struct ort_profilers **profilers)
{
	*profilers = NULL;
	if (!eps)
		return NULL;
	const struct ort_host *host = ort_eps_host(eps);
	struct ort_profilers *made = calloc(1, sizeof(*made) + ort_eps_count(eps) * sizeof(made->all[0]));
	if (!made)
		return ort_status_of(host, epp_status_no_memory());
	made->host = host;
	made->logger = ort_eps_logger(eps);
	made->session = session;
	made->start_times = *start_times;
	pthread_mutex_init(&made->lock, NULL);
	OrtStatus *status = NULL;
	epp_plugin_budget_begin(ort_eps_take_budget(eps));
	for (size_t i = 0; i < ort_eps_count(eps); i++)
		status = first_of(host, status, add_profiler(made, eps, i));
	ort_eps_report_hung(eps, session);
	status = first_of(host, status, start_all(made));
	epp_plugin_budget_end();
	if (made->count)
		*profilers = made;
	else
		ort_profilers_release(made);
	return status;
}

/* ---- events ---- */

static void note(struct ort_profilers *profilers, uint64_t id, uint64_t ort_id)
{
	pthread_mutex_lock(&profilers->lock);
	if (!profilers->notes_sorted && profilers->notes_count == profilers->notes_room &&
	    profilers->notes_room < NOTES_MAX) {
		size_t room = profilers->notes_room ? profilers->notes_room * 2 : 1024;
		struct note *larger = reallocarray(profilers->notes, room, sizeof(*larger));
		if (larger) {
			profilers->notes = larger;
			profilers->notes_room = room;
		}
	}
	/* If there is no room for a note, the events of profilers that this event caused have no correlation id in ONNX
	 * Runtime's profile. */
	if (!profilers->notes_sorted && profilers->notes_count < profilers->notes_room)
		profilers->notes[profilers->notes_count++] = (struct note){ id, ort_id };
	pthread_mutex_unlock(&profilers->lock);
}

/* Begins a call of StartEvent or StopEvent, which runs on the event's thread.  If the call does not return, it blocks
 * this thread, which is detected at the end of the profile.  Returns false if the profiler is not called any more. */
static bool enter_callback(struct hosted *of)
{
	if (__atomic_load_n(&of->is_hung, __ATOMIC_RELAXED))
		return false;
	__atomic_add_fetch(&of->inside, 1, __ATOMIC_SEQ_CST);
	return true;
}

static void leave_callback(struct hosted *of)
{
	__atomic_sub_fetch(&of->inside, 1, __ATOMIC_SEQ_CST);
}

OrtStatus *ort_profilers_start_event(struct ort_profilers *profilers, uint64_t id, uint64_t ort_id)
{
	OrtStatus *status = NULL;
	if (!profilers)
		return NULL;
	note(profilers, id, ort_id);
	for (size_t i = 0; i < profilers->count; i++) {
		struct hosted *of = &profilers->all[i];
		OrtEpProfilerImpl *profiler = of->made.profiler;
		if (!profiler->StartEvent || !enter_callback(of))
			continue;
		OrtStatus *given = profiler->StartEvent(profiler, id);
		status = first_of(profilers->host, status, status_from(profilers, of, "StartEvent", given));
		leave_callback(of);
	}
	return status;
}

/* Computes the start of the profile from an event: its id is its start in us since the epoch, and its timestamp is the
 * same time since the start of the profile. */
static void find_profile_start(struct ort_profilers *profilers, uint64_t ort_id, const OrtProfilingEvent *event)
{
	int64_t start_us = 0;
	OrtStatus *status = profilers->host->ep->ProfilingEvent_GetTimestampUs(event, &start_us);
	if (status)
		profilers->host->api->ReleaseStatus(status);
	else
		__atomic_store_n(&profilers->profile_us, (int64_t)(ort_id - (uint64_t)start_us), __ATOMIC_RELAXED);
}

OrtStatus *ort_profilers_stop_event(struct ort_profilers *profilers, uint64_t id, uint64_t ort_id,
                                    const OrtProfilingEvent *event)
{
	OrtStatus *status = NULL;
	if (profilers && !__atomic_load_n(&profilers->profile_us, __ATOMIC_RELAXED))
		find_profile_start(profilers, ort_id, event);
	for (size_t i = 0; profilers && i < profilers->count; i++) {
		struct hosted *of = &profilers->all[i];
		OrtEpProfilerImpl *profiler = of->made.profiler;
		if (!profiler->StopEvent || !enter_callback(of))
			continue;
		OrtStatus *given = profiler->StopEvent(profiler, id, event);
		status = first_of(profilers->host, status, status_from(profilers, of, "StopEvent", given));
		leave_callback(of);
	}
	return status;
}

/* ---- end ---- */

/* Returns how long before StartProfiling ONNX Runtime computed the offset that it passed; 0: unknown.  The resolution
 * is a microsecond, because ONNX Runtime rounds its times down. */
static int64_t offset_age_ns(const struct ort_profilers *profilers)
{
	int64_t profile_us = __atomic_load_n(&profilers->profile_us, __ATOMIC_RELAXED), late_ns;
	if (!profile_us || __builtin_mul_overflow(profile_us, 1000, &late_ns) ||
	    __builtin_sub_overflow(profilers->start_times.unix_ns - profilers->start_times.offset_ns, late_ns, &late_ns))
		return 0;
	return late_ns > 0 && late_ns <= LATE_MAX_NS ? late_ns : 0;
}

/* Adds the events of plugins of other frameworks, from the trace.  If several sessions in this trace host a plugin that
 * profiles the whole process, the plugin has passed its events to only one of them.  So the events of all producers
 * with the same label are added. */
static OrtStatus *fill_foreign(struct ort_profilers *profilers, int64_t late_ns, int64_t duration_ns,
                               OrtProfilingEventsContainer *real)
{
	const struct ort_start_times *start_times = &profilers->start_times;
	struct ort_plugin_events plugins = { .host = profilers->host,
		                             .session = profilers->session,
		                             .profile_unix_ns = start_times->unix_ns - start_times->offset_ns - late_ns,
		                             .duration_ns = duration_ns,
		                             .devices = &profilers->devices,
		                             .ort_id_of = ort_id_of,
		                             .user = profilers };
	for (size_t i = 0; i < profilers->count; i++)
		if (profilers->all[i].made.is_hosted)
			plugins.producers |= epp_hosted_profiler_producers(profilers->all[i].registration);
	return plugins.producers ? ort_plugin_events_fill(&plugins, real) : NULL;
}

/* Waits until all calls of StartEvent and StopEvent have returned, at most for half of the time limit of EndProfiling.
 * A call that has not returned then is treated as hung. */
static void wait_for_events(struct ort_profilers *profilers)
{
	const int64_t poll_ns = 100000;
	uint64_t since_ticks = epp_host_ticks();
	for (size_t i = 0; i < profilers->count; i++) {
		struct hosted *of = &profilers->all[i];
		while (!of->is_hung && __atomic_load_n(&of->inside, __ATOMIC_SEQ_CST)) {
			if (ort_ns_since(since_ticks) > (int64_t)epp_plugin_timeout_ns() / 2) {
				static const char note[] = "StartEvent or StopEvent: it has not returned";
				__atomic_store_n(&of->is_hung, true, __ATOMIC_RELAXED);
				of->is_held = true;
				epp_hosted_profiler_report_hang(of->registration, note);
				log_failure(profilers, of, epp_status_create(EPP_TIMEOUT, "%s", note));
			} else {
				nanosleep(&(struct timespec){ .tv_nsec = poll_ns }, NULL);
			}
		}
	}
}

static void end_all(struct ort_profilers *profilers, OrtProfilingEventsContainer *real)
{
	epp_hosted_profiler_call *calls = calls_make(profilers);
	if (!calls) {
		log_status(profilers, ort_status_of(profilers->host, epp_status_no_memory()));
		return;
	}
	for (size_t i = 0; i < profilers->count; i++) {
		struct ort_container *container = profilers->all[i].container;
		if (container)
			container->real = real;
		calls[i].container = (OrtProfilingEventsContainer *)container;
	}
	epp_hosted_profilers_end(calls, profilers->count);
	for (size_t i = 0; i < profilers->count; i++) {
		struct hosted *of = &profilers->all[i];
		if (of->container)
			ort_container_close(of->container);
		of->has_given = !of->container || of->container->added_count > 0;
		if (calls[i].failure)
			__atomic_store_n(&of->is_hung, true, __ATOMIC_RELAXED);
		log_failure(profilers, of, calls[i].failure);
		log_status(profilers, status_from(profilers, of, "EndProfiling", calls[i].status));
	}
	free(calls);
}

/* Sorts the notes.  Other threads may still begin events, so adding notes is disabled first. */
static void sort_notes(struct ort_profilers *profilers)
{
	pthread_mutex_lock(&profilers->lock);
	profilers->notes_sorted = true;
	if (profilers->notes_count)
		qsort(profilers->notes, profilers->notes_count, sizeof(*profilers->notes), by_id);
	pthread_mutex_unlock(&profilers->lock);
}

void ort_profilers_end(struct ort_profilers *profilers, OrtProfilingEventsContainer *real)
{
	if (!profilers)
		return;
	int64_t late_ns = offset_age_ns(profilers);
	int64_t duration_ns = profilers->start_times.offset_ns + late_ns + ort_ns_since(profilers->start_times.ticks);
	sort_notes(profilers);
	for (size_t i = 0; i < profilers->count; i++)
		epp_hosted_profiler_add_start_delay(profilers->all[i].registration, late_ns);
	wait_for_events(profilers);
	end_all(profilers, real);
	log_status(profilers, fill_foreign(profilers, late_ns, duration_ns, real));
}

void ort_profilers_report(const struct ort_profilers *profilers, struct ort_missing *missing)
{
	for (size_t i = 0; profilers && i < profilers->count; i++)
		if (profilers->all[i].has_given)
			ort_missing_add_recorded(missing, profilers->all[i].made.label);
}

void ort_profilers_release(struct ort_profilers *profilers)
{
	bool any_held = false;
	for (size_t i = 0; profilers && i < profilers->count; i++) {
		epp_hosted_profiler_destroy(profilers->all[i].registration);
		/* If a thread is in a call of a profiler, the code and memory of the profiler are in use. */
		if (!profilers->all[i].is_held)
			epp_plugin_profiler_destroy(profilers->all[i].made.profiler);
		if (profilers->all[i].container && !profilers->all[i].is_hung)
			ort_container_destroy(profilers->all[i].container);
		any_held |= profilers->all[i].is_held;
	}
	if (!profilers || any_held)
		return;
	pthread_mutex_destroy(&profilers->lock);
	free(profilers->notes);
	free(profilers);
}

/* The collector's profiler: records the events that ONNX Runtime passes to it.
 *
 * An event begins without a name and gets its name, category and args at its end.  Begin and end are matched by a stack
 * of open events, one for each thread.  An entry also has its collector, because ONNX Runtime's ids are not unique (an
 * id is the start in microseconds), and because events of several sessions may overlap on one thread.  The trace has
 * ids of its own.
 *
 * The collector measures the times itself.  ONNX Runtime's own times, in microseconds, are stored in three args, from
 * which its profile can be reproduced exactly (runtime/export/onnxruntime/ort_json.c).  The first event also has the
 * arg ort_started_us, the time of the collector's StartProfiling: a profiler that ONNX Runtime starts later reads its
 * clocks between that time and the event's start (runtime/provider_events/import_profile.c). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>

#include "bridges/onnxruntime/requests/ort_runs.h"
#include "ort.h"
#include "ort_event_record.h"
#include "ort_joined.h"
#include "ort_missing.h"
#include "ort_profilers.h"

#include "epprof/profiler.h"

/* Maximum number of open events on a thread; it is larger than the limit of a trace.  If there are more, the outermost
 * ones are dropped from the stack. */
#define OPEN_MAX 128u

/* ONNX Runtime's profile has at most this many events, and ONNX Runtime does not report when it is full. */
#define ORT_EVENTS_MAX 1000000u

struct collector {
	OrtEpProfilerImpl impl; /* must be first */
	LIST_ENTRY(collector) others;
	/* references by ONNX Runtime and by profilers that have joined; the collector is freed with the last one */
	uint32_t references;
	const struct ort_host *host;
	const OrtLogger *logger;
	/* EndProfiling clears it; another thread may begin an event at that moment, so the data that events use exists
	 * until Release */
	bool is_recording;
	epp_session *session; /* NULL: not started, or the start failed */
	epp_hosted_profiler *registration;
	struct ort_eps *eps;
	struct ort_profilers *hosted;
	struct ort_missing missing;
	const struct ort_runs *runs;
	uint64_t unclear_count; /* atomic; number of nodes without a request, because their run is unknown: several runs
	                           were active */
	uint64_t number;        /* number of this profiling run, unique in the process */
	const void *counter;    /* the thread (address of its open events) that increments events_count; NULL: none
	                           yet */
	uint64_t events_count;  /* events of this thread; others_count: events of other threads */
	uint64_t others_count;
	int64_t started_us; /* when StartProfiling was called, since the start of ONNX Runtime's profile */
	uint64_t first_id;  /* id of the first event; 0: none yet */
};

/* List of all collectors, for profilers that join. */
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t all_of; /* the process that created the list */
static LIST_HEAD(, collector) all = LIST_HEAD_INITIALIZER(all);

/* Events that have begun on a thread and not ended. */
struct open_events {
	struct ort_event_memory *memory;
	uint32_t depth;
	bool is_pool; /* the thread belongs to ONNX Runtime: it has run nodes that were not inside an event of a run */
	struct open_event {
		uint64_t number; /* number of the collector */
		uint64_t ort_id;
		uint64_t id;
		epp_session *session;
		uint64_t run;      /* for a node, the event of its run; 0: none, or the node has the requests already */
		const char *tag;   /* tag of a run; NULL: none */
		uint32_t profiler; /* number in ort_missing of a profiler that has events of this node; 0: none */
		bool is_unclear;   /* several runs were active when the event began */
	} events[OPEN_MAX];
};
/* Model initial-exec: an access takes one instruction.  It is possible because the library is never unloaded, and
 * because the pointer fits into the space that is reserved for libraries that are loaded later. */
static __thread __attribute__((tls_model("initial-exec"))) struct open_events *this_thread;
static pthread_key_t key; /* its destructor frees the open events when the thread ends */
static bool key_made;

static void open_events_free(void *of)
{
	this_thread = NULL;
	free(((struct open_events *)of)->memory);
	free(of);
}

static void make_key(void)
{
	key_made = pthread_key_create(&key, open_events_free) == 0;
}

static __attribute__((noinline)) struct open_events *open_events_make(void)
{
	struct open_events *made = key_made ? calloc(1, sizeof(*made)) : NULL;
	if (!made)
		return NULL;
	made->memory = ort_event_memory_create();
	if (!made->memory || pthread_setspecific(key, made)) {
		free(made->memory);
		free(made);
		return NULL;
	}
	return this_thread = made;
}

/* Returns the open events of this thread; NULL: no memory. */
static inline struct open_events *open_events(void)
{
	return this_thread ? this_thread : open_events_make();
}

static void push(struct open_events *open, const struct collector *collector, uint64_t ort_id, uint64_t id)
{
	if (open->depth == OPEN_MAX) {
		memmove(&open->events[0], &open->events[1], (OPEN_MAX - 1) * sizeof(open->events[0]));
		open->depth--;
	}
	open->events[open->depth++] = (struct open_event){
		.number = collector->number, .ort_id = ort_id, .id = id, .session = collector->session
	};
}

static bool is_of(const struct open_event *event, const struct collector *collector, uint64_t ort_id)
{
	return event->number == collector->number && event->ort_id == ort_id;
}

/* Removes the collector's innermost event with this id, and the collector's events inside it that are still open.
 * Returns the event; its id is 0 if there is none. */
static struct open_event pop(struct open_events *open, const struct collector *collector, uint64_t ort_id)
{
	uint32_t found = open->depth;
	while (found && !is_of(&open->events[found - 1], collector, ort_id))
		found--;
	if (!found)
		return (struct open_event){ 0 };
	struct open_event popped = open->events[found - 1];
	uint32_t kept = found - 1;
	for (uint32_t i = found; i < open->depth; i++)
		if (open->events[i].number != collector->number)
			open->events[kept++] = open->events[i];
	open->depth = kept;
	return popped;
}

/* ---- nodes on other threads ---- */

/* Assigns the requests of the node's run to the node, which must be the thread's innermost event. */
static void inherit(struct open_event *node)
{
	epp_status_destroy(epp_context_inherit(node->session, node->run));
	node->run = 0;
}

/* Handles the begin of an event that is in no other event: a node on a thread of ONNX Runtime's pool, or a run, for
 * which OnRunStart is called later.  On a thread that is known to be one of the pool, the node gets its requests now.
 * On another thread the event may be either; if it is a node, it gets its requests when it ends. */
static void begin_outermost(const struct collector *collector, struct open_events *open)
{
	struct open_event *event = &open->events[0];
	event->run = ort_runs_only(collector->runs);
	event->is_unclear = !event->run && ort_runs_count(collector->runs) > 1;
	if (event->run && open->is_pool)
		inherit(event);
}

/* Handles the end of a node that was the outermost event of its thread, which therefore belongs to the pool. */
static void end_outermost(struct collector *collector, struct open_events *open, struct open_event *event)
{
	if (event->run)
		inherit(event);
	if (event->is_unclear)
		__atomic_fetch_add(&collector->unclear_count, 1, __ATOMIC_RELAXED);
	open->is_pool = true;
}

/* ---- OrtEpProfilerImpl ---- */

static bool is_recording(const struct collector *collector)
{
	return __atomic_load_n(&collector->is_recording, __ATOMIC_ACQUIRE);
}

static void close_collector(struct collector *collector)
{
	ort_missing_close(&collector->missing);
	ort_profilers_release(collector->hosted);
	epp_hosted_profiler_destroy(collector->registration);
	epp_session_destroy(collector->session);
	collector->hosted = NULL;
	collector->registration = NULL;
	collector->session = NULL;
}

static void collector_release(OrtEpProfilerImpl *impl)
{
	struct collector *collector = (struct collector *)impl;
	__atomic_store_n(&collector->is_recording, false, __ATOMIC_RELEASE);
	ort_missing_read(&collector->missing, collector->host, collector->logger);
	ort_profilers_release(collector->hosted);
	collector->hosted = NULL;
	ort_collector_release(collector);
}

static int64_t unix_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Opens the session.  Without an output, hosted plugins still need one, because their events are added to ONNX
 * Runtime's profile from it. */
static epp_status *session_open(const struct ort_eps *hosted, epp_session **session)
{
	epp_status *status = epp_session_share_output(session);
	if (status || *session || !hosted)
		return status;
	const epp_session_options in_memory = { .struct_size = sizeof(in_memory) };
	status = epp_session_create(&in_memory, session);
	if (!status && (status = epp_session_start(*session))) {
		epp_session_destroy(*session);
		*session = NULL;
	}
	return status;
}

static OrtStatus *collector_start_profiling(OrtEpProfilerImpl *impl, int64_t offset_ns)
{
	static uint64_t numbers;
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const struct ort_start_times start_times = { .offset_ns = offset_ns,
		                                     .ticks = epp_host_ticks(),
		                                     .unix_ns = unix_ns() };
	struct collector *collector = (struct collector *)impl;
	if (is_recording(collector))
		return NULL;
	ort_missing_read(&collector->missing, collector->host, collector->logger);
	close_collector(collector);
	epp_status *status = session_open(collector->eps, &collector->session);
	if (status)
		return ort_status_of(collector->host, epp_status_prefix(status, "epprof"));
	/* The collector has a ledger only for notes.  If the session has too many profilers, the collector has no
	 * ledger, but its events are recorded. */
	if (collector->session)
		epp_status_destroy(
		    epp_hosted_profiler_create(collector->session, impl, "onnxruntime", &collector->registration));
	if (collector->registration && ort_eps_note(collector->eps)[0])
		epp_hosted_profiler_set_note(collector->registration, ort_eps_note(collector->eps));
	pthread_once(&once, make_key);
	ort_event_args_prepare();
	collector->counter = NULL;
	collector->events_count = collector->others_count = collector->unclear_count = 0;
	collector->number = __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED);
	collector->first_id = 0;
	bool reads_profile = ort_output_wanted() && !ort_host_reads_profile();
	ort_missing_begin(&collector->missing, reads_profile ? collector->session : NULL);
	OrtStatus *started = ort_profilers_start(collector->eps, collector->session, &start_times, &collector->hosted);
	collector->started_us = (start_times.offset_ns + ort_ns_since(start_times.ticks)) / 1000;
	__atomic_store_n(&collector->is_recording, collector->session != NULL, __ATOMIC_RELEASE);
	return started;
}

static OrtStatus *collector_start_event(OrtEpProfilerImpl *impl, uint64_t ort_id)
{
	struct collector *collector = (struct collector *)impl;
	if (!is_recording(collector))
		return NULL;
	struct open_events *open = open_events();
	if (!open) {
		epp_session_count_refused(collector->session, 1);
		return NULL;
	}
	if (open->depth && open->events[open->depth - 1].run)
		inherit(&open->events[open->depth - 1]);
	uint64_t id = epp_event_begin(collector->session, EPP_NODE, 0), none = 0;
	bool is_recorded = id > EPP_LEFT_OUT_ID;
	if (is_recorded && !__atomic_load_n(&collector->first_id, __ATOMIC_RELAXED))
		__atomic_compare_exchange_n(&collector->first_id, &none, id, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	push(open, collector, ort_id, id);
	if (is_recorded && open->depth == 1 && ort_runs_count(collector->runs))
		begin_outermost(collector, open);
	return is_recorded && collector->hosted ? ort_profilers_start_event(collector->hosted, id, ort_id) : NULL;
}

/* Counts an event.  Usually one thread has all events.  The first thread that has one counts in a variable of its own,
 * without an atomic addition, which would wait for all earlier stores. */
static void count_event(struct collector *collector, const void *thread)
{
	const void *counter = __atomic_load_n(&collector->counter, __ATOMIC_RELAXED);
	if (!counter && __atomic_compare_exchange_n(&collector->counter, &counter, thread, false, __ATOMIC_RELAXED,
	                                            __ATOMIC_RELAXED))
		counter = thread;
	if (counter == thread)
		__atomic_store_n(&collector->events_count,
		                 __atomic_load_n(&collector->events_count, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
	else
		__atomic_fetch_add(&collector->others_count, 1, __ATOMIC_RELAXED);
}

/* Ends an event that is not recorded.  Its name, which ONNX Runtime gives only now, says whether it was a step that the
 * schedule counts (record/filter/schedule.h); a run that the budget for overhead left out ends here, too. */
static OrtStatus *end_left_out(const struct collector *collector, const OrtProfilingEvent *event)
{
	const char *name = NULL;
	OrtStatus *status = collector->host->ep->ProfilingEvent_GetName(event, &name);
	epp_event_end_named(collector->session, EPP_LEFT_OUT_ID, EPP_NODE, epp_name_intern(status ? NULL : name), NULL, 0);
	return status;
}

static OrtStatus *collector_stop_event(OrtEpProfilerImpl *impl, uint64_t ort_id, const OrtProfilingEvent *event)
{
	struct collector *collector = (struct collector *)impl;
	struct open_events *open = is_recording(collector) ? open_events() : NULL;
	struct open_event popped = open ? pop(open, collector, ort_id) : (struct open_event){ 0 };
	uint64_t id = popped.id;
	if (!id)
		return NULL;
	if (id == EPP_LEFT_OUT_ID)
		return end_left_out(collector, event);
	struct ort_event_args read;
	count_event(collector, open);
	bool is_first = id == __atomic_load_n(&collector->first_id, __ATOMIC_RELAXED);
	OrtStatus *status = ort_event_args_read(collector->host, event, ort_id, is_first ? collector->started_us : -1,
	                                        open->memory, &read);
	if (read.start_us >= 0)
		ort_profile_take(&collector->missing.profile, read.start_us, read.duration_us,
		                 (int64_t)ort_id - read.start_us);
	if (read.provider && popped.profiler && ort_missing_assign(&collector->missing, popped.profiler, read.provider))
		epp_session_expect_none(collector->session, read.provider);
	if (read.provider)
		ort_missing_add_executed(&collector->missing, read.provider);
	if (popped.tag)
		ort_event_args_put_run_tag(&read, popped.tag);
	if (!open->depth && read.category == EPP_NODE)
		end_outermost(collector, open, &popped);
	epp_event_end_named(collector->session, id, read.category, read.name, read.args, read.count);
	if (!collector->hosted)
		return status;
	OrtStatus *hosted_status = ort_profilers_stop_event(collector->hosted, id, ort_id, event);
	if (status && hosted_status)
		collector->host->api->ReleaseStatus(hosted_status);
	return status ? status : hosted_status;
}

/* Adds a note to the collector's ledger: ONNX Runtime's own profile was full, or nodes have no request.  There is room
 * for one note; the first is more important. */
static void note_omitted_events(const struct collector *collector)
{
	char note[80];
	uint64_t unclear_count = __atomic_load_n(&collector->unclear_count, __ATOMIC_RELAXED);
	uint64_t count = __atomic_load_n(&collector->events_count, __ATOMIC_RELAXED) +
	                 __atomic_load_n(&collector->others_count, __ATOMIC_RELAXED);
	if (count > ORT_EVENTS_MAX)
		snprintf(note, sizeof(note), "%llu events; ONNX Runtime's own profile holds at most %u",
		         (unsigned long long)count, ORT_EVENTS_MAX);
	else
		snprintf(note, sizeof(note), "%llu nodes have no request: several runs were active",
		         (unsigned long long)unclear_count);
	if (collector->registration && (count > ORT_EVENTS_MAX || unclear_count))
		epp_hosted_profiler_set_note(collector->registration, note);
}

static OrtStatus *collector_end_profiling(OrtEpProfilerImpl *impl, OrtProfilingEventsContainer *container)
{
	struct collector *collector = (struct collector *)impl;
	if (!__atomic_exchange_n(&collector->is_recording, false, __ATOMIC_ACQ_REL))
		return NULL;
	struct collector *other;
	pthread_mutex_lock(&all_lock);
	LIST_FOREACH(other, &all, others)
		ort_missing_settle(&other->missing);
	pthread_mutex_unlock(&all_lock);
	ort_profilers_end(collector->hosted, container);
	note_omitted_events(collector);
	ort_profilers_report(collector->hosted, &collector->missing);
	ort_missing_end(&collector->missing);
	return NULL;
}

OrtEpProfilerImpl *ort_collector_create(const struct ort_host *host, const OrtLogger *logger, struct ort_eps *eps,
                                        struct ort_runs *runs)
{
	struct collector *collector = calloc(1, sizeof(*collector));
	if (!collector)
		return NULL;
	collector->host = host;
	collector->logger = logger;
	collector->eps = eps;
	collector->runs = runs;
	ort_missing_init(&collector->missing);
	collector->references = 1;
	collector->impl = (OrtEpProfilerImpl){
		.ort_version_supported = EPPROF_ORT_API_VERSION_MIN,
		.Release = collector_release,
		.StartProfiling = collector_start_profiling,
		.StartEvent = collector_start_event,
		.StopEvent = collector_stop_event,
		.EndProfiling = collector_end_profiling,
	};
	pthread_mutex_lock(&all_lock);
	LIST_INSERT_HEAD(&all, collector, others);
	all_of = getpid();
	pthread_mutex_unlock(&all_lock);
	return &collector->impl;
}

/* Reads ONNX Runtime's profiles of sessions that the process has not released before its end.  This destructor runs
 * before libepprof finishes its files. */
__attribute__((destructor)) static void read_profiles(void)
{
	struct collector *collector;
	/* In the child of a fork, the sessions belong to the parent, and another thread may hold a lock forever. */
	if (all_of != getpid())
		return;
	pthread_mutex_lock(&all_lock);
	LIST_FOREACH(collector, &all, others) {
		ort_missing_read(&collector->missing, collector->host, NULL);
		ort_missing_close(&collector->missing);
	}
	pthread_mutex_unlock(&all_lock);
}

/* ---- requests ---- */

/* Returns true if the profiling run with this number is active.  If profiling ended during a run of the model, the
 * run's event may still be on the thread's stack. */
static bool is_profiling(uint64_t number)
{
	struct collector *collector;
	bool found = false;
	pthread_mutex_lock(&all_lock);
	LIST_FOREACH(collector, &all, others)
		found |= collector->number == number && is_recording(collector);
	pthread_mutex_unlock(&all_lock);
	return found;
}

/* Returns the tag of a run; NULL: it has none. */
static const char *tag_of(const struct ort_host *host, const OrtRunOptions *options)
{
	const char *tag = NULL;
	OrtStatus *status = host->api->RunOptionsGetRunTag(options, &tag);
	if (status)
		host->api->ReleaseStatus(status);
	return !status && tag && tag[0] ? tag : NULL;
}

void ort_collector_run_starts(const struct ort_host *host, const OrtLogger *logger, const OrtRunOptions *options,
                              struct ort_runs *runs)
{
	static bool is_reported;
	struct open_events *open = this_thread;
	struct open_event *run = open && open->depth ? &open->events[open->depth - 1] : NULL;
	bool is_recorded = run && run->id > EPP_LEFT_OUT_ID;
	/* Runs that are not recorded are counted too, because a node could belong to them. */
	ort_runs_begin(runs, &this_thread, is_recorded ? run->id : 0);
	if (!is_recorded)
		return;
	open->is_pool = false;
	run->run = 0;
	run->is_unclear = false;
	run->tag = tag_of(host, options);
	const char *parent = host->api->GetRunConfigEntry ? host->api->GetRunConfigEntry(options, "traceparent") : NULL;
	if (!parent || !is_profiling(run->number))
		return;
	epp_status *status = epp_context_set(run->session, parent, host->api->GetRunConfigEntry(options, "tracestate"));
	/* The texts of requests come from clients, which could fill the log, so only the first invalid one is
	 * logged. */
	if (epp_status_code(status) == EPP_INVALID_ARGUMENT && !__atomic_exchange_n(&is_reported, true, __ATOMIC_RELAXED))
		ort_log(host, logger, ORT_LOGGING_LEVEL_WARNING, ort_status_of(host, epp_status_prefix(status, "epprof")));
	else
		epp_status_destroy(status);
}

void ort_collector_run_ends(struct ort_runs *runs)
{
	ort_runs_end(runs, &this_thread);
}

/* ---- profilers that join the collector ---- */

/* Finds the innermost event on this thread with this id, of the collector with this number (0: of any collector).
 * NULL: not found. */
static struct open_event *find_open(uint64_t number, uint64_t ort_id)
{
	struct open_events *open = this_thread;
	for (uint32_t i = open ? open->depth : 0; i > 0; i--) {
		struct open_event *event = &open->events[i - 1];
		if (event->ort_id == ort_id && (!number || event->number == number))
			return event;
	}
	return NULL;
}

struct collector *ort_collector_hold(uint64_t ort_id)
{
	const struct open_event *event = find_open(0, ort_id);
	struct collector *collector = NULL;
	if (!event || !ort_output_wanted())
		return NULL;
	pthread_mutex_lock(&all_lock);
	LIST_FOREACH(collector, &all, others)
		if (is_recording(collector) && collector->number == event->number)
			break;
	if (collector)
		collector->references++;
	pthread_mutex_unlock(&all_lock);
	return collector;
}

void ort_collector_release(struct collector *collector)
{
	pthread_mutex_lock(&all_lock);
	bool is_last = --collector->references == 0;
	if (is_last)
		LIST_REMOVE(collector, others);
	pthread_mutex_unlock(&all_lock);
	if (!is_last)
		return;
	close_collector(collector);
	free(collector);
}

epp_status *ort_collector_join(struct collector *collector, OrtEpProfilerImpl *profiler, const char *ep_name,
                               epp_hosted_profiler **registration, uint32_t *number)
{
	epp_status *status = epp_hosted_profiler_create(collector->session, profiler, ep_name, registration);
	if (!status) {
		*number = ort_missing_add_recorded(&collector->missing, ep_name ? ep_name : "ep");
		epp_session_expect_none(collector->session, ep_name ? ep_name : "ep");
	}
	return status;
}

uint64_t ort_collector_event(const struct collector *collector, uint64_t ort_id, uint32_t number)
{
	struct open_event *event = find_open(collector->number, ort_id);
	if (!event)
		return 0;
	event->profiler = number;
	/* If the event is left out, the cause is the innermost event around it that is recorded. */
	const struct open_event *around = event;
	while (around->id <= EPP_LEFT_OUT_ID && around > this_thread->events && around[-1].number == collector->number)
		around--;
	return around->id > EPP_LEFT_OUT_ID ? around->id : 0;
}

bool ort_output_wanted(void)
{
	const char *path = secure_getenv("EPPROF_OUTPUT");
	return path && *path;
}

/* An execution provider for `epprof conform`.  The environment variable HOSTILE names a case: then the provider has the
 * fault that this case finds, and no other.  Without it, it keeps the contract.  Its device is imagined: the events of
 * epp_sample_work have the times at which it was called.
 *
 * Faults that begin with 0 belong to no case: no process survives them (tests/plugin_abis/check_hostile.c). */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "epprof/abi/ort_ep_profiler.h"
#include "epprof/ep_push.h"
#include "epprof/status.h"
#include "hostile.h"

#define OPEN_MAX 64

struct event {
	uint64_t id; /* of the host event; 0: none */
	int64_t start_ns, end_ns;
	int64_t host_began_ns;              /* when StartEvent of the host event was called; 0: none */
	int graph_node;                     /* from 1; 0: it belongs to no graph */
	int64_t host_start_us, host_end_us; /* of the host event, with the faults that pass it off as the device's; or 0 */
};

struct profiler {
	OrtEpProfilerImpl impl; /* first */
	bool is_started;
	int64_t offset_ns, start_ns;
	struct event *events;
	size_t events_count, events_room;
	unsigned runs_count, starts_in_a_row;
	atomic_int open_count; /* events of all threads */
	uint64_t last_id;
	pid_t last_thread;
	bool has_events; /* of the host or of the device, ever */
	struct profiler *next;
};

static bool is_broken;
static const OrtApi *api;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all profilers */
static struct profiler *profilers;

/* The host events that are open on this thread. */
static __thread struct {
	int count;
	struct {
		struct profiler *profiler;
		uint64_t id;
		int64_t began_ns;
	} at[OPEN_MAX];
} stack;

/* The event that began last on each of the first threads. */
static _Atomic uint64_t last_ids[THREADS_WITH_ROOM];

/* Writes where nothing is mapped. */
static void write_wild(void)
{
	*(volatile uint64_t *)0x5a5a5a5a5a58 = 0x5a5a5a5a5a5a5a5a;
}

/* Overwrites half of the pages of the trace that is being recorded, before it writes where nothing is mapped. */
static void write_into_trace(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[1024];
	uintptr_t from, to;

	while (maps && fgets(line, sizeof(line), maps)) {
		if (strstr(line, " rw-s ") && strstr(line, ".epp\n") &&
		    sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &from, &to) == 2)
			memset((void *)(from + (to - from) / 2), 0x5a, (to - from) / 2);
	}
	write_wild();
}

static OrtStatus *error_if(bool is_true)
{
	return is_true ? api->CreateStatus(ORT_EP_FAIL, "the hostile plugin fails") : NULL;
}

static int64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* ---- work ---- */

/* With the lock held. */
static void add_event(struct profiler *profiler, struct event event, int units_count)
{
	if (has("2.events.many") && profiler->events_count == 512)
		return;
	/* The other cases with threads have less work in a node. */
	if (has("3.threads.events") && gettid() != getpid() && units_count == 4)
		return;
	if (has("3.ids.unknown") && profiler->events_count % 2)
		event.id += 1000000007;
	if (profiler->events_count == profiler->events_room) {
		size_t room = profiler->events_room ? profiler->events_room * 2 : 16;
		struct event *events = reallocarray(profiler->events, room, sizeof(event));
		is_broken |= !events;
		crash_if(has("5.alloc.record") && !events);
		if (!events)
			return;
		profiler->events = events;
		profiler->events_room = room;
	}
	profiler->events[profiler->events_count++] = event;
	profiler->has_events = true;
}

/* 3.graph.node has this number of units, and no other case. */
#define GRAPH_UNITS 6

static void work_once(int units_count, int number)
{
	struct event event = { .start_ns = now_ns() };

	while (now_ns() < event.start_ns + 2000)
		continue;
	event.end_ns = now_ns();
	pthread_mutex_lock(&lock);
	if (stack.count > 0) {
		struct profiler *profiler = has("3.sessions.two") ? profilers : stack.at[stack.count - 1].profiler;
		event.host_began_ns = stack.at[stack.count - 1].began_ns;
		event.id = stack.at[has("3.ids.parent") ? 0 : stack.count - 1].id;
		if (has("3.threads.ids"))
			event.id = last_ids[thread_number() % THREADS_WITH_ROOM];
		/* The graph was captured in the first node. */
		if (has("3.graph.node") && units_count == GRAPH_UNITS) {
			event.graph_node = number + 1;
			event.id = profiler->events_count ? profiler->events[0].id : event.id;
		}
		if (profiler->is_started)
			add_event(profiler, event, units_count);
	} else {
		for (struct profiler *profiler = profilers; profiler; profiler = profiler->next) {
			crash_if(has("2.session.no_host_events") && profiler->is_started);
			if (profiler->is_started || has("3.events.late"))
				add_event(profiler, event, units_count);
		}
	}
	pthread_mutex_unlock(&lock);
}

EPP_EXPORT int epp_sample_work(int count);

int epp_sample_work(int count)
{
	for (int i = 0; i < count; i++)
		work_once(count, i);
	return 0;
}

/* ---- the profiler ---- */

/* Starts a thread that waits for ever, in libc: it survives that this library is unloaded. */
static void start_thread(void)
{
	void *(*wait_for_ever)(void *) = (void *(*)(void *))(void *)pause;
	pthread_t thread;

	if (pthread_create(&thread, NULL, wait_for_ever, NULL) == 0)
		pthread_detach(thread);
}

/* What a run should not leave behind. */
static void leak(const struct profiler *profiler)
{
	if (has("5.leak.memory")) {
		void *volatile leaked = malloc(16384);
		(void)leaked;
	}
	if (has("5.leak.descriptors"))
		open("/dev/null", O_RDONLY | O_CLOEXEC);
	/* Not in the first run, so that a plugin that is used once leaves no thread behind. */
	if (has("5.leak.threads") && profiler->runs_count > 0)
		start_thread();
}

static atomic_bool spins;
static pthread_t spinner;

static void *spin(void *unused)
{
	while (spins)
		continue;
	return unused;
}

static pid_t loaded_by;

__attribute__((constructor)) static void enter(void)
{
	loaded_by = getpid();
}

__attribute__((destructor)) static void leave(void)
{
	bool is_forked = getpid() != loaded_by;

	hang_if(has("5.fork.child") && is_forked);
	for (const struct profiler *profiler = profilers; profiler; profiler = profiler->next)
		crash_if(has("5.exit.recording") && profiler->is_started && !is_forked);
}

static void profiler_release(OrtEpProfilerImpl *this_ptr)
{
	struct profiler *profiler = (struct profiler *)this_ptr, **at = &profilers;

	crash_if(has("2.order.never_started") && !profiler->runs_count);
	crash_if(has("2.order.release_started") && profiler->is_started);
	pthread_mutex_lock(&lock);
	while (*at != profiler)
		at = &(*at)->next;
	*at = profiler->next;
	for (struct profiler *other = profilers; other && has("2.session.run_level"); other = other->next)
		other->is_started = false;
	pthread_mutex_unlock(&lock);
	if (spins) {
		spins = false;
		pthread_join(spinner, NULL);
	}
	free(profiler->events);
	free(profiler);
}

static OrtStatus *profiler_start(OrtEpProfilerImpl *this_ptr, int64_t offset_ns)
{
	struct profiler *profiler = (struct profiler *)this_ptr;

	hang_if(has("2.order.start_twice") && profiler->is_started);
	crash_if(has("5.random.calls") && ++profiler->starts_in_a_row == 3);
	leak(profiler);
	pthread_mutex_lock(&lock);
	profiler->is_started = true;
	profiler->offset_ns = offset_ns;
	profiler->start_ns = now_ns();
	profiler->runs_count++;
	pthread_mutex_unlock(&lock);
	return error_if((has("2.restart.many") && profiler->runs_count > 10) || (has("5.alloc.after") && is_broken));
}

static OrtStatus *profiler_start_event(OrtEpProfilerImpl *this_ptr, uint64_t id)
{
	struct profiler *profiler = (struct profiler *)this_ptr;

	crash_if(has("2.order.events_outside") && !profiler->is_started && profiler->runs_count);
	/* At once: of two threads, the second one finds the first one's event. */
	pthread_mutex_lock(&lock);
	bool is_same = profiler->open_count > 0 && profiler->last_id == id;
	bool is_same_thread = profiler->last_thread == gettid();
	profiler->last_id = id;
	profiler->last_thread = gettid();
	profiler->open_count++;
	pthread_mutex_unlock(&lock);
	bool is_slow = has("3.events.cost") ? profiler->is_started : has("1.idle.calls") && !profiler->is_started;
	for (int64_t end_ns = now_ns() + 50000; is_slow && now_ns() < end_ns;)
		continue;
	if (stack.count < OPEN_MAX) {
		stack.at[stack.count].profiler = profiler;
		stack.at[stack.count].id = id;
		stack.at[stack.count].began_ns = now_ns();
		stack.count++;
	}
	if (thread_number() < THREADS_WITH_ROOM)
		last_ids[thread_number()] = id;
	profiler->has_events = true;
	return error_if(is_same && has(is_same_thread ? "3.ids.nested" : "3.ids.threads"));
}

/* Notes the times of a host event in the first event of its work. */
static void take_host_times(struct profiler *profiler, uint64_t id, const OrtProfilingEvent *ort_event)
{
	const OrtEpApi *ep_api = api->GetEpApi();
	int64_t start_us = 0, duration_us = 0;
	size_t first = 0;

	pthread_mutex_lock(&lock);
	while (first < profiler->events_count && profiler->events[first].id != id)
		first++;
	if (first < profiler->events_count) {
		api->ReleaseStatus(ep_api->ProfilingEvent_GetTimestampUs(ort_event, &start_us));
		api->ReleaseStatus(ep_api->ProfilingEvent_GetDurationUs(ort_event, &duration_us));
		profiler->events[first].host_start_us = start_us;
		profiler->events[first].host_end_us = start_us + duration_us;
	}
	pthread_mutex_unlock(&lock);
}

static OrtStatus *profiler_stop_event(OrtEpProfilerImpl *this_ptr, uint64_t id, const OrtProfilingEvent *ort_event)
{
	struct profiler *profiler = (struct profiler *)this_ptr;

	if (has("4.clock.clamped") || has("4.clock.host_time"))
		take_host_times(profiler, id, ort_event);
	bool is_open = stack.count > 0 && stack.at[stack.count - 1].profiler == profiler &&
	               stack.at[stack.count - 1].id == id;
	bool is_interleaved = stack.count > 1 && !is_open && stack.at[stack.count - 2].id == id;
	crash_if(has("2.order.stop_alone") && !is_open && !is_interleaved);
	crash_if(has("3.ids.interleaved") && is_interleaved);
	if (is_open)
		stack.count--;
	profiler->open_count--;
	profiler->has_events = true;
	return NULL;
}

/* True if the host does not wait for late events: 3.late.run and 3.late.times have such sessions. */
static bool is_impatient(struct profiler *profiler)
{
	EpprofApi_GraceNs_SinceV1_Fn grace_ns = (EpprofApi_GraceNs_SinceV1_Fn)api->GetExperimentalFunction(
	    "EpprofApi_GraceNs_SinceV1");
	return grace_ns && grace_ns(&profiler->impl) <= 1;
}

/* As a device that counts cycles only: the events of a node one after the other, from before its work on. */
static void invent_times(const struct profiler *profiler, size_t index, int64_t zero_ns, int64_t *start_ns, int64_t *end_ns)
{
	const struct event *events = profiler->events;
	size_t first = index;

	while (first > 0 && events[first - 1].id == events[index].id)
		first--;
	*start_ns = events[first].host_began_ns + (events[first].start_ns - events[first].host_began_ns) / 2 - zero_ns;
	for (size_t i = first; i < index; i++)
		*start_ns += events[i].end_ns - events[i].start_ns;
	*end_ns = *start_ns + events[index].end_ns - events[index].start_ns;
}

/* The times of an event with the fault, in nanoseconds since the host's profile began. */
static void make_times(struct profiler *profiler, size_t index, int64_t *start_ns, int64_t *end_ns)
{
	const struct event *events = profiler->events, *event = &events[index];
	int64_t zero_ns = profiler->start_ns - profiler->offset_ns, first_ns = events[0].start_ns;
	bool is_later_node = event->id != events[0].id;

	*start_ns = event->start_ns - zero_ns;
	*end_ns = event->end_ns - zero_ns;
	if (has("3.events.late") && event->start_ns < profiler->start_ns)
		*start_ns = *end_ns = profiler->offset_ns;
	if (has("4.clock.window"))
		*start_ns += 900000000, *end_ns += 900000000;
	if (has("4.clock.refused") && index % 2)
		*end_ns = *start_ns - 10000;
	if (has("4.clock.parents") && events[0].host_began_ns) {
		int64_t early_ns = first_ns - events[0].host_began_ns + 5000000;
		*start_ns -= early_ns, *end_ns -= early_ns;
	}
	if (has("4.clock.overlap") && !is_later_node)
		*start_ns = first_ns - zero_ns;
	if (has("4.clock.zero"))
		*end_ns = *start_ns;
	if (has("4.clock.units") || has("4.clock.rate")) {
		int divisor = has("4.clock.units") ? 1000 : 10;
		int64_t duration_ns = (event->end_ns - event->start_ns) / divisor;
		*start_ns = first_ns - zero_ns + (event->start_ns - first_ns) / divisor;
		*end_ns = *start_ns + (duration_ns > 1000 ? duration_ns : 1000);
	}
	if (has("4.clock.order") && is_later_node)
		*start_ns -= 536870912, *end_ns -= 536870912;
	if (has("4.clock.invented") && event->host_began_ns)
		invent_times(profiler, index, zero_ns, start_ns, end_ns);
	if (has("3.late.times") && is_impatient(profiler))
		*start_ns = *end_ns = now_ns() - zero_ns;
	if (event->host_end_us) {
		*start_ns = event->host_start_us * 1000;
		*end_ns = has("4.clock.clamped") ? *end_ns : event->host_end_us * 1000;
	}
}

static OrtStatus *deliver(struct profiler *profiler, size_t index, OrtProfilingEventsContainer *container)
{
	static const char *const keys[] = { "ort_correlation_id", "graph", "graph_node" };
	const struct event *event = &profiler->events[index];
	const OrtEpApi *ep_api = api->GetEpApi();
	char *id = NULL;
	OrtProfilingEvent *made;
	int32_t device = 0, stream = event->host_end_us ? 2 : 1;
	int64_t start_ns, end_ns;

	id = malloc(32);
	crash_if(has("5.alloc.end") && !id);
	if (!id)
		return api->CreateStatus(ORT_EP_FAIL, "no memory");
	snprintf(id, 32, "%llu", (unsigned long long)event->id);
	char graph_node[16];
	snprintf(graph_node, sizeof(graph_node), "%d", event->graph_node - 1);
	const char *values[] = { id, "1", graph_node };
	make_times(profiler, index, &start_ns, &end_ns);
	OrtStatus *status = ep_api->CreateProfilingEvent(OrtProfilingEventCategory_KERNEL, device, stream, "work",
	                                                 start_ns / 1000, end_ns / 1000 - start_ns / 1000, keys, values,
	                                                 event->graph_node ? 3
	                                                 : event->id       ? 1
	                                                                   : 0,
	                                                 &made);
	free(id);
	if (status)
		return status;
	status = ep_api->ProfilingEventsContainer_AddEvents(container, (const OrtProfilingEvent *const *)&made, 1);
	ep_api->ReleaseProfilingEvent(made);
	return status;
}

static OrtStatus *profiler_end(OrtEpProfilerImpl *this_ptr, OrtProfilingEventsContainer *container)
{
	struct profiler *profiler = (struct profiler *)this_ptr;
	OrtStatus *status = NULL;

	crash_if(has("2.order.end_alone") && !profiler->runs_count);
	crash_if(has("2.order.end_twice") && profiler->runs_count && !profiler->is_started);
	hang_if(has("2.order.open_event") && profiler->open_count > 0);
	if (has("0.memory.wild_pointer") && profiler->runs_count == 3)
		write_wild();
	if (has("0.memory.trace") && profiler->runs_count == 3)
		write_into_trace();
	profiler->starts_in_a_row = 0;
	pthread_mutex_lock(&lock);
	profiler->is_started = false;
	/* They come in the next run, as if they were its own. */
	bool is_late = has("3.late.run") && is_impatient(profiler);
	if (is_late && profiler->runs_count == 1) {
		pthread_mutex_unlock(&lock);
		return NULL;
	}
	for (size_t i = 0; is_late && i < profiler->events_count; i++)
		profiler->events[i].id = profiler->events[profiler->events_count - 1].id;
	bool is_silent = has("2.restart.silent") && profiler->runs_count > 1;
	for (size_t i = 0; i < profiler->events_count && !status && !is_silent; i++)
		status = deliver(profiler, i, container);
	if (!has("2.restart.repeats"))
		profiler->events_count = 0;
	pthread_mutex_unlock(&lock);
	return status ? status : error_if(has("2.session.empty") && profiler->runs_count && !profiler->has_events);
}

static OrtStatus *create_profiler(OrtEp *this_ptr, OrtEpProfilerImpl **out)
{
	struct profiler *profiler = calloc(1, sizeof(*profiler));

	(void)this_ptr;
	if (has("1.load.prints"))
		puts("hostile: a profiler is made");
	if (has("1.load.process"))
		signal(SIGINT, SIG_IGN);
	if (has("5.unload.threads"))
		start_thread();
	if (has("1.idle.threads") && !spins) {
		spins = true;
		spins = pthread_create(&spinner, NULL, spin, NULL) == 0;
	}
	crash_if(has("5.alloc.load") && !profiler);
	if (has("1.load.profiler") || !profiler) {
		free(profiler);
		return NULL;
	}
	profiler->impl = (OrtEpProfilerImpl){
		.ort_version_supported = has("1.load.version") ? 99 : 25,
		.Release = profiler_release,
		.StartProfiling = profiler_start,
		.StartEvent = profiler_start_event,
		.StopEvent = profiler_stop_event,
		.EndProfiling = has("1.load.entries") ? NULL : profiler_end,
	};
	pthread_mutex_lock(&lock);
	profiler->next = profilers;
	profilers = profiler;
	pthread_mutex_unlock(&lock);
	*out = &profiler->impl;
	return NULL;
}

/* ---- EP and factory ---- */

static const char *get_name(const OrtEpFactory *this_ptr)
{
	(void)this_ptr;
	return "hostile";
}

static OrtStatus *get_devices(OrtEpFactory *this_ptr, const OrtHardwareDevice *const *devices, size_t num_devices,
                              OrtEpDevice **ep_devices, size_t max_ep_devices, size_t *num_ep_devices)
{
	if (num_devices < 1 || max_ep_devices < 1)
		return NULL;
	*num_ep_devices = 1;
	return api->GetEpApi()->CreateEpDevice(this_ptr, devices[0], NULL, NULL, &ep_devices[0]);
}

static OrtStatus *create_ep(OrtEpFactory *this_ptr, const OrtHardwareDevice *const *devices,
                            const OrtKeyValuePairs *const *ep_metadata_pairs, size_t num_devices,
                            const OrtSessionOptions *session_options, const OrtLogger *logger, OrtEp **ep)
{
	static OrtEp made;

	(void)this_ptr, (void)devices, (void)ep_metadata_pairs, (void)num_devices, (void)session_options, (void)logger;
	made.ort_version_supported = 25;
	made.CreateProfiler = create_profiler;
	*ep = &made;
	return NULL;
}

static void release_ep(OrtEpFactory *this_ptr, OrtEp *ep)
{
	(void)this_ptr, (void)ep;
}

static OrtStatus *create_data_transfer(OrtEpFactory *this_ptr, OrtDataTransferImpl **data_transfer)
{
	(void)this_ptr;
	*data_transfer = NULL;
	return NULL;
}

EPP_EXPORT OrtStatus *CreateEpFactories(const char *registered_name, const OrtApiBase *ort_api_base,
                                        const OrtLogger *default_logger, OrtEpFactory **factories, size_t max_factories,
                                        size_t *num_factories);
EPP_EXPORT OrtStatus *ReleaseEpFactory(OrtEpFactory *factory);

OrtStatus *CreateEpFactories(const char *registered_name, const OrtApiBase *ort_api_base, const OrtLogger *default_logger,
                             OrtEpFactory **factories, size_t max_factories, size_t *num_factories)
{
	static OrtEpFactory factory;

	(void)registered_name, (void)default_logger, (void)max_factories;
	api = ort_api_base->GetApi(EPPROF_ORT_API_VERSION);
	if (!api && !has("1.load.old_host"))
		api = ort_api_base->GetApi(25);
	OrtStatus *status = api->CreateStatus(ORT_EP_FAIL, "no device");
	if (has("1.load.library"))
		return status;
	api->ReleaseStatus(status);
	factory = (OrtEpFactory){
		.ort_version_supported = 25,
		.GetName = get_name,
		.GetVendor = get_name,
		.GetSupportedDevices = get_devices,
		.CreateEp = create_ep,
		.ReleaseEp = release_ep,
		.GetVersion = get_name,
		.CreateDataTransfer = create_data_transfer,
	};
	factories[0] = &factory;
	*num_factories = 1;
	return NULL;
}

OrtStatus *ReleaseEpFactory(OrtEpFactory *factory)
{
	(void)factory;
	hang_if(has("1.load.unload"));
	return NULL;
}

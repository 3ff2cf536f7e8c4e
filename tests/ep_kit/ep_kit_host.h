/* Two hosts for the kit, of the test's own: an epprof host, whose OrtApi has GetExperimentalFunction, and one like ONNX
 * Runtime 1.26, whose table ends where that slot would be: touching it is a fault.  Both keep what they are given and
 * count what they gave: at the end of a test no status and no event may be left. */
#ifndef EPPROF_TESTS_EP_KIT_EP_KIT_HOST_H
#define EPPROF_TESTS_EP_KIT_EP_KIT_HOST_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "ep_kit/kit.h"
#include "tests/support/check.h"

#define HOST_ARGS_MAX 300

struct OrtStatus {
	OrtErrorCode code;
	char message[200];
};

/* Created by the kit, or shown to it in StopEvent. */
struct OrtProfilingEvent {
	int category;
	int32_t process_id;
	int32_t thread_id;
	char *name;
	int64_t timestamp_us;
	int64_t duration_us;
	size_t args_count;
	char *keys[HOST_ARGS_MAX];
	char *values[HOST_ARGS_MAX];
};

struct host_pushed {
	EpprofEvent event;
	char *name;
	char *keys[HOST_ARGS_MAX];
	char *texts[HOST_ARGS_MAX];
	EpprofArg args[HOST_ARGS_MAX];
};

static struct {
	pthread_mutex_t lock;
	const char *version;
	bool version_was_read;
	OrtApi *api;
	OrtEpApi ep_api;
	atomic_int statuses_count; /* alive */
	atomic_int events_count;   /* alive */

	/* ONNX Runtime's side. */
	OrtProfilingEvent *added[4096]; /* copies */
	size_t added_count;
	size_t add_calls_count;
	size_t create_fails_every; /* each so-manieth CreateProfilingEvent fails */
	size_t creates_count;
	bool add_fails;
	bool add_drops; /* counts only */

	/* An epprof host's. */
	struct host_pushed *pushed[4096];
	size_t pushed_count;
	bool push_drops;
	EpprofClock clock;
	size_t clocks_count;
	EpprofClockPair pairs[4096];
	size_t pairs_count;
	char labels[64][64]; /* names of devices ("0 name") and streams ("0/1 name"), in the order in which they came */
	size_t labels_count;
	EpprofCounter counters[64];
	char counter_names[64][64];
	size_t counters_count;
	EpprofLedger ledger;
	bool ledger_fails; /* one of them did not balance with what was pushed */
	void (*in_push)(void);
	bool takes_late; /* it offers the functions for late events */
	size_t late_count;
	uint64_t grace_ns;
	uint64_t unfinished_count;
	void (*in_grace)(void);
	_Atomic uint64_t ticks; /* its clock */
} host = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- statuses ---- */

static inline OrtStatus *host_create_status(OrtErrorCode code, const char *message)
{
	OrtStatus *status = calloc(1, sizeof(*status));
	status->code = code;
	snprintf(status->message, sizeof(status->message), "%s", message);
	atomic_fetch_add(&host.statuses_count, 1);
	return status;
}

static inline void host_release_status(OrtStatus *status)
{
	if (status)
		atomic_fetch_sub(&host.statuses_count, 1);
	free(status);
}

#define host_ok(expression) \
	do { \
		OrtStatus *host_status = (expression); \
		ck_assert_msg(!host_status, "%s: %s", #expression, host_status->message); \
	} while (0)

#define host_fails(expected, expression) \
	do { \
		OrtStatus *host_status = (expression); \
		ck_assert_msg(host_status != NULL, "%s: succeeded", #expression); \
		ck_assert_int_eq(host_status->code, expected); \
		host_release_status(host_status); \
	} while (0)

/* ---- events ---- */

static inline OrtProfilingEvent *host_event_copy(int category, int32_t process_id, int32_t thread_id, const char *name,
                                                 int64_t timestamp_us, int64_t duration_us, const char *const *keys,
                                                 const char *const *values, size_t count)
{
	OrtProfilingEvent *event = calloc(1, sizeof(*event));
	ck_assert_uint_le(count, HOST_ARGS_MAX);
	event->category = category;
	event->process_id = process_id;
	event->thread_id = thread_id;
	event->name = strdup(name);
	event->timestamp_us = timestamp_us;
	event->duration_us = duration_us;
	event->args_count = count;
	for (size_t i = 0; i < count; i++) {
		event->keys[i] = strdup(keys[i]);
		event->values[i] = strdup(values[i]);
	}
	return event;
}

static inline void host_event_free(OrtProfilingEvent *event)
{
	for (size_t i = 0; i < event->args_count; i++) {
		free(event->keys[i]);
		free(event->values[i]);
	}
	free(event->name);
	free(event);
}

static inline OrtStatus *host_create_event(OrtProfilingEventCategory category, int32_t process_id, int32_t thread_id,
                                           const char *name, int64_t timestamp_us, int64_t duration_us,
                                           const char *const *keys, const char *const *values, size_t count,
                                           OrtProfilingEvent **out)
{
	ck_assert_int_le(category, 3);
	if (host.create_fails_every && ++host.creates_count % host.create_fails_every == 0)
		return host_create_status(ORT_FAIL, "no event today");
	*out = host_event_copy((int)category, process_id, thread_id, name, timestamp_us, duration_us, keys, values, count);
	atomic_fetch_add(&host.events_count, 1);
	return NULL;
}

static inline void host_release_event(OrtProfilingEvent *event)
{
	atomic_fetch_sub(&host.events_count, 1);
	host_event_free(event);
}

static inline OrtStatus *host_event_name(const OrtProfilingEvent *event, const char **out)
{
	*out = event->name;
	return NULL;
}

static inline OrtStatus *host_event_timestamp(const OrtProfilingEvent *event, int64_t *out)
{
	*out = event->timestamp_us;
	return NULL;
}

static inline const char *host_event_arg(const OrtProfilingEvent *event, const char *key)
{
	for (size_t i = 0; i < event->args_count; i++) {
		if (strcmp(event->keys[i], key) == 0)
			return event->values[i];
	}
	return NULL;
}

static inline OrtStatus *host_get_arg(const OrtProfilingEvent *event, const char *key, const char **out)
{
	*out = host_event_arg(event, key);
	return NULL;
}

static inline OrtStatus *host_add_events(OrtProfilingEventsContainer *container, const OrtProfilingEvent *const *events,
                                         size_t count)
{
	ck_assert_ptr_eq((void *)container, (void *)&host);
	ck_assert_uint_gt(count, 0);
	host.add_calls_count++;
	if (host.add_fails)
		return host_create_status(ORT_EP_FAIL, "the container is closed");
	for (size_t i = 0; i < count; i++, host.added_count++) {
		const OrtProfilingEvent *event = events[i];
		if (host.add_drops)
			continue;
		ck_assert_uint_lt(host.added_count, 4096);
		host.added[host.added_count] = host_event_copy(event->category, event->process_id, event->thread_id,
		                                               event->name, event->timestamp_us, event->duration_us,
		                                               (const char *const *)event->keys,
		                                               (const char *const *)event->values, event->args_count);
	}
	return NULL;
}

#define HOST_CONTAINER ((OrtProfilingEventsContainer *)(void *)&host)

/* ---- an epprof host ---- */

static inline uint64_t host_ticks(void)
{
	return atomic_fetch_add(&host.ticks, 1);
}

/* Not the nanosecond: ticks that are taken for ns must show. */
#define HOST_PER_SECOND 2500000000u

static inline uint64_t host_ticks_per_second(void)
{
	return HOST_PER_SECOND;
}

static inline uint64_t host_ledger_lost(const EpprofLedger *ledger)
{
	return ledger->lost_no_buffer + ledger->lost_refused + ledger->lost_outside_run + ledger->lost_other;
}

static inline void host_push(OrtEpProfilerImpl *profiler, const EpprofBatch *batch)
{
	(void)profiler;
	if (host.in_push)
		host.in_push();
	pthread_mutex_lock(&host.lock);
	ck_assert_uint_eq(batch->struct_size, sizeof(*batch));
	for (size_t i = 0; i < batch->clocks_count; i++, host.clocks_count++)
		host.clock = batch->clocks[i];
	for (size_t i = 0; i < batch->devices_count && host.labels_count < 64; i++)
		snprintf(host.labels[host.labels_count++], 64, "%d %s", batch->devices[i].device, batch->devices[i].group);
	for (size_t i = 0; i < batch->tracks_count && host.labels_count < 64; i++)
		snprintf(host.labels[host.labels_count++], 64, "%d/%d %s", batch->tracks[i].device,
		         (int)batch->tracks[i].stream, batch->tracks[i].name);
	for (size_t i = 0; i < batch->counters_count && host.counters_count < 64; i++) {
		snprintf(host.counter_names[host.counters_count], 64, "%s", batch->counters[i].name);
		host.counters[host.counters_count++] = batch->counters[i];
	}
	for (size_t i = 0; i < batch->pairs_count && host.pairs_count < 4096; i++)
		host.pairs[host.pairs_count++] = batch->pairs[i];
	for (size_t i = 0; i < batch->events_count; i++, host.pushed_count++) {
		ck_assert_uint_gt(host.clocks_count, 0);
		if (host.push_drops)
			continue;
		ck_assert_uint_lt(host.pushed_count, 4096);
		struct host_pushed *pushed = calloc(1, sizeof(*pushed));
		pushed->event = batch->events[i];
		pushed->name = strdup(pushed->event.name);
		for (uint32_t a = 0; a < pushed->event.args_count; a++) {
			pushed->args[a] = pushed->event.args[a];
			pushed->keys[a] = strdup(pushed->args[a].key);
			if (pushed->args[a].type == 3)
				pushed->texts[a] = strndup(pushed->args[a].text, pushed->args[a].text_bytes);
		}
		host.pushed[host.pushed_count] = pushed;
	}
	host.unfinished_count += batch->unfinished_count;
	if (batch->ledger) {
		host.ledger = *batch->ledger;
		host.ledger_fails |= batch->ledger->emitted < host_ledger_lost(batch->ledger);
	}
	pthread_mutex_unlock(&host.lock);
}

static inline void host_push_late(OrtEpProfilerImpl *profiler, const EpprofBatch *batch)
{
	ck_assert_ptr_null(batch->ledger);
	host.late_count += batch->events_count;
	host_push(profiler, batch);
}

static inline uint64_t host_grace_ns(OrtEpProfilerImpl *profiler)
{
	(void)profiler;
	if (host.in_grace)
		host.in_grace();
	return host.grace_ns;
}

static inline OrtExperimentalFnPtr host_function(const char *name)
{
	if (strcmp(name, "EpprofApi_PushEvents_SinceV1") == 0)
		return (OrtExperimentalFnPtr)host_push;
	if (strcmp(name, "EpprofApi_PushLateEvents_SinceV1") == 0)
		return host.takes_late ? (OrtExperimentalFnPtr)host_push_late : NULL;
	if (strcmp(name, "EpprofApi_GraceNs_SinceV1") == 0)
		return host.takes_late ? (OrtExperimentalFnPtr)host_grace_ns : NULL;
	if (strcmp(name, "EpprofApi_HostTicks_SinceV1") == 0)
		return (OrtExperimentalFnPtr)host_ticks;
	if (strcmp(name, "EpprofApi_HostTicksPerSecond_SinceV1") == 0)
		return (OrtExperimentalFnPtr)host_ticks_per_second;
	return NULL;
}

/* ---- tables ---- */

static inline uint32_t host_minor(void)
{
	unsigned minor;
	return sscanf(host.version, "1.%u", &minor) == 1 ? minor : 0;
}

static inline const OrtApi *host_get_api(uint32_t version)
{
	ck_assert_msg(host.version_was_read, "GetApi before GetVersionString");
	return version <= host_minor() ? host.api : NULL;
}

static inline const char *host_get_version(void)
{
	host.version_was_read = true;
	return host.version;
}

static inline const OrtEpApi *host_get_ep_api(void)
{
	return &host.ep_api;
}

static const OrtApiBase host_base = { host_get_api, host_get_version };

/* A table of which the first `slots_count` slots exist. */
static inline OrtApi *host_table(size_t slots_count)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t bytes = (slots_count * sizeof(void *) + page - 1) / page * page;
	char *memory = mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(memory, MAP_FAILED);
	ck_assert_int_eq(mprotect(memory + bytes, page, PROT_NONE), 0);
	return (OrtApi *)(void *)(memory + bytes - slots_count * sizeof(void *));
}

/* Everything anew; the version says whether the table has GetExperimentalFunction. */
static inline void host_setup(const char *version)
{
	memset(&host, 0, sizeof(host));
	pthread_mutex_init(&host.lock, NULL);
	atomic_store(&host.ticks, 1000000);
	host.version = version;
	bool is_old = host_minor() < EPPROF_ORT_EXPERIMENTAL_VERSION;
	host.api = host_table(is_old ? EPPROF_ORT_EXPERIMENTAL_SLOT : EPPROF_ORT_API_SLOTS);
	host.api->CreateStatus = host_create_status;
	host.api->ReleaseStatus = host_release_status;
	host.api->GetEpApi = host_get_ep_api;
	if (!is_old)
		host.api->GetExperimentalFunction = host_function;
	host.ep_api.CreateProfilingEvent = host_create_event;
	host.ep_api.ReleaseProfilingEvent = host_release_event;
	host.ep_api.ProfilingEvent_GetName = host_event_name;
	host.ep_api.ProfilingEvent_GetTimestampUs = host_event_timestamp;
	host.ep_api.ProfilingEvent_GetArgValue = host_get_arg;
	host.ep_api.ProfilingEventsContainer_AddEvents = host_add_events;
}

/* Forgets what came so far. */
static inline void host_clear(void)
{
	for (size_t i = 0; i < host.added_count && !host.add_drops; i++)
		host_event_free(host.added[i]);
	for (size_t i = 0; i < host.pushed_count && !host.push_drops; i++) {
		for (size_t a = 0; a < HOST_ARGS_MAX; a++) {
			free(host.pushed[i]->keys[a]);
			free(host.pushed[i]->texts[a]);
		}
		free(host.pushed[i]->name);
		free(host.pushed[i]);
	}
	host.labels_count = host.counters_count = 0;
	host.added_count = host.pushed_count = host.pairs_count = host.clocks_count = host.add_calls_count = 0;
}

static inline void host_teardown(void)
{
	host_clear();
	ck_assert_int_eq(atomic_load(&host.statuses_count), 0);
	ck_assert_int_eq(atomic_load(&host.events_count), 0);
	ck_assert(!host.ledger_fails);
}

/* ---- the EP ---- */

static inline uint64_t real_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t ep_now(void *user)
{
	(void)user;
	return real_ns();
}

static inline epp_ep_options ep_options(void)
{
	return (epp_ep_options){
		.struct_size = sizeof(epp_ep_options),
		.ort_api_base = &host_base,
		.ep_name = "TestEP",
		.now_ticks = ep_now,
		.ticks_per_second = 1000000000,
	};
}

static inline epp_ep_profiler *ep_create(const epp_ep_options *options)
{
	epp_ep_profiler *profiler;
	host_ok(epp_ep_profiler_create(options, &profiler));
	ck_assert_ptr_nonnull(profiler);
	return profiler;
}

static inline void ep_start(epp_ep_profiler *profiler)
{
	host_ok(profiler->impl.StartProfiling(&profiler->impl, 5000000));
}

static inline void ep_end(epp_ep_profiler *profiler)
{
	host_ok(profiler->impl.EndProfiling(&profiler->impl, HOST_CONTAINER));
}

static inline void ep_begin_event(epp_ep_profiler *profiler, uint64_t id)
{
	host_ok(profiler->impl.StartEvent(&profiler->impl, id));
}

static inline void ep_stop_event(epp_ep_profiler *profiler, uint64_t id, const OrtProfilingEvent *event)
{
	host_ok(profiler->impl.StopEvent(&profiler->impl, id, event));
}

static inline void ep_release(epp_ep_profiler *profiler)
{
	profiler->impl.Release(&profiler->impl);
}

static inline void ep_emit(epp_ep_profiler *profiler, uint64_t parent, const char *name)
{
	uint64_t now = real_ns();
	epp_ep_event event = { .parent = parent, .name = name, .start_ticks = now - 1000, .end_ticks = now, .stream = 1 };
	epp_ep_emit(profiler, &event);
}

/* The ledger: so many emitted by the test's own count, so many handed over by the host's; the rest must be in
 * `lost`. */
static inline EpprofLedger ep_balance(epp_ep_profiler *profiler, uint64_t emitted, uint64_t handed_over)
{
	EpprofLedger ledger;
	epp_ep_ledger(profiler, &ledger);
	ck_assert_uint_eq(ledger.emitted, emitted);
	ck_assert_uint_eq(ledger.emitted, handed_over + host_ledger_lost(&ledger));
	return ledger;
}

#endif

/* Implements the OrtEpProfilerImpl of a PU1 library.  A library has one run, from the first session's StartProfiling to
 * the last one's EndProfiling: the first session enables kinds and the last one disables them; while others remain, a
 * session that ends only flushes.
 *
 * During the run a reader thread reads buffers as they fill and adds a clock pair about every 100 ms.  After the run it
 * reads buffers that come late, until the last profiler is released.  EndProfiling calls pu1FlushAll on the library's
 * worker.  All calls run there, except those that push and pop ids of events.  If pu1FlushAll never returns, the
 * sessions end without the remaining records, and the library is not called again. */
#include "plugins/pu1/pu1_profiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/thread.h"
#include "ort_abi/ort_status.h"
#include "ort_abi/profiler_registry.h"
#include "plugins/pu1/pu1_pool.h"
#include "plugins/pu1/pu1_reading.h"
#include "plugins/pu1/pu1_tokens.h"

#define PAIR_INTERVAL_NS 100000000u
#define NS_PER_SECOND 1000000000u

static OrtStatus *failed(const struct pu1_library *library, const char *call, pu1Result result)
{
	char text[PU1_FAULT_BYTES], message[2 * PU1_FAULT_BYTES];
	if (result == PU1_SUCCESS)
		return NULL;
	snprintf(message, sizeof(message), "%s: %s", call, pu1_result_text(library, result, text, sizeof(text)));
	return ort_status_create(1, message);
}

/* ---- the reader ---- */

/* Waits until a buffer is full, but in a run not longer than until the next clock pair is due.  Returns true if there is
 * something to do.  The caller holds the lock. */
static bool wait_for_buffer(struct pu1_library *library)
{
	struct timespec deadline = thread_deadline(PAIR_INTERVAL_NS);
	int error = 0;
	while (!error && !library->due && !library->reader_may_go) {
		if (library->has_run)
			error = pthread_cond_timedwait(&library->changed, &library->lock, &deadline);
		else
			pthread_cond_wait(&library->changed, &library->lock);
	}
	/* The run may have ended during the wait.  The process may then end, so the library is not called without need. */
	bool is_due = library->due || library->has_run;
	library->due = false;
	return is_due;
}

static void *read_buffers(void *argument)
{
	struct pu1_library *library = argument;
	uint64_t pair_due_ns = 0;
	pthread_mutex_lock(&library->lock);
	/* Once reader_may_go is set, the reader does not call the library any more. */
	for (;;) {
		bool is_due = wait_for_buffer(library), has_run = library->has_run;
		if (library->reader_may_go)
			break;
		if (!is_due)
			continue;
		pthread_mutex_unlock(&library->lock);
		struct timespec now;
		clock_gettime(CLOCK_MONOTONIC, &now);
		uint64_t now_ns = (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
		pthread_mutex_lock(&library->read_lock);
		pu1_read(library);
		if (has_run && now_ns >= pair_due_ns) {
			pu1_read_clock(library, NULL);
			pair_due_ns = now_ns + PAIR_INTERVAL_NS;
		}
		pthread_mutex_unlock(&library->read_lock);
		pu1_pool_touch();
		pthread_mutex_lock(&library->lock);
	}
	library->reader_is_there = false;
	pthread_mutex_unlock(&library->lock);
	return NULL;
}

static bool reader_ensure(struct pu1_library *library)
{
	pthread_t thread;
	bool there = true;
	pthread_mutex_lock(&library->lock);
	library->reader_may_go = false;
	library->has_run = true;
	if (!library->reader_is_there) {
		there = thread_start(NULL, read_buffers, library, &thread) == 0;
		library->reader_is_there = there;
	}
	pthread_cond_broadcast(&library->changed);
	pthread_mutex_unlock(&library->lock);
	return there;
}

/* Called when the last session has ended: from now on the reader only waits for late buffers, and adds no clock
 * pairs. */
static void reader_rest(struct pu1_library *library)
{
	pthread_mutex_lock(&library->lock);
	library->has_run = false;
	pthread_mutex_unlock(&library->lock);
}

/* ---- the library's run; the caller holds run_lock ---- */

static void disable(struct pu1_library *library)
{
	for (unsigned kind = 1; kind <= PU1_KINDS_COUNT; kind++) {
		if (library->kinds_enabled & 1u << kind)
			library->calls.disable((pu1ActivityKind)kind);
	}
	library->kinds_enabled = 0;
}

/* Enables the kinds of records.  The library may reject some kinds, but not all. */
static OrtStatus *enable(struct pu1_library *library)
{
	pu1Result result = library->calls.set_callbacks(library->request, library->complete);
	if (result != PU1_SUCCESS)
		return failed(library, "pu1TracingSetCallbacks", result);
	for (unsigned kind = 1; kind <= PU1_KINDS_COUNT; kind++) {
		pu1Result answer = library->calls.enable((pu1ActivityKind)kind);
		if (answer == PU1_SUCCESS)
			library->kinds_enabled |= 1u << kind;
		else
			result = answer;
	}
	return library->kinds_enabled ? NULL : failed(library, "pu1TracingEnable", result);
}

static OrtStatus *run_begin(struct pu1_library *library)
{
	if (library->runs_count == 0) {
		if (!reader_ensure(library))
			return ort_status_create(1, "cannot start a thread");
		OrtStatus *status = enable(library);
		if (status) {
			reader_rest(library);
			return status;
		}
	}
	library->runs_count++;
	return NULL;
}

/* Ends one session's part of the run; the last session disables the kinds. Called before the flush, so that, after the
 * last session, no further work is recorded while the library flushes. */
static void run_end(struct pu1_library *library)
{
	if (--library->runs_count == 0)
		disable(library);
}

/* ---- the profiler ---- */

_Static_assert(PU1_PROFILERS_MAX == 64, "start_profiling and epprof/plugin.h state this limit");

static bool shared_setup(struct pu1_library *library)
{
	pthread_mutex_lock(&library->read_lock);
	if (!library->reading)
		library->reading = pu1_reading_create();
	if (!library->tokens)
		library->tokens = pu1_tokens_create();
	pthread_mutex_unlock(&library->read_lock);
	return library->reading && library->tokens && pu1_pool_setup();
}

static void profiler_begin(struct pu1_profiler *profiler)
{
	struct pu1_library *library = profiler->library;
	pthread_mutex_lock(&library->read_lock);
	/* Buffers that are already full have records of other runs. */
	pu1_read(library);
	profiler->ledger = (EpprofLedger){ 0 };
	profiler->faults_count = 0;
	profiler->fault[0] = '\0';
	profiler->end_ns = UINT64_MAX;
	/* Without a clock, it is unknown to which run a record belongs. */
	bool has_clock = pu1_library_now(library, &profiler->start_ns);
	if (!has_clock)
		profiler->start_ns = 0;
	const EpprofClock clock = {
		.id = PU1_CLOCK, .kind = has_clock ? 1 : 2, .bits = 64, .ticks_per_second = NS_PER_SECOND
	};
	profiler_registry_push(&profiler->impl,
	                       &(EpprofBatch){ .struct_size = sizeof(EpprofBatch), .clocks = &clock, .clocks_count = 1 });
	pu1_read_clock(library, profiler);
	atomic_store_explicit(&profiler->is_on, true, memory_order_release);
	if (!has_clock)
		pu1_fault(library, "pu1GetTimestamp: its clock cannot be read");
	pthread_mutex_unlock(&library->read_lock);
}

static OrtStatus *start_profiling(OrtEpProfilerImpl *impl, int64_t offset_ns)
{
	(void)offset_ns;
	struct pu1_profiler *profiler = (struct pu1_profiler *)impl;
	struct pu1_library *library = profiler->library;
	if (atomic_load_explicit(&profiler->is_on, memory_order_relaxed))
		return ort_status_create(1, "StartProfiling without EndProfiling in between");
	if (!shared_setup(library))
		return ort_status_create(1, "out of memory");
	OrtStatus *status = NULL;
	pthread_mutex_lock(&library->run_lock);
	if (!pu1_tokens_begin(library->tokens, &profiler->owner))
		status = ort_status_create(1, "64 sessions use it, the maximum");
	if (!status && (status = run_begin(library)))
		pu1_tokens_end(library->tokens, &profiler->owner);
	pthread_mutex_unlock(&library->run_lock);
	if (!status)
		profiler_begin(profiler);
	return status;
}

static OrtStatus *start_event(OrtEpProfilerImpl *impl, uint64_t id)
{
	struct pu1_profiler *profiler = (struct pu1_profiler *)impl;
	if (!atomic_load_explicit(&profiler->is_on, memory_order_acquire))
		return NULL;
	return failed(profiler->library, "pu1PushExternalCorrelationId",
	              pu1_tokens_push(profiler->library, profiler->owner, id));
}

static OrtStatus *stop_event(OrtEpProfilerImpl *impl, uint64_t id, const OrtProfilingEvent *event)
{
	(void)event;
	struct pu1_profiler *profiler = (struct pu1_profiler *)impl;
	if (!atomic_load_explicit(&profiler->is_on, memory_order_acquire))
		return NULL;
	return failed(profiler->library, "pu1PopExternalCorrelationId",
	              pu1_tokens_pop(profiler->library, profiler->owner, id));
}

static OrtStatus *profiler_end(struct pu1_profiler *profiler)
{
	struct pu1_library *library = profiler->library;
	char message[2 * PU1_FAULT_BYTES];
	pthread_mutex_lock(&library->read_lock);
	pu1_read(library);
	pu1_read_clock(library, profiler);
	atomic_store_explicit(&profiler->is_on, false, memory_order_relaxed);
	uint64_t more = profiler->faults_count > 1 ? profiler->faults_count - 1 : 0;
	snprintf(message, sizeof(message), more ? "%s (and %llu more)" : "%s", profiler->fault, (unsigned long long)more);
	OrtStatus *status = profiler->faults_count ? ort_status_create(1, message) : NULL;
	pthread_mutex_unlock(&library->read_lock);
	return status;
}

static OrtStatus *end_profiling(OrtEpProfilerImpl *impl, OrtProfilingEventsContainer *container)
{
	(void)container; /* events are pushed to the session as buffers fill, so the container stays empty */
	struct pu1_profiler *profiler = (struct pu1_profiler *)impl;
	struct pu1_library *library = profiler->library;
	uint64_t end_ns;
	if (!atomic_load_explicit(&profiler->is_on, memory_order_relaxed))
		return NULL;
	bool has_end = pu1_library_now(library, &end_ns);
	pthread_mutex_lock(&library->read_lock);
	if (has_end && profiler->start_ns)
		profiler->end_ns = end_ns;
	pthread_mutex_unlock(&library->read_lock);
	pthread_mutex_lock(&library->run_lock);
	pu1_tokens_end(library->tokens, &profiler->owner);
	run_end(library);
	OrtStatus *flushed = failed(library, "pu1FlushAll", library->calls.flush());
	pthread_mutex_unlock(&library->run_lock);
	OrtStatus *ended = profiler_end(profiler);
	pthread_mutex_lock(&library->run_lock);
	if (library->runs_count == 0) {
		reader_rest(library);
		pu1_pool_trim();
	}
	pthread_mutex_unlock(&library->run_lock);
	if (flushed && ended)
		ort_status_release(ended);
	return flushed ? flushed : ended;
}

static void release(OrtEpProfilerImpl *impl)
{
	struct pu1_profiler *profiler = (struct pu1_profiler *)impl;
	struct pu1_library *library = profiler->library;
	ort_status_release(end_profiling(impl, NULL));
	pthread_mutex_lock(&library->read_lock);
	pthread_mutex_lock(&library->lock);
	LIST_REMOVE(profiler, link);
	library->reader_may_go = LIST_EMPTY(&library->profilers);
	pthread_cond_broadcast(&library->changed);
	pthread_mutex_unlock(&library->lock);
	pthread_mutex_unlock(&library->read_lock);
	free(profiler);
}

epp_status *pu1_profiler_create(struct pu1_library *library, OrtEpProfilerImpl **profiler)
{
	struct pu1_profiler *made = calloc(1, sizeof(*made));
	if (!made)
		return epp_status_no_memory();
	made->library = library;
	made->start_ns = UINT64_MAX; /* no time is after this one, so no record is in the profiler's run yet */
	made->impl = (OrtEpProfilerImpl){
		.ort_version_supported = EPPROF_ORT_API_VERSION_MIN,
		.Release = release,
		.StartProfiling = start_profiling,
		.StartEvent = start_event,
		.StopEvent = stop_event,
		.EndProfiling = end_profiling,
	};
	pthread_mutex_lock(&library->read_lock);
	pthread_mutex_lock(&library->lock);
	LIST_INSERT_HEAD(&library->profilers, made, link);
	pthread_mutex_unlock(&library->lock);
	pthread_mutex_unlock(&library->read_lock);
	*profiler = &made->impl;
	return NULL;
}

/* The kit for execution providers; epprof/ep.h documents it.  Compile only this file; it includes the headers in this
 * folder:
 *
 *   system.h     what differs between systems, and between C and C++
 *   kit.h        the structs of a profiler, a thread and a buffer, and the rules for access to them
 *   stack.h      the threads, and the open host events of each
 *   buffer.h     the events that were not submitted yet
 *   special.h    converts times of submission, copies and flows of an event to args
 *   names.h      names of devices and streams
 *   clock_compare.h   clock pairs: the device's clock against the host's
 *   push.h   submits to an epprof host when buffers are full
 *   collector.h  submits to the collector under ONNX Runtime
 *   tokens.h, token_find.h, profile_start.h, batch.h, json_text.h, json_value.h   to ONNX Runtime: in EndProfiling
 *   clock_fit.h, clock_pairs.h, clock_segments.h   device time to host time
 *
 * C11 and C++17, for Linux, Windows and macOS with 64 bits and for Linux with 32.  It never prints or aborts, and never
 * waits while it records. */
#include "system.h"

#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "buffer.h"
#include "clock_compare.h"
#include "collector.h"
#include "epprof/ep.h"
#include "kit.h"
#include "names.h"
#include "profile_start.h"
#include "push.h"
#include "stack.h"
#include "tokens.h"

/* ---- the host ---- */

/* Returns the minor version of "1.<minor>.<patch>", or 0 if the version has another form. */
static uint32_t kit_host_version(const OrtApiBase *base)
{
	const char *text = base->GetVersionString();
	char *end;
	if (!text)
		return 0;
	unsigned long major = strtoul(text, &end, 10);
	if (*end != '.' || major == 0)
		return 0;
	unsigned long minor = strtoul(end + 1, NULL, 10);
	return major > 1 || minor > UINT32_MAX ? UINT32_MAX : (uint32_t)minor;
}

/* OrtApi's slot for this function is read by its index, because official headers older than 1.28 have no name for
 * it. */
static EpprofFunction kit_host_function(const struct kit *kit, uint32_t version, const char *name)
{
	EpprofGetExperimentalFunction_Fn get = NULL;
	if (version < EPPROF_ORT_EXPERIMENTAL_VERSION)
		return NULL;
	memcpy(&get, (const char *)kit->ort_api + EPPROF_ORT_EXPERIMENTAL_SLOT * sizeof(get), sizeof(get));
	return get ? get(name) : NULL;
}

static void kit_host_setup(struct kit *kit, uint32_t version)
{
	EpprofApi_HostTicksPerSecond_SinceV1_Fn per_second = (EpprofApi_HostTicksPerSecond_SinceV1_Fn)kit_host_function(
	    kit, version, "EpprofApi_HostTicksPerSecond_SinceV1");
	kit->host_ticks = (EpprofApi_HostTicks_SinceV1_Fn)kit_host_function(kit, version, "EpprofApi_HostTicks_SinceV1");
	kit->push = (EpprofApi_PushEvents_SinceV1_Fn)kit_host_function(kit, version, "EpprofApi_PushEvents_SinceV1");
	kit->push_late = (EpprofApi_PushEvents_SinceV1_Fn)kit_host_function(kit, version,
	                                                                    "EpprofApi_PushLateEvents_SinceV1");
	kit->grace_ns = (EpprofApi_GraceNs_SinceV1_Fn)kit_host_function(kit, version, "EpprofApi_GraceNs_SinceV1");
	kit->host_ticks_per_second = 1000000000;
	if (kit->host_ticks && per_second)
		kit->host_ticks_per_second = per_second();
	else
		kit->push = NULL;
	if (!kit->push)
		kit->push_late = NULL;
	/* If the host has a clock but no PushEvents, its clock is used only if it counts ns, as the kit's own clock
	 * does. */
	if (!kit->push && (!per_second || kit->host_ticks_per_second != 1000000000)) {
		kit->host_ticks_per_second = 1000000000;
		kit->host_ticks = NULL;
	}
}

/* ---- callbacks ---- */

static OrtStatus *kit_start_profiling(OrtEpProfilerImpl *impl, int64_t offset_ns) KIT_NOEXCEPT
{
	struct kit *kit = kit_of(impl);
	uint64_t now = kit_host_ticks(kit);
	uint32_t run = atomic_load(&kit->run);
	if (kit_run_is_on(run))
		return kit->ort_api->CreateStatus(ORT_FAIL, "epprof kit: StartProfiling without EndProfiling in between");
	kit->start_ns = now;
	kit->offset_ns = offset_ns;
	kit->sums_before = kit->sums_end;
	kit->late_before = atomic_load_explicit(&kit->late, memory_order_relaxed);
	atomic_store(&kit->unfinished, 0);
	if (kit->push) {
		kit_push_clock_to(kit, NULL);
		kit_names_push(kit, NULL);
	} else {
		kit->token_serial = atomic_fetch_add(&kit_process.token_serials, 1) + 1;
		atomic_store(&kit->contexts_lost, 0);
		atomic_store(&kit->cut_count, 0);
		kit_profile_start(kit);
		atomic_store(&kit->batch_no_room, 0);
		atomic_store(&kit->batch_failures, 0);
		/* The collector uses CLOCK_MONOTONIC, so it cannot be used if the host provides a clock of its own. */
		kit->collector = kit->host_ticks ? NULL : kit_collector_find();
		kit->join_tries = KIT_JOIN_TRIES;
		atomic_store(&kit->may_join, kit->collector != NULL);
	}
	if (kit_reads_clock(kit)) {
		kit->pair_first = kit_pair_read(kit);
		kit_pair_add(kit, &kit->pair_first);
	}
	atomic_store(&kit->run, run + 3); /* increments the number and sets the bit "on" */
	return NULL;
}

static OrtStatus *kit_start_event(OrtEpProfilerImpl *impl, uint64_t id) KIT_NOEXCEPT
{
	struct kit *kit = kit_of(impl);
	uint32_t run = atomic_load_explicit(&kit->run, memory_order_relaxed);
	if (!kit_run_is_on(run))
		return NULL;
	struct kit_thread *thread = kit_thread_get(kit);
	if (kit_likely(thread != NULL))
		kit_stack_push(thread, run, id, kit->push ? id : 0);
	kit_join_if_due(kit, id);
	return NULL;
}

static OrtStatus *kit_stop_event(OrtEpProfilerImpl *impl, uint64_t id, const OrtProfilingEvent *event) KIT_NOEXCEPT
{
	struct kit *kit = kit_of(impl);
	uint32_t run = atomic_load_explicit(&kit->run, memory_order_relaxed);
	if (!kit_run_is_on(run))
		return NULL;
	kit_join_if_due(kit, id);
	struct kit_thread *thread = kit_thread_get(kit);
	if (!thread)
		return NULL;
	uint64_t token = kit_stack_pop(thread, run, id);
	if (token != 0 && !kit->push && event && kit_thread_enter(thread)) {
		if (atomic_load(&kit->run) == run)
			kit_token_complete(kit, thread, token, event);
		kit_thread_leave(thread);
	}
	return NULL;
}

/* Returns the chunks of all threads, those of each thread in order.  For an epprof host, submits them and returns
 * NULL. */
static struct kit_chunk *kit_collect(struct kit *kit)
{
	struct kit_chunk *all = NULL;
	for (struct kit_thread *thread = atomic_load(&kit->threads); thread; thread = thread->next) {
		kit_thread_wait(kit, thread);
		if (kit->push) {
			kit_chunk_push(kit, thread);
		} else {
			struct kit_chunk *next;
			if (kit_recording(kit))
				kit_chunks_push_new(kit, thread);
			for (struct kit_chunk *chunk = thread->chunk; chunk; chunk = next) {
				next = chunk->next;
				chunk->next = all;
				all = chunk;
			}
			thread->chunk = NULL;
			kit_chunk_empty(thread);
			thread->chunk_bytes = KIT_CHUNK_FIRST_BYTES;
			atomic_store_explicit(&thread->in_hand, 0, memory_order_relaxed);
		}
		kit_thread_leave(thread);
	}
	return all;
}

static OrtStatus *kit_deliver(struct kit *kit, OrtProfilingEventsContainer *container, struct kit_chunk *chunks)
{
	/* On the heap, because the struct is too large for the stack of a foreign thread. */
	struct kit_batch *batch = container ? (struct kit_batch *)calloc(1, sizeof(*batch)) : NULL;
	OrtStatus *status = NULL;
	if (batch)
		kit_batch_begin(batch, kit, container);
	for (struct kit_chunk *chunk = chunks; chunk; chunk = chunk->next) {
		for (uint32_t i = 0; batch && i < chunk->events_count; i++)
			kit_batch_add(batch, &kit_chunk_events(chunk)[i], i < chunk->pushed_count);
		if (!batch)
			kit_batch_count_lost(kit, chunk->pushed_count, chunk->events_count - chunk->pushed_count);
	}
	/* Chunks are freed only now, because any chunk may contain the parent of any event. */
	while (chunks) {
		struct kit_chunk *next = chunks->next;
		kit_chunk_destroy(kit, chunks);
		chunks = next;
	}
	if (batch) {
		kit_batch_add_lost(batch);
		status = kit_batch_end(batch);
		free(batch);
	} else {
		status = kit->ort_api->CreateStatus(ORT_FAIL, container ? "epprof kit: out of memory"
		                                                        : "epprof kit: no container");
	}
	return status;
}

/* Waits until no work is pending, at most for the host's grace_ns or, without that function, options.grace_ns. */
static void kit_await_pending(const struct kit *kit)
{
	uint64_t grace_ns = kit->grace_ns ? kit->grace_ns(&kit->profiler->impl) : kit->options.grace_ns;
	uint64_t begin_ns = system_clock_ns();
	while (atomic_load_explicit(&kit->pending, memory_order_acquire) > 0 && system_clock_ns() - begin_ns < grace_ns)
		system_pause();
}

/* For an event that is emitted after EndProfiling: returns true if EndProfiling counted it as lost, and removes it from
 * the count `unfinished`. */
static bool kit_take_unfinished(struct kit *kit)
{
	uint64_t left = atomic_load(&kit->unfinished);
	while (left > 0 && !atomic_compare_exchange_weak(&kit->unfinished, &left, left - 1))
		continue;
	return left > 0;
}

/* Reduces the count `unfinished` to the number of events that are still pending: some may have been emitted since
 * EndProfiling counted them. */
static void kit_correct_unfinished(struct kit *kit)
{
	uint64_t counted = atomic_load(&kit->unfinished), pending;
	do {
		int64_t now = atomic_load_explicit(&kit->pending, memory_order_acquire);
		pending = now > 0 ? (uint64_t)now : 0;
		if (counted <= pending)
			return;
	} while (!atomic_compare_exchange_weak(&kit->unfinished, &counted, pending));
	/* ONNX Runtime's profile already contains the count, so it cannot be corrected. */
	if (!kit->push_late)
		return;
	EpprofBatch batch = KIT_ZERO;
	batch.struct_size = sizeof(batch);
	batch.unfinished_count = counted - pending;
	kit->push_late(&kit->profiler->impl, &batch);
}

static OrtStatus *kit_end_profiling(OrtEpProfilerImpl *impl, OrtProfilingEventsContainer *container) KIT_NOEXCEPT
{
	struct kit *kit = kit_of(impl);
	OrtStatus *status = NULL;
	uint32_t run = atomic_load(&kit->run);
	if (!kit_run_is_on(run))
		return NULL;
	if (kit->options.end_profiling)
		kit->options.end_profiling(kit->options.user);
	kit_await_pending(kit);
	if (kit_reads_clock(kit)) {
		struct clock_pair pair = kit_pair_read(kit);
		kit_pair_add(kit, &pair);
	}
	/* Sets `unfinished` before the run is turned off, because an event that is emitted after that is late, and
	 * reduces it (kit_take_unfinished). */
	int64_t pending = atomic_load_explicit(&kit->pending, memory_order_acquire);
	uint64_t unfinished = pending > 0 ? (uint64_t)pending : 0;
	atomic_store(&kit->unfinished, unfinished);
	atomic_store(&kit->run, run & ~1u);
	struct kit_chunk *chunks = kit_collect(kit);
	if (!kit->push_late)
		kit_count_lost(kit, KIT_OUTSIDE_RUN, unfinished);
	if (!kit->push) {
		status = kit_deliver(kit, container, chunks);
		kit_tokens_clear(kit);
		free(kit->pairs);
		kit->pairs = NULL;
		kit->pairs_count = 0;
		kit->pairs_room = 0;
	}
	kit->sums_end = kit_sums_read(kit);
	EpprofBatch last = KIT_ZERO;
	last.unfinished_count = kit->push_late ? unfinished : 0;
	kit_push_with(kit, &kit->sums_end, &last);
	kit_correct_unfinished(kit);
	kit_recording_leave(kit);
	return status;
}

static void kit_release(OrtEpProfilerImpl *impl) KIT_NOEXCEPT
{
	epp_ep_profiler *profiler = (epp_ep_profiler *)impl;
	struct kit *kit = kit_of(impl);
	bool on_heap = kit->on_heap;
	void (*release)(epp_ep_profiler *, void *) = kit->options.release;
	void *user = kit->options.user;
	struct kit_chunk *next_chunk;
	struct kit_thread *next;
	for (struct kit_thread *thread = atomic_load(&kit->threads); thread; thread = next) {
		next = thread->next;
		for (struct kit_chunk *chunk = thread->chunk; chunk; chunk = next_chunk) {
			next_chunk = chunk->next;
			free(chunk);
		}
		free(thread->memory);
	}
	kit_recording_leave(kit);
	kit_tokens_clear(kit);
	kit_names_free(kit);
	free(kit->pairs);
	free(kit->ep_name);
	free(kit);
	profiler->state = NULL;
	if (on_heap)
		free(profiler);
	else if (release)
		release(profiler, user);
}

/* ---- creation ---- */

/* Checks and copies the options.  Returns the error as a text, or NULL. */
static const char *kit_options_read(epp_ep_options *options, const epp_ep_options *given)
{
	const unsigned char *bytes = (const unsigned char *)given;
	memset(options, 0, sizeof(*options));
	if (given->struct_size < sizeof(given->struct_size))
		return "epprof kit: options.struct_size is not set";
	for (size_t i = sizeof(*given); i < given->struct_size; i++) {
		if (bytes[i] != 0)
			return "epprof kit: options has fields that are unknown to this version of the kit";
	}
	memcpy(options, given, given->struct_size < sizeof(*options) ? given->struct_size : sizeof(*options));
	if (options->clock_bits == 0)
		options->clock_bits = 64;
	if (options->buffer_bytes == 0)
		options->buffer_bytes = KIT_BUFFER_BYTES;
	if (options->ticks_per_second == 0)
		return "epprof kit: options.ticks_per_second is 0";
	if (options->clock_bits < 8 || options->clock_bits > 64)
		return "epprof kit: options.clock_bits is not 0 or 8 to 64";
	if (options->own_clock_pairs > 1 || (options->own_clock_pairs && (options->now_ticks || options->read_clocks)))
		return "epprof kit: options.own_clock_pairs must be 1 if now_ticks and read_clocks are NULL, and 0 otherwise";
	if (options->now_ticks && options->read_clocks)
		return "epprof kit: options.now_ticks or options.read_clocks must be NULL";
	return NULL;
}

OrtStatus *epp_ep_profiler_init(epp_ep_profiler *profiler, const epp_ep_options *options)
{
	memset(profiler, 0, sizeof(*profiler));
	const OrtApiBase *base = options ? options->ort_api_base : NULL;
	if (!base)
		return NULL;
	uint32_t minor = kit_host_version(base);
	uint32_t version = minor > EPPROF_ORT_API_VERSION ? EPPROF_ORT_API_VERSION : minor;
	const OrtApi *ort_api = version ? base->GetApi(version) : NULL;
	const OrtApi *any_api = ort_api ? ort_api : base->GetApi(1);
	if (!any_api)
		return NULL;
	const OrtEpApi *ep_api = ort_api && version >= EPPROF_ORT_API_VERSION_MIN ? ort_api->GetEpApi() : NULL;
	if (!ep_api)
		return any_api->CreateStatus(ORT_NOT_IMPLEMENTED, "epprof kit: needs ONNX Runtime 1.25 or later");
	epp_ep_options read;
	const char *wrong = kit_options_read(&read, options);
	if (wrong)
		return ort_api->CreateStatus(ORT_INVALID_ARGUMENT, wrong);
	const char *name = read.ep_name ? read.ep_name : "ep";
	size_t name_bytes = strlen(name) + 1;
	struct kit *kit = (struct kit *)calloc(1, sizeof(*kit));
	char *ep_name = (char *)malloc(name_bytes);
	if (!kit || !ep_name) {
		free(kit);
		free(ep_name);
		return ort_api->CreateStatus(ORT_FAIL, "epprof kit: out of memory");
	}
	memcpy(ep_name, name, name_bytes);
	kit->profiler = profiler;
	kit->options = read;
	kit->options.ep_name = kit->ep_name = ep_name;
	kit->ort_api = ort_api;
	kit->ep_api = ep_api;
	kit->process_id = system_process_id();
	kit->host_escapes = minor >= JSON_ESCAPING_ORT_VERSION;
	kit->generation = atomic_fetch_add(&kit_process.generations, 1) + 1;
	kit->clock_unused_bits = 64 - read.clock_bits;
	atomic_store(&kit->sweep_count, KIT_SWEEP_COUNT);
	kit_host_setup(kit, version);
	kit_pairs_setup(kit);
	profiler->state = kit;
	profiler->impl.ort_version_supported = version;
	profiler->impl.Release = kit_release;
	profiler->impl.StartProfiling = kit_start_profiling;
	profiler->impl.StartEvent = kit_start_event;
	profiler->impl.StopEvent = kit_stop_event;
	profiler->impl.EndProfiling = kit_end_profiling;
	return NULL;
}

OrtStatus *epp_ep_profiler_create(const epp_ep_options *options, epp_ep_profiler **profiler)
{
	*profiler = (epp_ep_profiler *)malloc(sizeof(**profiler));
	epp_ep_profiler none;
	OrtStatus *status = epp_ep_profiler_init(*profiler ? *profiler : &none, options);
	if (*profiler && (*profiler)->state) {
		kit_of(&(*profiler)->impl)->on_heap = true;
		return NULL;
	}
	if (!*profiler && none.state) {
		struct kit *kit = kit_of(&none.impl);
		const OrtApi *ort_api = kit->ort_api;
		kit->options.release = NULL;
		kit_release(&none.impl);
		status = ort_api->CreateStatus(ORT_FAIL, "epprof kit: out of memory");
	}
	free(*profiler);
	*profiler = NULL;
	return status;
}

/* ---- functions that the EP calls ---- */

/* Submits an event to an epprof host after EndProfiling.  `busy` is held, so that no EndProfiling collects at the same
 * time. */
static KIT_NOINLINE void kit_emit_late(struct kit *kit, struct kit_thread *thread, const epp_ep_event *event)
{
	EpprofBatch batch = KIT_ZERO;
	EpprofClockPair pair = KIT_ZERO;
	/* Events of the run are pushed first, because EndProfiling may be waiting for them. */
	kit_chunk_push(kit, thread);
	kit_buffer_add(kit, thread, event);
	if (!thread->chunk || thread->chunk->events_count == 0)
		return;
	/* An event long after the last clock pair needs another pair. */
	uint64_t last = atomic_load_explicit(&kit->pair_device, memory_order_relaxed);
	uint64_t now = kit_host_ticks(kit), last_host = atomic_load_explicit(&kit->pair_host, memory_order_relaxed);
	if (kit_reads_clock(kit) && kit_clock_since(kit, event->end_ticks, last) > 0 &&
	    (int64_t)(now - last_host) >= (int64_t)kit->pair_interval_host &&
	    atomic_compare_exchange_strong(&kit->pair_host, &last_host, now)) {
		struct clock_pair read = kit_pair_read(kit);
		if (read.half_width != UINT64_MAX) {
			atomic_store_explicit(&kit->pair_device, read.device, memory_order_relaxed);
			pair.device_ticks = read.device;
			pair.host_ticks = read.host;
			pair.half_width_ticks = read.half_width;
			batch.pairs = &pair;
			batch.pairs_count = 1;
		}
	}
	for (uint32_t i = 0; i < thread->chunk->events_count; i++)
		kit_take_unfinished(kit);
	batch.struct_size = sizeof(batch);
	batch.events = kit_chunk_events(thread->chunk);
	batch.events_count = thread->chunk->events_count;
	atomic_store_explicit(&thread->in_hand, 0, memory_order_relaxed);
	atomic_fetch_add_explicit(&kit->late, batch.events_count, memory_order_relaxed);
	kit->push_late(&kit->profiler->impl, &batch);
	kit_chunk_empty(thread);
}

uint64_t epp_ep_current(epp_ep_profiler *profiler)
{
	struct kit *kit = profiler ? kit_of(&profiler->impl) : NULL;
	if (!kit)
		return 0;
	uint32_t run = atomic_load_explicit(&kit->run, memory_order_relaxed);
	struct kit_thread *thread = kit_run_is_on(run) ? kit_thread_get(kit) : NULL;
	uint32_t depth = thread ? kit_stack_depth(thread, run) : 0;
	if (depth == 0)
		return 0;
	struct kit_open *open = &thread->open[depth - 1];
	uint64_t token = open->token;
	if (token == 0 && !kit->push && kit_thread_enter(thread)) {
		if (atomic_load(&kit->run) == run)
			token = kit_token_take(kit, thread, open);
		kit_thread_leave(thread);
	}
	return token;
}

void epp_ep_pending_add(epp_ep_profiler *profiler, int64_t count)
{
	struct kit *kit = profiler ? kit_of(&profiler->impl) : NULL;
	if (!kit)
		return;
	atomic_fetch_add_explicit(&kit->pending, count, memory_order_release);
	if (atomic_load(&kit->unfinished) > 0)
		kit_correct_unfinished(kit);
}

void epp_ep_emit(epp_ep_profiler *profiler, const epp_ep_event *event)
{
	struct kit *kit = profiler ? kit_of(&profiler->impl) : NULL;
	if (!kit)
		return;
	uint32_t run = atomic_load_explicit(&kit->run, memory_order_relaxed);
	struct kit_thread *thread = kit_thread_get(kit);
	if (!thread || !kit_thread_enter(thread)) {
		/* The event was not stored: EndProfiling may have held `busy`, and another run may have begun since. */
		bool same_run = kit_run_is_on(run) && atomic_load(&kit->run) == run;
		kit_count_lost(kit, same_run ? KIT_OTHER : KIT_OUTSIDE_RUN, 1);
		return;
	}
	if (!kit_run_is_on(atomic_load(&kit->run))) {
		if (kit->push_late && event && event->parent)
			kit_emit_late(kit, thread, event);
		else if (!kit_take_unfinished(kit))
			kit_count_lost(kit, KIT_OUTSIDE_RUN, 1);
	} else if (!event) {
		kit_count_lost(kit, KIT_REFUSED, 1);
	} else {
		kit_buffer_add(kit, thread, event);
		kit_pair_check(kit, thread, event->end_ticks);
	}
	kit_thread_leave(thread);
}

void epp_ep_replay_emit(epp_ep_profiler *profiler, const epp_ep_replay *replay)
{
	epp_ep_event event = KIT_ZERO;
	if (!replay || (replay->nodes_count > 0 && (!replay->nodes || !replay->ticks))) {
		epp_ep_emit(profiler, NULL);
		return;
	}
	event.parent = replay->parent;
	event.graph = replay->graph;
	for (size_t i = 0; i < replay->nodes_count; i++) {
		event.name = replay->nodes[i].name;
		event.device = replay->nodes[i].device;
		event.category = replay->nodes[i].category;
		event.stream = replay->nodes[i].stream;
		event.start_ticks = replay->ticks[i][0];
		event.end_ticks = replay->ticks[i][1];
		event.graph_node = i;
		epp_ep_emit(profiler, &event);
	}
}

static void kit_name_set(epp_ep_profiler *profiler, bool is_stream, int32_t device, int64_t stream, const char *text)
{
	struct kit *kit = profiler ? kit_of(&profiler->impl) : NULL;
	struct kit_name *name = kit ? kit_name_add(kit, is_stream, device, stream, text) : NULL;
	/* Outside a run the name is only stored; StartProfiling of the next run submits it to libepprof. */
	struct kit_thread *thread = name && kit_run_is_on(atomic_load(&kit->run)) ? kit_thread_get(kit) : NULL;
	if (!thread || !kit_thread_enter(thread))
		return;
	if (kit_run_is_on(atomic_load(&kit->run)))
		kit_name_push(kit, NULL, name);
	kit_thread_leave(thread);
}

void epp_ep_device_name_set(epp_ep_profiler *profiler, int32_t device, const char *name)
{
	kit_name_set(profiler, false, device, 0, name);
}

void epp_ep_stream_name_set(epp_ep_profiler *profiler, int32_t device, int64_t stream, const char *name)
{
	kit_name_set(profiler, true, device, stream, name);
}

void epp_ep_counter_record(epp_ep_profiler *profiler, const epp_ep_counter *counter)
{
	struct kit *kit = profiler ? kit_of(&profiler->impl) : NULL;
	bool is_wanted = kit && counter && (kit->push || kit_recording(kit));
	struct kit_thread *thread = is_wanted ? kit_thread_get(kit) : NULL;
	if (!thread || !kit_thread_enter(thread))
		return;
	if (kit_run_is_on(atomic_load(&kit->run)))
		kit_push_counter(kit, counter);
	kit_thread_leave(thread);
}

void epp_ep_clock_pair(epp_ep_profiler *profiler, uint64_t device_ticks, uint64_t host_ticks, uint64_t half_width_ticks)
{
	struct kit *kit = profiler ? kit_of(&profiler->impl) : NULL;
	struct kit_thread *thread = kit ? kit_thread_get(kit) : NULL;
	if (!thread || !kit_thread_enter(thread))
		return;
	if (kit_run_is_on(atomic_load(&kit->run)) && kit_has_clock(kit)) {
		struct clock_pair pair = { device_ticks, host_ticks, half_width_ticks };
		kit_pair_add(kit, &pair);
	}
	kit_thread_leave(thread);
}

void epp_ep_waited(epp_ep_profiler *profiler, uint64_t parent, uint64_t start_host_ticks)
{
	struct kit *kit = profiler ? kit_of(&profiler->impl) : NULL;
	bool is_wanted = kit && parent && (kit->push || kit_recording(kit));
	struct kit_thread *thread = is_wanted ? kit_thread_get(kit) : NULL;
	if (!thread || !kit_thread_enter(thread))
		return;
	if (kit_run_is_on(atomic_load(&kit->run)))
		kit_push_wait(kit, kit->push ? parent : kit_recorded_id(kit, parent), start_host_ticks);
	kit_thread_leave(thread);
}

uint64_t epp_ep_host_ticks(epp_ep_profiler *profiler)
{
	return profiler && profiler->state ? kit_host_ticks(kit_of(&profiler->impl)) : 0;
}

uint64_t epp_ep_host_ticks_per_second(epp_ep_profiler *profiler)
{
	return profiler && profiler->state ? kit_of(&profiler->impl)->host_ticks_per_second : 0;
}

void epp_ep_ledger(const epp_ep_profiler *profiler, EpprofLedger *ledger)
{
	struct kit *kit = profiler ? kit_of(&profiler->impl) : NULL;
	memset(ledger, 0, sizeof(*ledger));
	if (!kit)
		return;
	struct kit_sums sums = kit_sums_read(kit);
	*ledger = kit_ledger(kit, &sums);
	ledger->emitted += atomic_load_explicit(&kit->late, memory_order_relaxed) - kit->late_before;
	for (struct kit_thread *thread = atomic_load(&kit->threads); thread; thread = thread->next)
		ledger->emitted += atomic_load_explicit(&thread->in_hand, memory_order_relaxed);
}

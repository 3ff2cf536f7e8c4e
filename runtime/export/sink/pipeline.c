/* A ring of batches between two threads, under one lock. `filled` and `taken` count batches: batches from `taken` to
 * `filled` are ready, and the caller's batch is free again when the caller asks for the next.  A waiting thread is
 * woken only when several batches are available: a wakeup for each batch costs more than the batch.  The ring holds two
 * pages of Parquet, because a writer that gathers rows takes no events while it writes a page.
 *
 * With one processor, a second thread would only evict the first one's events from the cache.  In that case there is no
 * thread, and one batch is reused. */
#include "export/sink/pipeline.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "containers/array.h"
#include "timeline/timeline.h"

#define RING_BATCHES 64u
#define WAKE_BATCHES 16u
/* A batch ends early when its texts exceed this size. */
#define BATCH_TEXTS_BYTES (1u << 18)

struct pipeline {
	epp_timeline *timeline;
	struct batch *batches;
	size_t batches_count; /* RING_BATCHES, or 1 without a thread */
	pthread_t thread;
	bool threaded;
	pthread_mutex_t lock;
	pthread_cond_t ready, room; /* signalled for the caller, for the thread */
	uint64_t filled, taken;
	bool caller_has_one, caller_waits, thread_waits, ended, stop;
	epp_status *status; /* why the thread ended */
};

/* ---- filling ---- */

/* Texts are stored consecutively; the pointers to them are set when the batch is complete and the buffers no longer
 * move. */
static bool copy_args(struct batch *batch, const epp_timeline *timeline, epp_event *event)
{
	size_t first = batch->args_count, cursor = 0;
	epp_trace_arg arg;

	while (epp_event_args(timeline, event, &cursor, &arg)) {
		if (!array_reserve(&batch->args, &batch->args_room, batch->args_count + 1, sizeof *batch->args))
			return false;
		batch->args[batch->args_count++] = arg;
		if (arg.type != EPP_ARG_TEXT || !arg.text_bytes)
			continue;
		if (!array_reserve(&batch->texts, &batch->texts_room, batch->texts_bytes + arg.text_bytes, 1))
			return false;
		memcpy(batch->texts + batch->texts_bytes, arg.value.text, arg.text_bytes);
		batch->texts_bytes += arg.text_bytes;
	}
	event->args_count = (uint32_t)(batch->args_count - first);
	return true;
}

static void set_pointers(struct batch *batch)
{
	const epp_trace_arg *args = batch->args;
	const char *text = batch->texts;

	for (size_t i = 0; i < batch->args_count; i++) {
		if (batch->args[i].type != EPP_ARG_TEXT)
			continue;
		batch->args[i].value.text = text;
		text += batch->args[i].text_bytes;
	}
	for (size_t i = 0; i < batch->count; i++) {
		batch->events[i].args = args;
		args += batch->events[i].args_count;
	}
}

/* Sets *ended after the last event.  If there is no memory for the args, the batch stays empty: each event in a batch
 * is complete. */
static epp_status *fill(struct batch *batch, epp_timeline *timeline, bool *ended)
{
	batch->count = 0;
	batch->args_count = 0;
	batch->texts_bytes = 0;
	while (batch->count < BATCH_EVENTS && batch->texts_bytes < BATCH_TEXTS_BYTES) {
		size_t some = timeline_next_some(timeline, &batch->events[batch->count], BATCH_EVENTS - batch->count);
		if (!some) {
			*ended = true;
			break;
		}
		batch->count += some;
		epp_event *last = &batch->events[batch->count - 1];
		if (last->args_count && !copy_args(batch, timeline, last)) {
			batch->count = 0;
			return epp_status_no_memory();
		}
	}
	if (batch->args_count)
		set_pointers(batch);
	return *ended ? epp_timeline_status(timeline) : NULL;
}

/* ---- the thread ---- */

/* Returns the number of batches that cannot be filled: those that are ready, and the caller's. */
static uint64_t in_use(const struct pipeline *pipeline)
{
	return pipeline->filled - pipeline->taken + pipeline->caller_has_one;
}

static bool enough_ready(const struct pipeline *pipeline)
{
	return pipeline->ended || pipeline->filled - pipeline->taken >= WAKE_BATCHES;
}

static void *fill_batches(void *user)
{
	struct pipeline *pipeline = user;

	pthread_mutex_lock(&pipeline->lock);
	while (!pipeline->ended) {
		if (in_use(pipeline) == RING_BATCHES) {
			pipeline->thread_waits = true;
			while (!pipeline->stop && in_use(pipeline) > RING_BATCHES - WAKE_BATCHES)
				pthread_cond_wait(&pipeline->room, &pipeline->lock);
			pipeline->thread_waits = false;
		}
		if (pipeline->stop)
			break;
		struct batch *batch = &pipeline->batches[pipeline->filled % RING_BATCHES];
		bool ended = false;
		pthread_mutex_unlock(&pipeline->lock);
		epp_status *status = fill(batch, pipeline->timeline, &ended);
		pthread_mutex_lock(&pipeline->lock);
		pipeline->status = status;
		pipeline->ended = ended || status;
		pipeline->filled++;
		if (pipeline->caller_waits && enough_ready(pipeline))
			pthread_cond_signal(&pipeline->ready);
	}
	pthread_mutex_unlock(&pipeline->lock);
	return NULL;
}

/* sched_getaffinity fails on machines with more processors than a cpu_set_t holds; these have several. */
static bool several_processors(void)
{
	cpu_set_t allowed;

	return sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) > 1;
}

/* Blocks all signals in the new thread, so that the program's own threads handle them. */
static bool start_thread(struct pipeline *pipeline)
{
	sigset_t all, before;

	sigfillset(&all);
	if (pthread_sigmask(SIG_SETMASK, &all, &before))
		return false;
	bool started = pthread_create(&pipeline->thread, NULL, fill_batches, pipeline) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

epp_status *pipeline_start(struct pipeline **started, epp_timeline *timeline, bool threaded)
{
	struct pipeline *pipeline = calloc(1, sizeof *pipeline);

	*started = NULL;
	if (!pipeline)
		return epp_status_no_memory();
	pipeline->batches_count = threaded && several_processors() ? RING_BATCHES : 1;
	pipeline->batches = reallocarray(NULL, pipeline->batches_count, sizeof *pipeline->batches);
	if (!pipeline->batches) {
		free(pipeline);
		return epp_status_no_memory();
	}
	/* Does not clear the array of events: each event is written before it is read. */
	for (size_t i = 0; i < pipeline->batches_count; i++)
		memset(&pipeline->batches[i].count, 0, sizeof(struct batch) - offsetof(struct batch, count));
	pipeline->timeline = timeline;
	pthread_mutex_init(&pipeline->lock, NULL);
	pthread_cond_init(&pipeline->ready, NULL);
	pthread_cond_init(&pipeline->room, NULL);
	pipeline->threaded = pipeline->batches_count > 1 && start_thread(pipeline);
	*started = pipeline;
	return NULL;
}

const struct batch *pipeline_next(struct pipeline *pipeline)
{
	const struct batch *batch = NULL;

	pthread_mutex_lock(&pipeline->lock);
	pipeline->caller_has_one = false;
	if (!pipeline->threaded && !pipeline->ended) {
		pipeline->status = fill(&pipeline->batches[pipeline->filled++ % pipeline->batches_count],
		                        pipeline->timeline, &pipeline->ended);
		pipeline->ended = pipeline->ended || pipeline->status;
	}
	if (pipeline->taken == pipeline->filled && !pipeline->ended) {
		pipeline->caller_waits = true;
		while (!enough_ready(pipeline))
			pthread_cond_wait(&pipeline->ready, &pipeline->lock);
		pipeline->caller_waits = false;
	}
	if (pipeline->taken < pipeline->filled) {
		batch = &pipeline->batches[pipeline->taken++ % pipeline->batches_count];
		pipeline->caller_has_one = true;
	}
	if (pipeline->thread_waits && in_use(pipeline) <= RING_BATCHES - WAKE_BATCHES)
		pthread_cond_signal(&pipeline->room);
	pthread_mutex_unlock(&pipeline->lock);
	return batch;
}

epp_status *pipeline_end(struct pipeline *pipeline)
{
	if (!pipeline)
		return NULL;
	pthread_mutex_lock(&pipeline->lock);
	pipeline->stop = true;
	pthread_cond_signal(&pipeline->room);
	pthread_mutex_unlock(&pipeline->lock);
	if (pipeline->threaded)
		pthread_join(pipeline->thread, NULL);

	epp_status *status = pipeline->status;
	for (size_t i = 0; i < pipeline->batches_count; i++) {
		free(pipeline->batches[i].args);
		free(pipeline->batches[i].texts);
	}
	pthread_mutex_destroy(&pipeline->lock);
	pthread_cond_destroy(&pipeline->ready);
	pthread_cond_destroy(&pipeline->room);
	free(pipeline->batches);
	free(pipeline);
	return status;
}

/* Implements the streams of the accelerator and their threads.
 *
 * Each engine (a compute stream or the copy engine) has a thread, a ring of commands, and two counts that only grow:
 * submitted and done.  A point in a stream is a value of `submitted`; it is reached when `done` is that large.  So an
 * event needs no storage; and because it can only refer to commands that are already queued, waits never form a circle.
 *
 * One lock guards all counts.  An engine's thread waits for its `submitted` to change.  Threads that wait for the
 * engine (host threads, other engines, callers that find its queue full) wait for its `done`.  Commands run and are
 * reported without the lock, and before they are counted as done, so a command is always reported before a wait for it
 * ends. */
#include "accelerator.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "accelerator_ops.h"

#define QUEUE_COMMANDS_COUNT 64

struct entry {
	bool is_wait;
	accelerator_event event;     /* of a wait */
	accelerator_command command; /* of any other entry */
	uint64_t queue_ticks;
};

struct engine {
	accelerator *device;
	pthread_t thread;
	pthread_cond_t submitted;
	pthread_cond_t done;
	uint64_t submitted_count;
	uint64_t done_count;
	struct entry queue[QUEUE_COMMANDS_COUNT];
};

struct accelerator {
	accelerator_clock clock;
	void (*completed)(void *user, const accelerator_completion *completion);
	void *user;
	int log;              /* -1: none */
	pthread_mutex_t lock; /* guards the engines' queues and counts, and `closing` */
	bool closing;
	unsigned threads_count;
	struct engine engines[ACCELERATOR_STREAM_COUNT];
};

const char *accelerator_result_text(accelerator_result result)
{
	static const char *const texts[] = { "no error", "bad argument", "out of memory",
		                             "cannot create a thread: out of memory, or too many threads" };
	return (unsigned)result < sizeof(texts) / sizeof(texts[0]) ? texts[result] : "unknown error";
}

uint64_t accelerator_now(const accelerator *device)
{
	return accelerator_clock_now(&device->clock);
}

/* Called with the lock held. */
static void wait_until_done(accelerator *device, accelerator_event event)
{
	struct engine *engine = &device->engines[event.stream];
	while (engine->done_count < event.commands_count)
		pthread_cond_wait(&engine->done, &device->lock);
}

static void run(accelerator *device, accelerator_stream stream, const struct entry *entry)
{
	const accelerator_command *command = &entry->command;
	accelerator_completion completion = accelerator_command_describe(command);
	completion.queue_ticks = entry->queue_ticks;
	completion.stream = stream;
	completion.start_ticks = accelerator_now(device);
	accelerator_command_run(command);
	completion.end_ticks = accelerator_now(device);
	if (device->log >= 0)
		dprintf(device->log, "%s %d %llu %llu\n", completion.name, (int)stream,
		        (unsigned long long)completion.start_ticks, (unsigned long long)completion.end_ticks);
	if (device->completed)
		device->completed(device->user, &completion);
}

static int log_open(void)
{
	const char *path = secure_getenv("ACCELERATOR_LOG");
	return path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644) : -1;
}

static void *engine_thread(void *engine_pointer)
{
	struct engine *engine = engine_pointer;
	accelerator *device = engine->device;
	accelerator_stream stream = (accelerator_stream)(engine - device->engines);
	static const char *const names[] = { "accel stream 0", "accel stream 1", "accel copies" };
	pthread_setname_np(pthread_self(), names[stream]);
	pthread_mutex_lock(&device->lock);
	for (;;) {
		while (engine->done_count == engine->submitted_count && !device->closing)
			pthread_cond_wait(&engine->submitted, &device->lock);
		if (engine->done_count == engine->submitted_count)
			break;
		const struct entry *entry = &engine->queue[engine->done_count % QUEUE_COMMANDS_COUNT];
		if (entry->is_wait) {
			wait_until_done(device, entry->event);
		} else {
			/* The entry does not change until done_count passes it. */
			pthread_mutex_unlock(&device->lock);
			run(device, stream, entry);
			accelerator_command_forget(&entry->command);
			pthread_mutex_lock(&device->lock);
		}
		engine->done_count++;
		pthread_cond_broadcast(&engine->done);
	}
	pthread_mutex_unlock(&device->lock);
	return NULL;
}

accelerator_result accelerator_create(const accelerator_options *options, accelerator **device)
{
	if (device == NULL)
		return ACCELERATOR_BAD_ARGUMENT;
	*device = NULL;
	accelerator *made = calloc(1, sizeof(*made));
	if (made == NULL)
		return ACCELERATOR_OUT_OF_MEMORY;
	const accelerator_options defaults = { .clock = ACCELERATOR_CLOCK_DEFAULT };
	if (options == NULL)
		options = &defaults;
	if (!accelerator_clock_init(&made->clock, &options->clock)) {
		free(made);
		return ACCELERATOR_BAD_ARGUMENT;
	}
	made->completed = options->completed;
	made->user = options->user;
	made->log = log_open();
	pthread_mutex_init(&made->lock, NULL);
	for (unsigned i = 0; i < ACCELERATOR_STREAM_COUNT; i++) {
		made->engines[i].device = made;
		pthread_cond_init(&made->engines[i].submitted, NULL);
		pthread_cond_init(&made->engines[i].done, NULL);
	}

	/* Blocks all signals: they are delivered to threads of the program. */
	sigset_t all;
	sigset_t before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int error = 0;
	for (; made->threads_count < ACCELERATOR_STREAM_COUNT; made->threads_count++) {
		struct engine *engine = &made->engines[made->threads_count];
		error = pthread_create(&engine->thread, NULL, engine_thread, engine);
		if (error)
			break;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error) {
		accelerator_destroy(made);
		return ACCELERATOR_NO_THREAD;
	}
	*device = made;
	return ACCELERATOR_OK;
}

void accelerator_destroy(accelerator *device)
{
	if (device == NULL)
		return;
	pthread_mutex_lock(&device->lock);
	device->closing = true;
	for (unsigned i = 0; i < ACCELERATOR_STREAM_COUNT; i++)
		pthread_cond_signal(&device->engines[i].submitted);
	pthread_mutex_unlock(&device->lock);
	for (unsigned i = 0; i < device->threads_count; i++)
		pthread_join(device->engines[i].thread, NULL);
	for (unsigned i = 0; i < ACCELERATOR_STREAM_COUNT; i++) {
		pthread_cond_destroy(&device->engines[i].submitted);
		pthread_cond_destroy(&device->engines[i].done);
	}
	pthread_mutex_destroy(&device->lock);
	if (device->log >= 0)
		close(device->log);
	free(device);
}

/* Called with the lock held. */
static void enqueue(accelerator *device, accelerator_stream stream, const struct entry *entry)
{
	struct engine *engine = &device->engines[stream];
	while (engine->submitted_count - engine->done_count == QUEUE_COMMANDS_COUNT)
		pthread_cond_wait(&engine->done, &device->lock);
	engine->queue[engine->submitted_count++ % QUEUE_COMMANDS_COUNT] = *entry;
	pthread_cond_signal(&engine->submitted);
}

/* Called with the lock held. */
static bool event_valid(const accelerator *device, accelerator_event event)
{
	return (unsigned)event.stream < ACCELERATOR_STREAM_COUNT &&
	       event.commands_count <= device->engines[event.stream].submitted_count;
}

accelerator_result accelerator_submit(accelerator *device, accelerator_stream stream,
                                      const accelerator_command *command, accelerator_event *done)
{
	if (device == NULL || command == NULL || (unsigned)stream >= ACCELERATOR_STREAM_COUNT ||
	    !accelerator_command_valid(command, stream))
		return ACCELERATOR_BAD_ARGUMENT;
	accelerator_command_keep(command);
	pthread_mutex_lock(&device->lock);
	enqueue(device, stream, &(struct entry){ .command = *command, .queue_ticks = accelerator_now(device) });
	if (done)
		*done = (accelerator_event){ stream, device->engines[stream].submitted_count };
	pthread_mutex_unlock(&device->lock);
	return ACCELERATOR_OK;
}

accelerator_result accelerator_stream_wait(accelerator *device, accelerator_stream stream, accelerator_event event)
{
	if (device == NULL || (unsigned)stream >= ACCELERATOR_STREAM_COUNT)
		return ACCELERATOR_BAD_ARGUMENT;
	pthread_mutex_lock(&device->lock);
	bool valid = event_valid(device, event);
	if (valid)
		enqueue(device, stream, &(struct entry){ .is_wait = true, .event = event });
	pthread_mutex_unlock(&device->lock);
	return valid ? ACCELERATOR_OK : ACCELERATOR_BAD_ARGUMENT;
}

accelerator_result accelerator_event_synchronise(accelerator *device, accelerator_event event)
{
	if (device == NULL)
		return ACCELERATOR_BAD_ARGUMENT;
	pthread_mutex_lock(&device->lock);
	bool valid = event_valid(device, event);
	if (valid)
		wait_until_done(device, event);
	pthread_mutex_unlock(&device->lock);
	return valid ? ACCELERATOR_OK : ACCELERATOR_BAD_ARGUMENT;
}

accelerator_result accelerator_stream_synchronise(accelerator *device, accelerator_stream stream)
{
	if (device == NULL || (unsigned)stream >= ACCELERATOR_STREAM_COUNT)
		return ACCELERATOR_BAD_ARGUMENT;
	pthread_mutex_lock(&device->lock);
	accelerator_event all = { stream, device->engines[stream].submitted_count };
	pthread_mutex_unlock(&device->lock);
	return accelerator_event_synchronise(device, all);
}

accelerator_result accelerator_synchronise(accelerator *device)
{
	accelerator_result result = ACCELERATOR_OK;
	for (unsigned i = 0; i < ACCELERATOR_STREAM_COUNT && result == ACCELERATOR_OK; i++)
		result = accelerator_stream_synchronise(device, (accelerator_stream)i);
	return result;
}

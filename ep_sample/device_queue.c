/* Queues commands and waits for them: the functions of accelerator.h that do not depend on the device's API. */
#include "device_queue.h"

#include <string.h>
#include <time.h>

const char *const device_names[ACCELERATOR_OP_COUNT] = { "gemm",    "bias",     "relu", "softmax",
	                                                 "copy_in", "copy_out", "fill" };

const char *accelerator_result_text(accelerator_result result)
{
	static const char *const texts[] = { "no error", "bad argument", "out of memory", "cannot create a thread" };
	return (unsigned)result < sizeof(texts) / sizeof(texts[0]) ? texts[result] : "an error of the device";
}

uint64_t device_monotonic_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct device_queues *queues_of(accelerator *device)
{
	return (struct device_queues *)device;
}

void device_queues_init(struct device_queues *queues, const accelerator_options *options)
{
	pthread_mutex_init(&queues->lock, NULL);
	queues->completed = options->completed;
	queues->user = options->user;
}

void device_queues_deinit(struct device_queues *queues)
{
	pthread_mutex_destroy(&queues->lock);
}

/* ---- commands ---- */

static bool buffer_has(const accelerator_buffer *buffer, size_t rows, size_t columns)
{
	return buffer && device_buffer_bytes(buffer) / sizeof(float) / columns >= rows;
}

static bool command_valid(const accelerator_command *command, accelerator_stream stream)
{
	size_t m = command->m, n = command->n, k = command->k;
	bool is_copy = command->op == ACCELERATOR_COPY_IN || command->op == ACCELERATOR_COPY_OUT ||
	               command->op == ACCELERATOR_FILL;
	const accelerator_buffer *copied = command->op == ACCELERATOR_COPY_OUT ? command->a : command->out;
	if ((unsigned)command->op >= ACCELERATOR_OP_COUNT || is_copy != (stream == ACCELERATOR_COPY_ENGINE))
		return false;
	if (is_copy)
		return copied && command->bytes > 0 && command->bytes <= device_buffer_bytes(copied) &&
		       (command->op != ACCELERATOR_COPY_IN || command->from_host) &&
		       (command->op != ACCELERATOR_COPY_OUT || command->to_host);
	if (m < 1 || n < 1 || m > ACCELERATOR_MAX_SIDE || n > ACCELERATOR_MAX_SIDE || !buffer_has(command->out, m, n))
		return false;
	if (command->op == ACCELERATOR_GEMM)
		return k >= 1 && k <= ACCELERATOR_MAX_SIDE && buffer_has(command->a, m, k) && buffer_has(command->b, k, n);
	return buffer_has(command->a, m, n) && (command->op != ACCELERATOR_BIAS || buffer_has(command->b, 1, n));
}

static void entry_describe(const accelerator_command *command, accelerator_stream stream, accelerator_completion *completion)
{
	bool is_kernel = stream != ACCELERATOR_COPY_ENGINE;
	*completion = (accelerator_completion){ .name = device_names[command->op], .op = command->op, .stream = stream };
	completion->bytes = command->bytes;
	completion->m = is_kernel ? command->m : 0;
	completion->n = is_kernel ? command->n : 0;
	completion->k = command->op == ACCELERATOR_GEMM ? command->k : 0;
	completion->tag = command->tag;
}

/* [profiling] Reports the oldest command of an engine, which has ended.  The caller holds the lock. */
static void entry_report(accelerator *device, accelerator_stream stream)
{
	struct device_queues *queues = queues_of(device);
	struct device_engine *engine = &queues->engines[stream];
	struct device_entry *entry = &engine->entries[device_slot(engine->done_count)];
	for (unsigned i = 0; i < ACCELERATOR_STREAM_COUNT; i++) {
		while (queues->engines[i].done_count < entry->after[i])
			entry_report(device, (accelerator_stream)i);
	}
	device_finish(device, stream, engine->done_count, &entry->completion);
	engine->done_count++;
	if (queues->completed)
		queues->completed(queues->user, &entry->completion);
}

/* Waits until the first `count` commands of an engine have ended, and reports them.  The caller holds the lock, which
 * is released while waiting. */
static accelerator_result engine_wait(accelerator *device, accelerator_stream stream, uint64_t count)
{
	struct device_engine *engine = &queues_of(device)->engines[stream];
	if (engine->done_count >= count)
		return ACCELERATOR_OK;
	bool reached = device_wait(device, stream, count);
	while (engine->done_count < count)
		entry_report(device, stream);
	return reached ? ACCELERATOR_OK : ACCELERATOR_BAD_ARGUMENT;
}

accelerator_result accelerator_submit(accelerator *device, accelerator_stream stream,
                                      const accelerator_command *command, accelerator_event *done)
{
	if (device == NULL || command == NULL || (unsigned)stream >= ACCELERATOR_STREAM_COUNT ||
	    !command_valid(command, stream))
		return ACCELERATOR_BAD_ARGUMENT;
	struct device_queues *queues = queues_of(device);
	struct device_engine *engine = &queues->engines[stream];
	pthread_mutex_lock(&queues->lock);
	while (engine->submitted_count - engine->done_count == DEVICE_QUEUE_COMMANDS)
		engine_wait(device, stream, engine->done_count + 1);
	struct device_entry *entry = &engine->entries[device_slot(engine->submitted_count)];
	entry_describe(command, stream, &entry->completion);
	memcpy(entry->after, engine->after, sizeof(entry->after));
	bool queued = device_enqueue(device, stream, command, &entry->completion);
	if (queued) {
		engine->submitted_count++;
		if (done)
			*done = (accelerator_event){ stream, engine->submitted_count };
	}
	pthread_mutex_unlock(&queues->lock);
	return queued ? ACCELERATOR_OK : ACCELERATOR_OUT_OF_MEMORY;
}

/* ---- waiting ---- */

/* The caller holds the lock. */
static bool event_valid(const struct device_queues *queues, accelerator_event event)
{
	return (unsigned)event.stream < ACCELERATOR_STREAM_COUNT &&
	       event.commands_count <= queues->engines[event.stream].submitted_count;
}

accelerator_result accelerator_stream_wait(accelerator *device, accelerator_stream stream, accelerator_event event)
{
	if (device == NULL || (unsigned)stream >= ACCELERATOR_STREAM_COUNT)
		return ACCELERATOR_BAD_ARGUMENT;
	struct device_queues *queues = queues_of(device);
	bool works = true;
	pthread_mutex_lock(&queues->lock);
	bool valid = event_valid(queues, event);
	if (valid && queues->engines[event.stream].done_count < event.commands_count) {
		works = device_wait_before_next(device, stream, event);
		queues->engines[stream].after[event.stream] = event.commands_count;
	}
	pthread_mutex_unlock(&queues->lock);
	return !works ? ACCELERATOR_OUT_OF_MEMORY : valid ? ACCELERATOR_OK : ACCELERATOR_BAD_ARGUMENT;
}

accelerator_result accelerator_event_synchronise(accelerator *device, accelerator_event event)
{
	if (device == NULL)
		return ACCELERATOR_BAD_ARGUMENT;
	struct device_queues *queues = queues_of(device);
	accelerator_result result = ACCELERATOR_BAD_ARGUMENT;
	pthread_mutex_lock(&queues->lock);
	if (event_valid(queues, event))
		result = engine_wait(device, event.stream, event.commands_count);
	pthread_mutex_unlock(&queues->lock);
	return result;
}

accelerator_result accelerator_synchronise(accelerator *device)
{
	if (device == NULL)
		return ACCELERATOR_BAD_ARGUMENT;
	struct device_queues *queues = queues_of(device);
	accelerator_result result = ACCELERATOR_OK;
	pthread_mutex_lock(&queues->lock);
	for (unsigned i = 0; i < ACCELERATOR_STREAM_COUNT && result == ACCELERATOR_OK; i++)
		result = engine_wait(device, (accelerator_stream)i, queues->engines[i].submitted_count);
	pthread_mutex_unlock(&queues->lock);
	return result;
}

/* A plugin of the PU1 ABI (epprof/abi/pu1.h) around the software accelerator: the minimum that a vendor has to
 * implement.
 *
 * A launch is one command with its ids.  It is the tag of the device's command and becomes a record when the device
 * reports the command as done, on a thread of the device.  Records are written into one buffer of the host at a time,
 * under one lock.  The lock is held during the host's callbacks, so these must not call back.  Names and metadata are
 * literals, so they live as long as the process. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "accelerator.h"
#include "epprof/abi/pu1.h"
#include "work.h"

#define STACK_IDS_COUNT 64
#define WORK_VALUES_COUNT 64

__extension__ typedef unsigned __int128 uint128;

struct launch {
	pu1ActivityRecord record; /* has all values except the times */
};

static struct {
	pthread_once_t once;
	accelerator *device; /* NULL: the device could not be created */
	uint64_t ticks_per_second;
	atomic_uint kinds_enabled; /* set of bits 1 << kind */
	atomic_uint_fast64_t launches_count;
	pthread_mutex_t lock; /* guards all members below */
	pu1BufferRequestFn request;
	pu1BufferCompleteFn complete;
	uint8_t *buffer; /* NULL: the plugin has no buffer now */
	size_t buffer_bytes;
	size_t used_bytes;
	size_t records_left;
	size_t dropped_count;
} sample = { .once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER };

static _Thread_local struct {
	size_t count;
	uint64_t ids[STACK_IDS_COUNT];
} external;

static bool is_enabled(uint32_t kind)
{
	return atomic_load(&sample.kinds_enabled) >> kind & 1;
}

/* ---- records ---- */

/* The caller holds the lock, here and below. */
static void buffer_return(void)
{
	uint8_t *buffer = sample.buffer;
	sample.buffer = NULL;
	if (buffer)
		sample.complete(buffer, sample.buffer_bytes, sample.used_bytes);
}

static void buffer_get(void)
{
	sample.used_bytes = 0;
	sample.request(&sample.buffer, &sample.buffer_bytes, &sample.records_left);
	if (sample.buffer && sample.records_left == 0)
		sample.records_left = SIZE_MAX;
}

static bool buffer_has_room(void)
{
	return sample.buffer && sample.records_left &&
	       sample.buffer_bytes - sample.used_bytes >= sizeof(pu1ActivityRecord);
}

static void record_add(const pu1ActivityRecord *record)
{
	pthread_mutex_lock(&sample.lock);
	if (!buffer_has_room()) {
		buffer_return();
		buffer_get();
	}
	if (buffer_has_room()) {
		memcpy(sample.buffer + sample.used_bytes, record, sizeof(*record));
		sample.used_bytes += sizeof(*record);
		sample.records_left--;
	} else {
		sample.dropped_count++;
	}
	pthread_mutex_unlock(&sample.lock);
}

/* ---- the device ---- */

static uint64_t to_ns(uint64_t ticks)
{
	return (uint64_t)((uint128)ticks * 1000000000 / sample.ticks_per_second);
}

static uint64_t now_ns(void)
{
	return to_ns(accelerator_now(sample.device));
}

/* The device calls this on its own thread when a command is done. */
static void command_completed(void *user, const accelerator_completion *completion)
{
	(void)user;
	struct launch *launch = (struct launch *)(uintptr_t)completion->tag;
	if (!launch)
		return;
	launch->record.name = completion->name;
	launch->record.start_time = to_ns(completion->start_ticks);
	launch->record.end_time = to_ns(completion->end_ticks);
	launch->record.stream_id = completion->stream;
	record_add(&launch->record);
	free(launch);
}

static void device_create(void)
{
	accelerator_options options = { .completed = command_completed };
	if (!accelerator_clock_options_read(&options.clock))
		return;
	sample.ticks_per_second = options.clock.ticks_per_second;
	accelerator_create(&options, &sample.device);
}

/* Queues a command.  It gets a record if its kind is enabled now, at its launch.  The record is written when the
 * command ends. */
static accelerator_result launch(accelerator_stream stream, uint32_t kind, const char *call,
                                 const accelerator_command *command, accelerator_event *done)
{
	pu1ActivityRecord record = { .struct_size = sizeof(record) };
	record.correlation_id = atomic_fetch_add(&sample.launches_count, 1) + 1;
	record.process_id = (uint32_t)getpid();
	record.thread_id = (uint32_t)syscall(SYS_gettid);
	if (external.count) {
		record.flags = PU1_FLAG_EXTERNAL_ID;
		record.external_id = external.ids[external.count - 1];
	}
	struct launch *traced = is_enabled(kind) ? malloc(sizeof(*traced)) : NULL;
	if (traced) {
		traced->record = record;
		traced->record.kind = kind;
		traced->record.bytes = command->bytes;
		traced->record.metadata = kind == PU1_KIND_CONCURRENT_KERNEL ? "{\"grid\": [1, 1, 1]}" : NULL;
	}
	accelerator_command tagged = *command;
	tagged.tag = (uintptr_t)traced;
	uint64_t start = now_ns();
	accelerator_result result = accelerator_submit(sample.device, stream, &tagged, done);
	if (result)
		free(traced);
	if (is_enabled(PU1_KIND_PRIVATEUSE1_RUNTIME)) {
		record.kind = PU1_KIND_PRIVATEUSE1_RUNTIME;
		record.name = call;
		record.start_time = start;
		record.end_time = now_ns();
		record.device_id = (int32_t)record.process_id;
		record.stream_id = record.thread_id;
		record_add(&record);
	}
	return result;
}

/* Fills a buffer, copies data into it, runs `count` kernels on it, on streams 0 and 1 in turn, and copies the result
 * out. Each kernel is a unit of work. */
static accelerator_result work(int count)
{
	float values[WORK_VALUES_COUNT] = { 1, -1 };
	accelerator_buffer *buffer;
	accelerator_event done;
	accelerator_result result = accelerator_buffer_create(sizeof(values), &buffer);
	if (result)
		return result;
	accelerator_command command = { .op = ACCELERATOR_FILL, .out = buffer, .bytes = sizeof(values) };
	result = launch(ACCELERATOR_STREAM_0, PU1_KIND_GPU_MEMSET, "sampleFill", &command, &done);
	if (!result)
		result = accelerator_stream_wait(sample.device, ACCELERATOR_COPY_ENGINE, done);
	command = (accelerator_command){
		.op = ACCELERATOR_COPY_IN, .out = buffer, .from_host = values, .bytes = sizeof(values)
	};
	if (!result)
		result = launch(ACCELERATOR_COPY_ENGINE, PU1_KIND_GPU_MEMCPY, "sampleCopy", &command, &done);
	command = (accelerator_command){ .op = ACCELERATOR_RELU, .a = buffer, .out = buffer, .m = 1, .n = WORK_VALUES_COUNT };
	for (int i = 0; i < count && !result; i++) {
		accelerator_stream stream = (accelerator_stream)(i % 2);
		result = accelerator_stream_wait(sample.device, stream, done);
		if (!result)
			result = launch(stream, PU1_KIND_CONCURRENT_KERNEL, "sampleLaunch", &command, &done);
	}
	if (!result)
		result = accelerator_stream_wait(sample.device, ACCELERATOR_COPY_ENGINE, done);
	command = (accelerator_command){
		.op = ACCELERATOR_COPY_OUT, .a = buffer, .to_host = values, .bytes = sizeof(values)
	};
	if (!result)
		result = launch(ACCELERATOR_COPY_ENGINE, PU1_KIND_GPU_MEMCPY, "sampleCopy", &command, &done);
	accelerator_synchronise(sample.device);
	accelerator_buffer_release(buffer);
	return result;
}

int epp_sample_work(int count)
{
	pthread_once(&sample.once, device_create);
	return sample.device ? (int)work(count) : -1;
}

/* ---- the ABI ---- */

uint32_t pu1GetVersion(void)
{
	return PU1_VERSION;
}

int kineto_register_privateuse1_plugin(void)
{
	pthread_once(&sample.once, device_create);
	return sample.device ? 0 : 1;
}

static bool is_kind(pu1ActivityKind kind)
{
	return (int)kind >= PU1_KIND_CONCURRENT_KERNEL && (int)kind <= PU1_KIND_PRIVATEUSE1_DRIVER;
}

pu1Result pu1TracingEnable(pu1ActivityKind kind)
{
	if (!is_kind(kind))
		return PU1_INVALID_KIND;
	atomic_fetch_or(&sample.kinds_enabled, 1u << kind);
	return PU1_SUCCESS;
}

pu1Result pu1TracingDisable(pu1ActivityKind kind)
{
	if (!is_kind(kind))
		return PU1_INVALID_KIND;
	atomic_fetch_and(&sample.kinds_enabled, ~(1u << kind));
	return PU1_SUCCESS;
}

pu1Result pu1TracingSetCallbacks(pu1BufferRequestFn request, pu1BufferCompleteFn complete)
{
	if (!request || !complete)
		return PU1_INVALID_PARAMETER;
	pthread_mutex_lock(&sample.lock);
	if (sample.complete)
		buffer_return();
	sample.request = request;
	sample.complete = complete;
	pthread_mutex_unlock(&sample.lock);
	return PU1_SUCCESS;
}

pu1Result pu1PushExternalCorrelationId(uint64_t id)
{
	if (external.count == STACK_IDS_COUNT)
		return PU1_MAX_LIMIT_REACHED;
	external.ids[external.count++] = id;
	return PU1_SUCCESS;
}

pu1Result pu1PopExternalCorrelationId(uint64_t *last_id)
{
	if (external.count == 0)
		return PU1_QUEUE_EMPTY;
	external.count--;
	if (last_id)
		*last_id = external.ids[external.count];
	return PU1_SUCCESS;
}

pu1Result pu1FlushAll(void)
{
	pthread_mutex_lock(&sample.lock);
	bool has_callbacks = sample.complete != NULL;
	if (has_callbacks)
		buffer_return();
	pthread_mutex_unlock(&sample.lock);
	return has_callbacks ? PU1_SUCCESS : PU1_INVALID_OPERATION;
}

pu1Result pu1GetNextRecord(uint8_t *buffer, size_t valid_bytes, pu1ActivityRecord **record)
{
	if (!buffer || !record)
		return PU1_INVALID_PARAMETER;
	const pu1ActivityRecord *last = *record;
	size_t at = last ? (size_t)((const uint8_t *)last - buffer) + last->struct_size : 0;
	if (at + sizeof(*last) > valid_bytes)
		return PU1_MAX_LIMIT_REACHED;
	*record = (pu1ActivityRecord *)(void *)(buffer + at);
	return PU1_SUCCESS;
}

pu1Result pu1GetNumDroppedRecords(size_t *count)
{
	if (!count)
		return PU1_INVALID_PARAMETER;
	pthread_mutex_lock(&sample.lock);
	*count = sample.dropped_count;
	sample.dropped_count = 0;
	pthread_mutex_unlock(&sample.lock);
	return PU1_SUCCESS;
}

pu1Result pu1GetTimestamp(uint64_t *now)
{
	if (!now)
		return PU1_INVALID_PARAMETER;
	*now = now_ns();
	return PU1_SUCCESS;
}

const char *pu1GetResultString(pu1Result result)
{
	return result == PU1_SUCCESS ? "no error" : "an error";
}

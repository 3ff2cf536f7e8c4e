/* A PU1 library for `epprof conform`.  The environment variable HOSTILE names a case: then the library has the fault that
 * this case finds, and no other.  Without it, it keeps the contract.  Its device is imagined: a unit of work is a kernel
 * with the times at which epp_sample_work ran it. */
#include <pthread.h>

#include "epprof/abi/pu1.h"
#include "epprof/status.h"
#include "hostile.h"

#define STACK_IDS_MAX 64

EPP_EXPORT int epp_sample_work(int count);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static pu1BufferRequestFn request;
static pu1BufferCompleteFn complete;
static uint8_t *buffer; /* NULL: none at present */
static size_t buffer_bytes, used_bytes, records_left, dropped_count;
static unsigned kinds_enabled, kernel_enables_count;
static unsigned records_count; /* in the buffer */
static uint8_t *returned;      /* the last one */
static size_t returned_bytes;
static uint64_t correlation_id;
static pid_t callbacks_thread;
static unsigned flushes_count;

static __thread struct {
	unsigned count;
	uint64_t ids[STACK_IDS_MAX];
} stack;

static _Atomic uint64_t stolen_id;                   /* the last one pushed by any thread */
static _Atomic uint64_t last_ids[THREADS_WITH_ROOM]; /* the last one of each of the first threads */

/* ---- records, with the lock held ---- */

static void buffer_return(void)
{
	uint8_t *full = buffer;
	size_t bytes = used_bytes, size = buffer_bytes;

	buffer = NULL;
	if (!full)
		return;
	/* Only this case has 7 kernels. */
	if (has("2.pu1.records") && records_count == 7)
		((pu1ActivityRecord *)(void *)(full + bytes - sizeof(pu1ActivityRecord)))->struct_size = 4096;
	complete(full, has("2.pu1.size_value") ? size / 2 : size, bytes);
	if (has("2.pu1.buffer_once") && records_count == 3)
		complete(full, size, bytes);
	returned = full;
	returned_bytes = size;
}

static void buffer_get(void)
{
	size_t max_records = 0;

	used_bytes = records_count = 0;
	request(&buffer, &buffer_bytes, &max_records);
	records_left = max_records && !has("2.pu1.max_records") ? max_records : SIZE_MAX;
}

static bool has_room(void)
{
	size_t bytes = has("2.pu1.small_buffers") && used_bytes && buffer_bytes < 4096 ? 8 : sizeof(pu1ActivityRecord);

	return buffer && records_left > 0 && buffer_bytes - used_bytes >= bytes;
}

static void record_add(const pu1ActivityRecord *record)
{
	if (!has_room()) {
		if (buffer)
			buffer_return();
		buffer_get();
	}
	hang_if(has("2.pu1.tiny_buffers") && buffer && buffer_bytes < sizeof(*record));
	if (!has_room() || (has("2.pu1.declined") && dropped_count)) {
		dropped_count++;
		return;
	}
	memcpy(buffer + used_bytes, record, sizeof(*record));
	used_bytes += sizeof(*record);
	records_left--;
	records_count++;
}

static void work_once(void)
{
	pu1ActivityRecord record = { .kind = PU1_KIND_CONCURRENT_KERNEL, .struct_size = sizeof(record), .name = "work" };

	record.start_time = (uint64_t)clock_ns(CLOCK_MONOTONIC);
	while ((uint64_t)clock_ns(CLOCK_MONOTONIC) < record.start_time + 2000)
		continue;
	record.end_time = (uint64_t)clock_ns(CLOCK_MONOTONIC);
	if (stack.count > 0) {
		record.external_id = stack.ids[stack.count - 1];
		if (has("3.pu1.threads"))
			record.external_id = last_ids[thread_number() % THREADS_WITH_ROOM];
		if (record.external_id || !has("3.pu1.id_zero"))
			record.flags = PU1_FLAG_EXTERNAL_ID;
	} else if (has("3.pu1.id_none")) {
		record.flags = PU1_FLAG_EXTERNAL_ID;
		record.external_id = 12345;
	}
	pthread_mutex_lock(&lock);
	record.correlation_id = ++correlation_id;
	if (complete && (kinds_enabled >> PU1_KIND_CONCURRENT_KERNEL & 1 || (has("2.pu1.disabled") && correlation_id == 5)))
		record_add(&record);
	if (complete && has("2.pu1.kinds") && kinds_enabled == 1u << PU1_KIND_CONCURRENT_KERNEL) {
		record.kind = PU1_KIND_PRIVATEUSE1_RUNTIME;
		record_add(&record);
	}
	if (has("2.pu1.buffer_left") && returned)
		returned[returned_bytes - 1]++;
	pthread_mutex_unlock(&lock);
}

int epp_sample_work(int count)
{
	for (int i = 0; i < count; i++)
		work_once();
	return 0;
}

/* ---- the ABI ---- */

uint32_t pu1GetVersion(void)
{
	return PU1_VERSION;
}

int kineto_register_privateuse1_plugin(void)
{
	return 0;
}

static bool is_kind(pu1ActivityKind kind)
{
	return has("2.pu1.unknown_kind") ||
	       ((int)kind >= PU1_KIND_CONCURRENT_KERNEL && (int)kind <= PU1_KIND_PRIVATEUSE1_DRIVER);
}

pu1Result pu1TracingEnable(pu1ActivityKind kind)
{
	if (!is_kind(kind))
		return PU1_INVALID_KIND;
	pthread_mutex_lock(&lock);
	kinds_enabled |= 1u << kind % 32;
	kernel_enables_count += kind == PU1_KIND_CONCURRENT_KERNEL;
	pthread_mutex_unlock(&lock);
	return PU1_SUCCESS;
}

pu1Result pu1TracingDisable(pu1ActivityKind kind)
{
	if (!is_kind(kind))
		return PU1_INVALID_KIND;
	pthread_mutex_lock(&lock);
	if (kind == PU1_KIND_CONCURRENT_KERNEL && kernel_enables_count > 0)
		kernel_enables_count--;
	if (!has("2.pu1.enable_twice") || kind != PU1_KIND_CONCURRENT_KERNEL || kernel_enables_count == 0)
		kinds_enabled &= ~(1u << kind % 32);
	pthread_mutex_unlock(&lock);
	return PU1_SUCCESS;
}

pu1Result pu1TracingSetCallbacks(pu1BufferRequestFn new_request, pu1BufferCompleteFn new_complete)
{
	if ((!new_request || !new_complete) && !has("2.pu1.null_callbacks"))
		return PU1_INVALID_PARAMETER;
	pthread_mutex_lock(&lock);
	callbacks_thread = gettid();
	if (!complete || !has("2.pu1.callbacks_again")) {
		if (complete)
			buffer_return();
		request = new_request;
		complete = new_complete;
	}
	pthread_mutex_unlock(&lock);
	return PU1_SUCCESS;
}

pu1Result pu1PushExternalCorrelationId(uint64_t id)
{
	crash_if(has("2.pu1.push_full") && stack.count == STACK_IDS_MAX);
	if (stack.count == STACK_IDS_MAX)
		return PU1_MAX_LIMIT_REACHED;
	/* The cases of all ABIs nest less. */
	if (has("2.pu1.push_order") && stack.count == 7) {
		memmove(stack.ids + 1, stack.ids, stack.count * sizeof(*stack.ids));
		stack.ids[0] = id;
	} else {
		stack.ids[stack.count] = id;
	}
	stack.count++;
	if (thread_number() < THREADS_WITH_ROOM)
		last_ids[thread_number()] = id;
	stolen_id = id;
	return PU1_SUCCESS;
}

pu1Result pu1PopExternalCorrelationId(uint64_t *last_id)
{
	crash_if(has("2.pu1.pop_null") && !last_id);
	if (stack.count == 0 && has("2.pu1.pop_empty") && stolen_id == 0) {
		*last_id = 0;
		return PU1_SUCCESS;
	}
	if (stack.count == 0 && has("3.pu1.stack_threads") && gettid() != getpid() && stolen_id)
		return PU1_SUCCESS;
	if (stack.count == 0)
		return PU1_QUEUE_EMPTY;
	stack.count--;
	if (last_id)
		*last_id = stack.ids[stack.count];
	return PU1_SUCCESS;
}

pu1Result pu1FlushAll(void)
{
	if (has("3.pu1.flush_thread") && callbacks_thread && gettid() != callbacks_thread)
		return PU1_UNKNOWN;
	pthread_mutex_lock(&lock);
	bool has_callbacks = complete != NULL;
	if (has_callbacks && !(has("2.pu1.flush") && records_count == 3 && dropped_count == 0))
		buffer_return();
	pthread_mutex_unlock(&lock);
	crash_if(has("5.pu1.random") && ++flushes_count == 200);
	return has_callbacks || has("2.pu1.flush_alone") ? PU1_SUCCESS : PU1_INVALID_OPERATION;
}

pu1Result pu1GetNextRecord(uint8_t *records, size_t valid_bytes, pu1ActivityRecord **record)
{
	if (!records || !record)
		return PU1_INVALID_PARAMETER;
	size_t at = *record ? (size_t)((uint8_t *)*record - records) + (*record)->struct_size : 0;
	if (at + PU1_RECORD_BYTES_MIN > valid_bytes) {
		if (has("2.pu1.next_record"))
			*record = NULL;
		return PU1_MAX_LIMIT_REACHED;
	}
	*record = (pu1ActivityRecord *)(void *)(records + at);
	return PU1_SUCCESS;
}

pu1Result pu1GetNumDroppedRecords(size_t *count)
{
	pthread_mutex_lock(&lock);
	*count = dropped_count;
	if (!has("2.pu1.dropped"))
		dropped_count = 0;
	pthread_mutex_unlock(&lock);
	return PU1_SUCCESS;
}

pu1Result pu1GetTimestamp(uint64_t *now_ns)
{
	static _Atomic unsigned readings_count;

	*now_ns = (uint64_t)clock_ns(CLOCK_MONOTONIC);
	if (has("4.pu1.clock_order") && ++readings_count % 10000 == 0)
		*now_ns -= 1000000;
	return PU1_SUCCESS;
}

const char *pu1GetResultString(pu1Result result)
{
	return result == PU1_SUCCESS ? "no error" : result == 77 && has("2.pu1.result_text") ? NULL : "an error";
}

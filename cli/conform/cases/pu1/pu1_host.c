/* Calls the functions of PU1 libraries for the cases, as a framework does; see pu1_host.h. */
#include "pu1_host.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define GUARD 0xA5
#define GUARD_BYTES 4096

struct pu1_buffers pu1_buffers = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- callbacks ---- */

static void provide_buffer(uint8_t **bytes, size_t *size, size_t *max_records, bool is_first_set)
{
	struct pu1_buffers *all = &pu1_buffers;

	pthread_mutex_lock(&all->lock);
	uint8_t *made = all->bytes && all->count < PU1_BUFFERS_MAX ? malloc(all->bytes + GUARD_BYTES) : NULL;
	if (made) {
		memset(made, GUARD, all->bytes + GUARD_BYTES);
		all->all[all->count++] = (struct pu1_buffer){
			.bytes = made, .size = all->bytes, .max_records = all->max_records, .is_first_set = is_first_set
		};
	}
	*bytes = made;
	*size = made ? all->bytes : 0;
	*max_records = all->max_records;
	pthread_mutex_unlock(&all->lock);
}

uint64_t pu1_sum(const struct pu1_buffer *buffer)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < buffer->size + GUARD_BYTES; i++)
		sum = (sum ^ buffer->bytes[i]) * 0x100000001B3u;
	return sum;
}

static void receive_buffer(const uint8_t *bytes, size_t size, size_t valid_bytes)
{
	struct pu1_buffers *all = &pu1_buffers;
	unsigned i = 0;

	pthread_mutex_lock(&all->lock);
	while (i < all->count && all->all[i].bytes != bytes)
		i++;
	if (i == all->count) {
		all->foreign_count++;
	} else {
		struct pu1_buffer *buffer = &all->all[i];
		buffer->completed_count++;
		buffer->reported_bytes = size;
		buffer->valid_bytes = valid_bytes;
		buffer->sum = pu1_sum(buffer);
	}
	pthread_mutex_unlock(&all->lock);
}

static void request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	provide_buffer(buffer, size, max_records, true);
}

static void complete(uint8_t *buffer, size_t size, size_t valid_bytes)
{
	receive_buffer(buffer, size, valid_bytes);
}

static void request_second(uint8_t **buffer, size_t *size, size_t *max_records)
{
	provide_buffer(buffer, size, max_records, false);
}

static void complete_second(uint8_t *buffer, size_t size, size_t valid_bytes)
{
	receive_buffer(buffer, size, valid_bytes);
}

pu1Result pu1_set_second(const struct pu1_host *host)
{
	return host->set_callbacks(request_second, complete_second);
}

/* ---- the library ---- */

static void *find_function(const struct pu1_host *host, void *library, const char *name, bool is_required)
{
	void *found = dlsym(library, name);

	if (!found && is_required)
		conform_skip(host->conform, "the library has no %s, see 1.load.library", name);
	return found;
}

void pu1_open(const struct conform *conform, struct pu1_host *host)
{
	void *library = conform_open(conform, "pu1GetVersion");
	uint32_t (*get_version)(void);
	int (*enter)(void);

	*host = (struct pu1_host){ .conform = conform, .work_count = PU1_WORK_COUNT };
	*(void **)&get_version = find_function(host, library, "pu1GetVersion", true);
	*(void **)&enter = find_function(host, library, "kineto_register_privateuse1_plugin", true);
	*(void **)&host->enable = find_function(host, library, "pu1TracingEnable", true);
	*(void **)&host->disable = find_function(host, library, "pu1TracingDisable", true);
	*(void **)&host->set_callbacks = find_function(host, library, "pu1TracingSetCallbacks", true);
	*(void **)&host->push = find_function(host, library, "pu1PushExternalCorrelationId", true);
	*(void **)&host->pop = find_function(host, library, "pu1PopExternalCorrelationId", true);
	*(void **)&host->flush = find_function(host, library, "pu1FlushAll", true);
	*(void **)&host->next_record = find_function(host, library, "pu1GetNextRecord", true);
	*(void **)&host->dropped_count = find_function(host, library, "pu1GetNumDroppedRecords", false);
	*(void **)&host->timestamp = find_function(host, library, "pu1GetTimestamp", false);
	*(void **)&host->result_text = find_function(host, library, "pu1GetResultString", false);
	if (conform->work_name)
		host->work = conform_open_work(conform, library);
	if (get_version() >> 16 != PU1_VERSION_MAJOR)
		conform_skip(conform, "the library has version %u, see 1.load.library", get_version() >> 16);
	if (enter() != 0)
		conform_skip(conform, "the library refuses to be used, see 1.load.library");
	if (conform->trace_path)
		pu1_trace(host);
}

void pu1_open_with_buffers(const struct conform *conform, struct pu1_host *host, size_t buffer_bytes, size_t max_records)
{
	pu1_open(conform, host);
	pu1_buffers.bytes = buffer_bytes;
	pu1_buffers.max_records = max_records;
	pu1_expect(host, "pu1TracingSetCallbacks", host->set_callbacks(request, complete), PU1_SUCCESS);
}

void pu1_expect(const struct pu1_host *host, const char *step, pu1Result result, pu1Result expected)
{
	if (result != expected)
		conform_fail(host->conform, "%s returned %d, not %d", step, (int)result, (int)expected);
}

void pu1_work(const struct pu1_host *host)
{
	if (!host->work)
		conform_skip(host->conform, "nothing gives the device work: --work SYMBOL names a function that does");
	if (host->work(host->work_count) != 0)
		conform_skip(host->conform, "%s failed", host->conform->work_name);
}

void pu1_run(const struct pu1_host *host)
{
	pu1_expect(host, "pu1TracingEnable", host->enable(PU1_KIND_CONCURRENT_KERNEL), PU1_SUCCESS);
	pu1_work(host);
	pu1_expect(host, "pu1FlushAll", host->flush(), PU1_SUCCESS);
	pu1_expect(host, "pu1TracingDisable", host->disable(PU1_KIND_CONCURRENT_KERNEL), PU1_SUCCESS);
}

/* ---- records ---- */

static const char *check_record(const pu1ActivityRecord *record, size_t left)
{
	if (left < PU1_RECORD_BYTES_MIN)
		return "a part of a record is at the end of a buffer";
	if (record->struct_size < PU1_RECORD_BYTES_MIN || record->struct_size % PU1_RECORD_ALIGNMENT)
		return "a record's struct_size is below 64, or no multiple of 8";
	if (record->struct_size > left)
		return "a record extends beyond the valid bytes of its buffer";
	if (record->kind < PU1_KIND_CONCURRENT_KERNEL || record->kind > PU1_KIND_PRIVATEUSE1_DRIVER)
		return "a record has an unknown kind";
	return NULL;
}

size_t pu1_records(pu1ActivityRecord *records, const char **wrong)
{
	size_t count = 0;
	const char *found = NULL;

	pthread_mutex_lock(&pu1_buffers.lock);
	for (unsigned i = 0; i < pu1_buffers.count && !found; i++) {
		const struct pu1_buffer *buffer = &pu1_buffers.all[i];
		if (buffer->completed_count && buffer->valid_bytes > buffer->size)
			found = "the valid bytes of a buffer are more than its size";
		size_t end = buffer->completed_count && !found ? buffer->valid_bytes : 0;
		for (size_t at = 0; at < end && count < PU1_RECORDS_MAX && !found;) {
			pu1ActivityRecord record = { 0 };
			memcpy(&record, buffer->bytes + at, end - at < sizeof(record) ? end - at : sizeof(record));
			found = check_record(&record, end - at);
			at += record.struct_size;
			if (record.struct_size < sizeof(record))
				memset((char *)&record + record.struct_size, 0, sizeof(record) - record.struct_size);
			if (!found)
				records[count++] = record;
		}
	}
	pthread_mutex_unlock(&pu1_buffers.lock);
	if (wrong)
		*wrong = found;
	return count;
}

size_t pu1_count_kernels(void)
{
	static pu1ActivityRecord records[PU1_RECORDS_MAX];
	size_t count = 0, records_count = pu1_records(records, NULL);

	for (size_t i = 0; i < records_count; i++)
		count += records[i].kind == PU1_KIND_CONCURRENT_KERNEL;
	return count;
}

size_t pu1_guard_check(void)
{
	size_t count = 0;

	pthread_mutex_lock(&pu1_buffers.lock);
	for (unsigned i = 0; i < pu1_buffers.count; i++) {
		const struct pu1_buffer *buffer = &pu1_buffers.all[i];
		for (size_t at = buffer->size; at < buffer->size + GUARD_BYTES; at++)
			count += buffer->bytes[at] != GUARD;
	}
	pthread_mutex_unlock(&pu1_buffers.lock);
	return count;
}

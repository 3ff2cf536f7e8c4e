/* The cases of PU1 libraries: kinds of records, buffers and records. */
#include <string.h>

#include "cli/conform/cases/cases.h"
#include "pu1_host.h"

/* ---- kinds ---- */

void case_pu1_enable_twice(const struct conform *conform)
{
	struct pu1_host host;

	pu1_open_with_buffers(conform, &host, PU1_DEFAULT_BYTES, 0);
	pu1_expect(&host, "pu1TracingEnable", host.enable(PU1_KIND_CONCURRENT_KERNEL), PU1_SUCCESS);
	pu1_expect(&host, "a second pu1TracingEnable", host.enable(PU1_KIND_CONCURRENT_KERNEL), PU1_SUCCESS);
	pu1_expect(&host, "pu1TracingDisable", host.disable(PU1_KIND_CONCURRENT_KERNEL), PU1_SUCCESS);
	pu1_work(&host);
	pu1_expect(&host, "pu1FlushAll", host.flush(), PU1_SUCCESS);
	size_t count = pu1_count_kernels();
	if (count)
		conform_fail(conform, "%zu kernels have records; the kind was enabled twice and disabled once", count);
}

void case_pu1_kinds(const struct conform *conform)
{
	static pu1ActivityRecord records[PU1_RECORDS_MAX];
	struct pu1_host host;

	pu1_open_with_buffers(conform, &host, PU1_DEFAULT_BYTES, 0);
	pu1_run(&host);
	size_t count = pu1_records(records, NULL);
	for (size_t i = 0; i < count; i++) {
		if (records[i].kind != PU1_KIND_CONCURRENT_KERNEL)
			conform_fail(conform, "a record has kind %u, which is not enabled", records[i].kind);
	}
}

void case_pu1_disabled(const struct conform *conform)
{
	struct pu1_host host;

	pu1_open_with_buffers(conform, &host, PU1_DEFAULT_BYTES, 0);
	pu1_run(&host);
	size_t before = pu1_count_kernels();
	pu1_work(&host);
	pu1_expect(&host, "pu1FlushAll", host.flush(), PU1_SUCCESS);
	size_t after = pu1_count_kernels();
	if (after > before)
		conform_fail(conform, "%zu kernels that were launched after pu1TracingDisable have records",
		             after - before);
}

/* ---- buffers ---- */

void case_pu1_flush(const struct conform *conform)
{
	struct pu1_host host;

	pu1_open_with_buffers(conform, &host, PU1_DEFAULT_BYTES, 0);
	pu1_run(&host);
	size_t count = pu1_count_kernels();
	if (count < PU1_WORK_COUNT)
		conform_fail(conform, "%d units of work, %zu kernels in the buffers after pu1FlushAll", PU1_WORK_COUNT,
		             count);
}

void case_pu1_callbacks_again(const struct conform *conform)
{
	struct pu1_host host;

	pu1_open_with_buffers(conform, &host, PU1_DEFAULT_BYTES, 0);
	pu1_run(&host);
	pu1_expect(&host, "a second pu1TracingSetCallbacks", pu1_set_second(&host), PU1_SUCCESS);
	unsigned first_count = pu1_buffers.count;
	pu1_run(&host);
	if (pu1_buffers.count == first_count)
		conform_fail(conform, "no buffer was requested after the callbacks were set again");
	for (unsigned i = first_count; i < pu1_buffers.count; i++) {
		if (pu1_buffers.all[i].is_first_set)
			conform_fail(conform, "a buffer was requested by the callback that was replaced");
	}
}

void case_pu1_declined(const struct conform *conform)
{
	struct pu1_host host;

	pu1_open_with_buffers(conform, &host, 0, 0);
	pu1_run(&host);
	if (pu1_buffers.foreign_count)
		conform_fail(conform, "a buffer was given back, but the host gave none");
	pu1_buffers.bytes = PU1_DEFAULT_BYTES;
	pu1_run(&host);
	size_t count = pu1_count_kernels();
	if (count < PU1_WORK_COUNT)
		conform_fail(conform, "%d units of work, %zu kernels, after the host had declined buffers",
		             PU1_WORK_COUNT, count);
}

void case_pu1_dropped(const struct conform *conform)
{
	size_t dropped = 0;
	struct pu1_host host;

	pu1_open_with_buffers(conform, &host, 0, 0);
	if (!host.dropped_count)
		conform_skip(conform, "the library has no pu1GetNumDroppedRecords");
	pu1_run(&host);
	pu1_expect(&host, "pu1GetNumDroppedRecords", host.dropped_count(&dropped), PU1_SUCCESS);
	if (dropped < PU1_WORK_COUNT)
		conform_fail(conform, "%d units of work without a buffer, %zu dropped records", PU1_WORK_COUNT, dropped);
	pu1_expect(&host, "pu1GetNumDroppedRecords", host.dropped_count(&dropped), PU1_SUCCESS);
	if (dropped)
		conform_fail(conform, "%zu records are dropped, that were in the last count", dropped);
}

void case_pu1_small_buffers(const struct conform *conform)
{
	struct pu1_host host;

	/* 200 bytes are not a multiple of a record's size. */
	pu1_open_with_buffers(conform, &host, 200, 0);
	pu1_run(&host);
	size_t changed = pu1_guard_check();
	if (changed)
		conform_fail(conform, "%zu bytes behind buffers of 200 bytes were changed", changed);
}

void case_pu1_tiny_buffers(const struct conform *conform)
{
	struct pu1_host host;

	pu1_open_with_buffers(conform, &host, 8, 0);
	pu1_run(&host);
	if (pu1_count_kernels() || pu1_guard_check())
		conform_fail(conform, "records were written into buffers of 8 bytes");
}

void case_pu1_max_records(const struct conform *conform)
{
	struct pu1_host host;

	pu1_open_with_buffers(conform, &host, PU1_DEFAULT_BYTES, 1);
	pu1_run(&host);
	size_t count = pu1_count_kernels();
	if (count > pu1_buffers.count)
		conform_fail(conform, "%zu records in %u buffers for one record each", count, pu1_buffers.count);
}

void case_pu1_size_value(const struct conform *conform)
{
	struct pu1_host host;

	pu1_open_with_buffers(conform, &host, PU1_DEFAULT_BYTES, 0);
	pu1_run(&host);
	for (unsigned i = 0; i < pu1_buffers.count; i++) {
		const struct pu1_buffer *buffer = &pu1_buffers.all[i];
		if (buffer->completed_count && buffer->reported_bytes != buffer->size)
			conform_fail(conform, "a buffer of %zu bytes was given back with a size of %zu", buffer->size,
			             buffer->reported_bytes);
	}
}

void case_pu1_buffer_once(const struct conform *conform)
{
	struct pu1_host host;

	pu1_open_with_buffers(conform, &host, PU1_DEFAULT_BYTES, 0);
	pu1_run(&host);
	pu1_run(&host);
	if (pu1_buffers.foreign_count)
		conform_fail(conform, "%u buffers were given back that are not the host's", pu1_buffers.foreign_count);
	for (unsigned i = 0; i < pu1_buffers.count; i++) {
		if (pu1_buffers.all[i].completed_count > 1)
			conform_fail(conform, "a buffer was given back %u times", pu1_buffers.all[i].completed_count);
	}
}

void case_pu1_buffer_left(const struct conform *conform)
{
	struct pu1_host host;

	pu1_open_with_buffers(conform, &host, PU1_DEFAULT_BYTES, 0);
	pu1_run(&host);
	pu1_run(&host);
	for (unsigned i = 0; i < pu1_buffers.count; i++) {
		const struct pu1_buffer *buffer = &pu1_buffers.all[i];
		if (buffer->completed_count && pu1_sum(buffer) != buffer->sum)
			conform_fail(conform, "a buffer was written after it was given back");
	}
}

/* ---- records ---- */

void case_pu1_records(const struct conform *conform)
{
	static pu1ActivityRecord records[PU1_RECORDS_MAX];
	const char *wrong;
	struct pu1_host host;

	pu1_open_with_buffers(conform, &host, PU1_DEFAULT_BYTES, 0);
	host.work_count = 7;
	pu1_run(&host);
	pu1_records(records, &wrong);
	if (wrong)
		conform_fail(conform, "%s", wrong);
}

void case_pu1_next_record(const struct conform *conform)
{
	static pu1ActivityRecord records[PU1_RECORDS_MAX];
	pu1ActivityRecord *at = NULL, *before = NULL;
	size_t count = 0;
	struct pu1_host host;

	pu1_open_with_buffers(conform, &host, PU1_DEFAULT_BYTES, 0);
	pu1_run(&host);
	size_t expected = pu1_records(records, NULL);
	for (unsigned i = 0; i < pu1_buffers.count; i++) {
		const struct pu1_buffer *buffer = &pu1_buffers.all[i];
		pu1Result result = PU1_MAX_LIMIT_REACHED;
		at = before = NULL;
		while (buffer->completed_count && count <= expected &&
		       (result = host.next_record(buffer->bytes, buffer->valid_bytes, &at)) == PU1_SUCCESS) {
			before = at;
			count++;
		}
		if (count <= expected)
			pu1_expect(&host, "pu1GetNextRecord after the last record", result, PU1_MAX_LIMIT_REACHED);
		if (at != before)
			conform_fail(conform, "pu1GetNextRecord failed, but changed the record");
	}
	if (count != expected)
		conform_fail(conform, "pu1GetNextRecord gave %s than the %zu records of the buffers",
		             count > expected ? "more" : "less", expected);
}

/* ---- threads ---- */

struct flush_thread {
	const struct pu1_host *host;
	pu1Result result;
};

static void *flush_on_thread(void *argument)
{
	struct flush_thread *thread = argument;

	thread->result = thread->host->flush();
	return NULL;
}

void case_pu1_flush_thread(const struct conform *conform)
{
	struct pu1_host host;
	struct flush_thread second = { .host = &host };
	pthread_t thread;

	pu1_open_with_buffers(conform, &host, PU1_DEFAULT_BYTES, 0);
	pu1_expect(&host, "pu1TracingEnable", host.enable(PU1_KIND_CONCURRENT_KERNEL), PU1_SUCCESS);
	pu1_work(&host);
	if (pthread_create(&thread, NULL, flush_on_thread, &second) != 0)
		conform_skip(conform, "no thread could be made");
	pthread_join(thread, NULL);
	pu1_expect(&host, "pu1FlushAll on another thread", second.result, PU1_SUCCESS);
}

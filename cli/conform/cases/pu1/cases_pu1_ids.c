/* The cases of PU1 libraries: results, external ids, the clock. */
#include <pthread.h>
#include <string.h>

#include "cli/conform/cases/cases.h"
#include "pu1_host.h"

/* ---- results ---- */

void case_pu1_null_callbacks(const struct conform *conform)
{
	struct pu1_host host;

	pu1_open(conform, &host);
	pu1_expect(&host, "pu1TracingSetCallbacks(NULL, NULL)", host.set_callbacks(NULL, NULL), PU1_INVALID_PARAMETER);
}

void case_pu1_unknown_kind(const struct conform *conform)
{
	struct pu1_host host;

	pu1_open_with_buffers(conform, &host, PU1_DEFAULT_BYTES, 0);
	pu1_expect(&host, "pu1TracingEnable(0)", host.enable(PU1_KIND_INVALID), PU1_INVALID_KIND);
	pu1_expect(&host, "pu1TracingEnable(99)", host.enable((pu1ActivityKind)99), PU1_INVALID_KIND);
	pu1_expect(&host, "pu1TracingDisable(99)", host.disable((pu1ActivityKind)99), PU1_INVALID_KIND);
}

void case_pu1_flush_alone(const struct conform *conform)
{
	struct pu1_host host;

	pu1_open(conform, &host);
	pu1_expect(&host, "pu1FlushAll without callbacks", host.flush(), PU1_INVALID_OPERATION);
}

void case_pu1_result_text(const struct conform *conform)
{
	static const int results[] = { 0, 1, 7, 8, 11, 12, 18, 21, 999, 77 };
	struct pu1_host host;

	pu1_open(conform, &host);
	if (!host.result_text)
		conform_skip(conform, "the library has no pu1GetResultString");
	for (size_t i = 0; i < sizeof(results) / sizeof(*results); i++) {
		if (!host.result_text((pu1Result)results[i]))
			conform_fail(conform, "pu1GetResultString(%d) returned NULL", results[i]);
	}
}

/* ---- the stack of external ids ---- */

void case_pu1_pop_empty(const struct conform *conform)
{
	uint64_t id = 4711;
	struct pu1_host host;

	pu1_open(conform, &host);
	pu1_expect(&host, "pop from the empty stack", host.pop(&id), PU1_QUEUE_EMPTY);
	if (id != 4711)
		conform_fail(conform, "pop failed, but wrote an id");
	pu1_expect(&host, "push", host.push(1), PU1_SUCCESS);
	pu1_expect(&host, "pop", host.pop(&id), PU1_SUCCESS);
	pu1_expect(&host, "a second pop", host.pop(&id), PU1_QUEUE_EMPTY);
}

void case_pu1_pop_null(const struct conform *conform)
{
	struct pu1_host host;

	pu1_open(conform, &host);
	pu1_expect(&host, "push", host.push(1), PU1_SUCCESS);
	pu1_expect(&host, "pop without a place for the id", host.pop(NULL), PU1_SUCCESS);
}

void case_pu1_push_order(const struct conform *conform)
{
	struct pu1_host host;

	pu1_open(conform, &host);
	for (uint64_t id = 1; id <= 8; id++)
		pu1_expect(&host, "push", host.push(id), PU1_SUCCESS);
	for (uint64_t id = 8; id >= 1; id--) {
		uint64_t popped = 0;
		pu1_expect(&host, "pop", host.pop(&popped), PU1_SUCCESS);
		if (popped != id)
			conform_fail(conform, "pop gave %llu, not %llu, the top of the stack",
			             (unsigned long long)popped, (unsigned long long)id);
	}
}

#define PUSHES_MAX 100000

void case_pu1_push_full(const struct conform *conform)
{
	unsigned count = 0;
	pu1Result result = PU1_SUCCESS;
	uint64_t popped = 0;
	struct pu1_host host;

	pu1_open(conform, &host);
	while (count < PUSHES_MAX && (result = host.push(count + 1)) == PU1_SUCCESS)
		count++;
	if (count < PUSHES_MAX)
		pu1_expect(&host, "push onto a full stack", result, PU1_MAX_LIMIT_REACHED);
	pu1_expect(&host, "pop", host.pop(&popped), PU1_SUCCESS);
	if (popped != count)
		conform_fail(conform, "pop gave %llu, not %u, after the stack was full", (unsigned long long)popped, count);
	while (--count > 0)
		pu1_expect(&host, "pop", host.pop(&popped), PU1_SUCCESS);
	pu1_expect(&host, "pop from the empty stack", host.pop(&popped), PU1_QUEUE_EMPTY);
}

struct stack_thread {
	const struct pu1_host *host;
	pu1Result popped;
};

static void *pop_on_thread(void *argument)
{
	struct stack_thread *thread = argument;
	uint64_t id = 0;

	thread->popped = thread->host->pop(&id);
	return NULL;
}

void case_pu1_stack_threads(const struct conform *conform)
{
	struct pu1_host host;
	struct stack_thread second = { .host = &host };
	uint64_t popped = 0;
	pthread_t thread;

	pu1_open(conform, &host);
	pu1_expect(&host, "push", host.push(1), PU1_SUCCESS);
	if (pthread_create(&thread, NULL, pop_on_thread, &second) != 0)
		conform_skip(conform, "no thread could be made");
	pthread_join(thread, NULL);
	pu1_expect(&host, "pop on a thread without ids", second.popped, PU1_QUEUE_EMPTY);
	pu1_expect(&host, "pop", host.pop(&popped), PU1_SUCCESS);
}

/* ---- 1, 2, 4, ... 64 threads ---- */

#define THREADS_MAX 64
#define THREAD_IDS 2

struct id_thread {
	const struct pu1_host *host;
	pthread_barrier_t *begin;
	uint64_t first_id; /* the first of the thread's THREAD_IDS consecutive ids */
	bool is_exchanged, is_work_refused;
};

static void *work_with_ids(void *argument)
{
	struct id_thread *thread = argument;
	const struct pu1_host *host = thread->host;

	pthread_barrier_wait(thread->begin);
	for (uint64_t id = thread->first_id; id < thread->first_id + THREAD_IDS; id++) {
		uint64_t popped = 0;
		bool is_pushed = host->push(id) == PU1_SUCCESS;
		thread->is_work_refused |= host->work(host->work_count) != 0;
		thread->is_exchanged |= !is_pushed || host->pop(&popped) != PU1_SUCCESS || popped != id;
	}
	return NULL;
}

static void run_id_threads(const struct pu1_host *host, unsigned threads_count, uint64_t first_id)
{
	struct id_thread all[THREADS_MAX];
	pthread_t threads[THREADS_MAX];
	pthread_barrier_t begin;

	if (pthread_barrier_init(&begin, NULL, threads_count) != 0)
		conform_skip(host->conform, "no barrier could be made");
	for (unsigned i = 0; i < threads_count; i++) {
		all[i] = (struct id_thread){ .host = host, .begin = &begin, .first_id = first_id + i * THREAD_IDS };
		if (pthread_create(&threads[i], NULL, work_with_ids, &all[i]) != 0)
			conform_skip(host->conform, "no thread could be made");
	}
	for (unsigned i = 0; i < threads_count; i++) {
		pthread_join(threads[i], NULL);
		if (all[i].is_work_refused)
			conform_skip(host->conform, "%s failed", host->conform->work_name);
		if (all[i].is_exchanged)
			conform_fail(host->conform, "with %u threads, a thread did not pop the id that it pushed",
			             threads_count);
	}
	pthread_barrier_destroy(&begin);
}

/* Fails the case if an id from `first` up to `end` - 1 has fewer kernels than units of work were done with it, or if a
 * kernel has no id, or one from `end` on.  Ids below `first` are those of earlier calls. */
static void check_ids(const struct conform *conform, unsigned threads_count, uint64_t first, uint64_t end)
{
	static pu1ActivityRecord records[PU1_RECORDS_MAX];
	size_t counts[THREADS_MAX * THREAD_IDS] = { 0 }, records_count = pu1_records(records, NULL);

	for (size_t i = 0; i < records_count; i++) {
		uint64_t id = records[i].external_id;
		if (records[i].kind != PU1_KIND_CONCURRENT_KERNEL)
			continue;
		if (records[i].struct_size <= PU1_RECORD_BYTES_MIN)
			conform_skip(conform, "its records have no external_id");
		if (!(records[i].flags & PU1_FLAG_EXTERNAL_ID) || id >= end)
			conform_fail(conform, "with %u threads, a kernel has no id, or one that no thread pushed",
			             threads_count);
		if (id >= first)
			counts[id - first]++;
	}
	for (uint64_t id = first; id < end; id++) {
		if (counts[id - first] < PU1_WORK_COUNT)
			conform_fail(conform, "with %u threads, %d units of work with one id have %zu kernels with it",
			             threads_count, PU1_WORK_COUNT, counts[id - first]);
	}
}

void case_pu1_threads(const struct conform *conform)
{
	uint64_t first_id = 1;
	struct pu1_host host;

	pu1_open_with_buffers(conform, &host, PU1_DEFAULT_BYTES, 0);
	pu1_work(&host); /* skips the case if there is none */
	pu1_expect(&host, "pu1TracingEnable", host.enable(PU1_KIND_CONCURRENT_KERNEL), PU1_SUCCESS);
	for (unsigned threads_count = 1; threads_count <= THREADS_MAX; threads_count *= 2) {
		uint64_t end_id = first_id + threads_count * THREAD_IDS;
		run_id_threads(&host, threads_count, first_id);
		pu1_expect(&host, "pu1FlushAll", host.flush(), PU1_SUCCESS);
		check_ids(conform, threads_count, first_id, end_id);
		first_id = end_id;
	}
}

/* ---- ids of records ---- */

/* Runs work with an id on the stack; `id` is NULL: without one.  Copies the kernels' records to `kernels` and returns
 * their number.  Skips the case if there are none, or if they are too short for an external id. */
static size_t run_with_id(const struct conform *conform, const uint64_t *id, pu1ActivityRecord *kernels)
{
	static pu1ActivityRecord records[PU1_RECORDS_MAX];
	size_t kernels_count = 0;
	struct pu1_host host;

	pu1_open_with_buffers(conform, &host, PU1_DEFAULT_BYTES, 0);
	if (id)
		pu1_expect(&host, "push", host.push(*id), PU1_SUCCESS);
	pu1_run(&host);
	size_t count = pu1_records(records, NULL);
	for (size_t i = 0; i < count; i++) {
		if (records[i].kind == PU1_KIND_CONCURRENT_KERNEL)
			kernels[kernels_count++] = records[i];
	}
	if (!kernels_count)
		conform_skip(conform, "the work has no kernels");
	if (kernels[0].struct_size <= PU1_RECORD_BYTES_MIN)
		conform_skip(conform, "its records have no external_id");
	return kernels_count;
}

void case_pu1_id_zero(const struct conform *conform)
{
	static pu1ActivityRecord kernels[PU1_RECORDS_MAX];
	const uint64_t id = 0;
	size_t count = run_with_id(conform, &id, kernels);

	for (size_t i = 0; i < count; i++) {
		if (!(kernels[i].flags & PU1_FLAG_EXTERNAL_ID) || kernels[i].external_id != 0)
			conform_fail(conform, "a kernel has flags %u and external_id %llu; the top of the stack was 0",
			             kernels[i].flags, (unsigned long long)kernels[i].external_id);
	}
}

void case_pu1_id_none(const struct conform *conform)
{
	static pu1ActivityRecord kernels[PU1_RECORDS_MAX];
	size_t count = run_with_id(conform, NULL, kernels);

	for (size_t i = 0; i < count; i++) {
		if (kernels[i].flags & PU1_FLAG_EXTERNAL_ID)
			conform_fail(conform, "a kernel has the external id %llu, but the stack was empty",
			             (unsigned long long)kernels[i].external_id);
	}
}

/* ---- the clock ---- */

void case_pu1_clock_order(const struct conform *conform)
{
	uint64_t before_ns = 0, now_ns = 0;
	struct pu1_host host;

	pu1_open(conform, &host);
	if (!host.timestamp)
		conform_skip(conform, "the library has no pu1GetTimestamp");
	for (int i = 0; i < 20000; i++, before_ns = now_ns) {
		pu1_expect(&host, "pu1GetTimestamp", host.timestamp(&now_ns), PU1_SUCCESS);
		if (now_ns < before_ns)
			conform_fail(conform, "reading %d of the clock is %llu ns earlier than the previous reading",
			             i + 1, (unsigned long long)(before_ns - now_ns));
	}
}

/* ---- random calls ---- */

void case_pu1_random(const struct conform *conform)
{
	struct conform_random random = conform_random_begin(conform);
	size_t dropped = 0;
	uint64_t popped = 0;
	struct pu1_host host;

	pu1_open_with_buffers(conform, &host, 4096, 0);
	while (conform_random_continues(&random)) {
		uint64_t choice = conform_random_next(&random);
		/* When all PU1_BUFFERS_MAX buffers are used, the library gets no more, and has to drop records. */
		switch (choice % 8) {
		case 0:
			host.enable((pu1ActivityKind)(choice / 8 % 7));
			break;
		case 1:
			host.disable((pu1ActivityKind)(choice / 8 % 7));
			break;
		case 2:
			host.push(choice);
			break;
		case 3:
			host.pop(choice & 8 ? &popped : NULL);
			break;
		case 4:
			host.flush();
			break;
		case 5:
			if (host.dropped_count)
				host.dropped_count(&dropped);
			break;
		case 6:
			host.set_callbacks(NULL, NULL);
			break;
		default:
			if (host.work)
				host.work(1);
		}
	}
}

/* The cases of PJRT's profiler extension. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cli/conform/cases/cases.h"
#include "pjrt_host.h"

/* ---- the extension's table of functions ---- */

void case_pjrt_chain(const struct conform *conform)
{
	unsigned count = 0;
	struct pjrt_host host;

	pjrt_open(conform, &host);
	for (const PJRT_Extension_Base *at = host.api->extension_start; at; at = at->next, count++) {
		if (at->struct_size < sizeof(*at))
			conform_fail(conform, "extension %u has a size of %zu bytes, %zu are needed", count,
			             at->struct_size, sizeof(*at));
		if (count == 1000)
			conform_fail(conform, "the list of extensions does not end");
	}
}

void case_pjrt_same(const struct conform *conform)
{
	struct pjrt_host host;

	pjrt_open(conform, &host);
	const PJRT_Api *again = host.get();
	if (again != host.api)
		conform_fail(conform, "a second call of GetPjrtApi returned another table");
}

void case_pjrt_table_size(const struct conform *conform)
{
	struct pjrt_host host;

	pjrt_open(conform, &host);
	size_t bytes = host.table->struct_size;
	if (bytes != EPPROF_PJRT_TABLE_BYTES && bytes < EPPROF_PJRT_CONSUME_TABLE_BYTES)
		conform_fail(conform, "the table has a size of %zu bytes, which is neither %zu nor at least %zu", bytes,
		             EPPROF_PJRT_TABLE_BYTES, EPPROF_PJRT_CONSUME_TABLE_BYTES);
}

void case_pjrt_consume(const struct conform *conform)
{
	struct pjrt_host host;

	pjrt_open(conform, &host);
	if (host.table->struct_size < EPPROF_PJRT_CONSUME_TABLE_BYTES)
		return;
	int count = !!host.table->consume + !!host.table->consume_result_destroy + !!host.table->serialize;
	if (count != 0 && count != 3)
		conform_fail(conform, "of consume, consume_result_destroy and serialize, %d are NULL", 3 - count);
}

/* ---- arguments ---- */

void case_pjrt_old_host(const struct conform *conform)
{
	struct pjrt_host host;

	pjrt_open(conform, &host);
	host.is_old = true;
	pjrt_run_as_usual(&host);
}

void case_pjrt_options(const struct conform *conform)
{
	static const char *const options[] = { NULL, "\xFF\xFF\xFF\xFF" };
	struct pjrt_host host;

	pjrt_open(conform, &host);
	for (int i = 0; i < 2; i++) {
		PLUGIN_Profiler_Create_Args args = { .struct_size = sizeof(args),
			                             .options = options[i],
			                             .options_size = options[i] ? 4 : 0 };
		PLUGIN_Profiler_Error *error = host.table->create(&args);
		host.profiler = args.profiler;
		if (error)
			host.table->error_destroy(&(PLUGIN_Profiler_Error_Destroy_Args){
			    .struct_size = sizeof(PLUGIN_Profiler_Error_Destroy_Args), .error = error });
		else
			pjrt_destroy(&host);
	}
	pjrt_run_as_usual(&host);
}

/* ---- the order of calls: each ends with a run in the usual order ---- */

void case_pjrt_never_started(const struct conform *conform)
{
	struct pjrt_host host;

	pjrt_begin(conform, &host);
	pjrt_expect(&host, "destroy of a profiler that was not started", pjrt_destroy(&host));
	pjrt_run_as_usual(&host);
}

void case_pjrt_start_twice(const struct conform *conform)
{
	struct pjrt_host host;

	pjrt_begin(conform, &host);
	pjrt_expect(&host, "start", pjrt_start(&host));
	pjrt_start(&host);
	pjrt_expect(&host, "stop", pjrt_stop(&host));
	pjrt_destroy(&host);
	pjrt_run_as_usual(&host);
}

void case_pjrt_stop_alone(const struct conform *conform)
{
	struct pjrt_host host;

	pjrt_begin(conform, &host);
	pjrt_stop(&host);
	pjrt_destroy(&host);
	pjrt_run_as_usual(&host);
}

void case_pjrt_stop_twice(const struct conform *conform)
{
	struct pjrt_host host;

	pjrt_begin(conform, &host);
	pjrt_run(&host);
	pjrt_stop(&host);
	pjrt_destroy(&host);
	pjrt_run_as_usual(&host);
}

void case_pjrt_collect_early(const struct conform *conform)
{
	struct pjrt_host host;

	pjrt_begin(conform, &host);
	pjrt_collect(&host);
	pjrt_destroy(&host);
	pjrt_run_as_usual(&host);
}

void case_pjrt_collect_running(const struct conform *conform)
{
	struct pjrt_host host;

	pjrt_begin(conform, &host);
	pjrt_expect(&host, "start", pjrt_start(&host));
	pjrt_collect(&host);
	pjrt_expect(&host, "stop", pjrt_stop(&host));
	pjrt_destroy(&host);
	pjrt_run_as_usual(&host);
}

void case_pjrt_destroy_running(const struct conform *conform)
{
	struct pjrt_host host;

	pjrt_begin(conform, &host);
	pjrt_expect(&host, "start", pjrt_start(&host));
	pjrt_destroy(&host);
	pjrt_run_as_usual(&host);
}

/* ---- data ---- */

void case_pjrt_own_memory(const struct conform *conform)
{
	struct pjrt_host host;

	pjrt_run_with_data(conform, &host);
	if (!host.data)
		conform_fail(conform, "collect_data returned a size of %zu bytes, and no data", host.data_bytes);
}

void case_pjrt_collect_twice(const struct conform *conform)
{
	struct pjrt_host host;

	pjrt_run_with_data(conform, &host);
	pjrt_collect(&host);
	pjrt_destroy(&host);
	pjrt_run_as_usual(&host);
}

void case_pjrt_overrun(const struct conform *conform)
{
	enum { SPARE = 4096 };
	size_t written = 0;
	struct pjrt_host host;

	pjrt_run_with_data(conform, &host);
	size_t bytes = host.data_bytes, reported = bytes;
	uint8_t *buffer = malloc(bytes + SPARE);
	if (!buffer)
		conform_skip(conform, "no memory for %zu bytes", bytes);
	memset(buffer, 0xA5, bytes + SPARE);
	bool is_done = pjrt_collect_into(&host, buffer, &reported);
	for (size_t i = bytes; i < bytes + SPARE; i++)
		written = buffer[i] != 0xA5 ? i + 1 - bytes : written;
	free(buffer);
	if (written)
		conform_fail(conform, "the buffer has %zu bytes, and it wrote %zu bytes behind them", bytes, written);
	if (is_done && reported > bytes)
		conform_fail(conform, "the data have %zu bytes, and %zu in a buffer of the host", bytes, reported);
}

/* ---- errors ---- */

/* Causes an error by a stop without a start.  Skips the case if the plugin does not return one. */
static void provoke(const struct conform *conform, struct pjrt_host *host)
{
	pjrt_begin(conform, host);
	if (pjrt_stop(host))
		conform_skip(conform, "a stop without a start is no error of the plugin");
}

void case_pjrt_message(const struct conform *conform)
{
	struct pjrt_host host;

	provoke(conform, &host);
	if (!host.message[0])
		conform_fail(conform, "the error of a stop without a start has no message");
}

void case_pjrt_code(const struct conform *conform)
{
	struct pjrt_host host;

	provoke(conform, &host);
	if (host.code < 1 || host.code > 16)
		conform_fail(conform, "the error of a stop without a start has the code %d", host.code);
}

void case_pjrt_destroy_null(const struct conform *conform)
{
	struct pjrt_host host;

	pjrt_open(conform, &host);
	host.table->error_destroy(
	    &(PLUGIN_Profiler_Error_Destroy_Args){ .struct_size = sizeof(PLUGIN_Profiler_Error_Destroy_Args) });
}

/* ---- threads and profilers ---- */

void case_pjrt_two(const struct conform *conform)
{
	struct pjrt_host first, second;

	pjrt_begin(conform, &first);
	pjrt_expect(&first, "start", pjrt_start(&first));
	second = first;
	/* The plugin may refuse the second profiler. */
	if (pjrt_create(&second)) {
		if (pjrt_start(&second))
			pjrt_stop(&second);
		pjrt_destroy(&second);
	}
	pjrt_expect(&first, "stop of the first of two profilers", pjrt_stop(&first));
	pjrt_expect(&first, "destroy of the first of two profilers", pjrt_destroy(&first));
}

struct call {
	struct pjrt_host *host;
	bool (*run)(struct pjrt_host *host);
	bool is_done;
};

static void *run_call(void *argument)
{
	struct call *call = argument;

	call->is_done = call->run(call->host);
	return NULL;
}

static void call_on_thread(struct pjrt_host *host, const char *step, bool (*run)(struct pjrt_host *host))
{
	struct call call = { .host = host, .run = run };
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_call, &call) != 0)
		conform_skip(host->conform, "no thread could be made");
	pthread_join(thread, NULL);
	pjrt_expect(host, step, call.is_done);
}

void case_pjrt_threads(const struct conform *conform)
{
	struct pjrt_host host;

	pjrt_begin(conform, &host);
	call_on_thread(&host, "start on a second thread", pjrt_start);
	call_on_thread(&host, "stop on a third thread", pjrt_stop);
	call_on_thread(&host, "collect_data on a fourth thread", pjrt_collect);
	call_on_thread(&host, "destroy on a fifth thread", pjrt_destroy);
}

/* ---- random calls ---- */

void case_pjrt_random(const struct conform *conform)
{
	struct conform_random random = conform_random_begin(conform);
	struct pjrt_host host;

	pjrt_open(conform, &host);
	while (conform_random_continues(&random)) {
		if (!host.profiler && !pjrt_create(&host))
			continue;
		switch (conform_random_next(&random) % 8) {
		case 0:
		case 1:
			pjrt_start(&host);
			break;
		case 2:
		case 3:
			pjrt_stop(&host);
			break;
		case 4:
		case 5:
			pjrt_collect(&host);
			break;
		case 6:
			pjrt_destroy(&host);
			break;
		default:
			if (host.work)
				host.work(1);
		}
	}
}

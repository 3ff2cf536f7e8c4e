/* The cases of TensorFlow's pluggable profilers. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cli/conform/cases/cases.h"
#include "tf_host.h"

/* ---- registration ---- */

void case_tf_room(const struct conform *conform)
{
	static const char format[] = "it wrote %zu bytes behind %s, which has %zu bytes";
	struct tf_host host;

	tf_open(conform, &host);
	if (!tf_init(&host))
		conform_skip(conform, "TF_InitProfiler failed, see 1.load.library: %s", host.message);
	size_t params_bytes = tf_guard_check(host.params_guard), profiler_bytes = tf_guard_check(host.profiler_guard),
	       fns_bytes = tf_guard_check(host.fns_guard);
	if (params_bytes)
		conform_fail(conform, format, params_bytes, "TF_ProfilerRegistrationParams", sizeof(host.params));
	if (profiler_bytes)
		conform_fail(conform, format, profiler_bytes, "TP_Profiler", sizeof(host.profiler));
	if (fns_bytes)
		conform_fail(conform, format, fns_bytes, "TP_ProfilerFns", sizeof(host.fns));
}

void case_tf_newer_host(const struct conform *conform)
{
	struct tf_host host;

	tf_open(conform, &host);
	host.params.minor_version = TP_MINOR + 1;
	host.params.patch_version = TP_PATCH + 1;
	host.params.struct_size += TF_GUARD_BYTES;
	host.profiler.struct_size += TF_GUARD_BYTES;
	host.fns.struct_size += TF_GUARD_BYTES;
	if (!tf_init(&host))
		return;
	if (!host.fns.start || !host.fns.stop)
		conform_fail(conform, "TF_InitProfiler succeeded, but an entry is NULL");
}

void case_tf_destroyed(const struct conform *conform)
{
	struct tf_host host;

	tf_register(conform, &host);
	/* TensorFlow passes its own copies of the structs, so copies are destroyed here. */
	TP_Profiler profiler = host.profiler;
	TP_ProfilerFns fns = host.fns;
	for (int i = 0; i < 2; i++)
		tf_destroy(&host, &profiler, &fns);
	tf_run_as_usual(&host);
}

void case_tf_copies(const struct conform *conform)
{
	struct tf_host host, copy;

	tf_register(conform, &host);
	copy = host;
	memset(&host.profiler, 0xFF, sizeof(host.profiler));
	memset(&host.fns, 0xFF, sizeof(host.fns));
	tf_run_as_usual(&copy);
}

/* ---- the order of calls: each ends with a run in the usual order ---- */

void case_tf_start_twice(const struct conform *conform)
{
	struct tf_host host;

	tf_register(conform, &host);
	tf_expect(&host, "start", tf_start(&host));
	tf_start(&host);
	tf_expect(&host, "stop", tf_stop(&host));
	tf_run_as_usual(&host);
}

void case_tf_stop_alone(const struct conform *conform)
{
	struct tf_host host;

	tf_register(conform, &host);
	tf_stop(&host);
	tf_run_as_usual(&host);
}

void case_tf_stop_twice(const struct conform *conform)
{
	struct tf_host host;

	tf_register(conform, &host);
	tf_run_as_usual(&host);
	tf_stop(&host);
	tf_run_as_usual(&host);
}

/* Calls collect_data_xspace for the size of the data and, if it is not 0, for the data.  Errors are ignored. */
static void collect_anyway(struct tf_host *host)
{
	size_t bytes = 0;

	if (!tf_collect(host, NULL, &bytes) || bytes == 0)
		return;
	uint8_t *buffer = calloc(1, bytes + 65536);
	if (buffer)
		tf_collect(host, buffer, &bytes);
	free(buffer);
}

void case_tf_collect_early(const struct conform *conform)
{
	struct tf_host host;

	tf_register(conform, &host);
	collect_anyway(&host);
	tf_run_as_usual(&host);
}

void case_tf_collect_running(const struct conform *conform)
{
	struct tf_host host;

	tf_register(conform, &host);
	tf_expect(&host, "start", tf_start(&host));
	collect_anyway(&host);
	tf_expect(&host, "stop", tf_stop(&host));
	tf_run_as_usual(&host);
}

void case_tf_collect_twice(const struct conform *conform)
{
	struct tf_host host;

	tf_register(conform, &host);
	tf_run_as_usual(&host);
	collect_anyway(&host);
	tf_run_as_usual(&host);
}

/* ---- data ---- */

void case_tf_size_twice(const struct conform *conform)
{
	size_t first = 0, second = 0;
	struct tf_host host;

	tf_register(conform, &host);
	tf_run(&host);
	tf_expect(&host, "collect_data_xspace for the size", tf_collect(&host, NULL, &first));
	tf_expect(&host, "collect_data_xspace for the size again", tf_collect(&host, NULL, &second));
	if (first == 0)
		conform_skip(conform, "the run has no data");
	if (second != first)
		conform_fail(conform, "the size of the data is %zu, and %zu when it is asked for again", first, second);
}

void case_tf_size_input(const struct conform *conform)
{
	size_t bytes = SIZE_MAX;
	struct tf_host host;

	tf_register(conform, &host);
	tf_run(&host);
	tf_expect(&host, "collect_data_xspace for the size", tf_collect(&host, NULL, &bytes));
	if (bytes == SIZE_MAX)
		conform_fail(conform, "the size was not set");
}

void case_tf_overrun(const struct conform *conform)
{
	size_t bytes = 0, spare = 4096, written = 0;
	struct tf_host host;

	tf_register(conform, &host);
	tf_run(&host);
	tf_expect(&host, "collect_data_xspace for the size", tf_collect(&host, NULL, &bytes));
	if (bytes == 0)
		conform_skip(conform, "the run has no data");
	uint8_t *buffer = malloc(bytes + spare);
	if (!buffer)
		conform_skip(conform, "no memory for %zu bytes of data", bytes);
	memset(buffer, 0xA5, bytes + spare);
	size_t reported = bytes;
	bool is_done = tf_collect(&host, buffer, &reported);
	for (size_t i = bytes; i < bytes + spare; i++)
		written = buffer[i] != 0xA5 ? i + 1 - bytes : written;
	free(buffer);
	if (written)
		conform_fail(conform, "it asked for %zu bytes, and wrote %zu bytes behind them", bytes, written);
	if (is_done && reported > bytes)
		conform_fail(conform, "it asked for %zu bytes, and then reported %zu", bytes, reported);
}

/* ---- errors and threads ---- */

void case_tf_message(const struct conform *conform)
{
	struct tf_host host;

	tf_register(conform, &host);
	if (tf_stop(&host))
		conform_skip(conform, "a stop without a start is no error of the plugin");
	if (!host.message[0])
		conform_fail(conform, "the error of a stop without a start has no message");
}

struct call {
	struct tf_host *host;
	bool (*run)(struct tf_host *host);
	bool is_done;
};

static void *run_call(void *argument)
{
	struct call *call = argument;

	call->is_done = call->run(call->host);
	return NULL;
}

static void call_on_thread(struct tf_host *host, const char *step, bool (*run)(struct tf_host *host))
{
	struct call call = { .host = host, .run = run };
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_call, &call) != 0)
		conform_skip(host->conform, "no thread could be made");
	pthread_join(thread, NULL);
	tf_expect(host, step, call.is_done);
}

static bool collect_all(struct tf_host *host)
{
	size_t bytes = 0;

	return tf_collect(host, NULL, &bytes);
}

void case_tf_threads(const struct conform *conform)
{
	struct tf_host host;

	tf_register(conform, &host);
	call_on_thread(&host, "start on a second thread", tf_start);
	call_on_thread(&host, "stop on a third thread", tf_stop);
	call_on_thread(&host, "collect_data_xspace on a fourth thread", collect_all);
}

/* ---- random calls ---- */

void case_tf_random(const struct conform *conform)
{
	struct conform_random random = conform_random_begin(conform);
	struct tf_host host;

	tf_register(conform, &host);
	while (conform_random_continues(&random)) {
		switch (conform_random_next(&random) % 4) {
		case 0:
			tf_start(&host);
			break;
		case 1:
			tf_stop(&host);
			break;
		case 2:
			collect_anyway(&host);
			break;
		default:
			if (host.work)
				host.work(1);
		}
	}
}

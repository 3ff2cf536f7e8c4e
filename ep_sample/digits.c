/* digits: an example for authors of host applications.  Two threads recognise 64 handwritten digits with a small model
 * that the sample EP computes, node by node.  A session records the events of the program and, below each node, the
 * events of the accelerator for it.
 *
 *   digits [-o FILE] [-n PASSES] [--force] [PLUGIN]
 *
 * After Ctrl-C the program ends regularly: the handler sets a flag, the threads check it and return.  A second Ctrl-C
 * kills the program; even then the file contains each completed event.
 */
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digits_model.h"
#include "epprof/epprof.h"
#include "sample_ep.h"

enum { WORKERS = 2, BATCH = 16, RIGHT = 62 };

static const char *trace_path = "digits.epp";
static bool overwrite;
static unsigned long passes_count = 50;

static epp_session *session;
static epp_name classify_name, worker_name, model_run_name, right_name, node_index_key, op_name_key, batch_key;
static epp_name node_names[NODES];
static sample_ep_run_fn sample_run;
static sample_ep_synchronise_fn sample_synchronise;
static atomic_bool stopped;
static _Atomic(const char *) error;

/* Names are interned once and not for each event. */
static void intern_names(void)
{
	for (size_t i = 0; i < NODES; i++)
		node_names[i] = epp_name_intern(digits_nodes[i].op_type);
	classify_name = epp_name_intern("classify");
	worker_name = epp_name_intern("worker");
	model_run_name = epp_name_intern("model_run");
	right_name = epp_name_intern("digits right");
	node_index_key = epp_name_intern("node_index");
	op_name_key = epp_name_intern("op_name");
	batch_key = epp_name_intern("batch");
}

static void node_run(uint32_t index, uint32_t stream, const float *x, float *y)
{
	const struct digits_node *node = &digits_nodes[index];
	uint64_t id = epp_event_begin(session, EPP_NODE, node_names[index]);
	const char *wrong = sample_run(
	    &(sample_ep_node){ node->op_type, x, node->weights, y, BATCH, node->columns, node->outputs, stream });
	if (wrong)
		error = wrong;
	epp_arg args[] = {
		{ .key = node_index_key, .type = EPP_ARG_I64, .value.i64 = index },
		{ .key = op_name_key, .type = EPP_ARG_TEXT, .value.text = node->op_type },
	};
	args[1].text_bytes = strlen(node->op_type);
	epp_event_end(session, id, args, 2);
}

/* Runs the model on one batch. */
static void model_run(uint32_t stream, const float *x, float *results)
{
	float values[2][BATCH * PIXELS];
	uint64_t id = epp_event_begin(session, EPP_SESSION, model_run_name);
	for (uint32_t i = 0; i < NODES; i++) {
		float *y = i + 1 < NODES ? values[i % 2] : results;
		node_run(i, stream, x, y);
		x = y;
	}
	sample_synchronise(); /* needed if the EP returns before its work is done */
	epp_arg batch = { .key = batch_key, .type = EPP_ARG_I64, .value.i64 = BATCH };
	epp_event_end(session, id, &batch, 1);
}

struct worker {
	pthread_t thread;
	uint32_t number;     /* also the number of the stream that the thread uses */
	uint64_t started_by; /* the event from which this thread was started */
	unsigned right_count;
};

/* Runs a worker thread, which recognises its share of the digits once in each pass. */
static void *worker_run(void *worker_pointer)
{
	struct worker *worker = worker_pointer;
	char thread_name[16];
	snprintf(thread_name, sizeof(thread_name), "worker %u", (unsigned)worker->number);
	pthread_setname_np(pthread_self(), thread_name); /* this is the name of the thread's row in the timeline */
	size_t first = worker->number * DIGITS / WORKERS;
	uint64_t id = epp_event_begin(session, EPP_SESSION, worker_name);
	epp_flow_record(session, worker->started_by, id);
	for (unsigned long pass = 0; pass < passes_count && !stopped && !error; pass++) {
		worker->right_count = 0;
		for (size_t i = first; i < first + DIGITS / WORKERS; i += BATCH) {
			float results[BATCH][ANSWERS] = { 0 };
			model_run(worker->number, digits_test.x[i], results[0]);
			worker->right_count += digits_count_right((const float(*)[ANSWERS])results, &digits_test.y[i],
			                                          BATCH);
		}
		epp_counter_record_i64(session, right_name, worker->right_count);
	}
	epp_event_end(session, id, NULL, 0);
	return NULL;
}

/* Recognises all digits `passes_count` times, on two threads.  Returns how many were recognised correctly in the last
 * pass, or -1. */
static int classify(void)
{
	struct worker workers[WORKERS];
	uint32_t count = 0;
	int right_count = 0;
	uint64_t id = epp_event_begin(session, EPP_SESSION, classify_name);
	while (count < WORKERS && !error) {
		workers[count] = (struct worker){ .number = count, .started_by = id };
		if (pthread_create(&workers[count].thread, NULL, worker_run, &workers[count]))
			error = "cannot create a thread: out of memory, or too many threads";
		else
			count++;
	}
	while (count-- > 0) {
		pthread_join(workers[count].thread, NULL);
		right_count += (int)workers[count].right_count;
	}
	epp_event_end(session, id, NULL, 0);
	if (error)
		fprintf(stderr, "digits: %s\n", error);
	return error ? -1 : right_count;
}

static void stop(int signal_number)
{
	(void)signal_number;
	stopped = true;
}

static void log_message(void *user, epp_blame blame, const char *text)
{
	(void)user;
	fprintf(stderr, "digits: %s%s\n", blame == EPP_BLAME_PLUGIN ? "the plugin's fault: " : "", text);
}

/* Prints and releases the status of an error and returns true; returns false for NULL. */
static bool failed(epp_status *status)
{
	if (status)
		fprintf(stderr, "digits: %s\n", epp_status_message(status));
	epp_status_destroy(status);
	return status != NULL;
}

/* Records `classify` into a file.  Returns the result of `classify`, or -1 if the recording failed. */
static int record(const char *plugin_path)
{
	int right_count = -1;
	epp_plugin *plugin = NULL;
	OrtEpProfilerImpl *profiler = NULL;
	if (failed(epp_plugin_load(plugin_path, &plugin)))
		return -1;
	*(void **)&sample_run = epp_plugin_symbol(plugin, "sample_ep_run");
	*(void **)&sample_synchronise = epp_plugin_symbol(plugin, "sample_ep_synchronise");
	if (!sample_run || !sample_synchronise) {
		fprintf(stderr, "digits: %s: not the sample EP: it cannot run a node\n", plugin_path);
		goto out;
	}
	epp_session_options options = { .struct_size = sizeof(options), .path = trace_path, .overwrite = overwrite };
	options.log = log_message;
	if (failed(epp_session_create(&options, &session)) || failed(epp_plugin_profiler_create(plugin, &profiler)))
		goto out;
	if (failed(epp_session_attach(session, profiler, epp_plugin_name(plugin)))) {
		profiler->Release(profiler);
		goto out;
	}
	if (failed(epp_session_start(session)))
		goto out;
	right_count = classify();
	if (failed(epp_session_end(session)) || failed(epp_session_wait(session, UINT64_MAX)))
		right_count = -1;
out:
	epp_session_destroy(session);
	if (failed(epp_plugin_unload(plugin)))
		right_count = -1;
	return right_count;
}

static int usage(void)
{
	fputs("usage: digits [-o FILE] [-n PASSES] [--force] [PLUGIN]\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "force", no_argument, NULL, 'f' },
		{ NULL, 0, NULL, 0 },
	};
	for (int option; (option = getopt_long(argc, argv, "o:n:", long_options, NULL)) != -1;) {
		if (option == 'o')
			trace_path = optarg;
		else if (option == 'f')
			overwrite = true;
		else if (option != 'n' || sscanf(optarg, "%lu%c", &passes_count, &(char){ 0 }) != 1 || passes_count < 1)
			return usage();
	}
	if (optind < argc - 1)
		return usage();
	char beside[DIGITS_PATH_BYTES];
	const char *plugin_path = optind < argc ? argv[optind] : digits_beside("libsample_ort_ep.so", beside);

	if (!digits_load())
		return 1;
	intern_names();
	sigaction(SIGINT, &(struct sigaction){ .sa_handler = stop, .sa_flags = SA_RESTART | SA_RESETHAND }, NULL);
	int right_count = record(plugin_path);
	if (right_count >= 0)
		printf("%d of %d right, recorded in %s\n", right_count, DIGITS, trace_path);
	if (stopped)
		raise(SIGINT); /* the default handler has been restored, so the signal ends the program */
	return right_count == RIGHT ? 0 : 1;
}

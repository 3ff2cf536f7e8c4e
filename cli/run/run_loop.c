/* Runs the model in several threads.  Each thread takes the number of the next run and does this run, until all runs
 * are taken.
 *
 * The threads first do the warm-up runs, then wait for each other at a barrier, and then do the other runs.  The main
 * thread waits, prints progress, and handles signals.  After a signal, it terminates the runs in progress, which are
 * not counted. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "run.h"

#define LOOK_NS 100000000

struct loop {
	const struct ort *ort;
	OrtSession *session;
	const struct run_inputs *inputs;
	const char *profiles;
	pthread_barrier_t warm;

	pthread_mutex_t lock; /* guards the members below, and `running` of each thread */
	pthread_cond_t thread_ended;
	size_t threads_left;
	bool stop;
	epp_status *failure;        /* the first failure */
	int64_t began_ns, ended_ns; /* end of the warm-up, and end of the last run */
	struct phase {
		size_t next, end; /* number of the next run from 0, and number of all runs */
		struct run_latencies latencies;
	} warmup, runs;
};

struct worker {
	struct loop *loop;
	size_t number; /* number of the thread, from 1, which is a part of its name */
	pthread_t thread;
	OrtRunOptions *running; /* options of the run in progress, or NULL */
	OrtValue **outputs;
};

static int64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- one run ---- */

static epp_status *make_options(const struct loop *loop, const char *name, OrtRunOptions **options)
{
	const struct ort *ort = loop->ort;
	char prefix[4096];
	void *path;

	epp_status *status = ort_check(ort, ort->api->CreateRunOptions(options));
	if (status || !loop->profiles)
		return status;
	snprintf(prefix, sizeof prefix, "%s/%s", loop->profiles, name);
	if (!(path = ort_path(prefix)))
		return epp_status_no_memory();
	status = ort_check(ort, ort->api->RunOptionsEnableProfiling(*options, path));
	free(path);
	return status;
}

/* Stores the options of a run in worker->running, so that the main thread can terminate the run.  Returns false if the
 * threads are to stop, and the run must not begin. */
static bool publish_options(struct worker *worker, OrtRunOptions *options)
{
	struct loop *loop = worker->loop;

	pthread_mutex_lock(&loop->lock);
	worker->running = loop->stop ? NULL : options;
	bool shown = worker->running;
	pthread_mutex_unlock(&loop->lock);
	return shown;
}

static void unpublish_options(struct worker *worker)
{
	pthread_mutex_lock(&worker->loop->lock);
	worker->running = NULL;
	pthread_mutex_unlock(&worker->loop->lock);
}

/* Does one run.  `name` is the beginning of the name of the run's own profile, if it has one.  *duration_ns is
 * unchanged if the run did not begin. */
static epp_status *run_once(struct worker *worker, const char *name, int64_t *duration_ns)
{
	const struct loop *loop = worker->loop;
	const struct run_inputs *inputs = loop->inputs;
	const struct ort *ort = loop->ort;
	OrtRunOptions *options = NULL;

	epp_status *status = make_options(loop, name, &options);
	if (!status && publish_options(worker, options)) {
		int64_t began_ns = monotonic_ns();
		status = ort_check(ort, ort->api->Run(loop->session, options, inputs->names, inputs->values,
		                                      inputs->count, (const char *const *)inputs->output_names,
		                                      inputs->outputs_count, worker->outputs));
		*duration_ns = monotonic_ns() - began_ns;
		unpublish_options(worker);
	}
	for (size_t i = 0; i < inputs->outputs_count; i++) {
		if (worker->outputs[i])
			ort->api->ReleaseValue(worker->outputs[i]);
		worker->outputs[i] = NULL;
	}
	if (options)
		ort->api->ReleaseRunOptions(options);
	return status;
}

/* ---- a thread ---- */

/* Sets *number to the number of the next run.  Returns false if all runs are taken, or the threads are to stop. */
static bool take_number(struct loop *loop, struct phase *phase, size_t *number)
{
	pthread_mutex_lock(&loop->lock);
	bool taken = !loop->stop && phase->next < phase->end;
	if (taken)
		*number = phase->next++;
	pthread_mutex_unlock(&loop->lock);
	return taken;
}

static void execute_runs(struct worker *worker, struct phase *phase)
{
	struct loop *loop = worker->loop;
	size_t number;

	while (take_number(loop, phase, &number)) {
		char name[48];
		int64_t duration_ns = -1;
		snprintf(name, sizeof name, "%s-%zu", phase == &loop->runs ? "run" : "warm-up", number);
		epp_status *status = run_once(worker, name, &duration_ns);
		pthread_mutex_lock(&loop->lock);
		/* A run that was terminated returns an error too, so it is not counted. */
		if (!status && duration_ns >= 0)
			phase->latencies.ns[phase->latencies.count++] = duration_ns;
		else if (!loop->stop && !loop->failure)
			loop->failure = status, status = NULL;
		loop->stop = loop->stop || loop->failure;
		pthread_mutex_unlock(&loop->lock);
		epp_status_destroy(status);
	}
}

static void *work(void *user)
{
	struct worker *worker = user;
	struct loop *loop = worker->loop;
	char name[16];

	snprintf(name, sizeof name, "run %zu", worker->number);
	pthread_setname_np(pthread_self(), name);
	execute_runs(worker, &loop->warmup);
	/* NOLINTNEXTLINE(bugprone-posix-return): exactly one thread gets this constant, which is negative */
	if (pthread_barrier_wait(&loop->warm) == PTHREAD_BARRIER_SERIAL_THREAD) {
		pthread_mutex_lock(&loop->lock);
		loop->began_ns = monotonic_ns();
		pthread_mutex_unlock(&loop->lock);
	}
	execute_runs(worker, &loop->runs);
	pthread_mutex_lock(&loop->lock);
	loop->ended_ns = monotonic_ns();
	loop->threads_left--;
	pthread_cond_signal(&loop->thread_ended);
	pthread_mutex_unlock(&loop->lock);
	return NULL;
}

/* ---- the main thread ---- */

static void tell_progress(const struct loop *loop, bool *is_reported)
{
	const struct phase *phase = loop->runs.next ? &loop->runs : &loop->warmup;

	if (!isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\r\033[Kepprof: %s %zu of %zu", phase == &loop->runs ? "run" : "warm-up",
	        phase->latencies.count, phase->end);
	*is_reported = true;
}

static void forward_signal(struct loop *loop, struct worker *workers, size_t count)
{
	loop->stop = true;
	for (size_t i = 0; i < count; i++) {
		OrtStatus *status = workers[i].running ? loop->ort->api->RunOptionsSetTerminate(workers[i].running) : NULL;
		/* An error is ignored: the run is then not terminated, and ends later. */
		if (status)
			loop->ort->api->ReleaseStatus(status);
	}
}

static void wait_for_all(struct loop *loop, struct worker *workers, size_t count)
{
	bool is_reported = false;

	pthread_mutex_lock(&loop->lock);
	while (loop->threads_left) {
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += LOOK_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&loop->thread_ended, &loop->lock, &until);
		if (cli_signal && !loop->stop)
			forward_signal(loop, workers, count);
		tell_progress(loop, &is_reported);
	}
	pthread_mutex_unlock(&loop->lock);
	if (is_reported)
		fputs("\r\033[K", stderr);
}

static int by_value(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return (left > right) - (left < right);
}

static void return_latencies(struct run_latencies *to, const struct phase *from)
{
	*to = from->latencies;
	if (to->count)
		qsort(to->ns, to->count, sizeof *to->ns, by_value);
}

/* Starts the threads.  If one cannot be started, this is an error, but the threads that were started must not wait for
 * it at the barrier.  So the barrier is made after all threads were started, for the number of these.  Until then, the
 * threads wait for the lock. */
static epp_status *start(struct loop *loop, struct worker *workers, size_t count, size_t *started)
{
	epp_status *status = NULL;

	pthread_mutex_lock(&loop->lock);
	for (size_t i = 0; i < count && !status; i++) {
		workers[i].loop = loop;
		workers[i].number = i + 1;
		workers[i].outputs = calloc(loop->inputs->outputs_count + 1, sizeof *workers[i].outputs);
		int error = workers[i].outputs ? pthread_create(&workers[i].thread, NULL, work, &workers[i]) : 0;
		if (!workers[i].outputs)
			status = epp_status_no_memory();
		else if (error)
			status = epp_status_errno(error, "thread %zu of %zu", i + 1, count);
		else
			loop->threads_left++;
	}
	if (loop->threads_left)
		pthread_barrier_init(&loop->warm, NULL, (unsigned)loop->threads_left);
	loop->stop = status || cli_signal;
	*started = loop->threads_left;
	pthread_mutex_unlock(&loop->lock);
	return status;
}

epp_status *run_loop(struct run_results *results, const struct ort *ort, OrtSession *session,
                     const struct run_inputs *inputs, const struct run_options *options, const char *profiles)
{
	struct loop loop = { .ort = ort,
		             .session = session,
		             .inputs = inputs,
		             .profiles = profiles,
		             .lock = PTHREAD_MUTEX_INITIALIZER,
		             .thread_ended = PTHREAD_COND_INITIALIZER,
		             .warmup.end = options->warmup_count,
		             .runs.end = options->runs_count };
	struct worker *workers = calloc(options->threads_count, sizeof *workers);
	epp_status *status = NULL;

	memset(results, 0, sizeof *results);
	loop.warmup.latencies.ns = calloc(options->warmup_count + 1, sizeof(int64_t));
	loop.runs.latencies.ns = calloc(options->runs_count + 1, sizeof(int64_t));
	if (!workers || !loop.warmup.latencies.ns || !loop.runs.latencies.ns) {
		status = epp_status_no_memory();
	} else {
		size_t started;
		status = start(&loop, workers, options->threads_count, &started);
		wait_for_all(&loop, workers, started);
		for (size_t i = 0; i < started; i++)
			pthread_join(workers[i].thread, NULL);
		for (size_t i = 0; i < options->threads_count; i++)
			free(workers[i].outputs);
		if (started)
			pthread_barrier_destroy(&loop.warm);
	}
	free(workers);
	return_latencies(&results->warmup, &loop.warmup);
	return_latencies(&results->runs, &loop.runs);
	results->wall_ns = loop.began_ns ? loop.ended_ns - loop.began_ns : 0;
	if (!status)
		return epp_status_prefix(loop.failure, "%s", options->model);
	epp_status_destroy(loop.failure);
	return status;
}

void run_results_deinit(struct run_results *results)
{
	free(results->warmup.ns);
	free(results->runs.ns);
	memset(results, 0, sizeof *results);
}

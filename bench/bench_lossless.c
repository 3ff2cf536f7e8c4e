/* Measures the cost of an event in a lossless session into a file, with more threads at full speed than there are
 * processors, and for comparison in a default session, which loses events that find no room. */
#include <pthread.h>

#include "bench.h"

#define THREADS 8u
#define COUNT 2000000u /* events of a thread: together more than the window holds */
#define REPETITIONS 5u

struct worker {
	pthread_t thread;
	pthread_barrier_t *start;
	epp_session *session;
	epp_name name;
	uint64_t count;
};

static void *work(void *user)
{
	const struct worker *worker = user;
	pthread_barrier_wait(worker->start);
	for (uint64_t i = 0; i < worker->count; i++) {
		uint64_t id = epp_event_begin(worker->session, EPP_NODE, worker->name);
		epp_event_end(worker->session, id, NULL, 0);
	}
	return NULL;
}

/* Measures the wall time in nanoseconds, divided by the number of all events. */
static epp_status *run(const struct worker *like, double *ns)
{
	struct worker workers[THREADS];
	pthread_barrier_t start;
	unsigned made = 0;
	int error = 0;
	pthread_barrier_init(&start, NULL, THREADS + 1);
	for (; made < THREADS && !error; made += !error) {
		workers[made] = *like;
		workers[made].start = &start;
		error = pthread_create(&workers[made].thread, NULL, work, &workers[made]);
	}
	/* The started threads are not joined, because they wait for the others forever. */
	if (error)
		return epp_status_create(EPP_OUT_OF_MEMORY, "pthread_create");
	pthread_barrier_wait(&start);
	uint64_t begin_ns = bench_wall_ns();
	for (unsigned i = 0; i < made; i++)
		pthread_join(workers[i].thread, NULL);
	*ns = (double)(bench_wall_ns() - begin_ns) / (double)(THREADS * like->count);
	pthread_barrier_destroy(&start);
	return NULL;
}

static epp_status *record(uint64_t count, bool lossless, double *ns, uint64_t *lost)
{
	struct bench_file file = { .fd = -1 };
	struct worker like = { .name = epp_name_intern("MatMul"), .count = count };
	epp_status *status = bench_file_session(&file, lossless, &like.session);
	if (!status)
		status = epp_session_start(like.session);
	if (!status)
		status = run(&like, ns);
	if (!status)
		*lost += bench_lost(like.session);
	epp_session_destroy(like.session);
	bench_file_close(&file);
	return status;
}

void bench_lossless(struct bench *bench)
{
	struct bench_samples samples = { .count = 0 };
	uint64_t count = COUNT / bench->divisor, lost = 0;
	epp_status *status = NULL;
	for (; samples.count < REPETITIONS && !status; samples.count++) {
		status = record(count, false, &samples.limit[samples.count], &lost);
		if (!status)
			status = record(count, true, &samples.subject[samples.count], &samples.lost_count);
	}
	if (status) {
		bench_fail(bench, "recording into a file", status);
		return;
	}
	bench_report_samples(bench, &samples, &(struct bench_line){ .unit = "ns", .count = THREADS * count });
	bench_note(bench, "an event's part of the wall time; by default it is %.1f ns, and %.1f %% are lost",
	           bench_median(samples.limit, samples.count),
	           100 * (double)lost / (double)(THREADS * count * samples.count));
}

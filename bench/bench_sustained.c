/* Measures full speed into a file: the cost of the whole path (recorder, helper, disk), its memory and disk space, and
 * the speed of two threads at the same time.  No event may be lost. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define MIB 1048576.0

static epp_session *session_now;
static epp_name name_now;
static const epp_arg *args_now;
static size_t args_count_now;

static void begin_end(void *unused, uint64_t count)
{
	epp_session *session = session_now;
	epp_name name = name_now;
	(void)unused;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t id = epp_event_begin(session, EPP_NODE, name);
		epp_event_end(session, id, NULL, 0);
	}
}

static const char texts[8][16] = { "float[1,64,56,9]", "float[1,64,28,9]", "float[1,128,9,9]", "float[32,512,14]",
	                           "uint8[8,96,56,3]", "int32[1,64,7,7,]", "float[1,10,10,1]", "int64[1,1000,8,]" };

/* The values change from event to event. */
static void begin_end_args(void *unused, uint64_t count)
{
	epp_session *session = session_now;
	epp_name name = name_now;
	epp_arg args[] = { args_now[0], args_now[args_count_now - 1] };
	size_t args_count = args_count_now;
	(void)unused;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t id = epp_event_begin(session, EPP_NODE, name);
		if (args[0].type == EPP_ARG_TEXT) {
			args[0].value.text = texts[i & 7];
		} else {
			args[0].value.i64 = (int64_t)(i & 1023);
			args[1].value.i64 = (int64_t)(i & 7);
		}
		epp_event_end(session, id, args, args_count);
	}
}

/* Every second event has another category and name, and encloses the previous one. */
static void nested(void *unused, uint64_t count)
{
	epp_session *session = session_now;
	epp_name outer_name = name_now, inner_name = epp_name_intern("launch");
	const epp_arg *args = args_now;
	size_t args_count = args_count_now;
	(void)unused;
	for (uint64_t i = 0; i < count; i += 2) {
		uint64_t outer = epp_event_begin(session, EPP_NODE, outer_name);
		uint64_t inner = epp_event_begin(session, EPP_API, inner_name);
		epp_event_end(session, inner, NULL, 0);
		epp_event_end(session, outer, args, args_count);
	}
}

/* ---- one thread, 50 M events, or 100 M with args ---- */

#define SUSTAINED_COUNT 50000000u
#define SUSTAINED_REPETITIONS 7u
#define ARGS_COUNT 100000000u
#define ARGS_REPETITIONS 3u

struct sustained {
	bench_loop loop;
	uint64_t count;
	struct bench_samples time_ns;
	double end_ms[BENCH_REPETITIONS_MAX];
	double bytes_an_event[BENCH_REPETITIONS_MAX];
	double memory_mib[BENCH_REPETITIONS_MAX];
	double other_ns[BENCH_REPETITIONS_MAX]; /* CPU time of other threads, an event */
};

static uint64_t process_cpu_ns(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
}

/* The larger of the file's size and its space on the disk. */
static double file_bytes(const struct bench_file *file)
{
	struct stat found;
	if (fstat(file->fd, &found))
		return -1;
	double size = (double)found.st_size, room = (double)found.st_blocks * 512;
	return size > room ? size : room;
}

static epp_status *sustain(struct sustained *all, unsigned at)
{
	struct bench_file file = { .fd = -1 };
	uint64_t before_bytes = bench_memory_bytes();
	uint64_t before_process_ns = process_cpu_ns(), before_thread_ns = bench_thread_ns();
	session_now = NULL;
	epp_status *status = bench_file_session(&file, false, &session_now);
	if (!status)
		status = epp_session_start(session_now);
	if (status)
		goto out;
	uint64_t begin_ns = bench_wall_ns();
	all->loop(NULL, all->count);
	uint64_t done_ns = bench_wall_ns();
	status = epp_session_end(session_now);
	uint64_t end_ns = bench_wall_ns();
	epp_status *waited = epp_session_wait(session_now, UINT64_MAX);
	if (!status)
		status = waited;
	else
		epp_status_destroy(waited);
	all->time_ns.subject[at] = (double)(done_ns - begin_ns) / (double)all->count;
	all->end_ms[at] = (double)(end_ns - done_ns) / 1e6;
	all->time_ns.lost_count += bench_lost(session_now);
	uint64_t other_ns = process_cpu_ns() - before_process_ns - (bench_thread_ns() - before_thread_ns);
	all->other_ns[at] = (double)other_ns / (double)all->count;
	all->memory_mib[at] = (double)(bench_memory_peak_bytes() - before_bytes) / MIB;
	epp_session_destroy(session_now);
	session_now = NULL;
	all->bytes_an_event[at] = file_bytes(&file) / (double)all->count;
out:
	epp_session_destroy(session_now);
	bench_file_close(&file);
	return status;
}

static double largest(const double *samples, unsigned count)
{
	double most = samples[0];
	for (unsigned i = 1; i < count; i++)
		most = samples[i] > most ? samples[i] : most;
	return most;
}

static void report_helper(struct bench *bench, struct sustained *all, unsigned repetitions)
{
	bench_report(bench, &(struct bench_line){ .figure = "the helper's CPU time",
	                                          .unit = "ns",
	                                          .best = bench_least(all->other_ns, repetitions),
	                                          .value = bench_median(all->other_ns, repetitions),
	                                          .count = all->count,
	                                          .repetitions = repetitions });
}

void bench_sustained(struct bench *bench)
{
	static struct sustained all;
	unsigned repetitions = bench->repetitions < SUSTAINED_REPETITIONS ? bench->repetitions : SUSTAINED_REPETITIONS;
	all = (struct sustained){ .loop = begin_end, .count = SUSTAINED_COUNT / bench->divisor };
	name_now = epp_name_intern("MatMul");
	bool peak_known = true;
	for (unsigned i = 0; i < repetitions; i++) {
		uint64_t begin = bench_wall_ns();
		bench_limit(NULL, all.count / 10);
		all.time_ns.limit[i] = (double)(bench_wall_ns() - begin) / (double)(all.count / 10);
		peak_known &= bench_memory_forget_peak();
		epp_status *status = sustain(&all, i);
		if (status) {
			bench_fail(bench, "recording into a file", status);
			return;
		}
		all.time_ns.count++;
	}
	bench_report_samples(
	    bench, &all.time_ns,
	    &(struct bench_line){ .unit = "ns", .kind = BENCH_TIMES_LIMIT, .bound = 1.3, .count = all.count });
	bench_report(bench, &(struct bench_line){ .figure = "on disk",
	                                          .unit = "B/event",
	                                          .value = largest(all.bytes_an_event, repetitions),
	                                          .kind = BENCH_AT_MOST,
	                                          .bound = 10,
	                                          .count = all.count,
	                                          .repetitions = repetitions });
	if (peak_known)
		bench_report(bench, &(struct bench_line){ .figure = "memory above the start",
		                                          .unit = "MiB",
		                                          .value = largest(all.memory_mib, repetitions),
		                                          .kind = BENCH_AT_MOST,
		                                          .bound = 64,
		                                          .count = all.count,
		                                          .repetitions = repetitions });
	else
		bench_skip(bench, "memory above the start: /proc/self/clear_refs cannot be written");
	bench_report(bench, &(struct bench_line){ .figure = "epp_session_end",
	                                          .unit = "ms",
	                                          .value = largest(all.end_ms, repetitions),
	                                          .best = bench_least(all.end_ms, repetitions),
	                                          .kind = BENCH_AT_MOST,
	                                          .bound = 10,
	                                          .count = all.count,
	                                          .repetitions = repetitions });
	report_helper(bench, &all, repetitions);
	bench_note(bench, "on disk, memory and epp_session_end: the worst of the repetitions");
}

/* A lost event makes the line SHORT: the helper must need less time for an event than the thread that records it. */
static void sustain_args(struct bench *bench, bench_loop loop, const epp_arg *args, size_t args_count)
{
	static struct sustained all;
	all = (struct sustained){ .loop = loop, .count = ARGS_COUNT / bench->divisor };
	name_now = epp_name_intern("MatMul");
	args_now = args;
	args_count_now = args_count;
	for (unsigned i = 0; i < ARGS_REPETITIONS; i++) {
		epp_status *status = sustain(&all, i);
		if (status) {
			bench_fail(bench, "recording into a file", status);
			return;
		}
		all.time_ns.count++;
	}
	bench_report_samples(bench, &all.time_ns, &(struct bench_line){ .unit = "ns", .count = all.count });
	report_helper(bench, &all, ARGS_REPETITIONS);
}

void bench_sustained_integers(struct bench *bench)
{
	const epp_arg args[] = {
		{ .key = epp_name_intern("rows"), .type = EPP_ARG_I64, .value.i64 = 64 },
		{ .key = epp_name_intern("columns"), .type = EPP_ARG_I64, .value.i64 = 10 },
	};
	sustain_args(bench, begin_end_args, args, 2);
}

void bench_sustained_string(struct bench *bench)
{
	const epp_arg arg = {
		.key = epp_name_intern("shape"),
		.type = EPP_ARG_TEXT,
		.value.text = "float[1,64,56,9]",
		.text_bytes = 16,
	};
	sustain_args(bench, begin_end_args, &arg, 1);
}

void bench_sustained_nested(struct bench *bench)
{
	const epp_arg arg = { .key = epp_name_intern("rows"), .type = EPP_ARG_I64, .value.i64 = 64 };
	sustain_args(bench, nested, &arg, 1);
}

/* ---- two threads on two cores ---- */

/* The events of both threads fit into the window: two threads at full speed use both cores of a machine, so that the
 * helper cannot run, and a lost event does not cost the same. */
#define TWO_COUNT 200000u
#define DRAIN_NS 50000000

struct runner {
	pthread_t thread;
	pthread_barrier_t *start;
	bench_loop loop;
	uint64_t count;
	unsigned core;
	double ns; /* CPU time a round */
};

/* Returns the index-th processor that this process may use. */
static bool pin(unsigned index)
{
	cpu_set_t allowed, one;
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return false;
	for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed) || index-- != 0)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		return pthread_setaffinity_np(pthread_self(), sizeof(one), &one) == 0;
	}
	return false;
}

static void *run(void *user)
{
	struct runner *runner = user;
	pin(runner->core);
	/* A thread's first event in a session creates its recorder, which is not measured. */
	runner->loop(NULL, 100);
	pthread_barrier_wait(runner->start);
	uint64_t begin = bench_thread_ns();
	runner->loop(NULL, runner->count);
	runner->ns = (double)(bench_thread_ns() - begin) / (double)runner->count;
	return NULL;
}

/* Runs the loop on two threads at the same time and returns the mean of both; negative: the threads could not be
 * started. */
static double two_at_once(bench_loop loop, uint64_t count)
{
	pthread_barrier_t start;
	struct runner runners[2];
	unsigned made = 0;
	pthread_barrier_init(&start, NULL, 2);
	for (; made < 2; made++) {
		runners[made] = (struct runner){ .start = &start, .loop = loop, .count = count, .core = made };
		if (pthread_create(&runners[made].thread, NULL, run, &runners[made]))
			break;
	}
	/* A single thread would wait for the other one for ever. */
	if (made == 1)
		pthread_barrier_wait(&start);
	for (unsigned i = 0; i < made; i++)
		pthread_join(runners[i].thread, NULL);
	pthread_barrier_destroy(&start);
	return made == 2 ? (runners[0].ns + runners[1].ns) / 2 : -1;
}

void bench_two_threads(struct bench *bench)
{
	struct bench_samples samples = { .count = 0 };
	struct bench_file file = { .fd = -1 };
	double alone[BENCH_REPETITIONS_MAX];
	const struct bench_line line = { .unit = "ns", .kind = BENCH_TIMES_LIMIT, .bound = 1.3, .count = TWO_COUNT };
	cpu_set_t allowed;
	if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0 && CPU_COUNT(&allowed) < 2) {
		bench_skip(bench, "there are no two processors to use");
		return;
	}
	name_now = epp_name_intern("MatMul");
	session_now = NULL;
	epp_status *status = bench_file_session(&file, false, &session_now);
	if (!status)
		status = epp_session_start(session_now);
	for (unsigned i = 0; i <= bench->repetitions && !status; i++) {
		uint64_t begin = bench_thread_ns();
		bench_limit(NULL, line.count);
		alone[samples.count] = (double)(bench_thread_ns() - begin) / (double)(line.count);
		samples.limit[samples.count] = two_at_once(bench_limit, line.count);
		samples.subject[samples.count] = two_at_once(begin_end, line.count);
		if (samples.limit[samples.count] < 0 || samples.subject[samples.count] < 0)
			status = epp_status_create(EPP_OUT_OF_MEMORY, "pthread_create");
		nanosleep(&(struct timespec){ .tv_nsec = DRAIN_NS }, NULL);
		/* The first measurement warms up, and is overwritten. */
		samples.count += i > 0;
	}
	if (status) {
		bench_fail(bench, "two threads", status);
	} else {
		samples.lost_count = bench_lost(session_now);
		bench_report_samples(bench, &samples, &line);
		bench_note(bench, "the limit is two threads' at once too; one thread alone: %.1f ns",
		           bench_median(alone, samples.count));
	}
	epp_session_destroy(session_now);
	bench_file_close(&file);
}

/* Reads clocks, runs the loop of the limit, and measures a case and the limit in turn. */
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "bench.h"

/* ---- clocks ---- */

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t bench_wall_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t bench_thread_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* ---- the limit ---- */

struct limit_record {
	uint64_t start, duration, id, tail;
};

/* The size of a chunk of the recorder. */
#define LIMIT_RECORDS 2048u

static inline uint64_t processor_ticks(void)
{
#if defined(__x86_64__)
	return __rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	return clock_ns(CLOCK_MONOTONIC);
#endif
}

#define LIMIT_LOOP(ticks) \
	for (uint64_t i = 0; i < count; i++) { \
		volatile struct limit_record *record = &records[i % LIMIT_RECORDS]; \
		uint64_t start = (ticks); \
		uint64_t end = (ticks); \
		record->start = start; \
		record->duration = end - start; \
		record->id = i; \
		record->tail = 1; \
	}

void bench_limit(void *unused, uint64_t count)
{
	static __thread struct limit_record records[LIMIT_RECORDS] __attribute__((aligned(64)));
	(void)unused;
	/* If the processor's clock is not reliable, the recorder reads the system's clock, and so does the limit. */
	if (epp_host_ticks_per_second() == 1000000000u)
		LIMIT_LOOP(clock_ns(CLOCK_MONOTONIC))
	else
		LIMIT_LOOP(processor_ticks())
}

/* ---- samples ---- */

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

double bench_median(double *samples, unsigned count)
{
	if (count == 0)
		return 0;
	qsort(samples, count, sizeof(*samples), compare_doubles);
	return count % 2 ? samples[count / 2] : (samples[count / 2 - 1] + samples[count / 2]) / 2;
}

double bench_least(const double *samples, unsigned count)
{
	double least = count ? samples[0] : 0;
	for (unsigned i = 1; i < count; i++)
		least = samples[i] < least ? samples[i] : least;
	return least;
}

static long interruptions(void)
{
	struct rusage usage;
	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nivcsw;
}

/* Keeps the influence of other processes out of the figures.  A loop that was preempted is run again.  A loop does not
 * begin while another process uses the other hyperthread of the core: no counter shows that, but a sum that takes
 * longer than usual does.  A pause before that gives the thread a new time slice, and the helper time to write; the sum
 * also brings the processor back to its full speed. */
#define TRIES_MAX 40u
#define PAUSE_NS 4000000
#define WARMING_LOOPS 5u
#define SUM_ROUNDS 500000u
#define SUM_TOLERANCE 1.25

static double sum_ns(void)
{
	uint64_t a = 1, b = 2, c = 3, d = 4;
	uint64_t begin = bench_wall_ns();
	for (uint64_t i = 0; i < SUM_ROUNDS; i++) {
		a += i, b ^= i, c -= i, d += 3;
		__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
	}
	return (double)(bench_wall_ns() - begin);
}

static bool is_undisturbed(void)
{
	static double least_ns;
	double ns = sum_ns();
	if (least_ns == 0 || ns < least_ns)
		least_ns = ns;
	return ns <= least_ns * SUM_TOLERANCE;
}

static double loop_ns(bench_loop loop, void *user, uint64_t count)
{
	double ns = 0;
	for (unsigned tries = 1;; tries++) {
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
		if (tries < TRIES_MAX && !is_undisturbed())
			continue;
		long before = interruptions();
		uint64_t begin = bench_wall_ns();
		loop(user, count);
		ns = (double)(bench_wall_ns() - begin) / (double)count;
		if (tries >= TRIES_MAX || interruptions() == before)
			return ns;
	}
}

bool bench_take_turns(const struct bench *bench, const struct bench_subject *subject, uint64_t count,
                      struct bench_samples *samples)
{
	bench_loop compared = subject->compared ? subject->compared : bench_limit;
	*samples = (struct bench_samples){ .count = 0 };
	if (subject->begin && !subject->begin(subject->user))
		return false;
	/* The first access to memory is not measured. */
	for (unsigned i = 0; i < WARMING_LOOPS; i++)
		subject->loop(subject->user, count);
	for (; samples->count < bench->repetitions; samples->count++) {
		samples->limit[samples->count] = loop_ns(compared, subject->user, count);
		samples->subject[samples->count] = loop_ns(subject->loop, subject->user, count);
	}
	if (subject->finish)
		samples->lost_count = subject->finish(subject->user);
	return true;
}

void bench_report_samples(struct bench *bench, struct bench_samples *samples, const struct bench_line *line)
{
	struct bench_line full = *line;
	full.best = bench_least(samples->subject, samples->count);
	full.value = bench_median(samples->subject, samples->count);
	if (line->kind == BENCH_TIMES_LIMIT || line->kind == BENCH_LIMIT_PLUS)
		full.limit = bench_median(samples->limit, samples->count);
	full.repetitions = samples->count;
	full.lost_count = samples->lost_count;
	bench_report(bench, &full);
}

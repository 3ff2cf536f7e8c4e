/* How fast a trace becomes each format: a trace of threads and streams with flows between them, written to /dev/null in
 * the pieces in which the exporter hands it out.  Text is measured in bytes, binary formats in events.  Bounds are for one
 * processor, on which reading and writing take turns; what a second one adds, for the thread that reads, stands beside it. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "bench_trace.h"
#include "epprof/export.h"

#define EVENTS 4000000u
#define REPETITIONS_MAX 7u

struct sink {
	int fd;
	uint64_t bytes;
};

static size_t take(const void *bytes, size_t bytes_count, void *user)
{
	struct sink *sink = user;
	ssize_t written = write(sink->fd, bytes, bytes_count);
	sink->bytes += written > 0 ? (uint64_t)written : 0;
	return written > 0 ? (size_t)written : 0;
}

static uint64_t process_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The calling thread, and those that it starts, stay on the processor on which it is. */
static bool stay_on_one(cpu_set_t *before)
{
	cpu_set_t one;
	int cpu = sched_getcpu();
	if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof(*before), before))
		return false;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one) == 0;
}

struct times {
	double wall_ns, cpu_ns;
};

static epp_status *export_once(const struct bench_file *file, const char *format, struct sink *sink, struct times *times)
{
	epp_trace *trace;
	sink->bytes = 0;
	uint64_t begin_ns = bench_wall_ns(), begin_cpu_ns = process_ns();
	epp_status *status = epp_trace_open(file->path, &trace);
	if (!status)
		status = epp_export(trace, format, NULL, take, sink, NULL, NULL);
	epp_trace_close(trace);
	times->wall_ns = (double)(bench_wall_ns() - begin_ns);
	times->cpu_ns = (double)(process_ns() - begin_cpu_ns);
	return status;
}

struct samples {
	double one[REPETITIONS_MAX], all[REPETITIONS_MAX]; /* rates, on one processor and on all */
	double cpu[REPETITIONS_MAX];                       /* ns an event, on one */
	unsigned count;
};

/* On one processor and on all of them in turn. */
static epp_status *take_samples(const struct bench *bench, const struct bench_file *file, const char *format,
                                bool gigabytes, uint64_t events, struct sink *sink, struct samples *samples)
{
	while (samples->count < bench->repetitions && samples->count < REPETITIONS_MAX) {
		cpu_set_t before;
		struct times one, all;
		if (!stay_on_one(&before))
			return epp_status_errno(errno, "sched_setaffinity");
		epp_status *status = export_once(file, format, sink, &one);
		sched_setaffinity(0, sizeof(before), &before);
		if (!status)
			status = export_once(file, format, sink, &all);
		if (status)
			return status;
		double amount = gigabytes ? (double)sink->bytes : (double)events * 1e3;
		samples->one[samples->count] = amount / one.wall_ns;
		samples->all[samples->count] = amount / all.wall_ns;
		samples->cpu[samples->count++] = one.cpu_ns / (double)events;
	}
	return NULL;
}

/* `gigabytes`: the bound is in GB/s, else in millions of events a second; 0: none. */
static void export_case(struct bench *bench, const char *format, bool gigabytes, double bound)
{
	const struct bench_trace_shape shape = { .events_count = EVENTS / bench->divisor,
		                                 .threads_count = 48,
		                                 .streams_count = 16 };
	const char *unit = gigabytes ? "GB/s" : "M/s";
	struct bench_file file = { .fd = -1 };
	struct sink sink = { .fd = open("/dev/null", O_WRONLY | O_CLOEXEC) };
	struct samples samples = { .count = 0 };
	uint64_t written = 0;
	epp_status *status = sink.fd < 0 ? epp_status_errno(errno, "/dev/null")
	                                 : bench_trace_write(&shape, &file, &written);
	if (!status)
		status = take_samples(bench, &file, format, gigabytes, written, &sink, &samples);
	if (status) {
		bench_fail(bench, format, status);
	} else {
		double median = bench_median(samples.one, samples.count); /* sorts */
		bench_report(bench, &(struct bench_line){ .unit = unit,
		                                          .value = median,
		                                          .best = samples.one[samples.count - 1],
		                                          .kind = bound > 0 ? BENCH_AT_LEAST : BENCH_NO_BOUND,
		                                          .bound = bound,
		                                          .count = written,
		                                          .repetitions = samples.count });
		bench_note(bench, "%.1f bytes and %.0f ns of CPU time an event; %.2f %s with all processors",
		           (double)sink.bytes / (double)written, bench_median(samples.cpu, samples.count),
		           bench_median(samples.all, samples.count), unit);
	}
	bench_file_close(&file);
	if (sink.fd >= 0)
		close(sink.fd);
}

void bench_chrome(struct bench *bench)
{
	export_case(bench, "chrome", true, 1.2);
}

void bench_ort(struct bench *bench)
{
	export_case(bench, "ort", true, 1.2);
}

void bench_csv(struct bench *bench)
{
	export_case(bench, "csv", true, 1.0);
}

void bench_ndjson(struct bench *bench)
{
	export_case(bench, "ndjson", true, 1.0);
}

void bench_sqlite(struct bench *bench)
{
	export_case(bench, "sqlite", false, 0.5);
}

void bench_perfetto(struct bench *bench)
{
	export_case(bench, "perfetto", false, 12);
}

void bench_kineto(struct bench *bench)
{
	export_case(bench, "kineto", true, 1.2);
}

void bench_xspace(struct bench *bench)
{
	export_case(bench, "xspace", false, 8);
}

void bench_parquet(struct bench *bench)
{
	export_case(bench, "parquet", false, 5);
}

void bench_html(struct bench *bench)
{
	export_case(bench, "html", false, 0);
}

void bench_flame(struct bench *bench)
{
	export_case(bench, "flame", false, 0);
}

/* How fast a trace becomes each format: a trace of threads and streams with flows between them, written to /dev/null in
 * the pieces in which the exporter hands it out.  Text is measured in bytes, binary formats in events.  Wall time, because
 * reading has a thread of its own; the CPU time of both stands beside it. */
#include <errno.h>
#include <fcntl.h>
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

static epp_status *export_once(const struct bench_file *file, const char *format, struct sink *sink, double *ns,
                               double *cpu_ns)
{
	epp_trace *trace;
	sink->bytes = 0;
	uint64_t begin_ns = bench_wall_ns(), begin_cpu_ns = process_ns();
	epp_status *status = epp_trace_open(file->path, &trace);
	if (!status)
		status = epp_export(trace, format, NULL, take, sink, NULL, NULL);
	epp_trace_close(trace);
	*ns = (double)(bench_wall_ns() - begin_ns);
	*cpu_ns = (double)(process_ns() - begin_cpu_ns);
	return status;
}

/* `gigabytes`: the bound is in GB/s, else in millions of events a second; 0: none. */
static void export_case(struct bench *bench, const char *format, bool gigabytes, double bound)
{
	const struct bench_trace_shape shape = { .events_count = EVENTS / bench->divisor,
		                                 .threads_count = 48,
		                                 .streams_count = 16 };
	struct bench_file file = { .fd = -1 };
	struct sink sink = { .fd = open("/dev/null", O_WRONLY | O_CLOEXEC) };
	double rate[REPETITIONS_MAX], cpu[REPETITIONS_MAX];
	unsigned repetitions = bench->repetitions < REPETITIONS_MAX ? bench->repetitions : REPETITIONS_MAX;
	uint64_t written = 0;
	epp_status *status = sink.fd < 0 ? epp_status_errno(errno, "/dev/null")
	                                 : bench_trace_write(&shape, &file, &written);
	for (unsigned i = 0; i < repetitions && !status; i++) {
		double ns, cpu_ns;
		status = export_once(&file, format, &sink, &ns, &cpu_ns);
		rate[i] = gigabytes ? (double)sink.bytes / ns : (double)written * 1e3 / ns;
		cpu[i] = cpu_ns / (double)written;
	}
	if (status) {
		bench_fail(bench, format, status);
	} else {
		double median = bench_median(rate, repetitions); /* sorts */
		bench_report(bench, &(struct bench_line){ .unit = gigabytes ? "GB/s" : "M/s",
		                                          .value = median,
		                                          .best = rate[repetitions - 1],
		                                          .kind = bound > 0 ? BENCH_AT_LEAST : BENCH_NO_BOUND,
		                                          .bound = bound,
		                                          .count = written,
		                                          .repetitions = repetitions });
		bench_note(bench, "%.1f bytes and %.0f ns of CPU time an event", (double)sink.bytes / (double)written,
		           bench_median(cpu, repetitions));
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
	export_case(bench, "sqlite", false, 1.5);
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
	export_case(bench, "parquet", false, 10);
}

void bench_html(struct bench *bench)
{
	export_case(bench, "html", false, 0);
}

void bench_flame(struct bench *bench)
{
	export_case(bench, "flame", false, 0);
}

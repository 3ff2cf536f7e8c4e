/* Measures the export into each format: a trace of threads and streams with flows between them is written to /dev/null,
 * in the pieces that the exporter writes.  The unit is bytes for text formats, events for binary formats, per CPU
 * time. */
#include <errno.h>
#include <fcntl.h>
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

static epp_status *export_once(const struct bench_file *file, const char *format, struct sink *sink, double *ns)
{
	epp_trace *trace;
	sink->bytes = 0;
	uint64_t begin_ns = bench_thread_ns();
	epp_status *status = epp_trace_open(file->path, &trace);
	if (!status)
		status = epp_export(trace, format, NULL, take, sink, NULL, NULL);
	epp_trace_close(trace);
	*ns = (double)(bench_thread_ns() - begin_ns);
	return status;
}

/* The unit of the bound is GB/s if `gigabytes` is set, else millions of events a second; 0: no bound. */
static void export_case(struct bench *bench, const char *format, bool gigabytes, double bound)
{
	const struct bench_trace_shape shape = { .events_count = EVENTS / bench->divisor,
		                                 .threads_count = 48,
		                                 .streams_count = 16 };
	const char *unit = gigabytes ? "GB/s" : "M/s";
	struct bench_file file = { .fd = -1 };
	struct sink sink = { .fd = open("/dev/null", O_WRONLY | O_CLOEXEC) };
	double rates[REPETITIONS_MAX], ns;
	unsigned count = 0;
	uint64_t written = 0;
	epp_status *status = sink.fd < 0 ? epp_status_errno(errno, "/dev/null")
	                                 : bench_trace_write(&shape, &file, &written);
	for (; !status && count < bench->repetitions && count < REPETITIONS_MAX; count++) {
		status = export_once(&file, format, &sink, &ns);
		rates[count] = (gigabytes ? (double)sink.bytes : (double)written * 1e3) / ns;
	}
	if (status) {
		bench_fail(bench, format, status);
	} else {
		double median = bench_median(rates, count); /* sorts */
		bench_report(bench, &(struct bench_line){ .unit = unit,
		                                          .value = median,
		                                          .best = rates[count - 1],
		                                          .kind = bound > 0 ? BENCH_AT_LEAST : BENCH_NO_BOUND,
		                                          .bound = bound,
		                                          .count = written,
		                                          .repetitions = count });
		bench_note(bench, "%.1f bytes an event", (double)sink.bytes / (double)written);
	}
	bench_file_close(&file);
	if (sink.fd >= 0)
		close(sink.fd);
}

void bench_chrome(struct bench *bench)
{
	export_case(bench, "chrome", true, 1.0);
}

void bench_ort(struct bench *bench)
{
	export_case(bench, "ort", true, 1.0);
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
	export_case(bench, "kineto", true, 1.0);
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

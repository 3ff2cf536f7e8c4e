/* Measures the import of other profilers' files: CPU time of the importing thread, including reading and writing, and
 * the peak of memory beyond the start.  The input is an exported trace of threads and streams. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench_trace.h"
#include "epprof/export.h"
#include "epprof/import.h"

#define EVENTS 2000000u
#define JSON_MEGABYTES_A_SECOND_LEAST 150.0
#define XSPACE_MEGABYTES_A_SECOND_LEAST 150.0
#define MEMORY_MIB_MOST 16.0
#define MIB 1048576.0
#define REPETITIONS_MAX 5u

static size_t put(const void *bytes, size_t bytes_count, void *user)
{
	const struct bench_file *file = user;
	ssize_t written = write(file->fd, bytes, bytes_count);
	return written > 0 ? (size_t)written : 0;
}

/* Writes a trace in that format. */
static epp_status *make_file(const struct bench_trace_shape *shape, const char *format, struct bench_file *file)
{
	struct bench_file trace = { .fd = -1 };
	epp_trace *opened = NULL;
	uint64_t written;

	epp_status *status = bench_file_open(file);
	if (!status)
		status = bench_trace_write(shape, &trace, &written);
	if (!status)
		status = epp_trace_open(trace.path, &opened);
	if (!status)
		status = epp_export(opened, format, NULL, put, file, NULL, NULL);
	epp_trace_close(opened);
	bench_file_close(&trace);
	return status;
}

static epp_status *import(const struct bench_file *file, const char *path, epp_import_counts *counts, double *ns,
                          double *memory_mib)
{
	const epp_import_options options = { .struct_size = sizeof(options), .overwrite = 1 };

	bool peak = bench_memory_forget_peak();
	uint64_t before_bytes = bench_memory_bytes(), begin_ns = bench_thread_ns();
	epp_status *status = epp_import_file(file->path, path, &options, NULL, NULL, counts);
	*ns = (double)(bench_thread_ns() - begin_ns);
	*memory_mib = peak ? ((double)bench_memory_peak_bytes() - (double)before_bytes) / MIB : 0;
	return status;
}

static void import_case(struct bench *bench, const char *format, double megabytes_a_second_least)
{
	const struct bench_trace_shape shape = { .events_count = EVENTS / bench->divisor,
		                                 .threads_count = 48,
		                                 .streams_count = 16 };
	unsigned repetitions = bench->repetitions < REPETITIONS_MAX ? bench->repetitions : REPETITIONS_MAX;
	double rate[REPETITIONS_MAX], memory[REPETITIONS_MAX], ns;
	struct bench_file file = { .fd = -1 };
	epp_import_counts counts = { .struct_size = sizeof(counts) };
	const char *folder = getenv("TMPDIR");
	char path[256];

	snprintf(path, sizeof(path), "%s/epprof-bench-import-%ld.epp", folder ? folder : "/tmp", (long)getpid());
	epp_status *status = make_file(&shape, format, &file);
	for (unsigned i = 0; i < repetitions && !status; i++) {
		status = import(&file, path, &counts, &ns, &memory[i]);
		rate[i] = (double)counts.input_bytes * 1e3 / ns;
	}
	unlink(path);
	bench_file_close(&file);
	if (!status && counts.events < shape.events_count)
		status = epp_status_create(EPP_CORRUPT, "%llu events came of %llu", (unsigned long long)counts.events,
		                           (unsigned long long)shape.events_count);
	if (status) {
		bench_fail(bench, format, status);
		return;
	}
	double median = bench_median(rate, repetitions); /* sorts */
	bench_report(bench, &(struct bench_line){ .unit = "MB/s",
	                                          .value = median,
	                                          .best = rate[repetitions - 1],
	                                          .kind = BENCH_AT_LEAST,
	                                          .bound = megabytes_a_second_least,
	                                          .count = counts.events,
	                                          .repetitions = repetitions });
	bench_note(bench, "%.1f bytes an event", (double)counts.input_bytes / (double)counts.events);
	median = bench_median(memory, repetitions);
	bench_report(bench, &(struct bench_line){ .figure = "memory",
	                                          .unit = "MiB",
	                                          .value = median,
	                                          .best = memory[0],
	                                          .kind = BENCH_AT_MOST,
	                                          .bound = MEMORY_MIB_MOST,
	                                          .count = counts.events,
	                                          .repetitions = repetitions });
}

void bench_import_chrome(struct bench *bench)
{
	import_case(bench, "chrome", JSON_MEGABYTES_A_SECOND_LEAST);
}

void bench_import_ort(struct bench *bench)
{
	import_case(bench, "ort", JSON_MEGABYTES_A_SECOND_LEAST);
}

void bench_import_xspace(struct bench *bench)
{
	import_case(bench, "xspace", XSPACE_MEGABYTES_A_SECOND_LEAST);
}

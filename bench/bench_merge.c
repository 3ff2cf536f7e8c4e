/* Measures the merge of two traces into one: CPU time of the merging thread, including reading and writing, and the
 * peak of memory beyond the start. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench_trace.h"
#include "epprof/merge.h"

#define EVENTS_A_SECOND_LEAST 5.0 /* millions */
#define MEMORY_MIB_MOST 64.0      /* for indexes, names and a block */
#define MIB 1048576.0
#define REPETITIONS_MAX 5u
#define TRACES 2u

static epp_status *merge(const struct bench_file *files, const char *path, uint64_t *records, double *ns, double *memory_mib)
{
	const epp_merge_options options = { .struct_size = sizeof(options), .overwrite = 1 };
	epp_trace *traces[TRACES] = { NULL };
	epp_merge_counts counts = { .struct_size = sizeof(counts) };
	epp_status *status = NULL;

	bool peak = bench_memory_forget_peak();
	uint64_t before_bytes = bench_memory_bytes(), begin_ns = bench_thread_ns();
	for (unsigned i = 0; i < TRACES && !status; i++)
		status = epp_trace_open(files[i].path, &traces[i]);
	if (!status)
		status = epp_trace_merge(traces, TRACES, path, &options, NULL, NULL, &counts);
	*ns = (double)(bench_thread_ns() - begin_ns);
	*memory_mib = peak ? ((double)bench_memory_peak_bytes() - (double)before_bytes) / MIB : 0;
	*records = counts.records;
	for (unsigned i = 0; i < TRACES; i++)
		epp_trace_close(traces[i]);
	return status;
}

void bench_merge(struct bench *bench)
{
	const char *figure = "2 x 5 M, threads and streams", *memory_figure = "2 x 5 M: memory";
	const struct bench_trace_shape shape = { .events_count = 5000000 / bench->divisor,
		                                 .threads_count = 48,
		                                 .streams_count = 16 };
	unsigned repetitions = bench->repetitions < REPETITIONS_MAX ? bench->repetitions : REPETITIONS_MAX;
	struct bench_file files[TRACES] = { { .fd = -1 }, { .fd = -1 } };
	double rate[REPETITIONS_MAX], memory[REPETITIONS_MAX], ns;
	uint64_t written, expected = 0, records = 0;
	const char *folder = getenv("TMPDIR");
	epp_status *status = NULL;
	char path[256];

	snprintf(path, sizeof(path), "%s/epprof-bench-merge-%ld.epp", folder ? folder : "/tmp", (long)getpid());
	for (unsigned i = 0; i < TRACES && !status; i++, expected += written)
		status = bench_trace_write(&shape, &files[i], &written);
	for (unsigned i = 0; i < repetitions && !status; i++) {
		status = merge(files, path, &records, &ns, &memory[i]);
		rate[i] = (double)records * 1e3 / ns;
	}
	unlink(path);
	for (unsigned i = 0; i < TRACES; i++)
		bench_file_close(&files[i]);
	if (!status && records < expected)
		status = epp_status_create(EPP_CORRUPT, "%llu records came of %llu", (unsigned long long)records,
		                           (unsigned long long)expected);
	if (status) {
		bench_fail(bench, figure, status);
		return;
	}
	double median = bench_median(rate, repetitions); /* sorts */
	bench_report(bench, &(struct bench_line){ .figure = figure,
	                                          .unit = "M/s",
	                                          .value = median,
	                                          .best = rate[repetitions - 1],
	                                          .kind = BENCH_AT_LEAST,
	                                          .bound = EVENTS_A_SECOND_LEAST,
	                                          .count = records,
	                                          .repetitions = repetitions });
	median = bench_median(memory, repetitions);
	bench_report(bench, &(struct bench_line){ .figure = memory_figure,
	                                          .unit = "MiB",
	                                          .value = median,
	                                          .best = memory[0],
	                                          .kind = BENCH_AT_MOST,
	                                          .bound = MEMORY_MIB_MOST,
	                                          .count = records,
	                                          .repetitions = repetitions });
}

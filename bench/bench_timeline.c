/* Measures the merge of the timeline: a trace of 64 tracks is read from a file, event by event.  First only threads,
 * then threads and streams whose kernels are joined to the nodes that launched them; this has no bound, because the
 * blocks of streams are read twice.  CPU time of one thread, and the peak of memory beyond the start. */
#include "bench_trace.h"
#include "epprof/timeline.h"

#define EVENTS_A_SECOND_LEAST 15.0 /* millions */
/* For the index, the decoded blocks and the names; and for the table of events that kernels refer to. */
#define MEMORY_MIB_MOST 64.0
#define BYTES_A_PARENT 40.0
#define MIB 1048576.0
#define REPETITIONS_MAX 5u

/* Measures one merge over the whole file. */
static epp_status *merge(const struct bench_file *file, uint64_t expected, double *ns, double *memory_mib, uint64_t *joined)
{
	epp_trace *trace = NULL;
	epp_timeline *timeline = NULL;
	const epp_event *event;
	uint64_t count = 0;

	bool peak = bench_memory_forget_peak();
	uint64_t before_bytes = bench_memory_bytes(), begin_ns = bench_thread_ns();
	epp_status *status = epp_trace_open(file->path, &trace);
	if (!status)
		status = epp_timeline_create(trace, NULL, &timeline);
	if (!status) {
		while (epp_timeline_next(timeline, &event))
			count++;
		status = epp_timeline_status(timeline);
		*joined = epp_timeline_get_counts(timeline)->correlated;
	}
	*ns = (double)(bench_thread_ns() - begin_ns);
	*memory_mib = peak ? ((double)bench_memory_peak_bytes() - (double)before_bytes) / MIB : 0;
	epp_timeline_destroy(timeline);
	epp_trace_close(trace);
	if (!status && count != expected)
		status = epp_status_create(EPP_CORRUPT, "%llu events came of %llu", (unsigned long long)count,
		                           (unsigned long long)expected);
	return status;
}

static void measure(struct bench *bench, const char *figure, const char *memory_figure,
                    const struct bench_trace_shape *shape, unsigned repetitions)
{
	struct bench_file file = { .fd = -1 };
	double rate[REPETITIONS_MAX], memory[REPETITIONS_MAX];
	uint64_t written, joined = 0;

	epp_status *status = bench_trace_write(shape, &file, &written);
	for (unsigned i = 0; i < repetitions && !status; i++) {
		double ns;
		status = merge(&file, written, &ns, &memory[i], &joined);
		rate[i] = (double)written * 1e3 / ns;
	}
	bench_file_close(&file);
	if (status) {
		bench_fail(bench, figure, status);
		return;
	}
	double median = bench_median(rate, repetitions); /* sorts */
	bench_report(bench, &(struct bench_line){ .figure = figure,
	                                          .unit = "M/s",
	                                          .value = median,
	                                          .best = rate[repetitions - 1],
	                                          .kind = shape->streams_count ? BENCH_NO_BOUND : BENCH_AT_LEAST,
	                                          .bound = EVENTS_A_SECOND_LEAST,
	                                          .count = written,
	                                          .repetitions = repetitions });
	median = bench_median(memory, repetitions);
	bench_report(bench, &(struct bench_line){ .figure = memory_figure,
	                                          .unit = "MiB",
	                                          .value = median,
	                                          .best = memory[0],
	                                          .kind = BENCH_AT_MOST,
	                                          .bound = MEMORY_MIB_MOST + BYTES_A_PARENT * (double)joined / MIB,
	                                          .count = written,
	                                          .repetitions = repetitions });
}

void bench_timeline(struct bench *bench)
{
	unsigned few = bench->repetitions < REPETITIONS_MAX ? bench->repetitions : REPETITIONS_MAX;
	struct bench_trace_shape shape = { .events_count = 10000000 / bench->divisor, .threads_count = 64 };

	measure(bench, "10 M, threads", "10 M, threads: memory", &shape, few);
	shape = (struct bench_trace_shape){ .events_count = 10000000 / bench->divisor,
		                            .threads_count = 48,
		                            .streams_count = 16 };
	measure(bench, "10 M, 16 of them streams", "10 M, streams: memory", &shape, few);
	shape = (struct bench_trace_shape){ .events_count = 100000000 / bench->divisor, .threads_count = 64 };
	measure(bench, "100 M, threads", "100 M, threads: memory", &shape, 1);
}

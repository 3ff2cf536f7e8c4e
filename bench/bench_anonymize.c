/* Measures anonymising: CPU time of one thread, with the files in the page cache, from opening the trace until the
 * output has its name; this includes the search for texts of the input.  The trace is that of the case of packing; its
 * packing is measured in turn with it, because the ratio of the two depends less on the machine. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench_trace.h"
#include "epprof/anonymize.h"
#include "epprof/trace_writer.h"

#define EVENTS_A_SECOND_LEAST 10.0 /* millions */
#define REPETITIONS_MAX 5u

static epp_status *measure(const struct bench_file *file, const char *path, bool packs, double *ns)
{
	const epp_anonymize_options options = {
		.struct_size = sizeof(options), .key = "a key of the bench", .key_bytes = 18, .overwrite = 1
	};
	epp_trace *trace = NULL;
	uint64_t begin_ns = bench_thread_ns();

	epp_status *status = epp_trace_open(file->path, &trace);
	if (!status)
		status = packs ? epp_trace_pack(trace, path, 1)
		               : epp_trace_anonymize(trace, path, &options, NULL, NULL, NULL);
	epp_trace_close(trace);
	*ns = (double)(bench_thread_ns() - begin_ns);
	return status;
}

void bench_anonymize(struct bench *bench)
{
	const struct bench_trace_shape shape = {
		.events_count = 10000000 / bench->divisor, .threads_count = 3, .streams_count = 2, .launching = true
	};
	unsigned repetitions = bench->repetitions < REPETITIONS_MAX ? bench->repetitions : REPETITIONS_MAX;
	double speed[REPETITIONS_MAX], ratio[REPETITIONS_MAX], ns, pack_ns;
	struct bench_file file = { .fd = -1 };
	const char *folder = getenv("TMPDIR");
	uint64_t written = 0;
	char path[256];

	snprintf(path, sizeof(path), "%s/epprof-bench-anonymize-%ld.epp", folder ? folder : "/tmp", (long)getpid());
	epp_status *status = bench_trace_write(&shape, &file, &written);
	for (unsigned i = 0; i < repetitions && !status; i++) {
		status = measure(&file, path, false, &ns);
		if (!status)
			status = measure(&file, path, true, &pack_ns);
		speed[i] = (double)written * 1e3 / ns;
		ratio[i] = ns / pack_ns;
	}
	unlink(path);
	bench_file_close(&file);
	if (status) {
		bench_fail(bench, "10 M records", status);
		return;
	}
	double median = bench_median(speed, repetitions); /* sorts */
	bench_report(bench, &(struct bench_line){ .figure = "10 M records",
	                                          .unit = "M/s",
	                                          .value = median,
	                                          .best = speed[repetitions - 1],
	                                          .kind = BENCH_AT_LEAST,
	                                          .bound = EVENTS_A_SECOND_LEAST,
	                                          .count = written,
	                                          .repetitions = repetitions });
	median = bench_median(ratio, repetitions);
	bench_report(bench, &(struct bench_line){ .figure = "time, packing is 1",
	                                          .unit = "",
	                                          .value = median,
	                                          .best = ratio[0],
	                                          .kind = BENCH_NO_BOUND,
	                                          .repetitions = repetitions });
}

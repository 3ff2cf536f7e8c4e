/* Measures the errors of the times of device events, for each kind of clock, over 10 simulated minutes: the largest
 * error, the error that 99.9 % of the events do not exceed, and how often the claimed bound held. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "clock_truth.h"

#define SECONDS 600u
#define HELD_PERCENT_LEAST 99.9

static void report(struct bench *bench, const struct clock_truth_case *subject, const struct clock_truth *truth)
{
	char figure[80];
	struct bench_line line = { .figure = figure, .unit = "us", .count = truth->moments_count };

	line.lost_count = truth->lost_count;
	snprintf(figure, sizeof(figure), "%s: error", subject->name);
	line.value = line.best = (double)truth->largest_error_ns / 1e3;
	line.kind = subject->largest_error_ns ? BENCH_AT_MOST : BENCH_NO_BOUND;
	line.bound = (double)subject->largest_error_ns / 1e3;
	bench_report(bench, &line);
	snprintf(figure, sizeof(figure), "%s: 99.9 %%", subject->name);
	line.value = line.best = (double)truth->usual_error_ns / 1e3;
	line.kind = BENCH_NO_BOUND;
	bench_report(bench, &line);
	if (!truth->claimed_count)
		return;
	snprintf(figure, sizeof(figure), "%s: held", subject->name);
	line.unit = "%";
	line.value = line.best = 100.0 * (double)truth->held_count / (double)truth->claimed_count;
	line.kind = BENCH_AT_LEAST;
	line.bound = HELD_PERCENT_LEAST;
	bench_report(bench, &line);
}

void bench_clocks(struct bench *bench)
{
	const char *parent = getenv("TMPDIR");
	char directory[256], path[280];

	snprintf(directory, sizeof(directory), "%s/epprof-bench.XXXXXX", parent ? parent : "/tmp");
	if (!mkdtemp(directory)) {
		bench_fail(bench, "making a directory", epp_status_create(EPP_IO, "%s", directory));
		return;
	}
	snprintf(path, sizeof(path), "%s/clocks.epp", directory);
	for (size_t i = 0; i < clock_truth_cases_count; i++) {
		const struct clock_truth_case *subject = &clock_truth_cases[i];
		struct clock_truth truth;
		epp_status *status = clock_truth_measure(subject, SECONDS / bench->divisor, i + 1, path, &truth);
		if (status)
			bench_fail(bench, subject->name, status);
		else
			report(bench, subject, &truth);
	}
	rmdir(directory);
}

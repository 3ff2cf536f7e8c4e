/* Measures the errors of device times, and whether their error bounds hold, with simulated clocks.
 *
 * A simulated program launches kernels on a simulated device for minutes of simulated time, which take milliseconds.
 * The kit gets the device's ticks and reads clock pairs; each reading takes as long as on a real machine, with
 * interruptions. The events that the kit submits become a trace, and the timeline computes their times.  Each start and
 * end is then compared with the true one, and its error with the bound.  Shared by the bench and the tests. */
#ifndef EPPROF_BENCH_CLOCK_TRUTH_H
#define EPPROF_BENCH_CLOCK_TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ep_sample/accelerator_clock.h"
#include "epprof/status.h"

struct clock_truth_case {
	const char *name;
	accelerator_clock_options clock; /* ticks_per_second 0: 1 GHz; bits 0: 64 */
	bool microseconds;               /* through ONNX Runtime's interface, which has no clock pairs and no bounds */
	bool durations_only;             /* the kit cannot read the device's clock */
	bool waits_are_known;            /* the trace contains which host event waited for which launch */
	uint64_t largest_error_ns;       /* the largest error allowed; 0: the claimed bounds decide */
	uint64_t usual_bound_ns;         /* the median of the claimed bounds must not be larger; 0: any */
};

extern const struct clock_truth_case clock_truth_cases[];
extern const size_t clock_truth_cases_count;

struct clock_truth {
	uint64_t moments_count; /* starts and ends that were compared */
	uint64_t claimed_count; /* those of them with a bound */
	uint64_t held_count;    /* those whose bound held */
	uint64_t largest_error_ns;
	uint64_t usual_error_ns; /* 99.9 % of the errors are at most this large */
	uint64_t largest_bound_ns;
	uint64_t usual_bound_ns; /* the median bound */
	uint64_t lost_count;     /* events that are missing or occur several times */
	uint64_t refused_count;  /* events that the kit refused because they ended before they began */
	uint64_t outside_count;  /* events that the timeline marked as outside their parent */
};

/* Runs a case for `seconds` of simulated time.  A temporary file is written at `path` and removed.
 * Thread: one simulation at a time in a process. */
epp_status *clock_truth_measure(const struct clock_truth_case *subject, uint64_t seconds, uint64_t seed,
                                const char *path, struct clock_truth *truth) EPP_MUST_CHECK;

#endif

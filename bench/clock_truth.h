/* Device clocks whose truth is known: what a profiler makes of them, and whether it keeps its word.
 *
 * A simulated program launches kernels on a simulated device for minutes of simulated time, which pass in milliseconds.
 * The kit takes the device's ticks and reads clock pairs, each reading costing what it costs on a machine, interruptions
 * included; what it hands over becomes a trace, and the timeline places the events.  Then each start and end is compared
 * with the true one, and with the bound that was claimed for it.  Shared by the bench and the tests.
 */
#ifndef BENCH_CLOCK_TRUTH_H
#define BENCH_CLOCK_TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ep_sample/accelerator_clock.h"
#include "epprof/status.h"

struct clock_truth_case {
	const char *name;
	accelerator_clock_options clock; /* ticks_per_second and bits of 0: 1 GHz, 64 */
	bool microseconds;               /* through ONNX Runtime's interface, which has neither pairs nor bounds */
	bool durations_only;             /* the kit may not read the device's clock */
	bool waits_are_known;            /* the trace says which host event waited for which launch */
	uint64_t largest_error_ns;       /* that is allowed; 0: the claimed bounds decide */
	uint64_t usual_bound_ns;         /* half of the claims are to be at most so wide; 0: any */
};

extern const struct clock_truth_case clock_truth_cases[];
extern const size_t clock_truth_cases_count;

struct clock_truth {
	uint64_t moments_count; /* starts and ends that were compared */
	uint64_t claimed_count; /* of these, with a bound */
	uint64_t held_count;    /* and it held */
	uint64_t largest_error_ns;
	uint64_t usual_error_ns; /* 999 of 1,000 are at most so large */
	uint64_t largest_bound_ns;
	uint64_t usual_bound_ns; /* half of them are at most so large */
	uint64_t lost_count;     /* events that did not arrive, or not once */
	uint64_t refused_count;  /* as the kit says: they ended before they began */
	uint64_t outside_count;  /* events that lie outside their parent, says the timeline */
};

/* Runs a case over `seconds` of simulated time; `path` names a file that is written and removed.
 * Thread: one simulation at a time in a process. */
epp_status *clock_truth_measure(const struct clock_truth_case *subject, uint64_t seconds, uint64_t seed,
                                const char *path, struct clock_truth *truth) EPP_MUST_CHECK;

#endif

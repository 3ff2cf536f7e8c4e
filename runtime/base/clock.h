/* The host's clock: ticks that cost one instruction, and samples that relate them to the system's clocks.
 *
 * The clock is the TSC if the processor reports it as constant and nonstop and the kernel uses it (its clock source is
 * tsc, kvm-clock or hyperv); cntvct on arm64, if it advances at the rate that the processor reports; otherwise
 * CLOCK_MONOTONIC in ns. It is chosen once, at load. Tests inject a clock. */
#ifndef EPPROF_RUNTIME_BASE_CLOCK_H
#define EPPROF_RUNTIME_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "format/format.h"

/* The chosen clock: a value of enum epf_clock, or CLOCK_INJECTED. */
extern uint32_t clock_kind;
#define CLOCK_INJECTED 100u
/* On arm64 the counter may advance by this many ticks at once, so that its value may be too small by up to this number.
 * The half-widths of samples include it. On other processors it is 0. */
extern uint64_t clock_step_ticks;

uint64_t clock_ticks_slow(void);

/* Reads the processor's counter. Valid only if clock_is_fast. */
static inline uint64_t clock_ticks_fast(void)
{
#if defined(__x86_64__)
	return __rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	return clock_ticks_slow();
#endif
}

static inline bool clock_is_fast(void)
{
	return clock_kind == EPF_CLOCK_TSC || clock_kind == EPF_CLOCK_CNTVCT;
}

static inline uint64_t clock_ticks(void)
{
	return __builtin_expect(clock_is_fast(), 1) ? clock_ticks_fast() : clock_ticks_slow();
}

/* Chooses the clock. Called once, before anything is recorded. */
void clock_setup(void);

/* Returns whether a counter with that many ticks per second advanced between two samples at the rate of
 * CLOCK_MONOTONIC. Allows a difference of 10 % and of the samples' half-widths. The half-widths must be smaller than
 * half of the time between the samples. */
bool clock_keeps_time(const struct epf_host_pair *first, const struct epf_host_pair *last, uint64_t per_second);

/* Returns the nominal number of ticks per second. The first call measures it, which may take some ms. */
uint64_t clock_ticks_per_second(void);

/* Converts ticks to ns with the nominal rate. The result is correct for time spans of up to centuries. */
uint64_t clock_ticks_to_ns(uint64_t ticks);

/* Reads ticks, MONOTONIC and REALTIME together. Reads them several times and returns the sample with the smallest
 * half-width. */
void clock_pair_read(struct epf_host_pair *pair);

/* Makes a sample from five consecutive readings: ticks, MONOTONIC, REALTIME, MONOTONIC, ticks. If the thread moved to a
 * processor whose counter is behind, the sample is useless and its half-width is half the clock's range. */
struct epf_host_pair clock_pair_of(uint64_t before, int64_t first_ns, int64_t realtime_ns, int64_t second_ns,
                                   uint64_t after);

/* For tests: replaces the clock by `ticks`, which has per_second ticks a second. MONOTONIC and REALTIME are derived
 * from `ticks` unless `pair` is given. If `ticks` is NULL, the real clock is restored. */
void clock_inject(uint64_t (*ticks)(void), uint64_t per_second, void (*pair)(struct epf_host_pair *pair));

#endif

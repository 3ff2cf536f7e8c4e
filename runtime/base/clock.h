/* The host's clock: ticks that cost one instruction, and pairs that relate them to the system's clocks.
 *
 * TSC where the processor says constant and nonstop and the kernel itself trusts it (its clock source is tsc, kvm-clock
 * or hyperv); cntvct on arm64; else CLOCK_MONOTONIC in ns.  Decided once, at load.  Tests inject a clock.
 */
#ifndef EPPROF_RUNTIME_BASE_CLOCK_H
#define EPPROF_RUNTIME_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "format/format.h"

/* enum epf_clock, or CLOCK_INJECTED. */
extern uint32_t clock_kind;
#define CLOCK_INJECTED 100u

uint64_t clock_ticks_slow(void);

/* Where the caller knows that the clock is the processor's (clock_is_fast). */
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

/* Decides the clock; called once before anything is recorded. */
void clock_setup(void);

/* Nominal ticks a second; measured once, at the first call, which may take some ms. */
uint64_t clock_ticks_per_second(void);

/* Ticks to ns by the nominal rate, right for spans up to centuries. */
uint64_t clock_ticks_to_ns(uint64_t ticks);

/* Ticks, MONOTONIC and REALTIME read together: the narrowest of a few tries. */
void clock_pair_read(struct epf_host_pair *pair);

/* The pair of five readings, one after another: ticks, MONOTONIC, REALTIME, MONOTONIC, ticks.  If the thread moved to a
 * processor whose counter is behind, it is worth nothing: its half-width is half the clock's range. */
struct epf_host_pair clock_pair_of(uint64_t before, int64_t first_ns, int64_t realtime_ns, int64_t second_ns,
                                   uint64_t after);

/* For tests: every later reading comes from `ticks` (per_second a second); MONOTONIC and REALTIME are derived from it
 * unless `pair` is given.  NULL: the real clock again. */
void clock_inject(uint64_t (*ticks)(void), uint64_t per_second, void (*pair)(struct epf_host_pair *pair));

#endif

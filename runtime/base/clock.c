/* The host's clock. The clock is chosen once. Its rate is measured between the library's load and the first call that
 * needs it, so that a precision of a few ppm usually costs no time. On arm64 the processor reports the rate, which is
 * compared with CLOCK_MONOTONIC at load. Traces do not depend on this rate: they contain clock samples. */
#include "base/clock.h"

#include <stdatomic.h>

#include "base/os/os.h"
#include "epprof/session.h"

#define NS_PER_SECOND 1000000000u
#define CALIBRATION_NS 4000000
#define PAIR_TRIES 5
#define PER_SECOND_MIN 1000000u
#define TRIAL_NS 50000
#define TRIALS 3

uint32_t clock_kind = EPF_CLOCK_MONOTONIC;
uint64_t clock_step_ticks;

static struct epf_host_pair load_pair;
static _Atomic uint64_t measured_per_second;

static uint64_t (*injected_ticks)(void);
static uint64_t injected_per_second;
static void (*injected_pair)(struct epf_host_pair *pair);

static int64_t system_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * NS_PER_SECOND + now.tv_nsec;
}

uint64_t clock_ticks_slow(void)
{
	if (clock_kind == CLOCK_INJECTED)
		return injected_ticks();
	return (uint64_t)system_ns(CLOCK_MONOTONIC);
}

bool clock_keeps_time(const struct epf_host_pair *first, const struct epf_host_pair *last, uint64_t per_second)
{
	if (per_second < PER_SECOND_MIN || last->monotonic_ns <= first->monotonic_ns)
		return false;
	double expected = (double)(last->monotonic_ns - first->monotonic_ns) * (double)per_second / NS_PER_SECOND;
	double width = (double)first->half_width_ticks + (double)last->half_width_ticks;
	double passed = (double)(int64_t)(last->ticks - first->ticks);
	double tolerance = expected / 10 + width;
	/* If the half-widths add up to half of the expected ticks or more, the comparison would allow almost any
	 * value. */
	return width < expected / 2 && passed >= expected - tolerance && passed <= expected + tolerance;
}

#if defined(__aarch64__)
static uint64_t counter_per_second(void)
{
	uint64_t rate;
	__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(rate));
	return rate;
}

/* Returns the smallest number of ticks by which the counter advances at once, of all its steps until `end_ns`; 0: it
 * does not advance. */
static uint64_t smallest_step(int64_t end_ns)
{
	uint64_t before = clock_ticks_fast(), smallest = 0;
	do {
		uint64_t now = clock_ticks_fast();
		if (now != before && (!smallest || now - before < smallest))
			smallest = now - before;
		before = now;
	} while (system_ns(CLOCK_MONOTONIC) < end_ns);
	return smallest;
}

/* Under an emulator the counter may not advance, and its reported rate may be 0 or wrong, as with some firmware. */
static bool counter_is_sound(void)
{
	uint64_t rate = counter_per_second();
	for (int i = 0; i < TRIALS; i++) {
		struct epf_host_pair first, last;
		clock_step_ticks = 0;
		clock_pair_read(&first);
		uint64_t step = smallest_step(first.monotonic_ns + TRIAL_NS);
		clock_pair_read(&last);
		clock_step_ticks = step;
		if (clock_keeps_time(&first, &last, rate))
			return true;
	}
	return false;
}
#endif

void clock_setup(void)
{
	clock_step_ticks = 0;
#if defined(__x86_64__)
	clock_kind = os_counter_is_sound() ? EPF_CLOCK_TSC : EPF_CLOCK_MONOTONIC;
#elif defined(__aarch64__)
	clock_kind = EPF_CLOCK_CNTVCT;
	if (!counter_is_sound()) {
		clock_kind = EPF_CLOCK_MONOTONIC;
		clock_step_ticks = 0;
	}
#endif
	clock_pair_read(&load_pair);
}

static uint64_t measure(void)
{
	if (clock_kind == CLOCK_INJECTED)
		return injected_per_second;
	if (clock_kind == EPF_CLOCK_MONOTONIC)
		return NS_PER_SECOND;
#if defined(__aarch64__)
	return counter_per_second();
#endif
	struct epf_host_pair now;
	clock_pair_read(&now);
	int64_t missing_ns = CALIBRATION_NS - (now.monotonic_ns - load_pair.monotonic_ns);
	if (missing_ns > 0) {
		nanosleep(&(struct timespec){ .tv_nsec = missing_ns }, NULL);
		clock_pair_read(&now);
	}
	return (uint64_t)((__int128)(now.ticks - load_pair.ticks) * NS_PER_SECOND /
	                  (now.monotonic_ns - load_pair.monotonic_ns));
}

uint64_t clock_ticks_per_second(void)
{
	uint64_t rate = atomic_load_explicit(&measured_per_second, memory_order_relaxed);
	if (rate)
		return rate;
	/* Two threads may measure at the same time. The first result is kept, so that the whole process uses one
	 * rate. */
	uint64_t mine = measure();
	if (atomic_compare_exchange_strong(&measured_per_second, &rate, mine))
		return mine;
	return rate;
}

uint64_t clock_ticks_to_ns(uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * NS_PER_SECOND / clock_ticks_per_second());
}

struct epf_host_pair clock_pair_of(uint64_t before, int64_t first_ns, int64_t realtime_ns, int64_t second_ns, uint64_t after)
{
	uint64_t width = after - before;
	bool went_back = width > UINT64_MAX / 2;
	return (struct epf_host_pair){
		.ticks = went_back ? after : before + width / 2,
		.half_width_ticks = went_back ? UINT64_MAX / 2 : width - width / 2,
		.monotonic_ns = first_ns + (second_ns - first_ns) / 2,
		.realtime_ns = realtime_ns,
	};
}

static void pair_try(struct epf_host_pair *pair)
{
	uint64_t before = clock_ticks();
	int64_t first = system_ns(CLOCK_MONOTONIC);
	int64_t realtime = system_ns(CLOCK_REALTIME);
	int64_t second = system_ns(CLOCK_MONOTONIC);
	*pair = clock_pair_of(before, first, realtime, second, clock_ticks());
	pair->half_width_ticks += clock_step_ticks;
}

void clock_pair_read(struct epf_host_pair *pair)
{
	if (clock_kind == CLOCK_INJECTED && injected_pair) {
		injected_pair(pair);
		return;
	}
	if (clock_kind == CLOCK_INJECTED) {
		uint64_t ticks = injected_ticks();
		int64_t ns = (int64_t)((unsigned __int128)ticks * NS_PER_SECOND / injected_per_second);
		*pair = (struct epf_host_pair){ .ticks = ticks, .monotonic_ns = ns, .realtime_ns = ns };
		return;
	}
	pair_try(pair);
	for (int i = 1; i < PAIR_TRIES; i++) {
		struct epf_host_pair again;
		pair_try(&again);
		if (again.half_width_ticks < pair->half_width_ticks)
			*pair = again;
	}
}

void clock_inject(uint64_t (*ticks)(void), uint64_t per_second, void (*pair)(struct epf_host_pair *pair))
{
	injected_ticks = ticks;
	injected_per_second = per_second;
	injected_pair = pair;
	atomic_store(&measured_per_second, ticks ? per_second : 0);
	if (ticks)
		clock_kind = CLOCK_INJECTED;
	else
		clock_setup();
}

uint64_t epp_host_ticks(void)
{
	return clock_ticks();
}

uint64_t epp_host_ticks_per_second(void)
{
	return clock_ticks_per_second();
}

/* For the tests of the clock fit: a device's clock whose truth is known, pairs read of it, and a fit over them. */
#ifndef EPPROF_TESTS_EP_KIT_CLOCK_MODEL_H
#define EPPROF_TESTS_EP_KIT_CLOCK_MODEL_H

#include <math.h>

#include "ep_kit/clock_fit.h"
#include "tests/support/check.h"
#include "tests/support/random_values.h"

#define SECOND 1000000000ull
#define INTERVAL (SECOND / 10)

static inline int64_t random_within(int64_t most)
{
	return (int64_t)(random_bits() % (uint64_t)(2 * most + 1)) - most;
}

/* A device whose counter at host time `ns` (since the first pair) is known. */
struct model {
	uint64_t start;
	double rate; /* ticks a ns, nominal */
	double drift_ppm;
	double wander_ppm; /* amplitude of a sine of the drift */
	double wander_s;   /* its period */
	double jump_at_ns;
	double jump_ticks;
	uint32_t bits;
};

static inline uint64_t model_ticks(const struct model *model, uint64_t ns)
{
	/* Whole ticks of the nominal rate are kept apart, so that a double's 53 bits hold the rest exactly enough. */
	double seconds = (double)ns / 1e9;
	double ahead_ns = model->drift_ppm * 1e3 * seconds;
	if (model->wander_ppm > 0)
		ahead_ns += model->wander_ppm * 1e3 * model->wander_s / (2 * M_PI) *
		            (1 - cos(2 * M_PI * seconds / model->wander_s));
	double extra = ahead_ns * model->rate;
	if (model->jump_at_ns > 0 && (double)ns >= model->jump_at_ns)
		extra += model->jump_ticks;
	uint64_t ticks = model->start + (uint64_t)((double)ns * model->rate) + (uint64_t)(int64_t)llrint(extra);
	return model->bits == 64 ? ticks : ticks & ((1ull << model->bits) - 1);
}

static struct clock_pair pairs[20000];
static struct clock_segment segments[20000];
static struct clock_fit fit;

/* `noise`: how far a pair's host time is off, at most; its half-width says so, plus what a tick hides. */
static inline void add_pair(const struct model *model, size_t index, uint64_t ns, int64_t noise, uint64_t host_start)
{
	pairs[index].device = model_ticks(model, ns);
	pairs[index].host = host_start + ns + (uint64_t)random_within(noise);
	pairs[index].half_width = (uint64_t)noise;
}

static inline size_t build(const struct model *model, size_t count)
{
	count = clock_fit_prepare(pairs, count, SECOND);
	clock_fit_build(&fit, segments, pairs, count, (uint64_t)llrint(model->rate * 1e9), SECOND, model->bits);
	return count;
}

/* The error of placing host time `ns`; fails if it is beyond the bound. */
static inline uint64_t error_at(const struct model *model, uint64_t ns, uint64_t host_start, size_t *hint,
                                struct clock_place *place)
{
	*place = clock_fit_map(&fit, model_ticks(model, ns), hint);
	int64_t error = (int64_t)(place->host - (host_start + ns));
	ck_assert_msg((uint64_t)llabs(error) <= place->bound, "at %llu ns: error %lld, bound %llu, kind %d",
	              (unsigned long long)ns, (long long)error, (unsigned long long)place->bound, (int)place->kind);
	return (uint64_t)llabs(error);
}

/* A pair each interval over `seconds`, then queries all over; returns the largest error, and the largest bound. */
static inline uint64_t largest_error(const struct model *model, uint64_t seconds, int64_t noise, uint64_t host_start,
                                     uint64_t *largest_bound)
{
	size_t count = 0;
	for (uint64_t ns = 0; ns <= seconds * SECOND; ns += INTERVAL)
		add_pair(model, count++, ns, noise, host_start);
	build(model, count);
	size_t hint = 0;
	uint64_t largest = 0;
	*largest_bound = 0;
	for (uint64_t ns = 0; ns < seconds * SECOND; ns += 7654321) {
		struct clock_place place;
		uint64_t error = error_at(model, ns, host_start, &hint, &place);
		ck_assert_int_ne(place.kind, CLOCK_FIT_BROKEN);
		largest = error > largest ? error : largest;
		*largest_bound = place.bound > *largest_bound ? place.bound : *largest_bound;
	}
	return largest;
}

static inline void seed(void)
{
	random_state = RANDOM_SEED;
}

#endif

/* The clock of the sample's accelerator: its rate, start, width and misbehaviour on an injected time, exactly; on the
 * real one; from the environment.  Covers ep_sample/accelerator_clock.c. */
#include "tests/support/check.h"

#include <time.h>

#include "ep_sample/accelerator.h"

static uint64_t true_ns;

static uint64_t injected_ns(void *user)
{
	ck_assert_ptr_eq(user, &true_ns);
	return true_ns;
}

START_TEST(the_clock_runs_at_its_rate)
{
	static const struct {
		uint64_t ticks_per_second, start_ticks;
		int64_t fast_ppm;
		uint64_t bits, elapsed_ns, ticks;
	} cases[] = {
		{ 1000000000, 0, 0, 64, 12345, 12345 },
		{ 1000000000, 500, 200, 64, 1000000000, 1000200500 },
		{ 1000000000, 500, -200, 64, 1000000000, 999800500 },
		{ 1000000000, 0, 200, 64, 4999, 4999 },
		{ 1000000000, 0, 200, 64, 5000, 5001 },
		{ 19200000, 7, 0, 64, 1000000001, 19200007 },
		{ 1000000000, 0xfffffff0, 0, 32, 32, 16 },
		{ 1000000000, 0xfffffff0, 0, 64, 32, 0x100000010 },
		{ 1000000000, UINT64_MAX, 0, 64, 2, 1 },
		{ 2, 1, 0, 1, 500000000, 0 },
		{ 1000000000, 0, 200, 64, 10 * 365 * 86400 * 1000000000ull, 315423072000000000 },
		{ 1000000000000, 0, 500000, 64, 86400 * 1000000000ull, 129600000000000000 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		accelerator_clock_options options = { .ticks_per_second = cases[i].ticks_per_second };
		options.start_ticks = cases[i].start_ticks;
		options.fast_ppm = cases[i].fast_ppm;
		options.bits = cases[i].bits;
		options.base_ns = injected_ns;
		options.user = &true_ns;
		accelerator_clock clock;
		true_ns = 987654321;
		ck_assert(accelerator_clock_init(&clock, &options));
		true_ns += cases[i].elapsed_ns;
		ck_assert_msg(accelerator_clock_now(&clock) == cases[i].ticks, "case %zu: %llu", i,
		              (unsigned long long)accelerator_clock_now(&clock));
	}
}
END_TEST

/* What each kind of misbehaviour shows at chosen moments of true time. */
START_TEST(the_clock_misbehaves_as_it_is_told)
{
	static const struct {
		accelerator_clock_options options;
		uint64_t elapsed_ns, ticks;
	} cases[] = {
		/* 100 ppm slow to 100 ppm fast in 2 s: 50 us behind after 1 s, even after 2 s, 50 us ahead after 3
		 * s. */
		{ { .wander_ppm = 100, .wander_ns = 4000000000 }, 1000000000, 1000000000 - 50000 },
		{ { .wander_ppm = 100, .wander_ns = 4000000000 }, 2000000000, 2000000000 },
		{ { .wander_ppm = 100, .wander_ns = 4000000000 }, 3000000000, 3000000000 + 50000 },
		{ { .wander_ppm = 100, .wander_ns = 4000000000 }, 4000000000, 4000000000 },
		{ { .wander_ppm = 100, .wander_ns = 1 }, 1000000000, 1000000000 },
		{ { .jump_at_ns = 500, .jump_ns = 7000 }, 499, 499 },
		{ { .jump_at_ns = 500, .jump_ns = 7000 }, 500, 7500 },
		{ { .jump_at_ns = 500, .jump_ns = -400 }, 500, 100 },
		{ { .jump_at_ns = 500, .jump_ns = -501 }, 500, UINT64_MAX },
		{ { .start_ticks = 600, .jump_at_ns = 500, .jump_ns = -1000 }, 500, 100 },
		{ { .stop_at_ns = 100, .stop_ns = 50 }, 100, 100 },
		{ { .stop_at_ns = 100, .stop_ns = 50 }, 149, 100 },
		{ { .stop_at_ns = 100, .stop_ns = 50 }, 160, 110 },
		{ { .stop_at_ns = 100, .stop_ns = UINT64_MAX }, 1000000000000, 100 },
		{ { .step_ticks = 1000 }, 999, 0 },
		{ { .step_ticks = 1000 }, 2999, 2000 },
		{ { .step_ticks = 1000, .start_ticks = 500 }, 500, 1000 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		accelerator_clock_options options = cases[i].options;
		options.ticks_per_second = 1000000000;
		options.bits = 64;
		options.base_ns = injected_ns;
		options.user = &true_ns;
		accelerator_clock clock;
		true_ns = 123;
		ck_assert(accelerator_clock_init(&clock, &options));
		uint64_t ticks = accelerator_clock_at(&clock, 123 + cases[i].elapsed_ns);
		ck_assert_msg(ticks == cases[i].ticks, "case %zu: %llu", i, (unsigned long long)ticks);
	}
	static const accelerator_clock_options wrong[] = {
		{ .wander_ppm = 100001 },
		{ .wander_ns = 1000000000001 },
		{ .jump_ns = 1000000000000001 },
		{ .jump_ns = -1000000000000001 },
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		accelerator_clock_options options = wrong[i];
		accelerator_clock clock;
		options.ticks_per_second = 1000000000;
		options.bits = 64;
		ck_assert(!accelerator_clock_init(&clock, &options));
	}
}
END_TEST

/* Faster and slower by turns, in the smallest steps and in large ones: never backwards, and at the swing's mean
 * rate. */
START_TEST(a_wandering_clock_goes_forwards)
{
	accelerator_clock_options options = ACCELERATOR_CLOCK_DEFAULT;
	options.fast_ppm = -500000;
	options.wander_ppm = 100000;
	options.wander_ns = 999;
	options.base_ns = injected_ns;
	options.user = &true_ns;
	accelerator_clock clock;
	true_ns = 0;
	ck_assert(accelerator_clock_init(&clock, &options));
	uint64_t last = options.start_ticks;
	for (uint64_t ns = 1; ns < 5000; ns++) {
		uint64_t ticks = accelerator_clock_at(&clock, ns);
		ck_assert_uint_ge(ticks, last);
		last = ticks;
	}
	uint64_t hour_ns = 3600 * UINT64_C(1000000000);
	uint64_t ticks = accelerator_clock_at(&clock, hour_ns) - options.start_ticks;
	ck_assert_uint_ge(ticks, hour_ns / 2 - 100);
	ck_assert_uint_le(ticks, hour_ns / 2 + 100);
}
END_TEST

START_TEST(the_device_shows_its_clock)
{
	struct timespec before, after;
	accelerator_options options = { .clock = ACCELERATOR_CLOCK_DEFAULT };
	options.clock.start_ticks = 5000000000;
	options.clock.fast_ppm = 100000;
	accelerator *fast;
	ck_assert_int_eq(accelerator_create(&options, &fast), ACCELERATOR_OK);
	clock_gettime(CLOCK_MONOTONIC, &before);
	uint64_t first = accelerator_now(fast);
	ck_assert_uint_ge(first, 5000000000);
	nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
	uint64_t ticks = accelerator_now(fast) - first;
	clock_gettime(CLOCK_MONOTONIC, &after);
	double ns = (double)(after.tv_sec - before.tv_sec) * 1e9 + (double)(after.tv_nsec - before.tv_nsec);
	/* The brackets are wider than the ticks' span, never narrower. */
	ck_assert_double_le((double)ticks, 1.1 * ns);
	ck_assert_double_ge((double)ticks, 1.1 * 50e6);
	accelerator_destroy(fast);

	accelerator_options bad = { .clock = ACCELERATOR_CLOCK_DEFAULT };
	bad.clock.ticks_per_second = 0;
	ck_assert_int_eq(accelerator_create(&bad, &fast), ACCELERATOR_BAD_ARGUMENT);
	bad.clock = ACCELERATOR_CLOCK_DEFAULT;
	bad.clock.bits = 65;
	ck_assert_int_eq(accelerator_create(&bad, &fast), ACCELERATOR_BAD_ARGUMENT);
	bad.clock = ACCELERATOR_CLOCK_DEFAULT;
	bad.clock.fast_ppm = -1000001;
	ck_assert_int_eq(accelerator_create(&bad, &fast), ACCELERATOR_BAD_ARGUMENT);
	ck_assert_ptr_null(fast);
}
END_TEST

START_TEST(the_environment_sets_the_clock)
{
	accelerator_clock_options options;
	setenv("ACCELERATOR_FAST_PPM", "-35", 1);
	setenv("ACCELERATOR_START_TICKS", "0xffffffffffffffff", 1);
	setenv("ACCELERATOR_CLOCK_BITS", "48", 1);
	setenv("ACCELERATOR_WANDER_PPM", "3", 1);
	setenv("ACCELERATOR_WANDER_NS", "20000000000", 1);
	setenv("ACCELERATOR_JUMP_AT_NS", "5", 1);
	setenv("ACCELERATOR_JUMP_NS", "-6", 1);
	setenv("ACCELERATOR_STOP_AT_NS", "7", 1);
	setenv("ACCELERATOR_STOP_NS", "8", 1);
	setenv("ACCELERATOR_STEP_TICKS", "1000", 1);
	ck_assert(accelerator_clock_options_read(&options));
	ck_assert_int_eq(options.fast_ppm, -35);
	ck_assert_uint_eq(options.start_ticks, UINT64_MAX);
	ck_assert_uint_eq(options.bits, 48);
	ck_assert_uint_eq(options.ticks_per_second, 1000000000);
	ck_assert_uint_eq(options.wander_ppm, 3);
	ck_assert_uint_eq(options.wander_ns, 20000000000);
	ck_assert_uint_eq(options.jump_at_ns, 5);
	ck_assert_int_eq(options.jump_ns, -6);
	ck_assert_uint_eq(options.stop_at_ns, 7);
	ck_assert_uint_eq(options.stop_ns, 8);
	ck_assert_uint_eq(options.step_ticks, 1000);
	static const char *const not_numbers[] = { "", "fast", "12x", "99999999999999999999" };
	for (size_t i = 0; i < 4; i++) {
		setenv("ACCELERATOR_START_TICKS", not_numbers[i], 1);
		ck_assert(!accelerator_clock_options_read(&options));
	}
}
END_TEST

static Suite *accelerator_clock_suite(void)
{
	Suite *suite = suite_create("accelerator clock");
	TCase *tests = tcase_create("clock");
	tcase_add_test(tests, the_clock_runs_at_its_rate);
	tcase_add_test(tests, the_clock_misbehaves_as_it_is_told);
	tcase_add_test(tests, a_wandering_clock_goes_forwards);
	tcase_add_test(tests, the_device_shows_its_clock);
	tcase_add_test(tests, the_environment_sets_the_clock);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(accelerator_clock_suite)

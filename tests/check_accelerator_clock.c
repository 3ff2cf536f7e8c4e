/* The clock of the sample's accelerator: its rate, start and width on an injected time, exactly; on the real one; from the
 * environment.  Covers ep_sample/accelerator_clock.c. */
#include "tests/check.h"

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
	ck_assert(accelerator_clock_options_read(&options));
	ck_assert_int_eq(options.fast_ppm, -35);
	ck_assert_uint_eq(options.start_ticks, UINT64_MAX);
	ck_assert_uint_eq(options.bits, 48);
	ck_assert_uint_eq(options.ticks_per_second, 1000000000);
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
	tcase_add_test(tests, the_device_shows_its_clock);
	tcase_add_test(tests, the_environment_sets_the_clock);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(accelerator_clock_suite)

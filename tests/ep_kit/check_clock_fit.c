/* The clock fit against clocks whose truth is known: every placement must lie within its own bound, and the bound must
 * not be wider than what the clock deserves. */
#include <string.h>

#include "tests/ep_kit/clock_model.h"
#include "tests/support/check.h"

START_TEST(fast_by_200_ppm_for_10_minutes)
{
	const struct model model = { .start = 12345, .rate = 1.0, .drift_ppm = 200, .bits = 64 };
	uint64_t bound;
	uint64_t error = largest_error(&model, 600, 100, 5 * SECOND, &bound);
	ck_assert_uint_lt(error, 2000);
	ck_assert_uint_lt(bound, 2000);
}
END_TEST

START_TEST(wandering)
{
	const double amplitudes_ppm[] = { 0.1, 5, 50, 300 };
	for (size_t i = 0; i < 4; i++) {
		const struct model model = {
			.start = 1ull << 40,
			.rate = 1.0,
			.drift_ppm = -150,
			.wander_ppm = amplitudes_ppm[i],
			.wander_s = 20,
			.bits = 64,
		};
		uint64_t bound;
		uint64_t error = largest_error(&model, 100, 50, SECOND, &bound);
		ck_assert_uint_lt(error, 200);
		/* 300 ppm over 20 s changes the slope by up to 9.4 ppm each interval, which is 0.94 us at its ends. */
		ck_assert_uint_lt(bound, i < 2 ? 1000 : 2000);
	}
}
END_TEST

START_TEST(two_pairs)
{
	const struct model model = { .start = 77, .rate = 0.5, .drift_ppm = 200, .bits = 64 };
	add_pair(&model, 0, 0, 60, SECOND);
	add_pair(&model, 1, 6 * SECOND, 60, SECOND);
	ck_assert_uint_eq(build(&model, 2), 2);
	size_t hint = 0;
	struct clock_place place;
	for (uint64_t ns = 0; ns <= 6 * SECOND; ns += 12345678) {
		error_at(&model, ns, SECOND, &hint, &place);
		ck_assert_int_eq(place.kind, CLOCK_FIT_FITTED);
		/* Nothing tells that it did not wander in between: 1 ppm of 6 s. */
		ck_assert_uint_lt(place.bound, 6000 + 60 + 10);
	}
	uint64_t near, far;
	error_at(&model, 7 * SECOND, SECOND, &hint, &place);
	ck_assert_int_eq(place.kind, CLOCK_FIT_OUTSIDE);
	near = place.bound;
	error_at(&model, 27 * SECOND, SECOND, &hint, &place);
	far = place.bound;
	ck_assert_uint_gt(far, 4 * near);
	ck_assert_uint_le(far, 21 * SECOND / 1000000 * CLOCK_FIT_ASSUMED_PPM + 100);
}
END_TEST

/* The pair of EndProfiling comes when it comes: the noise of an interval of 1 ms must not widen its neighbour's
 * bound. */
START_TEST(a_short_last_interval)
{
	const struct model model = { .start = 77, .rate = 1.0, .drift_ppm = 200, .bits = 64 };
	size_t count = 0;
	for (; count < 10; count++)
		add_pair(&model, count, count * INTERVAL, 100, SECOND);
	add_pair(&model, count, 9 * INTERVAL + SECOND / 1000, 100, SECOND);
	pairs[count - 1].host += 90;
	pairs[count].host -= 90;
	pairs[count - 1].half_width = pairs[count].half_width = 200;
	ck_assert_uint_eq(build(&model, count + 1), 11);
	size_t hint = 0;
	struct clock_place place;
	for (uint64_t ns = 0; ns < 9 * INTERVAL + SECOND / 1000; ns += 333333) {
		error_at(&model, ns, SECOND, &hint, &place);
		ck_assert_int_eq(place.kind, CLOCK_FIT_FITTED);
		ck_assert_uint_lt(place.bound, 1500);
	}
}
END_TEST

/* Two pairs so close that their noise hides any slope must not be extrapolated by it. */
START_TEST(two_pairs_at_once)
{
	const struct model model = { .start = 77, .rate = 1.0, .drift_ppm = 200, .bits = 64 };
	pairs[0] = (struct clock_pair){ 77, SECOND - 500, 500 };
	pairs[1] = (struct clock_pair){ 77 + 10000, SECOND + 10000 + 500, 500 };
	ck_assert_uint_eq(build(&model, 2), 2);
	size_t hint = 0;
	struct clock_place place;
	error_at(&model, 5000, SECOND, &hint, &place);
	ck_assert_int_eq(place.kind, CLOCK_FIT_FITTED);
	error_at(&model, 10 * SECOND, SECOND, &hint, &place);
	ck_assert_uint_le(place.bound, 10 * SECOND / 1000000 * CLOCK_FIT_ASSUMED_PPM + 5000);
}
END_TEST

START_TEST(no_pair)
{
	clock_fit_build(&fit, segments, pairs, 0, SECOND, SECOND, 64);
	size_t hint = 3;
	struct clock_place place = clock_fit_map(&fit, 1234, &hint);
	ck_assert_int_eq(place.kind, CLOCK_FIT_NONE);
	ck_assert_uint_eq(place.bound, UINT64_MAX);
	ck_assert_uint_eq(clock_fit_prepare(pairs, 0, SECOND), 0);
}
END_TEST

/* ONNX Runtime's formula: the device was read somewhere inside the bracket, so the formula is early by 0 to B. */
START_TEST(one_pair_is_the_formula)
{
	const uint64_t bracket = 800;
	for (uint64_t read_at = 0; read_at <= bracket; read_at += 100) {
		const struct model model = { .start = 900, .rate = 1.0, .drift_ppm = 0, .bits = 64 };
		pairs[0] = clock_pair_of_bracket(model_ticks(&model, 0), SECOND - read_at, SECOND - read_at + bracket);
		ck_assert_uint_eq(pairs[0].half_width, bracket / 2);
		ck_assert_uint_eq(build(&model, 1), 1);
		size_t hint = 0;
		struct clock_place place;
		uint64_t error = error_at(&model, 5000, SECOND, &hint, &place);
		ck_assert_int_eq(place.kind, CLOCK_FIT_FORMULA);
		ck_assert_uint_le(error, bracket / 2 + 1);
		ck_assert_uint_le(place.bound, bracket / 2 + 10);
	}
	const struct model drifting = { .start = 900, .rate = 1.0, .drift_ppm = -500, .bits = 64 };
	pairs[0] = clock_pair_of_bracket(900, SECOND, SECOND + 1);
	build(&drifting, 1);
	size_t hint = 0;
	struct clock_place place;
	error_at(&drifting, 10 * SECOND, SECOND, &hint, &place);
	ck_assert_uint_gt(place.bound, 10 * SECOND / 1000000 * CLOCK_FIT_ASSUMED_PPM - 10);
}
END_TEST

START_TEST(a_jump_breaks_its_interval_alone)
{
	const double jumps[] = { 5e9, 3e5, 3e6 };
	for (size_t i = 0; i < 3; i++) {
		const struct model model = {
			.start = 1, .rate = 1.0, .drift_ppm = 200, .jump_at_ns = 1.05e9, .jump_ticks = jumps[i], .bits = 64
		};
		size_t count = 0;
		for (uint64_t ns = 0; ns <= 3 * SECOND; ns += INTERVAL)
			add_pair(&model, count++, ns, 100, SECOND);
		build(&model, count);
		size_t hint = 0;
		for (uint64_t ns = 0; ns <= 3 * SECOND; ns += 1234567) {
			struct clock_place place;
			error_at(&model, ns, SECOND, &hint, &place);
			if (ns > SECOND && ns < SECOND + INTERVAL) {
				ck_assert_int_eq(place.kind, CLOCK_FIT_BROKEN);
			} else {
				ck_assert_int_eq(place.kind, CLOCK_FIT_FITTED);
				ck_assert_uint_lt(place.bound, 1500);
			}
		}
	}
}
END_TEST

/* A reset: the same values come again.  Queries in order find their own epoch by the hint. */
START_TEST(backwards)
{
	const struct model model = {
		.start = 1, .rate = 1.0, .drift_ppm = 100, .jump_at_ns = 1.05e9, .jump_ticks = -0.8e9, .bits = 64
	};
	size_t count = 0;
	for (uint64_t ns = 0; ns <= 3 * SECOND; ns += INTERVAL)
		add_pair(&model, count++, ns, 100, SECOND);
	build(&model, count);
	size_t hint = 0;
	struct clock_place place;
	for (uint64_t ns = 0; ns < 1050 * SECOND / 1000; ns += 1234567)
		error_at(&model, ns, SECOND, &hint, &place);
	clock_fit_hint(&fit, SECOND + 1150 * SECOND / 1000, &hint);
	for (uint64_t ns = 1100 * SECOND / 1000; ns < 3 * SECOND; ns += 1234567)
		error_at(&model, ns, SECOND, &hint, &place);
	/* Without a hint, a value that only one epoch has is found there. */
	hint = 0;
	error_at(&model, 2900 * SECOND / 1000, SECOND, &hint, &place);
}
END_TEST

START_TEST(wraps_at_32_bits)
{
	const struct model model = { .start = 4000000000u, .rate = 1.0, .drift_ppm = 200, .bits = 32 };
	uint64_t bound;
	ck_assert_uint_lt(largest_error(&model, 30, 100, SECOND, &bound), 2000);

	/* Two pairs with three wraps in between: the nominal rate tells how many. */
	add_pair(&model, 0, 0, 100, SECOND);
	add_pair(&model, 1, 14 * SECOND, 100, SECOND);
	build(&model, 2);
	ck_assert_int_gt(segments[1].position, 14000000000);
	size_t hint = 0;
	for (uint64_t ns = 0; ns < 14 * SECOND; ns += SECOND / 3) {
		uint64_t near = SECOND + ns + (uint64_t)random_within(SECOND);
		struct clock_place place = clock_fit_map_near(&fit, model_ticks(&model, ns), near, &hint);
		ck_assert_uint_le((uint64_t)llabs((int64_t)(place.host - SECOND - ns)), place.bound);
	}
}
END_TEST

START_TEST(wraps_at_64_bits)
{
	const struct model model = { .start = UINT64_MAX - 1500000000u, .rate = 1.0, .drift_ppm = -200, .bits = 64 };
	uint64_t bound;
	ck_assert_uint_lt(largest_error(&model, 3, 100, SECOND, &bound), 2000);
}
END_TEST

START_TEST(before_the_first_pair)
{
	const struct model model = { .start = 5, .rate = 1.0, .drift_ppm = 200, .bits = 64 };
	for (size_t i = 0; i < 20; i++)
		add_pair(&model, i, SECOND + i * INTERVAL, 50, SECOND);
	build(&model, 20);
	size_t hint = 7;
	struct clock_place place;
	error_at(&model, 0, SECOND, &hint, &place);
	ck_assert_int_eq(place.kind, CLOCK_FIT_OUTSIDE);
	ck_assert_uint_lt(place.bound, SECOND / 1000000 * CLOCK_FIT_ASSUMED_PPM + 100);
}
END_TEST

START_TEST(prepare_keeps_the_best)
{
	/* Unsorted, doubled, with a wide first and a wide last one. */
	const struct clock_pair given[] = {
		{ 1000, 10 * SECOND + 990, 700 },
		{ 500, 10 * SECOND + 500, 10 },
		{ 0, 10 * SECOND, 900 },
		{ 600, 10 * SECOND + 600, 20 },
		{ INTERVAL, 10 * SECOND + INTERVAL, 5 },
		{ 7, 10 * SECOND + INTERVAL, 50 },
		{ 3 * INTERVAL, 10 * SECOND + 3 * INTERVAL, 40 },
		{ 3 * INTERVAL + 9, 10 * SECOND + 3 * INTERVAL + 9, 90 },
	};
	memcpy(pairs, given, sizeof(given));
	size_t count = clock_fit_prepare(pairs, sizeof(given) / sizeof(given[0]), SECOND);
	const uint64_t half_widths[] = { 900, 10, 5, 40, 90 };
	ck_assert_uint_eq(count, 5);
	for (size_t i = 0; i < count; i++)
		ck_assert_uint_eq(pairs[i].half_width, half_widths[i]);

	seed();
	for (size_t i = 0; i < 5000; i++)
		pairs[i] = (struct clock_pair){ random_bits(), random_bits() % (1000 * SECOND), random_bits() % 100 };
	count = clock_fit_prepare(pairs, 5000, SECOND);
	for (size_t i = 1; i < count; i++)
		ck_assert_uint_lt(pairs[i - 1].host, pairs[i].host);
	ck_assert_uint_gt(count, 3000);
}
END_TEST

/* Any rates, drifts, starts, gaps and noises: within the bound, and in order. */
START_TEST(any_clock)
{
	seed();
	random_state += (uint64_t)_i * 7919;
	const double rates[] = { 1.0, 0.019200, 2.4, 0.001, 0.0333333 };
	for (int round = 0; round < 40; round++) {
		struct model model = {
			.start = random_bits(),
			.rate = rates[random_bits() % 5],
			.drift_ppm = (double)random_within(900),
			.wander_ppm = (double)(random_bits() % 3),
			.wander_s = 30 + (double)(random_bits() % 30),
			.bits = random_bits() % 2 ? 64 : 48,
		};
		model.start &= model.bits == 64 ? UINT64_MAX : (1ull << 48) - 1;
		uint64_t host_start = random_bits() >> 2;
		int64_t noise = 20 + random_within(15);
		uint64_t end = 0;
		size_t count = 1 + random_bits() % 60;
		for (size_t i = 0; i < count; i++) {
			add_pair(&model, i, end, noise, host_start);
			/* What a tick hides is in the pair too. */
			pairs[i].half_width += (uint64_t)(1 / model.rate) + 1;
			end += SECOND / 50 + random_bits() % (SECOND / 5);
		}
		build(&model, count);
		size_t hint = 0;
		uint64_t last = 0;
		for (uint64_t ns = 0; ns < end; ns += 1 + random_bits() % (end / 100)) {
			struct clock_place place = clock_fit_map(&fit, model_ticks(&model, ns), &hint);
			int64_t error = (int64_t)(place.host - host_start - ns);
			/* Drift beyond what one pair assumes is only known from a second one. */
			if (count > 1 || fabs(model.drift_ppm) < CLOCK_FIT_ASSUMED_PPM - 3) {
				ck_assert_msg((uint64_t)llabs(error) <= place.bound, "round %d: error %lld, bound %llu",
				              round, (long long)error, (unsigned long long)place.bound);
			}
			ck_assert_uint_ge(place.host, last);
			last = place.host;
		}
	}
}
END_TEST

/* A hint is only a hint. */
START_TEST(any_hint)
{
	const struct model model = { .start = 5, .rate = 1.0, .drift_ppm = 200, .bits = 64 };
	uint64_t bound;
	largest_error(&model, 60, 100, SECOND, &bound);
	seed();
	for (int i = 0; i < 10000; i++) {
		uint64_t ns = random_bits() % (60 * SECOND);
		size_t hint = 0;
		struct clock_place right = clock_fit_map(&fit, model_ticks(&model, ns), &hint);
		hint = random_bits() % 2 ? random_bits() : random_bits() % fit.count;
		struct clock_place place = clock_fit_map(&fit, model_ticks(&model, ns), &hint);
		ck_assert_uint_eq(place.host, right.host);
		ck_assert_uint_eq(place.bound, right.bound);
	}
}
END_TEST

/* Nonsense must not crash, divide by 0 or shift by too much; UndefinedBehaviorSanitizer looks on. */
START_TEST(nonsense)
{
	seed();
	for (int round = 0; round < 2000; round++) {
		size_t count = random_bits() % 20;
		for (size_t i = 0; i < count; i++) {
			uint64_t mask = UINT64_MAX >> (random_bits() % 64);
			pairs[i] = (struct clock_pair){ random_bits() & mask, random_bits() & mask, random_bits() & mask };
		}
		count = clock_fit_prepare(pairs, count, random_bits() >> (random_bits() % 64));
		clock_fit_build(&fit, segments, pairs, count, random_bits() >> (random_bits() % 64),
		                random_bits() >> (random_bits() % 64), (uint32_t)(random_bits() % 70));
		size_t hint = 0;
		for (int i = 0; i < 50; i++) {
			clock_fit_map(&fit, random_bits(), &hint);
			clock_fit_map_near(&fit, random_bits(), random_bits(), &hint);
		}
	}
	clock_fit_build(&fit, segments, pairs, 1, 0, 0, 0);
}
END_TEST

static Suite *clock_fit_suite(void)
{
	Suite *suite = suite_create("clock_fit");
	TCase *tests = tcase_create("clock_fit");
	tcase_add_checked_fixture(tests, seed, NULL);
	tcase_add_test(tests, fast_by_200_ppm_for_10_minutes);
	tcase_add_test(tests, wandering);
	tcase_add_test(tests, two_pairs);
	tcase_add_test(tests, a_short_last_interval);
	tcase_add_test(tests, two_pairs_at_once);
	tcase_add_test(tests, no_pair);
	tcase_add_test(tests, one_pair_is_the_formula);
	tcase_add_test(tests, a_jump_breaks_its_interval_alone);
	tcase_add_test(tests, backwards);
	tcase_add_test(tests, wraps_at_32_bits);
	tcase_add_test(tests, wraps_at_64_bits);
	tcase_add_test(tests, before_the_first_pair);
	tcase_add_test(tests, prepare_keeps_the_best);
	tcase_add_loop_test(tests, any_clock, 0, 8);
	tcase_add_test(tests, any_hint);
	tcase_add_test(tests, nonsense);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(clock_fit_suite)

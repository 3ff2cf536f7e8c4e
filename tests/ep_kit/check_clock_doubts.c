/* The clock fit where a device's counter may mean several moments: it jumped back, stood still, shows only some of its
 * values.  Covers ep_kit/clock_fit.h and its parts, as check_clock_fit.c does. */
#include "tests/ep_kit/clock_model.h"
#include "tests/support/check.h"

/* Back by less than what passed between two pairs: nothing goes backwards from pair to pair, but values come twice.
 * With its cause an event after the jump is certain, one before it is not. */
START_TEST(back_between_two_pairs)
{
	const struct model model = {
		.start = 1, .rate = 1.0, .drift_ppm = 200, .jump_at_ns = 1.01e9, .jump_ticks = -0.05e9, .bits = 64
	};
	size_t count = 0;
	for (uint64_t ns = 0; ns <= 3 * SECOND; ns += INTERVAL)
		add_pair(&model, count++, ns, 100, SECOND);
	build(&model, count);
	ck_assert(fit.is_doubtful);
	size_t hint = 0;
	struct clock_place place;
	for (uint64_t ns = 0; ns < 3 * SECOND; ns += 1234567) {
		error_at(&model, ns, SECOND, &hint, &place);
		if (ns < 9 * SECOND / 10 || ns > 12 * SECOND / 10)
			ck_assert_uint_lt(place.bound, 1500);
		place = clock_fit_map_near(&fit, model_ticks(&model, ns), SECOND + ns - 5000, &hint);
		ck_assert_uint_le(clock_fit_distance(place.host, SECOND + ns), place.bound);
		if (ns < 9 * SECOND / 10 || ns > 11 * SECOND / 10)
			ck_assert_uint_lt(place.bound, 1500);
	}
}
END_TEST

/* Between two pairs in either direction, anywhere between them, by a clock that may be far from its nominal rate: with
 * its cause each event is placed where it was, and not on the line from pair to pair. */
START_TEST(causes_tell_the_sides_of_a_jump)
{
	static const double jumps_s[] = { 0.05, -0.05, 0.003, -0.09, 5 }, at_s[] = { 1.01, 1.05, 1.099 };
	static const double drifts_ppm[] = { 0, 200, -5000, 5000 };
	const struct model model = {
		.start = 1, .rate = 1.0, .drift_ppm = drifts_ppm[_i], .jump_at_ns = at_s[0] * 1e9, .bits = 64
	};

	for (size_t i = 0; i < 15; i++) {
		struct model jumping = model;
		jumping.jump_at_ns = at_s[i % 3] * 1e9;
		jumping.jump_ticks = jumps_s[i / 3] * 1e9;
		size_t count = 0, hint = 0;
		for (uint64_t ns = 0; ns <= 3 * SECOND; ns += INTERVAL)
			add_pair(&jumping, count++, ns, 100, SECOND);
		build(&jumping, count);
		for (uint64_t ns = 8 * SECOND / 10; ns < 13 * SECOND / 10; ns += 61729) {
			struct clock_place place = clock_fit_map_near(&fit, model_ticks(&jumping, ns),
			                                              SECOND + ns - 5000, &hint);
			uint64_t error = clock_fit_distance(place.host, SECOND + ns);
			ck_assert_uint_le(error, place.bound);
			ck_assert_msg(error < 3000, "%g s at %g s, %g ppm: %llu ns off at %llu", jumps_s[i / 3],
			              at_s[i % 3], drifts_ppm[_i], (unsigned long long)error, (unsigned long long)ns);
		}
	}
}
END_TEST

/* Back over several pairs: an event after the jump is found there by its cause, before the first pair that tells of
 * it. */
START_TEST(back_over_pairs)
{
	const struct model model = {
		.start = 1, .rate = 1.0, .drift_ppm = 200, .jump_at_ns = 2.05e9, .jump_ticks = -1e9, .bits = 64
	};
	size_t count = 0;
	for (uint64_t ns = 0; ns <= 3 * SECOND; ns += INTERVAL)
		add_pair(&model, count++, ns, 100, SECOND);
	build(&model, count);
	size_t hint = 0;
	for (uint64_t ns = 0; ns < 3 * SECOND; ns += 1234567) {
		struct clock_place place = clock_fit_map_near(&fit, model_ticks(&model, ns), SECOND + ns - 5000, &hint);
		ck_assert_uint_le(clock_fit_distance(place.host, SECOND + ns), place.bound);
		if (ns < 2 * SECOND || ns > 21 * SECOND / 10)
			ck_assert_uint_lt(place.bound, 1500);
		/* Without a cause the hint may be of the wrong epoch: the bound holds both. */
		size_t other = ns < SECOND ? fit.count - 1 : 0;
		place = clock_fit_map(&fit, model_ticks(&model, ns), &other);
		ck_assert_uint_le(clock_fit_distance(place.host, SECOND + ns), place.bound);
	}
}
END_TEST

/* It stands still from 1.05 s to 2.55 s, and pairs are read all the while. */
START_TEST(stops)
{
	size_t count = 0;
	for (uint64_t ns = 0; ns <= 4 * SECOND; ns += INTERVAL, count++) {
		uint64_t running = ns < 1050 * SECOND / 1000   ? ns
		                   : ns < 2550 * SECOND / 1000 ? 1050 * SECOND / 1000
		                                               : ns - 1500 * SECOND / 1000;
		pairs[count] = (struct clock_pair){ 500 + running, SECOND + ns, 100 };
	}
	count = clock_fit_prepare(pairs, count, SECOND);
	clock_fit_build(&fit, segments, pairs, count, SECOND, SECOND, 64);
	ck_assert_uint_lt(fit.count, count);
	const uint64_t still = 500 + 1050 * SECOND / 1000;
	size_t hint = 0;
	struct clock_place place = clock_fit_map(&fit, still, &hint);
	ck_assert_uint_eq(place.kind, CLOCK_FIT_BROKEN);
	ck_assert_uint_le(place.host - place.bound, SECOND + 1100 * SECOND / 1000);
	ck_assert_uint_ge(place.host + place.bound, SECOND + 2500 * SECOND / 1000);
	/* Its cause says where in that time it lies at the earliest. */
	for (uint64_t cause = 1050; cause < 2500; cause += 50) {
		hint = 0;
		place = clock_fit_map_near(&fit, still, SECOND + cause * SECOND / 1000, &hint);
		ck_assert_uint_ge(place.host, SECOND + cause * SECOND / 1000);
		ck_assert_uint_ge(place.host + place.bound, SECOND + 2500 * SECOND / 1000);
	}
	hint = 0;
	ck_assert_uint_lt(clock_fit_map(&fit, 500 + 850 * SECOND / 1000, &hint).bound, 1000);
	ck_assert_uint_lt(clock_fit_map(&fit, 500 + 2000 * SECOND / 1000, &hint).bound, 1000);
}
END_TEST

/* It counts ns and shows whole us: what its values have in common is its tick, but not of pairs read too regularly. */
START_TEST(steps)
{
	size_t count = 0;
	for (uint64_t ns = 0; ns <= 3 * SECOND; ns += INTERVAL - 123456 + random_bits() % 100000, count++)
		pairs[count] = (struct clock_pair){ ns - ns % 1000, SECOND + ns, 100 };
	count = clock_fit_prepare(pairs, count, SECOND);
	clock_fit_build(&fit, segments, pairs, count, SECOND, SECOND, 64);
	ck_assert_uint_ge(fit.tick, 1000);
	ck_assert_uint_le(fit.tick, 1001);
	size_t hint = 0;
	for (uint64_t ns = 0; ns < 2 * SECOND; ns += 12345) {
		struct clock_place place = clock_fit_map(&fit, ns - ns % 1000, &hint);
		ck_assert_uint_le(clock_fit_distance(place.host, SECOND + ns), place.bound);
	}
	const struct model model = { .start = 0, .rate = 1.0, .drift_ppm = 0, .bits = 64 };
	uint64_t bound;
	largest_error(&model, 3, 0, SECOND, &bound);
	ck_assert_uint_eq(fit.tick, 1);
}
END_TEST

static Suite *clock_doubts_suite(void)
{
	Suite *suite = suite_create("clock_doubts");
	TCase *tests = tcase_create("clock_doubts");
	tcase_add_checked_fixture(tests, seed, NULL);
	tcase_add_test(tests, back_between_two_pairs);
	tcase_add_loop_test(tests, causes_tell_the_sides_of_a_jump, 0, 4);
	tcase_add_test(tests, back_over_pairs);
	tcase_add_test(tests, stops);
	tcase_add_test(tests, steps);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(clock_doubts_suite)

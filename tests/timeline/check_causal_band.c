/* The band that causes leave for a clock's offset, against clocks whose truth is known: drift, wander, jumps, few
 * events, many, events that nothing waited for, and limits that no clock could meet. */
#include "timeline/clock/causal_band.h"

#include <math.h>
#include <stdlib.h>

#include "tests/support/check.h"
#include "tests/support/random_values.h"

#define US 1000ll
#define MS 1000000ll
#define SECOND 1000000000ll

/* A clock: what it shows at a time of the host. */
struct clock {
	double ppm;
	double wander_ppm; /* by so much its rate swings, once in 3 s */
	int64_t jump_ns;   /* there and back, in turns, each time after */
	int64_t jump_every_ns;
};

static int64_t shown(const struct clock *clock, int64_t true_ns)
{
	double ns = (double)true_ns * (1 + clock->ppm / 1e6), radian_ns = 3e9 / (2 * M_PI);

	ns += clock->wander_ppm / 1e6 * radian_ns * (1 - cos((double)true_ns / radian_ns));
	if (clock->jump_every_ns && true_ns / clock->jump_every_ns % 2)
		ns += (double)clock->jump_ns;
	return llrint(ns);
}

/* Runs of four events each. */
struct scene {
	struct clock clock;
	unsigned runs;
	int64_t between_ns; /* from the end of a run to the next one */
	int64_t longer_ns;  /* than some 20 us an event takes */
	bool is_async;      /* a run launches its events and ends; they follow each other, and nothing waits */
	size_t points_most; /* 0: as many as ever */
};

struct truth {
	int64_t cause_ns, at_ns, offset_ns;
};

struct result {
	struct truth *truths;
	size_t count;
	struct causal_points points;
	struct causal_band band;
	/* What came out. */
	size_t outside;
	int64_t widest_ns;
	double mean_ns; /* width */
};

static void add(struct causal_points *points, int64_t cause_ns, int64_t at_ns, int64_t low_ns, int64_t high_ns,
                enum causal_level level)
{
	const struct causal_point point = {
		.cause_ns = cause_ns, .at_ns = at_ns, .low_ns = low_ns, .high_ns = high_ns, .level = level
	};
	check_ok(causal_points_add(points, &point));
}

static void add_truth(struct result *result, const struct scene *scene, int64_t cause_ns, int64_t true_ns)
{
	int64_t at_ns = shown(&scene->clock, true_ns);

	result->truths[result->count++] = (struct truth){ cause_ns, at_ns, true_ns - at_ns };
}

static void play(struct result *result, const struct scene *scene)
{
	int64_t now_ns = MS, free_ns = 0;

	*result = (struct result){ .points = { .most = scene->points_most ? scene->points_most : CAUSAL_POINTS_MOST } };
	result->truths = calloc((size_t)scene->runs * 8 + 1, sizeof(*result->truths));
	for (unsigned run = 0; run < scene->runs; run++) {
		size_t first = result->count;
		for (unsigned i = 0; i < 4; i++) {
			int64_t cause_ns = now_ns, start_ns = now_ns + US + random_below(20 * US);
			start_ns = start_ns < free_ns ? free_ns : start_ns;
			free_ns = start_ns + 5 * US + random_below(30 * US) + scene->longer_ns;
			add_truth(result, scene, cause_ns, start_ns);
			add_truth(result, scene, cause_ns, free_ns);
			int64_t parent_end_ns = (scene->is_async ? start_ns - US : free_ns) + random_below(3 * US);
			now_ns = parent_end_ns > now_ns ? parent_end_ns : now_ns + US;
			const struct truth *start = &result->truths[result->count - 2], *end = start + 1;
			add(&result->points, cause_ns, start->at_ns, cause_ns - start->at_ns, CAUSAL_NS_MAX, 0);
			add(&result->points, cause_ns, end->at_ns, -CAUSAL_NS_MAX, now_ns - end->at_ns, CAUSAL_PARENT);
		}
		now_ns += 3 * US + random_below(10 * US);
		for (size_t i = first + 1; i < result->count && !scene->is_async; i += 2)
			add(&result->points, result->truths[i].cause_ns, result->truths[i].at_ns, -CAUSAL_NS_MAX,
			    now_ns - result->truths[i].at_ns, CAUSAL_WAIT);
		now_ns += scene->between_ns;
	}
}

static void build(struct result *result, enum causal_level level)
{
	const struct causal_point sample = { .at_ns = 0, .low_ns = 0, .high_ns = 20 * US };
	double sum = 0;

	check_ok(causal_band_build(&result->band, &result->points, level, &sample));
	result->outside = 0;
	result->widest_ns = 0;
	for (size_t i = 0; i < result->count; i++) {
		const struct truth *truth = &result->truths[i];
		int64_t low_ns, high_ns;
		ck_assert(causal_band_at(&result->band, truth->at_ns, truth->cause_ns, &low_ns, &high_ns));
		MUST(low_ns <= high_ns);
		result->outside += truth->offset_ns < low_ns || truth->offset_ns > high_ns;
		sum += (double)(high_ns - low_ns);
		if (high_ns - low_ns > result->widest_ns)
			result->widest_ns = high_ns - low_ns;
	}
	result->mean_ns = result->count ? sum / (double)result->count : 0;
}

static void release(struct result *result)
{
	causal_points_deinit(&result->points);
	causal_band_deinit(&result->band);
	free(result->truths);
}

START_TEST(drift)
{
	static const double rates[] = { 0, 20, -20, 200, -200, 480, 5000, -5000, 20000 };

	for (unsigned i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
		const struct scene scene = { .clock = { .ppm = rates[i] }, .runs = 5000, .between_ns = 200 * US };
		struct result result;
		play(&result, &scene);
		build(&result, CAUSAL_WAIT);
		ck_assert_uint_eq(result.band.pieces_count, 1);
		ck_assert_msg(result.outside == 0 && result.mean_ns < 12e3,
		              "%g ppm: %zu outside, mean width %g us, widest %g us", rates[i], result.outside,
		              result.mean_ns / 1e3, (double)result.widest_ns / 1e3);
		release(&result);
	}
}
END_TEST

START_TEST(wander)
{
	static const double swings[] = { 1, 50, 400 };

	for (unsigned i = 0; i < 3; i++) {
		const struct scene scene = { .clock = { 20, swings[i], 0, 0 }, .runs = 20000, .between_ns = 300 * US };
		struct result result;
		play(&result, &scene);
		build(&result, CAUSAL_WAIT);
		ck_assert_uint_eq(result.outside, 0);
		ck_assert_double_lt(result.mean_ns, 15e3);
		release(&result);
	}
}
END_TEST

/* A rate that none is near all the time. */
START_TEST(wander_beyond_the_rate)
{
	const struct scene scene = { .clock = { 0, 3000, 0, 0 }, .runs = 20000, .between_ns = 300 * US };
	struct result result;

	play(&result, &scene);
	build(&result, CAUSAL_WAIT);
	ck_assert_uint_eq(result.outside, 0);
	ck_assert_double_lt(result.mean_ns, 15e3);
	release(&result);
}
END_TEST

START_TEST(jumps)
{
	static const struct {
		int64_t jump_ns, every_ns;
		double ppm;
	} cases[] = { { 50 * MS, 300 * MS, 0 },
		      { -50 * MS, 300 * MS, 0 },
		      { 50 * MS, 70 * MS, 200 },
		      { -50 * MS, 300 * MS, 5000 },
		      { 500 * US, 100 * MS, 20 } };

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct clock clock = { cases[i].ppm, 0, cases[i].jump_ns, cases[i].every_ns };
		const struct scene scene = { .clock = clock, .runs = 5000, .between_ns = 200 * US };
		struct result result;
		play(&result, &scene);
		build(&result, CAUSAL_WAIT);
		ck_assert(!result.band.is_unusable);
		ck_assert_uint_gt(result.band.pieces_count, 3);
		ck_assert_msg(result.outside <= result.count / 1000 && result.mean_ns < 20e3,
		              "case %u: %zu of %zu outside, mean width %g us", i, result.outside, result.count,
		              result.mean_ns / 1e3);
		release(&result);
	}
}
END_TEST

/* Without an upper limit but for the sample the clock may be fast by 500 ppm and no more is said. */
START_TEST(nothing_waited)
{
	const struct scene scene = { .clock = { .ppm = 200 }, .runs = 2000, .longer_ns = 100 * US, .is_async = true };
	struct result result;

	play(&result, &scene);
	build(&result, CAUSAL_WAIT);
	ck_assert_uint_eq(result.band.pieces_count, 1);
	ck_assert_uint_eq(result.outside, 0);
	/* The ends of the parents are no limits: they contradict the truth. */
	causal_band_deinit(&result.band);
	build(&result, CAUSAL_PARENT);
	ck_assert(result.band.is_unusable || result.band.pieces_count > 1);
	release(&result);
}
END_TEST

START_TEST(one_event)
{
	struct causal_points points = { .most = CAUSAL_POINTS_MOST };
	const struct causal_point sample = { .at_ns = 0, .low_ns = 0, .high_ns = 1000 };
	struct causal_band band;
	int64_t low_ns, high_ns;

	/* None at all: the sample alone. */
	check_ok(causal_band_build(&band, &points, CAUSAL_WAIT, &sample));
	ck_assert(causal_band_at(&band, SECOND, CAUSAL_NO_CAUSE, &low_ns, &high_ns));
	ck_assert_int_eq(low_ns, -500 * US);
	ck_assert_int_eq(high_ns, 501 * US);
	causal_band_deinit(&band);
	check_ok(causal_band_build(&band, &points, CAUSAL_WAIT, NULL));
	ck_assert(!causal_band_at(&band, SECOND, CAUSAL_NO_CAUSE, &low_ns, &high_ns));
	causal_band_deinit(&band);

	/* One that agrees, and loosens with the distance from it. */
	add(&points, SECOND, SECOND, -7 * US, 9 * US, CAUSAL_WAIT);
	check_ok(causal_band_build(&band, &points, CAUSAL_WAIT, &sample));
	ck_assert(causal_band_at(&band, SECOND, SECOND, &low_ns, &high_ns));
	ck_assert_int_eq(low_ns, -7 * US);
	ck_assert_int_eq(high_ns, 9 * US);
	ck_assert(causal_band_at(&band, SECOND + 10 * MS, CAUSAL_NO_CAUSE, &low_ns, &high_ns));
	ck_assert_int_eq(low_ns, -12 * US);
	ck_assert_int_eq(high_ns, 14 * US);
	causal_band_deinit(&band);

	/* One that contradicts the sample: it counts for itself, and both for what has no cause. */
	points.count = 0;
	add(&points, SECOND, 0, 100 * MS, 101 * MS, CAUSAL_WAIT);
	check_ok(causal_band_build(&band, &points, CAUSAL_WAIT, &sample));
	ck_assert_uint_eq(band.pieces_count, 2);
	ck_assert(causal_band_at(&band, 0, SECOND, &low_ns, &high_ns));
	ck_assert_int_eq(low_ns, 100 * MS);
	ck_assert_int_eq(high_ns, 101 * MS);
	ck_assert(causal_band_at(&band, 0, CAUSAL_NO_CAUSE, &low_ns, &high_ns));
	ck_assert_int_le(low_ns, 0);
	ck_assert_int_ge(high_ns, 101 * MS);
	causal_band_deinit(&band);
	causal_points_deinit(&points);
}
END_TEST

/* The end of the run is all that is known, and the clock is beyond it. */
START_TEST(a_sample_and_an_end)
{
	struct causal_points points = { .most = CAUSAL_POINTS_MOST };
	const struct causal_point sample = { .at_ns = 0, .low_ns = 0, .high_ns = 1000 };
	struct causal_band band;
	int64_t low_ns, high_ns;

	add(&points, INT64_MAX, 10 * SECOND, -CAUSAL_NS_MAX, -40 * MS, CAUSAL_WAIT);
	check_ok(causal_band_build(&band, &points, CAUSAL_WAIT, &sample));
	/* At 5,000 ppm the offset is -25 ms in the middle. */
	ck_assert(causal_band_at(&band, 5 * SECOND, CAUSAL_NO_CAUSE, &low_ns, &high_ns));
	ck_assert_int_le(low_ns, -25 * MS);
	ck_assert_int_ge(high_ns, -25 * MS);
	causal_band_deinit(&band);
	causal_points_deinit(&points);
}
END_TEST

/* Limits that no clock meets: the band holds whatever one of them demands. */
START_TEST(beyond_repair)
{
	struct causal_points points = { .most = CAUSAL_POINTS_MOST };
	struct causal_band band;
	int64_t low_ns, high_ns;

	for (int i = 0; i < 400; i++) {
		int64_t low = (int64_t)random_below(100 * MS) - 50 * MS;
		add(&points, i * MS, i * MS, low, low + US, CAUSAL_WAIT);
	}
	check_ok(causal_band_build(&band, &points, CAUSAL_WAIT, NULL));
	ck_assert(band.is_unusable);
	for (size_t i = 0; i < points.count; i++) {
		ck_assert(causal_band_at(&band, points.points[i].at_ns, points.points[i].cause_ns, &low_ns, &high_ns));
		MUST(low_ns <= points.points[i].low_ns + US && high_ns >= points.points[i].low_ns);
	}
	causal_band_deinit(&band);
	causal_points_deinit(&points);
}
END_TEST

/* A million events: no more points than were allowed, and the band still holds and is still narrow. */
START_TEST(many)
{
	const struct scene scene = { .clock = { 200, 5, 50 * MS, 20 * SECOND }, .runs = 250000, .between_ns = 50 * US };
	struct result result;

	play(&result, &scene);
	ck_assert_uint_eq(result.count, 2000000);
	ck_assert_uint_le(result.points.room, CAUSAL_POINTS_MOST);
	build(&result, CAUSAL_WAIT);
	ck_assert_uint_le(result.outside, result.count / 100000);
	/* Around each jump, where few points are left, it is as wide as that. */
	ck_assert_double_lt(result.mean_ns, 30e3);
	release(&result);
}
END_TEST

/* Times and limits at the ends of their ranges. */
START_TEST(extremes)
{
	static const int64_t values[] = { INT64_MIN, INT64_MIN + 1, -CAUSAL_NS_MAX, -1, 0, 1, CAUSAL_NS_MAX, INT64_MAX };
	struct causal_points points = { .most = 64 };
	struct causal_band band;
	int64_t low_ns, high_ns;

	for (unsigned i = 0; i < 4096; i++)
		add(&points, values[i % 8], values[i / 8 % 8], values[i / 64 % 8], values[i / 512], i % CAUSAL_LEVELS);
	ck_assert_uint_le(points.count, 64);
	for (unsigned level = 0; level < CAUSAL_LEVELS; level++) {
		check_ok(causal_band_build(&band, &points, level, NULL));
		for (unsigned i = 0; i < 64; i++)
			if (causal_band_at(&band, values[i % 8], values[i / 8], &low_ns, &high_ns))
				MUST(low_ns <= high_ns);
		causal_band_deinit(&band);
	}
	causal_points_deinit(&points);
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("causal_band");
	TCase *tests = tcase_create("causal_band");
	tcase_add_test(tests, drift);
	tcase_add_test(tests, wander);
	tcase_add_test(tests, wander_beyond_the_rate);
	tcase_add_test(tests, jumps);
	tcase_add_test(tests, nothing_waited);
	tcase_add_test(tests, one_event);
	tcase_add_test(tests, a_sample_and_an_end);
	tcase_add_test(tests, beyond_repair);
	tcase_add_test(tests, many);
	tcase_add_test(tests, extremes);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(suite)

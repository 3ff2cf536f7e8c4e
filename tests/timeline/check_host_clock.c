/* Host ticks to nanoseconds: exact between good pairs, never decreasing, sound beyond them and for any numbers. */
#include "timeline/clock/host_clock.h"

#include <string.h>

#include "tests/support/check.h"

#define START 5000000000000ull
#define PAIRS 50

static struct epf_host_pair pairs[PAIRS];
static struct epf_run run;
static struct reader reader;
static struct reader_block block;

static void set_up(uint64_t per_second)
{
	reader = (struct reader){ .pairs = pairs, .blocks = &block };
	reader.header.source.ticks_per_second = per_second;
}

/* A pair at a time since the start, read with an error below its half-width. */
static struct epf_host_pair pair_at(uint64_t per_second, uint64_t ns, int64_t error_ns, uint64_t half_width)
{
	return (struct epf_host_pair){ .ticks = START + (uint64_t)((unsigned __int128)ns * per_second / 1000000000),
		                       .half_width_ticks = half_width,
		                       .monotonic_ns = 1000 + (int64_t)ns + error_ns };
}

static void check_rate(uint64_t nominal, uint64_t per_second)
{
	struct host_clock clock;
	size_t hint = 0;
	int64_t last = INT64_MIN;
	const uint64_t tick_ns = 1000000000 / per_second + 1;

	set_up(nominal);
	for (unsigned i = 0; i < PAIRS; i++)
		pairs[i] = pair_at(per_second, i * 100000000ull, i % 3 ? 20 : -20, 25 * per_second / 1000000000 + 1);
	reader.pairs_count = PAIRS;
	run = (struct epf_run){ .run = 1, .start = pair_at(per_second, 0, -20, 1) };
	reader.runs = &run;
	reader.runs_count = 1;
	check_ok(host_clock_init(&clock, &reader));
	for (uint64_t ns = 0; ns < 6000000000; ns += 999983) {
		uint64_t ticks = pair_at(per_second, ns, 0, 0).ticks;
		int64_t mapped = host_clock_ns(&clock, &hint, ticks), error = mapped - (int64_t)ns - 20;
		ck_assert_int_ge(mapped, last);
		last = mapped;
		/* Inside within the pairs' error; outside the last slope's error grows, 40 ns in 100 ms. */
		int64_t allowed = (int64_t)(42 + tick_ns + (ns > 4900000000 ? (ns - 4900000000) / 1000000 : 0));
		ck_assert_msg(llabs(error) <= allowed, "%llu Hz: %llu ns became %lld", (unsigned long long)per_second,
		              (unsigned long long)ns, (long long)mapped);
		int64_t back = (int64_t)(host_clock_ticks(&clock, mapped) - ticks);
		ck_assert_int_le(llabs(back), 2 + (int64_t)(per_second / 1000000000));
	}
	ck_assert_int_eq(host_clock_ns(&clock, &hint, START), 0);
	ck_assert_int_lt(host_clock_ns(&clock, &hint, START - per_second), -999000000);
	ck_assert_int_gt(host_clock_ns(&clock, &hint, START - per_second), -1001000000);
	host_clock_deinit(&clock);
}

START_TEST(any_rate)
{
	check_rate(2450000000, 2450000000);
	check_rate(2450000000, 2450100000); /* measured badly */
	check_rate(1000000000, 1000000000);
	check_rate(24000000, 24000000);
	check_rate(5100000000, 5100000000);
}
END_TEST

/* Pairs that tell nothing: too close, or read badly. */
START_TEST(bad_pairs)
{
	struct host_clock clock;
	size_t hint = 0;

	set_up(1000000000);
	reader.pairs_count = 5;
	pairs[0] = pair_at(1000000000, 0, 0, 20);
	pairs[1] = pair_at(1000000000, 1000, 300, 20); /* 30 % too fast */
	pairs[2] = pair_at(1000000000, 100000000, 0, 20);
	pairs[3] = pair_at(1000000000, 200000000, 5000000, 6000000); /* interrupted for 5 ms */
	pairs[4] = pair_at(1000000000, 300000000, 0, 20);
	check_ok(host_clock_init(&clock, &reader));
	for (uint64_t ns = 0; ns < 1000000000; ns += 100003)
		ck_assert_int_eq(host_clock_ns(&clock, &hint, START + ns), (int64_t)ns);
	host_clock_deinit(&clock);

	/* The first one bad, the others good. */
	pairs[1] = pair_at(1000000000, 1000, 0, 20);
	pairs[0].half_width_ticks = 50000000;
	pairs[0].monotonic_ns += 10000000;
	check_ok(host_clock_init(&clock, &reader));
	hint = 0;
	int64_t first = host_clock_ns(&clock, &hint, START);
	for (uint64_t ns = 0; ns < 1000000000; ns += 100003)
		ck_assert_int_eq(host_clock_ns(&clock, &hint, START + ns) - first, (int64_t)ns);
	host_clock_deinit(&clock);
}
END_TEST

static void expect_doubts(const int64_t *doubts, unsigned count)
{
	struct host_clock clock;

	reader.pairs_count = count;
	check_ok(host_clock_init(&clock, &reader));
	for (unsigned i = 0; i + 1 < count; i++) {
		size_t hint = 0;
		uint64_t middle = pairs[i].ticks + (pairs[i + 1].ticks - pairs[i].ticks) / 2;
		host_clock_ns(&clock, &hint, middle);
		int64_t doubt = host_clock_doubt_ns(&clock, &hint);
		ck_assert_msg(llabs(doubt - doubts[i]) <= 1, "after pair %u: %lld", i, (long long)doubt);
	}
	host_clock_deinit(&clock);
}

/* The machine sleeps for 9.9 s: the counter goes on, CLOCK_MONOTONIC does not, and all that passed is in doubt. */
START_TEST(asleep)
{
	set_up(1000000000);
	for (unsigned i = 0; i < 7; i++) {
		pairs[i] = pair_at(1000000000, i * 100000000, 0, 20);
		pairs[i].ticks += i >= 3 ? 9900000000 : 0;
	}
	expect_doubts((const int64_t[]){ 0, 0, 100000000, 0, 0, 0 }, 7);

	/* It stops while CLOCK_MONOTONIC goes on for 2 s. */
	for (unsigned i = 0; i < 7; i++) {
		pairs[i] = pair_at(1000000000, i * 100000000, 0, 20);
		pairs[i].monotonic_ns += i >= 3 ? 2000000000 : 0;
	}
	expect_doubts((const int64_t[]){ 0, 0, 2000000000, 0, 0, 0 }, 7);
}
END_TEST

/* One pair comes from a processor whose counter is 30 us behind: what lies beside it is in doubt by that. */
START_TEST(another_processor)
{
	set_up(1000000000);
	for (unsigned i = 0; i < 9; i++)
		pairs[i] = pair_at(1000000000, i * 100000000, 0, 20);
	pairs[4].monotonic_ns += 30000;
	expect_doubts((const int64_t[]){ 0, 0, 15000, 30000, 30000, 15000, 0, 0 }, 9);
	/* So little that readings may explain it. */
	pairs[4].monotonic_ns -= 29500;
	expect_doubts((const int64_t[]){ 0, 0, 0, 0, 0, 0, 0, 0 }, 9);
}
END_TEST

/* A counter that begins anew: later pairs do not fit into the map, and say so. */
START_TEST(begun_anew)
{
	struct host_clock clock;
	size_t hint = 0;

	set_up(1000000000);
	for (unsigned i = 0; i < 5; i++) {
		pairs[i] = pair_at(1000000000, i * 100000000, 0, 20);
		pairs[i].ticks -= i >= 3 ? 250000000 : 0;
	}
	reader.pairs_count = 5;
	check_ok(host_clock_init(&clock, &reader));
	ck_assert(clock.is_doubted);
	host_clock_ns(&clock, &hint, pairs[4].ticks);
	ck_assert_int_eq(host_clock_doubt_ns(&clock, &hint), 250000000);
	host_clock_deinit(&clock);
}
END_TEST

/* CLOCK_MONOTONIC steered by 400 ppm is no contradiction. */
START_TEST(steered)
{
	set_up(1000000000);
	for (unsigned i = 0; i < 9; i++)
		pairs[i] = pair_at(1000000000, i * 100000000, i * 40000, 20);
	expect_doubts((const int64_t[]){ 0, 0, 0, 0, 0, 0, 0, 0 }, 9);
}
END_TEST

START_TEST(one_pair_or_none)
{
	struct host_clock clock;
	size_t hint = 0;

	set_up(2000000000);
	reader.pairs_count = 1;
	pairs[0] = pair_at(2000000000, 0, 0, 20);
	check_ok(host_clock_init(&clock, &reader));
	ck_assert_int_eq(host_clock_ns(&clock, &hint, START + 2000000001), 1000000000);
	host_clock_deinit(&clock);

	reader.pairs_count = 0;
	block.first_ticks = START + 40;
	reader.blocks_count = 1;
	check_ok(host_clock_init(&clock, &reader));
	hint = 0;
	ck_assert_int_eq(host_clock_ns(&clock, &hint, START + 40), 0);
	ck_assert_int_eq(host_clock_ns(&clock, &hint, START + 240), 100);
	ck_assert_int_eq(host_clock_ns(&clock, &hint, START), -20);
	host_clock_deinit(&clock);

	/* Nothing at all, and no rate. */
	reader.blocks_count = 0;
	reader.header.source.ticks_per_second = 0;
	check_ok(host_clock_init(&clock, &reader));
	hint = 0;
	ck_assert_int_eq(host_clock_ns(&clock, &hint, 7), 7);
	host_clock_deinit(&clock);
}
END_TEST

/* Any numbers in the file: the map stays within its range and does not decrease. */
START_TEST(any_numbers)
{
	static const uint64_t values[] = { 0, 1, 1000, START, 1ull << 62, 1ull << 63, UINT64_MAX - 1, UINT64_MAX };
	/* Also two whose distance, modulo 2^64, is 1. */
	static const int64_t times[] = { 0, 1, 1000, START, 1ll << 62, INT64_MIN, INT64_MAX, -1 };
	static const uint64_t rates[] = { 0, 1, 1000000000, 3000000000, 1ull << 63, UINT64_MAX };
	uint64_t state = 1;

	for (unsigned round = 0; round < 3000; round++) {
		struct host_clock clock;
		set_up(rates[round % 6]);
		reader.pairs_count = round % 7;
		for (unsigned i = 0; i < 7; i++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			pairs[i] = (struct epf_host_pair){ .ticks = values[state >> 33 & 7] +
				                                    (i ? pairs[i - 1].ticks / 2 : 0),
				                           .half_width_ticks = values[state >> 36 & 3],
				                           .monotonic_ns = times[state >> 39 & 7] };
			if (i && pairs[i].ticks < pairs[i - 1].ticks)
				pairs[i].ticks = pairs[i - 1].ticks;
		}
		check_ok(host_clock_init(&clock, &reader));
		int64_t last = INT64_MIN;
		size_t hint = 0;
		for (unsigned i = 0; i < 8; i++) {
			int64_t ns = host_clock_ns(&clock, &hint, values[i]);
			if (ns < last || ns > ITEM_NS_MAX || ns < -ITEM_NS_MAX)
				ck_abort_msg("round %u value %u: %lld after %lld", round, i, (long long)ns,
				             (long long)last);
			last = ns;
			if (host_clock_span_ns(&clock, values[i]) < 0)
				ck_abort_msg("round %u span %u", round, i);
			host_clock_ticks(&clock, (int64_t)values[i]);
		}
		host_clock_deinit(&clock);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("host_clock");
	TCase *tc = tcase_create("host_clock");
	tcase_add_test(tc, any_rate);
	tcase_add_test(tc, bad_pairs);
	tcase_add_test(tc, asleep);
	tcase_add_test(tc, another_processor);
	tcase_add_test(tc, begun_anew);
	tcase_add_test(tc, steered);
	tcase_add_test(tc, one_pair_or_none);
	tcase_add_test(tc, any_numbers);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)

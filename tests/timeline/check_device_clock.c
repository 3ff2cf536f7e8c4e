/* Clocks of devices as the timeline uses them; the fit itself is tested in check_clock_fit. */
#include "timeline/clock/device_clock.h"

#include "tests/support/check.h"

#define START 1000000000000ull

static struct device_clocks clocks;
static struct host_clock host;

static struct epf_track track_of(uint32_t track, uint32_t clock, uint32_t bits)
{
	return (struct epf_track){ .track = track, .clock = clock, .clock_bits = bits, .ticks_per_second = 1000000000 };
}

static void set_up(void)
{
	static struct epf_host_pair pair = { .ticks = START };
	struct reader reader = { .pairs = &pair, .pairs_count = 1 };
	reader.header.source.ticks_per_second = 2000000000; /* two ticks a nanosecond */
	check_ok(host_clock_init(&host, &reader));
}

static void tear_down(void)
{
	device_clocks_deinit(&clocks);
	host_clock_deinit(&host);
}

START_TEST(tracks_share_clocks)
{
	struct device_clock *one, *two, *other, *own, *own_again;
	struct epf_track a = track_of(1, 5, 64), b = track_of(2, 5, 64), c = track_of(3, 6, 64), d = track_of(4, 0, 64);
	check_ok(device_clocks_find(&clocks, &a, &one));
	check_ok(device_clocks_find(&clocks, &b, &two));
	check_ok(device_clocks_find(&clocks, &c, &other));
	check_ok(device_clocks_find(&clocks, &d, &own));
	check_ok(device_clocks_find(&clocks, &d, &own_again));
	ck_assert_ptr_eq(one, two);
	ck_assert_ptr_ne(one, other);
	ck_assert_ptr_ne(own, other);
	ck_assert_ptr_eq(own, own_again);
	check_ok(device_clocks_fit(&clocks, &host));
	ck_assert_uint_eq(one->fit.count, 0);
}
END_TEST

START_TEST(placed_with_its_bound)
{
	struct epf_track track = track_of(1, 5, 64);
	struct device_clock *clock;
	size_t hint = 0;

	check_ok(device_clocks_find(&clocks, &track, &clock));
	/* In no order, more than fit in at first. */
	for (uint64_t i = 0; i < 100; i++) {
		uint64_t at = i * 37 % 100 * 100000000;
		check_ok(device_clock_add_pair(clock, 77 + at, START + at * 2, 60));
	}
	check_ok(device_clocks_fit(&clocks, &host));
	ck_assert(!clock->ambiguous);
	struct device_time time = device_clock_place(clock, &host, &hint, 77 + 123456789, INT64_MIN);
	ck_assert(time.fitted);
	ck_assert_int_le(llabs(time.ns - 123456789), time.error_ns);
	ck_assert_int_ge(time.error_ns, 30);
	ck_assert_int_le(time.error_ns, 40);
}
END_TEST

/* From before the first pair to behind the last, in steps that are small against the pairs' distance. */
START_TEST(near_ones_are_placed_alike)
{
	struct epf_track track = track_of(1, 5, 64);
	struct device_clock *clock;
	size_t hint = 0;
	unsigned near_count = 0;

	check_ok(device_clocks_find(&clocks, &track, &clock));
	for (uint64_t i = 0; i < 100; i++) {
		uint64_t at = i * 100000000, wander = i % 7 * 40;
		check_ok(device_clock_add_pair(clock, 77000000 + at, START + at * 2 + wander, 60 + i % 3 * 20));
	}
	check_ok(device_clocks_fit(&clocks, &host));
	for (uint64_t i = 0; i < 4100; i++) {
		struct device_time near, time;
		uint64_t ticks = 27000000 + i * 2500000;
		bool is_near = device_clock_near(clock, &host, hint, ticks, &near);
		time = device_clock_place(clock, &host, &hint, ticks, INT64_MIN);
		near_count += is_near;
		if (!is_near)
			continue;
		ck_assert_int_eq(near.ns, time.ns);
		ck_assert_int_eq(near.error_ns, time.error_ns);
		ck_assert_int_eq(near.fitted, time.fitted);
	}
	/* All but 40 outside and the first one or two of each pair. */
	ck_assert_uint_gt(near_count, 3800);
	ck_assert_uint_lt(near_count, 4000);
}
END_TEST

START_TEST(ambiguous_ticks)
{
	struct epf_track narrow = track_of(1, 1, 32), back = track_of(2, 2, 64), one_pair = track_of(3, 3, 64);
	struct device_clock *clock;
	size_t hint = 0;

	check_ok(device_clocks_find(&clocks, &one_pair, &clock));
	check_ok(device_clock_add_pair(clock, 0, START, 10));
	check_ok(device_clocks_find(&clocks, &back, &clock));
	check_ok(device_clock_add_pair(clock, 5000000000, START, 10));
	check_ok(device_clock_add_pair(clock, 5200000000, START + 400000000, 10));
	check_ok(device_clock_add_pair(clock, 100, START + 800000000, 10));
	check_ok(device_clocks_find(&clocks, &narrow, &clock));
	for (uint64_t i = 0; i < 100; i++)
		check_ok(device_clock_add_pair(clock, (uint32_t)(i * 100000000), START + i * 200000000, 10));
	check_ok(device_clocks_fit(&clocks, &host));
	ck_assert(clock->ambiguous);
	struct device_time near;
	for (uint64_t ticks = 0; ticks < 100000000; ticks += 1000000)
		ck_assert(!device_clock_near(clock, &host, hint, ticks, &near));
	/* 1 s and 1 s + 2^32 ns are the same ticks. */
	struct device_time time = device_clock_place(clock, &host, &hint, 1000000000, 5300000000);
	ck_assert_int_le(llabs(time.ns - 5294967296), time.error_ns);
	time = device_clock_place(clock, &host, &hint, 1000000000, 900000000);
	ck_assert_int_le(llabs(time.ns - 1000000000), time.error_ns);

	check_ok(device_clocks_find(&clocks, &back, &clock));
	ck_assert(clock->ambiguous);
	check_ok(device_clocks_find(&clocks, &one_pair, &clock));
	ck_assert(!clock->ambiguous);
	ck_assert(!device_clock_place(clock, &host, &hint, 10, INT64_MIN).fitted);
}
END_TEST

/* What the clock counted before the host's counter was at zero: an imported trace may begin there. */
START_TEST(before_the_hosts_zero)
{
	struct epf_track track = track_of(1, 5, 64);
	struct device_clock *clock;
	size_t hint = 0;

	check_ok(device_clocks_find(&clocks, &track, &clock));
	check_ok(device_clock_add_pair(clock, 5000, 1000, 10));
	check_ok(device_clocks_fit(&clocks, &host));
	struct device_time zero = device_clock_place(clock, &host, &hint, 4500, INT64_MIN);
	struct device_time before = device_clock_place(clock, &host, &hint, 4000, INT64_MIN);
	ck_assert_int_ge(zero.ns - before.ns, 499);
	ck_assert_int_le(zero.ns - before.ns, 502);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("device_clock");
	TCase *tc = tcase_create("device_clock");
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, tracks_share_clocks);
	tcase_add_test(tc, placed_with_its_bound);
	tcase_add_test(tc, near_ones_are_placed_alike);
	tcase_add_test(tc, ambiguous_ticks);
	tcase_add_test(tc, before_the_hosts_zero);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)

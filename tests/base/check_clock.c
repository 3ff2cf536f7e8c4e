/* The host's clock: runtime/base/clock.c. */
#include <sys/wait.h>

#include "base/clock.h"
#include "tests/support/recording.h"

static int64_t monotonic_ns(void)
{
	return (int64_t)recording_now_ns();
}

START_TEST(ticks_go_forward_at_the_rate_they_say)
{
	uint64_t rate = epp_host_ticks_per_second();
	ck_assert_uint_ge(rate, 1000000);
	ck_assert_uint_eq(rate, clock_ticks_per_second());
	uint64_t first = epp_host_ticks();
	int64_t first_ns = monotonic_ns();
	recording_sleep_ms(100);
	uint64_t last = epp_host_ticks();
	int64_t last_ns = monotonic_ns();
	ck_assert_uint_gt(last, first);
	double ns = (double)clock_ticks_to_ns(last - first), expected = (double)(last_ns - first_ns);
	ck_assert_double_lt(ns / expected, 1.1);
	ck_assert_double_gt(ns / expected, 0.9);
}
END_TEST

START_TEST(spans_of_centuries_are_right)
{
	uint64_t rate = clock_ticks_per_second();
	ck_assert_uint_eq(clock_ticks_to_ns(0), 0);
	ck_assert_uint_eq(clock_ticks_to_ns(rate), 1000000000u);
	ck_assert_uint_eq(clock_ticks_to_ns(rate * 3600 * 24 * 365), 1000000000ull * 3600 * 24 * 365);
}
END_TEST

START_TEST(a_pair_holds_the_clocks_together)
{
	struct epf_host_pair pair;
	for (int i = 0; i < 100; i++) {
		uint64_t before = clock_ticks();
		int64_t before_ns = monotonic_ns();
		clock_pair_read(&pair);
		int64_t after_ns = monotonic_ns();
		uint64_t after = clock_ticks();
		ck_assert_uint_ge(pair.ticks, before);
		ck_assert_uint_le(pair.ticks, after);
		ck_assert_uint_ge(pair.ticks - pair.half_width_ticks + 1, before - clock_step_ticks);
		ck_assert_uint_le(pair.ticks + pair.half_width_ticks, after + 1 + clock_step_ticks);
		ck_assert_int_ge(pair.monotonic_ns, before_ns);
		ck_assert_int_le(pair.monotonic_ns, after_ns);
		ck_assert_int_gt(pair.realtime_ns, 1600000000ll * 1000000000ll);
	}
}
END_TEST

/* Among the tries only one that stayed on processors that agree can be the best. */
START_TEST(a_pair_of_two_processors_is_worth_nothing)
{
	struct epf_host_pair pair = clock_pair_of(1000, 50, 7, 61, 1041);
	ck_assert_uint_eq(pair.ticks, 1020);
	ck_assert_uint_eq(pair.half_width_ticks, 21);
	ck_assert_int_eq(pair.monotonic_ns, 55);
	ck_assert_int_eq(pair.realtime_ns, 7);
	for (uint64_t back = 1; back < 4; back++) {
		pair = clock_pair_of(1000, 50, 7, 61, 1000 - back);
		ck_assert_uint_ge(pair.half_width_ticks, 1ull << 62);
		ck_assert_uint_le(pair.ticks, 1000);
	}
	ck_assert_uint_eq(clock_pair_of(1000, 50, 7, 61, 1000).half_width_ticks, 0);
}
END_TEST

/* A counter may stand still, jump, or have another rate than it reports, under an emulator for example. */
START_TEST(a_counter_that_keeps_no_time_is_noticed)
{
	const uint64_t rate = 62500000; /* 50 us are 3125 ticks */
	const struct epf_host_pair first = { .ticks = 1000, .half_width_ticks = 10, .monotonic_ns = 500 };
	const struct {
		uint64_t ticks, half_width_ticks, per_second;
		bool keeps_time;
	} cases[] = {
		{ 1000 + 3125, 10, rate, true },
		{ 1000 + 3125 + 312, 10, rate, true },  /* 10 % too fast */
		{ 1000 + 3125 - 320, 10, rate, true },  /* the samples are this inexact */
		{ 1000 + 3125 + 400, 10, rate, false }, /* too fast */
		{ 1000 + 3125 - 400, 10, rate, false }, /* too slow */
		{ 1000 + 3125 + 400, 100, rate, true },
		{ 1000, 0, rate, false }, /* stands still */
		{ 1001, 0, rate, false },
		{ 1000 - 900, 10, rate, false }, /* goes back */
		{ 1000 - 3125, 10, rate, false },
		{ UINT64_MAX, 10, rate, false },
		{ 1000 + (1ull << 40), 10, rate, false },         /* jumps */
		{ 1000 + (1ull << 40), 1ull << 40, rate, false }, /* jumps while the sample is read */
		{ 1000 + 3125, UINT64_MAX / 2, rate, false },
		{ 1000 + 3125, 10, 0, false }, /* reports no rate */
		{ 1000, 0, 0, false },
		{ 1000 + 3125, 10, 2 * rate, false },
		{ 1000 + 3125, 10, rate / 2, false },
		{ 1000 + 3125, 10, UINT64_MAX, false },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct epf_host_pair last = { .ticks = cases[i].ticks,
			                      .half_width_ticks = cases[i].half_width_ticks,
			                      .monotonic_ns = 50500 };
		ck_assert_msg(clock_keeps_time(&first, &last, cases[i].per_second) == cases[i].keeps_time, "case %zu", i);
		last.monotonic_ns = first.monotonic_ns;
		ck_assert(!clock_keeps_time(&first, &last, cases[i].per_second));
	}
	clock_setup();
	ck_assert(clock_step_ticks == 0 || clock_kind == EPF_CLOCK_CNTVCT);
}
END_TEST

static uint64_t now;

static uint64_t injected(void)
{
	return now;
}

static void injected_pair(struct epf_host_pair *pair)
{
	*pair = (struct epf_host_pair){ .ticks = 1, .half_width_ticks = 2, .monotonic_ns = 3, .realtime_ns = 4 };
}

START_TEST(an_injected_clock_is_the_only_one)
{
	struct epf_host_pair pair;
	uint64_t real_rate = clock_ticks_per_second();
	uint32_t real_kind = clock_kind;
	clock_inject(injected, 1000, NULL);
	now = 2500;
	ck_assert(!clock_is_fast());
	ck_assert_uint_eq(epp_host_ticks(), 2500);
	ck_assert_uint_eq(epp_host_ticks_per_second(), 1000);
	ck_assert_uint_eq(clock_ticks_to_ns(1500), 1500000000);
	clock_pair_read(&pair);
	ck_assert_uint_eq(pair.ticks, 2500);
	ck_assert_int_eq(pair.monotonic_ns, 2500000000);
	ck_assert_uint_eq(pair.half_width_ticks, 0);
	clock_inject(injected, 7, injected_pair);
	clock_pair_read(&pair);
	ck_assert_int_eq(pair.realtime_ns, 4);
	clock_inject(NULL, 0, NULL);
	ck_assert_uint_eq(clock_kind, real_kind);
	double ratio = (double)clock_ticks_per_second() / (double)real_rate;
	ck_assert_double_gt(ratio, 0.9);
	ck_assert_double_lt(ratio, 1.1);
}
END_TEST

static void *ask_rate(void *rate)
{
	*(uint64_t *)rate = clock_ticks_per_second();
	return NULL;
}

START_TEST(all_threads_agree_on_the_rate)
{
	uint64_t rates[4];
	pthread_t threads[4];
	clock_inject(NULL, 0, NULL);
	for (int i = 0; i < 4; i++)
		threads[i] = recording_thread(ask_rate, &rates[i]);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		ck_assert_uint_eq(rates[i], rates[0]);
	}
	ck_assert_uint_eq(rates[0], clock_ticks_per_second());
}
END_TEST

static Suite *clock_suite(void)
{
	Suite *suite = suite_create("clock");
	TCase *tcase = tcase_create("clock");
	tcase_add_checked_fixture(tcase, clock_setup, NULL);
	tcase_add_test(tcase, ticks_go_forward_at_the_rate_they_say);
	tcase_add_test(tcase, spans_of_centuries_are_right);
	tcase_add_test(tcase, a_pair_holds_the_clocks_together);
	tcase_add_test(tcase, a_pair_of_two_processors_is_worth_nothing);
	tcase_add_test(tcase, a_counter_that_keeps_no_time_is_noticed);
	tcase_add_test(tcase, an_injected_clock_is_the_only_one);
	tcase_add_test(tcase, all_threads_agree_on_the_rate);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(clock_suite)

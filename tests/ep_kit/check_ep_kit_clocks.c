/* options.read_clocks: pairs of a device whose clock is read together with the host's; a reading that fails, one that is
 * better than the next, one that takes long while other threads emit. */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/ep_kit/ep_kit_host.h"

#define BITS 36
#define PER_SECOND 19200000
#define MASK ((UINT64_C(1) << BITS) - 1)

static struct {
	atomic_int inside;
	atomic_int most_inside;
	atomic_int count;
	atomic_int fails;
	int slow;
} device;

/* A counter that is about to wrap. */
static uint64_t device_ticks(uint64_t host_ticks)
{
	return (MASK - 1000 + host_ticks * PER_SECOND / HOST_PER_SECOND) & MASK;
}

static int read_clocks(void *clock, uint64_t (*read_host)(void), uint64_t host_per_second, uint64_t pair[3])
{
	ck_assert_ptr_eq(clock, &device);
	ck_assert_uint_eq(host_per_second, HOST_PER_SECOND);
	int inside = atomic_fetch_add(&device.inside, 1) + 1;
	if (inside > atomic_load(&device.most_inside))
		atomic_store(&device.most_inside, inside);
	int number = atomic_fetch_add(&device.count, 1);
	for (int i = 0; i < device.slow; i++)
		sched_yield();
	uint64_t now = read_host();
	pair[0] = device_ticks(now);
	pair[1] = now;
	pair[2] = number % 3 == 1 ? 5 : 500;
	atomic_fetch_sub(&device.inside, 1);
	return atomic_load(&device.fails) ? 7 : 0;
}

static epp_ep_profiler *clocks_create(void)
{
	epp_ep_options options = ep_options();
	options.now_ticks = NULL;
	options.read_clocks = read_clocks;
	options.clock = &device;
	options.ticks_per_second = PER_SECOND;
	options.clock_bits = BITS;
	return ep_create(&options);
}

/* Emits an event at the host's present time, 10 ms after the last one. */
static void emit_next(epp_ep_profiler *profiler)
{
	uint64_t now = atomic_fetch_add(&host.ticks, HOST_PER_SECOND / 100) + HOST_PER_SECOND / 100;
	epp_ep_event event = { .name = "e", .start_ticks = device_ticks(now), .end_ticks = device_ticks(now) };
	epp_ep_emit(profiler, &event);
}

START_TEST(the_best_of_each_reading)
{
	epp_ep_profiler *profiler = clocks_create();
	ep_start(profiler);
	ck_assert_uint_eq(host.clock.kind, 1);
	ck_assert_uint_eq(host.clock.bits, BITS);
	ck_assert_uint_eq(host.pairs_count, 1);
	for (int i = 0; i < 200; i++)
		emit_next(profiler);
	ep_end(profiler);
	ck_assert_uint_ge(host.pairs_count, 15);
	ck_assert_uint_le(host.pairs_count, 22);
	for (size_t i = 0; i < host.pairs_count; i++) {
		ck_assert_uint_eq(host.pairs[i].half_width_ticks, 5);
		ck_assert_uint_eq(host.pairs[i].device_ticks & MASK, device_ticks(host.pairs[i].host_ticks));
	}
	ep_release(profiler);
}
END_TEST

START_TEST(readings_that_fail)
{
	epp_ep_profiler *profiler = clocks_create();
	atomic_store(&device.fails, 1);
	ep_start(profiler);
	for (int i = 0; i < 100; i++)
		emit_next(profiler);
	ck_assert_uint_eq(host.pairs_count, 0);
	atomic_store(&device.fails, 0);
	ep_end(profiler);
	ck_assert_uint_eq(host.pairs_count, 1);
	ck_assert_uint_eq(host.pushed_count, 100);
	ep_release(profiler);
}
END_TEST

static void *emit_many(void *profiler)
{
	for (int i = 0; i < 500; i++)
		emit_next(profiler);
	return NULL;
}

START_TEST(never_two_at_once)
{
	epp_ep_profiler *profiler = clocks_create();
	pthread_t threads[4];
	device.slow = 100;
	ep_start(profiler);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, emit_many, profiler), 0);
	while (atomic_load(&device.count) < 9)
		sched_yield();
	ep_end(profiler); /* while they emit */
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	ck_assert_int_eq(atomic_load(&device.most_inside), 1);
	ep_release(profiler);
}
END_TEST

START_TEST(options_that_exclude_each_other)
{
	epp_ep_options options = ep_options();
	epp_ep_profiler *profiler;
	options.read_clocks = read_clocks; /* and now_ticks */
	host_fails(ORT_INVALID_ARGUMENT, epp_ep_profiler_create(&options, &profiler));
	options.now_ticks = NULL;
	options.own_clock_pairs = 1;
	host_fails(ORT_INVALID_ARGUMENT, epp_ep_profiler_create(&options, &profiler));
	ck_assert_ptr_null(profiler);
}
END_TEST

static void setup(void)
{
	memset(&device, 0, sizeof(device));
	host_setup("1.30.0");
}

static Suite *clocks_suite(void)
{
	Suite *suite = suite_create("ep_kit_clocks");
	TCase *tests = tcase_create("clocks");
	tcase_add_checked_fixture(tests, setup, host_teardown);
	tcase_add_test(tests, the_best_of_each_reading);
	tcase_add_test(tests, readings_that_fail);
	tcase_add_test(tests, never_two_at_once);
	tcase_add_test(tests, options_that_exclude_each_other);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(clocks_suite)

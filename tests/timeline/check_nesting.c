/* Lanes, depth, parents of one track; the longer traces are in check_timeline_random and check_timeline_devices. */
#include "timeline/events/nesting.h"

#include <string.h>

#include "tests/support/check.h"

static struct nest nest;

static struct nest_place place(uint64_t start, uint64_t end, uint64_t id)
{
	struct nest_place placed = { .lane = 99 };
	struct nest_open event = { .end = end, .id = id, .start_ns = (int64_t)start, .end_ns = (int64_t)end };
	ck_assert(nest_slice(&nest, start, &event, &placed));
	return placed;
}

static void check_place(struct nest_place placed, uint32_t lane, uint32_t depth, uint64_t parent)
{
	ck_assert_uint_eq(placed.lane, lane);
	ck_assert_uint_eq(placed.depth, depth);
	ck_assert_uint_eq(placed.parent, parent);
}

START_TEST(nested)
{
	check_place(place(0, 100, 1), 0, 0, 0);
	check_place(place(0, 50, 2), 0, 1, 1);
	check_place(place(10, 10, 3), 0, 2, 2);
	check_place(place(10, 50, 4), 0, 2, 2);
	check_place(place(50, 100, 5), 0, 1, 1);
	check_place(place(100, 100, 6), 0, 0, 0);
	check_place(place(100, 200, 7), 0, 0, 0);
	nest_deinit(&nest);
}
END_TEST

START_TEST(overlapping)
{
	check_place(place(0, 100, 1), 0, 0, 0);
	check_place(place(10, 60, 2), 0, 1, 1);
	check_place(place(20, 80, 3), 1, 0, 1); /* around it: 1 */
	check_place(place(30, 40, 4), 0, 2, 3); /* in 2 by its lane, in 3 because that began last */
	check_place(place(35, 120, 5), 2, 0, 0);
	ck_assert_int_eq(nest_outer_end(&nest, 36, 37), 120);
	ck_assert_int_eq(nest_outer_end(&nest, 30, 40), 100);
	ck_assert_int_eq(nest_outer_end(&nest, 36, 200), INT64_MIN);
	ck_assert_uint_eq(nest_containing(&nest, 36)->id, 5);
	check_place(place(90, 110, 6), 1, 0, 5);
	check_place(place(100, 120, 7), 0, 0, 5);
	/* All over: the lanes are free again. */
	check_place(place(300, 400, 8), 0, 0, 0);
	ck_assert_uint_eq(nest.more_count, 0);
	ck_assert_ptr_null(nest_containing(&nest, 500));
	nest_deinit(&nest);
}
END_TEST

START_TEST(moments)
{
	uint32_t depth;

	ck_assert_ptr_null(nest_instant(&nest, 5, 0, &depth));
	ck_assert_uint_eq(depth, 0);
	place(10, 100, 1);
	place(20, 50, 2);
	ck_assert_uint_eq(nest_instant(&nest, 30, 0, &depth)->id, 2);
	ck_assert_uint_eq(depth, 2);
	ck_assert_uint_eq(nest_instant(&nest, 50, 0, &depth)->id, 1);
	ck_assert_ptr_null(nest_instant(&nest, 100, 0, &depth));
	nest_deinit(&nest);
}
END_TEST

/* At the very end of another event only the order of recording tells inside from behind. */
START_TEST(at_the_end)
{
	struct nest_open outer = { .end = 100, .id = 1, .sequence = 10, .start_ns = 0, .end_ns = 100 };
	struct nest_open inside = { .end = 100, .id = 2, .sequence = 5, .start_ns = 100, .end_ns = 100 };
	struct nest_open behind = { .end = 100, .id = 3, .sequence = 15, .start_ns = 100, .end_ns = 100 };
	struct nest_place placed;

	ck_assert(nest_slice(&nest, 0, &outer, &placed));
	ck_assert(nest_slice(&nest, 100, &inside, &placed));
	check_place(placed, 0, 1, 1);
	ck_assert(nest_slice(&nest, 100, &behind, &placed));
	check_place(placed, 0, 0, 0);
	nest_deinit(&nest);
}
END_TEST

START_TEST(open_without_an_end)
{
	check_place(place(0, UINT64_MAX, 1), 0, 0, 0);
	check_place(place(5, UINT64_MAX, 2), 0, 1, 1);
	check_place(place(1000, 2000, 3), 0, 2, 2);
	nest_deinit(&nest);
}
END_TEST

/* More overlaps than lanes: the last one is shared, nothing is lost. */
START_TEST(too_many_lanes)
{
	for (uint64_t i = 0; i < NEST_LANES_MAX + 100; i++)
		ck_assert_uint_eq(place(i, 100000 + i, i + 1).lane, i < NEST_LANES_MAX ? i : NEST_LANES_MAX - 1);
	nest_deinit(&nest);
}
END_TEST

START_TEST(deep)
{
	for (uint64_t i = 0; i < 5000; i++)
		check_place(place(i, 100000 - i, i + 1), 0, (uint32_t)i, i);
	nest_deinit(&nest);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("nesting");
	TCase *tc = tcase_create("nesting");
	tcase_add_test(tc, nested);
	tcase_add_test(tc, overlapping);
	tcase_add_test(tc, moments);
	tcase_add_test(tc, at_the_end);
	tcase_add_test(tc, open_without_an_end);
	tcase_add_test(tc, too_many_lanes);
	tcase_add_test(tc, deep);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)

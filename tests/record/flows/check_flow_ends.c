/* Flows by number: their ends arrive in any order, many to one begin, more than are kept. */
#include "record/flows/flow_ends.h"

#include <stdlib.h>

#include "tests/support/check.h"

static struct flow_ends *flows;

static void set_up(void)
{
	flows = flow_ends_create();
	ck_assert_ptr_nonnull(flows);
}

static void tear_down(void)
{
	free(flows);
}

START_TEST(ends_after_the_begin_find_it)
{
	flow_ends_add_begin(flows, 7, 1);
	ck_assert_uint_eq(flow_ends_add_end(flows, 7, 2), 1);
	ck_assert_uint_eq(flow_ends_add_end(flows, 7, 3), 1);
	ck_assert_uint_eq(flow_ends_take_end(flows, 7), 0);
	ck_assert_uint_eq(flow_ends_add_end(flows, 8, 4), 0);
}
END_TEST

START_TEST(all_ends_before_the_begin_are_taken_once)
{
	uint64_t sum = 0, id, count = 0;

	for (id = 1; id <= 100; id++)
		ck_assert_uint_eq(flow_ends_add_end(flows, 5, id), 0);
	flow_ends_add_begin(flows, 5, 1000);
	while ((id = flow_ends_take_end(flows, 5))) {
		sum += id;
		count++;
	}
	ck_assert_uint_eq(count, 100);
	ck_assert_uint_eq(sum, 5050);
}
END_TEST

START_TEST(a_second_begin_replaces_the_first)
{
	flow_ends_add_end(flows, 5, 1);
	flow_ends_add_begin(flows, 5, 10);
	ck_assert_uint_eq(flow_ends_take_end(flows, 5), 1);
	flow_ends_add_begin(flows, 5, 11);
	ck_assert_uint_eq(flow_ends_add_end(flows, 5, 2), 11);
}
END_TEST

START_TEST(the_newest_ends_are_kept)
{
	const uint64_t count = 3 * FLOW_ENDS_MAX;
	for (uint64_t number = 1; number <= count; number++)
		flow_ends_add_begin(flows, number, number);
	for (uint64_t number = count; number > count - FLOW_ENDS_MAX; number--)
		ck_assert_uint_eq(flow_ends_add_end(flows, number, 1), number);
	ck_assert_uint_eq(flow_ends_add_end(flows, count - FLOW_ENDS_MAX, 1), 0);
}
END_TEST

static Suite *flow_ends_suite(void)
{
	Suite *suite = suite_create("flow_ends");
	TCase *tests = tcase_create("flow_ends");
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, ends_after_the_begin_find_it);
	tcase_add_test(tests, all_ends_before_the_begin_are_taken_once);
	tcase_add_test(tests, a_second_begin_replaces_the_first);
	tcase_add_test(tests, the_newest_ends_are_kept);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(flow_ends_suite)

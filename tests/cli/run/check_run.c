/* Items into order of start: what a thread records, in order of its end, and anything else; memory that is used
 * again. */
#include "timeline/merging/sorted_run.h"

#include "tests/support/check.h"

#define ITEMS 300

static uint64_t random_state = 99;

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(random_state >> 33) % limit;
}

static struct run from, to;
static struct start_order order;

static void tear_down(void)
{
	free(from.items);
	free(from.extras);
	free(to.items);
	free(to.extras);
	free(order.order);
	free(order.stack);
}

static void check_order(uint32_t count)
{
	check_ok(run_put_in_order(&to, &from, count, &order));
	ck_assert_uint_eq(to.end, count);
	uint64_t ids = 0;
	for (uint32_t i = 0; i < count; i++) {
		ids += to.items[i].id;
		if (i && !item_before(&to.items[i - 1], &to.items[i]))
			ck_abort_msg("item %u of %u", i, count);
		if (from.has_extras)
			ck_assert_uint_eq(to.extras[i].parent, to.items[i].id + 1);
	}
	ck_assert_uint_eq(ids, (uint64_t)count * (count + 1) / 2);
}

/* A thread: ids in order of begin, records in order of end, many at the same time. */
START_TEST(of_a_thread)
{
	for (unsigned round = 0; round < 200; round++) {
		uint32_t count = 0, depth = 0, target = 1 + random_below(ITEMS);
		struct item open[64];
		uint64_t now = 0, id = 0;
		check_ok(run_reserve(&from, ITEMS, false));
		while (count < target) {
			now += random_below(2);
			if (id < target && depth < 60 && (!depth || random_below(2))) {
				open[depth++] = (struct item){ .start_ns = (int64_t)now, .start_ticks = now, .id = ++id };
			} else {
				from.items[count] = open[--depth];
				from.items[count].end_ns = (int64_t)now;
				from.items[count++].end_ticks = now;
			}
		}
		check_order(count);
	}
}
END_TEST

START_TEST(of_no_order)
{
	for (unsigned round = 0; round < 200; round++) {
		uint32_t count = random_below(ITEMS) + 1;
		check_ok(run_reserve(&from, count, true));
		for (uint32_t i = 0; i < count; i++) {
			from.items[i] = (struct item){ .start_ns = random_below(40),
				                       .line = LINE_OTHER | random_below(3),
				                       .id = i + 1 };
			from.items[i].end_ns = from.items[i].start_ns + random_below(10);
			from.extras[i].parent = i + 2;
		}
		check_order(count);
	}
	check_order(0);
}
END_TEST

/* Such items are not copied; those that come next lie in other memory. */
START_TEST(in_order_already)
{
	for (unsigned round = 0; round < 200; round++) {
		uint32_t count = random_below(ITEMS) + 1;
		check_ok(run_reserve(&from, count, round % 2));
		for (uint32_t i = 0; i < count; i++) {
			from.items[i] = (struct item){ .start_ns = i, .start_ticks = i, .id = i + 1 };
			if (from.has_extras)
				from.extras[i].parent = i + 2;
		}
		struct item *items = from.items;
		check_order(count);
		ck_assert_ptr_eq(to.items, items);
		ck_assert_uint_eq(to.at, 0);
		for (uint32_t i = 0; i < count; i++)
			ck_assert_int_eq(to.starts[i], i);
	}
}
END_TEST

START_TEST(as_large_as_can_be)
{
	check_ok(run_reserve(&from, RUN_ITEMS_MAX, false));
	for (uint32_t i = 0; i < RUN_ITEMS_MAX; i++)
		from.items[i] = (struct item){ .start_ns = (int64_t)(RUN_ITEMS_MAX - i),
			                       .start_ticks = RUN_ITEMS_MAX - i,
			                       .id = i + 1 };
	check_order(RUN_ITEMS_MAX);
	for (uint32_t i = 0; i < RUN_ITEMS_MAX; i++)
		from.items[i].start_ns = random_below(1000);
	check_order(RUN_ITEMS_MAX);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("run");
	TCase *tc = tcase_create("run");
	tcase_add_checked_fixture(tc, NULL, tear_down);
	tcase_add_test(tc, of_a_thread);
	tcase_add_test(tc, of_no_order);
	tcase_add_test(tc, in_order_already);
	tcase_add_test(tc, as_large_as_can_be);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)

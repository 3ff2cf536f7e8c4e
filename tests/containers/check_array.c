/* Arrays that grow: the room doubles, a failure leaves the array as it was, sizes do not overflow. */
#include "tests/containers/failing_alloc.h"
#include "tests/support/check.h"

#include "containers/array.c"

START_TEST(room_at_least_doubles)
{
	uint32_t *items = NULL;
	size_t room = 0, growths = 0;

	for (size_t count = 0; count < 100000; count++) {
		size_t before = room;
		ck_assert(array_reserve(&items, &room, count + 1, sizeof(*items)));
		ck_assert_uint_ge(room, count + 1);
		ck_assert(room == before || room >= before * 2);
		growths += room != before;
		items[count] = (uint32_t)count;
	}
	ck_assert_uint_lt(growths, 20);
	for (size_t i = 0; i < 100000; i++)
		MUST(items[i] == i);
	ck_assert(array_reserve(&items, &room, 1000000, sizeof(*items)));
	ck_assert_uint_eq(room, 1000000);
	ck_assert(items[99999] == 99999);
	free(items);
}
END_TEST

START_TEST(new_items_are_zero_where_asked_for)
{
	uint32_t *items = NULL;
	size_t room = 0;

	ck_assert(array_reserve_zeroed(&items, &room, 0, sizeof(*items)) && !items);
	for (size_t count = 1; count < 5000; count = count * 3 / 2 + 1) {
		size_t before = room;
		ck_assert(array_reserve_zeroed(&items, &room, count, sizeof(*items)));
		for (size_t i = 0; i < room; i++)
			MUST(items[i] == (i < before ? i + 1 : 0));
		for (size_t i = before; i < room; i++)
			items[i] = (uint32_t)i + 1;
	}
	allocs_left = 0;
	ck_assert(!array_reserve_zeroed(&items, &room, room + 1, sizeof(*items)));
	ck_assert_uint_eq(items[room - 1], room);
	free(items);
}
END_TEST

START_TEST(a_failure_leaves_the_array_unchanged)
{
	char *items = NULL;
	size_t room = 0;

	allocs_left = 0;
	ck_assert(!array_reserve(&items, &room, 1, 1));
	ck_assert(!items && !room);
	allocs_left = 1;
	ck_assert(array_reserve(&items, &room, 3, 1));
	memcpy(items, "ab", 3);
	char *before = items;
	size_t before_room = room;
	ck_assert(!array_reserve(&items, &room, before_room + 1, 1));
	ck_assert(items == before && room == before_room && !strcmp(items, "ab"));
	ck_assert(array_reserve(&items, &room, before_room, 1)); /* allocates nothing */
	free(items);
}
END_TEST

START_TEST(a_size_that_overflows_is_refused)
{
	const volatile size_t most = SIZE_MAX; /* the compiler would warn of a constant */
	uint64_t *items = NULL;
	size_t room = 0;

	ck_assert(!array_reserve(&items, &room, most / 8 + 1, sizeof(*items)));
	ck_assert(!array_reserve(&items, &room, most, sizeof(*items)));
	room = most / 2 + 1; /* doubling overflows */
	ck_assert(!array_reserve(&items, &room, most / 2 + 2, sizeof(*items)));
	ck_assert(!items);
}
END_TEST

static Suite *array_suite(void)
{
	Suite *suite = suite_create("array");
	TCase *tests = tcase_create("array");

	tcase_add_test(tests, room_at_least_doubles);
	tcase_add_test(tests, new_items_are_zero_where_asked_for);
	tcase_add_test(tests, a_failure_leaves_the_array_unchanged);
	tcase_add_test(tests, a_size_that_overflows_is_refused);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(array_suite)

/* Ends by the id of their event; of two ends of one id the earlier counts. */
#include "timeline/merging/separate_ends.h"

#include "tests/support/check.h"

START_TEST(many)
{
	struct ends ends = { 0 };

	ck_assert_ptr_null(ends_find(&ends, 0, 5));
	for (uint64_t id = 1; id <= 10000; id++)
		check_ok(ends_add(&ends, &(struct end){ .id = id << 20, .ticks = id, .block = 7 }));
	check_ok(ends_add(&ends, &(struct end){ .id = 1 << 20, .ticks = 100, .block = 8 }));
	check_ok(ends_add(&ends, &(struct end){ .id = 2 << 20, .ticks = 1, .block = 8 }));
	check_ok(ends_add(&ends, &(struct end){ .id = 3 << 20, .ticks = 1, .source = 1, .block = 9 }));
	check_ok(ends_add(&ends, &(struct end){ .id = 3 << 20, .ticks = 2, .source = 257, .block = 9 }));
	check_ok(ends_add(&ends, &(struct end){ .id = 0, .ticks = 1 }));
	ck_assert_uint_eq(ends.count, 10002);
	ck_assert_uint_eq(ends_find(&ends, 0, 1 << 20)->block, 7);
	ck_assert_uint_eq(ends_find(&ends, 0, 2 << 20)->block, 8);
	ck_assert_uint_eq(ends_find(&ends, 0, 3 << 20)->ticks, 3);
	ck_assert_uint_eq(ends_find(&ends, 1, 3 << 20)->ticks, 1);
	ck_assert_uint_eq(ends_find(&ends, 257, 3 << 20)->ticks, 2);
	ck_assert_ptr_null(ends_find(&ends, 1, 4 << 20));
	ck_assert_ptr_null(ends_find(&ends, 0, 0));
	for (uint64_t id = 5; id <= 10000; id++)
		if (ends_find(&ends, 0, id << 20)->ticks != id)
			ck_abort_msg("id %llu", (unsigned long long)id);
	ends_deinit(&ends);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("ends");
	TCase *tc = tcase_create("ends");
	tcase_add_test(tc, many);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)

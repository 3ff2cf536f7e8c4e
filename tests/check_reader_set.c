/* Sets of numbers: 0, runs of numbers, numbers that collide. */
#include "file/reader_set.h"

#include "tests/check.h"

START_TEST(numbers)
{
	struct reader_set set = { 0 };
	bool added;
	ck_assert(!reader_set_has(&set, 0));
	ck_assert(!reader_set_has(&set, 1));
	static const uint64_t steps[] = { 1, 64, 1ull << 20, 1ull << 44, 0x9e3779b97f4a7c15u };
	for (size_t s = 0; s < sizeof(steps) / sizeof(*steps); s++) {
		uint64_t fails = 0;
		for (uint64_t i = 0; i < 5000; i++) {
			uint64_t number = (s + 1) * 1000003 + i * steps[s];
			fails += reader_set_has(&set, number);
			fails += !reader_set_add(&set, number, &added) || !added;
			fails += !reader_set_add(&set, number, &added) || added;
			fails += !reader_set_has(&set, number);
		}
		ck_assert_uint_eq(fails, 0);
	}
	ck_assert_uint_eq(set.count, 25000);
	ck_assert(!reader_set_has(&set, 0));
	ck_assert(reader_set_add(&set, 0, &added) && added);
	ck_assert(reader_set_add(&set, 0, &added) && !added);
	ck_assert(reader_set_has(&set, 0));
	ck_assert(reader_set_add(&set, UINT64_MAX, &added) && added);
	ck_assert(reader_set_has(&set, UINT64_MAX));
	reader_set_deinit(&set);
	ck_assert(!reader_set_has(&set, UINT64_MAX));
	ck_assert(!reader_set_has(&set, 0));
}
END_TEST

static Suite *set_suite(void)
{
	Suite *suite = suite_create("reader_set");
	TCase *cases = tcase_create("all");
	tcase_add_test(cases, numbers);
	suite_add_tcase(suite, cases);
	return suite;
}

CHECK_MAIN(set_suite)

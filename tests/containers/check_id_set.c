/* Sets of ids: dense, far apart, of several sources, at both ends of the range, twice; allocations that fail. */
#include "tests/containers/failing_alloc.h"
#include "tests/support/check.h"

#include "containers/array.c"
#include "containers/hash_index.c"
#include "containers/id_set.c"

START_TEST(ids_of_several_sources)
{
	struct id_set set = { 0 };
	bool added;

	ck_assert(!id_set_has(&set, 0, 5));
	for (uint64_t i = 0; i < 200; i++) {
		for (uint32_t source = 0; source < 3; source++) {
			uint64_t id = i * 0x123456789abcull + 7;
			ck_assert(id_set_add(&set, source, id, &added) && added);
			ck_assert(id_set_add(&set, source, id, &added) && !added);
			ck_assert(id_set_has(&set, source, id));
			ck_assert(!id_set_has(&set, source, id + 1));
			ck_assert(!id_set_has(&set, source + 3, id));
		}
	}
	id_set_deinit(&set);
	ck_assert(!id_set_has(&set, 0, 7));
}
END_TEST

START_TEST(ids_next_to_each_other_and_at_both_ends)
{
	struct id_set set = { 0 };
	bool added;

	for (uint64_t id = UINT64_MAX - 10; id; id++)
		ck_assert(id_set_add(&set, 0, id, &added) && added);
	ck_assert(!id_set_has(&set, 0, 0));
	ck_assert(id_set_add(&set, 0, 0, &added) && added);
	ck_assert(id_set_add(&set, 0, 0, &added) && !added);
	ck_assert(id_set_has(&set, 0, 0) && id_set_has(&set, 0, UINT64_MAX) && !id_set_has(&set, 0, 1));
	for (uint64_t id = 1; id < 100000; id++)
		MUST(id_set_add(&set, 0, id, &added) && added);
	/* From a page to another one and back. */
	for (uint64_t id = 1; id < 50000; id++)
		MUST(id_set_has(&set, 0, id) && id_set_has(&set, 0, 99999 - id) && !id_set_has(&set, 0, id + 100000));
	ck_assert_uint_eq(set.pages_count, 100000 / ID_SET_PAGE_IDS + 2);
	id_set_deinit(&set);
}
END_TEST

START_TEST(a_failure_leaves_the_set_unchanged)
{
	for (int allocs = 0; allocs < 6; allocs++) {
		struct id_set set = { 0 };
		uint64_t count = 0;
		bool added;
		allocs_left = allocs;
		while (id_set_add(&set, 1, count * ID_SET_PAGE_IDS, &added))
			count++;
		ck_assert(!added);
		ck_assert(!id_set_has(&set, 1, count * ID_SET_PAGE_IDS));
		for (uint64_t i = 0; i < count; i++)
			MUST(id_set_has(&set, 1, i * ID_SET_PAGE_IDS));
		allocs_left = -1;
		ck_assert(id_set_add(&set, 1, count * ID_SET_PAGE_IDS, &added) && added);
		id_set_deinit(&set);
	}
}
END_TEST

static Suite *id_set_suite(void)
{
	Suite *suite = suite_create("id_set");
	TCase *tests = tcase_create("id_set");

	tcase_add_test(tests, ids_of_several_sources);
	tcase_add_test(tests, ids_next_to_each_other_and_at_both_ends);
	tcase_add_test(tests, a_failure_leaves_the_set_unchanged);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(id_set_suite)

/* Sets of ids: dense, far apart, of several sources, at both ends of the range. */
#include "file/validate_ids.h"

#include "tests/check.h"

START_TEST(sets_of_ids)
{
	struct validate_ids ids = { 0 };
	bool doubled;
	ck_assert(!validate_ids_has(&ids, 0, 5));
	for (uint64_t i = 0; i < 200; i++) {
		for (uint32_t source = 0; source < 3; source++) {
			uint64_t id = i * 0x123456789abcull + 7;
			ck_assert(validate_ids_add(&ids, source, id, &doubled));
			ck_assert(!doubled);
			ck_assert(validate_ids_add(&ids, source, id, &doubled));
			ck_assert(doubled);
			ck_assert(validate_ids_has(&ids, source, id));
			ck_assert(!validate_ids_has(&ids, source, id + 1));
			ck_assert(!validate_ids_has(&ids, source + 3, id));
		}
	}
	for (uint64_t id = UINT64_MAX - 10; id; id++)
		ck_assert(validate_ids_add(&ids, 0, id, &doubled) && !doubled);
	ck_assert(validate_ids_add(&ids, 0, 0, &doubled) && !doubled);
	ck_assert(validate_ids_has(&ids, 0, 0) && validate_ids_has(&ids, 0, UINT64_MAX) && !validate_ids_has(&ids, 0, 1));
	validate_ids_deinit(&ids);
	ck_assert(!validate_ids_has(&ids, 0, 0));
}
END_TEST

static Suite *ids_suite(void)
{
	Suite *suite = suite_create("validate_ids");
	TCase *cases = tcase_create("all");
	tcase_add_test(cases, sets_of_ids);
	suite_add_tcase(suite, cases);
	return suite;
}

CHECK_MAIN(ids_suite)

/* Maps from numbers to numbers: any key, growth, allocations that fail. */
#include "tests/containers/failing_alloc.h"
#include "tests/support/check.h"

#include "containers/array.c"
#include "containers/hash_index.c"
#include "containers/hash_map.c"

START_TEST(values_are_found_by_their_keys)
{
	static const uint64_t steps[] = { 1, 64, 1ull << 20, 1ull << 44, 0x9e3779b97f4a7c15u };
	struct hash_map map = { 0 };

	ck_assert(!hash_map_find(&map, 0));
	for (size_t s = 0; s < sizeof(steps) / sizeof(*steps); s++) {
		for (uint64_t i = 0; i < 5000; i++) {
			uint64_t key = (s + 1) * 1000003 + i * steps[s];
			MUST(!hash_map_find(&map, key));
			MUST(hash_map_add(&map, key, ~key));
			MUST(*hash_map_find(&map, key) == ~key);
		}
	}
	ck_assert(!hash_map_find(&map, 0) && !hash_map_find(&map, UINT64_MAX));
	ck_assert(hash_map_add(&map, 0, 0) && hash_map_add(&map, UINT64_MAX, 5));
	ck_assert_uint_eq(*hash_map_find(&map, 0), 0);
	*hash_map_find(&map, UINT64_MAX) = 6;
	ck_assert_uint_eq(*hash_map_find(&map, UINT64_MAX), 6);
	ck_assert_uint_eq(map.count, 25002);
	/* In the order in which they were added. */
	ck_assert_uint_eq(map.entries[0].key, 1000003);
	ck_assert_uint_eq(map.entries[25001].key, UINT64_MAX);
	hash_map_deinit(&map);
	ck_assert(!hash_map_find(&map, 0));
}
END_TEST

START_TEST(a_failure_leaves_the_map_unchanged)
{
	for (int allocs = 0; allocs < 8; allocs++) {
		struct hash_map map = { 0 };
		uint64_t count = 0;
		allocs_left = allocs;
		while (hash_map_add(&map, count, count + 1))
			count++;
		ck_assert_uint_eq(map.count, count);
		ck_assert(!hash_map_find(&map, count));
		for (uint64_t i = 0; i < count; i++)
			MUST(*hash_map_find(&map, i) == i + 1);
		allocs_left = -1;
		ck_assert(hash_map_add(&map, count, 9) && *hash_map_find(&map, count) == 9);
		hash_map_deinit(&map);
	}
}
END_TEST

static Suite *hash_map_suite(void)
{
	Suite *suite = suite_create("hash_map");
	TCase *tests = tcase_create("hash_map");

	tcase_add_test(tests, values_are_found_by_their_keys);
	tcase_add_test(tests, a_failure_leaves_the_map_unchanged);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(hash_map_suite)

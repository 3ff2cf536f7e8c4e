/* Sorting numbers by their keys, compared with qsort. */
#include <stdlib.h>
#include <string.h>

#include "containers/radix_sort.h"
#include "tests/support/check.h"

#define MOST 3000u

static uint64_t keys[MOST];

static int compare(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	if (keys[a] != keys[b])
		return keys[a] < keys[b] ? -1 : 1;
	return (a > b) - (a < b);
}

START_TEST(like_a_stable_sort)
{
	static const uint64_t masks[] = { 0, 1, 0xFF, 0xFF00, 0xFFFF, 0xF000000000000000, 0xFF00000000FF0003, UINT64_MAX };
	static const uint32_t counts[] = { 0, 1, 2, 3, 255, 256, 257, MOST };
	uint32_t order[MOST], spare[MOST], right[MOST];
	uint64_t random = 1;

	for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
		for (size_t j = 0; j < sizeof counts / sizeof *counts; j++) {
			for (uint32_t k = 0; k < counts[j]; k++) {
				random = random * 6364136223846793005u + 1442695040888963407u;
				keys[k] = (random ^ random >> 29) & masks[i];
				order[k] = right[k] = k;
			}
			qsort(right, counts[j], sizeof *right, compare);
			radix_sort(order, spare, keys, counts[j]);
			ck_assert_mem_eq(order, right, counts[j] * sizeof *order);
			/* Sorted numbers stay sorted. */
			radix_sort(order, spare, keys, counts[j]);
			ck_assert_mem_eq(order, right, counts[j] * sizeof *order);
		}
	}
}
END_TEST

/* The last key first. */
START_TEST(by_two_keys)
{
	uint32_t order[] = { 0, 1, 2, 3, 4, 5 }, spare[6];
	const uint64_t lower[] = { 9, 300, 7, 1, 300, 0 }, upper[] = { 5, 5, 4, 5, 4, 6 };
	static const uint32_t right[] = { 2, 4, 3, 0, 1, 5 };

	radix_sort(order, spare, lower, 6);
	radix_sort(order, spare, upper, 6);
	ck_assert_mem_eq(order, right, sizeof right);
}
END_TEST

static Suite *radix_sort_suite(void)
{
	Suite *suite = suite_create("radix_sort");
	TCase *tests = tcase_create("radix_sort");

	tcase_add_test(tests, like_a_stable_sort);
	tcase_add_test(tests, by_two_keys);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(radix_sort_suite)

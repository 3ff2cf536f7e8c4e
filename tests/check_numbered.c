/* Numbered byte strings: equal ones have one number, and numbers stay while many more come. */
#include "export/numbered.h"

#include <string.h>

#include "tests/check.h"

#define COUNT 20000u

static struct numbered numbered;

static uint32_t number_of(const void *bytes, size_t count)
{
	uint32_t number = UINT32_MAX;

	check_ok(numbered_add(&numbered, bytes, count, &number));
	return number;
}

START_TEST(numbers_are_in_the_order_in_which_strings_come)
{
	char text[32];

	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < COUNT; i++)
			ck_assert_uint_eq(number_of(text, (size_t)snprintf(text, sizeof text, "%*u", i % 20, i)), i);
		ck_assert_uint_eq(numbered.count, COUNT);
	}
	for (unsigned i = 0; i < COUNT; i++) {
		size_t count, expected = (size_t)snprintf(text, sizeof text, "%*u", i % 20, i);
		const char *bytes = numbered_bytes(&numbered, i, &count);
		ck_assert_uint_eq(count, expected);
		ck_assert_mem_eq(bytes, text, count);
	}
	numbered_clear(&numbered);
	ck_assert_uint_eq(numbered.count, 0);
	ck_assert_uint_eq(number_of("19", 2), 0);
	numbered_deinit(&numbered);
}
END_TEST

START_TEST(strings_of_any_bytes_and_lengths)
{
	static const char zeros[64];

	ck_assert_uint_eq(number_of(NULL, 0), 0);
	for (uint32_t i = 1; i < sizeof zeros; i++)
		ck_assert_uint_eq(number_of(zeros, i), i);
	for (uint32_t i = 0; i < sizeof zeros; i++)
		ck_assert_uint_eq(number_of(zeros, i), i);
	numbered_deinit(&numbered);
	numbered_deinit(&numbered);
	numbered_clear(&numbered);
	ck_assert_uint_eq(number_of("again", 5), 0);
	numbered_deinit(&numbered);
}
END_TEST

static Suite *numbered_suite(void)
{
	Suite *suite = suite_create("numbered");
	TCase *tests = tcase_create("numbered");

	tcase_add_test(tests, numbers_are_in_the_order_in_which_strings_come);
	tcase_add_test(tests, strings_of_any_bytes_and_lengths);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(numbered_suite)

/* Tables of strings: equal ones have one number, any bytes, growth, allocations that fail. */
#include "tests/containers/failing_alloc.h"
#include "tests/support/check.h"

#include "containers/array.c"
#include "containers/hash_index.c"
#include "containers/string_table.c"

static uint32_t add(struct string_table *table, const char *bytes, size_t count)
{
	uint32_t number;

	MUST(string_table_add(table, bytes, count, &number));
	return number;
}

START_TEST(equal_strings_have_one_number)
{
	struct string_table table = { 0 };
	char text[16];

	ck_assert_uint_eq(string_table_find(&table, "a", 1), STRING_TABLE_NONE);
	for (unsigned turn = 0; turn < 2; turn++) {
		for (uint32_t i = 0; i < 5000; i++) {
			size_t count = (size_t)snprintf(text, sizeof text, "%u", i * 7);
			MUST(add(&table, text, count) == i);
		}
	}
	ck_assert_uint_eq(table.count, 5000);
	for (uint32_t i = 0; i < 5000; i++) {
		size_t count, expected = (size_t)snprintf(text, sizeof text, "%u", i * 7);
		const char *bytes = string_table_bytes(&table, i, &count);
		MUST(count == expected && !memcmp(bytes, text, count));
		MUST(string_table_find(&table, text, expected) == i);
	}
	ck_assert_uint_eq(string_table_find(&table, "1", 1), STRING_TABLE_NONE);
	string_table_clear(&table);
	ck_assert_uint_eq(string_table_find(&table, "0", 1), STRING_TABLE_NONE);
	ck_assert_uint_eq(add(&table, "7", 1), 0);
	string_table_deinit(&table);
}
END_TEST

START_TEST(strings_hold_any_bytes)
{
	struct string_table table = { 0 };
	size_t count;

	ck_assert_uint_eq(add(&table, NULL, 0), 0);
	ck_assert_uint_eq(add(&table, "", 0), 0);
	ck_assert_uint_eq(add(&table, "\0", 1), 1);
	ck_assert_uint_eq(add(&table, "\0\0", 2), 2);
	ck_assert_uint_eq(add(&table, "a\0b", 3), 3);
	ck_assert_uint_eq(add(&table, "a\0c", 3), 4);
	ck_assert_uint_eq(add(&table, "a\0b", 3), 3);
	ck_assert_ptr_nonnull(string_table_bytes(&table, 0, &count));
	ck_assert_uint_eq(count, 0);
	ck_assert_mem_eq(string_table_bytes(&table, 4, &count), "a\0c", 3);
	string_table_deinit(&table);
	string_table_clear(&table);
	string_table_deinit(&table);
}
END_TEST

START_TEST(a_failure_leaves_the_table_unchanged)
{
	for (int allocs = 0; allocs < 10; allocs++) {
		struct string_table table = { 0 };
		uint32_t count = 0, number;
		allocs_left = allocs;
		while (string_table_add(&table, &count, sizeof count, &number))
			count++;
		ck_assert_uint_eq(table.count, count);
		ck_assert_uint_eq(table.bytes_count, count * sizeof count);
		ck_assert_uint_eq(string_table_find(&table, &count, sizeof count), STRING_TABLE_NONE);
		for (uint32_t i = 0; i < count; i++)
			MUST(string_table_find(&table, &i, sizeof i) == i);
		allocs_left = -1;
		ck_assert(string_table_add(&table, &count, sizeof count, &number) && number == count);
		string_table_deinit(&table);
	}
}
END_TEST

static Suite *string_table_suite(void)
{
	Suite *suite = suite_create("string_table");
	TCase *tests = tcase_create("string_table");

	tcase_add_test(tests, equal_strings_have_one_number);
	tcase_add_test(tests, strings_hold_any_bytes);
	tcase_add_test(tests, a_failure_leaves_the_table_unchanged);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(string_table_suite)

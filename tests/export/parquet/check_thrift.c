/* Thrift's compact protocol: bytes as its specification has them, and what is written reads back the same. */
#include "export/parquet/thrift.h"

#include "tests/support/check.h"
#include "tests/support/thrift_text.h"

static char room[1 << 20];

static struct thrift_field read_back(const struct thrift *thrift)
{
	struct thrift_cursor cursor = { (const uint8_t *)room, (const uint8_t *)thrift->at };
	struct thrift_field field = { .type = THRIFT_STRUCT };

	thrift_read(&cursor, &field);
	ck_assert_ptr_eq(cursor.at, cursor.end);
	return field;
}

START_TEST(bytes_are_those_of_the_specification)
{
	struct thrift thrift = thrift_begin(room);

	thrift_i32(&thrift, 1, -1);
	thrift_i64(&thrift, 2, 150);
	thrift_bool(&thrift, 4, true);
	thrift_bool(&thrift, 5, false);
	thrift_text(&thrift, 6, "ab");
	thrift_list(&thrift, 7, THRIFT_I32, 2);
	thrift_i32(&thrift, 0, 1);
	thrift_i32(&thrift, 0, -2);
	thrift_struct(&thrift, 40); /* too far for the head */
	thrift_i32(&thrift, 1, 0);
	thrift_end(&thrift);
	thrift_end(&thrift);
	static const char expected[] = "\x15\x01"
				       "\x16\xac\x02"
				       "\x21"
				       "\x12"
				       "\x18\x02"
				       "ab"
				       "\x19\x25\x02\x03"
				       "\x0c\x50"
				       "\x15\x00\x00"
				       "\x00";
	ck_assert_int_eq(thrift.at - room, (int)sizeof expected - 1);
	ck_assert_mem_eq(room, expected, sizeof expected - 1);
}
END_TEST

START_TEST(numbers_read_back_the_same)
{
	for (unsigned bit = 0; bit < 64; bit++) {
		for (int near = -1; near <= 1; near++) {
			int64_t value = (int64_t)((UINT64_C(1) << bit) + (uint64_t)near);
			struct thrift thrift = thrift_begin(room);
			thrift_i64(&thrift, 3, value);
			thrift_i32(&thrift, 30, (int32_t)value);
			ck_assert_int_le(thrift.at - room, 2 * THRIFT_FIELD_BYTES);
			thrift_end(&thrift);
			struct thrift_field all = read_back(&thrift);
			ck_assert_int_eq(thrift_integer(&all, 3), value);
			ck_assert_int_eq(thrift_integer(&all, 30), (int32_t)value);
		}
	}
}
END_TEST

/* Structs in lists in structs, and what comes behind them counts on from where it was. */
START_TEST(structs_nest)
{
	static const size_t counts[] = { 0, 1, 14, 15, 200, 20000 };

	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		struct thrift thrift = thrift_begin(room);
		thrift_list(&thrift, 2, THRIFT_STRUCT, counts[i]);
		for (size_t j = 0; j < counts[i]; j++) {
			thrift_struct(&thrift, 0);
			thrift_i32(&thrift, 1, (int32_t)j);
			thrift_struct(&thrift, 2);
			thrift_text(&thrift, 1, "inner");
			thrift_end(&thrift);
			thrift_i32(&thrift, 3, -(int32_t)j);
			thrift_end(&thrift);
		}
		thrift_i32(&thrift, 3, 7);
		thrift_end(&thrift);
		struct thrift_field all = read_back(&thrift), list = thrift_get(&all, 2);
		ck_assert_uint_eq(list.count, counts[i]);
		ck_assert_int_eq(thrift_integer(&all, 3), 7);
		for (size_t j = 0; j < counts[i]; j += 199) {
			struct thrift_field item = thrift_element(&list, j), inner = thrift_get(&item, 2);
			struct thrift_field text = thrift_get(&inner, 1);
			char *copy = thrift_copy(&text);
			ck_assert_str_eq(copy, "inner");
			free(copy);
			ck_assert_int_eq(thrift_integer(&item, 3), -(int64_t)j);
		}
	}
}
END_TEST

static Suite *thrift_suite(void)
{
	Suite *suite = suite_create("thrift");
	TCase *tests = tcase_create("thrift");

	tcase_add_test(tests, bytes_are_those_of_the_specification);
	tcase_add_test(tests, numbers_read_back_the_same);
	tcase_add_test(tests, structs_nest);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(thrift_suite)

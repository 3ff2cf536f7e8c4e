/* The encodings of Parquet's pages: every width, every count around the sizes of blocks, and what a reader that was written
 * from the format's description makes of them. */
#include "wire/parquet_values.h"

#include <string.h>

#include "tests/check.h"
#include "tests/parquet_text.h"
#include "tests/random_values.h"

#define COUNT_MAX 700u

/* Memory that ends where the macro says, so that a sanitizer sees a write beyond it. */
static void check_delta(const int64_t *values, size_t count)
{
	char *room = malloc(PARQUET_DELTA_ROOM(count));
	int64_t *back = calloc(count + 1, sizeof *back);
	struct parquet_limits limits = { 5, 5 }, expected = limits;
	size_t bytes = (size_t)(parquet_delta(room, values, count, &limits) - room);

	ck_assert_uint_le(bytes, PARQUET_DELTA_ROOM(count));
	ck_assert_uint_eq(parquet_read_delta((uint8_t *)room, bytes, back, count), bytes);
	ck_assert(count == 0 || memcmp(values, back, count * sizeof *values) == 0);
	for (size_t i = 0; i < count; i++) {
		expected.least = values[i] < expected.least ? values[i] : expected.least;
		expected.largest = values[i] > expected.largest ? values[i] : expected.largest;
	}
	ck_assert_int_eq(limits.least, expected.least);
	ck_assert_int_eq(limits.largest, expected.largest);
	free(back);
	free(room);
}

static void check_packed(const uint32_t *values, size_t count, unsigned width)
{
	char *room = malloc(PARQUET_PACKED_ROOM(count, width));
	uint32_t *back = calloc(count + 1, sizeof *back);
	size_t bytes = (size_t)(parquet_packed(room, values, count, width) - room);

	ck_assert_uint_le(bytes, PARQUET_PACKED_ROOM(count, width));
	ck_assert_uint_eq(parquet_read_packed((uint8_t *)room, bytes, width, back, count), bytes);
	ck_assert(count == 0 || memcmp(values, back, count * sizeof *values) == 0);
	free(back);
	free(room);
}

/* The example of the format's description: 7, 5, 3, 1, 2, 3, 4, 5 has the first value 7 and the least difference -2. */
START_TEST(differences_are_those_of_the_specification)
{
	static const int64_t values[] = { 7, 5, 3, 1, 2, 3, 4, 5 };
	char *room = malloc(PARQUET_DELTA_ROOM(8));
	char *end = parquet_delta(room, values, 8, &(struct parquet_limits){ 0 });

	static const char expected[] = "\x80\x01"              /* 128 in a block */
				       "\x04"                  /* 4 groups */
				       "\x08"                  /* 8 values */
				       "\x0e"                  /* the first is 7 */
				       "\x03"                  /* the least difference is -2 */
				       "\x02\0\0\0"            /* 2 bits, nothing in the others */
				       "\xc0\x3f\0\0\0\0\0\0"; /* 0, 0, 0, 3, 3, 3, 3 */
	ck_assert_int_eq(end - room, (int)sizeof expected - 1);
	ck_assert_mem_eq(room, expected, sizeof expected - 1);
	free(room);
}
END_TEST

START_TEST(differences_of_every_width_and_count)
{
	int64_t values[COUNT_MAX];

	for (unsigned width = 0; width <= 64; width++) {
		for (size_t i = 0; i < COUNT_MAX; i++)
			values[i] = width ? (int64_t)(random_bits() >> (64 - width)) : -7;
		for (size_t count = 0; count <= COUNT_MAX; count += count < 300 ? 1 : 57)
			check_delta(values, count);
	}
}
END_TEST

START_TEST(differences_wrap)
{
	static const int64_t values[] = { INT64_MIN, INT64_MAX, INT64_MIN, 0, -1, INT64_MAX, INT64_MAX, 1 };

	check_delta(values, sizeof values / sizeof *values);
}
END_TEST

START_TEST(numbers_of_every_width_and_count)
{
	uint32_t values[COUNT_MAX];

	for (unsigned width = 1; width <= 32; width++) {
		for (size_t i = 0; i < COUNT_MAX; i++)
			values[i] = (uint32_t)(random_bits() >> 32) >> (32 - width);
		for (size_t count = 0; count <= COUNT_MAX; count += count < 300 ? 1 : 57)
			check_packed(values, count, width);
	}
}
END_TEST

START_TEST(one_number_is_said_once)
{
	uint32_t values[COUNT_MAX];
	char room[64];

	for (size_t i = 0; i < COUNT_MAX; i++)
		values[i] = 70000;
	for (size_t count = 1; count <= COUNT_MAX; count++) {
		check_packed(values, count, 17);
		char *big = malloc(PARQUET_PACKED_ROOM(count, 17));
		size_t bytes = (size_t)(parquet_packed(big, values, count, 17) - big);
		ck_assert_uint_le(bytes, 5);
		ck_assert_int_eq(parquet_repeated(room, 70000, count, 17) - room, (int)bytes);
		ck_assert_mem_eq(room, big, bytes);
		free(big);
	}
	/* But for the last one. */
	values[COUNT_MAX - 1] = 0;
	check_packed(values, COUNT_MAX, 17);
}
END_TEST

START_TEST(widths_are_as_small_as_can_be)
{
	ck_assert_uint_eq(parquet_width(0), 1);
	ck_assert_uint_eq(parquet_width(1), 1);
	ck_assert_uint_eq(parquet_width(2), 1);
	ck_assert_uint_eq(parquet_width(3), 2);
	ck_assert_uint_eq(parquet_width(4), 2);
	ck_assert_uint_eq(parquet_width(5), 3);
	ck_assert_uint_eq(parquet_width(1u << 31), 31);
	ck_assert_uint_eq(parquet_width(UINT32_MAX), 32);
}
END_TEST

static Suite *parquet_values_suite(void)
{
	Suite *suite = suite_create("parquet_values");
	TCase *tests = tcase_create("parquet_values");

	tcase_add_test(tests, differences_are_those_of_the_specification);
	tcase_add_test(tests, differences_of_every_width_and_count);
	tcase_add_test(tests, differences_wrap);
	tcase_add_test(tests, numbers_of_every_width_and_count);
	tcase_add_test(tests, one_number_is_said_once);
	tcase_add_test(tests, widths_are_as_small_as_can_be);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(parquet_values_suite)

/* Structs that begin with their size, of callers of other versions: runtime/base/options.h. */
#include <string.h>

#include "base/options.h"
#include "tests/support/check.h"

struct old {
	size_t struct_size;
	uint32_t first;
};

struct known {
	size_t struct_size;
	uint32_t first;
	uint32_t second;
	int64_t third;
};

struct newer {
	struct known known;
	uint64_t fourth;
};

static const struct known defaults = { .struct_size = sizeof(defaults), .first = 1, .second = 2, .third = -1 };

START_TEST(options_of_an_older_caller)
{
	struct known known = defaults;
	check_ok(options_take_over(&known, sizeof(known), NULL, "known"));
	ck_assert_mem_eq(&known, &defaults, sizeof(known));
	/* `second` is in the padding of the old struct: the size counts. */
	struct old old = { .struct_size = offsetof(struct known, second), .first = 7 };
	check_ok(options_take_over(&known, sizeof(known), &old, "known"));
	ck_assert_uint_eq(known.struct_size, sizeof(known));
	ck_assert_uint_eq(known.first, 7);
	ck_assert_uint_eq(known.second, 2);
	ck_assert_int_eq(known.third, -1);
	check_ok(options_take(&known, sizeof(known), &old, "known"));
	ck_assert_uint_eq(known.first, 7);
	ck_assert_uint_eq(known.second, 0);
	ck_assert_int_eq(known.third, 0);
	for (size_t bytes = 0; bytes < sizeof(size_t); bytes++) {
		old.struct_size = bytes;
		epp_status *status = options_take(&known, sizeof(known), &old, "known");
		ck_assert_int_eq(epp_status_code(status), EPP_INVALID_ARGUMENT);
		ck_assert_str_eq(epp_status_message(status), "known: struct_size is not set");
		epp_status_destroy(status);
	}
}
END_TEST

START_TEST(options_of_a_newer_caller)
{
	struct newer newer = { .known = { .struct_size = sizeof(newer), .first = 3, .third = 4 } };
	struct known known = defaults;
	check_ok(options_take_over(&known, sizeof(known), &newer, "known"));
	ck_assert_uint_eq(known.struct_size, sizeof(known));
	ck_assert_uint_eq(known.first, 3);
	ck_assert_uint_eq(known.second, 0);
	ck_assert_int_eq(known.third, 4);
	for (unsigned i = 0; i < sizeof(newer.fourth); i++) {
		newer.fourth = UINT64_C(1) << 8 * i;
		check_fails(EPP_INVALID_ARGUMENT, options_take_over(&known, sizeof(known), &newer, "known"));
	}
}
END_TEST

/* Of each size, the result ends where the caller's struct ends. */
START_TEST(results_are_filled_as_far_as_the_size)
{
	const struct known made = { .struct_size = 99, .first = 5, .second = 6, .third = 7 };
	unsigned char expected[sizeof(made)];
	memcpy(expected, &made, sizeof(made));
	for (size_t bytes = 0; bytes <= sizeof(struct newer); bytes++) {
		unsigned char given[sizeof(struct newer) + 8];
		memset(given, 0xaa, sizeof(given));
		memcpy(given, &bytes, sizeof(bytes));
		ck_assert_int_eq(options_fill(given, &made, sizeof(made)), bytes >= sizeof(bytes));
		ck_assert_mem_eq(given, &bytes, sizeof(bytes));
		for (size_t i = sizeof(bytes); i < sizeof(given); i++) {
			unsigned byte = i >= bytes ? 0xaa : i < sizeof(made) ? expected[i] : 0;
			ck_assert_msg(given[i] == byte, "byte %zu of %zu: %02x", i, bytes, given[i]);
		}
	}
}
END_TEST

static Suite *growing_structs_suite(void)
{
	Suite *suite = suite_create("growing_structs");
	TCase *tcase = tcase_create("growing_structs");
	tcase_add_test(tcase, options_of_an_older_caller);
	tcase_add_test(tcase, options_of_a_newer_caller);
	tcase_add_test(tcase, results_are_filled_as_far_as_the_size);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(growing_structs_suite)

/* The arithmetic of clock pairs on targets without __int128, against __int128. */
#define EPPROF_NO_INT128 1
#include "ep_kit/clock_pairs.h"
#include "tests/support/check.h"

__extension__ typedef unsigned __int128 u128;

static const uint64_t edges[] = { 0, 1, 2, UINT32_MAX, UINT64_C(1) << 32, UINT64_MAX >> 1, UINT64_C(1) << 63, UINT64_MAX };
#define EDGES (sizeof(edges) / sizeof(*edges))
#define RANDOM 300

static uint64_t state = 88172645463325252u;

/* An edge, or a random number of random width. */
static uint64_t operand(size_t i)
{
	if (i < EDGES)
		return edges[i];
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> (i % 64);
}

START_TEST(multiplication)
{
	for (size_t i = 0; i < RANDOM; i++) {
		for (size_t j = 0; j < RANDOM; j++) {
			uint64_t a = operand(i), b = operand(j), high, low = clock_fit_multiply(a, b, &high);
			u128 product = (u128)a * b;
			ck_assert_uint_eq(low, (uint64_t)product);
			ck_assert_uint_eq(high, (uint64_t)(product >> 64));
			uint32_t shift = (uint32_t)((i + j) % 64);
			ck_assert_uint_eq(clock_fit_shift(a, b, shift), (uint64_t)(product >> shift));
		}
	}
}
END_TEST

START_TEST(scaling)
{
	unsigned saturated = 0;
	for (size_t i = 0; i < RANDOM; i++) {
		for (size_t j = 0; j < RANDOM; j++) {
			uint64_t a = operand(i), b = operand(j), c = operand((i * 7 + j) % RANDOM);
			u128 expected = (u128)a * b / (c ? c : 1);
			saturated += expected >> 64 != 0;
			ck_assert_uint_eq(clock_fit_scale(a, b, c), expected >> 64 ? UINT64_MAX : (uint64_t)expected);
		}
	}
	ck_assert_uint_gt(saturated, RANDOM);
	ck_assert_uint_lt(saturated, RANDOM * RANDOM / 2);
}
END_TEST

static Suite *clock_arithmetic_suite(void)
{
	Suite *suite = suite_create("clock_arithmetic");
	TCase *tcase = tcase_create("without __int128");
	tcase_add_test(tcase, multiplication);
	tcase_add_test(tcase, scaling);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(clock_arithmetic_suite)

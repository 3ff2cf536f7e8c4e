/* The pool of PU1 buffers: what goes out comes back once, to whom it was given, in order. */
#include "tests/support/check.h"

#include <pthread.h>
#include <string.h>

#include "plugins/pu1/pu1_pool.h"

static uint8_t *taken[PU1_BUFFERS_COUNT];

static void take_all(void)
{
	ck_assert(pu1_pool_setup());
	ck_assert(pu1_pool_setup());
	for (size_t i = 0; i < PU1_BUFFERS_COUNT; i++) {
		taken[i] = pu1_pool_take(1);
		ck_assert_ptr_nonnull(taken[i]);
		ck_assert_uint_eq((uintptr_t)taken[i] % 8, 0);
	}
	ck_assert_ptr_null(pu1_pool_take(1));
	ck_assert_ptr_null(pu1_pool_take(0));
}

START_TEST(the_pool_has_its_buffers_and_no_more)
{
	size_t valid_bytes;
	ck_assert_ptr_null(pu1_pool_take(0)); /* not set up */
	ck_assert_ptr_nonnull(pu1_pool_return(0, (const uint8_t *)&valid_bytes, 0));
	take_all();
	for (size_t i = 0; i < PU1_BUFFERS_COUNT; i++) {
		memset(taken[i], (int)i, PU1_BUFFER_BYTES);
		ck_assert_ptr_null(pu1_pool_return(1, taken[i], i * 8));
	}
	ck_assert_ptr_null(pu1_pool_take(1)); /* full is not free */
	ck_assert_ptr_null(pu1_pool_next(0, &valid_bytes));
	ck_assert_uint_eq(pu1_pool_full_count(1), PU1_BUFFERS_COUNT);
	for (size_t i = 0; i < PU1_BUFFERS_COUNT; i++) {
		const uint8_t *next = pu1_pool_next(1, &valid_bytes);
		ck_assert_ptr_eq(next, taken[i]);
		ck_assert_uint_eq(valid_bytes, i * 8);
		ck_assert_uint_eq(next[PU1_BUFFER_BYTES - 1], i);
		pu1_pool_put_back(next);
		pu1_pool_put_back(next); /* twice is as once */
	}
	ck_assert_ptr_null(pu1_pool_next(1, &valid_bytes));
	pu1_pool_trim();
	take_all();
}
END_TEST

START_TEST(what_was_not_given_is_not_taken_back)
{
	size_t valid_bytes;
	take_all();
	ck_assert_ptr_nonnull(pu1_pool_return(1, NULL, 8));
	ck_assert_ptr_nonnull(pu1_pool_return(1, taken[0] + 8, 8));
	ck_assert_ptr_nonnull(pu1_pool_return(1, taken[0] + PU1_BUFFERS_COUNT * PU1_BUFFER_BYTES, 8));
	ck_assert_ptr_nonnull(pu1_pool_return(1, (const uint8_t *)taken, 8));
	ck_assert_ptr_nonnull(pu1_pool_return(2, taken[0], 8));
	ck_assert_uint_eq(pu1_pool_full_count(1) + pu1_pool_full_count(2), 0);

	ck_assert_ptr_null(pu1_pool_return(1, taken[0], 8));
	ck_assert_ptr_nonnull(pu1_pool_return(1, taken[0], 16)); /* twice */
	const uint8_t *next = pu1_pool_next(1, &valid_bytes);
	ck_assert_uint_eq(valid_bytes, 8);
	ck_assert_ptr_nonnull(pu1_pool_return(1, taken[0], 16)); /* while it is read */
	pu1_pool_put_back(next);
	ck_assert_ptr_nonnull(pu1_pool_return(1, taken[0], 16)); /* when it is free */
	ck_assert_ptr_null(pu1_pool_next(1, &valid_bytes));

	ck_assert_ptr_nonnull(pu1_pool_return(1, taken[1], SIZE_MAX));
	ck_assert_ptr_eq(pu1_pool_next(1, &valid_bytes), taken[1]);
	ck_assert_uint_eq(valid_bytes, PU1_BUFFER_BYTES);
}
END_TEST

static void *take_and_give(void *argument)
{
	unsigned owner = (unsigned)(uintptr_t)argument;
	for (int i = 0; i < 2000; i++) {
		size_t valid_bytes;
		uint8_t *buffer = pu1_pool_take(owner);
		if (!buffer)
			continue;
		buffer[0] = (uint8_t)owner;
		ck_assert_ptr_null(pu1_pool_return(owner, buffer, 8));
		const uint8_t *next = pu1_pool_next(owner, &valid_bytes);
		ck_assert_ptr_nonnull(next);
		ck_assert_uint_eq(next[0], owner);
		pu1_pool_put_back(next);
		pu1_pool_touch();
	}
	return NULL;
}

START_TEST(threads_do_not_share_a_buffer)
{
	pthread_t threads[4];
	ck_assert(pu1_pool_setup());
	for (uintptr_t i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, take_and_give, (void *)i), 0);
	for (size_t i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	take_all();
}
END_TEST

static Suite *pu1_pool_suite(void)
{
	Suite *suite = suite_create("pu1_pool");
	TCase *tests = tcase_create("pu1_pool");
	tcase_add_test(tests, the_pool_has_its_buffers_and_no_more);
	tcase_add_test(tests, what_was_not_given_is_not_taken_back);
	tcase_add_test(tests, threads_do_not_share_a_buffer);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(pu1_pool_suite)

/* The set of ids that are referred to: what was added is found, in dense and in sparse ranges, and nothing else is. */
#include "timeline/referred.h"

#include <string.h>

#include "tests/check.h"

#define FIRST 1700000000000000000ull

static struct referred_lookup lookup = { .key = UINT64_MAX };

START_TEST(dense)
{
	struct referred set = { 0 };
	uint32_t expected = 0;

	for (uint64_t i = 0; i < 200000; i++)
		if (i % 3 == 0 || i % 70000 < 600)
			check_ok(referred_add(&set, 0, FIRST + i));
	check_ok(referred_add(&set, 0, FIRST)); /* twice */
	check_ok(referred_seal(&set, true));
	for (uint64_t i = 0; i < 200000; i++) {
		bool in = i % 3 == 0 || i % 70000 < 600;
		uint32_t number = referred_find(&set, &lookup, 0, FIRST + i);
		if (number != (in ? expected : REFERRED_NONE))
			ck_abort_msg("id %llu has number %u", (unsigned long long)i, number);
		expected += in;
	}
	ck_assert_uint_eq(set.events_count, expected);
	ck_assert_int_eq(set.events[expected - 1].start_ns, INT64_MIN);
	/* 2 bits an id, as promised. */
	ck_assert_uint_le(set.pages_count * sizeof(*set.pages) + set.buckets_count * sizeof(*set.buckets),
	                  200000 / 4 + 4096);
	referred_deinit(&set);
}
END_TEST

START_TEST(sparse_and_sources)
{
	struct referred set = { 0 };
	uint64_t id = 1;
	for (unsigned i = 0; i < 20000; i++) {
		id = id * 6364136223846793005u + 1442695040888963407u;
		check_ok(referred_add(&set, i % 2, id));
	}
	check_ok(referred_add(&set, 0, 0)); /* no id */
	check_ok(referred_seal(&set, false));
	ck_assert_ptr_null(set.events);
	id = 1;
	for (unsigned i = 0; i < 20000; i++) {
		id = id * 6364136223846793005u + 1442695040888963407u;
		if (referred_find(&set, &lookup, i % 2, id) == REFERRED_NONE ||
		    referred_find(&set, &lookup, 1 - i % 2, id) != REFERRED_NONE ||
		    referred_find(&set, &lookup, i % 2, id + 1) != REFERRED_NONE)
			ck_abort_msg("id %u", i);
	}
	ck_assert_uint_eq(referred_find(&set, &lookup, 0, 0), REFERRED_NONE);
	referred_deinit(&set);
}
END_TEST

/* As many processes as a merged trace may hold, with the same ids. */
START_TEST(every_source_has_its_own)
{
	struct referred set = { 0 };

	for (uint32_t source = 0; source < UINT16_MAX; source++)
		check_ok(referred_add(&set, source, FIRST + source % 700));
	check_ok(referred_seal(&set, false));
	ck_assert_uint_eq(set.events_count, UINT16_MAX);
	for (uint32_t source = 0; source < UINT16_MAX; source++)
		if (referred_find(&set, &lookup, source, FIRST + source % 700) != source ||
		    referred_find(&set, &lookup, source, FIRST + (source + 1) % 700) != REFERRED_NONE)
			ck_abort_msg("source %u", source);
	referred_deinit(&set);
}
END_TEST

START_TEST(nothing)
{
	struct referred set = { 0 };
	check_ok(referred_seal(&set, true));
	ck_assert_uint_eq(referred_find(&set, &lookup, 0, 5), REFERRED_NONE);
	referred_deinit(&set);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("referred");
	TCase *tc = tcase_create("referred");
	tcase_add_test(tc, dense);
	tcase_add_test(tc, sparse_and_sources);
	tcase_add_test(tc, every_source_has_its_own);
	tcase_add_test(tc, nothing);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)

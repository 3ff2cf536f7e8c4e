/* Finding items by their hash: growth, items of equal hash, allocations that fail, how well hashes spread. */
#include "tests/containers/failing_alloc.h"
#include "tests/support/check.h"

#include "containers/hash_index.c"

/* How many of the items that the index finds by a hash are that number, and how many are others. */
static unsigned find(const struct hash_index *index, uint64_t hash, uint32_t wanted, unsigned *others)
{
	struct hash_probe probe = hash_index_probe(index, hash);
	unsigned found = 0;
	uint32_t number;

	for (*others = 0; hash_index_next(index, &probe, &number);)
		*(number == wanted ? &found : others) += 1;
	return found;
}

START_TEST(items_are_found_however_many_there_are)
{
	struct hash_index index = { 0 };
	unsigned others;

	ck_assert_uint_eq(find(&index, 1, 0, &others), 0);
	for (uint32_t i = 0; i < 20000; i++) {
		MUST(hash_index_add(&index, hash_u64(i), i));
		MUST(index.count * 5 <= index.room * 4 && !(index.room & (index.room - 1)));
		if (i & (i - 1))
			continue;
		for (uint32_t j = 0; j <= i; j++)
			MUST(find(&index, hash_u64(j), j, &others) == 1);
	}
	for (uint32_t i = 0; i < 20000; i++)
		MUST(find(&index, hash_u64(i + 20000), i, &others) == 0);
	hash_index_clear(&index);
	ck_assert_uint_eq(find(&index, hash_u64(5), 5, &others), 0);
	ck_assert(hash_index_add(&index, hash_u64(5), 7));
	ck_assert_uint_eq(find(&index, hash_u64(5), 7, &others), 1);
	hash_index_deinit(&index);
	ck_assert_uint_eq(find(&index, hash_u64(5), 7, &others), 0);
	hash_index_clear(&index);
	hash_index_deinit(&index);
}
END_TEST

START_TEST(items_of_equal_hash_are_all_found)
{
	static const uint64_t hashes[] = { 0, 1, UINT64_MAX, UINT64_MAX - 1, UINT64_C(63) << 32, UINT64_C(127) << 32 };
	struct hash_index index = { 0 };
	unsigned others;

	for (uint32_t i = 0; i < 600; i++)
		MUST(hash_index_add(&index, hashes[i % 6], i));
	for (uint32_t i = 0; i < 600; i++) {
		MUST(find(&index, hashes[i % 6], i, &others) == 1);
		MUST(others == 199 || (others == 99 && i % 6 > 3)); /* 32 bits of a hash are compared */
	}
	hash_index_deinit(&index);
}
END_TEST

START_TEST(a_failure_leaves_the_index_unchanged)
{
	struct hash_index index = { 0 };
	unsigned others;
	uint32_t count = 0;

	allocs_left = 0;
	ck_assert(!hash_index_add(&index, 1, 0));
	ck_assert_uint_eq(index.count, 0);
	allocs_left = 2;
	while (hash_index_add(&index, hash_u64(count), count))
		count++;
	ck_assert_uint_eq(index.count, count);
	ck_assert_uint_ge(count, 64);
	for (uint32_t i = 0; i < count; i++)
		MUST(find(&index, hash_u64(i), i, &others) == 1);
	allocs_left = -1;
	ck_assert(hash_index_add(&index, hash_u64(count), count));
	hash_index_deinit(&index);
}
END_TEST

/* The longest way to a free slot of 16384 keys: some 30 where a hash is random. */
static size_t longest_run(uint64_t (*hash_of)(uint64_t), uint64_t step)
{
	struct hash_index index = { 0 };
	size_t longest = 0, run = 0;

	for (uint32_t i = 0; i < 16384; i++)
		MUST(hash_index_add(&index, hash_of(i * step), i));
	for (size_t at = 0; at < index.room; at++) {
		run = index.slots[at].item ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	hash_index_deinit(&index);
	return longest;
}

static uint64_t of_source(uint64_t key)
{
	return hash_pair(key & 0xFFFFF, key >> 20);
}

static uint64_t of_text(uint64_t key)
{
	char text[24];

	return hash_bytes(text, (size_t)snprintf(text, sizeof text, "name_%llu", (unsigned long long)key));
}

START_TEST(keys_that_differ_in_a_few_bits_spread)
{
	for (unsigned shift = 0; shift < 50; shift++) {
		ck_assert_uint_lt(longest_run(hash_u64, UINT64_C(1) << shift), 120);
		ck_assert_uint_lt(longest_run(of_source, UINT64_C(1) << shift), 120);
	}
	ck_assert_uint_lt(longest_run(of_text, 1), 120);
}
END_TEST

START_TEST(bytes_are_hashed_whatever_their_number)
{
	static const char text[] = "abcdefghijklmnopqrstuvwxyz";

	ck_assert_uint_eq(hash_bytes(NULL, 0), hash_bytes(text, 0));
	for (size_t count = 0; count < sizeof text; count++) {
		char *copy = malloc(count ? count : 1); /* a sanitizer sees a step beyond */
		memcpy(copy, text, count);
		ck_assert_uint_eq(hash_bytes(copy, count), hash_bytes(text, count));
		for (size_t other = 0; other < count; other++)
			ck_assert_uint_ne(hash_bytes(text, other), hash_bytes(text, count));
		free(copy);
	}
	ck_assert_uint_ne(hash_bytes("\0", 1), hash_bytes("\0\0", 2));
}
END_TEST

static Suite *hash_index_suite(void)
{
	Suite *suite = suite_create("hash_index");
	TCase *tests = tcase_create("hash_index");

	tcase_add_test(tests, items_are_found_however_many_there_are);
	tcase_add_test(tests, items_of_equal_hash_are_all_found);
	tcase_add_test(tests, a_failure_leaves_the_index_unchanged);
	tcase_add_test(tests, keys_that_differ_in_a_few_bits_spread);
	tcase_add_test(tests, bytes_are_hashed_whatever_their_number);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(hash_index_suite)

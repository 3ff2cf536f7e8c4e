/* CRC-32C: known values, the instruction against the tables, and checksums taken in pieces. */
#include "codec/checksum.h"

#include <pthread.h>
#include <string.h>

#include "tests/support/check.h"

START_TEST(known_values)
{
	uint8_t zeros[32] = { 0 }, ones[32], counting[32];
	memset(ones, 0xff, sizeof(ones));
	for (unsigned i = 0; i < sizeof(counting); i++)
		counting[i] = (uint8_t)i;

	/* RFC 3720, B.4 */
	ck_assert_uint_eq(checksum_crc32c(0, zeros, sizeof(zeros)), 0x8a9136aau);
	ck_assert_uint_eq(checksum_crc32c(0, ones, sizeof(ones)), 0x62a8ab43u);
	ck_assert_uint_eq(checksum_crc32c(0, counting, sizeof(counting)), 0x46dd794eu);
	ck_assert_uint_eq(checksum_crc32c(0, "123456789", 9), 0xe3069283u);
	ck_assert_uint_eq(checksum_crc32c_portable(0, "123456789", 9), 0xe3069283u);
	ck_assert_uint_eq(checksum_crc32c(0, "", 0), 0);
	ck_assert_uint_eq(checksum_crc32c(0x12345678, "", 0), 0x12345678);
}
END_TEST

static uint8_t *fill(uint8_t *bytes, size_t count)
{
	uint32_t state = 12345;
	for (size_t i = 0; i < count; i++)
		bytes[i] = (uint8_t)((state = state * 1664525 + 1013904223) >> 24);
	return bytes;
}

START_TEST(both_ways_agree)
{
	uint8_t bytes[4096 + 16];
	fill(bytes, sizeof(bytes));
	for (size_t offset = 0; offset < 9; offset++)
		for (size_t length = 0; length < 300; length++)
			ck_assert_uint_eq(checksum_crc32c(7, bytes + offset, length),
			                  checksum_crc32c_portable(7, bytes + offset, length));
	ck_assert_uint_eq(checksum_crc32c(0, bytes, sizeof(bytes)), checksum_crc32c_portable(0, bytes, sizeof(bytes)));
}
END_TEST

START_TEST(in_pieces)
{
	uint8_t bytes[200];
	uint32_t whole = checksum_crc32c(0, fill(bytes, sizeof(bytes)), sizeof(bytes));
	for (size_t cut = 0; cut <= sizeof(bytes); cut++) {
		uint32_t first = checksum_crc32c(0, bytes, cut);
		ck_assert_uint_eq(checksum_crc32c(first, bytes + cut, sizeof(bytes) - cut), whole);
		ck_assert_uint_eq(checksum_crc32c_portable(first, bytes + cut, sizeof(bytes) - cut), whole);
	}
}
END_TEST

START_TEST(every_bit_counts)
{
	uint8_t bytes[64];
	uint32_t whole = checksum_crc32c(0, fill(bytes, sizeof(bytes)), sizeof(bytes));
	for (unsigned bit = 0; bit < 8 * sizeof(bytes); bit++) {
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		ck_assert_uint_ne(checksum_crc32c(0, bytes, sizeof(bytes)), whole);
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}
END_TEST

static void *first_call(void *result)
{
	*(uint32_t *)result = checksum_crc32c(0, "123456789", 9);
	return NULL;
}

/* The way is decided at the first call: several first calls at once must not disturb each other. */
START_TEST(threads)
{
	pthread_t thread[4];
	uint32_t result[4] = { 0 };
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, first_call, &result[i]), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(thread[i], NULL);
		ck_assert_uint_eq(result[i], 0xe3069283u);
	}
}
END_TEST

static Suite *checksum_suite(void)
{
	Suite *suite = suite_create("checksum");
	TCase *cases = tcase_create("all");
	tcase_add_test(cases, threads);
	tcase_add_test(cases, known_values);
	tcase_add_test(cases, both_ways_agree);
	tcase_add_test(cases, in_pieces);
	tcase_add_test(cases, every_bit_counts);
	suite_add_tcase(suite, cases);
	return suite;
}

CHECK_MAIN(checksum_suite)

/* The sorter against a plain array: in memory and through temporary files, found and contained; and where no temporary
 * file can be had.  Covers temp_file.c too. */
#include <string.h>

#include "import/sorter.h"
#include "tests/support/check.h"

#define MANY (3 * SORTER_BUFFER_ENTRIES + 777)

static int compare(const void *left, const void *right)
{
	const struct sorter_entry *a = left, *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static void check_against_array(uint32_t count)
{
	struct sorter_entry *entries = calloc(count + 1, sizeof *entries), entry;
	struct sorter sorter = { 0 };
	uint64_t random = count, place;
	bool found;

	for (uint32_t i = 0; i < count; i++) {
		entries[i] = (struct sorter_entry){ .key = next_random(&random) % 3,
			                            .start = next_random(&random) % (count + 1),
			                            .id = i + 1,
			                            .name = (uint32_t)next_random(&random) % 4 + 1 };
		entries[i].end = entries[i].start + next_random(&random) % 50;
		check_ok(sorter_add(&sorter, &entries[i]));
	}
	qsort(entries, count, sizeof *entries, compare);
	check_ok(sorter_seal(&sorter));
	ck_assert_uint_eq(sorter.count, count);
	for (uint32_t i = 0; i < count; i++) {
		check_ok(sorter_at(&sorter, i, &entry));
		ck_assert_uint_eq(entry.id, entries[i].id);
	}
	for (int trial = 0; trial < 300; trial++) {
		uint64_t key = next_random(&random) % 4, moment = next_random(&random) % (count + 60);
		uint32_t name = (uint32_t)next_random(&random) % 5;
		uint32_t first = 0;
		const struct sorter_entry *around = NULL;
		while (first < count &&
		       (entries[first].key < key || (entries[first].key == key && entries[first].start < moment)))
			first++;
		for (uint32_t i = 0; i < count; i++) {
			if (entries[i].key == key && entries[i].start <= moment && entries[i].end >= moment &&
			    (!name || entries[i].name == name))
				around = &entries[i];
		}
		check_ok(sorter_find(&sorter, key, moment, &place));
		ck_assert_uint_eq(place, first);
		check_ok(sorter_containing(&sorter, key, moment, name, &entry, &found));
		ck_assert_int_eq(found, around != NULL);
		if (found)
			ck_assert_uint_eq(entry.id, around->id);
	}
	sorter_deinit(&sorter);
	free(entries);
}

START_TEST(in_memory)
{
	const uint32_t counts[] = { 0, 1, 2, SORTER_PAGE_ENTRIES - 1, SORTER_PAGE_ENTRIES, SORTER_PAGE_ENTRIES + 1, 5000 };

	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		check_against_array(counts[i]);
}
END_TEST

START_TEST(through_files)
{
	check_against_array(SORTER_BUFFER_ENTRIES);
	check_against_array(SORTER_BUFFER_ENTRIES + 1);
	check_against_array(MANY);
}
END_TEST

START_TEST(without_a_place_for_temporary_files)
{
	struct sorter sorter = { 0 };
	struct temp_file spool = { 0 };
	epp_status *status = NULL;

	setenv("TMPDIR", "/no/such/folder", 1);
	for (uint32_t i = 0; i <= SORTER_BUFFER_ENTRIES && !status; i++)
		status = sorter_add(&sorter, &(struct sorter_entry){ .id = i });
	ck_assert_int_eq(epp_status_code(status), EPP_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(epp_status_message(status), "/no/such/folder"));
	epp_status_destroy(status);
	sorter_deinit(&sorter);
	check_fails(EPP_NOT_FOUND, temp_file_put(&spool, "x", 1));
	temp_file_deinit(&spool);
}
END_TEST

START_TEST(pieces_come_back_in_order)
{
	struct temp_file spool = { 0 };
	const void *piece;
	size_t bytes;
	char text[5000];

	check_ok(temp_file_rewind(&spool));
	check_ok(temp_file_get(&spool, &piece, &bytes));
	ck_assert_ptr_null(piece);
	for (size_t i = 0; i < sizeof text; i += 7) {
		memset(text, (int)i, sizeof text);
		check_ok(temp_file_put(&spool, text, i));
	}
	for (int round = 0; round < 2; round++) {
		check_ok(temp_file_rewind(&spool));
		for (size_t i = 0; i < sizeof text; i += 7) {
			check_ok(temp_file_get(&spool, &piece, &bytes));
			ck_assert(piece || !i);
			ck_assert_uint_eq(bytes, i);
			ck_assert(!i || ((const char *)piece)[i - 1] == (char)i);
		}
		check_ok(temp_file_get(&spool, &piece, &bytes));
		ck_assert_ptr_null(piece);
	}
	temp_file_deinit(&spool);
}
END_TEST

static Suite *sorter_suite(void)
{
	Suite *suite = suite_create("sorter");
	TCase *tests = tcase_create("sorter");

	tcase_add_test(tests, in_memory);
	tcase_add_test(tests, through_files);
	tcase_add_test(tests, without_a_place_for_temporary_files);
	tcase_add_test(tests, pieces_come_back_in_order);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(sorter_suite)

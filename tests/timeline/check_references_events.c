/* What is known of the events that others name, where it finds no room in memory. */
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "timeline/events/references.h"

#define FIRST 1700000000000000000ull

static struct references_lookup lookup = { .key = UINT64_MAX };

static struct referenced_event *at(struct references *set, uint32_t number)
{
	struct referenced_event *event;

	check_ok(references_at(set, number, &event));
	return event;
}

/* Pages that are asked for in any order, of which few find room; then all is done. */
static void check_paged(bool has_used, size_t bytes_most, unsigned steps)
{
	enum { IDS = 40000 };
	struct references set = { .bytes_most = bytes_most, .has_used = has_used };
	static int64_t expected[IDS], expected_used[IDS];
	static uint32_t numbers[IDS];
	struct referenced_event *event;
	int64_t *used_ns;
	uint64_t random = 1;

	memset(expected, 0, sizeof expected);
	memset(expected_used, 0, sizeof expected_used);
	for (uint64_t i = 0; i < IDS; i++)
		check_ok(references_add(&set, 0, FIRST + i + i / 1000 * 1000, REFERENCES_AS_PARENT));
	references_seal(&set, true);
	for (uint64_t i = 0; i < IDS; i++)
		numbers[i] = references_find(&set, &lookup, 0, FIRST + i + i / 1000 * 1000);
	for (unsigned step = 0; step < steps; step++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		/* Near each other for a while, then elsewhere. */
		unsigned i = (unsigned)((random >> 40) % 700 + step / 100 * 7919) % IDS;
		if (step % 3 == 0) {
			check_ok(references_update(&set, numbers[i], &event));
			event->start_ns = event->end_ns = expected[i] = step + 1;
		} else if (step % 3 == 1 && expected[i]) {
			event = at(&set, numbers[i]);
			if (!event || event->start_ns != expected[i] || event->end_ns != expected[i])
				ck_abort_msg("step %u: %u is not as it was noted", step, i);
		} else if (has_used) {
			check_ok(references_used(&set, numbers[i], &used_ns));
			*used_ns += i;
			expected_used[i] += i;
		}
		ck_assert_uint_le(set.bytes, bytes_most + REFERENCES_PAGE_IDS * (sizeof *event + sizeof *used_ns));
	}
	ck_assert(set.has_file);
	for (unsigned i = 0; i < IDS; i++) {
		event = at(&set, numbers[i]);
		ck_assert_int_eq(event ? event->start_ns : INT64_MIN, expected[i] ? expected[i] : INT64_MIN);
		if (!has_used)
			continue;
		check_ok(references_used(&set, numbers[i], &used_ns));
		ck_assert_int_eq(*used_ns, expected_used[i]);
	}
	for (unsigned i = 0; i < IDS; i++)
		references_release(&set, numbers[i]);
	ck_assert_uint_eq(set.bytes, 0);
	ck_assert_uint_eq(set.resident_count, 0);
	for (unsigned i = 0; i < IDS; i += 100)
		ck_assert_ptr_null(at(&set, numbers[i]));
	references_deinit(&set);
}

START_TEST(what_finds_no_room_goes_through_a_file)
{
	check_paged(false, 64 << 10, 50000);
	check_paged(true, 64 << 10, 50000);
	check_paged(true, 0, 5000); /* one page */
}
END_TEST

START_TEST(no_file)
{
	struct references set = { .bytes_most = 0 };
	struct referenced_event *event;

	setenv("TMPDIR", "/nonexistent", 1);
	check_ok(references_add(&set, 0, FIRST, REFERENCES_AS_PARENT));
	check_ok(references_add(&set, 0, FIRST + 5000, REFERENCES_AS_PARENT));
	references_seal(&set, true);
	check_ok(references_update(&set, references_find(&set, &lookup, 0, FIRST), &event));
	event->start_ns = 5;
	check_fails(EPP_NOT_FOUND, references_update(&set, references_find(&set, &lookup, 0, FIRST + 5000), &event));
	ck_assert_ptr_null(event);
	ck_assert_int_eq(at(&set, references_find(&set, &lookup, 0, FIRST))->start_ns, 5);
	references_deinit(&set);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("referred_events");
	TCase *tc = tcase_create("referred_events");
	tcase_add_test(tc, what_finds_no_room_goes_through_a_file);
	tcase_add_test(tc, no_file);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)

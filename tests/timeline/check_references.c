/* The set of ids that are referred to: what was added is found, in dense and in sparse ranges, and nothing else is. */
#include "timeline/events/references.h"

#include <string.h>

#include "tests/support/check.h"

#define FIRST 1700000000000000000ull

static struct references_lookup lookup = { .key = UINT64_MAX };

static struct referenced_event *at(struct references *set, uint32_t number)
{
	struct referenced_event *event;

	check_ok(references_at(set, number, &event));
	return event;
}

START_TEST(dense)
{
	struct references set = { 0 };
	uint32_t last = 0, numbers;

	for (uint64_t i = 0; i < 200000; i++)
		if (i % 3 == 0 || i % 70000 < 600)
			check_ok(references_add(&set, 0, FIRST + i, REFERENCES_AS_PARENT));
	check_ok(references_add(&set, 0, FIRST, REFERENCES_AS_PARENT)); /* twice */
	numbers = references_seal(&set, true);
	for (uint64_t i = 0; i < 200000; i++) {
		bool in = i % 3 == 0 || i % 70000 < 600;
		uint32_t number = references_find(&set, &lookup, 0, FIRST + i);
		if (in ? number >= numbers || (i && number <= last) : number != REFERENCES_NONE)
			ck_abort_msg("id %llu has number %u", (unsigned long long)i, number);
		last = in ? number : last;
	}
	ck_assert(set.has_table);
	ck_assert_ptr_null(at(&set, last));
	/* 2 bits an id, as promised. */
	ck_assert_uint_le(set.pages_count * sizeof(*set.pages) + set.index.room * sizeof(*set.index.slots),
	                  200000 / 4 + 4096);
	references_deinit(&set);
}
END_TEST

START_TEST(sparse_and_sources)
{
	struct references set = { 0 };
	uint64_t id = 1;
	for (unsigned i = 0; i < 20000; i++) {
		id = id * 6364136223846793005u + 1442695040888963407u;
		check_ok(references_add(&set, i % 2, id, REFERENCES_AS_PARENT));
	}
	check_ok(references_add(&set, 0, 0, REFERENCES_AS_PARENT)); /* no id */
	references_seal(&set, false);
	ck_assert(!set.has_table);
	id = 1;
	for (unsigned i = 0; i < 20000; i++) {
		id = id * 6364136223846793005u + 1442695040888963407u;
		if (references_find(&set, &lookup, i % 2, id) == REFERENCES_NONE ||
		    references_find(&set, &lookup, 1 - i % 2, id) != REFERENCES_NONE ||
		    references_find(&set, &lookup, i % 2, id + 1) != REFERENCES_NONE)
			ck_abort_msg("id %u", i);
	}
	ck_assert_uint_eq(references_find(&set, &lookup, 0, 0), REFERENCES_NONE);
	references_deinit(&set);
}
END_TEST

/* As many processes as a merged trace may hold, with the same ids. */
START_TEST(every_source_has_its_own)
{
	struct references set = { 0 };

	for (uint32_t source = 0; source < UINT16_MAX; source++)
		check_ok(references_add(&set, source, FIRST + source % 700, REFERENCES_AS_PARENT));
	uint32_t numbers = references_seal(&set, false);
	for (uint32_t source = 0; source < UINT16_MAX; source++)
		if (references_find(&set, &lookup, source, FIRST + source % 700) >= numbers ||
		    references_find(&set, &lookup, source, FIRST + (source + 1) % 700) != REFERENCES_NONE)
			ck_abort_msg("source %u", source);
	references_deinit(&set);
}
END_TEST

/* What is noted goes when all records that name ids of its page were seen, and does not come back. */
START_TEST(what_is_noted_goes_again)
{
	struct references set = { .bytes_most = REFERENCES_BYTES_MOST };
	struct referenced_event *event, *other;

	check_ok(references_add(&set, 0, FIRST, REFERENCES_AS_PARENT));
	check_ok(references_add(&set, 0, FIRST, REFERENCES_AS_PARENT));
	check_ok(references_add(&set, 0, FIRST + 1, REFERENCES_AS_PARENT));
	check_ok(references_add(&set, 0, FIRST + 5000, REFERENCES_BY_FLOW));
	references_seal(&set, true);
	uint32_t one = references_find(&set, &lookup, 0, FIRST), two = references_find(&set, &lookup, 0, FIRST + 1);
	uint32_t kept = references_find(&set, &lookup, 0, FIRST + 5000);
	ck_assert_ptr_null(at(&set, one));
	check_ok(references_update(&set, one, &event));
	event->start_ns = 7;
	check_ok(references_update(&set, two, &other));
	ck_assert_int_eq(other->start_ns, INT64_MIN);
	ck_assert_uint_gt(set.bytes, 0);
	check_ok(references_update(&set, kept, &other));
	other->start_ns = 9;
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_int_eq(at(&set, one)->start_ns, 7);
		references_release(&set, i < 2 ? one : two);
		references_release(&set, kept);
	}
	ck_assert_ptr_null(at(&set, one));
	check_ok(references_update(&set, one, &event));
	ck_assert_ptr_null(event);
	references_release(&set, one); /* once too often, as a damaged trace may say */
	ck_assert_ptr_null(at(&set, one));
	ck_assert_int_eq(at(&set, kept)->start_ns, 9);
	ck_assert_uint_eq(references_find(&set, &lookup, 0, FIRST), one);
	ck_assert_uint_eq(set.bytes, sizeof *event); /* the flow's */
	references_deinit(&set);
}
END_TEST

/* Who is named by flows, before or after it was named as a parent. */
START_TEST(how_each_is_named)
{
	struct references set = { 0 };
	static const struct {
		uint64_t id;
		bool parent, flow;
	} ids[] = {
		{ FIRST, true, false },
		{ FIRST + 1, false, true },
		{ FIRST + 2, true, true },
		{ FIRST + 64, true, true },
		{ FIRST + 6000, true, false } /* a page without flows */
	};
	check_ok(references_add(&set, 0, FIRST, REFERENCES_AS_PARENT));
	check_ok(references_add(&set, 0, FIRST + 2, REFERENCES_AS_PARENT));
	check_ok(references_add(&set, 0, FIRST + 1, REFERENCES_BY_FLOW));
	check_ok(references_add(&set, 0, FIRST + 2, REFERENCES_BY_FLOW));
	check_ok(references_add(&set, 0, FIRST + 64, REFERENCES_BY_FLOW));
	check_ok(references_add(&set, 0, FIRST + 64, REFERENCES_AS_PARENT));
	check_ok(references_add(&set, 0, FIRST + 6000, REFERENCES_AS_PARENT));
	references_seal(&set, true);
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		uint32_t number = references_find(&set, &lookup, 0, ids[i].id);
		ck_assert_int_eq(references_is_kind(&set, number, ids[i].id, REFERENCES_AS_PARENT), ids[i].parent);
		ck_assert_int_eq(references_is_kind(&set, number, ids[i].id, REFERENCES_BY_FLOW), ids[i].flow);
	}
	references_deinit(&set);
}
END_TEST

START_TEST(nothing)
{
	struct references set = { 0 };
	ck_assert_uint_eq(references_seal(&set, true), 0);
	ck_assert_uint_eq(references_find(&set, &lookup, 0, 5), REFERENCES_NONE);
	references_deinit(&set);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("referred");
	TCase *tc = tcase_create("referred");
	tcase_add_test(tc, dense);
	tcase_add_test(tc, sparse_and_sources);
	tcase_add_test(tc, every_source_has_its_own);
	tcase_add_test(tc, what_is_noted_goes_again);
	tcase_add_test(tc, how_each_is_named);
	tcase_add_test(tc, nothing);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)

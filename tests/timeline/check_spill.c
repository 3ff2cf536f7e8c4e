/* Runs through the temporary file: every item comes back, in order within its run, with its args. */
#include "timeline/merging/spill.h"

#include <string.h>

#include "codec/codec.h"
#include "epprof/session.h"
#include "tests/support/check.h"

#define ITEMS 5000

static uint64_t random_state = 5;

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(random_state >> 33) % limit;
}

/* One arg: key 20, type u64, value below 128. */
static void add_item(struct spill *spill, struct run *run, uint64_t id, bool has_arg)
{
	uint8_t arg[3] = { 20, EPP_ARG_U64, (uint8_t)(id % 128) };

	check_ok(run_reserve(run, 1, id % 2));
	check_ok(run_reserve_bytes(run, sizeof(arg) + 5));
	memcpy(run->bytes + 5, arg, sizeof(arg));
	run->payload = run->bytes;
	run->payload_bytes = sizeof(arg) + 5;
	run->items[0] = (struct item){ .start_ns = random_below(1000),
		                       .id = id,
		                       .sequence = ITEM_SEQUENCE(3, id, has_arg ? 1 : 0),
		                       .args_offset = has_arg ? 5 : 0 };
	if (run->has_extras)
		run->extras[0] = (struct item_extra){ .parent = id * 3 };
	run->end = 1;
	check_ok(spill_add(spill, run));
}

static void check_all(size_t bytes_most, bool in_file)
{
	static bool seen[ITEMS + 1];
	struct run run = { 0 };
	struct spill spill;
	size_t total = 0;

	spill_init(&spill);
	spill.bytes_most = bytes_most;
	for (uint64_t id = 1; id <= ITEMS; id++)
		add_item(&spill, &run, id, id % 3 == 0);
	check_ok(spill_finish(&spill));
	ck_assert_int_eq(spill.file >= 0, in_file);
	memset(seen, 0, sizeof(seen));
	for (size_t i = 0; i < spill.runs_count; i++) {
		const struct item *last = NULL;
		struct item copy;
		check_ok(spill_begin(&spill, i, &run));
		ck_assert_int_eq(run.items[0].start_ns, spill.runs[i].first_ns);
		while (run.at < run.end) {
			for (uint32_t at = 0; at < run.end; at++) {
				const struct item *item = &run.items[at];
				struct codec_arg arg;
				ck_assert(!seen[item->id] && (!last || item_before(last, item)));
				seen[item->id] = true;
				copy = *item;
				last = &copy;
				total++;
				ck_assert_uint_eq(run.extras[at].parent, item->id % 2 ? item->id * 3 : 0);
				if (item->id % 3)
					continue;
				ck_assert_uint_gt(codec_arg(run.payload, run.payload_bytes, item->args_offset, &arg), 0);
				ck_assert_uint_eq(arg.value, item->id % 128);
			}
			check_ok(spill_refill(&spill, &run));
		}
	}
	ck_assert_uint_eq(total, ITEMS);
	free(run.items);
	free(run.extras);
	free(run.bytes);
	spill_deinit(&spill);
}

START_TEST(in_memory)
{
	check_all(1 << 20, false);
}
END_TEST

START_TEST(in_the_file)
{
	check_all(100000, true);
	check_all(1000, true);
}
END_TEST

START_TEST(no_room_for_the_file)
{
	struct run run = { 0 };
	struct spill spill;
	epp_status *status = NULL;

	setenv("TMPDIR", check_path("missing"), 1);
	spill_init(&spill);
	spill.bytes_most = 1000;
	for (uint64_t id = 1; id <= 50 && !status; id++) {
		check_ok(run_reserve(&run, 1, false));
		run.items[0] = (struct item){ .id = id };
		run.end = 1;
		status = spill_add(&spill, &run);
	}
	ck_assert_int_eq(epp_status_code(status), EPP_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(epp_status_message(status), check_path("missing")));
	epp_status_destroy(status);
	free(run.items);
	spill_deinit(&spill);
}
END_TEST

START_TEST(nothing)
{
	struct spill spill;
	spill_init(&spill);
	check_ok(spill_finish(&spill));
	ck_assert_uint_eq(spill.runs_count, 0);
	spill_deinit(&spill);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("spill");
	TCase *tc = tcase_create("spill");
	tcase_add_test(tc, in_memory);
	tcase_add_test(tc, in_the_file);
	tcase_add_test(tc, no_room_for_the_file);
	tcase_add_test(tc, nothing);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)

/* Open stacks: what is open, what has its record already, what ended on another thread, what cannot be. */
#include "tests/support/reader_asserts.h"

START_TEST(open_events)
{
	struct epp_builder *b = builder_create();
	epp_name name = builder_name(b, "name");
	uint32_t first = builder_thread(b, "first", 1), second = builder_thread(b, "second", 2);
	uint64_t a = builder_begin(b, first, BUILDER_START + 10, EPP_NODE, name);
	uint64_t c = builder_begin(b, first, BUILDER_START + 20, EPP_NODE, name);
	uint64_t d = builder_begin(b, first, BUILDER_START + 30, EPP_NODE, name);
	uint64_t e = builder_begin(b, second, BUILDER_START + 40, EPP_NODE, EPF_NAME_PENDING);
	size_t bytes;
	epp_trace *trace = builder_open(b, EPF_RECORDING);
	const struct reader *reader = trace->reader;
	ck_assert_uint_eq(reader->open_count, 4);
	ck_assert_uint_eq(reader->info.open_count, 4);
	ck_assert_uint_eq(reader->open[1].open.id, c);
	ck_assert_uint_eq(reader->open[1].depth, 1);
	ck_assert_uint_eq(reader->open[1].track, first);
	ck_assert_uint_eq(reader->open[3].open.id, e);
	ck_assert_uint_eq(reader->open[3].open.start_ticks, BUILDER_START + 40);
	must_find_no(EPP_ERROR, trace);
	epp_trace_close(trace);

	/* d has its record and still stands on the stack, as after a kill between the two; c ended on the other thread,
	 * once in the window and once in a block. */
	builder_orphan_end(b, second, c, BUILDER_START + 50, NULL, 0);
	builder_record(b, first,
	               &(struct epf_record){ .start_ticks = BUILDER_START + 30,
	                                     .duration_ticks = 30,
	                                     .id = d,
	                                     .name = name,
	                                     .bits = EPF_BITS(EPP_NODE, EPF_EVENT, 0, 0) },
	               NULL, 0);
	for (int in_block = 0; in_block < 2; in_block++) {
		uint8_t *image = builder_image(b, EPF_RECORDING, &bytes);
		trace = open_image(image, bytes);
		reader = trace->reader;
		ck_assert_uint_eq(reader->open_count, 2);
		ck_assert_uint_eq(reader->open[0].open.id, a);
		ck_assert_uint_eq(reader->open[1].open.id, e);
		/* The one that ended elsewhere is a record up to there, next to the two that were stored. */
		ck_assert_uint_eq(reader->info.records_count, 3);
		const struct reader_block *last = &reader->blocks[reader->blocks_count - 1];
		ck_assert_uint_eq(last->in_window, 1);
		ck_assert_uint_eq(last->record_count, 1);
		ck_assert_uint_eq(last->track, first);
		ck_assert_uint_eq(last->first_ticks, BUILDER_START + 20);
		ck_assert_uint_eq(last->last_ticks, BUILDER_START + 50);
		must_find_no(EPP_ERROR, trace);
		epp_trace_close(trace);

		/* A stack that was being moved together. */
		struct epf_slot *slot = slot_of(b, image, 0);
		slot->open[2] = slot->open[0];
		trace = open_image(image, bytes);
		ck_assert_uint_eq(trace->reader->open_count, 2);
		epp_trace_close(trace);

		slot->open[3].name = slot->open[0].name;
		trace = open_image(image, bytes);
		ck_assert_uint_eq(trace->reader->open_count, 2);
		ck_assert(has_finding(trace, "open event 3 is invalid"));
		epp_trace_close(trace);
		slot->state = 9;
		trace = open_image(image, bytes);
		ck_assert_uint_eq(trace->reader->open_count, 1);
		ck_assert(has_finding(trace, "state 9"));
		epp_trace_close(trace);
		free(image);
		builder_flush(b, first, BUILDER_TO_BLOCK);
		builder_flush(b, second, BUILDER_TO_BLOCK);
	}
	builder_destroy(b);
}
END_TEST

static Suite *open_suite(void)
{
	Suite *suite = suite_create("reader_open");
	TCase *cases = tcase_create("all");
	tcase_add_test(cases, open_events);
	suite_add_tcase(suite, cases);
	return suite;
}

CHECK_MAIN(open_suite)

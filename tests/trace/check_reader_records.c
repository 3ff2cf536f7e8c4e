/* Blocks and their records: the same from a block and from the window, and a block that is another one by now. */
#include "tests/support/reader_asserts.h"
#include "tests/trace/reader_file.h"

/* The same records, whether they are in blocks or still in the window. */
START_TEST(records_in_both_states)
{
	static const enum epf_state states[] = { EPF_RECORDING, EPF_FINISHED };
	for (int s = 0; s < 2; s++) {
		struct file f = build(states[s]);
		epp_trace *trace;
		check_ok(builder_open_image(f.image, f.bytes, &trace));
		struct reader *reader = trace->reader;
		ck_assert_uint_eq(reader->info.state, states[s] == EPF_FINISHED ? EPP_TRACE_FINISHED : EPP_TRACE_CUT_OFF);
		ck_assert_uint_eq(reader->info.records_count, 5);
		ck_assert_uint_eq(reader->info.recovered_records_count, states[s] == EPF_FINISHED ? 0 : 5);
		ck_assert_uint_eq(reader->blocks_count, 3);
		uint8_t *buffer = NULL;
		size_t buffer_bytes = 0;
		for (size_t i = 0; i < reader->blocks_count; i++) {
			const struct reader_block *entry = &reader->blocks[i];
			check_ok(reader_block_read(reader, entry, &buffer, &buffer_bytes));
			const struct epf_block *block = (const struct epf_block *)(void *)buffer;
			struct codec_record records[8];
			uint64_t open_ids[EPF_OPEN_MAX];
			uint32_t count;
			struct codec_payload payload = { buffer + sizeof(*block), block->payload_bytes,
				                         block->payload_bytes };
			ck_assert(codec_decode(block, &payload, open_ids, records, &count));
			ck_assert_uint_eq(count, entry->record_count);
			ck_assert_uint_eq(entry->in_window, states[s] == EPF_RECORDING);
			if (entry->track != f.main_track)
				continue;
			ck_assert_uint_eq(count, 2);
			ck_assert_uint_eq(entry->open_count, 1);
			ck_assert_uint_eq(open_ids[0], f.node);
			ck_assert_uint_eq(entry->first_ticks, BUILDER_START + 100);
			ck_assert_uint_eq(entry->own_first_ticks, BUILDER_START + 110);
			ck_assert_uint_eq(entry->last_ticks, BUILDER_START + 300);
			ck_assert_uint_eq(records[1].id, f.node);
			ck_assert_uint_eq(records[1].args_count, 3);
			struct codec_arg arg;
			uint32_t at = codec_arg(buffer + sizeof(*block), block->payload_bytes, records[1].args_offset,
			                        &arg);
			ck_assert_uint_eq(arg.text_bytes, 3);
			ck_assert(!memcmp(arg.text, "a\0b", 3));
			at = codec_arg(buffer + sizeof(*block), block->payload_bytes, at, &arg);
			ck_assert_int_eq((int64_t)arg.value, -7);
			ck_assert_uint_ne(codec_arg(buffer + sizeof(*block), block->payload_bytes, at, &arg), 0);
			double half;
			memcpy(&half, &arg.value, sizeof(half));
			ck_assert_double_eq(half, 0.5);
		}
		free(buffer);
		epp_trace_close(trace);
		drop(&f);
	}
}
END_TEST

START_TEST(a_block_that_changes_later)
{
	struct file f = build(EPF_FINISHED);
	epp_trace *trace;
	check_ok(builder_open_image(f.image, f.bytes, &trace));
	uint8_t *buffer = NULL;
	size_t buffer_bytes = 0;
	f.image[trace->reader->blocks[1].offset + sizeof(struct epf_block)] ^= 1;
	check_ok(reader_block_read(trace->reader, &trace->reader->blocks[0], &buffer, &buffer_bytes));
	check_fails(EPP_CORRUPT, reader_block_read(trace->reader, &trace->reader->blocks[1], &buffer, &buffer_bytes));
	epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
	ck_assert_uint_gt(epp_trace_ledger_count(trace), 0);
	uint64_t errors;
	check_fails(EPP_CORRUPT, epp_trace_validate(trace, NULL, NULL, &errors));
	free(buffer);
	(void)account;
	epp_trace_close(trace);
	drop(&f);
}
END_TEST

/* A clock sample and a track switch have numbers where other records have their id. */
START_TEST(only_ids_of_events_are_found)
{
	const uint64_t half_width = 12345;
	struct epp_builder *b = builder_create();
	uint64_t offset;
	uint32_t thread = builder_thread(b, "main", 1);
	uint32_t stream = builder_device(b, "stream", "device", 0, 1, EPF_TRACK_CLOCK_DEVICE);
	uint64_t id = builder_event(b, thread, BUILDER_START + 100, 5, EPP_NODE, builder_name(b, "op"), NULL, 0);
	builder_device_pair(b, stream, 0, BUILDER_START, half_width);
	epp_trace *trace = builder_open(b, EPF_FINISHED);
	check_ok(epp_trace_find_record(trace, 0, id, &offset));
	ck_assert_uint_ne(offset, UINT64_MAX);
	check_ok(epp_trace_find_record(trace, 0, half_width, &offset));
	ck_assert_uint_eq(offset, UINT64_MAX);
	epp_trace_close(trace);
	builder_destroy(b);
}
END_TEST

static Suite *records_suite(void)
{
	Suite *suite = suite_create("reader_records");
	TCase *cases = tcase_create("all");
	tcase_add_test(cases, records_in_both_states);
	tcase_add_test(cases, a_block_that_changes_later);
	tcase_add_test(cases, only_ids_of_events_are_found);
	suite_add_tcase(suite, cases);
	return suite;
}

CHECK_MAIN(records_suite)

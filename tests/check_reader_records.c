/* Blocks and their records: the same from a block and from the window, and a block that is another one by now. */
#include "tests/reader_asserts.h"

struct file {
	struct epp_builder *builder;
	uint8_t *image;
	size_t bytes;
	uint32_t main_track, worker, stream;
	epp_name matmul, gemm;
	uint64_t node;
};

/* Two threads and a device; the node has a child, a kernel and args. */
static struct file build(enum epf_state state)
{
	struct file f = { .builder = builder_create() };
	builder_producer(f.builder, 0, "MyEP");
	f.matmul = builder_name(f.builder, "matmul");
	f.gemm = builder_name_bytes(f.builder, "ge\0mm\"", 6);
	f.main_track = builder_thread(f.builder, "main", 100);
	f.worker = builder_thread(f.builder, "worker", 101);
	f.stream = builder_device(f.builder, "stream 1", "Accelerator 0", 0, 1, EPF_TRACK_CLOCK_HOST);
	epp_name key = builder_name(f.builder, "shape");
	epp_arg args[] = { { .key = key, .type = EPP_ARG_TEXT, .value.text = "a\0b", .text_bytes = 3 },
		           { .key = key, .type = EPP_ARG_I64, .value.i64 = -7 },
		           { .key = key, .type = EPP_ARG_F64, .value.f64 = 0.5 } };
	f.node = builder_begin(f.builder, f.main_track, BUILDER_START + 100, EPP_NODE, f.matmul);
	builder_event(f.builder, f.main_track, BUILDER_START + 110, 50, EPP_API, f.gemm, NULL, 0);
	builder_complete(f.builder, f.stream, BUILDER_START + 120, 60, EPP_KERNEL, f.gemm, f.node, args + 1, 2);
	builder_instant(f.builder, f.worker, BUILDER_START + 130, EPP_SESSION, f.gemm, NULL, 0);
	builder_end(f.builder, f.main_track, f.node, BUILDER_START + 300, args, 3);
	builder_event(f.builder, f.worker, BUILDER_START + 140, 1000, EPP_NODE, f.matmul, NULL, 0);
	f.image = builder_image(f.builder, state, &f.bytes);
	return f;
}

static void drop(struct file *f)
{
	free(f->image);
	builder_destroy(f->builder);
}

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
			ck_assert(codec_decode(block, buffer + sizeof(*block), open_ids, records, &count));
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
	epp_trace_account account;
	ck_assert_uint_gt(epp_trace_accounts_count(trace), 0);
	uint64_t errors;
	check_fails(EPP_CORRUPT, epp_trace_validate(trace, NULL, NULL, &errors));
	free(buffer);
	(void)account;
	epp_trace_close(trace);
	drop(&f);
}
END_TEST

static Suite *records_suite(void)
{
	Suite *suite = suite_create("reader_records");
	TCase *cases = tcase_create("all");
	tcase_add_test(cases, records_in_both_states);
	tcase_add_test(cases, a_block_that_changes_later);
	suite_add_tcase(suite, cases);
	return suite;
}

CHECK_MAIN(records_suite)

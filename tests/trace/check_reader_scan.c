/* Damage: a trace cut at any byte, with any byte changed, or of garbage, opens with what is left of it or says why not.
 * */
#include "trace/reader.h"

#include <string.h>

#include "tests/support/reader_asserts.h"

#define EVENTS 40

/* Small enough to try each byte: half of the records in blocks of 3 segments, half in the window, one event open. */
static struct epp_builder *build(void)
{
	struct epp_builder *b = builder_create();
	builder_geometry(b, 2, 2, 4096, 4096, 4096);
	epp_name name = builder_name(b, "name");
	uint32_t thread = builder_thread(b, "main", 1), device = builder_device(b, "s", "d", 0, 0, EPF_TRACK_CLOCK_DEVICE);
	epp_arg args[] = { { .key = name, .type = EPP_ARG_TEXT, .value.text = "some text", .text_bytes = 9 } };
	builder_definitions_to_block(b);
	for (int i = 0; i < EVENTS / 2; i++) {
		builder_event(b, thread, BUILDER_START + 100 * (uint64_t)i, 50, EPP_NODE, name, args, 1);
		if (i % 4 == 3)
			builder_flush(b, thread, BUILDER_TO_BLOCK);
	}
	builder_host_pair(b, BUILDER_START + 5000, 10, 0);
	builder_device_pair(b, device, 5, BUILDER_START + 5, 1);
	builder_complete(b, device, 10, 20, EPP_KERNEL, name, 0, args, 1);
	builder_begin(b, thread, BUILDER_START + 6000, EPP_NODE, name);
	builder_flush(b, thread, BUILDER_TO_WINDOW);
	for (int i = 0; i < EVENTS / 2; i++)
		builder_event(b, thread, BUILDER_START + 10000 + 100 * (uint64_t)i, 50, EPP_NODE, name, args, 1);
	return b;
}

static void ignore(void *user, const epp_trace_finding *finding)
{
	MUST(finding->text[0]);
	++*(uint64_t *)user;
}

/* Every byte of the header page and of the segments, every thirty-first of the window, most of which is zero. */
static size_t next_byte(struct epp_builder *b, size_t at)
{
	return at + (at >= EPF_PAGE_BYTES && at + 31 < builder_header(b)->segments_offset ? 31 : 1);
}

/* Opens, reads everything there is, closes.  Returns the records count, or -1 where it does not open. */
static int64_t read_all(const uint8_t *image, size_t bytes, epp_code *code)
{
	epp_trace *trace;
	epp_status *status = builder_open_image(image, bytes, &trace);
	if (status) {
		MUST(epp_status_message(status)[0]);
		*code = epp_status_code(status);
		epp_status_destroy(status);
		return -1;
	}
	uint64_t findings = 0, errors;
	MUST(!epp_trace_validate(trace, ignore, &findings, &errors));
	MUST(!errors || findings);
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
		MUST(!epp_trace_ledger_at(trace, i, &account));
		MUST(account.producer[0]);
	}
	for (size_t i = 0; i < epp_trace_get_info(trace)->tracks_count; i++)
		MUST(epp_trace_track_at(trace, i)->name && epp_trace_track_at(trace, i)->group);
	int64_t count = (int64_t)epp_trace_get_info(trace)->records_count;
	epp_trace_close(trace);
	return count;
}

START_TEST(cut_at_every_byte)
{
	for (int finished = 0; finished < 2; finished++) {
		struct epp_builder *b = build();
		size_t bytes;
		uint8_t *image = builder_image(b, finished ? EPF_FINISHED : EPF_RECORDING, &bytes);
		int64_t before = -1, whole;
		epp_code code;
		for (size_t cut = 0; cut <= bytes; cut = next_byte(b, cut)) {
			uint8_t *copy = malloc(cut ? cut : 1);
			memcpy(copy, image, cut);
			int64_t count = read_all(copy, cut, &code);
			free(copy);
			MUST((count < 0) == (cut < EPF_PAGE_BYTES));
			MUST(count >= 0 || code == EPP_CORRUPT);
			/* More bytes never give fewer records, but where a region in the window has become a block. */
			MUST(count >= before);
			before = count;
		}
		whole = read_all(image, bytes, &code);
		ck_assert_int_eq(whole, finished ? EVENTS + 3 : EVENTS + 2);
		free(image);
		builder_destroy(b);
	}
}
END_TEST

START_TEST(every_byte_changed)
{
	for (int finished = 0; finished < 2; finished++) {
		struct epp_builder *b = build();
		size_t bytes;
		uint8_t *image = builder_image(b, finished ? EPF_FINISHED : EPF_RECORDING, &bytes);
		uint64_t segments = builder_header(b)->segments_offset;
		epp_code code;
		int64_t whole = read_all(image, bytes, &code), count;
		for (size_t at = 0; at < bytes; at = next_byte(b, at)) {
			image[at] ^= (uint8_t)(1u << at % 8);
			count = read_all(image, bytes, &code);
			/* What a block says is under a checksum: damage can only take records away. */
			MUST(at >= EPF_PAGE_BYTES || count == whole || count == -1 ||
			     at == offsetof(struct epf_header, state));
			MUST(at < segments || (count >= 0 && count <= whole));
			image[at] ^= (uint8_t)(1u << at % 8);
		}
		free(image);
		builder_destroy(b);
	}
}
END_TEST

START_TEST(full_of_garbage)
{
	struct epp_builder *b = build();
	size_t bytes;
	uint8_t *image = builder_image(b, EPF_RECORDING, &bytes);
	uint8_t *garbage = malloc(bytes);
	uint64_t state = 88172645463325252ull;
	epp_code code;
	for (int round = 0; round < 300; round++) {
		memcpy(garbage, image, bytes);
		/* All of it, all behind the header page, or only the window. */
		size_t from = round % 3 ? EPF_PAGE_BYTES : 0;
		size_t to = round % 3 == 2 ? builder_header(b)->segments_offset : bytes;
		for (size_t at = from; at < to; at++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			garbage[at] = (uint8_t)(round % 2 ? state : state & 15);
		}
		int64_t count = read_all(garbage, bytes, &code);
		MUST((count < 0) == (from == 0));
		MUST(round % 3 != 2 || count >= EVENTS / 2);
	}
	free(garbage);
	free(image);
	builder_destroy(b);
}
END_TEST

/* A damaged block is lost alone, or, if it is not known where it ends, with the rest of its segment; the next segment
 * is read all the same. */
START_TEST(damage_in_the_middle)
{
	struct epp_builder *b = builder_create();
	builder_geometry(b, 2, 1, 4096, 4096, 4096);
	epp_name name = builder_name(b, "name");
	uint32_t thread = builder_thread(b, "main", 1);
	for (int i = 0; i < 600; i++) {
		builder_event(b, thread, BUILDER_START + 100 * (uint64_t)i, 50, EPP_NODE, name, NULL, 0);
		if (i % 10 == 9)
			builder_flush(b, thread, BUILDER_TO_BLOCK);
	}
	size_t bytes;
	uint8_t *image = builder_image(b, EPF_FINISHED, &bytes);
	epp_trace *trace;
	check_ok(builder_open_image(image, bytes, &trace));
	ck_assert_uint_eq(trace->reader->info.records_count, 600);
	size_t blocks = trace->reader->blocks_count, second = 0;
	uint64_t segments = trace->reader->header.segments_offset;
	while (trace->reader->blocks[second].offset < segments + 4096)
		second++;
	ck_assert_uint_gt(blocks, second + 2);
	uint64_t damaged = trace->reader->blocks[second / 2].offset,
		 first_of_second = trace->reader->blocks[second].offset;
	epp_trace_close(trace);

	/* In its payload, its checksum, its magic. */
	static const unsigned inside[] = { 100, 4, 0 };
	uint64_t errors;
	for (unsigned i = 0; i < 3; i++) {
		image[damaged + inside[i]] ^= 1;
		check_ok(builder_open_image(image, bytes, &trace));
		ck_assert_uint_eq(trace->reader->blocks_count, blocks - 1);
		ck_assert_uint_eq(trace->reader->info.records_count, 590);
		ck_assert(has_finding_of(trace, EPP_ERROR, "its contents are lost"));
		ck_assert_uint_eq(trace->reader->findings[0].offset, damaged);
		check_ok(epp_trace_validate(trace, NULL, NULL, &errors));
		ck_assert_uint_ge(errors, 2); /* the block, and the account that does not balance */
		epp_trace_close(trace);
		image[damaged + inside[i]] ^= 1;
	}

	/* In its length, so that nobody knows where it ends. */
	image[damaged + offsetof(struct epf_block, payload_bytes)] ^= 1 << 4;
	check_ok(builder_open_image(image, bytes, &trace));
	ck_assert_uint_eq(trace->reader->blocks_count, blocks - (second - second / 2));
	ck_assert_uint_eq(trace->reader->blocks[second / 2].offset, first_of_second);
	ck_assert(has_finding_of(trace, EPP_ERROR, "the rest of its segment is not read"));
	epp_trace_close(trace);
	image[damaged + offsetof(struct epf_block, payload_bytes)] ^= 1 << 4;

	/* A segment's header: its blocks speak for themselves. */
	image[segments + 4096 + 20] ^= 1;
	check_ok(builder_open_image(image, bytes, &trace));
	ck_assert_uint_eq(trace->reader->info.records_count, 600);
	ck_assert(has_finding_of(trace, EPP_WARNING, "segment 2: its header is damaged"));
	epp_trace_close(trace);
	free(image);
	builder_destroy(b);
}
END_TEST

/* What a writer that was killed leaves: half a block at the end is a note where the file was never finished. */
START_TEST(half_a_block_at_the_end)
{
	for (int finished = 0; finished < 2; finished++) {
		struct epp_builder *b = builder_create();
		builder_geometry(b, 2, 1, 4096, 4096, 65536);
		uint32_t thread = builder_thread(b, "main", 1);
		builder_event(b, thread, BUILDER_START + 1, 1, EPP_NODE, builder_name(b, "n"), NULL, 0);
		builder_flush(b, thread, BUILDER_TO_BLOCK | BUILDER_TO_WINDOW);
		size_t bytes;
		uint8_t *image = builder_image(b, finished ? EPF_FINISHED : EPF_RECORDING, &bytes);
		epp_trace *trace;
		check_ok(builder_open_image(image, bytes, &trace));
		const struct reader_block *block = &trace->reader->blocks[0];
		ck_assert_uint_eq(block->in_window, 0);
		uint64_t end = block->offset + sizeof(struct epf_block) + block->payload_bytes;
		epp_trace_close(trace);

		memset(image + end - 3, 0, bytes - (end - 3));
		check_ok(builder_open_image(image, bytes, &trace));
		ck_assert_uint_eq(trace->reader->info.records_count, finished ? 0 : 1);
		if (!finished)
			ck_assert_uint_eq(trace->reader->blocks[0].in_window, 1);
		ck_assert(has_finding_of(trace, finished ? EPP_ERROR : EPP_NOTE, "checksum is wrong"));
		epp_trace_close(trace);

		/* The file itself ends there. */
		check_ok(builder_open_image(image, end - 3, &trace));
		ck_assert_uint_eq(trace->reader->info.records_count, finished ? 0 : 1);
		ck_assert(has_finding_of(trace, finished ? EPP_ERROR : EPP_NOTE, "ends inside a block"));
		epp_trace_close(trace);
		free(image);
		builder_destroy(b);
	}
}
END_TEST

START_TEST(blocks_that_lie)
{
	struct epp_builder *b = builder_create();
	uint8_t payload[64] = { 0 };
	static const struct epf_block blocks[] = {
		{ .type = EPF_BLOCK_RECORDS, .sequence = 1000, .record_count = CODEC_RECORDS_MAX + 1, .payload_bytes = 8 },
		{ .type = EPF_BLOCK_RECORDS, .sequence = 1001, .open_count = EPF_OPEN_MAX + 1, .payload_bytes = 8 },
		{ .type = EPF_BLOCK_RECORDS, .sequence = 1002, .source = 1u << 20, .payload_bytes = 8 },
		{ .type = EPF_BLOCK_RECORDS, .sequence = 1003, .record_count = 60, .payload_bytes = 8 },
		{ .type = 77, .payload_bytes = 8 },
		{ .type = EPF_BLOCK_RUN, .payload_bytes = 8 },
		{ .type = EPF_BLOCK_DEFINITIONS, .payload_bytes = 64 },
		{ .type = EPF_BLOCK_SOURCES, .payload_bytes = 64 },
		{ .type = EPF_BLOCK_LEDGER, .payload_bytes = 3 },
		{ .type = EPF_BLOCK_RECORDS, .sequence = 1003, .record_count = 0, .payload_bytes = 0 },
	};
	memset(payload, 0xff, 40);
	for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++)
		builder_block(b, &blocks[i], payload);
	epp_trace *trace = builder_open(b, EPF_RECORDING);
	ck_assert(has_finding_of(trace, EPP_ERROR, "65537 records"));
	ck_assert(has_finding_of(trace, EPP_ERROR, "65 open"));
	ck_assert(has_finding_of(trace, EPP_ERROR, "source 1048576"));
	ck_assert(has_finding_of(trace, EPP_WARNING, "type 77"));
	ck_assert(has_finding_of(trace, EPP_ERROR, "a run has an invalid size of 8 bytes"));
	ck_assert(has_finding_of(trace, EPP_WARNING, "definition extends beyond"));
	ck_assert(has_finding_of(trace, EPP_ERROR, "region 1003 is in two blocks"));
	ck_assert_uint_eq(trace->reader->blocks_count, 1);
	uint64_t errors;
	check_ok(epp_trace_validate(trace, NULL, NULL, &errors));
	ck_assert_uint_ge(errors, 5);
	epp_trace_close(trace);
	builder_destroy(b);
}
END_TEST

static Suite *scan_suite(void)
{
	Suite *suite = suite_create("reader_scan");
	TCase *cases = tcase_create("all");
	tcase_add_test(cases, cut_at_every_byte);
	tcase_add_test(cases, every_byte_changed);
	tcase_add_test(cases, full_of_garbage);
	tcase_add_test(cases, damage_in_the_middle);
	tcase_add_test(cases, half_a_block_at_the_end);
	tcase_add_test(cases, blocks_that_lie);
	suite_add_tcase(suite, cases);
	return suite;
}

CHECK_MAIN(scan_suite)

/* Traces that are damaged, cut, or change while they are read: what can be read comes, or an error, and never a crash.
 * */
#include "tests/support/timeline_events.h"

#define AT(ns) (BUILDER_START + (ns))

/* Every byte of a block damaged in its turn, after the index was made: an error or nothing, never a crash. */
START_TEST(blocks_that_change)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "one", 10);
	epp_name name = builder_name(b, "n");
	for (unsigned i = 0; i < 20; i++)
		builder_event(b, thread, AT(10 * i), 5, EPP_NODE, name, NULL, 0);
	size_t bytes;
	uint8_t *image = builder_image(b, EPF_FINISHED, &bytes);
	builder_destroy(b);
	struct reader_source source = builder_source(image, bytes);
	struct reader *reader;
	check_ok(reader_open(&source, "image", &reader));
	ck_assert_uint_eq(reader->blocks_count, 1);
	size_t from = reader->blocks[0].offset, block_bytes = sizeof(struct epf_block) + reader->blocks[0].payload_bytes;

	for (size_t i = 0; i < block_bytes; i++) {
		/* Once with a checksum that tells, once with one that does not. */
		for (int sealed = 0; sealed < 2; sealed++) {
			uint8_t *copy = malloc(bytes);
			memcpy(copy, image, bytes);
			image[from + i] ^= 0x55;
			if (sealed && i >= 12) /* not the magic, checksum and length */
				builder_seal_block(image, from);
			epp_timeline *timeline;
			const epp_event *event;
			epp_status *status = timeline_create(reader, NULL, 1 << 20, 1 << 20, &timeline);
			if (!status) {
				while (epp_timeline_next(timeline, &event))
					continue;
				status = epp_timeline_status(timeline);
				epp_timeline_destroy(timeline);
			}
			if (!sealed)
				MUST(epp_status_code(status) == EPP_CORRUPT);
			epp_status_destroy(status);
			memcpy(image, copy, bytes);
			free(copy);
		}
	}
	reader_close(reader);
	free(image);
}
END_TEST

/* A header that promises later events than its records hold. */
START_TEST(blocks_that_lie)
{
	static const size_t fields[] = { offsetof(struct epf_block, first_ticks),
		                         offsetof(struct epf_block, own_first_ticks) };

	for (unsigned i = 0; i < 2; i++) {
		struct epp_builder *b = builder_create();
		uint32_t thread = builder_thread(b, "one", 10);
		epp_name name = builder_name(b, "n");
		builder_event(b, thread, AT(5), 5, EPP_NODE, name, NULL, 0);
		builder_flush(b, thread, BUILDER_TO_BLOCK);
		for (unsigned j = 1; j < 200; j++)
			builder_event(b, thread, AT(10 * j), 5, EPP_NODE, name, NULL, 0);
		size_t bytes;
		uint8_t *image = builder_image(b, EPF_FINISHED, &bytes);
		builder_destroy(b);
		struct reader_source source = builder_source(image, bytes);
		struct reader *reader;
		check_ok(reader_open(&source, "image", &reader));
		uint64_t offset = reader->blocks[1].offset, ticks = AT(1500);
		reader_close(reader);
		memcpy(image + offset + fields[0], &ticks, sizeof(ticks));
		if (i == 1) {
			/* All but the last records were open at the beginning, it says. */
			ticks = AT(10);
			memcpy(image + offset + fields[0], &ticks, sizeof(ticks));
			ticks = AT(1985);
			memcpy(image + offset + fields[1], &ticks, sizeof(ticks));
		}
		builder_seal_block(image, offset);
		struct seen seen = see_image(image, bytes, NULL, (struct seen_bounds)SEEN_BOUNDS);
		if (i == 0)
			ck_assert_int_eq(epp_status_code(seen.status), EPP_CORRUPT);
		else
			check_ok(seen.status);
		seen_release(&seen);
	}
}
END_TEST

/* Cut anywhere: what is left comes, in order. */
START_TEST(a_file_that_is_cut)
{
	struct epp_builder *b = builder_create();
	uint32_t threads[2] = { builder_thread(b, "one", 10), builder_thread(b, "two", 11) };
	uint32_t stream = builder_device(b, "stream", "gpu", 0, 1, EPF_TRACK_CLOCK_DEVICE);
	epp_name name = builder_name(b, "n");
	builder_definitions_to_block(b);
	builder_device_pair(b, stream, 0, AT(0), 100);
	for (unsigned i = 0; i < 60; i++) {
		uint64_t node = builder_event(b, threads[i % 2], AT(10 * i), 5, EPP_NODE, name, NULL, 0);
		builder_complete(b, stream, 10 * i, 5, EPP_KERNEL, name, node, NULL, 0);
		if (i % 5 == 0)
			builder_flush(b, threads[i % 2], BUILDER_TO_BLOCK);
		if (i % 7 == 0)
			builder_flush(b, stream, BUILDER_TO_BLOCK);
	}
	size_t bytes, most = 0;
	uint64_t from = builder_header(b)->segments_offset;
	uint8_t *image = builder_image(b, EPF_FINISHED, &bytes);
	builder_destroy(b);
	for (size_t cut = from; cut < from + 8000; cut += 61) {
		uint8_t *part = malloc(cut);
		MUST(part);
		memcpy(part, image, cut);
		struct seen seen = see_image(part, cut, NULL, (struct seen_bounds)SEEN_BOUNDS);
		check_ok(seen.status);
		ck_assert_uint_ge(seen.count, most);
		most = seen.count;
		seen_release(&seen);
	}
	ck_assert_uint_eq(most, 120);
	free(image);
}
END_TEST

/* A damaged rate of the clock moves the start and the end of an event to the limits of time: neither its length nor the
 * sum of a time and its bound may overflow. */
START_TEST(times_at_both_limits)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "one", 10);
	uint32_t stream = builder_device(b, "stream", "gpu", 0, 1, EPF_TRACK_CLOCK_HOST);
	epp_name name = builder_name(b, "n");

	builder_header(b)->source.ticks_per_second = 1;
	uint64_t node = builder_event(b, thread, 1, UINT64_MAX / 4, EPP_NODE, name, NULL, 0);
	builder_complete(b, stream, 1, UINT64_MAX / 4, EPP_KERNEL, name, node, NULL, 0);
	struct seen seen = see_all(b);
	ck_assert_uint_eq(seen.count, 2);
	for (size_t i = 0; i < seen.count; i++) {
		const epp_event *event = &seen.events[i].event;
		int64_t sum_ns;
		ck_assert_int_ge(event->duration_ns, 0);
		ck_assert(!__builtin_add_overflow(event->start_ns, event->start_error_ns, &sum_ns));
	}
	seen_release(&seen);
}
END_TEST

/* It goes bad while it is read. */
START_TEST(a_file_that_changes)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "one", 10);
	epp_name name = builder_name(b, "n");
	for (unsigned i = 0; i < 4000; i++) {
		builder_event(b, thread, AT(10 * i), 5, EPP_NODE, name, NULL, 0);
		if (i % 4 == 0)
			builder_flush(b, thread, BUILDER_TO_BLOCK);
	}
	size_t bytes, count = 0;
	uint8_t *image = builder_image(b, EPF_FINISHED, &bytes);
	builder_destroy(b);
	struct reader_source source = builder_source(image, bytes);
	struct reader *reader;
	epp_timeline *timeline;
	const epp_event *event;
	check_ok(reader_open(&source, "image", &reader));
	check_ok(timeline_create(reader, NULL, 1 << 20, 1 << 20, &timeline));
	while (epp_timeline_next(timeline, &event))
		if (++count == 100)
			image[reader->blocks[900].offset + sizeof(struct epf_block)] ^= 1;
	ck_assert_uint_gt(count, 3000);
	ck_assert_uint_lt(count, 3800);
	check_fails(EPP_CORRUPT, epp_timeline_status(timeline));
	check_ok(epp_timeline_status(timeline)); /* once */
	epp_timeline_destroy(timeline);
	reader_close(reader);
	free(image);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("timeline_damage");
	TCase *tc = tcase_create("timeline_damage");
	tcase_add_test(tc, blocks_that_change);
	tcase_add_test(tc, blocks_that_lie);
	tcase_add_test(tc, a_file_that_is_cut);
	tcase_add_test(tc, times_at_both_limits);
	tcase_add_test(tc, a_file_that_changes);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)

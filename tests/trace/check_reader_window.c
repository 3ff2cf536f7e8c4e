/* What a killed process leaves in the window, and a window that changes while it is read: each record once. */
#include "trace/reader.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "tests/support/reader_asserts.h"

static struct epf_region *chunk_of(struct epp_builder *b, uint8_t *image, uint32_t index)
{
	return (struct epf_region *)(void *)(image + builder_header(b)->chunks_offset +
	                                     (size_t)index * builder_header(b)->chunk_bytes);
}

/* One thread, ten events in one region. */
static struct epp_builder *ten_events(uint32_t *thread)
{
	struct epp_builder *b = builder_create();
	epp_name name = builder_name(b, "name");
	*thread = builder_thread(b, "main", 77);
	for (uint64_t i = 0; i < 10; i++)
		builder_event(b, *thread, BUILDER_START + 10 * i, 5, EPP_NODE, name, NULL, 0);
	return b;
}

/* Killed between a block and the zeroing of its region, or during the zeroing. */
START_TEST(in_block_and_window)
{
	uint32_t thread;
	struct epp_builder *b = ten_events(&thread);
	builder_flush(b, thread, BUILDER_TO_BLOCK | BUILDER_TO_WINDOW);
	size_t bytes;
	uint8_t *image = builder_image(b, EPF_RECORDING, &bytes);
	struct epf_record *records = (struct epf_record *)(void *)(chunk_of(b, image, 0) + 1);
	for (int zeroed = 0; zeroed <= 10; zeroed++) {
		epp_trace *trace = open_image(image, bytes);
		ck_assert_uint_eq(trace->reader->info.records_count, 10);
		ck_assert_uint_eq(trace->reader->info.recovered_records_count, 0);
		must_find_no(EPP_ERROR, trace);
		epp_trace_close(trace);
		if (zeroed < 10)
			memset(&records[zeroed], 0, sizeof(*records));
	}
	chunk_of(b, image, 0)->sequence = 1000;
	epp_trace *trace = open_image(image, bytes);
	ck_assert_uint_eq(trace->reader->info.records_count, 10);
	epp_trace_close(trace);
	free(image);
	builder_destroy(b);
}
END_TEST

START_TEST(regions_that_do_not_count)
{
	uint32_t thread;
	struct epp_builder *b = ten_events(&thread);
	size_t bytes;
	builder_flush(b, thread, BUILDER_TO_WINDOW);
	uint8_t *image = builder_image(b, EPF_RECORDING, &bytes);
	struct epf_region *region = chunk_of(b, image, 0), saved = *region;
	struct epf_record *records = (struct epf_record *)(void *)(region + 1);

	/* Its header is not filled in yet. */
	region->sequence++;
	epp_trace *trace = open_image(image, bytes);
	ck_assert_uint_eq(trace->reader->blocks_count, 0);
	epp_trace_close(trace);
	*region = saved;
	region->sequence = region->sequence_used = 0;
	trace = open_image(image, bytes);
	ck_assert_uint_eq(trace->reader->blocks_count, 0);
	epp_trace_close(trace);
	*region = saved;

	region->open_count = EPF_OPEN_MAX + 1;
	trace = open_image(image, bytes);
	ck_assert_uint_eq(trace->reader->blocks_count, 0);
	ck_assert(has_finding(trace, "number of open events: 65"));
	epp_trace_close(trace);
	*region = saved;

	/* A record that was being stored: everything but its name. */
	records[9].tail = 0;
	trace = open_image(image, bytes);
	ck_assert_uint_eq(trace->reader->info.records_count, 9);
	epp_trace_close(trace);

	/* Arg slots beyond the region end it. */
	records[5].arg_slots = UINT16_MAX;
	trace = open_image(image, bytes);
	ck_assert_uint_eq(trace->reader->info.records_count, 5);
	ck_assert(has_finding(trace, "65535 arg slots"));
	epp_trace_close(trace);
	free(image);
	builder_destroy(b);
}
END_TEST

/* A region filled to its last byte, and one whose last record has args up to it. */
START_TEST(full_regions)
{
	for (int with_args = 0; with_args < 2; with_args++) {
		struct epp_builder *b = builder_create();
		builder_geometry(b, 1, 2, 4096, 8192, 65536);
		epp_name name = builder_name(b, "n");
		uint32_t thread = builder_thread(b, "main", 1);
		unsigned count = (4096 - 64) / 32;
		epp_arg args[2] = { { .key = name, .type = EPP_ARG_U64, .value.u64 = 1 },
			            { .key = name, .type = EPP_ARG_U64, .value.u64 = 2 } };
		for (unsigned i = 0; i < count - 1; i++)
			builder_event(b, thread, BUILDER_START + i, 0, EPP_NODE, name,
			              with_args && i == count - 2 ? args : NULL, with_args && i == count - 2 ? 2 : 0);
		if (!with_args)
			builder_event(b, thread, BUILDER_START + count, 0, EPP_NODE, name, NULL, 0);
		epp_trace *trace = builder_open(b, EPF_RECORDING);
		ck_assert_uint_eq(trace->reader->info.recovered_records_count, count - (unsigned)with_args);
		must_find_no(EPP_ERROR, trace);
		epp_trace_close(trace);
		builder_destroy(b);
	}
}
END_TEST

/* ---- definitions ---- */

START_TEST(the_log)
{
	struct epp_builder *b = builder_create();
	epp_name early = builder_name(b, "early");
	builder_definitions_to_block(b);
	epp_name late = builder_name(b, "late");
	uint32_t known = builder_thread(b, "known", 5), unknown = builder_thread_undefined(b, "quiet", 6);
	builder_event(b, unknown, BUILDER_START, 1, EPP_NODE, late, NULL, 0);
	size_t bytes;
	uint8_t *image = builder_image(b, EPF_RECORDING, &bytes);
	epp_trace *trace = open_image(image, bytes);
	ck_assert_str_eq(epp_trace_name(trace, early, NULL), "early");
	ck_assert_str_eq(epp_trace_name(trace, late, NULL), "late");
	ck_assert_str_eq(epp_trace_track_find(trace, known)->name, "known");
	const epp_trace_track *track = epp_trace_track_find(trace, unknown);
	ck_assert_ptr_nonnull(track);
	ck_assert_str_eq(track->name, "quiet");
	ck_assert_uint_eq(track->thread_id, 6);
	ck_assert_uint_eq(track->kind, EPP_TRACK_THREAD);
	must_find_no(EPP_ERROR, trace);
	epp_trace_close(trace);

	/* The length is stored last: bytes beyond it do not count. */
	struct epf_live *live = (struct epf_live *)(void *)(image + builder_header(b)->live_offset);
	uint64_t used = live->log_used;
	live->log_used = used - 8;
	trace = open_image(image, bytes);
	ck_assert_str_eq(epp_trace_track_find(trace, known)->name, "known");
	ck_assert_str_eq(epp_trace_name(trace, late, NULL), "late");
	epp_trace_close(trace);
	live->log_used = 0;
	trace = open_image(image, bytes);
	ck_assert_str_eq(epp_trace_name(trace, late, NULL), "(unknown)");
	ck_assert_str_eq(epp_trace_name(trace, early, NULL), "early");
	epp_trace_close(trace);
	live->log_used = UINT64_MAX;
	trace = open_image(image, bytes);
	ck_assert(has_finding(trace, "the log's size"));
	ck_assert_str_eq(epp_trace_name(trace, late, NULL), "late");
	epp_trace_close(trace);
	free(image);
	builder_destroy(b);
}
END_TEST

/* ---- a file that changes while it is read ---- */

#define STAGES_MAX 6

struct changing {
	const uint8_t *images[STAGES_MAX];
	size_t bytes[STAGES_MAX];
	unsigned from_read[STAGES_MAX]; /* the stage holds from this read on */
	unsigned stages, reads;
};

static size_t changing_read(void *user, uint64_t offset, void *buffer, size_t bytes)
{
	struct changing *changing = user;
	unsigned stage = 0, read = changing->reads++;
	while (stage + 1 < changing->stages && changing->from_read[stage + 1] <= read)
		stage++;
	if (offset >= changing->bytes[stage])
		return 0;
	if (bytes > changing->bytes[stage] - offset)
		bytes = (size_t)(changing->bytes[stage] - offset);
	memcpy(buffer, changing->images[stage] + offset, bytes);
	return bytes;
}

/* The trace of this very process, so that the reader takes it for live. */
static void be_alive(struct epp_builder *b)
{
	struct epf_source *source = &builder_header(b)->source;
	char text[64] = "";
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY);
	ck_assert_int_gt(read(fd, text, sizeof(text) - 1), 0);
	close(fd);
	unsigned digits = 0;
	memset(source->boot_id, 0, sizeof(source->boot_id));
	for (const char *at = text; *at && digits < 32; at++) {
		const char *digit = strchr("0123456789abcdef", *at);
		if (digit) {
			unsigned value = (unsigned)(digit - "0123456789abcdef");
			source->boot_id[digits / 2] |= (uint8_t)(value << (digits % 2 ? 0 : 4));
			digits++;
		}
	}
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	source->pid = (uint32_t)getpid();
	builder_header(b)->created_unix_ns = (uint64_t)now.tv_sec * 1000000000u;
}

/* The stages of a region that becomes a block while its thread ends an event and begins another one. */
static struct changing stages(struct epp_builder **builder, uint64_t *outer)
{
	struct changing changing = { 0 };
	struct epp_builder *b = builder_create();
	builder_geometry(b, 2, 2, 4096, 4096, 65536);
	be_alive(b);
	epp_name name = builder_name(b, "name");
	uint32_t thread = builder_thread(b, "main", 1);
	*outer = builder_begin(b, thread, BUILDER_START + 1, EPP_NODE, name);
	for (uint64_t i = 0; i < 5; i++)
		builder_event(b, thread, BUILDER_START + 10 * (i + 1), 5, EPP_NODE, name, NULL, 0);
	size_t bytes;
	uint8_t *image = builder_image(b, EPF_RECORDING, &bytes);
	changing.images[0] = image; /* five records, one open */
	changing.bytes[0] = bytes;

	builder_end(b, thread, *outer, BUILDER_START + 100, NULL, 0);
	image = builder_image(b, EPF_RECORDING, &bytes);
	slot_of(b, image, 0)->open[0] = slot_of(b, (uint8_t *)(uintptr_t)changing.images[0], 0)->open[0];
	changing.images[1] = image; /* the sixth record is there, its event still on the stack */
	changing.bytes[1] = bytes;

	image = builder_image(b, EPF_RECORDING, &bytes);
	changing.images[2] = image; /* popped */
	changing.bytes[2] = bytes;

	struct epf_region region = *(struct epf_region *)(void *)slot_of(b, image, 0)->region;
	builder_flush(b, thread, BUILDER_TO_BLOCK);
	image = builder_image(b, EPF_RECORDING, &bytes);
	memcpy(slot_of(b, image, 0)->region,
	       ((const struct epf_slot *)(const void *)(changing.images[2] + builder_header(b)->slots_offset))->region,
	       EPF_SLOT_REGION_BYTES);
	changing.images[3] = image; /* the block is written */
	changing.bytes[3] = bytes;

	image = builder_image(b, EPF_RECORDING, &bytes);
	memcpy(slot_of(b, image, 0)->region, &region, sizeof(region));
	changing.images[4] = image; /* the records are zeroed */
	changing.bytes[4] = bytes;

	image = builder_image(b, EPF_RECORDING, &bytes);
	region.sequence = 1000;
	memcpy(slot_of(b, image, 0)->region, &region, sizeof(region));
	changing.images[5] = image; /* and the region is free again */
	changing.bytes[5] = bytes;
	changing.stages = 6;
	*builder = b;
	return changing;
}

static unsigned open_changing(struct changing *changing, uint64_t outer)
{
	epp_trace trace;
	changing->reads = 0;
	epp_status *status = reader_open(&(struct reader_source){ changing_read, NULL, changing }, NULL, &trace.reader);
	MUST(!status);
	const epp_trace_info *info = &trace.reader->info;
	MUST(info->state == EPP_TRACE_RECORDING);
	/* Five events were complete before; the outer one is open or recorded, never both and never neither. */
	MUST(info->records_count + info->open_count == 6);
	MUST(info->open_count <= 1 && (!info->open_count || trace.reader->open[0].open.id == outer));
	for (size_t i = 0; i < trace.reader->findings_count; i++)
		MUST(trace.reader->findings[i].severity == EPP_NOTE);
	unsigned reads = changing->reads;
	reader_close(trace.reader);
	return reads;
}

START_TEST(while_it_is_read)
{
	struct epp_builder *b;
	uint64_t outer;
	struct changing changing = stages(&b, &outer);
	for (unsigned stage = 1; stage < changing.stages; stage++)
		changing.from_read[stage] = 1000;
	unsigned reads = open_changing(&changing, outer) + 2, *at = changing.from_read;
	for (at[1] = 0; at[1] <= reads; at[1]++)
		for (at[2] = at[1]; at[2] <= reads; at[2]++)
			for (at[3] = at[2]; at[3] <= reads; at[3]++)
				for (at[4] = at[3]; at[4] <= reads; at[4]++)
					for (at[5] = at[4]; at[5] <= reads; at[5] += 3)
						open_changing(&changing, outer);
	for (unsigned i = 0; i < changing.stages; i++)
		free((void *)(uintptr_t)changing.images[i]);
	builder_destroy(b);
}
END_TEST

/* A writer far ahead of its reader: the outer event ends and four blocks follow; a thread appears, defined in the log,
 * its records become a block, then its definition does. */
START_TEST(the_writer_runs_ahead)
{
	struct changing changing = { .stages = 4 };
	struct epp_builder *b = builder_create();
	builder_geometry(b, 2, 2, 4096, 4096, 65536);
	be_alive(b);
	epp_name name = builder_name(b, "name");
	uint32_t thread = builder_thread(b, "main", 1), late = 0;
	uint64_t outer = builder_begin(b, thread, BUILDER_START + 1, EPP_NODE, name);
	builder_event(b, thread, BUILDER_START + 5, 5, EPP_NODE, name, NULL, 0);
	builder_definitions_to_block(b);
	for (unsigned stage = 0; stage < changing.stages; stage++) {
		if (stage == 1) {
			builder_end(b, thread, outer, BUILDER_START + 100, NULL, 0);
			builder_flush(b, thread, BUILDER_TO_BLOCK);
			for (uint64_t i = 0; i < 4; i++) {
				builder_event(b, thread, BUILDER_START + 200 + i, 1, EPP_NODE, name, NULL, 0);
				builder_flush(b, thread, BUILDER_TO_BLOCK);
			}
			late = builder_thread(b, "late", 2);
			builder_event(b, late, BUILDER_START + 300, 1, EPP_NODE, builder_name(b, "late name"), NULL, 0);
		} else if (stage == 2) {
			builder_flush(b, late, BUILDER_TO_BLOCK);
		} else if (stage == 3) {
			builder_definitions_to_block(b);
		}
		changing.images[stage] = builder_image(b, EPF_RECORDING, &changing.bytes[stage]);
	}
	for (unsigned first = 0; first < 40; first++) {
		for (unsigned second = first; second < 40; second++) {
			for (unsigned third = second; third < 40; third++) {
				epp_trace trace;
				uint64_t errors;
				changing.reads = 0;
				changing.from_read[1] = first;
				changing.from_read[2] = second;
				changing.from_read[3] = third;
				struct reader_source source = { changing_read, NULL, &changing };
				MUST(!reader_open(&source, NULL, &trace.reader));
				MUST(!epp_trace_validate(&trace, NULL, NULL, &errors));
				MUST(errors == 0);
				reader_close(trace.reader);
			}
		}
	}
	for (unsigned i = 0; i < changing.stages; i++)
		free((void *)(uintptr_t)changing.images[i]);
	builder_destroy(b);
}
END_TEST

/* A run begins, and its first event is recorded, after the reader has read the live page. */
START_TEST(a_run_that_begins)
{
	struct changing changing = { .stages = 2 };
	struct epp_builder *b = builder_create();
	builder_geometry(b, 2, 2, 4096, 4096, 65536);
	be_alive(b);
	uint32_t run = builder_live(b)->run;
	builder_live(b)->run = 0;
	changing.images[0] = builder_image(b, EPF_RECORDING, &changing.bytes[0]);
	builder_live(b)->run = run;
	uint32_t thread = builder_thread(b, "main", 1);
	builder_event(b, thread, BUILDER_START + 5, 5, EPP_NODE, builder_name(b, "name"), NULL, 0);
	changing.images[1] = builder_image(b, EPF_RECORDING, &changing.bytes[1]);
	for (unsigned first = 0; first < 40; first++) {
		epp_trace trace;
		uint64_t errors;
		changing.reads = 0;
		changing.from_read[1] = first;
		struct reader_source source = { changing_read, NULL, &changing };
		MUST(!reader_open(&source, NULL, &trace.reader));
		MUST(!epp_trace_validate(&trace, NULL, NULL, &errors));
		MUST(errors == 0);
		reader_close(trace.reader);
	}
	for (unsigned i = 0; i < changing.stages; i++)
		free((void *)(uintptr_t)changing.images[i]);
	builder_destroy(b);
}
END_TEST

/* A piece of the log is emptied and filled again, beyond what it held, while it is read. */
START_TEST(a_log_that_is_filled_again)
{
	struct changing changing = { .stages = 2 };
	struct epp_builder *b = builder_create();
	builder_geometry(b, 2, 2, 4096, 4096, 65536);
	be_alive(b);
	uint32_t thread = builder_thread(b, "main", 1);
	epp_name name = builder_name(b, "name");
	builder_event(b, thread, BUILDER_START + 5, 5, EPP_NODE, name, NULL, 0);
	changing.images[0] = builder_image(b, EPF_RECORDING, &changing.bytes[0]);
	builder_definitions_to_block(b);
	uint8_t *after = builder_image(b, EPF_RECORDING, &changing.bytes[1]);
	const struct epf_header *header = builder_header(b);
	changing.images[1] = after;
	/* One name that takes all of it: what is read of it by the length of before is a piece of one. */
	struct epf_definition head = { .bytes = header->log_bytes - (uint32_t)sizeof(head), .type = EPF_DEFINE_NAME };
	memset(after + header->log_offset, 1, header->log_bytes);
	memcpy(after + header->log_offset, &head, sizeof(head));
	memcpy(after + header->log_offset + sizeof(head), &(uint32_t){ 900 }, sizeof(uint32_t));
	((struct epf_live *)(void *)(after + header->live_offset))->log_used = EPF_LOG_EMPTIED(0ull) | header->log_bytes;
	for (unsigned at = 0; at < 40; at++) {
		epp_trace trace;
		changing.reads = 0;
		changing.from_read[1] = at;
		struct reader_source source = { changing_read, NULL, &changing };
		MUST(!reader_open(&source, NULL, &trace.reader));
		must_find_no(EPP_WARNING, &trace);
		ck_assert_str_eq(epp_trace_name(&trace, name, NULL), "name");
		reader_close(trace.reader);
	}
	free((void *)(uintptr_t)changing.images[0]);
	free(after);
	builder_destroy(b);
}
END_TEST

START_TEST(window_elsewhere)
{
	uint32_t thread;
	struct epp_builder *b = ten_events(&thread);
	builder_header(b)->features |= EPF_FEATURE_EXTERNAL_WINDOW;
	snprintf(builder_header(b)->window_path, sizeof(builder_header(b)->window_path), "/no/such/window");
	epp_trace *trace = builder_open(b, EPF_RECORDING);
	ck_assert(has_finding(trace, "/no/such/window"));
	ck_assert_uint_eq(trace->reader->info.records_count, 0);
	epp_trace_close(trace);
	builder_destroy(b);
}
END_TEST

static Suite *window_suite(void)
{
	Suite *suite = suite_create("reader_window");
	TCase *cases = tcase_create("all");
	tcase_add_test(cases, in_block_and_window);
	tcase_add_test(cases, regions_that_do_not_count);
	tcase_add_test(cases, full_regions);
	tcase_add_test(cases, the_log);
	tcase_add_test(cases, while_it_is_read);
	tcase_add_test(cases, the_writer_runs_ahead);
	tcase_add_test(cases, a_run_that_begins);
	tcase_add_test(cases, a_log_that_is_filled_again);
	tcase_add_test(cases, window_elsewhere);
	suite_add_tcase(suite, cases);
	return suite;
}

CHECK_MAIN(window_suite)

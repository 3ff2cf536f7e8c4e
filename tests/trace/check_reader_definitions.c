/* Names, tracks, runs, pairs, accounts and sources: said once, twice, in any order, or wrongly. */
#include "trace/reader.h"

#include <string.h>
#include <time.h>

#include "tests/support/reader_asserts.h"

START_TEST(names)
{
	struct epp_builder *b = builder_create();
	static char large[EPF_NAME_BYTES_MAX + 1];
	memset(large, 'x', sizeof(large));
	epp_name empty = builder_name(b, ""), first = builder_name(b, "first");
	epp_name largest = builder_name_bytes(b, large, EPF_NAME_BYTES_MAX);
	epp_name zeros = builder_name_bytes(b, "\0\0\0", 3);
	builder_define(b, EPF_DEFINE_NAME, "\x30\0\0\0second", 10);
	builder_define(b, EPF_DEFINE_NAME, "\x30\0\0\0third", 9);
	builder_define(b, EPF_DEFINE_NAME, "\0\0\0\0zero", 8);
	builder_define(b, EPF_DEFINE_NAME, "\xff\xff\xff\xffhuge", 8);
	builder_define(b, EPF_DEFINE_NAME, "ab", 2);
	static char too_large[4 + EPF_NAME_BYTES_MAX + 1] = { 0x31 };
	builder_define(b, EPF_DEFINE_NAME, too_large, sizeof(too_large));
	builder_define(b, 9, "what", 4);
	epp_trace *trace = builder_open(b, EPF_FINISHED);
	size_t bytes;
	ck_assert_str_eq(epp_trace_name(trace, empty, &bytes), "");
	ck_assert_uint_eq(bytes, 0);
	ck_assert_str_eq(epp_trace_name(trace, first, NULL), "first");
	ck_assert_uint_eq(strlen(epp_trace_name(trace, largest, &bytes)), EPF_NAME_BYTES_MAX);
	ck_assert_uint_eq(bytes, EPF_NAME_BYTES_MAX);
	epp_trace_name(trace, zeros, &bytes);
	ck_assert_uint_eq(bytes, 3);
	ck_assert_str_eq(epp_trace_name(trace, 0x30, NULL), "second"); /* what was said first stands */
	ck_assert_str_eq(epp_trace_name(trace, 0x31, NULL), "(unknown)");
	ck_assert(has_finding(trace, "name number 0"));
	ck_assert(has_finding(trace, "name number 4294967295"));
	ck_assert(has_finding(trace, "a name has an invalid size of 2 bytes"));
	ck_assert(has_finding(trace, "a name has an invalid size of 65541 bytes"));
	ck_assert(has_finding(trace, "a definition has the unknown type 9"));
	epp_trace_close(trace);
	builder_destroy(b);
}
END_TEST

/* As of a server with a thread for each request. If tracks or accounts were searched one by one, this would take 40 s. */
START_TEST(many_threads)
{
	enum { TRACKS = 200000, AT_ONCE = 4000 };
	struct definition {
		struct epf_definition head;
		struct epf_track track;
	} *definitions = calloc(AT_ONCE, sizeof(*definitions));
	struct epf_ledger_entry *accounts = calloc(AT_ONCE, sizeof(*accounts));
	struct epp_builder *b = builder_create();
	uint64_t errors;
	builder_geometry(b, 8, 1, 4096, 1u << 20, 1u << 20);
	for (uint32_t first = 1; first < TRACKS; first += AT_ONCE) {
		for (uint32_t i = 0; i < AT_ONCE; i++) {
			definitions[i].head = (struct epf_definition){ .bytes = sizeof(struct epf_track),
				                                       .type = EPF_DEFINE_TRACK };
			definitions[i].track = (struct epf_track){ .track = first + i,
				                                   .kind = EPF_TRACK_THREAD,
				                                   .thread_id = first + i,
				                                   .device = -1,
				                                   .producer = -1 };
			accounts[i] = (struct epf_ledger_entry){ .track = first + i, .run = 1 };
		}
		struct epf_block block = { .type = EPF_BLOCK_DEFINITIONS, .payload_bytes = AT_ONCE * sizeof(*definitions) };
		builder_block(b, &block, definitions);
		block = (struct epf_block){ .type = EPF_BLOCK_LEDGER, .payload_bytes = AT_ONCE * sizeof(*accounts) };
		builder_block(b, &block, accounts);
	}
	clock_t began = clock();
	epp_trace *trace = builder_open(b, EPF_FINISHED);
	ck_assert_ptr_nonnull(epp_trace_track_at(trace, TRACKS - 1));
	ck_assert_ptr_null(epp_trace_track_at(trace, TRACKS));
	check_ok(epp_trace_validate(trace, NULL, NULL, &errors));
	ck_assert_uint_eq(errors, 0);
	/* Of a processor: 0.2 s, with a search 40 s. */
	ck_assert_int_lt(clock() - began, 15 * CLOCKS_PER_SEC);
	epp_trace_close(trace);
	builder_destroy(b);
	free(accounts);
	free(definitions);
}
END_TEST

START_TEST(tracks)
{
	struct epp_builder *b = builder_create();
	struct epf_track definition = {
		.track = 5, .kind = EPF_TRACK_CUSTOM, .name_bytes = 1, .group_bytes = 1, .device = -1
	};
	uint8_t body[sizeof(definition) + 8] = { 0 };
	memcpy(body + sizeof(definition), "ab", 2);
	memcpy(body, &definition, sizeof(definition));
	builder_define(b, EPF_DEFINE_TRACK, body, sizeof(definition) + 2);
	definition.kind = EPF_TRACK_DEVICE; /* said again: the first stands */
	memcpy(body, &definition, sizeof(definition));
	builder_define(b, EPF_DEFINE_TRACK, body, sizeof(definition) + 2);
	definition.track = 1000000; /* far from its index */
	memcpy(body, &definition, sizeof(definition));
	builder_define(b, EPF_DEFINE_TRACK, body, sizeof(definition) + 2);
	definition.track = 6;
	definition.name_bytes = 3;
	memcpy(body, &definition, sizeof(definition));
	builder_define(b, EPF_DEFINE_TRACK, body, sizeof(definition) + 2);
	definition.name_bytes = UINT32_MAX;
	memcpy(body, &definition, sizeof(definition));
	builder_define(b, EPF_DEFINE_TRACK, body, sizeof(definition) + 2);
	builder_define(b, EPF_DEFINE_TRACK, body, 20);
	definition = (struct epf_track){ .track = 7, .kind = 77, .clock_kind = 9, .source = 500 };
	builder_define(b, EPF_DEFINE_TRACK, &definition, sizeof(definition));
	epp_trace *trace = builder_open(b, EPF_FINISHED);
	const epp_trace_track *track = epp_trace_track_find(trace, 5);
	ck_assert_uint_eq(track->kind, EPP_TRACK_CUSTOM);
	ck_assert_str_eq(track->name, "a");
	ck_assert_str_eq(track->group, "b");
	ck_assert_uint_eq(epp_trace_track_find(trace, 1000000)->kind, EPP_TRACK_DEVICE);
	ck_assert_uint_eq(reader_track_definition(trace->reader, 1000000)->track, 1000000);
	ck_assert_ptr_null(epp_trace_track_find(trace, 6));
	ck_assert_ptr_nonnull(epp_trace_track_find(trace, 7));
	ck_assert_uint_eq(trace->reader->info.tracks_count, 3);
	ck_assert(has_finding(trace, "extends beyond the definition"));
	ck_assert(has_finding(trace, "a track has an invalid size of 20 bytes"));
	ck_assert(has_finding(trace, "kind 77"));
	epp_trace_close(trace);
	builder_destroy(b);
}
END_TEST

START_TEST(thousands_of_names_and_tracks)
{
	struct epp_builder *b = builder_create();
	builder_geometry(b, 8, 1, 4096, 1u << 20, 1u << 20);
	char text[64];
	for (int i = 0; i < 20000; i++) {
		snprintf(text, sizeof(text), "name %d", i);
		builder_name(b, text);
	}
	for (int i = 0; i < 2000; i++)
		builder_device(b, "s", "d", i, i, EPF_TRACK_CLOCK_DEVICE);
	for (int finished = 0; finished < 2; finished++) {
		epp_trace *trace = builder_open(b, finished ? EPF_FINISHED : EPF_RECORDING);
		ck_assert_str_eq(epp_trace_name(trace, EPF_NAME_FIRST_FREE + 12345, NULL), "name 12345");
		ck_assert_uint_eq(trace->reader->info.names_count, 20012);
		ck_assert_uint_eq(trace->reader->info.tracks_count, 2000);
		ck_assert_int_eq(epp_trace_track_find(trace, 1500)->device, 1499);
		epp_trace_close(trace);
	}
	builder_destroy(b);
}
END_TEST

START_TEST(runs_pairs_and_sources)
{
	struct epp_builder *b = builder_create();
	struct epf_run run = { .run = 7, .start = { .ticks = BUILDER_START + 70 }, .end = { .ticks = BUILDER_START + 90 } };
	builder_block(b, &(struct epf_block){ .type = EPF_BLOCK_RUN, .payload_bytes = sizeof(run) }, &run);
	run.run = 3;
	run.end.ticks = 0;
	builder_block(b, &(struct epf_block){ .type = EPF_BLOCK_RUN, .payload_bytes = sizeof(run) }, &run);
	run.end.ticks = BUILDER_START + 80; /* said again, and now it has ended */
	builder_block(b, &(struct epf_block){ .type = EPF_BLOCK_RUN, .payload_bytes = sizeof(run) }, &run);
	struct epf_host_pair pairs[] = { { .ticks = 500 }, { .ticks = 100 }, { .ticks = 300 }, { .ticks = 100 } };
	builder_block(b, &(struct epf_block){ .type = EPF_BLOCK_HOST_PAIRS, .payload_bytes = sizeof(pairs) }, pairs);
	builder_block(b, &(struct epf_block){ .type = EPF_BLOCK_HOST_PAIRS, .source = 1, .payload_bytes = sizeof(pairs) },
	              pairs);
	struct epf_source source = { .pid = 9 };
	memset(source.program, 'p', sizeof(source.program)); /* without a NUL */
	builder_block(b, &(struct epf_block){ .type = EPF_BLOCK_SOURCES, .payload_bytes = sizeof(source) }, &source);
	struct epf_track definition = { .kind = EPF_TRACK_THREAD, .source = 1, .device = -1 };
	uint32_t track = builder_track(b, &definition, "other", "");
	epp_trace *trace = builder_open(b, EPF_RECORDING);
	const struct reader *reader = trace->reader;
	ck_assert_uint_eq(reader->runs_count, 3);
	ck_assert_uint_eq(reader->runs[0].run, 1);
	ck_assert_uint_eq(reader->runs[1].run, 3);
	ck_assert_uint_eq(reader->runs[1].end.ticks, BUILDER_START + 80);
	ck_assert_uint_eq(reader->runs[2].run, 7);
	ck_assert_uint_eq(reader->pairs_count, 3 + 1 + 3);
	for (size_t i = 1; i < reader->pairs_count; i++)
		ck_assert_uint_lt(reader->pairs[i - 1].ticks, reader->pairs[i].ticks);
	ck_assert_uint_eq(reader->info.sources_count, 2);
	ck_assert_uint_eq(epp_trace_track_find(trace, track)->pid, 9);
	ck_assert_uint_eq(strlen(epp_trace_track_find(trace, track)->group), 63);
	epp_trace_close(trace);
	builder_destroy(b);
}
END_TEST

/* A damaged number must not cost memory for producers that the file does not contain, and must not be used as an index. */
START_TEST(producers_and_kinds_that_no_writer_makes)
{
	struct epp_builder *b = builder_create();
	struct epf_producer vendor = { .label = "far away" }, next = { .label = "next" };
	struct epf_track odd = { .kind = EPP_TRACK_CALLS, .device = -1, .producer = INT32_MAX };
	uint32_t odds[3];

	odds[0] = builder_track(b, &odd, "largest", "");
	odd.producer = INT32_MIN;
	odds[1] = builder_track(b, &odd, "smallest", "");
	odd.kind = EPF_TRACK_DEVICE;
	odd.producer = 1 << 20;
	odds[2] = builder_track(b, &odd, "beyond", "");
	builder_definitions_to_block(b);
	builder_block(b,
	              &(struct epf_block){ .type = EPF_BLOCK_PRODUCERS, .slot = 500000, .payload_bytes = sizeof vendor },
	              &vendor);
	builder_block(b, &(struct epf_block){ .type = EPF_BLOCK_PRODUCERS, .slot = 32, .payload_bytes = sizeof next },
	              &next);
	epp_trace *trace = builder_open(b, EPF_FINISHED);
	const struct reader *reader = trace->reader;

	ck_assert_uint_eq(reader->producers_count, 33);
	ck_assert_str_eq(reader->producers[32].label, "next");
	ck_assert(has_finding_of(trace, EPP_ERROR, "producers 500000 to 500001"));
	for (size_t i = 0; i < 3; i++) {
		const epp_trace_track *track = epp_trace_track_find(trace, odds[i]);
		ck_assert_int_eq(track->producer, -1);
		ck_assert_uint_ne(track->kind, EPP_TRACK_CALLS);
	}
	epp_trace_close(trace);
	builder_destroy(b);
}
END_TEST

/* Runs of older files end before what recording cost; those of later ones may have more. */
START_TEST(runs_of_other_versions)
{
	struct {
		struct epf_run run;
		uint64_t more;
	} run = { .run = {
		      .run = 1, .start = { .ticks = BUILDER_START }, .faults = 3, .event_cost_ps = 4, .write_cpu_ns = 5 } };
	const uint32_t bytes[] = { EPF_RUN_BYTES_MIN - 8, EPF_RUN_BYTES_MIN, sizeof(run.run), sizeof(run) };
	struct epp_builder *b = builder_create();
	for (uint32_t i = 0; i < 4; i++) {
		run.run.run = i + 2;
		builder_block(b, &(struct epf_block){ .type = EPF_BLOCK_RUN, .payload_bytes = bytes[i] }, &run);
	}
	epp_trace *trace = builder_open(b, EPF_FINISHED);
	for (uint32_t i = 1; i < 4; i++) {
		epp_trace_run found = { .struct_size = sizeof(found) };
		ck_assert_int_eq(epp_trace_run_at(trace, i, &found), 1);
		ck_assert_uint_eq(found.run, i + 2);
		ck_assert_uint_eq(found.page_faults, 3);
		ck_assert_uint_eq(found.event_cost_ps, i == 1 ? 0 : 4);
		ck_assert_uint_eq(found.write_cpu_ns, i == 1 ? 0 : 5);
	}
	epp_trace_close(trace);
	builder_destroy(b);
}
END_TEST

static Suite *definitions_suite(void)
{
	Suite *suite = suite_create("reader_definitions");
	TCase *cases = tcase_create("all");
	tcase_add_test(cases, names);
	tcase_add_test(cases, tracks);
	tcase_add_test(cases, thousands_of_names_and_tracks);
	tcase_add_test(cases, many_threads);
	tcase_add_test(cases, runs_pairs_and_sources);
	tcase_add_test(cases, producers_and_kinds_that_no_writer_makes);
	tcase_add_test(cases, runs_of_other_versions);
	suite_add_tcase(suite, cases);
	return suite;
}

CHECK_MAIN(definitions_suite)

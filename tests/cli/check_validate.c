/* validate: silent on a good trace, and a finding for each thing that does not hold. */
#include <stdarg.h>
#include <string.h>

#include "epprof/trace_reader.h"
#include "tests/support/check.h"
#include "tests/support/epp_builder.h"

struct findings {
	char text[64][256];
	epp_severity severity[64];
	uint64_t offset[64];
	unsigned count;
	uint64_t errors;
};

static void keep(void *user, const epp_trace_finding *finding)
{
	struct findings *findings = user;
	if (findings->count == 64)
		return;
	snprintf(findings->text[findings->count], 256, "%s", finding->text);
	findings->severity[findings->count] = finding->severity;
	findings->offset[findings->count++] = finding->offset;
}

/* What is wrong is wrong somewhere; a count of what is not told is not. */
static void all_have_places(const struct findings *findings)
{
	for (unsigned i = 0; i < findings->count; i++)
		if (findings->severity[i] != EPP_NOTE && findings->offset[i] == UINT64_MAX &&
		    !strstr(findings->text[i], "more findings"))
			ck_abort_msg("nowhere: %s", findings->text[i]);
}

static struct findings validate(struct epp_builder *b, enum epf_state state)
{
	struct findings findings = { .count = 0 };
	epp_trace *trace = builder_open(b, state);
	check_ok(epp_trace_validate(trace, keep, &findings, &findings.errors));
	uint64_t again;
	check_ok(epp_trace_validate(trace, NULL, NULL, &again));
	ck_assert_uint_eq(again, findings.errors);
	epp_trace_close(trace);
	all_have_places(&findings);
	return findings;
}

static bool has(const struct findings *findings, epp_severity severity, const char *part)
{
	for (unsigned i = 0; i < findings->count; i++)
		if (findings->severity[i] == severity && strstr(findings->text[i], part))
			return true;
	for (unsigned i = 0; i < findings->count; i++)
		printf("%d: %s\n", (int)findings->severity[i], findings->text[i]);
	return false;
}

/* A trace in which all holds: nested events, ends elsewhere, devices, counters, args, several runs. */
static struct epp_builder *good(uint32_t *thread, epp_name *name)
{
	struct epp_builder *b = builder_create();
	builder_producer(b, 0, "MyEP");
	*name = builder_name(b, "name");
	*thread = builder_thread(b, "main", 1);
	uint32_t worker = builder_thread(b, "worker", 2);
	uint32_t stream = builder_device(b, "s", "d", 0, 0, EPF_TRACK_CLOCK_DEVICE);
	epp_arg args[] = { { .key = *name, .type = EPP_ARG_TEXT, .value.text = "t", .text_bytes = 1 } };
	uint64_t outer = builder_begin(b, *thread, BUILDER_START + 10, EPP_SESSION, *name);
	uint64_t inner = builder_event(b, *thread, BUILDER_START + 20, 30, EPP_NODE, *name, args, 1);
	builder_counter(b, *thread, BUILDER_START + 60, *name, -1);
	builder_flow(b, *thread, BUILDER_START + 61, inner, outer);
	uint64_t request = builder_async_begin(b, *thread, BUILDER_START + 62, EPP_API, *name);
	builder_async_end(b, worker, request, BUILDER_START + 70, args, 1);
	uint64_t elsewhere = builder_begin(b, *thread, BUILDER_START + 71, EPP_NODE, *name);
	builder_orphan_end(b, worker, elsewhere, BUILDER_START + 80, NULL, 0);
	builder_device_pair(b, stream, 1000, BUILDER_START + 12, 3);
	builder_complete(b, stream, 1010, 5, EPP_KERNEL, *name, inner, args, 1);
	builder_host_pair(b, BUILDER_START + 90, 20, 0);
	builder_end(b, *thread, outer, BUILDER_START + 100, NULL, 0);
	builder_lost(b, *thread, EPP_LOSS_TOO_DEEP, 3, 0);
	return b;
}

START_TEST(all_holds)
{
	uint32_t thread;
	epp_name name;
	for (int state = EPF_RECORDING; state <= EPF_FINISHED; state++) {
		struct epp_builder *b = good(&thread, &name);
		struct findings findings = validate(b, (enum epf_state)state);
		ck_assert_uint_eq(findings.errors, 0);
		ck_assert_uint_eq(findings.count, state == EPF_FINISHED ? 0 : 1);
		if (state == EPF_RECORDING)
			ck_assert(has(&findings, EPP_NOTE, "never finished"));
		builder_destroy(b);
	}
}
END_TEST

/* Adds one record to a good trace and expects one finding. */
static void expect(epp_severity severity, const char *part, uint64_t start, uint64_t duration, uint64_t id,
                   uint32_t name, unsigned category, unsigned kind)
{
	uint32_t thread;
	epp_name given;
	struct epp_builder *b = good(&thread, &given);
	struct epf_record record = { .start_ticks = start, .duration_ticks = duration, .id = id };
	record.name = name ? name : given;
	record.bits = EPF_BITS(category, kind, 0, 0);
	builder_record(b, thread, &record, NULL, 0);
	if (severity == EPP_ERROR) /* so that no loss explains it */
		builder_lost(b, thread, EPP_LOSS_TOO_DEEP, (uint64_t)-3, 0);
	builder_run_end(b, BUILDER_START + 1000);
	struct findings findings = validate(b, EPF_FINISHED);
	ck_assert(has(&findings, severity, part));
	builder_destroy(b);
}

START_TEST(records)
{
	uint64_t start = BUILDER_START + 200, id = 1ull << 40;
	expect(EPP_ERROR, "category 7", start, 1, id, 0, 7, EPF_EVENT);
	expect(EPP_WARNING, "kind 13", start, 1, id, 0, 0, 13);
	expect(EPP_ERROR, "has no value", start, 0, id, 0, 0, EPF_COUNTER);
	expect(EPP_ERROR, "has no source", start, 0, id, 0, 0, EPF_FLOW);
	expect(EPP_ERROR, "has no id", start, 1, 0, 0, 0, EPF_EVENT);
	expect(EPP_ERROR, "never began", start, 0, id, 0, 0, EPF_ORPHAN_END);
	expect(EPP_NOTE, "never began", start, 0, id, 0, 0, EPF_ASYNC_END); /* as many were lost */
	expect(EPP_ERROR, "name 999 is used but not defined", start, 0, id, 999, 0, EPF_INSTANT);
	expect(EPP_ERROR, "track 999 is used but not defined", start, 0, 999, 0, 0, EPF_TRACK_SWITCH);
	expect(EPP_ERROR, "starts 50 ticks before its run", BUILDER_START - 50, 1, id, 0, 0, EPF_EVENT);
	expect(EPP_ERROR, "ticks after its run", start, 1000000, id, 0, 0, EPF_EVENT);
	expect(EPP_ERROR, "beyond the clock's range", UINT64_MAX - 5, 10, id, 0, 0, EPF_EVENT);
	expect(EPP_WARNING, "ends 1 ticks before it begins", start, UINT64_MAX, id, 0, 0, EPF_EVENT);
	expect(EPP_WARNING, "ticks before the record before it", BUILDER_START + 50, 0, id, 0, 0, EPF_INSTANT);
	expect(EPP_ERROR, "emitted", start, 1, id, 0, 0, EPF_EVENT); /* it took no id */
}
END_TEST

START_TEST(doubled_ids)
{
	uint32_t thread;
	epp_name name;
	struct epp_builder *b = good(&thread, &name);
	uint64_t id = builder_event(b, thread, BUILDER_START + 300, 5, EPP_NODE, name, NULL, 0);
	struct epf_record record = { .start_ticks = BUILDER_START + 310, .id = id };
	record.name = name;
	record.bits = EPF_BITS(0, EPF_INSTANT, 0, 0);
	builder_flush(b, thread, BUILDER_TO_BLOCK);
	builder_record(b, thread, &record, NULL, 0);
	struct findings findings = validate(b, EPF_FINISHED);
	ck_assert(has(&findings, EPP_ERROR, "is in two records"));
	ck_assert_uint_ne(findings.offset[0], UINT64_MAX);
	builder_destroy(b);
}
END_TEST

START_TEST(undefined_and_unbalanced)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread_undefined(b, "x", 1);
	builder_event(b, thread, BUILDER_START + 1, 1, EPP_NODE, 500, NULL, 0);
	builder_event(b, thread, BUILDER_START + 2, 1, EPP_NODE, 500, NULL, 0);
	builder_lost(b, thread, EPP_LOSS_NO_BUFFER, 1, 1);
	epp_arg arg = { .key = 501, .type = EPP_ARG_I64 };
	builder_event(b, thread, BUILDER_START + 3, 1, EPP_NODE, EPF_NAME_NONE, &arg, 1);
	struct findings findings = validate(b, EPF_FINISHED);
	ck_assert(has(&findings, EPP_ERROR, "name 500 is used but not defined"));
	ck_assert(has(&findings, EPP_ERROR, "name 501 is used but not defined"));
	ck_assert(has(&findings, EPP_ERROR, "track 1 is used but not defined"));
	ck_assert_uint_eq(findings.errors, 3);
	builder_destroy(b);

	b = builder_create();
	struct epf_producer *producer = builder_producer(b, 0, "liar");
	producer->emitted = 10;
	producer->lost[EPP_LOSS_PLUGIN] = 3;
	findings = validate(b, EPF_FINISHED);
	ck_assert(has(&findings, EPP_ERROR, "liar: emitted 10, but written 0 + lost 3 + open 0"));
	builder_destroy(b);
}
END_TEST

START_TEST(block_headers)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 1);
	epp_name name = builder_name(b, "n");
	builder_event(b, thread, BUILDER_START + 10, 5, EPP_NODE, name, NULL, 0);
	builder_run_end(b, BUILDER_START + 100);
	size_t bytes;
	uint8_t *image = builder_image(b, EPF_FINISHED, &bytes);
	epp_trace *trace;
	check_ok(builder_open_image(image, bytes, &trace));
	uint64_t offset = trace->reader->blocks[0].offset;
	epp_trace_close(trace);

	struct epf_block *block = (struct epf_block *)(void *)(image + offset), saved = *block;
	static const char *const expected[] = { "has kinds 8, its records have 2", "the header of a block covers",
		                                "the header of a block covers",    "the header of a block covers",
		                                "only 1 can be decoded",           "run 9 is used but not defined",
		                                "source 3 is used but not defined" };
	for (int i = 0; i < 7; i++) {
		*block = saved;
		if (i == 0)
			block->kinds = 1u << EPF_COUNTER;
		else if (i == 1)
			block->first_ticks++;
		else if (i == 2)
			block->last_ticks--;
		else if (i == 3)
			block->own_first_ticks = UINT64_MAX;
		else if (i == 4)
			block->record_count = 2;
		else if (i == 5)
			block->run = 9;
		else
			block->source = 3;
		builder_seal_block(image, offset);
		check_ok(builder_open_image(image, bytes, &trace));
		struct findings findings = { .count = 0 };
		check_ok(epp_trace_validate(trace, keep, &findings, &findings.errors));
		ck_assert(has(&findings, EPP_ERROR, expected[i]));
		ck_assert_uint_eq(findings.offset[0], offset);
		epp_trace_close(trace);
	}
	free(image);
	builder_destroy(b);
}
END_TEST

START_TEST(clocks)
{
	struct epp_builder *b = builder_create();
	struct epf_host_pair pairs[] = { { BUILDER_START + 1000000000, 50, (int64_t)BUILDER_START - 5000, 0 },
		                         { BUILDER_START + 3000000000, 50, (int64_t)BUILDER_START + 3900000000, 0 } };
	builder_block(b, &(struct epf_block){ .type = EPF_BLOCK_HOST_PAIRS, .payload_bytes = sizeof(pairs) }, pairs);
	builder_run_end(b, BUILDER_START + 4000000000);
	struct findings findings = validate(b, EPF_FINISHED);
	ck_assert(has(&findings, EPP_ERROR, "but 5000 ns earlier"));
	ck_assert(has(&findings, EPP_WARNING, "ns by ticks are"));
	builder_destroy(b);

	/* A finished file whose run never ended: its last segment was cut off cleanly. */
	b = builder_create();
	struct epf_run run = { .run = 2, .start = { .ticks = BUILDER_START + 5 } };
	builder_block(b, &(struct epf_block){ .type = EPF_BLOCK_RUN, .payload_bytes = sizeof(run) }, &run);
	findings = validate(b, EPF_FINISHED);
	ck_assert(has(&findings, EPP_ERROR, "run 2 has no end although the file is finished"));
	builder_destroy(b);
	b = builder_create();
	builder_run_end(b, BUILDER_START - 1);
	findings = validate(b, EPF_FINISHED);
	ck_assert(has(&findings, EPP_ERROR, "run 1 ends before it starts"));
	builder_destroy(b);
}
END_TEST

/* Of many findings of one kind the first are told and the others counted. */
START_TEST(many_findings)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 1);
	for (uint32_t i = 0; i < 3000; i++)
		builder_event(b, thread, BUILDER_START + i, 1, EPP_NODE, 1000 + i, NULL, 0);
	struct findings findings = validate(b, EPF_FINISHED);
	ck_assert_uint_eq(findings.errors, 3000);
	ck_assert_uint_eq(findings.count, 21);
	ck_assert(has(&findings, EPP_ERROR, "names: 2980 more findings"));
	builder_destroy(b);
}
END_TEST

static Suite *validate_suite(void)
{
	Suite *suite = suite_create("validate");
	TCase *cases = tcase_create("all");
	tcase_add_test(cases, all_holds);
	tcase_add_test(cases, records);
	tcase_add_test(cases, doubled_ids);
	tcase_add_test(cases, undefined_and_unbalanced);
	tcase_add_test(cases, block_headers);
	tcase_add_test(cases, clocks);
	tcase_add_test(cases, many_findings);
	suite_add_tcase(suite, cases);
	return suite;
}

CHECK_MAIN(validate_suite)

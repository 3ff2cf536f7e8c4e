/* Records of PU1 libraries: all five kinds as events, each to each session once, and those that break a rule as losses
 * with a reason.  What is wrong with a buffer ends there: records before it and other buffers are kept.  Covers
 * pu1_sessions.c. */
#include "pu1_recording.h"
#include "tests/support/emulated.h"
#include "tests/support/joined.h"

#include <sys/mman.h>

#include "plugins/plugin_kinds.h"
#include "plugins/pu1/pu1_reading.h"

static struct pu1_test test;

static void setup(void)
{
	test = pu1_load(PU1_PLUGIN("scripted_pu1"));
}

static void teardown(void)
{
	check_ok(epp_plugin_unload(test.plugin));
}

static const struct scan_record *one(const struct pu1_outcome *outcome, const char *name)
{
	const struct scan_record *record = scan_first(outcome->scan, EPF_COMPLETE, epp_name_intern(name));
	ck_assert_msg(record != NULL, "no %s", name);
	return record;
}

static uint64_t number(const struct scan_record *record, const char *key)
{
	const struct scan_arg *arg = scan_arg(record, epp_name_intern(key));
	return arg ? arg->value : UINT64_MAX;
}

static void check_text(const struct scan_record *record, const char *key, const char *text)
{
	const struct scan_arg *arg = scan_arg(record, epp_name_intern(key));
	ck_assert_msg(arg != NULL, "no %s", key);
	ck_assert_uint_eq(arg->text_bytes, strlen(text));
	ck_assert(!memcmp(arg->text, text, arg->text_bytes));
}

START_TEST(five_kinds)
{
	epp_session *session = pu1_start(&test);
	uint64_t id = epp_event_begin(session, EPP_NODE, epp_name_intern("node"));
	pu1ActivityRecord kernel = pu1_kernel("gemm \"x\"\n");
	kernel.device_id = 2;
	kernel.stream_id = 9;
	kernel.flags = PU1_FLAG_EXTERNAL_ID;
	kernel.external_id = test.script->top();
	kernel.metadata = "{\"grid\": [1, 2]}";
	pu1_emit(test.script, &kernel);
	static const char *const kinds[] = { "memcpy", "memset", NULL, "driver" };
	for (uint32_t kind = PU1_KIND_GPU_MEMCPY; kind <= PU1_KIND_PRIVATEUSE1_DRIVER; kind++) {
		pu1ActivityRecord record = pu1_kernel(NULL);
		record.kind = kind;
		record.bytes = kind <= PU1_KIND_GPU_MEMSET ? 4096 : 0;
		record.stream_id = kind;
		pu1_emit(test.script, &record);
	}
	epp_event_end(session, id, NULL, 0);
	struct pu1_outcome outcome = pu1_finish(session);
	ck_assert_str_eq(outcome.error, "");
	ck_assert_uint_eq(outcome.written, 5);
	ck_assert_uint_eq(outcome.emitted, 5);

	const struct scan_record *record = one(&outcome, "gemm \"x\"\n");
	const struct scan_track *track = scan_track(outcome.scan, record->track);
	ck_assert_int_eq(track->definition.device, 2);
	ck_assert_int_eq(track->definition.stream, 9);
	ck_assert_str_eq(track->name, "stream 9");
	ck_assert_str_eq(track->group, "pu1 device 2");
	ck_assert_uint_eq(track->definition.ticks_per_second, 1000000000);
	ck_assert_uint_eq(record->start_ticks, kernel.start_time);
	ck_assert_uint_eq(record->duration_ticks, 1000);
	ck_assert_uint_eq(EPF_BITS_CATEGORY(record->bits), EPP_KERNEL);
	ck_assert_uint_eq(number(record, "correlation"), 77);
	ck_assert_uint_eq(record->args[0].value, id); /* the parent comes first */
	check_text(record, "kind", "kernel");
	check_text(record, "metadata", "{\"grid\": [1, 2]}");
	static const char *const names[] = { "(copy)", "(fill)", "(runtime)", "(driver)" };
	for (size_t i = 0; i < 4; i++) {
		record = one(&outcome, names[i]);
		track = scan_track(outcome.scan, record->track);
		ck_assert_int_eq(track->definition.device, i < 2 ? 0 : -1);
		ck_assert_uint_eq(EPF_BITS_CATEGORY(record->bits), i < 2 ? EPP_KERNEL : EPP_API);
		ck_assert_uint_eq(number(record, "bytes"), i < 2 ? 4096 : UINT64_MAX);
		if (kinds[i])
			check_text(record, "kind", kinds[i]);
	}
	ck_assert_str_eq(scan_track(outcome.scan, one(&outcome, "(runtime)")->track)->name, "thread 4");
	trace_scan_free(outcome.scan);
}
END_TEST

/* A device record without an external id has that of its runtime record, also from a later buffer. */
START_TEST(ids_come_from_wherever_they_are)
{
	epp_session *session = pu1_start(&test);
	uint64_t id = epp_event_begin(session, EPP_NODE, epp_name_intern("node"));
	uint64_t token = test.script->top();
	pu1ActivityRecord record = pu1_kernel("linked");
	record.correlation_id = 1234;
	struct pu1_writer kernels = pu1_begin(test.script), runtime = pu1_begin(test.script);
	pu1_put(&kernels, &record);
	record = pu1_kernel("short"); /* of 64 bytes: the correlation id is the external id */
	record.struct_size = 64;
	record.correlation_id = token;
	pu1_put(&kernels, &record);
	record = pu1_kernel("foreign");
	record.flags = PU1_FLAG_EXTERNAL_ID;
	record.external_id = 42;
	pu1_put(&kernels, &record);
	record = pu1_kernel("none");
	record.external_id = token; /* and no flag */
	record.correlation_id = 99;
	pu1_put(&kernels, &record);
	record = pu1_kernel("launch");
	record.kind = PU1_KIND_PRIVATEUSE1_RUNTIME;
	record.correlation_id = 1234;
	record.flags = PU1_FLAG_EXTERNAL_ID;
	record.external_id = token;
	pu1_put(&runtime, &record);
	/* Both are full before either is read. */
	test.script->complete(kernels.buffer, kernels.size, kernels.used);
	test.script->complete(runtime.buffer, runtime.size, runtime.used);
	epp_event_end(session, id, NULL, 0);
	struct pu1_outcome outcome = pu1_finish(session);
	ck_assert_str_eq(outcome.error, "");
	ck_assert_uint_eq(one(&outcome, "short")->args[0].value, id);
	ck_assert_uint_eq(number(one(&outcome, "short"), "correlation"), UINT64_MAX);
	ck_assert_uint_eq(one(&outcome, "launch")->args[0].value, id);
	ck_assert_uint_eq(number(one(&outcome, "foreign"), "external_id"), 42);
	ck_assert_uint_eq(number(one(&outcome, "foreign"), "correlation"), 77);
	ck_assert_uint_eq(one(&outcome, "none")->args_count, 2); /* correlation and kind */
	trace_scan_free(outcome.scan);
}
END_TEST

/* The same through pu1_read alone, which nobody can come before. */
START_TEST(a_later_buffer_links_an_earlier_one)
{
	epp_session *session = pu1_start(&test);
	struct pu1_library *library = test.plugin->state;
	uint64_t id = epp_event_begin(session, EPP_NODE, epp_name_intern("node"));
	pu1ActivityRecord kernel = pu1_kernel("linked"), launch = pu1_kernel("launch");
	launch.kind = PU1_KIND_PRIVATEUSE1_RUNTIME;
	launch.flags = PU1_FLAG_EXTERNAL_ID;
	launch.external_id = test.script->top();
	kernel.correlation_id = launch.correlation_id = 1234;
	pthread_mutex_lock(&library->read_lock);
	pu1_emit(test.script, &kernel);
	pu1_emit(test.script, &launch);
	pthread_mutex_unlock(&library->read_lock);
	epp_event_end(session, id, NULL, 0);
	struct pu1_outcome outcome = pu1_finish(session);
	ck_assert_uint_eq(one(&outcome, "linked")->args[0].value, id);
	trace_scan_free(outcome.scan);
}
END_TEST

/* ---- what breaks a rule ---- */

static void set_kind_0(pu1ActivityRecord *record)
{
	record->kind = 0;
}

static void set_kind_6(pu1ActivityRecord *record)
{
	record->kind = 6;
}

static void set_kind_huge(pu1ActivityRecord *record)
{
	record->kind = UINT32_MAX;
}

static void set_no_time(pu1ActivityRecord *record)
{
	record->start_time = 0;
}

static void set_backwards(pu1ActivityRecord *record)
{
	record->end_time = record->start_time - 1;
}

static void set_before_the_run(pu1ActivityRecord *record)
{
	record->start_time -= UINT64_C(3600000000000);
}

static void set_far_behind(pu1ActivityRecord *record)
{
	record->start_time = record->end_time = UINT64_MAX;
}

static const struct {
	void (*change)(pu1ActivityRecord *record);
	const char *error;
} bad_records[] = {
	{ set_kind_0, "pu1: EndProfiling: a record has an unknown kind" },
	{ set_kind_6, "pu1: EndProfiling: a record has an unknown kind" },
	{ set_kind_huge, "pu1: EndProfiling: a record has an unknown kind" },
	{ set_no_time, "pu1: EndProfiling: a record without a time" },
	{ set_backwards, "pu1: EndProfiling: a record ends before it starts" },
	{ set_before_the_run, "" },
	{ set_far_behind, NULL },
};

START_TEST(a_bad_record_is_lost_alone)
{
	epp_session *session = pu1_start(&test);
	struct pu1_writer writer = pu1_begin(test.script);
	pu1ActivityRecord record = pu1_kernel("good");
	pu1_put(&writer, &record);
	pu1ActivityRecord bad = pu1_kernel("bad");
	bad_records[_i].change(&bad);
	pu1_put(&writer, &bad);
	pu1_put(&writer, &record);
	pu1_give(&writer);
	struct pu1_outcome outcome = pu1_finish(session);
	if (bad_records[_i].error)
		ck_assert_str_eq(outcome.error, bad_records[_i].error);
	ck_assert_uint_eq(pu1_count(&outcome, "good"), 2);
	ck_assert_uint_eq(outcome.emitted, 3);
	ck_assert_uint_eq(outcome.lost_plugin + pu1_count(&outcome, "bad"), 1);
	trace_scan_free(outcome.scan);
}
END_TEST

static const struct {
	uint32_t struct_size;
	size_t valid_bytes; /* behind the good record */
	const char *wrong;
} bad_sizes[] = {
	{ 0, 88, "a record of size 0, at byte 88 of 176" },
	{ 8, 88, "a record is too small, at byte 88 of 176" },
	{ 56, 88, "a record is too small, at byte 88 of 176" },
	{ 67, 88, "a record's size is not a multiple of 8, at byte 88 of 176" },
	{ UINT32_MAX, 88, "a record's size is not a multiple of 8, at byte 88 of 176" },
	{ UINT32_MAX - 7, 88, "a record extends beyond its buffer, at byte 88 of 176" },
	{ 96, 88, "a record extends beyond its buffer, at byte 88 of 176" },
	{ 88, 80, "a record extends beyond its buffer, at byte 88 of 168" },
	{ 64, 63, "a record extends beyond its buffer, at byte 88 of 151" },
	{ 64, 1, "a record extends beyond its buffer, at byte 88 of 89" },
};

START_TEST(a_size_that_cannot_be_is_not_followed)
{
	char error[256];
	epp_session *session = pu1_start(&test);
	struct pu1_writer writer = pu1_begin(test.script);
	pu1ActivityRecord record = pu1_kernel("good"), bad = pu1_kernel("bad");
	pu1_put(&writer, &record);
	bad.struct_size = bad_sizes[_i].struct_size;
	memcpy(writer.buffer + writer.used, &bad, sizeof(bad));
	writer.used += bad_sizes[_i].valid_bytes;
	pu1_give(&writer);
	pu1_emit(test.script, &record);
	struct pu1_outcome outcome = pu1_finish(session);
	snprintf(error, sizeof(error), "pu1: EndProfiling: %s; the rest is lost", bad_sizes[_i].wrong);
	ck_assert_str_eq(outcome.error, error);
	ck_assert_uint_eq(pu1_count(&outcome, "good"), 2);
	ck_assert_uint_eq(outcome.written, 2);
	ck_assert_uint_eq(outcome.lost_plugin, 1);
	trace_scan_free(outcome.scan);
}
END_TEST

/* A whole buffer, up to its last byte, and larger records than ours. */
START_TEST(a_full_buffer_of_large_records)
{
	epp_session *session = pu1_start(&test);
	struct pu1_writer writer = pu1_begin(test.script);
	pu1ActivityRecord record = pu1_kernel("large");
	size_t count = 0;
	record.struct_size = 4096;
	memset(writer.buffer, 0xff, writer.size);
	for (; writer.used + 4096 <= writer.size; count++)
		pu1_put(&writer, &record);
	ck_assert_uint_eq(writer.used, writer.size);
	pu1_give(&writer);
	struct pu1_outcome outcome = pu1_finish(session);
	ck_assert_str_eq(outcome.error, "");
	ck_assert_uint_eq(pu1_count(&outcome, "large"), count);
	trace_scan_free(outcome.scan);
}
END_TEST

START_TEST(texts_may_lead_nowhere)
{
	epp_session *session = pu1_start(&test);
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(pages, MAP_FAILED);
	ck_assert_int_eq(mprotect(pages + 4096, 4096, PROT_NONE), 0);
	memset(pages, 'u', 4096);
	struct pu1_writer writer = pu1_begin(test.script);
	pu1ActivityRecord record = pu1_kernel((const char *)8);
	pu1_put(&writer, &record);
	record = pu1_kernel(pages + 4090); /* without an end */
	record.metadata = pages + 4000;
	pu1_put(&writer, &record);
	record = pu1_kernel(NULL);
	record.metadata = (const char *)UINTPTR_MAX;
	pu1_put(&writer, &record);
	record = pu1_kernel("\x01\xff");
	record.metadata = "not JSON, \"\xc3";
	pu1_put(&writer, &record);
	pu1_give(&writer);
	struct pu1_outcome outcome = pu1_finish(session);
	ck_assert_str_eq(outcome.error, "pu1: EndProfiling: a record's name cannot be read (and 1 more)");
	ck_assert_uint_eq(pu1_count(&outcome, "(name unreadable)"), 1);
	ck_assert_uint_eq(scan_arg(one(&outcome, "uuuuuu"), epp_name_intern("metadata"))->text_bytes, 96);
	ck_assert_ptr_null(scan_arg(one(&outcome, "(kernel)"), epp_name_intern("metadata")));
	check_text(one(&outcome, "\x01\xff"), "metadata", "not JSON, \"\xc3");
	ck_assert_uint_eq(outcome.written, 4);
	trace_scan_free(outcome.scan);
}
END_TEST

/* Random bytes, and random changes of a sound buffer: nothing but losses comes of them. */
START_TEST(noise)
{
	unsigned seed = 12345;
	epp_session *session = pu1_start(&test);
	for (int round = 0; round < 300 / RECORDING_SLOW; round++) {
		struct pu1_writer writer = pu1_begin(test.script);
		if (!writer.buffer) {
			recording_sleep_ms(1);
			continue;
		}
		pu1ActivityRecord record = pu1_kernel("noise");
		for (int i = 0; i < 50; i++)
			pu1_put(&writer, &record);
		for (int i = 0; i < 20; i++)
			writer.buffer[(size_t)rand_r(&seed) % writer.used] = (uint8_t)rand_r(&seed);
		if (round % 3 == 0)
			for (size_t i = 0; i < writer.used; i++)
				writer.buffer[i] = (uint8_t)rand_r(&seed);
		pu1_give(&writer);
	}
	struct pu1_outcome outcome = pu1_finish(session);
	ck_assert_str_ne(outcome.error, "");
	trace_scan_free(outcome.scan);
}
END_TEST

/* ---- sessions ---- */

static void kernel_of_top(const char *name)
{
	pu1ActivityRecord record = pu1_kernel(name);
	record.external_id = test.script->top();
	record.flags = PU1_FLAG_EXTERNAL_ID;
	pu1_emit(test.script, &record);
}

/* Profilers that one session has, as a bridge makes them: an event stands in its trace once, under the event of the
 * session's that launched it, whichever of them was told of that. */
START_TEST(of_several_in_one_session_one_has_an_event)
{
	epp_session *session = joined_session(), *other = pu1_start(&test);
	struct joined older = joined_start(session, test.plugin), newer = joined_start(session, test.plugin);
	const struct joined *told = _i ? &older : &newer, *first = _i ? &newer : &older, *last = _i ? &older : &newer;
	uint64_t id = epp_event_begin_text(session, EPP_NODE, "op");
	ck_assert_ptr_null(told->profiler->StartEvent(told->profiler, id));
	kernel_of_top("both's");
	ck_assert_ptr_null(told->profiler->StopEvent(told->profiler, id, NULL));
	epp_event_end(session, id, NULL, 0);
	test.script->dropped_count = 5;
	joined_end(first);
	joined_leave(first);
	kernel_of_top("the last one's");
	joined_end(last);
	joined_leave(last);
	recording_end(session);
	struct trace_scan *scan = recording_look(session);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, epp_name_intern("both's")), 1);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, epp_name_intern("the last one's")), 1);
	const struct scan_record *event = scan_first(scan, EPF_COMPLETE, epp_name_intern("both's"));
	ck_assert_uint_eq(scan_arg(event, EPF_NAME_PARENT)->value, id);
	ck_assert_uint_eq(scan->producers[0].emitted + scan->producers[1].emitted, 2 + 5);
	ck_assert_uint_eq(scan->producers[0].lost[EPP_LOSS_PLUGIN] + scan->producers[1].lost[EPP_LOSS_PLUGIN], 5);
	trace_scan_free(scan);
	epp_session_destroy(session);
	struct pu1_outcome outcome = pu1_finish(other);
	ck_assert_uint_eq(outcome.written, 2);
	ck_assert_uint_eq(outcome.lost_plugin, 5);
	trace_scan_free(outcome.scan);
}
END_TEST

static Suite *pu1_reading_suite(void)
{
	Suite *suite = suite_create("pu1_reading");
	TCase *tests = tcase_create("pu1_reading");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, five_kinds);
	tcase_add_test(tests, ids_come_from_wherever_they_are);
	tcase_add_test(tests, a_later_buffer_links_an_earlier_one);
	tcase_add_loop_test(tests, a_bad_record_is_lost_alone, 0, sizeof(bad_records) / sizeof(bad_records[0]));
	tcase_add_loop_test(tests, a_size_that_cannot_be_is_not_followed, 0, sizeof(bad_sizes) / sizeof(bad_sizes[0]));
	tcase_add_test(tests, a_full_buffer_of_large_records);
	if (!emulated_without("memory that cannot be read ends the process")) {
		tcase_add_test(tests, texts_may_lead_nowhere);
		tcase_add_test(tests, noise);
	}
	tcase_add_loop_test(tests, of_several_in_one_session_one_has_an_event, 0, 2);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(pu1_reading_suite)

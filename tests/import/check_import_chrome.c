/* Importing the trace event format: every phase, times to the nanosecond, what never ends, arrows, devices, and files
 * that end in the middle.  Covers import_chrome.c, json_events.c, json_event.c, open_events.c, lanes.c, make_record.c,
 * device_events.c. */
#include "tests/support/import_events.h"

#define EVENTS(text) imported_text("{\"traceEvents\":[" text "]}", sizeof("{\"traceEvents\":[" text "]}") - 1)

START_TEST(slices_keep_nanoseconds_and_args)
{
	struct imported *imported = EVENTS(
	    "{\"ph\":\"X\",\"name\":\"op \\\"q\\\"\\n\",\"cat\":\"cpu_op\",\"pid\":10,\"tid\":11,\"ts\":1000.001,\"dur\":2.0025,"
	    "\"args\":{\"i\":-5,\"big\":18446744073709551615,\"f\":2.5,\"t\":true,\"n\":null,\"s\":\"x\\ty\","
	    "\"nested\":{\"a\":[1,2.50,\"q\\\"\"],\"b\":{}}}},"
	    "{\"name\":\"exp\",\"ts\":2e3,\"ph\":\"X\",\"tid\":11,\"pid\":10}");
	const struct imported_event *event = imported_find(imported, "op \"q\"\n");

	ck_assert_int_eq(event->start_ns, 1000001);
	ck_assert_int_eq(event->duration_ns, 2002);
	ck_assert_str_eq(event->args,
	                 "i=-5;big=-1;f=2.5;t=true;n=null;s=x\ty;nested={\"a\":[1,2.50,\"q\\\"\"],\"b\":{}};cat=cpu_op;");
	ck_assert_uint_eq(event->pid, 10);
	ck_assert_uint_eq(event->thread_id, 11);
	ck_assert_int_eq(imported_find(imported, "exp")->start_ns, 2000000);
	free(imported);
}
END_TEST

START_TEST(begins_and_ends_nest)
{
	struct imported *imported = EVENTS("{\"ph\":\"B\",\"name\":\"outer\",\"pid\":1,\"tid\":2,\"ts\":10,\"args\":{\"a\":1}},"
	                                   "{\"ph\":\"B\",\"name\":\"inner\",\"pid\":1,\"tid\":2,\"ts\":10},"
	                                   "{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":20},"
	                                   "{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":30,\"args\":{\"b\":2}},"
	                                   "{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":31},"
	                                   "{\"ph\":\"B\",\"name\":\"never\",\"pid\":1,\"tid\":3,\"ts\":12}");
	const struct imported_event *outer = imported_find(imported, "outer"), *inner = imported_find(imported, "inner");

	ck_assert_int_eq(outer->duration_ns, 20000);
	ck_assert_str_eq(outer->args, "a=1;b=2;");
	ck_assert_uint_eq(inner->parent, outer->id);
	ck_assert_uint_eq(inner->depth, 1);
	ck_assert_int_eq(inner->duration_ns, 10000);
	ck_assert(imported_find(imported, "never")->flags & EPP_FLAG_UNENDED);
	ck_assert_int_eq(imported_find(imported, "never")->duration_ns, 19000);
	ck_assert_ptr_nonnull(strstr(imported->receipt, "1 end left out"));
	free(imported);
}
END_TEST

START_TEST(slices_in_order_of_their_end_nest_too)
{
	struct imported *imported = EVENTS("{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":10,\"dur\":1},"
	                                   "{\"ph\":\"X\",\"name\":\"b\",\"pid\":1,\"tid\":2,\"ts\":8,\"dur\":4},"
	                                   "{\"ph\":\"X\",\"name\":\"inner\",\"pid\":1,\"tid\":2,\"ts\":20,\"dur\":5},"
	                                   "{\"ph\":\"X\",\"name\":\"outer\",\"pid\":1,\"tid\":2,\"ts\":20,\"dur\":9}");

	ck_assert_uint_eq(imported_find(imported, "a")->parent, imported_find(imported, "b")->id);
	ck_assert_uint_eq(imported_find(imported, "inner")->parent, imported_find(imported, "outer")->id);
	ck_assert_uint_eq(imported_find(imported, "outer")->lane, 0);
	free(imported);
}
END_TEST

START_TEST(asynchronous_events_instants_counters)
{
	struct imported *imported = EVENTS(
	    "{\"ph\":\"b\",\"name\":\"req\",\"cat\":\"c\",\"id\":\"0x1\",\"pid\":1,\"tid\":2,\"ts\":10,\"args\":{\"a\":1}},"
	    "{\"ph\":\"b\",\"name\":\"local\",\"cat\":\"c\",\"id2\":{\"local\":\"0x1\"},\"pid\":1,\"tid\":2,\"ts\":11},"
	    "{\"ph\":\"e\",\"name\":\"req\",\"cat\":\"c\",\"id\":\"0x1\",\"pid\":1,\"tid\":3,\"ts\":15,\"args\":{\"b\":2}},"
	    "{\"ph\":\"b\",\"name\":\"open\",\"cat\":\"c\",\"id\":9,\"pid\":1,\"tid\":2,\"ts\":12},"
	    "{\"ph\":\"i\",\"name\":\"mark\",\"pid\":1,\"tid\":2,\"ts\":13,\"s\":\"t\"},"
	    "{\"ph\":\"C\",\"name\":\"one\",\"pid\":1,\"tid\":2,\"ts\":14,\"args\":{\"v\":7}},"
	    "{\"ph\":\"C\",\"name\":\"two\",\"pid\":1,\"tid\":2,\"ts\":14,\"args\":{\"x\":1,\"y\":2.5,\"z\":\"no\"}}");
	const struct imported_event *request = imported_find(imported, "req");

	ck_assert_uint_eq(request->kind, EPP_EVENT_ASYNC);
	ck_assert_int_eq(request->duration_ns, 5000);
	ck_assert_str_eq(request->args, "a=1;cat=c;b=2;");
	ck_assert(imported_find(imported, "open")->flags & EPP_FLAG_OPEN);
	ck_assert(imported_find(imported, "local")->flags & EPP_FLAG_OPEN);
	ck_assert_uint_eq(imported_find(imported, "mark")->kind, EPP_EVENT_INSTANT);
	ck_assert_str_eq(imported_find(imported, "one")->args, "one=7;");
	ck_assert_str_eq(imported_find(imported, "two: y")->args, "two: y=2.5;");
	ck_assert_ptr_nonnull(strstr(imported->receipt, "1 counter value left out"));
	free(imported);
}
END_TEST

START_TEST(processes_and_threads_get_their_names)
{
	struct imported *imported = EVENTS(
	    "{\"ph\":\"X\",\"name\":\"a\",\"pid\":10,\"tid\":11,\"ts\":1,\"dur\":1},"
	    "{\"ph\":\"X\",\"name\":\"b\",\"pid\":20,\"tid\":11,\"ts\":1,\"dur\":1},"
	    "{\"ph\":\"X\",\"name\":\"c\",\"pid\":\"gpu\",\"tid\":\"queue 1\",\"ts\":1,\"dur\":1},"
	    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":20,\"tid\":11,\"args\":{\"name\":\"w\"}},"
	    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":20,\"args\":{\"name\":\"prog\"}}");

	ck_assert_uint_eq(imported->sources_count, 3);
	ck_assert_uint_eq(imported_find(imported, "b")->pid, 20);
	ck_assert_str_eq(imported_find(imported, "b")->track, "w");
	ck_assert_uint_eq(imported_find(imported, "a")->pid, 10);
	ck_assert_str_eq(imported_find(imported, "c")->track, "queue 1");
	free(imported);
}
END_TEST

static const struct imported_event *find_flow(const struct imported *imported, size_t index)
{
	for (size_t i = 0; i < imported->count; i++) {
		if (imported->events[i].kind == EPP_EVENT_FLOW && !index--)
			return &imported->events[i];
	}
	return NULL;
}

START_TEST(arrows_lead_from_slice_to_slice)
{
	struct imported *imported = EVENTS(
	    "{\"ph\":\"s\",\"id\":1,\"cat\":\"f\",\"name\":\"f\",\"pid\":1,\"tid\":2,\"ts\":12},"
	    "{\"ph\":\"f\",\"id\":1,\"cat\":\"f\",\"name\":\"f\",\"pid\":1,\"tid\":3,\"ts\":22},"
	    "{\"ph\":\"t\",\"id\":1,\"cat\":\"f\",\"name\":\"f\",\"pid\":1,\"tid\":3,\"ts\":15},"
	    "{\"ph\":\"f\",\"id\":7,\"bp\":\"e\",\"cat\":\"f\",\"name\":\"f\",\"pid\":1,\"tid\":3,\"ts\":15},"
	    "{\"ph\":\"s\",\"id\":8,\"cat\":\"f\",\"name\":\"f\",\"pid\":1,\"tid\":77,\"ts\":15},"
	    "{\"ph\":\"X\",\"name\":\"outer\",\"pid\":1,\"tid\":2,\"ts\":10,\"dur\":9},"
	    "{\"ph\":\"X\",\"name\":\"from\",\"pid\":1,\"tid\":2,\"ts\":11,\"dur\":2},"
	    "{\"ph\":\"X\",\"name\":\"via\",\"pid\":1,\"tid\":3,\"ts\":14,\"dur\":2},"
	    "{\"ph\":\"X\",\"name\":\"next\",\"pid\":1,\"tid\":3,\"ts\":25,\"dur\":2}");
	const struct imported_event *first = find_flow(imported, 0), *second = find_flow(imported, 1);

	ck_assert(first && second && !find_flow(imported, 2));
	ck_assert_uint_eq(first->parent, imported_find(imported, "from")->id);
	ck_assert_uint_eq(first->id, imported_find(imported, "via")->id);
	ck_assert_uint_eq(second->parent, imported_find(imported, "via")->id);
	ck_assert_uint_eq(second->id, imported_find(imported, "next")->id);
	ck_assert_ptr_nonnull(strstr(imported->receipt, "1 arrow end left out: the arrow has no start"));
	ck_assert_ptr_nonnull(strstr(imported->receipt, "1 arrow end left out: no slice"));
	free(imported);
}
END_TEST

START_TEST(kernels_stand_on_streams_below_their_launch)
{
	struct imported *imported = EVENTS(
	    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":1700000000000030.5,\"dur\":5.5,"
	    "\"args\":{\"correlation\":42}},"
	    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"launch\",\"pid\":10,\"tid\":10,\"ts\":1700000000000010.25,"
	    "\"dur\":2,\"args\":{\"correlation\":42}},"
	    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"alone\",\"pid\":0,\"tid\":7,\"ts\":1700000000000040,\"dur\":1}");
	const struct imported_event *gemm = imported_find(imported, "gemm"), *launch = imported_find(imported, "launch");

	ck_assert_uint_eq(gemm->track_kind, EPP_TRACK_DEVICE);
	ck_assert_str_eq(gemm->track, "stream 7");
	ck_assert_uint_eq(gemm->parent, launch->id);
	ck_assert_uint_eq(gemm->category, EPP_KERNEL);
	ck_assert_int_eq(launch->start_ns, 0);
	ck_assert_int_eq(gemm->start_ns, 20250);
	ck_assert_int_eq(imported->epoch_unix_ns, 1700000000000010250);
	ck_assert(imported_find(imported, "alone")->flags & EPP_FLAG_UNCORRELATED);
	free(imported);
}
END_TEST

/* Kineto names them by the kind of device. */
START_TEST(calls_into_runtimes_and_drivers_are_api_events)
{
	static const char *const cats[] = { "cuda_runtime", "cuda_driver", "privateuse1_runtime", "privateuse1_driver",
		                            "xpu_runtime",  "cpu_op",      "user_annotation",     "_runtime" };
	char text[512];

	for (size_t i = 0; i < sizeof cats / sizeof *cats; i++) {
		int bytes = snprintf(
		    text, sizeof text,
		    "[{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2}]", cats[i]);
		struct imported *imported = imported_text(text, (size_t)bytes);
		ck_assert_uint_eq(imported->events[0].category, i < 5 ? EPP_API : EPP_NODE);
		ck_assert_ptr_nonnull(strstr(imported->events[0].args, cats[i]));
		free(imported);
	}
}
END_TEST

START_TEST(a_base_time_tells_the_epoch)
{
	const char text[] = "{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0,\"name\":\"x\"}],\"traceEvents\":[{\"ph\":\"X\","
			    "\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":5.5,\"dur\":1}],\"displayTimeUnit\":\"ms\","
			    "\"baseTimeNanoseconds\":1700000000000000000}";
	struct imported *imported = imported_text(text, sizeof text - 1);

	ck_assert_uint_eq(imported->count, 1);
	ck_assert_int_eq(imported->epoch_unix_ns, 1700000000000000000);
	ck_assert_int_eq(imported->events[0].start_ns, 5500);
	free(imported);
}
END_TEST

START_TEST(files_that_end_early_are_taken_as_far_as_they_go)
{
	const char array[] = "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1},\n{\"ph\":\"X\",\"name\":\"b";
	struct imported *imported = imported_text(array, sizeof array - 1);

	ck_assert_uint_eq(imported->count, 1);
	ck_assert_ptr_nonnull(strstr(imported->receipt, "the file is truncated"));
	free(imported);
	/* The format allows an array that never ends. */
	imported = imported_text(array, (size_t)(strchr(array, '\n') - array));
	ck_assert_uint_eq(imported->count, 1);
	ck_assert_ptr_null(strstr(imported->receipt, "the file is truncated"));
	free(imported);
}
END_TEST

START_TEST(what_makes_no_sense_is_counted)
{
	struct imported *imported = EVENTS(
	    "{\"ph\":\"X\",\"name\":\"good\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1,\"tts\":5},"
	    "{\"ph\":\"X\",\"name\":\"negative\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":-1},"
	    "{\"ph\":\"X\",\"name\":\"no time\",\"pid\":1,\"tid\":2},"
	    "{\"ph\":\"X\",\"name\":\"far\",\"pid\":1,\"tid\":2,\"ts\":1e300,\"dur\":1},"
	    "{\"ph\":\"Q\",\"name\":\"odd\",\"pid\":1,\"tid\":2,\"ts\":1},{},5,[1],"
	    "{\"ph\":\"X\",\"name\":\"before 0\",\"pid\":1,\"tid\":2,\"ts\":-5.5,\"dur\":1}");

	ck_assert_uint_eq(imported->count, 2);
	ck_assert_uint_eq(imported->counts.left_out, 3);
	ck_assert_ptr_nonnull(strstr(imported->receipt, "2 events left out: a trace does not support their phase"));
	ck_assert_ptr_nonnull(strstr(imported->receipt, "1 field of events left out: not part of args"));
	ck_assert_int_eq(imported_find(imported, "good")->start_ns, 6500);
	free(imported);
	imported_refused("[1,2,}", 6, EPP_CORRUPT, "not JSON: byte");
	imported_refused("{\"traceEvents\":{}}", 18, EPP_CORRUPT, "contains no events");
	const char negative[] = "[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":-1}]";
	imported_refused(negative, sizeof negative - 1, EPP_CORRUPT, "contains no events that makes sense");
}
END_TEST

/* yajl gathers a text whole, so memory would be as large as a file of one. */
START_TEST(a_text_without_end_is_not_gathered)
{
	const char head[] = "[{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1,\"name\":\"", tail[] = "\"}]";
	size_t room = 4u << 20, head_bytes = sizeof head - 1, tail_bytes = sizeof tail - 1;
	char *text = malloc(room);

	memset(text, 'n', room);
	memcpy(text, head, head_bytes);
	imported_refused(text, room, EPP_CORRUPT, "a string is longer than 2 MiB");
	memcpy(text + head_bytes + (1u << 20), tail, tail_bytes);
	struct imported *imported = imported_text(text, head_bytes + (1u << 20) + tail_bytes);
	ck_assert_uint_eq(imported->count, 1);
	free(imported);
	free(text);
}
END_TEST

START_TEST(marks_in_front_of_json)
{
	const char marked[] = "\xEF\xBB\xBF[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1}]";
	struct imported *imported = imported_text(marked, sizeof marked - 1);

	ck_assert_uint_eq(imported->count, 1);
	free(imported);
	imported_refused("\x1F\x8B\x08\0", 4, EPP_CORRUPT, "compressed; 'zcat FILE | epprof import");
}
END_TEST

/* More names than a trace holds: none is lost, they stand as args. */
START_TEST(names_without_room_become_args)
{
	size_t room = 70000 * 80, used = 0, lost = 0;
	char *text = malloc(room), *output = check_path("names.epp");
	epp_import_counts counts = { .struct_size = sizeof(counts) };
	epp_trace *trace;
	epp_timeline *timeline;
	const epp_event *event;

	text[used++] = '[';
	for (int i = 0; i < 66000; i++)
		used += (size_t)snprintf(text + used, room - used,
		                         "%s{\"ph\":\"X\",\"name\":\"n%d\",\"pid\":1,\"tid\":2,\"ts\":%d,\"dur\":1}",
		                         i ? "," : "", i, i * 2);
	text[used++] = ']';
	check_ok(epp_import_file(imported_write(text, used), output, NULL, NULL, NULL, &counts));
	ck_assert_uint_eq(counts.events, 66000);
	check_ok(epp_trace_open(output, &trace));
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (epp_timeline_next(timeline, &event))
		lost += strcmp(event->name, "(name lost)") == 0 && event->args_count == 1;
	ck_assert_uint_ge(lost, 400);
	epp_timeline_destroy(timeline);
	epp_trace_close(trace);
	free(text);
}
END_TEST

static Suite *chrome_suite(void)
{
	Suite *suite = suite_create("import_chrome");
	TCase *tests = tcase_create("chrome");

	tcase_add_test(tests, slices_keep_nanoseconds_and_args);
	tcase_add_test(tests, begins_and_ends_nest);
	tcase_add_test(tests, slices_in_order_of_their_end_nest_too);
	tcase_add_test(tests, asynchronous_events_instants_counters);
	tcase_add_test(tests, processes_and_threads_get_their_names);
	tcase_add_test(tests, arrows_lead_from_slice_to_slice);
	tcase_add_test(tests, kernels_stand_on_streams_below_their_launch);
	tcase_add_test(tests, calls_into_runtimes_and_drivers_are_api_events);
	tcase_add_test(tests, a_base_time_tells_the_epoch);
	tcase_add_test(tests, files_that_end_early_are_taken_as_far_as_they_go);
	tcase_add_test(tests, what_makes_no_sense_is_counted);
	tcase_add_test(tests, a_text_without_end_is_not_gathered);
	tcase_add_test(tests, marks_in_front_of_json);
	tcase_add_test(tests, names_without_room_become_args);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(chrome_suite)

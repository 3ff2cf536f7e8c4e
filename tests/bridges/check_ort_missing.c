/* Providers whose device events a trace lacks: bridges/onnxruntime/ort_missing.c, and what the collector says of
 * them. */
#include "ort_bridge_host.h"

static const char *provider;

static const char *value_of(const char *key)
{
	return strcmp(key, "provider") == 0 ? provider : NULL;
}

static void record_on(const char *name)
{
	provider = name;
	own_arg_value = value_of;
	struct host host = host_open();
	for (int i = 0; i < 2; i++) {
		OrtEpProfilerImpl *profiler = started(&host);
		logged_text[0] = 0;
		begin(profiler, 5000);
		end(profiler, 5000, "node");
		ended(profiler);
		/* This host writes no profile. */
		bool is_told = strstr(logged_text,
		                      "epprof: the trace lacks device events: missing: ONNX Runtime's profile");
		if (is_told != !strcmp(name, "OtherEP"))
			_exit(5 + i);
	}
	host_close(&host);
}

/* As ONNX Runtime: the file is open during EndProfiling, and written after it. It is removed before it is read. Behind
 * the kernel are `hosted_count` events of a hosted plugin. */
static void record_with_profile(bool is_whole, unsigned hosted_count)
{
	const char *const path = check_path("profile.json");
	own_arg_value = value_of;
	struct host host = host_open();
	OrtEpProfilerImpl *profiler = started(&host);
	FILE *other = fopen(check_path("other.json"), "w"), *file = fopen(path, "w");
	struct OrtProfilingEventsContainer container = { container_add, NULL };
	logged_text[0] = 0;
	begin(profiler, 5000);
	end(profiler, 5000, "node");
	if (!other || !file || profiler->EndProfiling(profiler, &container))
		_exit(7);
	fputs("[\n{\"cat\" : \"Node\",\"pid\" :1,\"tid\" :2,\"dur\" :8,\"ts\" :4000,\"ph\" : \"X\",\"name\" :\"node\","
	      "\"args\" : {}}\n]\n",
	      other);
	fprintf(file,
	        "[\n{\"cat\" : \"Node\",\"pid\" :1,\"tid\" :2,\"dur\" :7,\"ts\" :4000,\"ph\" : \"X\",\"name\" :\"node\","
	        "\"args\" : {\"provider\" : \"%s\"}},\n{\"cat\" : \"Kernel\",\"pid\" :-1,\"tid\" :0,\"dur\" :3,"
	        "\"ts\" :4002,\"ph\" : \"X\",\"name\" :\"a \"quoted\" kernel\",\"args\" : {\"ort_correlation_id\" : \"5000\"}}",
	        provider);
	for (unsigned i = 0; i < hosted_count; i++)
		fprintf(file,
		        ",\n{\"cat\" : \"Kernel\",\"pid\" :-2,\"tid\" :0,\"dur\" :3,\"ts\" :%u,\"ph\" : \"X\",\"name\" :\"hosted\","
		        "\"args\" : {\"hosted_by\" : \"epprof\"}}",
		        5000 + i);
	fputs(is_whole ? "\n]\n" : "", file);
	if (fclose(other) || fclose(file) || unlink(path))
		_exit(8);
	profiler->Release(profiler);
	if (is_whole ? logged_text[0] : !strstr(logged_text, "not complete"))
		_exit(9);
	host_close(&host);
}

static void record_with_a_whole_profile(void)
{
	provider = "OtherEP";
	record_with_profile(true, 0);
}

static void record_with_a_cut_profile(void)
{
	provider = "OtherEP";
	record_with_profile(false, 0);
}

/* The provider of the kernel ran no node. */
static void record_with_many_hosted(void)
{
	provider = "CPUExecutionProvider";
	record_with_profile(true, 5000);
}

static void record_on_another(void)
{
	record_on("OtherEP");
}

static void record_on_the_processor(void)
{
	record_on("CPUExecutionProvider");
}

static void record_hosted(void)
{
	record_on("OtherEP of plain_ep");
}

static bool is_missing(const struct trace_scan *scan, const char *label)
{
	for (size_t i = 0; i < EPF_PRODUCER_COUNT; i++)
		if (!strcmp(scan->producers[i].label, label) && scan->producers[i].emitted)
			return strstr(scan->producers[i].note, "missing: ONNX Runtime's profile") != NULL;
	return false;
}

/* Once for each of the two profiles. */
START_TEST(a_provider_without_device_events_is_told)
{
	struct trace_scan *scan = recorded(record_on_another, NULL);
	ck_assert(is_missing(scan, "OtherEP"));
	ck_assert_uint_eq(scan->producers[1].lost[EPP_LOSS_PLUGIN], 2);
	trace_scan_free(scan);
}
END_TEST

START_TEST(its_events_are_read_from_the_profile)
{
	struct trace_scan *scan = recorded(record_with_a_whole_profile, NULL);
	ck_assert_str_eq(scan->producers[1].label, "OtherEP");
	ck_assert_str_eq(scan->producers[1].note, "");
	ck_assert_uint_eq(scan->producers[1].emitted, 1);
	ck_assert_uint_eq(scan->producers[1].lost[EPP_LOSS_PLUGIN], 0);
	trace_scan_free(scan);
}
END_TEST

START_TEST(events_of_a_provider_without_nodes_are_found_before_those_of_others)
{
	struct trace_scan *scan = recorded(record_with_many_hosted, NULL);
	ck_assert_str_eq(scan->producers[1].label, "providers");
	ck_assert_uint_eq(scan->producers[1].emitted, 1);
	ck_assert_uint_eq(scan->producers[1].lost[EPP_LOSS_PLUGIN], 0);
	trace_scan_free(scan);
}
END_TEST

START_TEST(a_profile_that_is_cut_is_not_read)
{
	struct trace_scan *scan = recorded(record_with_a_cut_profile, NULL);
	ck_assert(is_missing(scan, "OtherEP"));
	ck_assert_uint_eq(scan->producers[1].lost[EPP_LOSS_PLUGIN], 1);
	trace_scan_free(scan);
}
END_TEST

START_TEST(the_processor_has_none)
{
	struct trace_scan *scan = recorded(record_on_the_processor, NULL);
	ck_assert(!is_missing(scan, "CPUExecutionProvider"));
	trace_scan_free(scan);
}
END_TEST

/* Under another name. */
START_TEST(one_that_is_hosted_gives_them)
{
	struct trace_scan *scan = recorded(record_hosted, CHECK_BUILD "/tests/plugins/plain_ep.so");
	ck_assert(!is_missing(scan, "OtherEP of plain_ep"));
	trace_scan_free(scan);
}
END_TEST

static Suite *ort_missing_suite(void)
{
	Suite *suite = suite_create("ort_missing");
	TCase *tcase = tcase_create("ort_missing");
	tcase_add_test(tcase, a_provider_without_device_events_is_told);
	tcase_add_test(tcase, its_events_are_read_from_the_profile);
	tcase_add_test(tcase, events_of_a_provider_without_nodes_are_found_before_those_of_others);
	tcase_add_test(tcase, a_profile_that_is_cut_is_not_read);
	tcase_add_test(tcase, the_processor_has_none);
	tcase_add_test(tcase, one_that_is_hosted_gives_them);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(ort_missing_suite)

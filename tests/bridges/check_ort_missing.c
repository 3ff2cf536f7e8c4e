/* Providers whose device events a trace lacks: bridges/onnxruntime/ort_missing.c, and what the collector says of them. */
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
	/* It is logged once, and noted in each profiling. */
	for (int i = 0; i < 2; i++) {
		OrtEpProfilerImpl *profiler = started(&host);
		logged_text[0] = 0;
		begin(profiler, 5000);
		end(profiler, 5000, "node");
		ended(profiler);
		bool is_told = strstr(logged_text, "epprof: OtherEP ran nodes and the trace has no device events of it");
		if (is_told != (i == 0 && !strcmp(name, "OtherEP")))
			_exit(5 + i);
	}
	host_close(&host);
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

static bool has_account(const struct trace_scan *scan, const char *label)
{
	for (size_t i = 0; i < EPF_PRODUCER_COUNT; i++)
		if (!strcmp(scan->producers[i].label, label))
			return strstr(scan->producers[i].note, "ONNX Runtime's own profile") != NULL;
	return false;
}

START_TEST(a_provider_without_device_events_is_told)
{
	struct trace_scan *scan = recorded(record_on_another, NULL);
	ck_assert(has_account(scan, "OtherEP"));
	trace_scan_free(scan);
}
END_TEST

START_TEST(the_processor_has_none)
{
	struct trace_scan *scan = recorded(record_on_the_processor, NULL);
	ck_assert(!has_account(scan, "CPUExecutionProvider"));
	trace_scan_free(scan);
}
END_TEST

/* Under another name. */
START_TEST(one_that_is_hosted_gives_them)
{
	struct trace_scan *scan = recorded(record_hosted, CHECK_BUILD "/tests/plugins/plain_ep.so");
	ck_assert(!has_account(scan, "OtherEP of plain_ep"));
	trace_scan_free(scan);
}
END_TEST

static Suite *ort_missing_suite(void)
{
	Suite *suite = suite_create("ort_missing");
	TCase *tcase = tcase_create("ort_missing");
	tcase_add_test(tcase, a_provider_without_device_events_is_told);
	tcase_add_test(tcase, the_processor_has_none);
	tcase_add_test(tcase, one_that_is_hosted_gives_them);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(ort_missing_suite)

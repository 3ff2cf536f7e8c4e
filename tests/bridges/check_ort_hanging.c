/* A plugin that hangs, hosted by libepprof_ort.so: whichever entry of its ABI it hangs in, before or after a plugin
 * that works, ONNX Runtime gets each of its calls back in time and the other plugin's events complete, its log names
 * the one that hangs, and the process ends.  Covers the limits in ort_hosted.c and ort_profilers.c. */
#include "ort_bridge_host.h"
#include "tests/support/hanging.h"

#define GOOD CHECK_BUILD "/libsample_pu1_ep.so"
#define COUNT 300

static const struct hanging_entry *entry;

static void *have_an_event(void *profiler)
{
	begin(profiler, 5000);
	end(profiler, 5000, "outer");
	return NULL;
}

static void give_work(void)
{
	int (*work)(int);
	void *library = dlopen(GOOD, RTLD_NOW);
	*(void **)&work = dlsym(library, "epp_sample_work");
	if (work(COUNT))
		_exit(3);
}

/* A failed assertion of the child's would be nobody's. */
static void in_time(int64_t before_ns, int exit_status)
{
	if (hanging_now_ns() - before_ns > HANGING_RETURNS_NS)
		_exit(exit_status);
}

static void record(void)
{
	int64_t now_ns = hanging_now_ns();
	struct host host = host_open();
	in_time(now_ns, 10);
	OrtEpProfilerImpl *profiler = profiler_of(&host);
	now_ns = hanging_now_ns();
	OrtStatus *status = profiler->StartProfiling(profiler, 440000);
	in_time(now_ns, 11);
	/* Of CreateProfiler of another framework's plugin. */
	if (status)
		_exit(12);
	/* The thread of an event may be held. */
	pthread_t thread = recording_thread(have_an_event, profiler);
	if (entry->step != HANGING_EVENT)
		pthread_join(thread, NULL);
	else
		recording_sleep_ms(50);
	give_work();
	struct OrtProfilingEventsContainer container = { container_add, NULL };
	now_ns = hanging_now_ns();
	status = profiler->EndProfiling(profiler, &container);
	in_time(now_ns, 13);
	if (status || added_count < COUNT)
		_exit(14);
	bool is_named = strstr(logged_text, "has not returned") &&
	                (strstr(logged_text, entry->plugin) || strstr(logged_text, "official") ||
	                 strstr(logged_text, "XPU"));
	if (is_named != (entry->step != HANGING_CLOSE))
		_exit(15);
	now_ns = hanging_now_ns();
	profiler->Release(profiler);
	host_close(&host);
	in_time(now_ns, 16);
}

#ifdef __SANITIZE_ADDRESS__
/* A call that never returns keeps what it was given, so the sanitizer reports that as leaked at exit. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return 1;
}
#endif

static void run_case(int number)
{
	char guilty[512], list[1200];
	entry = &hanging_entries[number / 2];
	hanging_set(entry);
	hanging_path(entry, guilty, sizeof(guilty));
	snprintf(list, sizeof(list), "%s:%s", number % 2 ? GOOD : guilty, number % 2 ? guilty : GOOD);
	dlopen(CHECK_BUILD "/libepprof_tf_shim.so", RTLD_NOW | RTLD_GLOBAL);
	struct trace_scan *scan = recorded(record, list);
	size_t count = 0;
	for (size_t i = 0; i < scan->records_count; i++)
		count += EPF_BITS_KIND(scan->records[i].bits) == EPF_COMPLETE &&
		         scan_name_is(scan, scan->records[i].name, "relu");
	ck_assert_uint_eq(count, COUNT);
	bool hung = entry->step != HANGING_CLOSE;
	uint64_t lost = 0;
	for (size_t i = 0; i < EPF_PRODUCER_COUNT; i++)
		lost += scan->producers[i].lost[EPP_LOSS_HUNG];
	ck_assert_uint_eq(lost, hung);
	trace_scan_free(scan);
}

START_TEST(one_that_hangs_costs_nothing_but_itself)
{
	hanging_run(_i, run_case);
}
END_TEST

/* ---- a plugin whose steps each take less than the limit, and together more ---- */

static const char *slow_steps;

static void record_slow(void)
{
	setenv("HANG_AT", slow_steps, 1);
	setenv("HANG_MS", "700", 1);
	setenv("EPPROF_PLUGIN_TIMEOUT_MS", HANGING_LIMIT_MS, 1);
	struct host host = host_open();
	OrtEpProfilerImpl *profiler = profiler_of(&host);
	OrtStatus *status = profiler->StartProfiling(profiler, 440000);
	if (status || !strstr(logged_text, "has not returned after " HANGING_LIMIT_MS " ms, earlier calls included"))
		_exit(10);
	begin(profiler, 5000);
	end(profiler, 5000, "outer");
	give_work();
	struct OrtProfilingEventsContainer container = { container_add, NULL };
	if (profiler->EndProfiling(profiler, &container) || added_count < COUNT)
		_exit(11);
	profiler->Release(profiler);
	host_close(&host);
}

/* The creation of a session includes the start of its profile. */
START_TEST(steps_of_a_slow_plugin_share_the_limit)
{
	static const char *const steps[] = { "ort:CreateEpFactories,ort:GetSupportedDevices",
		                             "ort:GetSupportedDevices,ort:CreateEp", "ort:CreateEp,ort:CreateProfiler",
		                             "ort:CreateEp,ort:StartProfiling" };
	slow_steps = steps[_i];
	struct trace_scan *scan = recorded(record_slow, CHECK_BUILD "/tests/plugins/plain_ep.so:" GOOD);
	uint64_t lost = 0;
	for (size_t i = 0; i < EPF_PRODUCER_COUNT; i++)
		lost += scan->producers[i].lost[EPP_LOSS_HUNG];
	ck_assert_uint_eq(lost, 1);
	trace_scan_free(scan);
}
END_TEST

static Suite *ort_hanging_suite(void)
{
	Suite *suite = suite_create("ort_hanging");
	TCase *tcase = tcase_create("ort_hanging");
	tcase_add_loop_test(tcase, one_that_hangs_costs_nothing_but_itself, 0, HANGING_GROUPS);
	tcase_add_loop_test(tcase, steps_of_a_slow_plugin_share_the_limit, 0, 4);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(ort_hanging_suite)

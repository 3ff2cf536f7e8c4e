/* Execution provider libraries: one that behaves, built against ONNX Runtime's headers and against ours, is loaded,
 * profiles and goes; one that does not is turned away with a clear word, and nothing of it stays. */
#include "tests/support/check.h"

#include <string.h>

#include "base/clock.h"
#include "epprof/plugin.h"
#include "ort_abi/ort_event.h"
#include "ort_abi/ort_status.h"
#include "ort_abi/profiler_registry.h"
#include "tests/plugins/official_ep.h"
#include "tests/support/mapped.h"

#define PLUGIN(name) CHECK_BUILD "/tests/plugins/" name ".so"

/* ---- a library that behaves ---- */

static const char *const libraries[] = { "plain_ep", "official_ep" };

struct container {
	OrtProfilingEventsContainer container;
	size_t count;
	char names[8][64];
	char correlations[8][32];
	int64_t timestamps_us[8];
};

static OrtStatus *keep(OrtProfilingEventsContainer *self, const OrtProfilingEvent *const *events, size_t count)
{
	struct container *container = self->user;
	for (size_t i = 0; i < count; i++) {
		size_t at = container->count++;
		ck_assert_uint_lt(at, 8);
		ck_assert_int_eq(events[i]->category, 2);
		snprintf(container->names[at], sizeof(container->names[at]), "%s", events[i]->name);
		const char *id = ort_event_arg((OrtProfilingEvent *)(uintptr_t)events[i], "ort_correlation_id");
		snprintf(container->correlations[at], sizeof(container->correlations[at]), "%s", id);
		container->timestamps_us[at] = ort_event_timestamp_us(events[i]);
	}
	return NULL;
}

static uint64_t no_ticks(void)
{
	return 0;
}

static void one_event(OrtEpProfilerImpl *profiler, uint64_t id, uint64_t start_us, const epp_arg *args, uint32_t count)
{
	OrtProfilingEvent event = {
		.category = 1,
		.args_count = count,
		.name = "fc1 \"gemm\"",
		.host_args = args,
		.base_ticks = 1000,
		.start_ticks = 1000 + start_us * 1000,
		.end_ticks = 1000 + (start_us + 5) * 1000,
		.borrowed = 1,
	};
	ck_assert_ptr_null(profiler->StartEvent(profiler, id));
	OrtStatus *status = profiler->StopEvent(profiler, id, &event);
	ck_assert_msg(!status, "%s", ort_status_message(status));
}

static void profile(epp_plugin *plugin, OrtEpProfilerImpl *profiler)
{
	struct ep_notes *notes = epp_plugin_symbol(plugin, "ep_notes");
	struct container container = { .container = { keep, &container } };
	const epp_arg args[] = {
		{ .key = epp_name_intern("op_name"), .type = EPP_ARG_TEXT, .value.text = "MatMul", .text_bytes = 6 },
		{ .key = epp_name_intern("node_index"), .type = EPP_ARG_I64, .value.i64 = 12 },
	};
	ck_assert_ptr_nonnull(notes);
	ck_assert_ptr_null(profiler->StartProfiling(profiler, 440000));
	one_event(profiler, UINT64_MAX, 100, args, 2);
	ck_assert_str_eq(notes->last_stop, "1 fc1 \"gemm\" MatMul 12 -");
	one_event(profiler, 7, 200, NULL, 0);
	ck_assert_str_eq(notes->last_stop, "1 fc1 \"gemm\" - - -");
	ck_assert_uint_eq(notes->last_id, 7);
	OrtStatus *status = profiler->EndProfiling(profiler, &container.container);
	ck_assert_msg(!status, "%s", ort_status_message(status));
	ck_assert_uint_eq(container.count, 2);
	ck_assert_str_eq(container.names[0], "kernel of fc1 \"gemm\"");
	ck_assert_str_eq(container.correlations[0], "18446744073709551615");
	ck_assert_int_eq(container.timestamps_us[0], 100);
	ck_assert_str_eq(container.correlations[1], "7");
	ck_assert_int_eq(container.timestamps_us[1], 200);
}

static int messages;

static void hear(void *user, epp_blame blame, const char *text)
{
	(void)user, (void)blame;
	ck_assert_ptr_nonnull(strstr(text, ": an EP is made (official_ep.c:"));
	messages++;
}

START_TEST(a_library_is_loaded_used_and_unloaded_ten_times)
{
	char path[512];
	char file[64];
	snprintf(path, sizeof(path), CHECK_BUILD "/tests/plugins/%s.so", libraries[_i]);
	snprintf(file, sizeof(file), "/%s.so", libraries[_i]);
	if (access(path, F_OK)) {
		printf("SKIP: %s: ONNX Runtime's headers are not there (ORT_HEADERS)\n", libraries[_i]);
		return;
	}
	clock_inject(no_ticks, 1000000000, NULL);
	messages = 0;
	epp_plugin_set_log(hear, NULL);
	for (int round = 0; round < 10; round++) {
		epp_plugin *plugin = NULL;
		OrtEpProfilerImpl *profiler = NULL;
		OrtEpProfilerImpl *another = NULL;
		check_ok(epp_plugin_load(path, &plugin));
		ck_assert_str_eq(epp_plugin_name(plugin), libraries[_i]);
		ck_assert_str_eq(strrchr(epp_plugin_path(plugin), '/'), file);
		ck_assert(is_mapped(file));
		int *live = epp_plugin_symbol(plugin, "ep_live");
		ck_assert_int_eq(*live, 2);
		check_ok(epp_plugin_profiler_create(plugin, &profiler));
		check_ok(epp_plugin_profiler_create(plugin, &another));
		ck_assert_int_eq(*live, 4);
		profile(plugin, profiler);
		profile(plugin, profiler);
		epp_plugin_profiler_destroy(profiler);
		epp_plugin_profiler_destroy(another);
		epp_plugin_profiler_destroy(NULL);
		/* The plugin's thread does it. */
		for (int i = 0; i < 5000 && __atomic_load_n(live, __ATOMIC_RELAXED) != 2; i++)
			usleep(1000);
		ck_assert_int_eq(__atomic_load_n(live, __ATOMIC_RELAXED), 2);
		check_ok(epp_plugin_unload(plugin));
		ck_assert(!is_mapped(file));
	}
	ck_assert_int_eq(messages, 10);
	epp_plugin_set_log(NULL, NULL);
}
END_TEST

START_TEST(the_push_function_is_found)
{
	epp_plugin *plugin = NULL;
	check_ok(epp_plugin_load(PLUGIN("plain_ep"), &plugin));
	struct ep_notes *notes = epp_plugin_symbol(plugin, "ep_notes");
	ck_assert(notes->push_function == (void (*)(void))profiler_registry_push);
	check_ok(epp_plugin_unload(plugin));
}
END_TEST

/* ---- libraries that do not ---- */

static const char opened[] = "CreateEpFactories GetSupportedDevices CreateEp ";

static const struct {
	const char *behaviour;
	epp_code code;
	const char *message;
	const char *calls; /* in order, from load to unload */
} hostile[] = {
	{ "factories: status", EPP_PLUGIN, "CreateEpFactories: no device found", "CreateEpFactories" },
	{ "factories: none", EPP_PLUGIN, "CreateEpFactories: it created no factory", "CreateEpFactories" },
	{ "factories: NULL", EPP_PLUGIN, "CreateEpFactories: number 0 of 1 is NULL", "CreateEpFactories" },
	{ "factories: two, one NULL", EPP_PLUGIN, "CreateEpFactories: number 1 of 2 is NULL",
	  "CreateEpFactories ReleaseEpFactory" },
	{ "factories: too many", EPP_PLUGIN, "CreateEpFactories: it returned a count of 5; the array holds 4",
	  "CreateEpFactories ReleaseEpFactory" },
	{ "factories: past the end", EPP_PLUGIN, "CreateEpFactories: it wrote past the end of an array of 4",
	  "CreateEpFactories ReleaseEpFactory" },
	{ "factory: version 24", EPP_INCOMPATIBLE,
	  "CreateEpFactories: the factory has API version 24, which is below 25", "CreateEpFactories ReleaseEpFactory" },
	{ "factory: no GetName", EPP_INCOMPATIBLE, "CreateEpFactories: the factory's GetName is NULL",
	  "CreateEpFactories ReleaseEpFactory" },
	{ "factory: no GetVendor", EPP_INCOMPATIBLE, "CreateEpFactories: the factory's GetVendor is NULL",
	  "CreateEpFactories ReleaseEpFactory" },
	{ "factory: no GetSupportedDevices", EPP_INCOMPATIBLE,
	  "CreateEpFactories: the factory's GetSupportedDevices is NULL", "CreateEpFactories ReleaseEpFactory" },
	{ "factory: no CreateEp", EPP_INCOMPATIBLE, "CreateEpFactories: the factory's CreateEp is NULL",
	  "CreateEpFactories ReleaseEpFactory" },
	{ "factory: no ReleaseEp", EPP_INCOMPATIBLE, "CreateEpFactories: the factory's ReleaseEp is NULL",
	  "CreateEpFactories ReleaseEpFactory" },
	{ "factory: no GetVersion", EPP_INCOMPATIBLE, "CreateEpFactories: the factory's GetVersion is NULL",
	  "CreateEpFactories ReleaseEpFactory" },
	{ "factory: no CreateDataTransfer", EPP_INCOMPATIBLE,
	  "CreateEpFactories: the factory's CreateDataTransfer is NULL", "CreateEpFactories ReleaseEpFactory" },
	{ "devices: status", EPP_PLUGIN, "GetSupportedDevices: no driver",
	  "CreateEpFactories GetSupportedDevices ReleaseEpFactory" },
	{ "devices: none", EPP_INCOMPATIBLE, "GetSupportedDevices: it does not support the offered device (CPU)",
	  "CreateEpFactories GetSupportedDevices ReleaseEpFactory" },
	{ "devices: NULL", EPP_PLUGIN, "GetSupportedDevices: number 0 of 1 is NULL",
	  "CreateEpFactories GetSupportedDevices ReleaseEpFactory" },
	{ "devices: too many", EPP_PLUGIN, "GetSupportedDevices: it returned a count of 9; the array holds 8",
	  "CreateEpFactories GetSupportedDevices ReleaseEpFactory" },
	{ "devices: past the end", EPP_PLUGIN, "GetSupportedDevices: it wrote past the end of an array of 8",
	  "CreateEpFactories GetSupportedDevices ReleaseEpFactory" },
	{ "ep: status", EPP_PLUGIN, "CreateEp: licence has expired",
	  "CreateEpFactories GetSupportedDevices CreateEp ReleaseEpFactory" },
	{ "ep: foreign status", EPP_PLUGIN, "CreateEp: (a status that this host's CreateStatus did not create)",
	  "CreateEpFactories GetSupportedDevices CreateEp ReleaseEpFactory" },
	{ "ep: NULL", EPP_PLUGIN, "CreateEp: it created no EP",
	  "CreateEpFactories GetSupportedDevices CreateEp ReleaseEpFactory" },
	{ "ep: version 24", EPP_INCOMPATIBLE, "CreateEp: the EP has API version 24, which is below 25",
	  "CreateEpFactories GetSupportedDevices CreateEp ReleaseEp ReleaseEpFactory" },
	/* These load; it is the profiler that fails. */
	{ "ep: no CreateProfiler", EPP_PLUGIN, "CreateProfiler: the EP has no such function: it has no profiler",
	  "ReleaseEp ReleaseEpFactory" },
	{ "profiler: status", EPP_PLUGIN, "CreateProfiler: no counters", "CreateProfiler ReleaseEp ReleaseEpFactory" },
	{ "profiler: NULL", EPP_PLUGIN, "CreateProfiler: it has no profiler", "CreateProfiler ReleaseEp ReleaseEpFactory" },
	{ "profiler: version 24", EPP_INCOMPATIBLE, "CreateProfiler: the profiler has API version 24, which is below 25",
	  "CreateProfiler Release ReleaseEp ReleaseEpFactory" },
	{ "profiler: no Release", EPP_INCOMPATIBLE, "CreateProfiler: the profiler's Release is NULL",
	  "CreateProfiler ReleaseEp ReleaseEpFactory" },
	{ "profiler: no StartProfiling", EPP_INCOMPATIBLE, "CreateProfiler: the profiler's StartProfiling is NULL",
	  "CreateProfiler Release ReleaseEp ReleaseEpFactory" },
	{ "profiler: no EndProfiling", EPP_INCOMPATIBLE, "CreateProfiler: the profiler's EndProfiling is NULL",
	  "CreateProfiler Release ReleaseEp ReleaseEpFactory" },
};

START_TEST(a_library_that_misbehaves_is_turned_away)
{
	epp_plugin *plugin = (epp_plugin *)&plugin;
	OrtEpProfilerImpl *profiler = (OrtEpProfilerImpl *)&profiler;
	char calls[256];
	char message[256];
	setenv("HOSTILE", hostile[_i].behaviour, 1);
	epp_status *status = epp_plugin_load(PLUGIN("hostile_ep"), &plugin);
	bool loaded = !status;
	if (status) {
		ck_assert_ptr_null(plugin);
	} else {
		status = epp_plugin_profiler_create(plugin, &profiler);
		ck_assert_ptr_nonnull(status);
		ck_assert_ptr_null(profiler);
		check_ok(epp_plugin_unload(plugin));
	}
	snprintf(message, sizeof(message), "hostile_ep.so: %s", hostile[_i].message);
	ck_assert_str_eq(epp_status_message(status), message);
	ck_assert_int_eq((int)epp_status_code(status), (int)hostile[_i].code);
	epp_status_destroy(status);
	snprintf(calls, sizeof(calls), "%s%s", loaded ? opened : "", hostile[_i].calls);
	ck_assert_msg(getenv("HOSTILE_CALLS") != NULL, "the library is still loaded");
	ck_assert_str_eq(getenv("HOSTILE_CALLS"), calls);
	/* One factory that is claimed twice over, or not claimed at all, cannot be given back. */
	ck_assert_str_eq(getenv("HOSTILE_LIVE"), "0");
	ck_assert(!is_mapped("hostile_ep"));
}
END_TEST

START_TEST(one_profiler_is_not_given_twice)
{
	epp_plugin *plugin = NULL;
	OrtEpProfilerImpl *profiler = NULL;
	OrtEpProfilerImpl *another = NULL;
	setenv("HOSTILE", "profiler: the same", 1);
	check_ok(epp_plugin_load(PLUGIN("hostile_ep"), &plugin));
	check_ok(epp_plugin_profiler_create(plugin, &profiler));
	check_fails(EPP_PLUGIN, epp_plugin_profiler_create(plugin, &another));
	ck_assert_ptr_null(another);
	check_fails(EPP_BUSY, epp_plugin_unload(plugin));
	epp_plugin_profiler_destroy(profiler);
	/* After its release it is a new one. */
	check_ok(epp_plugin_profiler_create(plugin, &profiler));
	epp_plugin_profiler_destroy(profiler);
	check_ok(epp_plugin_unload(plugin));
}
END_TEST

START_TEST(a_status_from_release_and_a_missing_name_do_no_harm)
{
	epp_plugin *plugin = NULL;
	setenv("HOSTILE", "factory: NULL name", 1);
	check_ok(epp_plugin_load(PLUGIN("hostile_ep"), &plugin));
	ck_assert_str_eq(epp_plugin_name(plugin), "hostile_ep");
	setenv("HOSTILE", "release: status", 1);
	check_ok(epp_plugin_unload(plugin));
	ck_assert_str_eq(getenv("HOSTILE_LIVE"), "0");
}
END_TEST

START_TEST(a_library_with_half_of_its_symbols_is_named)
{
	epp_plugin *plugin = NULL;
	epp_status *status = epp_plugin_load(PLUGIN("half_ep"), &plugin);
	ck_assert_int_eq((int)epp_status_code(status), EPP_INCOMPATIBLE);
	ck_assert_str_eq(epp_status_message(status), "half_ep.so: no symbol 'ReleaseEpFactory'");
	epp_status_destroy(status);
	ck_assert(!is_mapped("half_ep"));
}
END_TEST

static Suite *ort_loader_suite(void)
{
	Suite *suite = suite_create("ort_loader");
	TCase *tests = tcase_create("ort_loader");
	tcase_add_loop_test(tests, a_library_is_loaded_used_and_unloaded_ten_times, 0, 2);
	tcase_add_test(tests, the_push_function_is_found);
	tcase_add_loop_test(tests, a_library_that_misbehaves_is_turned_away, 0,
	                    (int)(sizeof(hostile) / sizeof(hostile[0])));
	tcase_add_test(tests, one_profiler_is_not_given_twice);
	tcase_add_test(tests, a_status_from_release_and_a_missing_name_do_no_harm);
	tcase_add_test(tests, a_library_with_half_of_its_symbols_is_named);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(ort_loader_suite)

/* Plugins for TensorFlow, one run each: registration, the calls of a run, what they may do wrong at each step, and what
 * becomes of their events.  Covers tf.c, tf_call.c, tf_shim_load.c, tf_collect.c and profile_delivery.c. */
#include "tests/support/lives.h"
#include "tests/support/tf_plugins.h"

#include <dlfcn.h>

#define FAULT TF_PLUGIN("tf_fault")

/* ---- registration ---- */

static const struct {
	const char *fault;
	epp_code code;
	const char *message;
	const char *calls; /* what was made is destroyed once, if it can be */
} registrations[] = {
	{ "init", EPP_PLUGIN, "tf_fault.so: TF_InitProfiler: code 13: the \"device\" is\tgone", "i" },
	{ "params size", EPP_INCOMPATIBLE, "its TF_ProfilerRegistrationParams has a size of 56 bytes, 64 are needed",
	  "ipf" },
	{ "no destroy", EPP_INCOMPATIBLE, "TF_InitProfiler: destroy_profiler is NULL", "if" },
	{ "no destroy fns", EPP_INCOMPATIBLE, "destroy_profiler_fns is NULL", "ip" },
	{ "profiler size", EPP_INCOMPATIBLE, "its TP_Profiler has a size of 16 bytes, 24 are needed", "ipf" },
	{ "no type", EPP_INCOMPATIBLE, "device_type is NULL", "ipf" },
	{ "long type", EPP_INCOMPATIBLE, "device_type is longer than 63 bytes", "ipf" },
	{ "lower", EPP_INCOMPATIBLE, "device_type 'xpu' must consist of upper-case letters", "ipf" },
	{ "digit", EPP_INCOMPATIBLE, "device_type 'XPU2' must consist of upper-case letters", "ipf" },
	{ "fns size", EPP_INCOMPATIBLE, "its TP_ProfilerFns has a size of 39 bytes, 40 are needed", "ipf" },
	{ "fns no size", EPP_INCOMPATIBLE, "its TP_ProfilerFns has a size of 0 bytes", "ipf" },
	{ "no start", EPP_INCOMPATIBLE, "start is NULL", "ipf" },
	{ "no stop", EPP_INCOMPATIBLE, "stop is NULL", "ipf" },
	{ "no collect", EPP_INCOMPATIBLE, "collect_data_xspace is NULL", "ipf" },
};

START_TEST(what_registration_lacks_is_named)
{
	epp_status *status = tf_load(FAULT, registrations[_i].fault);
	ck_assert_msg(status != NULL, "%s: it was loaded", registrations[_i].fault);
	ck_assert_ptr_null(tf_plugin);
	ck_assert_msg(strstr(epp_status_message(status), registrations[_i].message) != NULL, "%s: %s",
	              registrations[_i].fault, epp_status_message(status));
	ck_assert_int_eq((int)epp_status_code(status), (int)registrations[_i].code);
	ck_assert_str_eq(tf_calls(), registrations[_i].calls);
	epp_status_destroy(status);
}
END_TEST

START_TEST(a_plugin_is_registered_and_destroyed_once)
{
	epp_plugin *first, *second;
	OrtEpProfilerImpl *profiler;
	check_ok(tf_load(FAULT, NULL));
	first = tf_plugin;
	ck_assert_str_eq(epp_plugin_name(first), "XPU");
	ck_assert_str_eq(epp_plugin_kind(first), "tf");
	check_ok(epp_plugin_load(FAULT, &second));
	check_ok(epp_plugin_profiler_create(second, &profiler));
	check_ok(epp_plugin_unload(first));
	check_fails(EPP_BUSY, epp_plugin_unload(second));
	/* A profiler that is never started costs the plugin nothing. */
	epp_plugin_profiler_destroy(profiler);
	ck_assert_str_eq(tf_calls(), "i");
	check_ok(epp_plugin_unload(second));
	ck_assert_str_eq(tf_calls(), "ipf");
}
END_TEST

START_TEST(a_plugin_that_links_tensorflow_is_refused_by_name)
{
	if (dlsym(RTLD_DEFAULT, "TF_NewStatus"))
		return; /* CK_FORK=no, and another test has loaded the shim */
	epp_status *status = epp_plugin_load(TF_PLUGIN("tf_needs"), &tf_plugin);
	ck_assert_ptr_nonnull(strstr(epp_status_message(status), "libtensorflow_framework.so.2"));
	epp_status_destroy(status);
	check_fails(EPP_NOT_FOUND, epp_tf_shim_load("/nowhere/libepprof_tf_shim.so"));
	/* The shim is what it looks for. */
	check_ok(tf_load(TF_PLUGIN("tf_needs"), NULL));
	epp_session *session = tf_session(tf_plugin);
	check_ok(epp_session_start(session));
	ck_assert_ptr_nonnull(strstr(tf_end(session), "xpu: StartProfiling: start: code 14: always"));
	epp_session_destroy(session);
	check_ok(epp_plugin_unload(tf_plugin));
	check_ok(epp_tf_shim_load(NULL));
}
END_TEST

START_TEST(without_status_functions_all_is_well)
{
	if (dlsym(RTLD_DEFAULT, "TF_NewStatus"))
		return;
	setenv("TF_FAULT", "start", 1);
	check_ok(epp_plugin_load(FAULT, &tf_plugin));
	epp_session *session = tf_session(tf_plugin);
	check_ok(epp_session_start(session));
	ck_assert_str_eq(tf_end(session), "");
	epp_session_destroy(session);
	check_ok(epp_plugin_unload(tf_plugin));
}
END_TEST

/* ---- runs ---- */

static const struct {
	const char *fault;
	const char *calls;
	const char *message; /* of the run's end */
	unsigned events_count;
	unsigned lost_count;
	epp_loss reason; /* of those */
} runs[] = {
	{ NULL, "isenc", "", 1, 0, EPP_LOSS_PLUGIN },
	{ "later", "isenc", "", 1, 0, EPP_LOSS_PLUGIN },
	{ "start", "is", "xpu: StartProfiling: start: code 13: the \"device\" is\tgone", 0, 0, EPP_LOSS_PLUGIN },
	{ "stop", "ise", "xpu: EndProfiling: stop: code 13: the \"device\" is\tgone", 0, 0, EPP_LOSS_PLUGIN },
	{ "size", "isen", "collect_data_xspace: code 13", 0, 0, EPP_LOSS_PLUGIN },
	{ "bytes", "isenc", "collect_data_xspace: code 13", 1, 0, EPP_LOSS_PLUGIN },
	{ "huge", "isen", "it reported 4294967296 bytes, more than a protobuf message", 0, 0, EPP_LOSS_PLUGIN },
	{ "largest", "isen", "it reported 18446744073709551615 bytes", 0, 0, EPP_LOSS_PLUGIN },
	{ "empty", "isen", "", 0, 0, EPP_LOSS_PLUGIN },
	{ "grow", "isenc", "between the two calls", 1, 0, EPP_LOSS_PLUGIN },
	{ "grow far", "isenc", "its data grew from 1 to 1099511627776 bytes", 0, 0, EPP_LOSS_PLUGIN },
	{ "overrun", "isenc", "it wrote 100 bytes past the ", 1, 0, EPP_LOSS_PLUGIN },
	{ "short", "isenc", "XSpace: truncated messages: 1; 0 events were read", 0, 0, EPP_LOSS_PLUGIN },
	{ "zero tail", "isenc", "", 1, 0, EPP_LOSS_PLUGIN },
	{ "garbage", "isenc", "XSpace: truncated messages: 1; 0 events", 0, 0, EPP_LOSS_PLUGIN },
	{ "backwards", "isenc",
	  "xpu: EndProfiling: events are lost because of their times: 0 before start, 0 after end, 1 negative", 0, 1,
	  EPP_LOSS_NEGATIVE },
	{ "epoch", "isenc", "1 before start, 0 after end, 0 negative duration", 0, 1, EPP_LOSS_BEFORE_START },
	{ "future", "isenc", "0 before start, 1 after end, 0 negative duration", 0, 1, EPP_LOSS_AFTER_END },
	{ "messages", "isenc", "error in its XSpace: counters are missing", 3, 0, EPP_LOSS_PLUGIN },
};

START_TEST(a_fault_costs_what_it_must_and_is_told)
{
	check_ok(tf_load(FAULT, runs[_i].fault));
	epp_session *session = tf_session(tf_plugin);
	check_ok(epp_session_start(session));
	const char *message = tf_end(session);
	ck_assert_msg(*runs[_i].message ? strstr(message, runs[_i].message) != NULL : !*message, "%s: %s",
	              runs[_i].fault, message);
	ck_assert_msg(!strcmp(tf_calls(), runs[_i].calls), "%s: %s", runs[_i].fault, tf_calls());
	struct trace_scan *scan = recording_look(session);
	ck_assert_msg(scan_count(scan, EPF_COMPLETE, 0) == runs[_i].events_count, "%s: %zu events", runs[_i].fault,
	              scan_count(scan, EPF_COMPLETE, 0));
	ck_assert_uint_eq(scan->producers[0].lost[runs[_i].reason], runs[_i].lost_count);
	ck_assert_uint_eq(scan->producers[0].emitted, runs[_i].events_count + runs[_i].lost_count);
	ck_assert_uint_eq(scan->producers[0].errors, *runs[_i].message ? 1 : 0);
	trace_scan_free(scan);
	epp_session_destroy(session);
	check_ok(epp_plugin_unload(tf_plugin));
}
END_TEST

/* Attached and idle, between runs and while the host alone has events: no call, no thread. */
START_TEST(it_costs_nothing_but_its_runs)
{
	check_ok(tf_load(FAULT, NULL));
	epp_session *session = tf_session(tf_plugin);
	const struct session *inside = recording_inside(session);
	epp_name name = epp_name_intern("host");
	ck_assert_str_eq(tf_calls(), "i");
	for (unsigned run = 0; run < 2; run++) {
		char during[16];
		check_ok(epp_session_start(session));
		snprintf(during, sizeof(during), "%s", tf_calls());
		ck_assert_ptr_null(inside->calls);
		size_t threads = lives_count_in("/proc/self/task");
		for (unsigned i = 0; i < 1000; i++)
			epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
		ck_assert_str_eq(tf_calls(), during);
		ck_assert_uint_eq(lives_count_in("/proc/self/task"), threads);
		ck_assert_str_eq(tf_end(session), "");
		ck_assert_str_eq(tf_calls(), run ? "isencsenc" : "isenc");
	}
	epp_session_destroy(session);
	check_ok(epp_plugin_unload(tf_plugin));
}
END_TEST

START_TEST(an_event_is_where_and_when_it_was)
{
	check_ok(tf_load(FAULT, NULL));
	epp_session *session = tf_session(tf_plugin);
	check_ok(epp_session_start(session));
	struct trace_scan *scan = recording_finish(session);
	const struct scan_record *event = scan_first(scan, EPF_COMPLETE, epp_name_intern("work 1"));
	ck_assert_ptr_nonnull(event);
	ck_assert_uint_eq(event->duration_ticks, 2000);
	const struct scan_track *track = scan_track(scan, event->track);
	ck_assert_str_eq(track->name, "queue \"5\"");
	ck_assert_str_eq(track->group, "/device:XPU:3");
	ck_assert_int_eq(track->definition.device, 3);
	ck_assert_int_eq(track->definition.stream, 5);
	/* In the ticks of UNIX time, with a pair before it and one behind; two threads recorded them, in regions of
	 * their own. */
	size_t from = 0;
	const struct scan_record *before = scan_next(scan, EPF_CLOCK_PAIR, 0, &from);
	const struct scan_record *behind = scan_next(scan, EPF_CLOCK_PAIR, 0, &from);
	ck_assert_ptr_nonnull(behind);
	if (before->start_ticks > behind->start_ticks) {
		const struct scan_record *swapped = before;
		before = behind;
		behind = swapped;
	}
	ck_assert(before->start_ticks < event->start_ticks && event->start_ticks < behind->start_ticks);
	ck_assert(before->duration_ticks < behind->duration_ticks);
	trace_scan_free(scan);
	check_ok(epp_plugin_unload(tf_plugin));
}
END_TEST

START_TEST(run_metadata_is_read_where_there_is_no_xspace)
{
	static const struct {
		const char *fault;
		unsigned events_count, lost_count;
		const char *message;
	} cases[] = { { NULL, 1, 0, "" },
		      { "old", 0, 1, "1 before start" },
		      { "cut", 0, 0, "RunMetadata: truncated messages: 1" } };
	for (int i = 0; i < 3; i++) {
		check_ok(tf_load(TF_PLUGIN("tf_run_metadata"), cases[i].fault));
		epp_session *session = tf_session(tf_plugin);
		check_ok(epp_session_start(session));
		const char *message = tf_end(session);
		ck_assert_msg(*cases[i].message ? strstr(message, cases[i].message) != NULL : !*message, "%s", message);
		struct trace_scan *scan = recording_look(session);
		ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, 0), cases[i].events_count);
		ck_assert_uint_eq(scan->producers[0].lost[EPP_LOSS_BEFORE_START], cases[i].lost_count);
		if (cases[i].events_count) {
			const struct scan_record *event = scan_first(scan, EPF_COMPLETE, epp_name_intern("MatMul"));
			ck_assert_uint_eq(event->duration_ticks, 7000);
			ck_assert_str_eq(scan_track(scan, event->track)->name, "queue");
			ck_assert_str_eq(scan_track(scan, event->track)->group, "/job:a/device:XPU:1");
			const struct scan_arg *label = scan_arg(event, epp_name_intern("timeline_label"));
			ck_assert_mem_eq(label->text, "[XPU] MatMul(\"a\")", 17);
		}
		trace_scan_free(scan);
		epp_session_destroy(session);
		check_ok(epp_plugin_unload(tf_plugin));
	}
}
END_TEST

START_TEST(options_select_pluggable_devices)
{
	static const struct {
		uint32_t level, type, selected;
	} cases[] = { { 1, EPP_DEVICE_UNSPECIFIED, 1 }, { 1, EPP_DEVICE_PLUGGABLE, 1 },
		      { 0, EPP_DEVICE_UNSPECIFIED, 0 }, { 0, EPP_DEVICE_PLUGGABLE, 0 },
		      { 1, EPP_DEVICE_GPU, 0 },         { 2, EPP_DEVICE_CPU, 0 },
		      { 1, EPP_DEVICE_TPU, 0 },         { 1, 99, 0 } };
	epp_plugin *provider;
	check_ok(tf_load(FAULT, NULL));
	check_ok(epp_plugin_load(CHECK_BUILD "/libsample_ort_ep.so", &provider));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		epp_profile_options options = { sizeof(options), cases[i].level, cases[i].type };
		ck_assert_uint_eq(epp_plugin_is_selected(tf_plugin, &options), cases[i].selected);
		ck_assert_uint_eq(epp_plugin_is_selected(provider, &options), 1);
	}
	ck_assert_uint_eq(epp_plugin_is_selected(tf_plugin, NULL), 1);
	ck_assert_uint_eq(epp_plugin_is_selected(NULL, NULL), 0);
	check_ok(epp_plugin_unload(provider));
	check_ok(epp_plugin_unload(tf_plugin));
}
END_TEST

static Suite *tf_suite(void)
{
	Suite *suite = suite_create("tf");
	TCase *tests = tcase_create("tf");
	tcase_add_test(tests, without_status_functions_all_is_well);
	tcase_add_test(tests, a_plugin_that_links_tensorflow_is_refused_by_name);
	tcase_add_loop_test(tests, what_registration_lacks_is_named, 0,
	                    (int)(sizeof(registrations) / sizeof(registrations[0])));
	tcase_add_test(tests, a_plugin_is_registered_and_destroyed_once);
	tcase_add_test(tests, options_select_pluggable_devices);
	tcase_add_loop_test(tests, a_fault_costs_what_it_must_and_is_told, 0, (int)(sizeof(runs) / sizeof(runs[0])));
	tcase_add_test(tests, it_costs_nothing_but_its_runs);
	tcase_add_test(tests, an_event_is_where_and_when_it_was);
	tcase_add_test(tests, run_metadata_is_read_where_there_is_no_xspace);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(tf_suite)

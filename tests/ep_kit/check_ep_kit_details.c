/* Names of devices and streams, numbers of any type, copies, times of submission, flows and counters: what the kit
 * pushes to an epprof host, and what it adds to ONNX Runtime's profile. */
#include <locale.h>

#include "ep_kit_host.h"

static const epp_ep_arg numbers[] = {
	{ .key = "signed", .i64 = -5 },
	{ .key = "unsigned", .u64 = UINT64_MAX, .type = EPP_EP_U64 },
	{ .key = "real", .f64 = 0.1, .type = EPP_EP_F64 },
	{ .key = "text", .text = "wins", .f64 = 0.1, .type = EPP_EP_F64 },
};

static epp_ep_event detailed(uint64_t now)
{
	return (epp_ep_event){
		.name = "copy",
		.start_ticks = now - 1000000,
		.end_ticks = now,
		.device = 1,
		.stream = 2,
		.args = numbers,
		.args_count = 4,
		.copy = EPP_EP_DEVICE_TO_HOST,
		.bytes = 4096,
		.submit_host_ticks = now - 9000000,
		.queue_ticks = now - 3000000,
		.flow_begin = 7,
		.flow_end = 8,
	};
}

/* ---- pushed ---- */

START_TEST(pushed_args)
{
	host_setup("1.29.0");
	epp_ep_options options = ep_options();
	epp_ep_profiler *profiler = ep_create(&options);
	epp_ep_event event = detailed(real_ns());
	ep_start(profiler);
	epp_ep_emit(profiler, &event);
	ep_end(profiler);
	ck_assert_uint_eq(host.pushed_count, 1);
	const struct host_pushed *pushed = host.pushed[0];
	const char *const keys[] = { EPPROF_SUBMIT_KEY,   EPPROF_QUEUE_KEY, "kind",     "bytes", EPPROF_FLOW_BEGIN_KEY,
		                     EPPROF_FLOW_END_KEY, "signed",         "unsigned", "real",  "text" };
	const uint32_t types[] = { 1, 1, 3, 1, 1, 1, 0, 1, 2, 3 };
	ck_assert_uint_eq(pushed->event.args_count, 10);
	for (size_t i = 0; i < 10; i++) {
		ck_assert_str_eq(pushed->keys[i], keys[i]);
		ck_assert_uint_eq(pushed->args[i].type, types[i]);
	}
	ck_assert_uint_eq(pushed->args[0].number.u64, event.submit_host_ticks);
	ck_assert_uint_eq(pushed->args[1].number.u64, 2000000);
	ck_assert_str_eq(pushed->texts[2], "memcpy_dtoh");
	ck_assert_uint_eq(pushed->args[3].number.u64, 4096);
	ck_assert_uint_eq(pushed->args[4].number.u64, 7);
	ck_assert_uint_eq(pushed->args[5].number.u64, 8);
	ck_assert_int_eq(pushed->args[6].number.i64, -5);
	ck_assert_uint_eq(pushed->args[7].number.u64, UINT64_MAX);
	ck_assert(pushed->args[8].number.f64 == 0.1);
	ck_assert_str_eq(pushed->texts[9], "wins");
	ep_release(profiler);
	host_teardown();
}
END_TEST

START_TEST(refused)
{
	host_setup("1.29.0");
	epp_ep_options options = ep_options();
	epp_ep_profiler *profiler = ep_create(&options);
	epp_ep_arg arg = { .key = "a", .type = 3 };
	epp_ep_event late_queue = detailed(real_ns()), unknown_copy = late_queue, unknown_type = late_queue;
	late_queue.queue_ticks = late_queue.start_ticks + 1;
	unknown_copy.copy = EPP_EP_FILL + 1;
	unknown_type.args = &arg;
	unknown_type.args_count = 1;
	ep_start(profiler);
	epp_ep_emit(profiler, &late_queue);
	epp_ep_emit(profiler, &unknown_copy);
	epp_ep_emit(profiler, &unknown_type);
	ep_end(profiler);
	ck_assert_uint_eq(host.pushed_count, 0);
	ck_assert_uint_eq(ep_balance(profiler, 3, 0).lost_refused, 3);
	ep_release(profiler);
	host_teardown();
}
END_TEST

/* Each node has the parent of its own replay, in an epprof host and in ONNX Runtime. */
START_TEST(replays_of_a_graph)
{
	static const epp_ep_graph_node nodes[] = { { .name = "gemm", .stream = 1 },
		                                   { .name = "re\"lu", .device = 1, .stream = 2 },
		                                   { .name = NULL } };
	host_setup(_i ? "1.27.0" : "1.29.0");
	epp_ep_options options = ep_options();
	epp_ep_profiler *profiler = ep_create(&options);
	uint64_t tokens[2];
	ep_start(profiler);
	for (uint64_t replay = 0; replay < 2; replay++) {
		ep_begin_event(profiler, 100 + replay);
		tokens[replay] = epp_ep_current(profiler);
		ep_stop_event(profiler, 100 + replay, NULL);
	}
	/* The later one is reported first. */
	for (unsigned replay = 2; replay-- > 0;) {
		uint64_t now = real_ns();
		const uint64_t ticks[][2] = { { now - 9, now - 5 }, { now - 4, now }, { now, now } };
		epp_ep_replay_emit(
		    profiler, &(epp_ep_replay){
				  .parent = tokens[replay], .graph = 7, .nodes = nodes, .ticks = ticks, .nodes_count = 3 });
	}
	epp_ep_replay_emit(profiler, &(epp_ep_replay){ .graph = 7 });
	epp_ep_replay_emit(profiler, &(epp_ep_replay){ .graph = 7, .nodes = nodes, .nodes_count = 3 });
	epp_ep_replay_emit(profiler, NULL);
	epp_ep_replay_emit(NULL, NULL);
	ep_end(profiler);
	if (_i) {
		ck_assert_uint_eq(ep_balance(profiler, 8, 4).lost_refused, 4);
		ck_assert_str_eq(host_event_arg(host.added[1], "graph"), "7");
		ck_assert_str_eq(host_event_arg(host.added[1], "graph_node"), "1");
		ck_assert_str_eq(host_event_arg(host.added[1], "ort_correlation_id"), "101");
		ck_assert_str_eq(host_event_arg(host.added[2], "ort_correlation_id"), "100");
	} else {
		ck_assert_uint_eq(ep_balance(profiler, 8, host.pushed_count).lost_refused, 4);
		for (size_t i = 0; i < host.pushed_count; i++) {
			const struct host_pushed *pushed = host.pushed[i];
			ck_assert_uint_eq(pushed->event.parent, tokens[i < 2]);
			ck_assert_str_eq(pushed->name, nodes[i % 2].name);
			ck_assert_int_eq(pushed->event.device, nodes[i % 2].device);
			ck_assert_int_eq(pushed->event.stream, nodes[i % 2].stream);
			ck_assert_uint_eq(pushed->event.args_count, 2);
			ck_assert_str_eq(pushed->keys[0], "graph");
			ck_assert_uint_eq(pushed->args[0].number.u64, 7);
			ck_assert_str_eq(pushed->keys[1], "graph_node");
			ck_assert_uint_eq(pushed->args[1].number.u64, i % 2);
		}
	}
	ep_release(profiler);
	host_teardown();
}
END_TEST

START_TEST(names_are_pushed_at_each_start_and_at_once)
{
	host_setup("1.29.0");
	epp_ep_options options = ep_options();
	epp_ep_profiler *profiler = ep_create(&options);
	char name[] = "a \"card\"";
	epp_ep_stream_name_set(profiler, 0, 3, "copies");
	epp_ep_device_name_set(profiler, 0, "old");
	epp_ep_device_name_set(profiler, 0, name);
	memset(name, 'x', 3); /* it was copied */
	epp_ep_device_name_set(profiler, 0, "a \"card\"");
	epp_ep_device_name_set(profiler, 1, NULL);
	epp_ep_device_name_set(NULL, 1, "nobody's");
	ck_assert_uint_eq(host.labels_count, 0);
	ep_start(profiler);
	ck_assert_uint_eq(host.labels_count, 2);
	ck_assert_str_eq(host.labels[0], "0 a \"card\"");
	ck_assert_str_eq(host.labels[1], "0/3 copies");
	epp_ep_stream_name_set(profiler, 0, 4, "compute");
	epp_ep_stream_name_set(profiler, 0, 4, "compute");
	ck_assert_uint_eq(host.labels_count, 3);
	ck_assert_str_eq(host.labels[2], "0/4 compute");
	ep_end(profiler);
	host_clear();
	ep_start(profiler);
	ck_assert_uint_eq(host.labels_count, 3);
	ep_end(profiler);
	ep_release(profiler);
	host_teardown();
}
END_TEST

START_TEST(many_names)
{
	host_setup("1.29.0");
	epp_ep_options options = ep_options();
	epp_ep_profiler *profiler = ep_create(&options);
	char name[32];
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "name %d", i);
		epp_ep_device_name_set(profiler, 5, name);
	}
	ep_start(profiler);
	ck_assert_uint_eq(host.labels_count, 1);
	ck_assert_str_eq(host.labels[0], "5 name 1023");
	ep_end(profiler);
	ep_release(profiler);
	host_teardown();
}
END_TEST

static void *sets_names(void *profiler)
{
	char name[32];
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "%d", i);
		epp_ep_stream_name_set(profiler, (int32_t)(uintptr_t)&name % 1000, i, name);
	}
	return NULL;
}

START_TEST(names_of_several_threads)
{
	host_setup("1.26.0");
	epp_ep_options options = ep_options();
	epp_ep_profiler *profiler = ep_create(&options);
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, sets_names, profiler), 0);
	ep_start(profiler);
	for (int i = 0; i < 100; i++)
		ep_emit(profiler, 0, "e");
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	ep_end(profiler);
	ck_assert_uint_eq(host.added_count, 100);
	ep_release(profiler);
	host_teardown();
}
END_TEST

START_TEST(counters)
{
	host_setup("1.29.0");
	epp_ep_options options = ep_options();
	epp_ep_profiler *profiler = ep_create(&options);
	epp_ep_counter power = { .name = "power", .device = 1, .type = EPP_EP_F64, .f64 = 1.5, .host_ticks = 77 };
	epp_ep_counter_record(profiler, &power); /* no run */
	epp_ep_counter_record(NULL, &power);
	ep_start(profiler);
	epp_ep_counter_record(profiler, &power);
	epp_ep_counter_record(profiler, NULL);
	epp_ep_counter_record(profiler, &(epp_ep_counter){ .name = "memory", .u64 = UINT64_MAX, .type = EPP_EP_U64 });
	ep_end(profiler);
	epp_ep_counter_record(profiler, &power);
	ck_assert_uint_eq(host.counters_count, 2);
	ck_assert_str_eq(host.counter_names[0], "power");
	ck_assert_int_eq(host.counters[0].device, 1);
	ck_assert_uint_eq(host.counters[0].type, 2);
	ck_assert(host.counters[0].number.f64 == 1.5);
	ck_assert_uint_eq(host.counters[0].host_ticks, 77);
	ck_assert_uint_eq(host.counters[1].number.u64, UINT64_MAX);
	ck_assert_uint_eq(host.counters[1].type, 1);
	ep_balance(profiler, 0, 0);
	ep_release(profiler);
	host_teardown();
}
END_TEST

/* ---- ONNX Runtime's profile ---- */

static void check_arg(const char *key, const char *value)
{
	const char *found = host_event_arg(host.added[0], key);
	if (value)
		ck_assert_msg(found && !strcmp(found, value), "%s: '%s', not '%s'", key, found ? found : "(none)", value);
	else
		ck_assert_msg(!found, "%s: '%s'", key, found ? found : "");
}

START_TEST(args_of_onnx_runtime)
{
	host_setup("1.26.0");
	/* A comma in place of the point, if the locale is installed. */
	setlocale(LC_ALL, "de_DE.UTF-8");
	epp_ep_options options = ep_options();
	options.now_ticks = _i ? NULL : ep_now;
	epp_ep_profiler *profiler = ep_create(&options);
	epp_ep_device_name_set(profiler, 1, "a \"card\"");
	epp_ep_stream_name_set(profiler, 1, 2, "copies");
	epp_ep_stream_name_set(profiler, 1, 3, "compute");
	ep_start(profiler);
	usleep(20000);
	epp_ep_event event = detailed(real_ns());
	epp_ep_emit(profiler, &event);
	epp_ep_counter_record(profiler, &(epp_ep_counter){ .name = "memory", .i64 = 1 });
	ep_end(profiler);
	ck_assert_uint_eq(host.added_count, 1);
	check_arg("device_name", "a \\\"card\\\"");
	check_arg("stream_name", "copies");
	check_arg("signed", "-5");
	check_arg("unsigned", "18446744073709551615");
	check_arg("real", "0.10000000000000001");
	check_arg("text", "wins");
	check_arg("kind", "memcpy_dtoh");
	check_arg("bytes", "4096");
	check_arg("queue_us", "2000");
	check_arg("flow_begin", "7");
	check_arg("flow_end", "8");
	check_arg(EPPROF_SUBMIT_KEY, NULL);
	check_arg(EPPROF_QUEUE_KEY, NULL);
	/* From 9 ms before the end to 1 ms before it; not known without a common clock. */
	if (_i)
		check_arg("launch_us", NULL);
	else
		ck_assert_int_le(labs(strtol(host_event_arg(host.added[0], "launch_us"), NULL, 10) - 8000), 20);
	ep_release(profiler);
	host_teardown();
}
END_TEST

static Suite *ep_kit_details_suite(void)
{
	Suite *suite = suite_create("ep_kit_details");
	TCase *tcase = tcase_create("pushed");
	tcase_add_test(tcase, pushed_args);
	tcase_add_test(tcase, refused);
	tcase_add_loop_test(tcase, replays_of_a_graph, 0, 2);
	tcase_add_test(tcase, names_are_pushed_at_each_start_and_at_once);
	tcase_add_test(tcase, many_names);
	tcase_add_test(tcase, names_of_several_threads);
	tcase_add_test(tcase, counters);
	suite_add_tcase(suite, tcase);
	tcase = tcase_create("ONNX Runtime");
	tcase_add_loop_test(tcase, args_of_onnx_runtime, 0, 2);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(ep_kit_details_suite)

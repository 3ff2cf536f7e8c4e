/* The kit in a host like ONNX Runtime 1.26: tokens under ids that are not unique, what arrives in EndProfiling, times
 * by the kit's own fit, and what happens where the host refuses. */
#include "ep_kit_host.h"

static void setup(void)
{
	host_setup("1.26.0");
}

/* What StopEvent shows of a node. */
static OrtProfilingEvent *node_event(const char *name, const char *op_name, const char *node_index, int64_t timestamp_us)
{
	const char *const keys[] = { "op_name", "provider", "node_index" };
	const char *const values[] = { op_name, "TestEP", node_index };
	return host_event_copy(1, 1, 2, name, timestamp_us, 10, keys, values, op_name ? 3 : 0);
}

static const OrtProfilingEvent *added(const char *name)
{
	for (size_t i = 0; i < host.added_count; i++) {
		if (strcmp(host.added[i]->name, name) == 0)
			return host.added[i];
	}
	ck_abort_msg("no event %s", name);
}

static void assert_arg(const char *event, const char *key, const char *value)
{
	const char *found = host_event_arg(added(event), key);
	if (value)
		ck_assert_str_eq(found ? found : "(none)", value);
	else
		ck_assert_ptr_null(found);
}

START_TEST(equal_ids)
{
	epp_ep_options options = ep_options();
	epp_ep_profiler *profiler = ep_create(&options);
	ck_assert_uint_eq(epp_ep_current(profiler), 0);
	ep_start(profiler);
	uint64_t tokens[4];
	ep_begin_event(profiler, 1700000000000000);
	tokens[0] = epp_ep_current(profiler);
	ep_begin_event(profiler, 1700000000000000);
	ep_begin_event(profiler, 1700000000000000); /* its token is never taken */
	OrtProfilingEvent *shown = node_event("untaken", "Untaken", "9", 40);
	ep_stop_event(profiler, 1700000000000000, shown);
	host_event_free(shown);
	tokens[1] = epp_ep_current(profiler);
	ck_assert_uint_eq(epp_ep_current(profiler), tokens[1]);
	ck_assert_uint_ne(tokens[0], 0);
	ck_assert_uint_ne(tokens[1], tokens[0]);
	ep_emit(profiler, tokens[1], "inner kernel");
	shown = node_event("inner", "MatMul", "3", 40);
	ep_stop_event(profiler, 1700000000000000, shown);
	host_event_free(shown);
	ck_assert_uint_eq(epp_ep_current(profiler), tokens[0]);
	ep_emit(profiler, tokens[0], "outer kernel");
	ep_emit(profiler, tokens[1], "inner kernel, late");
	shown = node_event("outer", NULL, NULL, 30);
	ep_stop_event(profiler, 1700000000000000, shown);
	host_event_free(shown);
	ck_assert_uint_eq(epp_ep_current(profiler), 0);
	ep_begin_event(profiler, 5);
	tokens[2] = epp_ep_current(profiler);
	ep_emit(profiler, tokens[2], "still open");
	ep_emit(profiler, 0, "no parent");
	ep_emit(profiler, 12345, "unknown parent");
	ep_end(profiler);

	assert_arg("inner kernel", "ort_correlation_id", "1700000000000000");
	char tid[24];
	snprintf(tid, sizeof(tid), "%d", (int)gettid());
	assert_arg("inner kernel", "ort_thread_id", tid);
	assert_arg("inner kernel", "ort_event_name", "inner");
	assert_arg("inner kernel", "ort_op_name", "MatMul");
	assert_arg("inner kernel", "ort_node_index", "3");
	assert_arg("inner kernel, late", "ort_event_name", "inner");
	assert_arg("outer kernel", "ort_event_name", "outer");
	assert_arg("outer kernel", "ort_op_name", NULL);
	assert_arg("still open", "ort_correlation_id", "5");
	assert_arg("still open", "ort_event_name", NULL);
	assert_arg("no parent", "ort_correlation_id", NULL);
	assert_arg("no parent", "ort_thread_id", NULL);
	assert_arg("unknown parent", "ort_correlation_id", NULL);
	ck_assert_uint_eq(host.added_count, 6);
	ep_balance(profiler, 6, 6);

	/* A token of the run before is none in the next. */
	host_clear();
	ep_start(profiler);
	ep_begin_event(profiler, 6);
	ck_assert_uint_ne(epp_ep_current(profiler), tokens[0]);
	ep_emit(profiler, tokens[0], "old parent");
	ep_end(profiler);
	assert_arg("old parent", "ort_correlation_id", NULL);
	ep_balance(profiler, 1, 1);
	ep_release(profiler);
}
END_TEST

static int64_t unix_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* ONNX Runtime read its clock, and its thread was held up before the kit read another: the offset is old when it
 * comes. */
START_TEST(an_offset_that_comes_late)
{
	epp_ep_options options = ep_options();
	epp_ep_profiler *profiler = ep_create(&options);
	const int64_t late_us = 3000, profile_us = unix_us() - 5000 - late_us;
	ep_start(profiler);
	int64_t start_us = unix_us();
	ep_begin_event(profiler, (uint64_t)start_us);
	uint64_t now = real_ns();
	epp_ep_event event = { .parent = epp_ep_current(profiler), .name = "kernel", .start_ticks = now, .end_ticks = now };
	epp_ep_emit(profiler, &event);
	int64_t end_us = unix_us();
	OrtProfilingEvent *shown = node_event("node", "MatMul", "3", start_us - profile_us);
	ep_stop_event(profiler, (uint64_t)start_us, shown);
	host_event_free(shown);
	ep_end(profiler);
	/* The beginning is known to a microsecond either way. */
	ck_assert_int_ge(added("kernel")->timestamp_us, start_us - profile_us - 1);
	ck_assert_int_le(added("kernel")->timestamp_us, end_us - profile_us + 1);
	ep_release(profiler);
}
END_TEST

/* Past several blocks of the table. */
START_TEST(many_tokens)
{
	epp_ep_options options = ep_options();
	epp_ep_profiler *profiler = ep_create(&options);
	ep_start(profiler);
	for (uint64_t i = 0; i < 3000; i++) {
		char name[24], index[24];
		snprintf(name, sizeof(name), "kernel %d", (int)i);
		snprintf(index, sizeof(index), "%d", (int)i);
		ep_begin_event(profiler, 7);
		ep_emit(profiler, epp_ep_current(profiler), name);
		OrtProfilingEvent *shown = node_event("node", "Op", index, 1);
		ep_stop_event(profiler, 7, shown);
		host_event_free(shown);
	}
	ep_end(profiler);
	ck_assert_uint_eq(host.added_count, 3000);
	ck_assert_uint_eq(host.add_calls_count, 1);
	for (size_t i = 0; i < 3000; i++)
		ck_assert_str_eq(host_event_arg(host.added[i], "ort_node_index"), host.added[i]->name + strlen("kernel "));
	ck_assert_uint_eq(atomic_load(&((const struct kit *)profiler->state)->charged), 0);
	ep_balance(profiler, 3000, 3000);
	ep_release(profiler);
}
END_TEST

START_TEST(strings_that_json_cannot_hold)
{
	epp_ep_options options = ep_options();
	epp_ep_profiler *profiler = ep_create(&options);
	const epp_ep_arg args[] = {
		{ .key = "a \"key\"", .text = "tab\there, \\, \x01 and \x7f" },
		{ .key = "list", .text = "[1, 2]" },
		{ .key = "object", .text = "{\"a\": 1}" },
		{ .key = "utf8", .text = "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80" },
		{ .key = "broken", .text = "\xff \xc3 \xe2\x82 \xed\xa0\x80 \xc0\xaf \xf4\x90\x80\x80" },
		{ .key = "number", .i64 = -5 },
		{ .key = "stream", .text = "the EP's own" },
		{ .key = "empty", .text = "" },
	};
	char *large = calloc(1, 65537);
	memset(large, '"', 65536);
	epp_ep_event event = {
		.name = "say \"hi\"", .start_ticks = 1, .end_ticks = 2, .device = 2, .stream = 7, .args = args, .args_count = 8
	};
	ep_start(profiler);
	epp_ep_emit(profiler, &event);
	event = (epp_ep_event){
		.name = large, .device = -1, .stream = INT64_MAX, .category = OrtProfilingEventCategory_API + 1
	};
	epp_ep_emit(profiler, &event);
	ep_emit(profiler, 0, "[name]");
	ep_begin_event(profiler, 1);
	ep_emit(profiler, epp_ep_current(profiler), "child");
	OrtProfilingEvent *shown = node_event("a \"node\"", "Op\\", "1", 1);
	ep_stop_event(profiler, 1, shown);
	host_event_free(shown);
	ep_end(profiler);

	const char *name = "say \\\"hi\\\"";
	ck_assert_str_eq(host.added[0]->keys[0], "a \\\"key\\\"");
	assert_arg(name, "a \\\"key\\\"", "tab\\u0009here, \\\\, \\u0001 and \\u007f");
	assert_arg(name, "list", "\\u005b1, 2]");
	assert_arg(name, "object", "\\u007b\\\"a\\\": 1}");
	assert_arg(name, "utf8", args[3].text);
	assert_arg(name, "broken",
	           "\\ufffd \\ufffd \\ufffd\\ufffd \\ufffd\\ufffd\\ufffd \\ufffd\\ufffd \\ufffd\\ufffd\\ufffd\\ufffd");
	assert_arg(name, "number", "-5");
	assert_arg(name, "stream", "the EP's own");
	assert_arg(name, "device", "2");
	assert_arg(name, "empty", "");
	ck_assert_int_eq(added(name)->process_id, -3);
	ck_assert_int_eq(added(name)->thread_id, 7);
	ck_assert_int_eq(added(name)->category, OrtProfilingEventCategory_KERNEL);
	ck_assert_uint_eq(strlen(host.added[1]->name), 2 * 65536);
	ck_assert_int_eq(host.added[1]->process_id, -1);
	ck_assert_int_ge(host.added[1]->thread_id, 0);
	ck_assert_int_eq(host.added[1]->category, OrtProfilingEventCategory_API);
	assert_arg("child", "ort_event_name", "a \\\"node\\\"");
	assert_arg("child", "ort_op_name", "Op\\\\");
	added("[name]");
	ep_balance(profiler, 4, 4);
	ep_release(profiler);
	free(large);
}
END_TEST

/* ---- times ---- */

static uint32_t drifting_bits;
static uint64_t drifting_since_ns;

/* It wraps after 0.2 s. */
static uint64_t drifting_ticks(uint64_t ns)
{
	ns -= drifting_since_ns;
	uint64_t ticks = ns + ns / 5000 - 200000000;
	return drifting_bits == 64 ? ticks : ticks & ((1ull << drifting_bits) - 1);
}

static uint64_t drifting_now(void *user)
{
	(void)user;
	return drifting_ticks(real_ns());
}

/* 200 ppm fast, 0.4 s: the formula alone would be 80 us off at the end.  32 bits are 4.3 s: whoever is not let run for
 * half of that between two events cannot tell how often they wrapped. */
START_TEST(times)
{
	enum { COUNT = 80 };
	drifting_bits = _i == 0 ? 64 : 32;
	drifting_since_ns = real_ns();
	epp_ep_options options = ep_options();
	options.now_ticks = drifting_now;
	options.clock_bits = drifting_bits;
	epp_ep_profiler *profiler = ep_create(&options);
	const int64_t offset_ns = 440123;
	uint64_t before_ns = real_ns();
	host_ok(profiler->impl.StartProfiling(&profiler->impl, offset_ns));
	uint64_t after_ns = real_ns();
	uint64_t starts_ns[COUNT];
	for (size_t i = 0; i < COUNT; i++) {
		usleep(5000);
		starts_ns[i] = real_ns() - 1000000;
		epp_ep_event event = {
			.name = "e",
			.start_ticks = drifting_ticks(starts_ns[i]),
			.end_ticks = drifting_ticks(starts_ns[i] + 900500),
		};
		epp_ep_emit(profiler, &event);
	}
	ep_end(profiler);
	ck_assert_uint_eq(host.added_count, COUNT);
	for (size_t i = 0; i < COUNT; i++) {
		const OrtProfilingEvent *event = host.added[i];
		int64_t earliest_ns = offset_ns + (int64_t)(starts_ns[i] - after_ns);
		int64_t latest_ns = offset_ns + (int64_t)(starts_ns[i] - before_ns);
		ck_assert_int_ge(event->timestamp_us, earliest_ns / 1000 - 5);
		ck_assert_int_le(event->timestamp_us, latest_ns / 1000 + 5);
		ck_assert_int_ge(event->duration_us, 899);
		ck_assert_int_le(event->duration_us, 901);
		assert_arg("e", "epprof.placement", NULL);
	}
	ep_balance(profiler, COUNT, COUNT);
	ep_release(profiler);
}
END_TEST

/* Before ONNX Runtime's own start: floored, not cut off. */
START_TEST(times_below_zero)
{
	epp_ep_options options = ep_options();
	epp_ep_profiler *profiler = ep_create(&options);
	uint64_t before_ns = real_ns();
	host_ok(profiler->impl.StartProfiling(&profiler->impl, 0));
	uint64_t after_ns = real_ns();
	uint64_t start_ns = before_ns - 1000000;
	epp_ep_event event = { .name = "early", .start_ticks = start_ns, .end_ticks = start_ns + 2500 };
	epp_ep_emit(profiler, &event);
	ep_end(profiler);
	ck_assert_int_le(added("early")->timestamp_us, -1000 + 2);
	ck_assert_int_ge(added("early")->timestamp_us, -1000 - 2 - (int64_t)(after_ns - before_ns) / 1000);
	ck_assert_int_eq(added("early")->duration_us, 2);

	host_clear();
	host_ok(profiler->impl.StartProfiling(&profiler->impl, 0));
	start_ns = ((const struct kit *)profiler->state)->start_ns;
	event = (epp_ep_event){ .name = "just before", .start_ticks = start_ns - 500, .end_ticks = start_ns };
	epp_ep_emit(profiler, &event);
	event = (epp_ep_event){ .name = "just after", .start_ticks = start_ns + 500, .end_ticks = start_ns + 900 };
	epp_ep_emit(profiler, &event);
	ep_end(profiler);
	ck_assert_int_eq(added("just before")->timestamp_us, -1);
	ck_assert_int_eq(added("just after")->timestamp_us, 0);
	ep_release(profiler);
}
END_TEST

START_TEST(durations_only)
{
	epp_ep_options options = ep_options();
	options.now_ticks = NULL;
	options.ticks_per_second = 500000000;
	options.clock_bits = 32;
	epp_ep_profiler *profiler = ep_create(&options);
	uint64_t before_ns = real_ns();
	ep_start(profiler);
	ep_begin_event(profiler, 100);
	epp_ep_event event = {
		.parent = epp_ep_current(profiler), .name = "in node", .start_ticks = UINT32_MAX - 499, .end_ticks = 1000
	};
	epp_ep_emit(profiler, &event);
	OrtProfilingEvent *shown = node_event("node", "Op", "1", 123456);
	ep_stop_event(profiler, 100, shown);
	host_event_free(shown);
	usleep(3000);
	ep_begin_event(profiler, 101);
	event.parent = epp_ep_current(profiler);
	event.name = "in an open one";
	epp_ep_emit(profiler, &event);
	event.parent = 0;
	event.name = "in none";
	epp_ep_emit(profiler, &event);
	uint64_t passed_us = (real_ns() - before_ns) / 1000;
	ep_end(profiler);

	ck_assert_int_eq(added("in node")->timestamp_us, 123456);
	ck_assert_int_eq(added("in node")->duration_us, 3);
	assert_arg("in node", "epprof.placement", "duration only");
	/* ep_start says that the profile began 5 ms earlier. */
	ck_assert_int_ge(added("in an open one")->timestamp_us, 8000);
	ck_assert_int_le(added("in an open one")->timestamp_us, 5000 + (int64_t)passed_us);
	ck_assert_int_eq(added("in none")->timestamp_us, 5000);
	ep_balance(profiler, 3, 3);
	ep_release(profiler);
}
END_TEST

/* ---- losses ---- */

START_TEST(a_full_buffer)
{
	epp_ep_options options = ep_options();
	options.buffer_bytes = 100000;
	epp_ep_profiler *profiler = ep_create(&options);
	ep_emit(profiler, 0, "too early");
	ep_start(profiler);
	for (int i = 0; i < 2000; i++)
		ep_emit(profiler, 0, "e");
	ep_emit(profiler, 0, NULL);
	const struct kit *kit = profiler->state;
	ck_assert_uint_le(kit_bytes_used(kit), 100000);
	ep_end(profiler);
	ck_assert_uint_eq(atomic_load(&kit->charged), 0);
	EpprofLedger ledger = ep_balance(profiler, 2002, host.added_count - 1);
	ck_assert_uint_gt(host.added_count, 500);
	ck_assert_uint_gt(ledger.lost_no_buffer, 500);
	ck_assert_uint_eq(ledger.lost_outside_run, 1);
	char text[24];
	snprintf(text, sizeof(text), "%d", (int)ledger.lost_no_buffer);
	assert_arg("epprof.lost", "lost_no_buffer", text);
	assert_arg("epprof.lost", "lost_refused", "1");
	assert_arg("epprof.lost", "lost_outside_run", "1");
	assert_arg("epprof.lost", "emitted", "2002");
	assert_arg("epprof.lost", "ep", "TestEP");

	/* The next run begins with room, and without losses. */
	host_clear();
	ep_start(profiler);
	ep_emit(profiler, 0, "e");
	ep_end(profiler);
	ck_assert_uint_eq(host.added_count, 1);
	ep_balance(profiler, 1, 1);
	ep_release(profiler);
}
END_TEST

START_TEST(no_room_for_parents)
{
	epp_ep_options options = ep_options();
	options.buffer_bytes = 2000;
	epp_ep_profiler *profiler = ep_create(&options);
	ep_start(profiler);
	ep_begin_event(profiler, 1);
	ck_assert_uint_eq(epp_ep_current(profiler), 0);
	ep_stop_event(profiler, 1, NULL);
	ep_emit(profiler, 0, "lost");
	ep_end(profiler);
	ck_assert_uint_eq(host.added_count, 1);
	assert_arg("epprof.lost", "parents_lost", "1");
	ep_balance(profiler, 1, 0);
	ep_release(profiler);
}
END_TEST

START_TEST(the_host_refuses)
{
	epp_ep_options options = ep_options();
	epp_ep_profiler *profiler = ep_create(&options);
	host.create_fails_every = 3;
	ep_start(profiler);
	for (int i = 0; i < 30; i++)
		ep_emit(profiler, 0, "e");
	ep_end(profiler); /* no status: ONNX Runtime would drop what it has */
	EpprofLedger ledger = ep_balance(profiler, 30, host.added_count - 1);
	ck_assert_uint_eq(ledger.lost_other, 10);
	assert_arg("epprof.lost", "lost_other", "10");

	host_clear();
	host.create_fails_every = 0;
	host.add_fails = true;
	ep_start(profiler);
	for (int i = 0; i < 30; i++)
		ep_emit(profiler, 0, "e");
	host_fails(ORT_EP_FAIL, profiler->impl.EndProfiling(&profiler->impl, HOST_CONTAINER));
	ck_assert_uint_eq(ep_balance(profiler, 30, 0).lost_other, 30);

	host.add_fails = false;
	ep_start(profiler);
	ep_emit(profiler, 0, "e");
	host_fails(ORT_FAIL, profiler->impl.EndProfiling(&profiler->impl, NULL));
	ck_assert_uint_eq(ep_balance(profiler, 1, 0).lost_other, 1);
	ep_release(profiler);
}
END_TEST

START_TEST(batches)
{
	enum { COUNT = 100000 };
	epp_ep_options options = ep_options();
	epp_ep_profiler *profiler = ep_create(&options);
	host.add_drops = true;
	ep_start(profiler);
	for (int i = 0; i < COUNT; i++)
		ep_emit(profiler, 0, "e");
	ep_end(profiler);
	ck_assert_uint_eq(host.added_count, COUNT);
	ck_assert_uint_le(host.add_calls_count, 10);
	ep_balance(profiler, COUNT, COUNT);
	ep_release(profiler);
}
END_TEST

static Suite *ep_kit_ort_suite(void)
{
	Suite *suite = suite_create("ep_kit_ort");
	TCase *tests = tcase_create("ONNX Runtime");
	tcase_add_checked_fixture(tests, setup, host_teardown);
	tcase_add_test(tests, equal_ids);
	tcase_add_test(tests, an_offset_that_comes_late);
	tcase_add_test(tests, many_tokens);
	tcase_add_test(tests, strings_that_json_cannot_hold);
	tcase_add_loop_test(tests, times, 0, 2);
	tcase_add_test(tests, times_below_zero);
	tcase_add_test(tests, durations_only);
	tcase_add_test(tests, a_full_buffer);
	tcase_add_test(tests, no_room_for_parents);
	tcase_add_test(tests, the_host_refuses);
	tcase_add_test(tests, batches);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(ep_kit_ort_suite)

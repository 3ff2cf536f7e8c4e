/* The timeline of host events: order, nesting over blocks, ends recorded elsewhere, open events, flows, args, options.
 * Covers timeline.c, build_event.c, scan_pass.c and resolve_parents.c of timeline/ together with
 * check_timeline_devices. */
#include "tests/support/timeline_events.h"

#define NS(ticks) ((int64_t)((ticks)-BUILDER_START))
#define AT(ns) (BUILDER_START + (ns))

START_TEST(empty_trace)
{
	struct seen seen = see_all(builder_create());
	ck_assert_uint_eq(seen.count, 0);
	ck_assert_uint_eq(seen.counts.events, 0);
	seen_release(&seen);
}
END_TEST

START_TEST(nulls_and_options)
{
	epp_timeline *timeline = (epp_timeline *)1;
	struct {
		epp_timeline_options options;
		uint64_t later;
	} longer = { .options.struct_size = sizeof(longer), .later = 1 };
	struct epp_builder *b = builder_create();

	check_fails(EPP_INVALID_ARGUMENT, epp_timeline_create(NULL, NULL, &timeline));
	ck_assert_ptr_null(timeline);
	epp_timeline_destroy(NULL);
	struct seen seen = see(b, EPF_FINISHED, &longer.options);
	ck_assert_int_eq(epp_status_code(seen.status), EPP_INVALID_ARGUMENT);
	seen_release(&seen);
	longer.later = 0;
	seen = see(b, EPF_FINISHED, &longer.options);
	check_ok(seen.status);
	seen_release(&seen);
	seen = see(b, EPF_FINISHED,
	           &(epp_timeline_options){ .struct_size = sizeof(epp_timeline_options), .from_ns = 2, .to_ns = 1 });
	ck_assert_int_eq(epp_status_code(seen.status), EPP_INVALID_ARGUMENT);
	seen_release(&seen);
	builder_destroy(b);
}
END_TEST

/* Roots that end thousands of blocks after they began. */
START_TEST(long_roots)
{
	struct epp_builder *b = builder_create();
	uint32_t threads[3];
	uint64_t roots[3][2];
	epp_name root = builder_name(b, "root"), leaf = builder_name(b, "leaf");
	epp_arg arg = { .key = builder_name(b, "why"), .type = EPP_ARG_TEXT, .value.text = "long", .text_bytes = 4 };

	for (unsigned t = 0; t < 3; t++) {
		threads[t] = builder_thread(b, "worker", 10 + t);
		roots[t][0] = builder_begin(b, threads[t], AT(t), EPP_SESSION, root);
		roots[t][1] = builder_begin(b, threads[t], AT(10 + t), EPP_NODE, root);
		for (unsigned i = 0; i < 2000; i++) {
			builder_event(b, threads[t], AT(100 + i * 10 + t), 5, EPP_NODE, leaf, NULL, 0);
			if (i % 4 == 0)
				builder_flush(b, threads[t], BUILDER_TO_BLOCK);
		}
		builder_end(b, threads[t], roots[t][1], AT(30000), &arg, 1);
		builder_end(b, threads[t], roots[t][0], AT(30001), &arg, 1);
	}
	struct seen seen = see_all(b);
	ck_assert_uint_eq(seen.count, 3 * 2002);
	for (unsigned t = 0; t < 3; t++) {
		for (unsigned i = 0; i < 2; i++) {
			const struct seen_event *found = &seen.events[i * 3 + t];
			MUST(found->event.id == roots[t][i] && found->track == threads[t] && found->event.depth == i);
			MUST(found->event.duration_ns == (int64_t)(i ? 30000 - 10 - t : 30001 - t));
			ck_assert_str_eq(found->args, "why=long");
		}
	}
	for (size_t i = 6; i < seen.count; i++)
		MUST(seen.events[i].event.depth == 2 && seen.events[i].event.parent && seen.events[i].event.lane == 0);
	/* One body and what was open before it, a thread; blocks are not held until the roots end. */
	ck_assert_uint_le(seen.active_most, 3 * (64 + 2));
	seen_release(&seen);
}
END_TEST

START_TEST(equal_starts_and_zero_durations)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "worker", 10);
	epp_name name = builder_name(b, "n");
	uint64_t outer = builder_begin(b, thread, AT(5), EPP_NODE, name);
	uint64_t inner = builder_begin(b, thread, AT(5), EPP_NODE, name);
	uint64_t empty = builder_begin(b, thread, AT(5), EPP_NODE, name);
	builder_end(b, thread, empty, AT(5), NULL, 0);
	uint64_t moment = builder_instant(b, thread, AT(9), EPP_NODE, name, NULL, 0);
	builder_end(b, thread, inner, AT(9), NULL, 0);
	uint64_t at_end = builder_begin(b, thread, AT(9), EPP_NODE, name);
	builder_end(b, thread, at_end, AT(9), NULL, 0);
	builder_end(b, thread, outer, AT(9), NULL, 0);
	uint64_t behind = builder_begin(b, thread, AT(9), EPP_NODE, name);
	builder_end(b, thread, behind, AT(9), NULL, 0);

	struct seen seen = see_all(b);
	const uint64_t ids[] = { outer, inner, empty, moment, at_end, behind };
	const uint64_t parents[] = { 0, outer, inner, inner, outer, 0 };
	const unsigned depths[] = { 0, 1, 2, 2, 1, 0 };
	ck_assert_uint_eq(seen.count, 6);
	for (unsigned i = 0; i < 6; i++) {
		ck_assert_uint_eq(seen.events[i].event.id, ids[i]);
		ck_assert_uint_eq(seen.events[i].event.parent, parents[i]);
		ck_assert_uint_eq(seen.events[i].event.depth, depths[i]);
	}
	seen_release(&seen);
}
END_TEST

START_TEST(unended_and_orphan_ends)
{
	struct epp_builder *b = builder_create();
	uint32_t owner = builder_thread(b, "owner", 10), other = builder_thread(b, "other", 11);
	epp_name name = builder_name(b, "pending"), given = builder_name(b, "given");
	epp_arg arg = { .key = builder_name(b, "k"), .type = EPP_ARG_I64, .value.i64 = -5 };

	/* Closed by an outer end alone. */
	uint64_t outer = builder_begin(b, owner, AT(0), EPP_NODE, name);
	uint64_t left = builder_begin(b, owner, AT(10), EPP_NODE, name);
	builder_end(b, owner, outer, AT(100), NULL, 0);
	/* Ended by another thread, then closed by an outer end. */
	uint64_t second = builder_begin(b, owner, AT(200), EPP_NODE, name);
	uint64_t taken = builder_begin(b, owner, AT(210), EPP_NODE, name);
	uint64_t child = builder_begin(b, owner, AT(220), EPP_NODE, name);
	struct epf_record end = { .start_ticks = AT(250),
		                  .id = taken,
		                  .name = given,
		                  .bits = EPF_BITS(EPP_API, EPF_ORPHAN_END, 0, EPF_FLAG_NAME_AT_END) };
	builder_record(b, other, &end, &arg, 1);
	builder_orphan_end(b, other, taken, AT(270), NULL, 0); /* too late: the earlier one counts */
	builder_orphan_end(b, other, 12345, AT(280), NULL, 0); /* of nothing */
	builder_orphan_end(b, other, outer, AT(290), NULL, 0); /* of an event that its own thread ended */
	builder_end(b, owner, child, AT(260), NULL, 0);
	builder_end(b, owner, second, AT(300), NULL, 0);

	struct seen seen = see_all(b);
	ck_assert_uint_eq(seen.count, 5);
	const epp_event *event = seen_find(&seen, left);
	ck_assert_uint_eq(event->flags, EPP_FLAG_UNENDED);
	ck_assert_int_eq(event->duration_ns, 90);
	ck_assert_uint_eq(event->parent, outer);
	ck_assert_uint_eq(seen_find(&seen, outer)->flags, 0);
	ck_assert_int_eq(seen_find(&seen, outer)->duration_ns, 100);
	event = seen_find(&seen, taken);
	ck_assert_uint_eq(event->flags, EPP_FLAG_ENDED_ON_OTHER_THREAD);
	ck_assert_int_eq(event->duration_ns, 40);
	ck_assert_uint_eq(event->category, EPP_API);
	ck_assert_uint_eq(event->parent, second);
	ck_assert_str_eq(seen.events[3].name, "given");
	ck_assert_str_eq(seen.events[3].args, "k=-5");
	/* It outlives the event it began in: a lane of its own, and what encloses both is its parent. */
	event = seen_find(&seen, child);
	ck_assert_uint_eq(event->lane, 1);
	ck_assert_uint_eq(event->depth, 0);
	ck_assert_uint_eq(event->parent, second);
	seen_release(&seen);
}
END_TEST

START_TEST(asynchronous_events)
{
	struct epp_builder *b = builder_create();
	uint32_t one = builder_thread(b, "one", 10), two = builder_thread(b, "two", 11);
	epp_name name = builder_name(b, "request");
	epp_arg arg = { .key = builder_name(b, "bytes"), .type = EPP_ARG_U64, .value.u64 = 4096 };
	uint64_t outer = builder_begin(b, one, AT(0), EPP_NODE, name);
	uint64_t here = builder_async_begin(b, one, AT(10), EPP_API, name);
	uint64_t there = builder_async_begin(b, one, AT(20), EPP_API, name);
	uint64_t never = builder_async_begin(b, one, AT(30), EPP_API, name);
	builder_end(b, one, outer, AT(40), NULL, 0);
	builder_flush(b, one, BUILDER_TO_BLOCK);
	builder_async_end(b, one, here, AT(500), NULL, 0);
	builder_async_end(b, two, there, AT(600), &arg, 1);
	builder_host_pair(b, AT(1000), 20, 0);

	struct seen seen = see_all(b);
	ck_assert_uint_eq(seen.count, 4);
	const epp_event *event = seen_find(&seen, here);
	ck_assert_uint_eq(event->kind, EPP_EVENT_ASYNC);
	ck_assert_int_eq(event->duration_ns, 490);
	ck_assert_uint_eq(event->flags, 0);
	ck_assert_uint_eq(event->parent, 0);
	event = seen_find(&seen, there);
	ck_assert_int_eq(event->duration_ns, 580);
	ck_assert_uint_eq(event->flags, EPP_FLAG_ENDED_ON_OTHER_THREAD);
	ck_assert_str_eq(seen.events[2].args, "bytes=4096");
	event = seen_find(&seen, never);
	ck_assert_uint_eq(event->flags, EPP_FLAG_OPEN);
	ck_assert_int_ge(event->duration_ns, 970);
	seen_release(&seen);
}
END_TEST

START_TEST(flows)
{
	struct epp_builder *b = builder_create();
	uint32_t one = builder_thread(b, "one", 10), two = builder_thread(b, "two", 11);
	epp_name name = builder_name(b, "n");
	uint64_t from = builder_begin(b, one, AT(0), EPP_NODE, name);
	uint64_t to = builder_event(b, two, AT(50), 10, EPP_NODE, name, NULL, 0);
	uint64_t neither = builder_event(b, two, AT(70), 10, EPP_NODE, name, NULL, 0);
	builder_flow(b, one, AT(20), from, to);
	builder_end(b, one, from, AT(30), NULL, 0);

	struct seen seen = see_all(b);
	ck_assert_uint_eq(seen.count, 4);
	ck_assert_uint_eq(seen.events[1].event.kind, EPP_EVENT_FLOW);
	ck_assert_uint_eq(seen.events[1].event.parent, from);
	ck_assert_uint_eq(seen.events[1].event.id, to);
	ck_assert_int_eq(seen.events[1].event.start_ns, 20);
	ck_assert_uint_eq(seen.events[1].event.args_count, 0);
	ck_assert_uint_eq(seen_find(&seen, from)->flags, EPP_FLAG_FLOW);
	ck_assert_uint_eq(seen_find(&seen, to)->flags, EPP_FLAG_FLOW);
	ck_assert_uint_eq(seen_find(&seen, neither)->flags, 0);
	seen_release(&seen);
}
END_TEST

/* A killed process: what was open reaches to the last time that anything tells of. */
START_TEST(open_events)
{
	struct epp_builder *b = builder_create();
	uint32_t one = builder_thread(b, "one", 10), two = builder_thread(b, "two", 11);
	epp_name name = builder_name(b, "n");
	uint64_t outer = builder_begin(b, one, AT(0), EPP_SESSION, name);
	uint64_t inner = builder_begin(b, one, AT(100), EPP_NODE, name);
	uint64_t leaf = builder_event(b, one, AT(150), 10, EPP_NODE, name, NULL, 0);
	uint64_t other = builder_event(b, two, AT(10), 900, EPP_NODE, name, NULL, 0);

	struct seen seen = see(b, EPF_RECORDING, NULL);
	builder_destroy(b);
	check_ok(seen.status);
	ck_assert_uint_eq(seen.count, 4);
	const epp_event *event = seen_find(&seen, outer);
	ck_assert_uint_eq(event->flags, EPP_FLAG_OPEN);
	ck_assert_int_ge(event->duration_ns, 910);
	ck_assert_uint_eq(event->depth, 0);
	ck_assert_uint_eq(event->run, 1);
	ck_assert_uint_eq(seen_find(&seen, inner)->parent, outer);
	ck_assert_uint_eq(seen_find(&seen, inner)->flags, EPP_FLAG_OPEN);
	ck_assert_uint_eq(seen_find(&seen, leaf)->parent, inner);
	ck_assert_uint_eq(seen_find(&seen, leaf)->depth, 2);
	ck_assert_uint_eq(seen_find(&seen, other)->flags, 0);
	seen_release(&seen);
}
END_TEST

START_TEST(args_of_all_types)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "one", 10);
	epp_name name = builder_name(b, "\"quoted\"\n"), key = builder_name(b, "k");
	epp_arg args[] = { { .key = key, .type = EPP_ARG_I64, .value.i64 = INT64_MIN },
		           { .key = key, .type = EPP_ARG_TEXT, .value.text = "a \"b\"", .text_bytes = 5 },
		           { .key = 9999, .type = EPP_ARG_U64, .value.u64 = 3 },
		           { .key = key, .type = EPP_ARG_TEXT, .value.text = "", .text_bytes = 0 } };
	uint64_t id = builder_event(b, thread, AT(0), 10, EPP_NODE, name, args, 4);
	builder_event(b, thread, AT(20), 10, EPP_NODE, 8888, NULL, 0);

	struct seen seen = see_all(b);
	ck_assert_uint_eq(seen.events[0].event.id, id);
	ck_assert_str_eq(seen.events[0].name, "\"quoted\"\n");
	ck_assert_str_eq(seen.events[0].args, "k=-9223372036854775808 k=a \"b\" (unknown)=3 k=");
	ck_assert_str_eq(seen.events[1].name, "(unknown)");
	ck_assert_uint_eq(seen.events[1].event.name_number, 8888);
	seen_release(&seen);
}
END_TEST

START_TEST(a_part_of_the_time)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "one", 10);
	epp_name name = builder_name(b, "n");
	uint64_t root = builder_begin(b, thread, AT(0), EPP_NODE, name), ids[100];
	for (unsigned i = 0; i < 100; i++) {
		ids[i] = builder_event(b, thread, AT(100 + 10 * i), 5, EPP_NODE, name, NULL, 0);
		if (i % 3 == 0)
			builder_flush(b, thread, BUILDER_TO_BLOCK);
	}
	builder_end(b, thread, root, AT(5000), NULL, 0);

	epp_timeline_options options = { .struct_size = sizeof(options), .from_ns = 205, .to_ns = 250 };
	struct seen seen = see(b, EPF_FINISHED, &options);
	check_ok(seen.status);
	/* 205 is the end of the event at 200: times of length 0 count. */
	ck_assert_uint_eq(seen.count, 6);
	ck_assert_uint_eq(seen.events[0].event.id, root);
	for (unsigned i = 1; i < 6; i++) {
		ck_assert_uint_eq(seen.events[i].event.id, ids[9 + i]);
		ck_assert_uint_eq(seen.events[i].event.depth, 1);
		ck_assert_uint_eq(seen.events[i].event.parent, root);
	}
	ck_assert_uint_le(seen.active_most, 4);
	seen_release(&seen);
	builder_destroy(b);
}
END_TEST

START_TEST(one_of_two_runs)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "one", 10);
	epp_name name = builder_name(b, "n");
	builder_event(b, thread, AT(0), 10, EPP_NODE, name, NULL, 0);
	builder_run_end(b, AT(2000000));
	builder_run_start(b, AT(5000000));
	uint64_t second = builder_event(b, thread, AT(5000100), 10, EPP_NODE, name, NULL, 0);

	struct seen seen = see(b, EPF_FINISHED, NULL);
	check_ok(seen.status);
	ck_assert_uint_eq(seen.count, 2);
	ck_assert_uint_eq(seen.events[0].event.run, 1);
	ck_assert_uint_eq(seen.events[1].event.run, 2);
	ck_assert_int_eq(seen.events[1].event.start_ns, 5000100);
	seen_release(&seen);
	seen = see(b, EPF_FINISHED, &(epp_timeline_options){ .struct_size = sizeof(epp_timeline_options), .run = 2 });
	check_ok(seen.status);
	ck_assert_uint_eq(seen.count, 1);
	ck_assert_uint_eq(seen.events[0].event.id, second);
	seen_release(&seen);
	builder_destroy(b);
}
END_TEST

START_TEST(a_track_that_nothing_defines)
{
	struct epp_builder *b = builder_create();
	uint32_t lost = builder_thread_undefined(b, "lost", 12), thread = builder_thread(b, "one", 10);
	epp_name name = builder_name(b, "n");
	uint64_t outer = builder_begin(b, lost, AT(0), EPP_NODE, name);
	uint64_t inner = builder_event(b, lost, AT(10), 10, EPP_NODE, name, NULL, 0);
	builder_end(b, lost, outer, AT(100), NULL, 0);
	uint64_t own = builder_event(b, thread, AT(20), 10, EPP_NODE, name, NULL, 0);
	builder_switch(b, thread, 777);
	uint64_t switched = builder_complete(b, thread, AT(50), 10, EPP_NODE, name, 0, NULL, 0);
	builder_switch(b, thread, 0);

	struct seen seen = see_all(b);
	ck_assert_uint_eq(seen.count, 4);
	MUST(seen.events[0].event.id == outer && seen.events[0].track == lost);
	MUST(seen.events[1].event.id == inner && seen.events[1].event.parent == outer);
	MUST(seen.events[2].event.id == own && seen.events[2].track == thread);
	MUST(seen.events[3].event.id == switched && seen.events[3].track == 777);
	seen_release(&seen);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("timeline");
	TCase *tc = tcase_create("timeline");
	tcase_add_test(tc, empty_trace);
	tcase_add_test(tc, nulls_and_options);
	tcase_add_test(tc, long_roots);
	tcase_add_test(tc, equal_starts_and_zero_durations);
	tcase_add_test(tc, unended_and_orphan_ends);
	tcase_add_test(tc, asynchronous_events);
	tcase_add_test(tc, flows);
	tcase_add_test(tc, open_events);
	tcase_add_test(tc, args_of_all_types);
	tcase_add_test(tc, a_part_of_the_time);
	tcase_add_test(tc, one_of_two_runs);
	tcase_add_test(tc, a_track_that_nothing_defines);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)

/* Requests: what the functions refuse, and which events belong to which request when the trace is read. */
#include "epprof/export.h"
#include "epprof/sql.h"
#include "epprof/timeline.h"
#include "epprof/track.h"
#include "tests/support/export_text.h"
#include "tests/support/recording.h"
#include "tests/support/sql_text.h"

#define ID_A "0af7651916cd43dd8448eb211c80319c"
#define ID_B "4bf92f3577b34da6a3ce929d0e0e4736"
#define ID_C "00000000000000000000000000000001"
#define A "00-" ID_A "-b7ad6b7169203331-01"
#define B "00-" ID_B "-00f067aa0ba902b7-00"
#define C "00-" ID_C "-00f067aa0ba902b7-01"

static uint64_t begin(epp_session *session, const char *name)
{
	return epp_event_begin(session, EPP_SESSION, epp_name_intern(name));
}

static void end(epp_session *session, uint64_t id)
{
	epp_event_end(session, id, NULL, 0);
}

#define IDS_BYTES 256u

/* The trace ids of an event, "" without requests; and whether they are its own. */
static void ids_of(const epp_timeline *timeline, const epp_event *event, char text[IDS_BYTES])
{
	epp_request request = { .struct_size = sizeof(request) };
	size_t at = 0;

	*text = 0;
	for (size_t i = 0; epp_timeline_request_at(timeline, event, i, &request); i++)
		at += (size_t)snprintf(text + at, IDS_BYTES - at, "%s%s", i ? " " : "", request.trace_id);
	if (event->flags & EPP_FLAG_OWN_REQUEST)
		snprintf(text + at, IDS_BYTES - at, " own");
}

struct expected {
	const char *name, *ids;
};

static void expect_events(epp_trace *trace, const epp_timeline_options *options, const struct expected *expected,
                          size_t count)
{
	epp_timeline *timeline;
	const epp_event *event;
	char ids[IDS_BYTES];
	size_t at = 0;

	check_ok(epp_timeline_create(trace, options, &timeline));
	while (epp_timeline_next(timeline, &event)) {
		if (strncmp(event->name, "epprof.", 7) == 0)
			continue;
		ids_of(timeline, event, ids);
		ck_assert_msg(at < count, "'%s' too much", event->name);
		ck_assert_str_eq(event->name, expected[at].name);
		ck_assert_msg(strcmp(ids, expected[at].ids) == 0, "%s: '%s', expected '%s'", event->name, ids,
		              expected[at].ids);
		at++;
	}
	check_ok(epp_timeline_status(timeline));
	ck_assert_uint_eq(at, count);
	epp_timeline_destroy(timeline);
}

#define EXPECT(trace, ...) \
	do { \
		const epp_timeline_options with_ = { .struct_size = sizeof(with_), .requests = 1 }; \
		const struct expected list_[] = { __VA_ARGS__ }; \
		expect_events(trace, &with_, list_, sizeof(list_) / sizeof(*list_)); \
	} while (0)

/* ---- what is refused ---- */

START_TEST(the_grammar_is_checked)
{
	static const struct {
		const char *text, *reason;
	} wrong[] = {
		{ "", "fewer" },
		{ "00-" ID_A "-b7ad6b7169203331-0", "fewer" },
		{ "00-" ID_A "-b7ad6b7169203331-01-", "exactly 55" },
		{ "00-" ID_A "-b7ad6b7169203331-01x", "exactly 55" },
		{ "01-" ID_A "-b7ad6b7169203331-01x", "not followed" },
		{ "00_" ID_A "-b7ad6b7169203331-01", "form" },
		{ "00-" ID_A "_b7ad6b7169203331-01", "form" },
		{ "00-" ID_A "-b7ad6b7169203331_01", "form" },
		{ "ff-" ID_A "-b7ad6b7169203331-01", "version ff" },
		{ "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", "capital" },
		{ "00-" ID_A "-B7AD6B7169203331-01", "capital" },
		{ "0g-" ID_A "-b7ad6b7169203331-01", "not one of" },
		{ "00-" ID_A "-b7ad6b7169203331-0 ", "not one of" },
		{ "00-00000000000000000000000000000000-b7ad6b7169203331-01", "trace id is all" },
		{ "00-" ID_A "-0000000000000000-01", "parent id is all" },
		{ NULL, "NULL" },
	};
	epp_session *session = recording_start(NULL);
	uint64_t event = begin(session, "event"), context = 1;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		epp_status *status = epp_context_set(session, wrong[i].text, NULL);
		ck_assert_msg(status && strstr(epp_status_message(status), wrong[i].reason), "%s: %s", wrong[i].text,
		              status ? epp_status_message(status) : "accepted");
		ck_assert_int_eq(epp_status_code(status), EPP_INVALID_ARGUMENT);
		epp_status_destroy(status);
		check_fails(EPP_INVALID_ARGUMENT, epp_context_begin(session, wrong[i].text, NULL, &context));
		ck_assert_uint_eq(context, 0);
	}
	/* Later versions may have more fields. */
	check_ok(epp_context_set(session, "01-" ID_A "-b7ad6b7169203331-01", NULL));
	check_ok(epp_context_set(session, "cc-" ID_B "-b7ad6b7169203331-01-what", NULL));
	check_fails(EPP_INVALID_ARGUMENT, epp_context_begin(session, A, NULL, NULL));
	check_fails(EPP_INVALID_ARGUMENT, epp_context_attach(session, NULL, 1));
	check_ok(epp_context_attach(session, NULL, 0));
	end(session, event);
	check_fails(EPP_WRONG_STATE, epp_context_set(session, A, NULL));
	check_fails(EPP_WRONG_STATE, epp_context_attach(session, &event, 1));
	recording_end(session);
	epp_trace *trace = recording_open(session);
	EXPECT(trace, { "event", ID_A " " ID_B " own" });
	epp_trace_close(trace);
	epp_session_destroy(session);
	/* Nothing records: only the text is checked. */
	check_ok(epp_context_set(NULL, A, NULL));
	check_ok(epp_context_begin(NULL, A, NULL, &context));
	ck_assert_uint_eq(context, 0);
	check_ok(epp_context_attach(NULL, &context, 1));
	check_fails(EPP_INVALID_ARGUMENT, epp_context_set(NULL, "x", NULL));
}
END_TEST

/* ---- who belongs to what ---- */

START_TEST(events_inside_belong_to_the_innermost)
{
	epp_session *session = recording_start(NULL);
	uint64_t before = begin(session, "before");
	end(session, before);
	uint64_t outer = begin(session, "outer"), run = begin(session, "run");
	check_ok(epp_context_set(session, A, "vendor=1"));
	uint64_t node = begin(session, "node");
	uint64_t inner = begin(session, "inner");
	check_ok(epp_context_set(session, B, NULL));
	uint64_t innermost = begin(session, "innermost");
	end(session, innermost);
	end(session, inner);
	uint64_t next = begin(session, "next");
	end(session, next);
	end(session, node);
	end(session, run);
	uint64_t after = begin(session, "after");
	end(session, after);
	end(session, outer);
	recording_end(session);

	epp_trace *trace = recording_open(session);
	EXPECT(trace, { "before", "" }, { "outer", "" }, { "run", ID_A " own" }, { "node", ID_A },
	       { "inner", ID_B " own" }, { "innermost", ID_B }, { "next", ID_A }, { "after", "" });
	/* One trace id: its events, and no others. */
	const epp_timeline_options only = { .struct_size = sizeof(only), .trace_id = ID_B };
	const struct expected of_b[] = { { "inner", ID_B " own" }, { "innermost", ID_B } };
	expect_events(trace, &only, of_b, 2);
	epp_timeline *timeline;
	const epp_timeline_options unknown = { .struct_size = sizeof(unknown), .trace_id = ID_C };
	check_fails(EPP_NOT_FOUND, epp_timeline_create(trace, &unknown, &timeline));
	const epp_timeline_options invalid = { .struct_size = sizeof(invalid), .trace_id = ID_C "0" };
	check_fails(EPP_INVALID_ARGUMENT, epp_timeline_create(trace, &invalid, &timeline));
	/* Without the option nothing is read twice. */
	const struct expected plain[] = { { "before", "" }, { "outer", "" },     { "run", "" },  { "node", "" },
		                          { "inner", "" },  { "innermost", "" }, { "next", "" }, { "after", "" } };
	expect_events(trace, NULL, plain, 8);
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

START_TEST(a_time_range_behind_the_beginning_has_its_requests)
{
	epp_session *session = recording_start(NULL);
	uint64_t run = begin(session, "run");
	check_ok(epp_context_set(session, A, NULL));
	uint64_t first = begin(session, "first");
	end(session, first);
	uint64_t second = begin(session, "second");
	end(session, second);
	end(session, run);
	recording_end(session);

	epp_trace *trace = recording_open(session);
	epp_timeline *timeline;
	const epp_event *event;
	int64_t second_ns = 0;
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (epp_timeline_next(timeline, &event))
		second_ns = strcmp(event->name, "second") == 0 ? event->start_ns : second_ns;
	epp_timeline_destroy(timeline);
	const epp_timeline_options late = {
		.struct_size = sizeof(late), .from_ns = second_ns, .to_ns = INT64_MAX, .requests = 1
	};
	const struct expected expected[] = { { "run", ID_A " own" }, { "second", ID_A } };
	expect_events(trace, &late, expected, 2);
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

/* A killed program: the event that was given to the request has no end. */
START_TEST(an_open_event_has_its_requests)
{
	epp_session *session = recording_start(NULL);
	begin(session, "open");
	check_ok(epp_context_set(session, A, NULL));
	begin(session, "node");
	epp_trace *trace = recording_open(session);
	EXPECT(trace, { "open", ID_A " own" }, { "node", ID_A });
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

static epp_track device_of(epp_session *session)
{
	const epp_track_options options = {
		.struct_size = sizeof(options), .name = "stream", .group = "device", .device = 0, .clock_kind = EPP_CLOCK_HOST
	};
	epp_track track;

	check_ok(epp_track_create(session, &options, &track));
	return track;
}

struct batch {
	epp_session *session;
	uint64_t contexts[2];
};

static void *serve(void *argument)
{
	const struct batch *batch = argument;
	uint64_t step = begin(batch->session, "step");

	check_ok(epp_context_attach(batch->session, batch->contexts, 2));
	end(batch->session, begin(batch->session, "node"));
	end(batch->session, step);
	return NULL;
}

START_TEST(a_batch_on_another_thread_belongs_to_all)
{
	epp_session *session = recording_start(NULL);
	struct batch batch = { .session = session };

	check_ok(epp_context_begin(session, A, "vendor=1", &batch.contexts[0]));
	check_ok(epp_context_begin(session, B, NULL, &batch.contexts[1]));
	recording_on_thread(serve, &batch);
	epp_async_end(session, batch.contexts[0], &(epp_arg){ .key = epp_name_intern("tokens"), .type = EPP_ARG_I64 }, 1);
	/* The second one alone, twice in one call. */
	uint64_t step = begin(session, "last step");
	check_ok(epp_context_attach(session, (uint64_t[]){ batch.contexts[1], 0, batch.contexts[1] }, 3));
	end(session, step);
	epp_async_end(session, batch.contexts[1], NULL, 0);
	recording_end(session);

	epp_trace *trace = recording_open(session);
	EXPECT(trace, { "request", ID_A " own" }, { "request", ID_B " own" }, { "step", ID_A " " ID_B " own" },
	       { "node", ID_A " " ID_B }, { "last step", ID_B " own" });
	const epp_timeline_options only = { .struct_size = sizeof(only), .trace_id = ID_A };
	const struct expected of_a[] = { { "request", ID_A " own" },
		                         { "step", ID_A " " ID_B " own" },
		                         { "node", ID_A " " ID_B } };
	expect_events(trace, &only, of_a, 3);
	/* The requests of the trace. */
	epp_timeline *timeline;
	epp_request request = { .struct_size = sizeof(request) };
	check_ok(epp_timeline_create(trace, &only, &timeline));
	ck_assert(epp_timeline_request_at(timeline, NULL, 0, &request));
	ck_assert_str_eq(request.trace_id, ID_A);
	ck_assert_str_eq(request.parent_id, "b7ad6b7169203331");
	ck_assert_str_eq(request.tracestate, "vendor=1");
	ck_assert_uint_eq(request.id, batch.contexts[0]);
	ck_assert_uint_eq(request.trace_flags, 1);
	ck_assert_uint_eq(request.events_count, 1);
	ck_assert(epp_timeline_request_at(timeline, NULL, 1, &request));
	ck_assert_uint_eq(request.events_count, 2);
	ck_assert_int_le(request.begin_ns, request.first_ns);
	ck_assert_str_eq(request.tracestate, "");
	ck_assert(!epp_timeline_request_at(timeline, NULL, 2, &request));
	ck_assert_uint_eq(request.id, 0);
	epp_timeline_destroy(timeline);
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

/* Kernels: before and after the end of the node that launched them, of a device clock that is ahead, and of a kernel. */
START_TEST(kernels_have_the_requests_of_their_node)
{
	epp_session *session = recording_start(NULL);
	epp_track device = device_of(session);
	epp_name kernel = epp_name_intern("kernel"), early = epp_name_intern("early"), copy = epp_name_intern("copy");
	uint64_t start = epp_host_ticks();
	uint64_t run = begin(session, "run");
	check_ok(epp_context_set(session, A, NULL));
	uint64_t node = epp_event_begin(session, EPP_NODE, epp_name_intern("node"));
	epp_event_record(session, device, EPP_KERNEL, early, start - 100, start, node, NULL, 0);
	end(session, node);
	end(session, run);
	uint64_t now = epp_host_ticks();
	uint64_t first = epp_event_record(session, device, EPP_KERNEL, kernel, now + 100000, now + 200000, node, NULL, 0);
	epp_event_record(session, device, EPP_KERNEL, copy, now + 300000, now + 400000, first, NULL, 0);
	epp_event_record(session, device, EPP_KERNEL, epp_name_intern("alone"), now + 500000, now + 600000, 0, NULL, 0);
	recording_end(session);
	epp_trace *trace = recording_open(session);
	EXPECT(trace, { "early", ID_A }, { "run", ID_A " own" }, { "node", ID_A }, { "kernel", ID_A }, { "copy", ID_A },
	       { "alone", "" });
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

struct part {
	epp_session *session;
	epp_track device;
	uint64_t of;
	bool has_requests;
};

/* A part of an event's work on another thread, with a kernel; then an event that belongs to nothing. */
static void *do_part(void *argument)
{
	const struct part *part = argument;
	uint64_t id = begin(part->session, "part");

	check_ok(epp_context_inherit(part->session, 0));
	check_ok(epp_context_inherit(part->session, part->of));
	uint64_t inner = begin(part->session, "inner");
	uint64_t now = epp_host_ticks();
	epp_event_record(part->session, part->device, EPP_KERNEL, epp_name_intern("kernel"), now, now + 1, inner, NULL, 0);
	end(part->session, inner);
	end(part->session, id);
	end(part->session, begin(part->session, "other"));
	if (part->has_requests)
		check_fails(EPP_WRONG_STATE, epp_context_inherit(part->session, part->of));
	return NULL;
}

/* The part has what the event has itself, or from its parent; of an event without a request it has nothing. */
START_TEST(a_part_on_another_thread_has_the_requests_of_the_event)
{
	epp_session *session = recording_start(NULL);
	struct part part = { .session = session, .device = device_of(session), .has_requests = _i < 2 };
	uint64_t step = begin(session, "step");

	if (_i < 2)
		check_ok(epp_context_set(session, A, NULL));
	if (_i == 0)
		check_ok(epp_context_set(session, B, NULL));
	part.of = _i == 1 ? begin(session, "run") : step;
	recording_on_thread(do_part, &part);
	if (_i == 1)
		end(session, part.of);
	end(session, step);
	recording_end(session);
	epp_trace *trace = recording_open(session);
	if (_i == 0)
		EXPECT(trace, { "step", ID_A " " ID_B " own" }, { "part", ID_A " " ID_B }, { "inner", ID_A " " ID_B },
		       { "kernel", ID_A " " ID_B }, { "other", "" });
	else if (_i == 1)
		EXPECT(trace, { "step", ID_A " own" }, { "run", ID_A }, { "part", ID_A }, { "inner", ID_A },
		       { "kernel", ID_A }, { "other", "" });
	else
		EXPECT(trace, { "step", "" }, { "part", "" }, { "inner", "" }, { "kernel", "" }, { "other", "" });
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

/* More requests than one record holds, in calls that add up. */
START_TEST(a_large_batch)
{
	enum { REQUESTS = 300 };
	epp_session *session = recording_start(NULL);
	uint64_t contexts[REQUESTS];
	char parent[64];

	for (unsigned i = 0; i < REQUESTS; i++) {
		snprintf(parent, sizeof(parent), "00-%032x-%016x-00", i + 1, i + 1);
		check_ok(epp_context_begin(session, parent, NULL, &contexts[i]));
	}
	uint64_t step = begin(session, "step");
	check_ok(epp_context_attach(session, contexts, REQUESTS - 1));
	check_ok(epp_context_attach(session, contexts + REQUESTS - 1, 1));
	end(session, step);
	recording_end(session);
	epp_trace *trace = recording_open(session);
	epp_timeline *timeline;
	const epp_event *event;
	unsigned steps = 0;
	check_ok(epp_timeline_create(
	    trace, &(epp_timeline_options){ .struct_size = sizeof(epp_timeline_options), .requests = 1 }, &timeline));
	while (epp_timeline_next(timeline, &event)) {
		epp_request request = { .struct_size = sizeof(request) };
		if (strcmp(event->name, "step") != 0)
			continue;
		steps++;
		for (unsigned i = 0; i < REQUESTS; i++) {
			ck_assert(epp_timeline_request_at(timeline, event, i, &request));
			ck_assert_uint_eq(request.id, contexts[i]);
		}
		ck_assert(!epp_timeline_request_at(timeline, event, REQUESTS, &request));
	}
	ck_assert_uint_eq(steps, 1);
	epp_timeline_destroy(timeline);
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

/* An instant that only looks like one of the library's. */
START_TEST(forged_instants_are_ignored)
{
	epp_session *session = recording_start(NULL);
	epp_name set = epp_name_intern("epprof.context"), def = epp_name_intern("epprof.request");
	epp_name context = epp_name_intern("context"), parent = epp_name_intern("traceparent");
	const epp_arg wrong[] = {
		{ .key = context, .type = EPP_ARG_U64, .value.u64 = 12345 },
		{ .key = context, .type = EPP_ARG_I64, .value.i64 = 1 },
		{ .key = parent, .type = EPP_ARG_TEXT, .value.text = A "\0", .text_bytes = sizeof(A) },
		{ .key = parent, .type = EPP_ARG_TEXT, .value.text = "00-x", .text_bytes = 4 },
		{ .key = parent, .type = EPP_ARG_U64, .value.u64 = 1 },
	};
	uint64_t event = begin(session, "event");
	epp_instant_record(session, EPP_SESSION, set, wrong, sizeof(wrong) / sizeof(*wrong));
	epp_instant_record(session, EPP_SESSION, def, wrong, sizeof(wrong) / sizeof(*wrong));
	epp_instant_record(session, EPP_SESSION, def, NULL, 0);
	end(session, event);
	epp_instant_record(session, EPP_SESSION, set,
	                   &(epp_arg){ .key = parent, .type = EPP_ARG_TEXT, .value.text = A, .text_bytes = sizeof(A) - 1 },
	                   1);
	recording_end(session);
	epp_trace *trace = recording_open(session);
	EXPECT(trace, { "event", "" });
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

/* One event serves requests one after the other: their set is stored once, not once for each. */
START_TEST(many_requests_of_one_event)
{
	enum { REQUESTS = 20000 };
	epp_session *session = recording_start(NULL);
	uint64_t event = begin(session, "server");
	for (unsigned i = 0; i < REQUESTS; i++) {
		char text[64];
		snprintf(text, sizeof(text), "00-%032x-b7ad6b7169203331-01", i + 1);
		check_ok(epp_context_set(session, text, NULL));
		/* A chunk of records must not be full before the helper has emptied others. */
		if (i % 1000 == 0)
			recording_sleep_ms(1);
	}
	end(session, event);
	recording_end(session);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_NO_BUFFER), 0);
	epp_trace *trace = recording_open(session);
	epp_timeline_options options = { .struct_size = sizeof(options), .requests = 1 };
	epp_request request = { .struct_size = sizeof(request) };
	epp_timeline *timeline;
	const epp_event *found = NULL;
	check_ok(epp_timeline_create(trace, &options, &timeline));
	ck_assert(epp_timeline_next(timeline, &found) && strcmp(found->name, "server") == 0);
	ck_assert_int_eq(epp_timeline_request_at(timeline, found, REQUESTS - 1, &request), 1);
	ck_assert_int_eq(epp_timeline_request_at(timeline, found, REQUESTS, &request), 0);
	epp_timeline_destroy(timeline);
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

/* An event may be left out when it ends, by the name that it then has: the event around it does not get its request. */
START_TEST(an_event_that_is_left_out_at_its_end)
{
	epp_session_options options = { .struct_size = sizeof(options), .exclude = "left out" };
	epp_session *session;
	uint64_t context;
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_start(session));
	uint64_t outer = begin(session, "outer"), inner = begin(session, "");
	check_ok(epp_context_set(session, A, NULL));
	uint64_t child = begin(session, "child");
	end(session, child);
	epp_event_end_named(session, inner, EPP_SESSION, epp_name_intern("left out"), NULL, 0);
	end(session, outer);
	/* It has no id; a filter is no reason for an error. */
	ck_assert_uint_eq(begin(session, "left out"), 0);
	check_ok(epp_context_set(session, A, NULL));
	check_ok(epp_context_begin(session, B, NULL, &context));
	check_ok(epp_context_attach(session, &context, 1));
	epp_async_end(session, context, NULL, 0);
	recording_end(session);
	epp_trace *trace = recording_open(session);
	EXPECT(trace, { "outer", "" }, { "child", "" }, { "request", ID_B " own" });
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

START_TEST(sql_has_the_trace_id)
{
	epp_session *session = recording_start(NULL);
	struct batch batch = { .session = session };

	check_ok(epp_context_begin(session, A, NULL, &batch.contexts[0]));
	check_ok(epp_context_begin(session, B, NULL, &batch.contexts[1]));
	recording_on_thread(serve, &batch);
	end(session, begin(session, "alone"));
	recording_end(session);
	epp_trace *trace = recording_open(session);
	epp_sql *sql;
	check_ok(epp_sql_create(trace, &sql));
	sql_text_expect(sql, "SELECT name, trace_id FROM timeline WHERE kind != 'instant'",
	                "request|" ID_A "\nrequest|" ID_B "\nstep|" ID_A " " ID_B "\nnode|" ID_A " " ID_B "\nalone|\n");
	/* A join reads the events from memory. */
	sql_text_expect(sql,
	                "SELECT b.name, b.trace_id FROM timeline a JOIN timeline b ON b.parent = a.id"
	                " WHERE a.name = 'step' AND b.kind = 'slice'",
	                "node|" ID_A " " ID_B "\n");
	epp_sql_destroy(sql);
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

/* Bytes that this process has read so far. */
static unsigned long long bytes_read(void)
{
	unsigned long long bytes = 0;
	FILE *file = fopen("/proc/self/io", "r");

	MUST(file && fscanf(file, "rchar: %llu", &bytes) == 1);
	fclose(file);
	return bytes;
}

static unsigned long long export_reads(epp_trace *trace, const char *format, const epp_export_options *options)
{
	unsigned long long before = bytes_read();
	struct export_text text;

	export_text_make(&text, trace, format, options);
	export_text_free(&text);
	return bytes_read() - before;
}

/* A report whose timeline shows a part takes two passes, OTLP takes one; before both, requests are read once. */
START_TEST(an_export_of_two_passes_reads_requests_once)
{
	const epp_export_options part = { .struct_size = sizeof(part), .events_max = 10 };
	char *path = check_path("requests.epp");
	epp_session *session = recording_start(path);
	uint64_t run = begin(session, "run");
	epp_trace *trace;

	check_ok(epp_context_set(session, A, NULL));
	for (int i = 0; i < 200000; i++)
		end(session, begin(session, "node"));
	end(session, run);
	recording_end(session);
	check_ok(epp_trace_open(path, &trace));
	unsigned long long once = export_reads(trace, "otlp", NULL), twice = export_reads(trace, "html", &part);
	/* Two readings of the trace, and three. */
	ck_assert_msg(once * 5 / 4 < twice && twice < once * 7 / 4, "%llu bytes read, %llu in one pass", twice, once);
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

static Suite *context_suite(void)
{
	Suite *suite = suite_create("context");
	TCase *tests = tcase_create("context");

	tcase_add_test(tests, the_grammar_is_checked);
	tcase_add_test(tests, events_inside_belong_to_the_innermost);
	tcase_add_test(tests, a_time_range_behind_the_beginning_has_its_requests);
	tcase_add_test(tests, an_open_event_has_its_requests);
	tcase_add_test(tests, a_batch_on_another_thread_belongs_to_all);
	tcase_add_test(tests, kernels_have_the_requests_of_their_node);
	tcase_add_loop_test(tests, a_part_on_another_thread_has_the_requests_of_the_event, 0, 3);
	tcase_add_test(tests, a_large_batch);
	tcase_add_test(tests, forged_instants_are_ignored);
	tcase_add_test(tests, many_requests_of_one_event);
	tcase_add_test(tests, an_event_that_is_left_out_at_its_end);
	tcase_add_test(tests, sql_has_the_trace_id);
	tcase_add_test(tests, an_export_of_two_passes_reads_requests_once);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(context_suite)

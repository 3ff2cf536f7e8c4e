/* epprof/epprof.hpp without exceptions: what is recorded, and statuses. */
#include <thread>

#include "epprof/epprof.hpp"
#include "tests/api/recorded_events.hpp"

static_assert(!std::is_copy_constructible_v<epprof::session> && !std::is_copy_assignable_v<epprof::session>);
static_assert(!std::is_copy_constructible_v<epprof::event> && !std::is_copy_assignable_v<epprof::event>);
static_assert(!std::is_copy_constructible_v<epprof::status> && std::is_nothrow_move_constructible_v<epprof::status>);
static_assert(std::is_nothrow_move_constructible_v<epprof::session> && std::is_nothrow_move_assignable_v<epprof::event>);
static_assert(sizeof(epprof::session) == sizeof(epp_session *) && sizeof(epprof::status) == sizeof(epp_status *));

static void must_succeed(const epprof::status &status)
{
	ck_assert_msg(status.ok(), "%s", status.message());
}

static epprof::session start()
{
	auto created = epprof::session::create(epprof::session_options());
	must_succeed(created);
	must_succeed(created->start());
	return std::move(*created);
}

static std::vector<recorded_event> end(epprof::session &session)
{
	must_succeed(session.end());
	must_succeed(session.wait());
	return recorded_events(session);
}

static int leave_early(epp_session *session, int value)
{
	epprof::event outer(session, EPP_SESSION, EPPROF_NAME("outer"));
	epprof::event inner(session, EPP_NODE, EPPROF_NAME("inner"));
	if (value > 1)
		return value;
	inner.end();
	return 0;
}

/* The inner object is destroyed first, so that its event is inside the outer one and neither is unended. */
START_TEST(events_end_when_their_scope_is_left)
{
	epprof::session session = start();
	ck_assert_int_eq(leave_early(session, 2), 2);
	const auto events = end(session);
	ck_assert_uint_eq(events.size(), 2);
	ck_assert_str_eq(events[0].name.c_str(), "outer");
	ck_assert_str_eq(events[1].name.c_str(), "inner");
	ck_assert_int_eq(events[0].category, EPP_SESSION);
	ck_assert_int_eq(events[1].category, EPP_NODE);
	ck_assert_uint_eq(events[1].parent, events[0].id);
	ck_assert_int_le(events[0].start_ns, events[1].start_ns);
	ck_assert_int_ge(events[0].start_ns + events[0].duration_ns, events[1].start_ns + events[1].duration_ns);
	ck_assert_uint_eq((events[0].flags | events[1].flags) & (EPP_FLAG_UNENDED | EPP_FLAG_OPEN), 0);
}
END_TEST

START_TEST(an_event_ends_once)
{
	epprof::session session = start();
	{
		epprof::event event(session, EPP_NODE, EPPROF_NAME("once"));
		ck_assert(event && event.id());
		event.end({ epprof::arg("first", 1) });
		ck_assert(!event && !event.id());
		event.end({ epprof::arg("second", 2) });
	}
	const auto events = end(session);
	ck_assert_uint_eq(events.size(), 1);
	ck_assert_str_eq(events[0].args.c_str(), "first=1i");
}
END_TEST

START_TEST(args_of_each_type)
{
	epprof::session session = start();
	const std::string text = "of a string";
	epprof::event event(session, EPP_NODE, EPPROF_NAME("args"));
	event.end({ epprof::arg("i8", static_cast<int8_t>(-8)), epprof::arg("i64", INT64_MIN),
	            epprof::arg("u16", uint16_t(16)), epprof::arg("u64", UINT64_MAX), epprof::arg("yes", true),
	            epprof::arg("float", 1.5f), epprof::arg("double", -0.25), epprof::arg("literal", "a \"quote\""),
	            epprof::arg("string", text), epprof::arg("view", std::string_view(text).substr(3, 1)),
	            epprof::arg("none", std::string_view()) });
	const auto events = end(session);
	ck_assert_str_eq(events.at(0).args.c_str(),
	                 "i8=-8i i64=-9223372036854775808i u16=16u u64=18446744073709551615u yes=1u float=1.500000f "
	                 "double=-0.250000f literal='a \"quote\"' string='of a string' view='a' none=''");
}
END_TEST

START_TEST(interned_args)
{
	epprof::session session = start();
	const epp_name common = epprof::intern_args({ epprof::arg("op", "Conv"), epprof::arg("width", 64) });
	ck_assert_uint_ne(common, 0);
	epprof::event event(session, EPP_NODE, EPPROF_NAME("conv"));
	event.end({ epprof::arg("row", 17), EPP_ARGS_OF(common) });
	const auto events = end(session);
	ck_assert_str_eq(events.at(0).args.c_str(), "row=17i op='Conv' width=64i");
}
END_TEST

/* A view into a longer text, a quote, a zero, and no text at all. */
START_TEST(names_need_no_end)
{
	static const char bytes[] = { 'a', '"', 'b', '\\', 'c', 'd' };
	epprof::session session = start();
	ck_assert_uint_eq(epprof::intern(std::string_view(bytes, 5)), epp_name_intern("a\"b\\c"));
	ck_assert_uint_ne(EPPROF_NAME("zero\0inside"), EPPROF_NAME("zero"));
	ck_assert_uint_ne(epprof::intern(std::string_view()), 0);
	ck_assert_uint_eq(epprof::intern(std::string_view()), epp_name_intern(""));
	epprof::event(session, EPP_NODE, std::string_view(bytes, 3)).end();
	epprof::event(session, EPP_NODE, EPPROF_NAME("zero\0inside")).end();
	epprof::event(session, EPP_NODE, std::string(1000, 'n')).end();
	const auto events = end(session);
	ck_assert_uint_eq(events.size(), 3);
	ck_assert(events[0].name == "a\"b");
	ck_assert(events[1].name == std::string("zero\0inside", 11));
	ck_assert(events[2].name == std::string(1000, 'n'));
}
END_TEST

static epp_name name_at_one_place()
{
	return EPPROF_NAME("at one place");
}

START_TEST(a_place_has_one_name)
{
	ck_assert_uint_eq(name_at_one_place(), name_at_one_place());
	ck_assert_uint_eq(name_at_one_place(), epp_name_intern("at one place"));
}
END_TEST

START_TEST(a_moved_session_records)
{
	epprof::session first = start();
	epp_session *const handle = first.get();
	epprof::session second(std::move(first));
	ck_assert_ptr_eq(second.get(), handle);
	ck_assert_ptr_null(first.get()); // NOLINT(bugprone-use-after-move)
	epprof::session third;
	third = std::move(second);
	epprof::event(third, EPP_NODE, EPPROF_NAME("moved")).end();
	const auto events = end(third);
	ck_assert_uint_eq(events.size(), 1);
	ck_assert_ptr_eq(third.release(), handle);
	ck_assert_ptr_null(third.get());
	epp_session_destroy(handle);
}
END_TEST

/* An assignment ends the event of the object, and the moved one ends with its new owner. */
START_TEST(a_moved_event_ends_once)
{
	epprof::session session = start();
	epprof::event kept;
	{
		epprof::event first(session, EPP_NODE, EPPROF_NAME("outer"));
		kept = std::move(first);
		ck_assert(kept && !first); // NOLINT(bugprone-use-after-move)
	}
	epprof::event inner(session, EPP_NODE, EPPROF_NAME("inner"));
	inner.end();
	ck_assert(kept);
	kept = epprof::event(session, EPP_NODE, EPPROF_NAME("inside until the assignment"));
	kept.end();
	const auto events = end(session);
	ck_assert_uint_eq(events.size(), 3);
	ck_assert_str_eq(events[1].name.c_str(), "inner");
	ck_assert_uint_eq(events[1].parent, events[0].id);
}
END_TEST

START_TEST(two_threads)
{
	const int count = 200;
	epprof::session session = start();
	const auto work = [&](std::string_view name) {
		for (int i = 0; i < count; i++) {
			epprof::event outer(session, EPP_NODE, name);
			epprof::event inner(session, EPP_API, EPPROF_NAME("shared place"));
			inner.end({ epprof::arg(EPPROF_NAME("i"), i) });
		}
	};
	epprof::async_event transfer(session, EPP_API, EPPROF_NAME("transfer"));
	const uint64_t transfer_id = transfer.id();
	std::thread other([&, moved = std::move(transfer)]() mutable {
		work("other");
		moved.end({ epprof::arg("by", "other") });
	});
	work("this");
	other.join();
	int of_this = 0, of_other = 0, shared = 0, async = 0;
	for (const recorded_event &event : end(session)) {
		of_this += event.name == "this";
		of_other += event.name == "other";
		shared += event.name == "shared place" && event.depth == 1;
		async += event.kind == EPP_EVENT_ASYNC && event.id == transfer_id && event.args == "by='other'";
	}
	ck_assert_int_eq(of_this, count);
	ck_assert_int_eq(of_other, count);
	ck_assert_int_eq(shared, 2 * count);
	ck_assert_int_eq(async, 1);
}
END_TEST

START_TEST(instants_counters_and_flows)
{
	epprof::session session = start();
	epprof::event launch(session, EPP_NODE, EPPROF_NAME("launch"));
	const uint64_t from = launch.id();
	launch.end();
	epprof::event wait(session, EPP_API, EPPROF_NAME("wait"));
	const uint64_t to = wait.id();
	epprof::record_flow(session, from, to);
	wait.end();
	epprof::record_instant(session, EPP_API, EPPROF_NAME("retry"), { epprof::arg("times", 2u) });
	epprof::record_instant(session, EPP_API, std::string_view("retry, later").substr(0, 5));
	epprof::record_counter(session, EPPROF_NAME("depth"), 12);
	epprof::record_counter(session, "load", 0.5f);
	std::string counters;
	int flows = 0, instants = 0;
	for (const recorded_event &event : end(session)) {
		flows += event.kind == EPP_EVENT_FLOW && event.parent == from && event.id == to;
		instants += event.kind == EPP_EVENT_INSTANT && event.name == "retry";
		if (event.kind == EPP_EVENT_COUNTER)
			counters += event.name + ":" + event.args.substr(event.args.find('=')) + " ";
	}
	ck_assert_int_eq(flows, 1);
	ck_assert_int_eq(instants, 2);
	ck_assert_str_eq(counters.c_str(), "depth:=12i load:=0.500000f ");
}
END_TEST

START_TEST(tracks)
{
	epprof::session session = start();
	epprof::track_options options;
	ck_assert_int_eq(options.device, -1);
	options.name = "track";
	auto track = epprof::create_track(session, options);
	must_succeed(track);
	const uint64_t now = epp_host_ticks();
	ck_assert_uint_ne(epprof::record_event(session, *track, EPP_NODE, EPPROF_NAME("timed"), now, now + 10, 0,
	                                       { epprof::arg("k", 1) }),
	                  0);
	options.struct_size = 1;
	ck_assert_int_eq(epprof::create_track(session, options).code(), EPP_INVALID_ARGUMENT);
	const auto events = end(session);
	ck_assert_uint_eq(events.size(), 1);
	ck_assert_str_eq(events[0].name.c_str(), "timed");
	ck_assert_str_eq(events[0].args.c_str(), "k=1i");
}
END_TEST

START_TEST(a_failure_is_a_status)
{
	const std::string path = check_path("no such folder/trace.epp");
	auto created = epprof::session::create(epprof::session_options(path.c_str()));
	ck_assert(!created.ok());
	ck_assert_int_eq(created.code(), EPP_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(created.message(), "trace.epp"));
	ck_assert_ptr_null(created->get());
	epprof::status moved = std::move(created);
	ck_assert(!moved.ok() && created.ok()); // NOLINT(bugprone-use-after-move)
	epp_status *released = moved.release();
	ck_assert_int_eq(epp_status_code(released), EPP_NOT_FOUND);
	ck_assert(moved.ok() && moved.code() == EPP_OK);
	epp_status_destroy(released);
}
END_TEST

START_TEST(calls_in_the_wrong_state_fail)
{
	epprof::session session = start();
	ck_assert_int_eq(session.start().code(), EPP_WRONG_STATE);
	ck_assert_int_eq(session.wait().code(), EPP_WRONG_STATE);
	ck_assert_int_eq(session.attach(nullptr).code(), EPP_INVALID_ARGUMENT);
	ck_assert_uint_eq(session.lost(EPP_LOSS_TOO_DEEP), 0);
	std::vector<epprof::event> open;
	for (int i = 0; i < 65; i++)
		open.emplace_back(session, EPP_NODE, EPPROF_NAME("deep"));
	ck_assert(open[63] && !open[64]);
	ck_assert_uint_eq(session.lost(EPP_LOSS_TOO_DEEP), 1);
}
END_TEST

START_TEST(a_shared_session_ends_with_the_last_share)
{
	const std::string path = check_path("shared.epp");
	const epprof::session_options options(path.c_str());
	auto first = epprof::session::share(options);
	must_succeed(first);
	{
		auto second = epprof::session::share(options);
		must_succeed(second);
		ck_assert_ptr_eq(first->get(), second->get());
	}
	epprof::event event(*first, EPP_NODE, EPPROF_NAME("shared"));
	ck_assert(event);
}
END_TEST

/* Nothing records: no event, no name, and an object without a session is the default session. */
START_TEST(without_a_session_nothing_is_recorded)
{
	unsetenv("EPPROF_OUTPUT");
	auto none = epprof::session::share_output();
	must_succeed(none);
	ck_assert_ptr_null(none->get());
	epprof::event event(*none, EPP_NODE, "not interned");
	ck_assert(!event && !event.id());
	event.end({ epprof::arg(EPPROF_NAME("k"), 1) });
	epprof::record_instant(nullptr, EPP_NODE, "not interned");
	epprof::record_counter(nullptr, "not interned", 1);
	const epp_name next = epp_name_intern("the next name");
	ck_assert_uint_eq(epp_name_intern("not interned"), next + 1);
}
END_TEST

static Suite *cpp_suite(void)
{
	Suite *suite = suite_create("cpp");
	TCase *tcase = tcase_create("cpp");
	tcase_add_test(tcase, events_end_when_their_scope_is_left);
	tcase_add_test(tcase, an_event_ends_once);
	tcase_add_test(tcase, args_of_each_type);
	tcase_add_test(tcase, interned_args);
	tcase_add_test(tcase, names_need_no_end);
	tcase_add_test(tcase, a_place_has_one_name);
	tcase_add_test(tcase, a_moved_session_records);
	tcase_add_test(tcase, a_moved_event_ends_once);
	tcase_add_test(tcase, two_threads);
	tcase_add_test(tcase, instants_counters_and_flows);
	tcase_add_test(tcase, tracks);
	tcase_add_test(tcase, a_failure_is_a_status);
	tcase_add_test(tcase, calls_in_the_wrong_state_fail);
	tcase_add_test(tcase, a_shared_session_ends_with_the_last_share);
	tcase_add_test(tcase, without_a_session_nothing_is_recorded);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(cpp_suite)

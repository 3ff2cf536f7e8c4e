/* epprof/epprof.hpp with EPPROF_EXCEPTIONS: events end when an exception leaves their scope, and failures throw. */
#define EPPROF_EXCEPTIONS
#include "epprof/epprof.hpp"

#include <stdexcept>

#include "tests/api/recorded_events.hpp"

static_assert(std::is_same_v<decltype(std::declval<epprof::session>().start()), void>);
static_assert(std::is_base_of_v<std::exception, epprof::error> && std::is_nothrow_copy_constructible_v<epprof::error>);

static void thrower(epp_session *session)
{
	epprof::event inner(session, EPP_NODE, EPPROF_NAME("inner"));
	throw std::runtime_error("work failed");
}

START_TEST(events_end_when_an_exception_leaves_them)
{
	epprof::session session = epprof::session::create(epprof::session_options());
	session.start();
	epprof::event outer(session, EPP_SESSION, EPPROF_NAME("outer"));
	bool is_caught = false;
	try {
		epprof::event middle(session, EPP_NODE, EPPROF_NAME("middle"));
		thrower(session);
	} catch (const std::runtime_error &) {
		is_caught = true;
	}
	ck_assert(is_caught);
	epprof::event(session, EPP_NODE, EPPROF_NAME("after")).end();
	outer.end();
	session.end();
	session.wait();
	const auto events = recorded_events(session);
	ck_assert_uint_eq(events.size(), 4);
	static const char *const names[] = { "outer", "middle", "inner", "after" };
	static const uint32_t depths[] = { 0, 1, 2, 1 };
	for (size_t i = 0; i < 4; i++) {
		ck_assert_str_eq(events[i].name.c_str(), names[i]);
		ck_assert_uint_eq(events[i].depth, depths[i]);
		ck_assert_uint_eq(events[i].flags & (EPP_FLAG_UNENDED | EPP_FLAG_OPEN), 0);
	}
}
END_TEST

START_TEST(a_failure_throws)
{
	const std::string path = check_path("no such folder/trace.epp");
	bool is_caught = false;
	try {
		epprof::session::create(epprof::session_options(path.c_str()));
	} catch (const epprof::error &error) {
		const epprof::error copy = error;
		ck_assert_int_eq(copy.code(), EPP_NOT_FOUND);
		ck_assert_str_eq(copy.what(), error.what());
		ck_assert_ptr_nonnull(strstr(copy.what(), "trace.epp"));
		is_caught = true;
	}
	ck_assert(is_caught);
}
END_TEST

START_TEST(each_call_throws)
{
	epprof::session session = epprof::session::create(epprof::session_options());
	epprof::track_options options;
	options.struct_size = 1;
	session.start();
	int caught = 0;
	const auto throws = [&](epp_code code, auto call) {
		try {
			call();
		} catch (const epprof::error &error) {
			caught += error.code() == code;
		}
	};
	throws(EPP_WRONG_STATE, [&] { session.start(); });
	throws(EPP_WRONG_STATE, [&] { session.wait(); });
	throws(EPP_INVALID_ARGUMENT, [&] { session.attach(nullptr); });
	throws(EPP_INVALID_ARGUMENT, [&] { epprof::create_track(session, options); });
	throws(EPP_INVALID_ARGUMENT, [&] { epprof::session::share(epprof::session_options()); });
	ck_assert_int_eq(caught, 5);
	options.struct_size = sizeof(epp_track_options);
	ck_assert_uint_ne(epprof::create_track(session, options), 0);
}
END_TEST

static Suite *cpp_exceptions_suite(void)
{
	Suite *suite = suite_create("cpp_exceptions");
	TCase *tcase = tcase_create("cpp_exceptions");
	tcase_add_test(tcase, events_end_when_an_exception_leaves_them);
	tcase_add_test(tcase, a_failure_throws);
	tcase_add_test(tcase, each_call_throws);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(cpp_exceptions_suite)

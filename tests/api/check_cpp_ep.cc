/* epprof/ep.hpp: a profiler of the kit in a session. */
#include "epprof/ep.hpp"
#include "epprof/epprof.hpp"
#include "tests/api/recorded_events.hpp"

namespace ep = epprof::ep;

static_assert(!std::is_copy_constructible_v<ep::profiler> && !std::is_copy_constructible_v<ep::wait>);
static_assert(noexcept(std::declval<ep::profiler>().emit(std::declval<epp_ep_event>(), {})));

static int alive;

struct Profiler : ep::profiler {
	explicit Profiler(int value) noexcept : number(value)
	{
		alive++;
	}
	~Profiler()
	{
		alive--;
	}
	int number;
};

static ep::options options()
{
	ep::options made(epp_ort_api_base(), "EP", epp_host_ticks_per_second());
	made.now_ticks = [](void *) { return epp_host_ticks(); };
	return made;
}

static epprof::session start(Profiler *profiler)
{
	auto session = epprof::session::create(epprof::session_options());
	check_ok(session.release());
	check_ok(session->attach(&profiler->impl, "EP").release());
	check_ok(session->start().release());
	return std::move(*session);
}

START_TEST(what_a_profiler_emits)
{
	Profiler *profiler;
	ck_assert_ptr_null(ep::create(options(), profiler, 17));
	ck_assert_int_eq(profiler->number, 17);
	profiler->set_device_name(0, "Card");
	profiler->set_stream_name(0, 1, "copies");
	epprof::session session = start(profiler);
	ck_assert_uint_eq(profiler->current(), 0);

	epprof::event launch(session, EPP_NODE, EPPROF_NAME("launch"));
	const uint64_t launch_id = launch.id();
	const uint64_t begin = profiler->host_ticks();
	ep::event copy("copy \"in\"", begin, begin + 1000);
	copy.parent = profiler->current();
	copy.stream = 1;
	ck_assert_uint_ne(copy.parent, 0);
	const std::string text = "text";
	profiler->emit(copy, { ep::arg("i", -1), ep::arg("u", 2u), ep::arg("f", 0.5), ep::arg("s", text),
	                       ep::arg("c", "literal"), ep::arg("yes", true) });
	profiler->emit(ep::event("second", begin + 1000, begin + 2000));
	profiler->record_counter(0, "signed", -5);
	profiler->record_counter(0, "unsigned", UINT64_MAX);
	profiler->record_counter(0, "float", 2.5f);
	{
		ep::wait wait(*profiler, copy.parent);
	}
	launch.end();
	const EpprofLedger ledger = profiler->ledger();
	ck_assert_uint_eq(ledger.emitted, 2);
	check_ok(session.end().release());
	check_ok(session.wait().release());

	int copies = 0, seconds = 0, waits = 0, arrows = 0;
	std::string counters;
	for (const recorded_event &event : recorded_events(session)) {
		copies += event.name == "copy \"in\"" && event.category == EPP_KERNEL && event.parent == launch_id &&
		          event.args == "i=-1i u=2u f=0.500000f s='text' c='literal' yes=1u";
		seconds += event.name == "second" && event.args.empty();
		waits += event.kind == EPP_EVENT_SLICE && event.category == EPP_API && event.parent == launch_id;
		arrows += event.kind == EPP_EVENT_FLOW && event.parent == launch_id;
		if (event.kind == EPP_EVENT_COUNTER)
			counters += event.args.substr(event.args.find('=') + 1) + " ";
	}
	ck_assert_int_eq(copies, 1);
	ck_assert_int_eq(seconds, 1);
	ck_assert_int_eq(waits, 1);
	ck_assert_int_eq(arrows, 1);
	ck_assert_str_eq(counters.c_str(), "-5i 18446744073709551615u 2.500000f ");

	ck_assert_int_eq(alive, 1);
	session = epprof::session();
	ck_assert_int_eq(alive, 0);
}
END_TEST

START_TEST(a_failure_leaves_no_profiler)
{
	const OrtApiBase *base = epp_ort_api_base();
	ep::options wrong = options();
	wrong.ticks_per_second = 0;
	Profiler *profiler;
	OrtStatus *status = ep::create(wrong, profiler, 1);
	ck_assert_ptr_nonnull(status);
	base->GetApi(1)->ReleaseStatus(status);
	ck_assert_ptr_null(profiler);
	wrong.ort_api_base = nullptr;
	ck_assert_ptr_null(ep::create(wrong, profiler, 1));
	ck_assert_ptr_null(profiler);
	ck_assert_int_eq(alive, 0);
}
END_TEST

/* Its operator new has no memory. */
struct Large : Profiler {
	Large() noexcept : Profiler(0)
	{
	}
	static void *operator new(size_t, const std::nothrow_t &) noexcept
	{
		return nullptr;
	}
	static void operator delete(void *) noexcept
	{
	}
};

START_TEST(no_memory_is_a_status)
{
	const OrtApi *api = epp_ort_api_base()->GetApi(1);
	Large *profiler;
	OrtStatus *status = ep::create(options(), profiler);
	ck_assert_ptr_nonnull(status);
	ck_assert_str_eq(api->GetErrorMessage(status), "out of memory");
	api->ReleaseStatus(status);
	ck_assert_ptr_null(profiler);
	ck_assert_int_eq(alive, 0);
}
END_TEST

static Suite *cpp_ep_suite(void)
{
	Suite *suite = suite_create("cpp_ep");
	TCase *tcase = tcase_create("cpp_ep");
	tcase_add_test(tcase, what_a_profiler_emits);
	tcase_add_test(tcase, a_failure_leaves_no_profiler);
	tcase_add_test(tcase, no_memory_is_a_status);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(cpp_ep_suite)

// Uses all of epprof.hpp and ep.hpp, so that every template is compiled: tests/api/check_cpp_compilers compiles this file with
// and without EPPROF_EXCEPTIONS, as the function USE in one program; USE_EP compiles the part that needs the kit.
#include <string>

#include "epprof/ep.hpp"
#include "epprof/epprof.hpp"

int USE();

int USE()
{
	const std::string text = "view of a string";
	const epprof::session_options options;
#ifdef EPPROF_EXCEPTIONS
	epprof::session session = epprof::session::create(options);
	session.start();
#else
	auto created = epprof::session::create(options);
	if (!created.ok() || !created->start().ok())
		return 1;
	epprof::session session = std::move(*created);
#endif
	epprof::event event(session, EPP_NODE, std::string_view(text).substr(0, 4));
	epprof::async_event transfer(session, EPP_API, EPPROF_NAME("transfer"));
	epprof::record_instant(session, EPP_API, "instant", { epprof::arg("none", nullptr == session.get()) });
	epprof::record_counter(session, "counter", 1u);
	epprof::record_counter(session, "counter", 1.0f);
	epprof::record_flow(session, event.id(), transfer.id());
	const uint64_t id = event.id();
	transfer.end({ epprof::arg("i", 'i'), epprof::arg("l", 1L), epprof::arg("u", 1ULL), epprof::arg("f", 1.0L),
	               epprof::arg("s", text), epprof::arg("c", text.c_str()) });
	event.end({ EPP_ARGS_OF(epprof::intern_args({ epprof::arg("a", 1) })) });
	epprof::track_options row;
	row.name = "row";
#ifdef EPPROF_EXCEPTIONS
	const epp_track track = epprof::create_track(session, row);
	session.end();
	session.wait();
#else
	const epp_track track = *epprof::create_track(session, row);
	if (!session.end().ok() || !session.wait().ok())
		return 2;
#endif
	return id != 0 && track != 0 ? 0 : 3;
}

#ifdef USE_EP
struct Profiler : epprof::ep::profiler {
};

OrtStatus *use_ep(const OrtApiBase *base, OrtEpProfilerImpl **impl);

OrtStatus *use_ep(const OrtApiBase *base, OrtEpProfilerImpl **impl)
{
	Profiler *profiler;
	const epprof::ep::options options(base, "EP", 1);
	OrtStatus *status = epprof::ep::create(options, profiler);
	if (!profiler)
		return status;
	epprof::ep::event event("event", 1, 2);
	event.parent = profiler->current();
	profiler->emit(event);
	profiler->emit(event, { epprof::ep::arg("i", 'i'), epprof::ep::arg("l", 1L), epprof::ep::arg("u", 1ULL),
	                        epprof::ep::arg("f", 1.0L), epprof::ep::arg("s", std::string("s")),
	                        epprof::ep::arg("c", "c") });
	profiler->record_counter(0, "i", int8_t{ 1 });
	profiler->record_counter(0, "u", true);
	profiler->record_counter(0, "f", 1.0f);
	profiler->add_clock_pair(1, profiler->host_ticks(), profiler->host_ticks_per_second());
	epprof::ep::wait wait(*profiler, event.parent);
	*impl = profiler->ledger().emitted ? &profiler->impl : nullptr;
	return nullptr;
}
#endif

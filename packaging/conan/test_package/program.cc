// Records an event in memory and counts the records.
#include <epprof/epprof.hpp>
#include <epprof/timeline.h>

int main()
{
	auto session = epprof::session::create(epprof::session_options());
	if (!session.ok() || !session->start().ok())
		return 1;
	epprof::event(*session, EPP_NODE, EPPROF_NAME("work")).end();
	epp_trace *trace;
	if (!session->end().ok() || !session->wait().ok() || epp_trace_open_session(*session, &trace))
		return 2;
	const bool has_one = epp_trace_get_info(trace)->records_count == 1;
	epp_trace_close(trace);
	return has_one ? 0 : 3;
}

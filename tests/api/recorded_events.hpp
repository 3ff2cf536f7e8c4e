/* For the tests of the headers for C++: the events of a session as values. */
#ifndef EPPROF_TESTS_API_RECORDED_EVENTS_HPP
#define EPPROF_TESTS_API_RECORDED_EVENTS_HPP

#include <string>
#include <vector>

#include "epprof/timeline.h"
#include "tests/support/check.h"

struct recorded_event {
	uint64_t id, parent;
	epp_event_kind kind;
	epp_category category;
	int64_t start_ns, duration_ns;
	uint32_t track, depth, flags;
	std::string name;
	std::string args; /* "key=value key=value": -3i, 3u, 1.5f or 'text' */
};

inline std::string args_text(const epp_timeline *timeline, const epp_event *event)
{
	std::string text;
	size_t cursor = 0;
	epp_trace_arg arg;
	while (epp_event_args(timeline, event, &cursor, &arg)) {
		text += (text.empty() ? "" : " ") + std::string(arg.key, arg.key_bytes) + "=";
		if (arg.type == EPP_ARG_I64)
			text += std::to_string(arg.value.i64) + "i";
		else if (arg.type == EPP_ARG_U64)
			text += std::to_string(arg.value.u64) + "u";
		else if (arg.type == EPP_ARG_F64)
			text += std::to_string(arg.value.f64) + "f";
		else
			text += "'" + std::string(arg.value.text, arg.text_bytes) + "'";
	}
	return text;
}

/* In the order of the timeline. */
inline std::vector<recorded_event> recorded_events(epp_session *session)
{
	std::vector<recorded_event> events;
	epp_trace *trace;
	epp_timeline *timeline;
	const epp_event *event;
	check_ok(epp_trace_open_session(session, &trace));
	check_ok(epp_timeline_create(trace, nullptr, &timeline));
	while (epp_timeline_next(timeline, &event))
		events.push_back({ event->id, event->parent, static_cast<epp_event_kind>(event->kind),
		                   static_cast<epp_category>(event->category), event->start_ns, event->duration_ns,
		                   event->track->track, event->depth, event->flags,
		                   std::string(event->name, event->name_bytes), args_text(timeline, event) });
	check_ok(epp_timeline_status(timeline));
	epp_timeline_destroy(timeline);
	epp_trace_close(trace);
	return events;
}

#endif

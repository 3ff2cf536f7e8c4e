/* For tests that wait for what another process records. */
#ifndef EPPROF_TESTS_SUPPORT_LIVE_TRACE_H
#define EPPROF_TESTS_SUPPORT_LIVE_TRACE_H

#include <stdbool.h>
#include <string.h>

#include "check.h"
#include "epprof/timeline.h"

/* Returns true if the trace is there and has an event of this name; another process may be recording it. */
static inline bool live_trace_has(const char *path, const char *name)
{
	epp_trace *trace;
	epp_timeline *timeline;
	const epp_event *event;
	bool found = false;
	epp_status *status = epp_trace_open(path, &trace);
	epp_status_destroy(status);
	if (status)
		return false;
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (!found && epp_timeline_next(timeline, &event))
		found = strcmp(event->name, name) == 0;
	check_ok(epp_timeline_status(timeline));
	epp_timeline_destroy(timeline);
	epp_trace_close(trace);
	return found;
}

#endif

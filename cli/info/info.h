/* What info tells, and how it is printed for programs. */
#ifndef EPPROF_CLI_INFO_INFO_H
#define EPPROF_CLI_INFO_INFO_H

#include "cli/shared/accounts.h"

struct info {
	const char *path;
	epp_trace *trace;
	struct accounts accounts;
	bool all; /* every track and producer */
};

/* Tracks whose events are on another one's row are left out: of a thread's tracks all but the first, and its waits. */
static inline bool info_lists_track(const epp_trace_track *track)
{
	bool on_thread = track->kind == EPP_TRACK_THREAD ||
	                 (track->kind == EPP_TRACK_CALLS && track->clock_kind == EPP_CLOCK_HOST);
	return !on_thread || !track->thread || track->thread == track;
}

epp_status *info_print_text(const struct info *info) EPP_MUST_CHECK;
epp_status *info_print_json(const struct info *info) EPP_MUST_CHECK;

#endif

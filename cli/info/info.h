/* Declarations shared by the files of epprof info. */
#ifndef EPPROF_CLI_INFO_INFO_H
#define EPPROF_CLI_INFO_INFO_H

#include "cli/shared/accounts.h"
#include "epprof/track.h"

struct info {
	const char *path;
	epp_trace *trace;
	struct accounts accounts;
	bool all; /* print every track and producer */
};

/* Returns false for tracks that belong to the thread of another track, whose row in viewers also has their events:
 * further tracks of a thread, and tracks of calls on it that have times of the host's clock. */
static inline bool info_lists_track(const epp_trace_track *track)
{
	bool on_thread = track->kind == EPP_TRACK_THREAD ||
	                 (track->kind == EPP_TRACK_CALLS && track->clock_kind == EPP_CLOCK_HOST);
	return !on_thread || !track->thread || track->thread == track;
}

epp_status *info_print_text(const struct info *info) EPP_MUST_CHECK;
epp_status *info_print_json(const struct info *info) EPP_MUST_CHECK;

#endif

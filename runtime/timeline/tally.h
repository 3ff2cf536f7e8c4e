/* Adds up the events of a timeline by op, kernel, stream and thread, one by one.  Memory grows with the number of names and
 * tracks, not with the number of events.  Whoever has the events, a summary or an exporter, passes them on. */
#ifndef EPPROF_TIMELINE_TALLY_H
#define EPPROF_TIMELINE_TALLY_H

#include "timeline/map.h"
#include "timeline/spread.h"

/* Names beyond these are added up under "(other names)". */
#define TALLY_LINES_MAX 65536u

struct tally_line {
	epp_summary_line line; /* what is told of it */
	char *name;
	int64_t busy_until_ns;
	struct epp_spread durations, launches;
};

struct tally_table {
	struct map index; /* by the name's number and the category, or by the track */
	void *by_text;    /* tsearch tree: a file may have a text under several numbers */
	struct tally_line **lines;
	size_t lines_count, lines_room;
};

/* Zero at first. */
struct tally {
	struct tally_table tables[EPP_BY_COUNT];
	struct map stacks; /* struct tally_stack by track and lane */
	epp_summary_totals totals;
};

/* The next event, in order of the start.  Errors: EPP_OUT_OF_MEMORY. */
epp_status *tally_event(struct tally *tally, const epp_event *event) EPP_MUST_CHECK;
void tally_deinit(struct tally *tally);

#endif

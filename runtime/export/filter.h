/* Selects the events of an export by duration, name, track and process, and counts the events that are left out. */
#ifndef EPPROF_RUNTIME_EXPORT_FILTER_H
#define EPPROF_RUNTIME_EXPORT_FILTER_H

#include "containers/id_set.h"
#include "export/writer.h"

#define FILTER_TRACKS_COUNT 256u

struct filter {
	const epp_export_options *options;
	const epp_trace *trace;
	uint8_t *names; /* by number of the name: 0: not tested yet, 1: does not pass, 2: passes */
	size_t names_room;
	struct {
		const epp_trace_track *track;
		bool passes;
	} tracks[FILTER_TRACKS_COUNT];
	struct id_set dropped; /* ids of events that did not pass and to which other events refer */
};

/* Returns false if the options filter no events.  The filter is then not needed. */
bool filter_init(struct filter *filter, const epp_export_options *options, const epp_trace *trace);
void filter_deinit(struct filter *filter);

/* Tests an event.  If the event passes but its cause did not, event->parent is removed, so that no writer draws an
 * arrow from the cause.  Errors: EPP_OUT_OF_MEMORY. */
epp_status *filter_judge(struct filter *filter, epp_event *event, bool *passes) EPP_MUST_CHECK;

#endif

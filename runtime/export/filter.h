/* Selects the events of an export by duration, name, track and process, and counts the events that it leaves out. */
#ifndef EPPROF_RUNTIME_EXPORT_FILTER_H
#define EPPROF_RUNTIME_EXPORT_FILTER_H

#include "containers/id_set.h"
#include "export/writer.h"

#define FILTER_TRACKS_COUNT 256u

struct filter {
	const epp_export_options *options;
	const epp_trace *trace;
	uint8_t *names; /* by name number: 0: not tested yet, else 1 + whether it passes */
	size_t names_room;
	struct {
		const epp_trace_track *track;
		bool passes;
	} tracks[FILTER_TRACKS_COUNT];
	struct id_set dropped; /* events that did not pass and that other events refer to */
};

/* Returns false if all events pass; the filter need not be called then. */
bool filter_init(struct filter *filter, const epp_export_options *options, const epp_trace *trace);
void filter_deinit(struct filter *filter);

/* Tests an event.  If an event passes but its cause did not, the function removes the cause, so that no writer draws an
 * arrow from it.  Errors: EPP_OUT_OF_MEMORY. */
epp_status *filter_judge(struct filter *filter, epp_event *event, bool *passes) EPP_MUST_CHECK;

#endif

/* Which events an export was asked for: by duration, name, track, process.  What is left out is counted. */
#ifndef EPPROF_RUNTIME_EXPORT_FILTER_H
#define EPPROF_RUNTIME_EXPORT_FILTER_H

#include "containers/id_set.h"
#include "export/writer.h"

#define FILTER_TRACKS_COUNT 256u

struct filter {
	const epp_export_options *options;
	const epp_trace *trace;
	uint8_t *names; /* by number: 0: not judged yet, else 1 + whether it passes */
	size_t names_room;
	struct {
		const epp_trace_track *track;
		bool passes;
	} tracks[FILTER_TRACKS_COUNT];
	struct id_set dropped; /* the events that did not pass and that others refer to */
};

/* False: all events pass, and the filter need not be asked. */
bool filter_init(struct filter *filter, const epp_export_options *options, const epp_trace *trace);
void filter_deinit(struct filter *filter);

/* Judges an event; of one that passes, a cause that did not pass is taken away, so that no writer draws an arrow from it.
 * Errors: EPP_OUT_OF_MEMORY. */
epp_status *filter_judge(struct filter *filter, epp_event *event, bool *passes) EPP_MUST_CHECK;

#endif

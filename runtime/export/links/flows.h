/* Arrows that the program drew between its events.  The record of an arrow has only the ids of the events at its ends,
 * and these events may come before or after the record.  A first pass over the timeline therefore collects the arrows,
 * a second pass finds the events. */
#ifndef EPPROF_RUNTIME_EXPORT_LINKS_FLOWS_H
#define EPPROF_RUNTIME_EXPORT_LINKS_FLOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epprof/timeline.h"
#include "export/writer.h"

/* The maximum number of arrows that are kept, with 72 bytes each.  Further arrows are only counted. */
#define FLOWS_MAX (1u << 20)

struct flow_end {
	uint64_t id;
	int64_t start_ns;
	uint32_t source;
	uint32_t row; /* index of the event's row; UINT32_MAX: not found yet */
};

struct flow {
	uint64_t from, to;
	uint32_t source;
};

struct flows {
	struct flow *flows;
	size_t flows_count, flows_room;
	struct flow_end *ends; /* sorted by flows_prepare */
	size_t ends_count;
	uint64_t left_out;
};

void flows_deinit(struct flows *flows);
/* First pass: adds an EPP_EVENT_FLOW. */
epp_status *flows_add(struct flows *flows, const epp_event *event) EPP_MUST_CHECK;
/* Must be called between the two passes. */
epp_status *flows_prepare(struct flows *flows) EPP_MUST_CHECK;
/* Second pass: if a slice is an end of an arrow, stores its row.  Only slices with EPP_FLAG_FLOW need this call. */
void flows_set_end(struct flows *flows, const epp_event *event, uint32_t row);
/* After the second pass: returns an end of an arrow; NULL: the timeline has no such event. */
const struct flow_end *flows_end(const struct flows *flows, uint32_t source, uint64_t id);
/* Called at the end: reports how many arrows exceeded the limit, and how many were left out because the writer did not
 * find an end. */
void flows_write_receipts(const struct flows *flows, const struct export_run *run, uint64_t without_end);

#endif

/* Arrows that a program drew between its events.  Both ends are known by their ids only, and may come before or after the
 * arrow's own record: the arrows are collected in a first pass over the timeline, their ends in a second. */
#ifndef EPPROF_RUNTIME_EXPORT_ARROWS_FLOWS_H
#define EPPROF_RUNTIME_EXPORT_ARROWS_FLOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epprof/timeline.h"
#include "export/writer.h"

/* The most that are kept, 72 bytes each; the others are counted. */
#define FLOWS_MAX (1u << 20)

struct flow_end {
	uint64_t id;
	int64_t start_ns;
	uint32_t source;
	uint32_t row; /* index; UINT32_MAX: not met */
};

struct flow {
	uint64_t from, to;
	uint32_t source;
};

struct flows {
	struct flow *flows;
	size_t flows_count, flows_room;
	struct flow_end *ends; /* sorted, once looked for */
	size_t ends_count;
	uint64_t left_out;
};

void flows_deinit(struct flows *flows);
/* First pass: an EPP_EVENT_FLOW. */
epp_status *flows_add(struct flows *flows, const epp_event *event) EPP_MUST_CHECK;
/* Between the passes. */
epp_status *flows_prepare(struct flows *flows) EPP_MUST_CHECK;
/* Second pass: a slice that stands on a row.  Only those with EPP_FLAG_FLOW need be told of. */
void flows_meet(struct flows *flows, const epp_event *event, uint32_t row);
/* Then: an end of an arrow, or NULL if it was not met. */
const struct flow_end *flows_end(const struct flows *flows, uint32_t source, uint64_t id);
/* In the end: what was left out, and how many arrows the writer found no end of. */
void flows_write_receipts(const struct flows *flows, const struct export_run *run, uint64_t without_end);

#endif

/* Implements flows.h: `ends` has each event at which an arrow begins or ends once, sorted by source and id for binary
 * search. */
#include "export/links/flows.h"

#include <stdlib.h>
#include <string.h>

#include "containers/array.h"

void flows_deinit(struct flows *flows)
{
	free(flows->flows);
	free(flows->ends);
	memset(flows, 0, sizeof *flows);
}

epp_status *flows_add(struct flows *flows, const epp_event *event)
{
	if (flows->flows_count == FLOWS_MAX) {
		flows->left_out++;
		return NULL;
	}
	if (!array_reserve(&flows->flows, &flows->flows_room, flows->flows_count + 1, sizeof *flows->flows))
		return epp_status_no_memory();
	flows->flows[flows->flows_count++] = (struct flow){ .from = event->parent,
		                                            .to = event->id,
		                                            .source = event->track->source };
	return NULL;
}

static int compare_ends(const void *a, const void *b)
{
	const struct flow_end *left = a, *right = b;

	if (left->source != right->source)
		return left->source < right->source ? -1 : 1;
	return (left->id > right->id) - (left->id < right->id);
}

epp_status *flows_prepare(struct flows *flows)
{
	size_t count = 0;

	flows->ends = calloc(flows->flows_count * 2 + 1, sizeof *flows->ends);
	if (!flows->ends)
		return epp_status_no_memory();
	for (size_t i = 0; i < flows->flows_count; i++) {
		const struct flow *flow = &flows->flows[i];
		flows->ends[count++] = (struct flow_end){ .id = flow->from, .source = flow->source, .row = UINT32_MAX };
		flows->ends[count++] = (struct flow_end){ .id = flow->to, .source = flow->source, .row = UINT32_MAX };
	}
	qsort(flows->ends, count, sizeof *flows->ends, compare_ends);
	for (size_t i = 0; i < count; i++) {
		if (!flows->ends_count || compare_ends(&flows->ends[flows->ends_count - 1], &flows->ends[i]) != 0)
			flows->ends[flows->ends_count++] = flows->ends[i];
	}
	return NULL;
}

static struct flow_end *find_end(const struct flows *flows, uint32_t source, uint64_t id)
{
	const struct flow_end wanted = { .id = id, .source = source };

	if (!flows->ends_count)
		return NULL;
	return bsearch(&wanted, flows->ends, flows->ends_count, sizeof *flows->ends, compare_ends);
}

void flows_set_end(struct flows *flows, const epp_event *event, uint32_t row)
{
	struct flow_end *end = find_end(flows, event->track->source, event->id);

	if (end) {
		end->row = row;
		end->start_ns = event->start_ns;
	}
}

const struct flow_end *flows_end(const struct flows *flows, uint32_t source, uint64_t id)
{
	const struct flow_end *end = find_end(flows, source, id);

	return end && end->row != UINT32_MAX ? end : NULL;
}

void flows_write_receipts(const struct flows *flows, const struct export_run *run, uint64_t without_end)
{
	_Static_assert(FLOWS_MAX == 1048576, "the message below names the limit");
	export_receipt(run, without_end, "%s arrow%s left out: an end is not in the exported part");
	export_receipt(run, flows->left_out, "%s arrow%s left out: at most 1048576 arrows of the program are exported");
}

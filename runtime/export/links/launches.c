/* Implements launches.h: a 4-way set-associative cache of calls by their correlation number.  In a full set, a new call
 * replaces one of the four entries, which a counter selects that all sets share. */
#include "export/links/launches.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "timeline/events/work_kind.h"

#define ROWS_BITS 16
#define ROW_CALLS 4u

void launches_deinit(struct launches *launches)
{
	free(launches->calls);
	memset(launches, 0, sizeof *launches);
}

static struct launch_call *row_of(const struct launches *launches, const epp_event *event, uint64_t number)
{
	uint64_t hash = number * UINT64_C(0x9E3779B97F4A7C15) + event->track->source * UINT64_C(0xC2B2AE3D27D4EB4F) +
	                (uint32_t)event->track->producer * UINT64_C(0x165667B19E3779F9);

	return &launches->calls[(hash * UINT64_C(0x9E3779B97F4A7C15) >> (64 - ROWS_BITS)) * ROW_CALLS];
}

static bool is_of(const struct launch_call *call, const epp_event *event, uint64_t number)
{
	return call->number == number && call->source == event->track->source && call->run == event->run &&
	       call->producer == event->track->producer;
}

epp_status *launches_add(struct launches *launches, const epp_event *event, uint32_t row, const struct launch_call **call)
{
	struct launch_call *place = NULL;
	uint64_t number;

	*call = NULL;
	if (!work_correlation(NULL, event, &number))
		return NULL;
	if (!launches->calls)
		launches->calls = calloc(ROW_CALLS << ROWS_BITS, sizeof *launches->calls);
	if (!launches->calls)
		return epp_status_no_memory();
	struct launch_call *calls = row_of(launches, event, number);
	for (uint32_t i = 0; i < ROW_CALLS && !place; i++) {
		if (is_of(&calls[i], event, number) || !calls[i].number)
			place = &calls[i];
	}
	if (place && place->number && event->start_ns < place->end_ns)
		return NULL;
	if (!place)
		place = &calls[launches->next++ % ROW_CALLS];
	*place = (struct launch_call){ .number = number,
		                       .flow = ++launches->calls_count * UINT64_C(0xC2B2AE3D27D4EB4F),
		                       .start_ns = event->start_ns,
		                       .end_ns = event->start_ns + event->duration_ns,
		                       .source = event->track->source,
		                       .run = event->run,
		                       .producer = event->track->producer,
		                       .row = row };
	*call = place;
	return NULL;
}

const struct launch_call *launches_find(const struct launches *launches, const epp_event *event)
{
	uint64_t number;

	if (!launches->calls || !work_correlation(NULL, event, &number))
		return NULL;
	const struct launch_call *calls = row_of(launches, event, number);
	for (uint32_t i = 0; i < ROW_CALLS; i++) {
		if (is_of(&calls[i], event, number))
			return &calls[i];
	}
	return NULL;
}

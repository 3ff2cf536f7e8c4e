/* Implements event_grants.h. */
#include "timeline/events/event_grants.h"

#include <stdlib.h>

#include "base/status.h"
#include "containers/array.h"

struct event_grant *event_grants_find(const struct event_grants *granted, uint32_t source, uint64_t id)
{
	struct hash_probe probe = hash_index_probe(&granted->index, hash_pair(id, source));
	uint32_t number;

	while (hash_index_next(&granted->index, &probe, &number)) {
		struct event_grant *event = &granted->events[number];
		if (event->id == id && event->source == source)
			return event;
	}
	return NULL;
}

epp_status *event_grants_add(struct event_grants *granted, const struct event_grant *event)
{
	struct event_grant *found = event_grants_find(granted, event->source, event->id);

	if (found) {
		*found = *event;
		return NULL;
	}
	if (granted->count >= HASH_INDEX_NONE ||
	    !array_reserve(&granted->events, &granted->room, granted->count + 1, sizeof(*granted->events)) ||
	    !hash_index_add(&granted->index, hash_pair(event->id, event->source), (uint32_t)granted->count))
		return epp_status_no_memory();
	granted->events[granted->count++] = *event;
	return NULL;
}

void event_grants_deinit(struct event_grants *granted)
{
	free(granted->events);
	hash_index_deinit(&granted->index);
}

/* Removes the events that ended before now_ns. */
static epp_status *event_grants_sweep(struct event_grants *granted, int64_t now_ns)
{
	size_t count = granted->count;

	granted->count = 0;
	hash_index_clear(&granted->index);
	for (size_t i = 0; i < count; i++) {
		const struct event_grant event = granted->events[i];
		if (event.u.end_ns >= now_ns)
			EPP_TRY(event_grants_add(granted, &event));
	}
	return NULL;
}

#define SWEEP_MIN 1024u

void open_grants_deinit(struct open_grants *open)
{
	event_grants_deinit(&open->open);
}

epp_status *open_grants_add(struct open_grants *open, const epp_event *event, uint32_t grant)
{
	if (open->open.count >= open->sweep_at) {
		EPP_TRY(event_grants_sweep(&open->open, event->start_ns));
		open->sweep_at = 2 * open->open.count + SWEEP_MIN;
	}
	const struct event_grant opened = { .id = event->id,
		                            .source = event->track->source,
		                            .grant = grant,
		                            .u.end_ns = event->flags & EPP_FLAG_OPEN
		                                            ? INT64_MAX
		                                            : event->start_ns + event->duration_ns };
	return event_grants_add(&open->open, &opened);
}

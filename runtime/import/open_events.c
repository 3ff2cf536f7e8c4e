/* Keeps events that have begun and not ended yet. */
#include "import/open_events.h"

#include <stdlib.h>
#include <string.h>

static int compare(const struct open_event *a, const struct open_event *b)
{
	if (a->is_async != b->is_async)
		return a->is_async ? 1 : -1;
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

RB_GENERATE_INTERNAL(open_events_tree, open_event, link, compare, __attribute__((unused)) static)

epp_status *open_events_add(struct open_events *open_events, uint64_t key, bool is_async, const void *packed,
                            size_t bytes, bool *fits)
{
	size_t room = sizeof(struct open_event) + bytes;

	*fits = room <= OPEN_EVENTS_BYTES_MAX - open_events->bytes;
	if (!*fits)
		return NULL;
	struct open_event *event = malloc(room);
	if (!event)
		return epp_status_no_memory();
	*event = (struct open_event){ .key = key, .number = ++open_events->next, .is_async = is_async, .bytes = bytes };
	memcpy(event->packed, packed, bytes);
	RB_INSERT(open_events_tree, &open_events->tree, event);
	open_events->bytes += room;
	return NULL;
}

static struct open_event *remove_event(struct open_events *open_events, struct open_event *event)
{
	RB_REMOVE(open_events_tree, &open_events->tree, event);
	open_events->bytes -= sizeof(*event) + event->bytes;
	return event;
}

struct open_event *open_events_take(struct open_events *open_events, uint64_t key, bool is_async)
{
	struct open_event last = { .key = key, .number = UINT64_MAX, .is_async = is_async };
	struct open_event *after = RB_NFIND(open_events_tree, &open_events->tree, &last);
	struct open_event *event = after ? RB_PREV(open_events_tree, &open_events->tree, after)
	                                 : RB_MAX(open_events_tree, &open_events->tree);

	return event && event->key == key && event->is_async == is_async ? remove_event(open_events, event) : NULL;
}

struct open_event *open_events_take_any(struct open_events *open_events)
{
	struct open_event *event = RB_MIN(open_events_tree, &open_events->tree);
	return event ? remove_event(open_events, event) : NULL;
}

void open_events_free(struct open_event *event)
{
	free(event);
}

void open_events_deinit(struct open_events *open_events)
{
	struct open_event *event;
	while ((event = open_events_take_any(open_events)) != NULL)
		open_events_free(event);
}

/* See open_events.h. */
#include "import/open_events.h"

#include <stdlib.h>
#include <string.h>

static int compare(const struct begun_event *a, const struct begun_event *b)
{
	if (a->is_async != b->is_async)
		return a->is_async ? 1 : -1;
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

RB_GENERATE_INTERNAL(begun_tree, begun_event, link, compare, __attribute__((unused)) static)

epp_status *begun_add(struct begun *begun, uint64_t key, bool is_async, const void *packed, size_t bytes, bool *fits)
{
	size_t room = sizeof(struct begun_event) + bytes;

	*fits = room <= BEGUN_BYTES_MAX - begun->bytes;
	if (!*fits)
		return NULL;
	struct begun_event *event = malloc(room);
	if (!event)
		return epp_status_no_memory();
	*event = (struct begun_event){ .key = key, .number = ++begun->next, .is_async = is_async, .bytes = bytes };
	memcpy(event->packed, packed, bytes);
	RB_INSERT(begun_tree, &begun->tree, event);
	begun->bytes += room;
	return NULL;
}

static struct begun_event *take_out(struct begun *begun, struct begun_event *event)
{
	RB_REMOVE(begun_tree, &begun->tree, event);
	begun->bytes -= sizeof(*event) + event->bytes;
	return event;
}

struct begun_event *begun_take(struct begun *begun, uint64_t key, bool is_async)
{
	struct begun_event last = { .key = key, .number = UINT64_MAX, .is_async = is_async };
	struct begun_event *after = RB_NFIND(begun_tree, &begun->tree, &last);
	struct begun_event *event = after ? RB_PREV(begun_tree, &begun->tree, after) : RB_MAX(begun_tree, &begun->tree);

	return event && event->key == key && event->is_async == is_async ? take_out(begun, event) : NULL;
}

struct begun_event *begun_take_any(struct begun *begun)
{
	struct begun_event *event = RB_MIN(begun_tree, &begun->tree);
	return event ? take_out(begun, event) : NULL;
}

void begun_free(struct begun_event *event)
{
	free(event);
}

void begun_deinit(struct begun *begun)
{
	struct begun_event *event;
	while ((event = begun_take_any(begun)) != NULL)
		begun_free(event);
}

/* A binary heap, the earliest at its root. */
#include "export/pending.h"

#include <stdlib.h>
#include <string.h>

void pending_deinit(struct pending *pending)
{
	for (size_t i = 0; i < pending->count; i++)
		free(pending->texts[i].text);
	free(pending->texts);
	memset(pending, 0, sizeof *pending);
}

static bool goes_first(const struct pending_text *a, const struct pending_text *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->number > b->number;
}

epp_status *pending_push(struct pending *pending, int64_t time_ns, const char *text, size_t bytes)
{
	struct pending_text new_text = { .time_ns = time_ns, .bytes = bytes };
	size_t at;

	if (pending->count == pending->room) {
		size_t room = pending->room ? pending->room * 2 : 64;
		struct pending_text *larger = reallocarray(pending->texts, room, sizeof *larger);
		if (!larger)
			return epp_status_create(EPP_OUT_OF_MEMORY, "out of memory");
		pending->texts = larger;
		pending->room = room;
	}
	new_text.text = malloc(bytes + !bytes);
	if (!new_text.text)
		return epp_status_create(EPP_OUT_OF_MEMORY, "out of memory");
	memcpy(new_text.text, text, bytes);
	new_text.number = pending->next_number++;

	for (at = pending->count++; at; at = (at - 1) / 2) {
		struct pending_text *parent = &pending->texts[(at - 1) / 2];
		if (!goes_first(&new_text, parent))
			break;
		pending->texts[at] = *parent;
	}
	pending->texts[at] = new_text;
	return NULL;
}

bool pending_pop(struct pending *pending, int64_t before_ns, struct pending_text *text)
{
	struct pending_text last;
	size_t at = 0;

	if (!pending->count || pending->texts[0].time_ns >= before_ns)
		return false;
	*text = pending->texts[0];
	last = pending->texts[--pending->count];
	for (;;) {
		size_t child = at * 2 + 1;
		if (child >= pending->count)
			break;
		if (child + 1 < pending->count && goes_first(&pending->texts[child + 1], &pending->texts[child]))
			child++;
		if (!goes_first(&pending->texts[child], &last))
			break;
		pending->texts[at] = pending->texts[child];
		at = child;
	}
	pending->texts[at] = last;
	return true;
}

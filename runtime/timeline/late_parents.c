/* Implements late_parents.h: an array that is sorted by source and id. */
#include "timeline/late_parents.h"

#include <stdlib.h>

#include "base/status.h"

void parents_deinit(struct parents *parents)
{
	free(parents->all);
	*parents = (struct parents){ 0 };
}

epp_status *parents_add(struct parents *parents, uint32_t source, uint64_t id, uint64_t parent)
{
	if (parents->count == parents->room) {
		size_t room = parents->room ? parents->room * 2 : 256;
		struct late_parent *all = reallocarray(parents->all, room, sizeof(*all));
		if (!all)
			return epp_status_no_memory();
		parents->all = all;
		parents->room = room;
	}
	parents->all[parents->count++] = (struct late_parent){ id, parent, source };
	return NULL;
}

static int compare(const void *a, const void *b)
{
	const struct late_parent *first = a, *second = b;
	if (first->source != second->source)
		return first->source < second->source ? -1 : 1;
	return (first->id > second->id) - (first->id < second->id);
}

void parents_seal(struct parents *parents)
{
	if (parents->count)
		qsort(parents->all, parents->count, sizeof(*parents->all), compare);
}

uint64_t parents_find(const struct parents *parents, uint32_t source, uint64_t id)
{
	const struct late_parent key = { .id = id, .source = source };
	const struct late_parent *found = parents->count
	                                      ? bsearch(&key, parents->all, parents->count, sizeof(key), compare)
	                                      : NULL;
	return found ? found->parent : 0;
}

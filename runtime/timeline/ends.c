/* See ends.h.  At most two thirds of the table are in use. */
#include "timeline/ends.h"

#include <stdlib.h>

#include "base/status.h"

void ends_deinit(struct ends *ends)
{
	free(ends->table);
	*ends = (struct ends){ 0 };
}

/* The entry of an id, or the free one where it belongs. */
static struct end *place_of(const struct ends *ends, uint32_t source, uint64_t id)
{
	size_t at = (id + source) * 0x9e3779b97f4a7c15u >> 20 & (ends->room - 1);
	while (ends->table[at].id && (ends->table[at].id != id || ends->table[at].source != source))
		at = (at + 1) & (ends->room - 1);
	return &ends->table[at];
}

static epp_status *grow(struct ends *ends)
{
	struct ends larger = { .room = ends->room ? ends->room * 2 : 64, .count = ends->count };
	larger.table = calloc(larger.room, sizeof(*larger.table));
	if (!larger.table)
		return epp_status_no_memory();
	for (size_t i = 0; i < ends->room; i++) {
		const struct end *end = &ends->table[i];
		if (end->id)
			*place_of(&larger, end->source, end->id) = *end;
	}
	free(ends->table);
	*ends = larger;
	return NULL;
}

epp_status *ends_add(struct ends *ends, const struct end *end)
{
	if (!end->id)
		return NULL;
	if (ends->count * 3 >= ends->room * 2)
		EPP_TRY(grow(ends));
	struct end *place = place_of(ends, end->source, end->id);
	if (!place->id)
		ends->count++;
	else if (place->ticks <= end->ticks)
		return NULL;
	*place = *end;
	return NULL;
}

const struct end *ends_find(const struct ends *ends, uint32_t source, uint64_t id)
{
	if (!ends->count || !id)
		return NULL;
	const struct end *end = place_of(ends, source, id);
	return end->id ? end : NULL;
}

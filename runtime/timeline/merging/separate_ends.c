/* Implements separate_ends.h: an array of ends and a hash index. */
#include "timeline/merging/separate_ends.h"

#include <stdlib.h>

#include "base/status.h"
#include "containers/array.h"

void ends_deinit(struct ends *ends)
{
	free(ends->ends);
	hash_index_deinit(&ends->index);
	*ends = (struct ends){ 0 };
}

static struct end *find(const struct ends *ends, uint32_t source, uint64_t id)
{
	struct hash_probe probe = hash_index_probe(&ends->index, hash_pair(id, source));
	uint32_t number;

	while (hash_index_next(&ends->index, &probe, &number)) {
		if (ends->ends[number].id == id && ends->ends[number].source == source)
			return &ends->ends[number];
	}
	return NULL;
}

epp_status *ends_add(struct ends *ends, const struct end *end)
{
	if (!end->id)
		return NULL;
	struct end *known = find(ends, end->source, end->id);
	if (known) {
		if (end->ticks < known->ticks)
			*known = *end;
		return NULL;
	}
	if (ends->count >= HASH_INDEX_NONE ||
	    !array_reserve(&ends->ends, &ends->room, ends->count + 1, sizeof(*ends->ends)) ||
	    !hash_index_add(&ends->index, hash_pair(end->id, end->source), (uint32_t)ends->count))
		return epp_status_no_memory();
	ends->ends[ends->count++] = *end;
	return NULL;
}

const struct end *ends_find(const struct ends *ends, uint32_t source, uint64_t id)
{
	return find(ends, source, id);
}

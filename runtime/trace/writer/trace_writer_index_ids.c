/* Computes a few intervals that contain the ids of a block's events: see trace/writer/trace_writer_private.h.
 *
 * The widest gaps separate the intervals, so the result does not depend on the order of the ids. */
#include <stdlib.h>

#include "trace/writer/trace_writer_private.h"

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static int by_place(const void *a, const void *b)
{
	const size_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* Adds the gap before index `i` to `cuts` if it is one of the widest so far. */
static size_t cut_there(const uint64_t *ids, size_t i, size_t *cuts, size_t count)
{
	size_t narrowest = 0;

	if (count < EPF_INDEX_REFERENCES_MAX - 1) {
		cuts[count] = i;
		return count + 1;
	}
	for (size_t c = 1; c < count; c++)
		if (ids[cuts[c]] - ids[cuts[c] - 1] < ids[cuts[narrowest]] - ids[cuts[narrowest] - 1])
			narrowest = c;
	if (ids[i] - ids[i - 1] > ids[cuts[narrowest]] - ids[cuts[narrowest] - 1])
		cuts[narrowest] = i;
	return count;
}

uint32_t trace_writer_stretches(uint64_t *ids, size_t count, struct epf_index_reference *stretches)
{
	size_t cuts[EPF_INDEX_REFERENCES_MAX], cuts_count = 0;

	if (!count)
		return 0;
	qsort(ids, count, sizeof(*ids), by_value);
	for (size_t i = 1; i < count; i++)
		if (ids[i] - ids[i - 1] > EPF_INDEX_NEAR)
			cuts_count = cut_there(ids, i, cuts, cuts_count);
	qsort(cuts, cuts_count, sizeof(*cuts), by_place);
	for (size_t c = 0; c <= cuts_count; c++)
		stretches[c] = (struct epf_index_reference){ ids[c ? cuts[c - 1] : 0],
			                                     ids[c < cuts_count ? cuts[c] - 1 : count - 1] };
	return (uint32_t)cuts_count + 1;
}

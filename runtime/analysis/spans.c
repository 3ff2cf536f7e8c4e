/* Implements spans.h.  For any time, the length of all spans before it is a sum.  The covered part of a range is the
 * difference of the sums at its ends. */
#include "analysis/spans.h"

void spans_add(struct spans *spans, int64_t start_ns, int64_t end_ns)
{
	int64_t before_ns = 0;

	if (spans->count) {
		uint64_t last = (spans->count - 1) % SPANS_KEPT;
		if (start_ns <= spans->kept[last].end_ns) {
			if (end_ns > spans->kept[last].end_ns)
				spans->kept[last].end_ns = end_ns;
			return;
		}
		before_ns = spans->kept[last].before_ns + spans->kept[last].end_ns - spans->kept[last].start_ns;
	}
	uint64_t next = spans->count++ % SPANS_KEPT;
	spans->kept[next].start_ns = start_ns;
	spans->kept[next].end_ns = end_ns;
	spans->kept[next].before_ns = before_ns;
}

/* Returns the total length of the spans before a time. */
static int64_t covered_before(const struct spans *spans, int64_t until_ns)
{
	const uint64_t oldest = spans->count > SPANS_KEPT ? spans->count - SPANS_KEPT : 0;
	uint64_t low = oldest, high = spans->count;

	/* Binary search for the first span that starts at `until_ns` or later. */
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (spans->kept[middle % SPANS_KEPT].start_ns < until_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == oldest)
		return spans->count ? spans->kept[oldest % SPANS_KEPT].before_ns : 0;
	uint64_t last = (low - 1) % SPANS_KEPT;
	int64_t end_ns = spans->kept[last].end_ns < until_ns ? spans->kept[last].end_ns : until_ns;
	return spans->kept[last].before_ns + end_ns - spans->kept[last].start_ns;
}

int64_t spans_covered(const struct spans *spans, int64_t from_ns, int64_t until_ns)
{
	return covered_before(spans, until_ns) - covered_before(spans, from_ns);
}

/* Implements idle.h.  Copies come in order of start, so the time that they cover up to a point is a growing sum, and
 * their part of a gap is the difference of two such sums. */
#include "analysis/idle.h"

void idle_copy(struct idle_copies *copies, int64_t start_ns, int64_t end_ns)
{
	int64_t before_ns = 0;

	if (copies->count) {
		uint64_t last = (copies->count - 1) % IDLE_COPIES;
		if (start_ns <= copies->spans[last].end_ns) {
			if (end_ns > copies->spans[last].end_ns)
				copies->spans[last].end_ns = end_ns;
			return;
		}
		before_ns = copies->spans[last].before_ns + copies->spans[last].end_ns - copies->spans[last].start_ns;
	}
	uint64_t next = copies->count++ % IDLE_COPIES;
	copies->spans[next].start_ns = start_ns;
	copies->spans[next].end_ns = end_ns;
	copies->spans[next].before_ns = before_ns;
}

/* Returns the total time of copies before a time. */
static int64_t covered(const struct idle_copies *copies, int64_t until_ns)
{
	const uint64_t oldest = copies->count > IDLE_COPIES ? copies->count - IDLE_COPIES : 0;
	uint64_t low = oldest, high = copies->count;

	/* Find the first span that starts at `until_ns` or later. */
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (copies->spans[middle % IDLE_COPIES].start_ns < until_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == oldest)
		return copies->count ? copies->spans[oldest % IDLE_COPIES].before_ns : 0;
	uint64_t last = (low - 1) % IDLE_COPIES;
	int64_t end_ns = copies->spans[last].end_ns < until_ns ? copies->spans[last].end_ns : until_ns;
	return copies->spans[last].before_ns + end_ns - copies->spans[last].start_ns;
}

void idle_gap(int64_t idle_ns[EPP_IDLE_COUNT], const struct idle_copies *copies, int64_t from_ns, const epp_event *event)
{
	int64_t until_ns = event->start_ns, launch_ns = event->launch_ns;

	if (launch_ns == INT64_MIN) {
		idle_ns[EPP_IDLE_UNKNOWN] += until_ns - from_ns;
		return;
	}
	launch_ns = launch_ns < from_ns ? from_ns : launch_ns > until_ns ? until_ns : launch_ns;
	int64_t copy_ns = covered(copies, until_ns) - covered(copies, launch_ns);
	idle_ns[EPP_IDLE_UNLAUNCHED] += launch_ns - from_ns;
	idle_ns[EPP_IDLE_COPY] += copy_ns;
	idle_ns[EPP_IDLE_LATE] += until_ns - launch_ns - copy_ns;
}

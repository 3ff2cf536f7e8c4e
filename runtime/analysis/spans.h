/* The union of time spans that are added in order of start, and how much time the union covers in a range.  Only the
 * last SPANS_KEPT disjoint spans are kept; earlier ones do not count. */
#ifndef EPPROF_RUNTIME_ANALYSIS_SPANS_H
#define EPPROF_RUNTIME_ANALYSIS_SPANS_H

#include <stdint.h>

#define SPANS_KEPT 1024u

/* Disjoint spans in order of time, each with the total length of all spans before it.  Zero-initialised: empty. */
struct spans {
	struct {
		int64_t start_ns, end_ns, before_ns;
	} kept[SPANS_KEPT];
	uint64_t count; /* number of all spans so far; the last SPANS_KEPT are kept */
};

/* Adds the next span, in order of start. */
void spans_add(struct spans *spans, int64_t start_ns, int64_t end_ns);
/* Returns how much of [from_ns, until_ns) the spans cover. */
int64_t spans_covered(const struct spans *spans, int64_t from_ns, int64_t until_ns);

#endif

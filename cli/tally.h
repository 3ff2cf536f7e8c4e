/* Adds up the events of a timeline by op, kernel, stream and thread, in one pass.  Memory grows with the number of names
 * and tracks, not with the number of events. */
#ifndef EPPROF_CLI_TALLY_H
#define EPPROF_CLI_TALLY_H

#include "cli.h"
#include "histogram.h"
#include "map.h"

/* Names beyond these are added up under "(other names)". */
#define TALLY_LINES_MAX 65536u

enum tally_kind { TALLY_OP, TALLY_KERNEL, TALLY_STREAM, TALLY_THREAD, TALLY_KINDS };

struct tally_line {
	char *name;
	size_t name_bytes;
	const char *group; /* of a stream or thread; else NULL */
	unsigned category; /* of an op */
	uint64_t count;
	int64_t total_ns; /* events within events count again */
	int64_t self_ns;  /* without the events inside, on the same lane */
	int64_t busy_ns;  /* streams and threads: the time that any event covers */
	int64_t busy_until_ns;
	struct histogram durations;
	struct histogram latencies; /* kernels: start - start of the host event */
};

struct tally_table {
	struct map index; /* by the name's number and the category, or by the track */
	void *by_text;    /* tsearch tree: a file may have a text under several numbers */
	struct tally_line **lines;
	size_t lines_count, lines_room;
};

struct tally {
	struct tally_table tables[TALLY_KINDS];
	struct map stacks; /* struct tally_stack by track and lane */
	int64_t first_ns, last_ns;
	uint64_t host_events, device_events, instants, counters, unended;
	epp_timeline_counts counts;
};

epp_status *tally_trace(struct tally *tally, epp_trace *trace) EPP_MUST_CHECK;
void tally_deinit(struct tally *tally);

#endif

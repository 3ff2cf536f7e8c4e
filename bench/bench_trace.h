/* A trace made up for the cases that read one: threads that run models without a pause, each run an event around an event
 * around its nodes, and streams whose kernels some of the nodes launch.  Written as format/format.h says, without a session,
 * so that any number of tracks interleaves as finely as on a large machine. */
#ifndef BENCH_TRACE_H
#define BENCH_TRACE_H

#include "bench.h"
#include "epprof/trace_reader.h"

struct bench_trace_shape {
	uint64_t events_count; /* at least so many */
	unsigned threads_count;
	unsigned streams_count; /* of these, each from a thread of its own */
	bool launching; /* instead: threads run op after op, in each a launch, each of which is a kernel on some stream;
	                           3 % of the kernels are recorded behind the next */
};

/* Writes such a trace into a file without a name; `*written` is how many events it has.
 * Ownership: the caller closes the file, also on failure. */
epp_status *bench_trace_write(const struct bench_trace_shape *shape, struct bench_file *file, uint64_t *written)
    EPP_MUST_CHECK;

#endif

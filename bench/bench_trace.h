/* Makes artificial traces for the cases that read one: threads that run models without a pause, in each run a session
 * event around an event around the nodes, and streams with the kernels that some of the nodes launch.  The files are
 * written directly in the format of format/format.h, without a session, so that the events of many tracks interleave as
 * on a large machine. */
#ifndef EPPROF_BENCH_BENCH_TRACE_H
#define EPPROF_BENCH_BENCH_TRACE_H

#include "bench.h"
#include "epprof/trace_reader.h"

struct bench_trace_shape {
	uint64_t events_count; /* the trace has at least this many */
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

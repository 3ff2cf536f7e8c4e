/* The host's operations of a run, which the framework hands out only when its own profile is finished: as an XSpace, to Python.  A
 * hook there (epprof_frameworks.py) gives it to the bridge by these two functions, and the run waits for it meanwhile. */
#ifndef EPPROF_BRIDGES_SHARED_XSPACE_HOST_H
#define EPPROF_BRIDGES_SHARED_XSPACE_HOST_H

#include "epprof/session.h"
#include "xspace_carried.h"

#define HOST_EXPORT __attribute__((visibility("default")))

enum host_result {
	HOST_RECORDED = 0,
	HOST_NOT_WANTED = 1, /* no run waits: nothing is carried, or EPPROF_OUTPUT is not set */
	HOST_FAILED = 2,
};

/* A hook is there: from now on the part of a run that is in EPPROF_OUTPUT's trace is kept open for it when the framework has
 * collected the run, until the next run begins.
 * Thread: any, here and below. */
HOST_EXPORT void epprof_host_expect(void);

/* Records the host's operations of the run that waits, names them as the parents of the calls and device events that they
 * launched, and ends the run.  `bytes` is the framework's finished profile, borrowed; NULL only ends the run.  `text` gets
 * what was recorded, or why it was not.  Returns a host_result. */
HOST_EXPORT int epprof_host_profile(const void *bytes, size_t count, char *text, size_t text_bytes);

/* A reading of two clocks: the trace's, and the one by which frameworks time their operations. */
struct host_moment {
	uint64_t ticks;
	int64_t unix_ns;
};
struct host_moment host_now(void);

struct host_counts {
	uint64_t operations, lost;
	uint64_t joined, alone; /* device events */
};

/* What epprof_host_profile does, for a session whose run began at `from`.  */
epp_status *host_record(epp_session *session, const struct host_moment *from, const void *bytes, size_t count,
                        struct host_counts *counts);

#endif

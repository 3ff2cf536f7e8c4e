/* Records the framework's operations on the host in the trace of a run (xspace_plugin_run.h).  They are only in the
 * framework's finished profile, an XSpace, which only Python code gets.  A hook in Python (epprof_host.py) passes the
 * XSpace to the bridge with these functions; until then the run waits. */
#ifndef EPPROF_BRIDGES_SHARED_XSPACE_HOST_EVENTS_H
#define EPPROF_BRIDGES_SHARED_XSPACE_HOST_EVENTS_H

#include "epprof/session.h"
#include "xspace_plugin_run.h"

#define HOST_EXPORT __attribute__((visibility("default")))

enum host_result {
	HOST_RECORDED = 0,
	HOST_NOT_WANTED = 1, /* no run waits for the host's operations: there are no plugins, or EPPROF_OUTPUT is not
	                        set */
	HOST_FAILED = 2,
};

/* Announces that a hook exists: from now on, when the framework has collected a run, the run waits for the host's
 * operations until the next run begins.
 * Thread: any, here and below. */
HOST_EXPORT void epprof_host_expect(void);

/* Stores the pthread_t and the system's id of a thread of the program.  Must be called before epprof_host_profile:
 * without it, the operations of a thread that has ended cannot be joined to a plugin's calls. */
HOST_EXPORT void epprof_host_thread(uint64_t handle, uint32_t thread);

/* Records the host's operations for the waiting run, sets them as parents of the calls and device events that they
 * launched, and ends the run. `bytes` is the framework's finished profile, borrowed; NULL only ends the run. `text`
 * receives a summary or the reason of a failure. Returns a host_result. */
HOST_EXPORT int epprof_host_profile(const void *bytes, size_t count, char *text, size_t text_bytes);

/* A sample of two clocks: the trace's, and CLOCK_REALTIME, which frameworks use for their operations. */
struct host_moment {
	uint64_t ticks;
	int64_t unix_ns;
};
struct host_moment host_now(void);

struct host_counts {
	uint64_t operations, lost;
	uint64_t joined, alone; /* number of device events with a call, and without */
};

/* Implements epprof_host_profile for a session whose run began at `from`. */
epp_status *host_record(epp_session *session, const struct host_moment *from, const void *bytes, size_t count,
                        struct host_counts *counts);

#endif

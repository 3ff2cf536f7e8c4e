/* What carried execution providers are given in place of ONNX Runtime's tables: copies of them, in which profiling events and
 * containers are ours.  See ort_copies.c. */
#ifndef EPPROF_BRIDGES_ORT_COPIES_H
#define EPPROF_BRIDGES_ORT_COPIES_H

#include "ort.h"

/* The copies of this host's tables: one host in a process.
 * Errors: NULL for a second one.  Thread: one at a time.  Ownership: static. */
const OrtApiBase *ort_copies_base(const struct ort_host *host);

/* An arg that events of carried profilers have in ONNX Runtime's profile: one that ONNX Runtime drives as well gives the same
 * events without it. */
#define ORT_CARRIED_KEY "carried_by"
#define ORT_CARRIED_VALUE "epprof"

/* A container for a carried profiler's EndProfiling: what is added goes into the trace by the member, and into ONNX Runtime's
 * own container.  `ort_id_of` gives ONNX Runtime's correlation id of an event of the trace's, 0 if there is none. */
struct ort_container {
	epp_member *member;
	OrtProfilingEventsContainer *real;
	uint64_t (*ort_id_of)(const void *user, uint64_t id);
	const void *user;
};

/* Calls EndProfiling with such a container, which is known to the copies as long as that lasts. */
OrtStatus *ort_container_fill(struct ort_container *container, OrtEpProfilerImpl *profiler);

#endif

/* Plugins of other frameworks', carried in ONNX Runtime: from the trace, into which they record, to its own profile. */
#ifndef EPPROF_BRIDGES_ONNXRUNTIME_ORT_FOREIGN_H
#define EPPROF_BRIDGES_ONNXRUNTIME_ORT_FOREIGN_H

#include "ort.h"
#include "ort_copies.h"

struct ort_foreign {
	const struct ort_host *host;
	epp_session *session;
	uint64_t producers;      /* as of epp_member_producers */
	int64_t profile_unix_ns; /* when ONNX Runtime's profile began */
	int64_t duration_ns;     /* how long it is: what may have started in this time is given */
	struct ort_devices *devices;
	uint64_t (*ort_id_of)(const void *user, uint64_t id); /* as in struct ort_container */
	const void *user;
};

/* Adds what these recorded in the profile's time to ONNX Runtime's container. */
OrtStatus *ort_foreign_fill(const struct ort_foreign *foreign, OrtProfilingEventsContainer *container);

#endif

/* Plugins of other frameworks', carried in ONNX Runtime: from the trace, into which they record, to its own profile. */
#ifndef EPPROF_BRIDGES_ORT_FOREIGN_H
#define EPPROF_BRIDGES_ORT_FOREIGN_H

#include "ort.h"

struct ort_foreign {
	const struct ort_host *host;
	epp_session *session;
	uint64_t producers;      /* 1 << epp_member_producer of each */
	int64_t profile_unix_ns; /* when ONNX Runtime's profile began: no earlier event is given */
	uint64_t (*ort_id_of)(const void *user, uint64_t id); /* as in struct ort_container */
	const void *user;
};

/* Adds what these recorded since the profile began to ONNX Runtime's container. */
OrtStatus *ort_foreign_fill(const struct ort_foreign *foreign, OrtProfilingEventsContainer *container);

#endif

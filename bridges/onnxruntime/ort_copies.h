/* What carried execution providers are given in place of ONNX Runtime's tables: copies of them, in which profiling events and
 * containers are ours.  See ort_copies.c. */
#ifndef EPPROF_BRIDGES_ONNXRUNTIME_ORT_COPIES_H
#define EPPROF_BRIDGES_ONNXRUNTIME_ORT_COPIES_H

#include "ort.h"

/* The copies of this host's tables: one host in a process.
 * Errors: NULL for a second one.  Thread: one at a time.  Ownership: static. */
const OrtApiBase *ort_copies_base(const struct ort_host *host);

/* An arg that events of carried profilers have in ONNX Runtime's profile: one that ONNX Runtime drives as well gives the same
 * events without it. */
#define ORT_CARRIED_KEY "carried_by"
#define ORT_CARRIED_VALUE "epprof"
/* And which plugin they are of: its label in the trace. */
#define ORT_PLUGIN_KEY "epprof.plugin"

/* The process numbers of devices in ONNX Runtime's profile, -1 - n.  A device keeps its own unless another plugin has it. */
#define ORT_DEVICES_MAX 256u
struct ort_devices {
	size_t count;
	struct {
		uint64_t owner;
		int32_t own, given;
	} all[ORT_DEVICES_MAX];
};

/* The number that a plugin's device has got.  `owner`: what tells plugins apart. */
int32_t ort_devices_number(struct ort_devices *devices, uint64_t owner, int32_t own);

/* A container for a carried profiler's EndProfiling: what is added goes into the trace by the member, and into ONNX Runtime's
 * own container.  `ort_id_of` gives ONNX Runtime's correlation id of an event of the trace's, 0 if there is none. */
struct ort_container {
	bool is_closed;
	epp_member *member;
	const char *label;
	struct ort_devices *devices; /* shared by all of them */
	OrtProfilingEventsContainer *real;
	uint64_t (*ort_id_of)(const void *user, uint64_t id);
	const void *user;
	bool is_mute; /* what is added is left out */
	size_t added_count, left_out_count;
};

/* Makes one, which is known to the copies from now on; its `real` is set before it is used.  NULL: no memory. */
struct ort_container *ort_container_create(epp_member *member, const char *label, struct ort_devices *devices,
                                           uint64_t (*ort_id_of)(const void *user, uint64_t id), const void *user);
/* Nothing can be added any more, and nothing of its member's and of ONNX Runtime's is used.  It must stay for a profiler whose
 * EndProfiling has not returned. */
void ort_container_close(struct ort_container *container);
void ort_container_destroy(struct ort_container *container);

#endif

/* Copies of ONNX Runtime's tables for hosted execution providers, with profiling events and containers of this library.
 * See ort_copies.c. */
#ifndef EPPROF_BRIDGES_ONNXRUNTIME_ORT_COPIES_H
#define EPPROF_BRIDGES_ONNXRUNTIME_ORT_COPIES_H

#include "ort.h"

#include "epprof/profiler.h"

/* Returns the copies of this host's tables; one host per process.
 * Errors: NULL for a second one.  Thread: one at a time.  Ownership: static. */
const OrtApiBase *ort_copies_base(const struct ort_host *host);

/* An arg of hosted profilers' events in ONNX Runtime's profile. It distinguishes them from the same events of a
 * profiler that ONNX Runtime runs as well. */
#define ORT_HOSTED_KEY "hosted_by"
#define ORT_HOSTED_VALUE "epprof"
/* The key of an arg with the plugin's label in the trace. */
#define ORT_PLUGIN_KEY "epprof.plugin"

/* Assigns devices their process numbers in ONNX Runtime's profile, -1 - n. A device keeps its own number unless another
 * plugin uses it. */
#define ORT_DEVICES_MAX 256u
struct ort_devices {
	size_t count;
	struct {
		uint64_t owner;
		int32_t own, given;
	} all[ORT_DEVICES_MAX];
};

/* Returns the number assigned to a plugin's device. `owner` identifies the plugin. */
int32_t ort_devices_number(struct ort_devices *devices, uint64_t owner, int32_t own);

/* A container for a hosted profiler's EndProfiling: events are added to the trace, through the member, and to ONNX
 * Runtime's own container. `ort_id_of` returns ONNX Runtime's correlation id for an event of the trace, 0 if there is
 * none. */
struct ort_container {
	bool is_closed;
	epp_hosted_profiler *member;
	const char *label;
	struct ort_devices *devices; /* shared by all containers */
	OrtProfilingEventsContainer *real;
	uint64_t (*ort_id_of)(const void *user, uint64_t id);
	const void *user;
	bool is_mute; /* events are counted but not added */
	size_t added_count, left_out_count;
};

/* Creates a container, which the copied tables recognise from now on; `real` must be set before it is used. NULL: no
 * memory. */
struct ort_container *ort_container_create(epp_hosted_profiler *member, const char *label, struct ort_devices *devices,
                                           uint64_t (*ort_id_of)(const void *user, uint64_t id), const void *user);
/* Refuses further events; after this the member and ONNX Runtime's container are not used. If the profiler's
 * EndProfiling has not returned, the container must not be destroyed. */
void ort_container_close(struct ort_container *container);
void ort_container_destroy(struct ort_container *container);

#endif

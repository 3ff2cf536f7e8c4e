/* Copies of ONNX Runtime's tables for hosted execution providers, with profiling events and containers of this library.
 * See ort_copies.c. */
#ifndef EPPROF_BRIDGES_ONNXRUNTIME_ORT_COPIES_H
#define EPPROF_BRIDGES_ONNXRUNTIME_ORT_COPIES_H

#include "ort.h"

#include "epprof/profiler.h"

/* Returns copies of this host's tables.  There can be one host per process: NULL for a second one.  Thread: one at a
 * time.  Ownership: static. */
const OrtApiBase *ort_copies_base(const struct ort_host *host);

/* Key and value of an arg that events of hosted profilers have in ONNX Runtime's profile.  It distinguishes them from
 * events of the same EP's profiler that ONNX Runtime itself runs. */
#define ORT_HOSTED_KEY "hosted_by"
#define ORT_HOSTED_VALUE "epprof"
/* The key of an arg whose value is the plugin's label in the trace. */
#define ORT_PLUGIN_KEY "epprof.plugin"

/* Assigns process numbers to devices in ONNX Runtime's profile.  The device n is the process -1 - n, unless another
 * plugin has a device n. */
#define ORT_DEVICES_MAX 256u
struct ort_devices {
	size_t count;
	struct {
		uint64_t owner;
		int32_t own, given;
	} all[ORT_DEVICES_MAX];
};

/* Returns the process number for a plugin's device, whose number in the plugin's events is `own`.  `owner` identifies
 * the plugin. */
int32_t ort_devices_number(struct ort_devices *devices, uint64_t owner, int32_t own);

/* A container for a hosted profiler's EndProfiling: events are added to the trace, as those of `registration`, and to
 * ONNX Runtime's own container.  `ort_id_of` returns ONNX Runtime's correlation id for an event of the trace, 0 if
 * there is none. */
struct ort_container {
	bool is_closed;
	epp_hosted_profiler *registration;
	const char *label;
	struct ort_devices *devices; /* shared by all containers */
	OrtProfilingEventsContainer *real;
	uint64_t (*ort_id_of)(const void *user, uint64_t id);
	const void *user;
	size_t added_count;
};

/* Creates a container that the copied tables recognise.  `real` must be set before the container is used.  NULL: no
 * memory. */
struct ort_container *ort_container_create(epp_hosted_profiler *registration, const char *label,
                                           struct ort_devices *devices,
                                           uint64_t (*ort_id_of)(const void *user, uint64_t id), const void *user);
/* Closes the container: further events are rejected, and the registration and ONNX Runtime's container are not used any
 * more. If the profiler's EndProfiling has not returned, the container must not be destroyed. */
void ort_container_close(struct ort_container *container);
void ort_container_destroy(struct ort_container *container);

#endif

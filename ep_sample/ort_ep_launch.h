/* What the sample EP's files know of each other: the device, and launches on it, which make its work belong to host events. */
#ifndef EP_SAMPLE_ORT_EP_LAUNCH_H
#define EP_SAMPLE_ORT_EP_LAUNCH_H

#include <stdbool.h>

#include "accelerator.h"
#include "epprof/ort_ep_profiler.h"

/* The host's tables. */
struct sample_api {
	const OrtApi *ort;
	const OrtEpApi *ep;
};

/* The device, which is there as long as there is a factory. */
accelerator *sample_device(void);

struct sample_launch;

/* A launch, for the host events that are open on the calling thread; its address is the tag of its commands.  It ends
 * by itself when its copy out is reported; if there will be none, by sample_launch_end once all its commands are done.
 * `kernel_names`: the ONNX node of each kernel, in order; NULL: they are not known.  `of_nobody`: profilers without an open
 * event are told of the work as well.
 * Thread: [any-thread].  Ownership: names must live until the launch ends.  Errors: NULL without memory. */
struct sample_launch *sample_launch_begin(const char *const *kernel_names, bool of_nobody);
void sample_launch_end(struct sample_launch *launch);

/* Waits for the end of what this thread launched for its open host events.  Thread: [any-thread]. */
void sample_wait(accelerator_event done);

#endif

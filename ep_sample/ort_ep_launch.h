/* Shared by the files of the sample EP: the device, and launches, which connect device work to host events. */
#ifndef EPPROF_EP_SAMPLE_ORT_EP_LAUNCH_H
#define EPPROF_EP_SAMPLE_ORT_EP_LAUNCH_H

#include <stdbool.h>

#include "accelerator.h"
#include "epprof/abi/ort_ep_profiler.h"

/* The host's tables. */
struct sample_api {
	const OrtApi *ort;
	const OrtEpApi *ep;
};

/* Returns the device, which exists while a factory exists. */
accelerator *sample_device(void);

struct sample_launch;

/* Begins a launch for the host events that are open on the calling thread; its address is the tag of its commands.  It
 * ends with its copy out; without a copy out, the caller ends it with sample_launch_end when all its
 * commands are done.  `kernel_names`: the ONNX node of each kernel, in order; NULL: unknown.  `graph`: the number of
 * the captured graph to which the kernels belong, if the device replays graphs; 0: none.  `of_nobody`: profilers
 * without an open host event get the device events too.
 * Thread: [any-thread].  Ownership: names must live until the launch ends.  Errors: NULL without memory. */
struct sample_launch *sample_launch_begin(const char *const *kernel_names, uint64_t graph, bool of_nobody);
void sample_launch_end(struct sample_launch *launch);

/* Waits until `done`, for work that this thread launched for its open host events.  Thread: [any-thread]. */
void sample_wait(accelerator_event done);

#endif

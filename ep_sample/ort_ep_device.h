/* The device of the sample EP: the software accelerator (ort_ep_accelerator.c), or one of OpenCL (opencl_ep.c)
 * or Vulkan (vulkan_ep.c).  Each implements the functions of accelerator.h that the EP calls, and describes itself here. */
#ifndef EPPROF_EP_SAMPLE_ORT_EP_DEVICE_H
#define EPPROF_EP_SAMPLE_ORT_EP_DEVICE_H

#include <stdbool.h>

#include "accelerator.h"
#include "epprof/ep.h"

struct sample_device_kind {
	const char *ep_name;
	const char *device_name;
	bool has_softmax; /* models may use Softmax */
	/* [profiling] Sets the clock in the options of a profiler. */
	void (*clock_describe)(accelerator *device, epp_ep_options *options);
	/* Creates the device.  Returns NULL, or a text that describes the error. */
	const char *(*create)(const accelerator_options *options, accelerator **device);
};

extern const struct sample_device_kind sample_device_kind;

#endif

/* The sample EP around the software accelerator, whose clock can be read at will. */
#include "ort_ep_device.h"

static accelerator_clock_options clock_options;

static const char *device_create(const accelerator_options *given, accelerator **device)
{
	accelerator_options options = *given;
	if (!accelerator_clock_options_read(&options.clock))
		return "sample EP: an ACCELERATOR_ variable of the environment is not a number";
	clock_options = options.clock;
	accelerator_result result = accelerator_create(&options, device);
	return result ? accelerator_result_text(result) : NULL;
}

static uint64_t device_ticks(void *device)
{
	return accelerator_now(device);
}

static void clock_describe(accelerator *device, epp_ep_options *options)
{
	(void)device; /* options->user */
	options->now_ticks = device_ticks;
	options->ticks_per_second = clock_options.ticks_per_second;
	options->clock_bits = (uint32_t)clock_options.bits;
}

const struct sample_device_kind sample_device_kind = {
	.ep_name = "SampleEP",
	.device_name = "Sample accelerator",
	.clock_describe = clock_describe,
	.create = device_create,
};

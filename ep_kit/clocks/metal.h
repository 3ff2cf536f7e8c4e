/* The clock of a Metal device for the kit, in Objective-C.  Copy this file into your project; it needs only Metal's
 * header.
 *
 *   options.read_clocks = epp_metal_clock_read, options.clock = (__bridge void *)device,
 *   options.ticks_per_second = EPP_METAL_TICKS_PER_SECOND, options.clock_bits = EPP_METAL_CLOCK_BITS;
 *
 * Ticks are those of counter sample buffers (MTLCommonCounterTimestamp), nominally nanoseconds; the kit measures their
 * rate.  GPUStartTime and GPUEndTime of a command buffer are seconds of the host's clock and need no pairs.
 * This file was never compiled with Apple's headers, and was never run.  docs/clocks.md has the other APIs. */
#ifndef EPPROF_EP_KIT_CLOCKS_METAL_H
#define EPPROF_EP_KIT_CLOCKS_METAL_H

#import <Metal/Metal.h>
#include <stdint.h>

#define EPP_METAL_TICKS_PER_SECOND UINT64_C(1000000000)
#define EPP_METAL_CLOCK_BITS 64

/* The function for epp_ep_options.read_clocks.  `device` is an id<MTLDevice>, which the caller retains. */
static inline int epp_metal_clock_read(void *device, uint64_t (*host_ticks)(void), uint64_t host_ticks_per_second,
                                       uint64_t pair[3])
{
	MTLTimestamp cpu = 0, gpu = 0;
	uint64_t before = host_ticks();
	[(__bridge id<MTLDevice>)device sampleTimestamps:&cpu gpuTimestamp:&gpu];
	uint64_t width = host_ticks() - before;
	pair[0] = gpu;
	pair[1] = before + width / 2;
	pair[2] = width - width / 2 + host_ticks_per_second / EPP_METAL_TICKS_PER_SECOND + 1;
	return gpu == 0;
}

#endif

/* The clock of CUPTI's activity records for the kit.  Copy this file into your project; it needs only CUPTI's
 * header.
 *
 *   options.read_clocks = epp_cuda_clock_read, options.clock = NULL,
 *   options.ticks_per_second = EPP_CUDA_TICKS_PER_SECOND, options.clock_bits = EPP_CUDA_CLOCK_BITS;
 *
 * Ticks are the nanoseconds of `start` and `end` in activity records, which CUPTI has converted from the device's
 * clock.  The half-width of the pair does not include the error of that conversion.  On the GPU that docs/cuda.md
 * describes, the error was below 1.4 us.
 * Do not set a callback with cuptiActivityRegisterTimestampCallback: the times of records are then of another clock.
 * To use CUDA's events instead of CUPTI, follow hip.h: CUDA's functions have the same names with cuda or cu.
 * docs/clocks.md lists the systems on which this was tried. */
#ifndef EPPROF_EP_KIT_CLOCKS_CUDA_H
#define EPPROF_EP_KIT_CLOCKS_CUDA_H

#include <cupti.h>
#include <stdint.h>

#define EPP_CUDA_TICKS_PER_SECOND UINT64_C(1000000000)
#define EPP_CUDA_CLOCK_BITS 64

/* The function for epp_ep_options.read_clocks. */
static inline int epp_cuda_clock_read(void *none, uint64_t (*host_ticks)(void), uint64_t host_ticks_per_second,
                                      uint64_t pair[3])
{
	uint64_t device_ns = 0, before = host_ticks();
	CUptiResult result = cuptiGetTimestamp(&device_ns);
	uint64_t width = host_ticks() - before;
	(void)none;
	pair[0] = device_ns;
	pair[1] = before + width / 2;
	pair[2] = width - width / 2 + host_ticks_per_second / EPP_CUDA_TICKS_PER_SECOND + 1;
	return result != CUPTI_SUCCESS;
}

#endif

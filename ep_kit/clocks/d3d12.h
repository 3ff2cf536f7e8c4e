/* The clock of a Direct3D 12 queue for the kit.  Copy this file into your project; it needs only Direct3D's header.
 *
 *   struct epp_d3d12_clock clock;
 *   if (SUCCEEDED(epp_d3d12_clock_open(&clock, queue)))
 *       options.read_clocks = epp_d3d12_clock_read, options.clock = &clock,
 *       options.ticks_per_second = clock.ticks_per_second, options.clock_bits = EPP_D3D12_CLOCK_BITS;
 *
 * Ticks are those of D3D12_QUERY_TYPE_TIMESTAMP in this queue; each queue may have a clock of its own.
 * GetClockCalibration also returns QueryPerformanceCounter's value, but not its error.  The pair therefore uses host
 * times before and after the call.  docs/clocks.md lists the systems on which this was tried. */
#ifndef EPPROF_EP_KIT_CLOCKS_D3D12_H
#define EPPROF_EP_KIT_CLOCKS_D3D12_H

#ifndef __cplusplus
#define COBJMACROS
#endif
#include <d3d12.h>
#include <stdint.h>

#define EPP_D3D12_CLOCK_BITS 64
#ifdef __cplusplus
#define EPP_D3D12_CALL(queue, function, ...) ((queue)->function(__VA_ARGS__))
#else
#define EPP_D3D12_CALL(queue, function, ...) (ID3D12CommandQueue_##function((queue), __VA_ARGS__))
#endif

struct epp_d3d12_clock {
	ID3D12CommandQueue *queue;
	uint64_t ticks_per_second;
};

/* Ownership: the queue is borrowed.  Errors: those of Direct3D; E_FAIL if the queue has no timestamps. */
static inline HRESULT epp_d3d12_clock_open(struct epp_d3d12_clock *clock, ID3D12CommandQueue *queue)
{
	UINT64 per_second = 0;
	HRESULT result = EPP_D3D12_CALL(queue, GetTimestampFrequency, &per_second);
	clock->queue = queue;
	clock->ticks_per_second = per_second;
	return SUCCEEDED(result) && per_second == 0 ? E_FAIL : result;
}

/* The function for epp_ep_options.read_clocks.  `open_clock` points to a struct epp_d3d12_clock. */
static inline int epp_d3d12_clock_read(void *open_clock, uint64_t (*host_ticks)(void), uint64_t host_ticks_per_second,
                                       uint64_t pair[3])
{
	const struct epp_d3d12_clock *clock = (const struct epp_d3d12_clock *)open_clock;
	UINT64 device_ticks = 0, counter = 0;
	uint64_t before = host_ticks();
	HRESULT result = EPP_D3D12_CALL(clock->queue, GetClockCalibration, &device_ticks, &counter);
	uint64_t width = host_ticks() - before;
	pair[0] = device_ticks;
	pair[1] = before + width / 2;
	pair[2] = width - width / 2 + host_ticks_per_second / clock->ticks_per_second + 1;
	return FAILED(result);
}

#endif

/* The clock of HIP's events for the kit.  Copy this file into your project; it needs only HIP's header.
 *
 *   struct epp_hip_clock clock;
 *   if (epp_hip_clock_open(&clock) == hipSuccess)
 *       options.read_clocks = epp_hip_clock_read, options.clock = &clock,
 *       options.ticks_per_second = EPP_HIP_TICKS_PER_SECOND, options.clock_bits = EPP_HIP_CLOCK_BITS;
 *   event.start_ticks = epp_hip_clock_ticks(&clock, start_event);
 *
 * HIP has no function that reads the device's clock.  It returns the time between two events as a float of
 * milliseconds, which has steps of 8 ns after 0.1 s and of 4 us after a minute.  Each reading therefore records an
 * event on a separate stream, and the time from the last reading to it is added up.  Ticks are nanoseconds since the
 * clock was opened.
 * Convert an event soon after it was recorded, because its distance to the last reading determines its precision.
 * docs/clocks.md lists the systems on which this was tried. */
#ifndef EPPROF_EP_KIT_CLOCKS_HIP_H
#define EPPROF_EP_KIT_CLOCKS_HIP_H

#include <hip/hip_runtime_api.h>
#include <stdint.h>
#include <string.h>

#define EPP_HIP_TICKS_PER_SECOND UINT64_C(1000000000)
#define EPP_HIP_CLOCK_BITS 64

struct epp_hip_clock {
	hipStream_t stream;
	hipEvent_t last, next; /* `last` is the event that the last reading recorded */
	uint64_t last_ticks, rounding_ns;
	char lock;    /* held while a thread uses the members above */
	char reading; /* held during a reading, because several profilers may share the clock */
};

static inline void epp_hip_clock_lock(struct epp_hip_clock *clock)
{
	while (__atomic_test_and_set(&clock->lock, __ATOMIC_ACQUIRE)) {}
}

/* Returns the ticks of a recorded event that has completed; 0 if HIP returns an error.  Thread: [any-thread]. */
static inline uint64_t epp_hip_clock_ticks(struct epp_hip_clock *clock, hipEvent_t event)
{
	float ms = 0;
	epp_hip_clock_lock(clock);
	hipError_t error = hipEventElapsedTime(&ms, clock->last, event);
	uint64_t ticks = clock->last_ticks + (uint64_t)(int64_t)((double)ms * 1e6);
	__atomic_clear(&clock->lock, __ATOMIC_RELEASE);
	return error == hipSuccess ? ticks : 0;
}

static inline void epp_hip_clock_close(struct epp_hip_clock *clock)
{
	if (clock->next)
		(void)hipEventDestroy(clock->next);
	if (clock->last)
		(void)hipEventDestroy(clock->last);
	if (clock->stream)
		(void)hipStreamDestroy(clock->stream);
	memset(clock, 0, sizeof(*clock));
}

/* Opens the clock of the current device.  Errors: those of HIP; the clock is then closed. */
static inline hipError_t epp_hip_clock_open(struct epp_hip_clock *clock)
{
	memset(clock, 0, sizeof(*clock));
	clock->last_ticks = EPP_HIP_TICKS_PER_SECOND; /* not 0, so that events which were recorded before have positive
	                                                 ticks */
	hipError_t error = hipStreamCreateWithFlags(&clock->stream, hipStreamNonBlocking);
	if (error == hipSuccess)
		error = hipEventCreate(&clock->last);
	if (error == hipSuccess)
		error = hipEventCreate(&clock->next);
	if (error == hipSuccess)
		error = hipEventRecord(clock->last, clock->stream);
	if (error == hipSuccess)
		error = hipEventSynchronize(clock->last);
	if (error != hipSuccess)
		epp_hip_clock_close(clock);
	return error;
}

/* The function for epp_ep_options.read_clocks.  `open_clock` points to a struct epp_hip_clock. */
static inline int epp_hip_clock_read(void *open_clock, uint64_t (*host_ticks)(void), uint64_t host_ticks_per_second,
                                     uint64_t pair[3])
{
	struct epp_hip_clock *clock = (struct epp_hip_clock *)open_clock;
	while (__atomic_test_and_set(&clock->reading, __ATOMIC_ACQUIRE)) {}
	uint64_t before = host_ticks();
	hipError_t error = hipEventRecord(clock->next, clock->stream);
	if (error == hipSuccess)
		error = hipEventSynchronize(clock->next);
	uint64_t width = host_ticks() - before;
	uint64_t ticks = error == hipSuccess ? epp_hip_clock_ticks(clock, clock->next) : 0;
	if (ticks == 0) {
		__atomic_clear(&clock->reading, __ATOMIC_RELEASE);
		return 1;
	}
	epp_hip_clock_lock(clock);
	/* The rounding error of two floats with 24 bits: of the time from the last reading to this one, and of the time
	 * from a reading to an event.  If the last reading was at most 10 ms ago, its error is kept, because this
	 * reading's ticks are computed from it. */
	if (ticks - clock->last_ticks > EPP_HIP_TICKS_PER_SECOND / 100)
		clock->rounding_ns = (ticks - clock->last_ticks) >> 22;
	uint64_t rounding_ns = clock->rounding_ns;
	hipEvent_t read = clock->next;
	clock->next = clock->last;
	clock->last = read;
	clock->last_ticks = ticks;
	__atomic_clear(&clock->lock, __ATOMIC_RELEASE);
	__atomic_clear(&clock->reading, __ATOMIC_RELEASE);
	pair[0] = ticks;
	pair[1] = before + width / 2;
	pair[2] = width - width / 2 + (rounding_ns + 1) * host_ticks_per_second / EPP_HIP_TICKS_PER_SECOND + 1;
	return 0;
}

#endif

/* The accelerator's clock: a simulated counter.  Like real ones it starts at any value and its rate differs from the
 * nominal one.  Options make the rate vary, and the counter jump, stop, wrap or advance in steps. */
#ifndef EPPROF_EP_SAMPLE_ACCELERATOR_CLOCK_H
#define EPPROF_EP_SAMPLE_ACCELERATOR_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Times are nanoseconds of true time since accelerator_clock_init. */
typedef struct accelerator_clock_options {
	uint64_t ticks_per_second; /* nominal; 1 to 10^12 */
	uint64_t start_ticks;      /* the first value of the counter */
	int64_t fast_ppm;          /* how much faster than nominal it runs; -500,000 to 500,000 */
	uint64_t wander_ppm;       /* the rate varies linearly by up to this much above and below that; to 100,000 */
	uint64_t wander_ns;        /* the period of this variation; 0: the rate is constant; to 10^12 */
	uint64_t jump_at_ns;       /* when the counter jumps by jump_ns */
	int64_t jump_ns;           /* in time of the counter; 0: no jump; negative: backwards; +-10^15 */
	uint64_t stop_at_ns;       /* when the counter stops for stop_ns */
	uint64_t stop_ns;          /* 0: it does not stop */
	uint64_t step_ticks;       /* its values are multiples of this; 0: 1 */
	uint64_t bits;             /* the width of the counter, which then wraps; 1 to 64 */
	uint64_t (*base_ns)(void *user); /* returns true time; NULL: CLOCK_MONOTONIC */
	void *user;
} accelerator_clock_options;

/* 1 GHz, 200 ppm fast, started two hours ago. */
#define ACCELERATOR_CLOCK_DEFAULT \
	((accelerator_clock_options){ \
	    .ticks_per_second = 1000000000, .start_ticks = 7310000000000, .fast_ppm = 200, .bits = 64 })

/* Gets the default options, changed by variables of the environment: ACCELERATOR_ and a field's name, for example
 * ACCELERATOR_FAST_PPM; `bits` is ACCELERATOR_CLOCK_BITS.  Returns false if a variable is not a number. */
bool accelerator_clock_options_read(accelerator_clock_options *options);

typedef struct accelerator_clock {
	accelerator_clock_options options;
	uint64_t base_start_ns;
} accelerator_clock;

/* Returns false if an option is out of range. */
bool accelerator_clock_init(accelerator_clock *clock, const accelerator_clock_options *options);

/* Returns the present value of the counter.  Thread: [any-thread]. */
uint64_t accelerator_clock_now(const accelerator_clock *clock);

/* Returns the value of the counter at a true time, past or future, but not before accelerator_clock_init. */
uint64_t accelerator_clock_at(const accelerator_clock *clock, uint64_t true_ns);

#endif

/* The accelerator's clock: a counter that starts anywhere and does not run at the rate it claims, as real ones do. */
#ifndef EP_SAMPLE_ACCELERATOR_CLOCK_H
#define EP_SAMPLE_ACCELERATOR_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

typedef struct accelerator_clock_options {
	uint64_t ticks_per_second;       /* nominal; 1 to 10^12 */
	uint64_t start_ticks;            /* what the counter shows when it is made */
	int64_t fast_ppm;                /* how much faster than nominal it runs; -500,000 to 500,000 */
	uint64_t bits;                   /* where it wraps; 1 to 64 */
	uint64_t (*base_ns)(void *user); /* true time; NULL: CLOCK_MONOTONIC */
	void *user;
} accelerator_clock_options;

/* 1 GHz, 200 ppm fast, started some time ago. */
#define ACCELERATOR_CLOCK_DEFAULT \
	((accelerator_clock_options){ \
	    .ticks_per_second = 1000000000, .start_ticks = 7310000000000, .fast_ppm = 200, .bits = 64 })

/* The default, changed by what the environment says: ACCELERATOR_TICKS_PER_SECOND, ACCELERATOR_START_TICKS,
 * ACCELERATOR_FAST_PPM, ACCELERATOR_CLOCK_BITS.  False if one of them is not a number. */
bool accelerator_clock_options_read(accelerator_clock_options *options);

typedef struct accelerator_clock {
	accelerator_clock_options options;
	uint64_t base_start_ns;
} accelerator_clock;

/* False if an option is out of its range. */
bool accelerator_clock_init(accelerator_clock *clock, const accelerator_clock_options *options);

/* What the counter shows.  Thread: [any-thread]. */
uint64_t accelerator_clock_now(const accelerator_clock *clock);

#endif

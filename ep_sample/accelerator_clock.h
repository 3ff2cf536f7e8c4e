/* The accelerator's clock: a counter that starts anywhere and does not run at the rate it claims, as real ones do; on
 * request it wanders, jumps, stops, wraps or advances in steps. */
#ifndef EP_SAMPLE_ACCELERATOR_CLOCK_H
#define EP_SAMPLE_ACCELERATOR_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Times are true time since the clock was made. */
typedef struct accelerator_clock_options {
	uint64_t ticks_per_second; /* nominal; 1 to 10^12 */
	uint64_t start_ticks;      /* what the counter shows when it is made */
	int64_t fast_ppm;          /* how much faster than nominal it runs; -500,000 to 500,000 */
	uint64_t wander_ppm;       /* the rate swings so far to either side of that, in straight lines; to 100,000 */
	uint64_t wander_ns;        /* there and back; 0: it does not wander; to 10^12 */
	uint64_t jump_at_ns;       /* then the counter jumps by jump_ns of its own time */
	int64_t jump_ns;           /* 0: it does not; negative: backwards; +-10^15 */
	uint64_t stop_at_ns;       /* then it stands still for stop_ns */
	uint64_t stop_ns;          /* 0: it does not */
	uint64_t step_ticks;       /* it shows multiples of so many ticks only; 0: 1 */
	uint64_t bits;             /* where it wraps; 1 to 64 */
	uint64_t (*base_ns)(void *user); /* true time; NULL: CLOCK_MONOTONIC */
	void *user;
} accelerator_clock_options;

/* 1 GHz, 200 ppm fast, started some time ago. */
#define ACCELERATOR_CLOCK_DEFAULT \
	((accelerator_clock_options){ \
	    .ticks_per_second = 1000000000, .start_ticks = 7310000000000, .fast_ppm = 200, .bits = 64 })

/* The default, changed by what the environment says: ACCELERATOR_ and a field's name, as ACCELERATOR_FAST_PPM; `bits` is
 * ACCELERATOR_CLOCK_BITS.  False if one of them is not a number. */
bool accelerator_clock_options_read(accelerator_clock_options *options);

typedef struct accelerator_clock {
	accelerator_clock_options options;
	uint64_t base_start_ns;
} accelerator_clock;

/* False if an option is out of its range. */
bool accelerator_clock_init(accelerator_clock *clock, const accelerator_clock_options *options);

/* What the counter shows.  Thread: [any-thread]. */
uint64_t accelerator_clock_now(const accelerator_clock *clock);

/* What it shows, has shown or will show at a true time of base_ns, no earlier than it was made. */
uint64_t accelerator_clock_at(const accelerator_clock *clock, uint64_t true_ns);

#endif

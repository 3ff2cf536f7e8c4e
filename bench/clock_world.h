/* The simulated world of clock_truth.c: a time that passes only when an operation takes time, a host clock and a device
 * clock whose readings take time, and a host for the kit that passes on what it gets.
 *
 * True time is in nanoseconds and is equal to the host's clock.  A process has one world, because the kit asks its host
 * for the time without an argument. */
#ifndef EPPROF_BENCH_CLOCK_WORLD_H
#define EPPROF_BENCH_CLOCK_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "ep_sample/accelerator_clock.h"
#include "epprof/ep.h"

/* The true time at the start. */
#define CLOCK_WORLD_START_NS 5000000000000u

struct clock_world {
	uint64_t now_ns;
	uint64_t random_state;
	accelerator_clock device;
	void (*batch)(void *user, const EpprofBatch *batch); /* the push function of an epprof host */
	/* Called for each event that the kit adds in ONNX Runtime.  `first_value` is its first arg. */
	void (*event)(void *user, const char *first_value, int64_t start_us, int64_t duration_us);
	void *user;
};

/* Makes the world anew; `is_ort`: its host is ONNX Runtime.  False if the clock's options are wrong. */
bool clock_world_begin(const accelerator_clock_options *options, uint64_t seed, bool is_ort);
struct clock_world *clock_world_get(void);
const OrtApiBase *clock_world_ort_api_base(void);
OrtProfilingEventsContainer *clock_world_container(void);

/* From 0 to below `limit`. */
uint64_t clock_world_random(uint64_t limit);

/* True time passes. */
void clock_world_pass(uint64_t ns);

/* Reading a clock takes time, most of it around the moment that is read; rarely an interruption comes in between. */
uint64_t clock_world_host_ns(void);
uint64_t clock_world_device_ticks(void *unused);

#endif

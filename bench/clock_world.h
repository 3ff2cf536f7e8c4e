/* The simulated program of clock_truth.c: time that passes only when somebody does something, a host and a device clock
 * that cost time to be read, and a host of the kit's that hands on what the kit gives it.
 *
 * True time counts nanoseconds, and the host's clock shows it.  There is one world in a process: the kit asks its host for
 * the time without saying which. */
#ifndef BENCH_CLOCK_WORLD_H
#define BENCH_CLOCK_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "ep_sample/accelerator_clock.h"
#include "epprof/ep.h"

/* Where true time begins. */
#define CLOCK_WORLD_START_NS 5000000000000u

struct clock_world {
	uint64_t now_ns;
	uint64_t random_state;
	accelerator_clock device;
	void (*batch)(void *user, const EpprofBatch *batch); /* of an epprof host */
	/* Of ONNX Runtime: an event whose first arg is `first_value`. */
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

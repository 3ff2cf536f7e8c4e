/* Level 1: what a plugin costs while nothing is profiled. */
#include <inttypes.h>
#include <time.h>

#include "cases.h"
#include "direct.h"

#define IDLE_US 200000

static uint64_t processor_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

void case_idle_threads(const struct conform *conform)
{
	epp_plugin *plugin;

	conform_profiler(conform, &plugin);
	uint64_t begin_ns = processor_ns();
	conform_sleep_us(IDLE_US);
	uint64_t used_ns = processor_ns() - begin_ns;
	/* On a busy machine the threads get less processor time, never more. */
	if (used_ns > IDLE_US * 1000 / 10)
		conform_warn(conform, "threads of the plugin use %" PRIu64 " us of the processor in %d us",
		             used_ns / 1000, IDLE_US);
}

#define COST_NS 5000
#define COST_TRIES 200

void case_idle_calls(const struct conform *conform)
{
	struct direct direct = direct_open(conform);
	uint64_t least_ns = UINT64_MAX;

	/* The smallest of many times is used, because other processes only make some of them longer. */
	for (uint64_t id = 1; id <= COST_TRIES; id++) {
		uint64_t begin_ns = conform_now_ns();
		conform_ignore_ort(direct_start_event(&direct, id));
		conform_ignore_ort(direct_stop_event(&direct, id));
		uint64_t ns = conform_now_ns() - begin_ns;
		least_ns = ns < least_ns ? ns : least_ns;
	}
	if (least_ns > COST_NS)
		conform_warn(conform, "they take %" PRIu64 " ns, the least of %d times", least_ns, COST_TRIES);
}

/* Ticks are worked out from true time in integers of 128 bits: exact, and as monotonic as true time is.  Nothing is stored
 * but the options and the true time of the start, so any thread may read the clock. */
#include "accelerator_clock.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

__extension__ typedef unsigned __int128 uint128;

static uint64_t monotonic_ns(void *user)
{
	(void)user;
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool number_read(const char *variable, uint64_t *number)
{
	const char *text = getenv(variable);
	if (text == NULL)
		return true;
	char *end;
	errno = 0;
	*number = strtoull(text, &end, 0); /* takes a minus sign, too */
	return errno == 0 && end != text && *end == '\0';
}

bool accelerator_clock_options_read(accelerator_clock_options *options)
{
	*options = ACCELERATOR_CLOCK_DEFAULT;
	uint64_t fast_ppm = (uint64_t)options->fast_ppm;
	bool all_numbers = number_read("ACCELERATOR_TICKS_PER_SECOND", &options->ticks_per_second) &&
	                   number_read("ACCELERATOR_START_TICKS", &options->start_ticks) &&
	                   number_read("ACCELERATOR_FAST_PPM", &fast_ppm) &&
	                   number_read("ACCELERATOR_CLOCK_BITS", &options->bits);
	options->fast_ppm = (int64_t)fast_ppm;
	return all_numbers;
}

bool accelerator_clock_init(accelerator_clock *clock, const accelerator_clock_options *options)
{
	if (options->ticks_per_second < 1 || options->ticks_per_second > 1000000000000 || options->bits < 1 ||
	    options->bits > 64 || options->fast_ppm < -500000 || options->fast_ppm > 500000)
		return false;
	clock->options = *options;
	if (clock->options.base_ns == NULL)
		clock->options.base_ns = monotonic_ns;
	clock->base_start_ns = clock->options.base_ns(clock->options.user);
	return true;
}

uint64_t accelerator_clock_now(const accelerator_clock *clock)
{
	const accelerator_clock_options *options = &clock->options;
	uint128 elapsed_ns = options->base_ns(options->user) - clock->base_start_ns;
	uint128 ticks_per_megasecond = (uint128)options->ticks_per_second * (uint64_t)(1000000 + options->fast_ppm);
	uint64_t ticks = options->start_ticks + (uint64_t)(elapsed_ns * ticks_per_megasecond / 1000000000000000u);
	return ticks & (UINT64_MAX >> (64 - options->bits));
}

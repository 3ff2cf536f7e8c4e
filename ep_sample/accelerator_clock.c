/* Computes the ticks of the accelerator's clock from true time, exactly, in integers of 128 bits.  The clock stores
 * only the options and the true time of its start, so any thread may read it.
 *
 * An intermediate result is the device's own time in femtoseconds: in this unit a rate in ppm of true nanoseconds is an
 * integer. */
#include "accelerator_clock.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#define FS_PER_NS 1000000
#define FS_PER_SECOND 1000000000000000

__extension__ typedef __int128 int128;

static uint64_t monotonic_ns(void *user)
{
	(void)user;
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool number_read(const char *variable, uint64_t *number)
{
	const char *text = secure_getenv(variable);
	if (text == NULL)
		return true;
	char *end;
	errno = 0;
	*number = strtoull(text, &end, 0); /* accepts a minus sign, too */
	return errno == 0 && end != text && *end == '\0';
}

bool accelerator_clock_options_read(accelerator_clock_options *options)
{
	*options = ACCELERATOR_CLOCK_DEFAULT;
	uint64_t fast_ppm = (uint64_t)options->fast_ppm, jump_ns = 0;
	const struct {
		const char *variable;
		uint64_t *number;
	} numbers[] = {
		{ "ACCELERATOR_TICKS_PER_SECOND", &options->ticks_per_second },
		{ "ACCELERATOR_START_TICKS", &options->start_ticks },
		{ "ACCELERATOR_FAST_PPM", &fast_ppm },
		{ "ACCELERATOR_WANDER_PPM", &options->wander_ppm },
		{ "ACCELERATOR_WANDER_NS", &options->wander_ns },
		{ "ACCELERATOR_JUMP_AT_NS", &options->jump_at_ns },
		{ "ACCELERATOR_JUMP_NS", &jump_ns },
		{ "ACCELERATOR_STOP_AT_NS", &options->stop_at_ns },
		{ "ACCELERATOR_STOP_NS", &options->stop_ns },
		{ "ACCELERATOR_STEP_TICKS", &options->step_ticks },
		{ "ACCELERATOR_CLOCK_BITS", &options->bits },
	};
	bool all_numbers = true;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		all_numbers &= number_read(numbers[i].variable, numbers[i].number);
	options->fast_ppm = (int64_t)fast_ppm;
	options->jump_ns = (int64_t)jump_ns;
	return all_numbers;
}

bool accelerator_clock_init(accelerator_clock *clock, const accelerator_clock_options *options)
{
	if (options->ticks_per_second < 1 || options->ticks_per_second > 1000000000000 || options->bits < 1 ||
	    options->bits > 64 || options->fast_ppm < -500000 || options->fast_ppm > 500000 ||
	    options->wander_ppm > 100000 || options->wander_ns > 1000000000000 || options->jump_ns < -FS_PER_SECOND ||
	    options->jump_ns > FS_PER_SECOND)
		return false;
	clock->options = *options;
	if (clock->options.base_ns == NULL)
		clock->options.base_ns = monotonic_ns;
	clock->base_start_ns = clock->options.base_ns(clock->options.user);
	return true;
}

/* Returns the time that the variation of the rate has added so far.  The rate rises in one half of the period and falls
 * in the other half, so the added time is a parabola below zero, then one above. */
static int128 wander_fs(const accelerator_clock_options *options, uint64_t running_ns)
{
	if (options->wander_ns < 2)
		return 0;
	uint64_t half_ns = options->wander_ns / 2;
	uint64_t into_ns = running_ns % half_ns;
	int128 ahead_fs = (int128)options->wander_ppm * into_ns * (half_ns - into_ns) / half_ns;
	return running_ns / half_ns % 2 ? ahead_fs : -ahead_fs;
}

uint64_t accelerator_clock_at(const accelerator_clock *clock, uint64_t true_ns)
{
	const accelerator_clock_options *options = &clock->options;
	uint64_t elapsed_ns = true_ns - clock->base_start_ns;
	uint64_t running_ns = elapsed_ns;
	if (elapsed_ns > options->stop_at_ns && options->stop_ns != 0) {
		uint64_t still_ns = elapsed_ns - options->stop_at_ns;
		running_ns -= still_ns < options->stop_ns ? still_ns : options->stop_ns;
	}
	int128 device_fs = (int128)running_ns * (FS_PER_NS + options->fast_ppm) + wander_fs(options, running_ns);
	if (elapsed_ns >= options->jump_at_ns)
		device_fs += (int128)options->jump_ns * FS_PER_NS;
	/* Rounds down, also below zero. */
	int128 scaled = device_fs * (int128)options->ticks_per_second;
	int128 whole = scaled / FS_PER_SECOND - (scaled % FS_PER_SECOND < 0);
	uint64_t ticks = options->start_ticks + (uint64_t)whole;
	if (options->step_ticks > 1)
		ticks -= ticks % options->step_ticks;
	return ticks & (UINT64_MAX >> (64 - options->bits));
}

uint64_t accelerator_clock_now(const accelerator_clock *clock)
{
	return accelerator_clock_at(clock, clock->options.base_ns(clock->options.user));
}

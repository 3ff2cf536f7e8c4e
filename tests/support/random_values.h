/* Random values, the same in every run. */
#ifndef EPPROF_TESTS_SUPPORT_RANDOM_VALUES_H
#define EPPROF_TESTS_SUPPORT_RANDOM_VALUES_H

#include <stdint.h>

#define RANDOM_SEED 88172645463325252ull

/* A test may set it, but not to 0. */
static uint64_t random_state = RANDOM_SEED;

static inline uint64_t random_bits(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

static inline uint32_t random_below(uint32_t limit)
{
	return (uint32_t)(random_bits() >> 32) % limit;
}

/* Returns a random value; all bit widths are equally likely. */
static inline uint64_t random_width(void)
{
	return random_bits() >> (random_bits() % 64);
}

#endif

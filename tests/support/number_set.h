/* A set of 64-bit numbers other than 0, for tests that compare millions of ids. */
#ifndef EPPROF_TESTS_SUPPORT_NUMBER_SET_H
#define EPPROF_TESTS_SUPPORT_NUMBER_SET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct numbers {
	uint64_t *slots;
	size_t size, count;
};

static inline bool numbers_add(struct numbers *set, uint64_t number);

static inline void numbers_grow(struct numbers *set)
{
	struct numbers larger = { .size = set->size ? set->size * 2 : 1024 };
	larger.slots = calloc(larger.size, sizeof(*larger.slots));
	if (!larger.slots)
		abort();
	for (size_t i = 0; i < set->size; i++)
		if (set->slots[i])
			numbers_add(&larger, set->slots[i]);
	free(set->slots);
	*set = larger;
}

static inline uint64_t *numbers_place(const struct numbers *set, uint64_t number)
{
	for (uint64_t at = number * 0x9e3779b97f4a7c15u >> 20;; at++) {
		uint64_t *slot = &set->slots[at & (set->size - 1)];
		if (!*slot || *slot == number)
			return slot;
	}
}

static inline bool numbers_has(const struct numbers *set, uint64_t number)
{
	return set->size && *numbers_place(set, number) == number;
}

/* Adds a number; false if it was there already. */
static inline bool numbers_add(struct numbers *set, uint64_t number)
{
	if (set->count * 2 >= set->size)
		numbers_grow(set);
	uint64_t *place = numbers_place(set, number);
	if (*place)
		return false;
	*place = number;
	set->count++;
	return true;
}

#endif

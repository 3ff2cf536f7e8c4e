/* A stable sort by 64-bit keys, a byte at a time: it takes one pass for each byte in which the keys differ. */
#ifndef EPPROF_RUNTIME_CONTAINERS_RADIX_SORT_H
#define EPPROF_RUNTIME_CONTAINERS_RADIX_SORT_H

#include <stdint.h>

/* Sorts numbers by their keys: `order` holds all numbers below `count` and gets them in ascending order of keys[number].
 * Numbers with equal keys keep their order, so a sort by several keys begins with the least significant one.  `spare`:
 * room for as many numbers. */
void radix_sort(uint32_t *order, uint32_t *spare, const uint64_t *keys, uint32_t count);

#endif

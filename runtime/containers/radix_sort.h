/* A stable radix sort by 64-bit keys, with one pass for each byte in which the keys differ. */
#ifndef EPPROF_RUNTIME_CONTAINERS_RADIX_SORT_H
#define EPPROF_RUNTIME_CONTAINERS_RADIX_SORT_H

#include <stdint.h>

/* Sorts numbers by their keys.  On entry `order` contains all numbers below `count`, in any order; on return they are
 * in ascending order of keys[number].  Numbers with equal keys keep their order, so a sort by several keys starts with
 * the least significant key.  `spare` has room for `count` numbers. */
void radix_sort(uint32_t *order, uint32_t *spare, const uint64_t *keys, uint32_t count);

#endif

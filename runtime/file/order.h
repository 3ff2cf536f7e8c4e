/* Order by 64-bit keys, without comparing: as many steps as bytes differ among the keys, each one pass over them. */
#ifndef EPPROF_FILE_ORDER_H
#define EPPROF_FILE_ORDER_H

#include <stdint.h>

/* Brings all numbers below `count`, which stand in `order`, into ascending order of keys[number]; those with equal keys stay as they were.  So what has several keys is
 * ordered by the last of them first.  `spare`: room for as many numbers. */
void order_by_keys(uint32_t *order, uint32_t *spare, const uint64_t *keys, uint32_t count);

#endif

/* Texts that contain shapes of tensors: "[{\"float\":[1,64,56,56]}]", "[[2, 3], []]", "1x3x224". */
#ifndef EPPROF_RUNTIME_ANONYMIZE_SHAPES_H
#define EPPROF_RUNTIME_ANONYMIZE_SHAPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The next power of two that is not smaller: 0 and 1 stay, 3 becomes 4, what is beyond 2^63 stays. */
uint64_t shapes_round(uint64_t number);
/* Room for the output of shapes_take: a rounded number has at most one digit more, and something is between two
 * numbers. */
#define SHAPES_ROOM(bytes) ((bytes)*2 + 1)
/* Copies a text of numbers, signs and types of elements; `round` rounds the numbers.  Returns the number of bytes; 0: the
 * text is empty or has anything else. */
size_t shapes_take(const char *text, size_t bytes, bool round, char *output);

#endif

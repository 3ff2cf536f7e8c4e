/* Texts that contain shapes of tensors: "[{\"float\":[1,64,56,56]}]", "[[2, 3], []]", "1x3x224". */
#ifndef EPPROF_RUNTIME_ANONYMIZE_SHAPES_H
#define EPPROF_RUNTIME_ANONYMIZE_SHAPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the smallest power of two that is not smaller than the number: 3 becomes 4. 0, and numbers above 2^63, are
 * returned unchanged. */
uint64_t shapes_round(uint64_t number);
/* Size of the output of shapes_take.  Rounding adds at most one digit to a number, and there is at least one other
 * character between two numbers. */
#define SHAPES_ROOM(bytes) ((bytes)*2 + 1)
/* Copies a text that consists of numbers, signs and types of elements.  If `round` is set, numbers are rounded.
 * Returns the number of bytes; 0: the text is empty or contains anything else. */
size_t shapes_take(const char *text, size_t bytes, bool round, char *output);

#endif

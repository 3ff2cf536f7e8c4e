/* The model of the digits sample and the digits to try it on, as data/README.md describes their files. */
#ifndef EP_SAMPLE_DIGITS_MODEL_H
#define EP_SAMPLE_DIGITS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DIGITS = 64, PIXELS = 64, HIDDEN = 32, ANSWERS = 10 };

struct digits_weights {
	uint32_t pixels, hidden, answers;
	float w1[PIXELS][HIDDEN], b1[HIDDEN], w2[HIDDEN][ANSWERS], b2[ANSWERS];
};

struct digits_test {
	uint32_t digits, pixels;
	float x[DIGITS][PIXELS];
	int64_t y[DIGITS];
};

/* Read digits_weights.bin and digits_test.bin.  False, with a message on stderr, if a file is missing, unreadable, of
 * another size or of another model. */
bool digits_weights_load(const char *directory, struct digits_weights *weights);
bool digits_test_load(const char *directory, struct digits_test *test);

/* How many of `count` results are largest where the answer says. */
unsigned digits_count_right(const float (*results)[ANSWERS], const int64_t *answers, size_t count);

#endif

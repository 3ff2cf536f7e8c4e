/* The model of the digits sample, and the digits that test it. data/README.md describes the files. */
#ifndef EPPROF_EP_SAMPLE_DIGITS_MODEL_H
#define EPPROF_EP_SAMPLE_DIGITS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DIGITS = 64, PIXELS = 64, ANSWERS = 10, NODES = 6, DIGITS_PATH_BYTES = 4096 };

/* The result y of each node is the input x of the next one. */
struct digits_node {
	const char *op_type;
	const float *weights;
	uint32_t columns, outputs;
};
extern const struct digits_node digits_nodes[NODES];

/* The images of digits, and the right answers. */
struct digits_test {
	uint32_t digits, pixels;
	float x[DIGITS][PIXELS];
	int64_t y[DIGITS];
};
extern struct digits_test digits_test;

/* Writes the path of `name`, which is relative to the directory of this program, to `path`. */
const char *digits_beside(const char *name, char path[DIGITS_PATH_BYTES]);

/* Reads digits_weights.bin and digits_test.bin from ../ep_sample/data, relative to the program.  Returns false, with a
 * message on stderr, if a file is missing or unreadable, or has another size or another model. */
bool digits_load(void);

/* Returns how many of `count` results are right: their largest value is that of the right answer. */
unsigned digits_count_right(const float (*results)[ANSWERS], const int64_t *answers, size_t count);

#endif

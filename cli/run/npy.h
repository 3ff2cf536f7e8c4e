/* Reads NumPy's .npy files: an array of one type, as numpy.save writes it. */
#ifndef EPPROF_CLI_RUN_NPY_H
#define EPPROF_CLI_RUN_NPY_H

#include <stdbool.h>
#include <stdio.h>

#include "epprof/abi/ort_tables.h"
#include "epprof/status.h"

#define NPY_RANK_MAX 32

struct npy {
	FILE *file; /* positioned at the first element */
	ONNXTensorElementDataType type;
	size_t rank;
	int64_t dims[NPY_RANK_MAX];
	size_t elements_count;
	size_t element_bytes; /* for a text: its fixed width */
	size_t unit_bytes;    /* for a text in UTF-32: 4; for a text of bytes: 1; else the size of an element */
	bool fortran_order;
	bool swapped; /* units are not in this machine's byte order */
};

/* Opens a file of version 1 to 3 and checks that it has as many elements as its header states.
 * Errors: EPP_NOT_FOUND, EPP_IO, EPP_CORRUPT, EPP_INCOMPATIBLE (an array that cannot be a tensor: the message names its
 * type). */
epp_status *npy_open(const char *path, struct npy *npy) EPP_MUST_CHECK;
/* Reads all elements, once, and converts them to row-major order and this machine's byte order. */
epp_status *npy_read(struct npy *npy, const char *path, void *data) EPP_MUST_CHECK;
/* Gets the text of an element that was read, as UTF-8: its length, and its bytes if `text` is not NULL.  NumPy's texts
 * of bytes are copied unchanged.  False: the element is not valid Unicode. */
bool npy_text(const struct npy *npy, const void *element, char *text, size_t *length);
void npy_close(struct npy *npy);

#endif

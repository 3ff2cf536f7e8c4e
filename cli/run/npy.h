/* Reads NumPy's .npy files: an array of one type, as numpy.save writes it. */
#ifndef EPPROF_CLI_RUN_NPY_H
#define EPPROF_CLI_RUN_NPY_H

#include <stdbool.h>
#include <stdio.h>

#include "epprof/abi/ort_tables.h"
#include "epprof/status.h"

#define NPY_RANK_MAX 32

struct npy {
	FILE *file; /* its position is that of the first element */
	ONNXTensorElementDataType type;
	size_t rank;
	int64_t dims[NPY_RANK_MAX];
	size_t elements_count;
	size_t element_bytes; /* size of an element; all texts of an array have the same size, filled with zeros */
	/* size of a unit: 4 for a text in UTF-32, 1 for a text of bytes, else the size of an element */
	size_t unit_bytes;
	bool fortran_order; /* elements are in column-major order */
	bool swapped;       /* the byte order of units is not that of this machine */
};

/* Opens a file of version 1 to 3 and checks that it has as many elements as its header states.
 * Errors: EPP_NOT_FOUND, EPP_IO, EPP_CORRUPT, EPP_INCOMPATIBLE (an array that cannot be a tensor: the message names its
 * type). */
epp_status *npy_open(const char *path, struct npy *npy) EPP_MUST_CHECK;
/* Reads all elements, once, and converts them to row-major order and this machine's byte order. */
epp_status *npy_read(struct npy *npy, const char *path, void *data) EPP_MUST_CHECK;
/* Converts an element that npy_read has read to a text in UTF-8, without a NUL at the end.  *length is set to the
 * number of its bytes, which are written to `text` unless `text` is NULL.  A text of bytes is copied unchanged.
 * Returns false if the element is not valid Unicode. */
bool npy_text(const struct npy *npy, const void *element, char *text, size_t *length);
void npy_close(struct npy *npy);

#endif

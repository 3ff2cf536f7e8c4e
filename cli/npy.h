/* NumPy's .npy files: an array of one type, as numpy.save writes it. */
#ifndef EPPROF_CLI_NPY_H
#define EPPROF_CLI_NPY_H

#include <stdio.h>

#include "epprof/ort_tables.h"
#include "epprof/status.h"

#define NPY_RANK_MAX 32

struct npy {
	FILE *file; /* at its first element */
	ONNXTensorElementDataType type;
	size_t rank;
	int64_t dims[NPY_RANK_MAX];
	size_t elements_count;
	size_t element_bytes;
};

/* Opens a file of version 1 to 3 and checks that it has the elements that its header promises.
 * Errors: EPP_NOT_FOUND, EPP_IO, EPP_CORRUPT, EPP_INCOMPATIBLE (an array of another kind than tensors: the message names
 * it). */
epp_status *npy_open(const char *path, struct npy *npy) EPP_MUST_CHECK;
/* Reads all elements; once. */
epp_status *npy_read(struct npy *npy, const char *path, void *data) EPP_MUST_CHECK;
void npy_close(struct npy *npy);

#endif

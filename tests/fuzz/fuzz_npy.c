/* NumPy's .npy files, opened and read. */
#include "cli/run/npy.c"

#include "tests/fuzz/fuzz.h"

#define DATA_BYTES_MAX (1u << 20)

static void read_all(struct npy *npy, const char *path)
{
	size_t bytes = npy->elements_count * npy->element_bytes;
	uint8_t *data = malloc(bytes + 1);
	char *text = malloc(npy->element_bytes * 4 + 1);
	size_t length, written;

	FUZZ_MUST(data && text);
	epp_status *status = npy_read(npy, path, data);
	if (!status && npy->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
		for (size_t i = 0;
		     i < npy->elements_count && npy_text(npy, data + i * npy->element_bytes, NULL, &length); i++) {
			FUZZ_MUST(length <= npy->element_bytes * 4);
			FUZZ_MUST(npy_text(npy, data + i * npy->element_bytes, text, &written) && written == length);
		}
	}
	epp_status_destroy(status);
	free(text);
	free(data);
}

static void run(const uint8_t *bytes, size_t count)
{
	const char *path = fuzz_path("npy");
	struct npy npy;

	fuzz_write(path, bytes, count);
	epp_status *status = npy_open(path, &npy);
	if (!status) {
		/* An element may have no bytes ("U0"), and a shape then any number of them. */
		if (npy.elements_count <= DATA_BYTES_MAX && npy.elements_count * npy.element_bytes <= DATA_BYTES_MAX)
			read_all(&npy, path);
		npy_close(&npy);
	}
	epp_status_destroy(status);
}

static size_t seed(size_t index, uint8_t *bytes)
{
	static const char *const headers[] = {
		"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }      \n",
		"{'descr': '>i2', 'fortran_order': True, 'shape': (2, 2), }\n",
		"{'descr': '<U1', 'fortran_order': False, 'shape': (2,), }\n",
		"{'descr': '|S4', 'fortran_order': True, 'shape': (2, 1L), }\n",
	};

	if (index >= sizeof headers / sizeof *headers)
		return 0;
	size_t length = strlen(headers[index]);
	memcpy(bytes, "\x93NUMPY\1\0", 8);
	bytes[8] = (uint8_t)length;
	bytes[9] = 0;
	memcpy(bytes + 10, headers[index], length);
	memcpy(bytes + 10 + length, "a\0\0\0b\0\0\0", 8);
	return length + 18;
}

const struct fuzz_target fuzz_npy = { "npy", run, seed, NULL };

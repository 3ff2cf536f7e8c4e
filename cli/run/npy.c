/* Reads NumPy's .npy files.
 *
 * A file is a magic text, a version, the length of a header, and the header: a Python dictionary like {'descr': '<f4',
 * 'fortran_order': False, 'shape': (8, 64), } padded with spaces.  Only the form that NumPy itself writes is accepted:
 * the three keys, in any order, each once. */
#include "npy.h"

#include <ctype.h>
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define HEADER_BYTES_MAX 65536u

static epp_status *corrupt(const char *path, const char *reason)
{
	return epp_status_create(EPP_CORRUPT, "%s: not a .npy file: %s", path, reason);
}

/* ---- the dictionary ---- */

struct header {
	const char *path;
	const char *at; /* NUL-terminated */
	char descr[64];
	bool fortran_order;
	bool has_descr, has_order, has_shape;
};

static void skip_spaces(struct header *header)
{
	while (*header->at && isspace((unsigned char)*header->at))
		header->at++;
}

static bool skip_text(struct header *header, const char *text)
{
	skip_spaces(header);
	if (strncmp(header->at, text, strlen(text)) != 0)
		return false;
	header->at += strlen(text);
	return true;
}

/* Parses a string in single or double quotes, and copies it without them to `text`, which has room for `bytes`. */
static bool parse_quoted(struct header *header, char *text, size_t bytes)
{
	skip_spaces(header);
	char quote = *header->at;
	const char *end = quote == '\'' || quote == '"' ? strchr(header->at + 1, quote) : NULL;
	if (!end || (size_t)(end - header->at) > bytes)
		return false;
	snprintf(text, bytes, "%.*s", (int)(end - header->at - 1), header->at + 1);
	header->at = end + 1;
	return true;
}

/* Parses a shape, such as (), (8,) or (8, 64). */
static epp_status *parse_shape(struct header *header, struct npy *npy)
{
	npy->rank = 0;
	npy->elements_count = 1;
	if (!skip_text(header, "("))
		return corrupt(header->path, "the shape is not a tuple");
	while (!skip_text(header, ")")) {
		char *end;
		skip_spaces(header);
		errno = 0;
		long long dim = isdigit((unsigned char)*header->at) ? strtoll(header->at, &end, 10) : -1;
		if (dim < 0 || errno)
			return corrupt(header->path, "a dimension is not a number");
		header->at = *end == 'L' ? end + 1 : end;
		if (npy->rank == NPY_RANK_MAX)
			return epp_status_create(EPP_INCOMPATIBLE, "%s: more than %d dimensions", header->path,
			                         NPY_RANK_MAX);
		if (__builtin_mul_overflow(npy->elements_count, (size_t)dim, &npy->elements_count))
			return corrupt(header->path, "the shape is larger than any memory");
		npy->dims[npy->rank++] = dim;
		if (!skip_text(header, ",") && *header->at != ')')
			return corrupt(header->path, "the shape is not a tuple");
	}
	return NULL;
}

static epp_status *parse_pair(struct header *header, struct npy *npy)
{
	char key[32];

	if (!parse_quoted(header, key, sizeof key) || !skip_text(header, ":"))
		return corrupt(header->path, "the header is not a dictionary");
	if (strcmp(key, "descr") == 0 && !header->has_descr) {
		header->has_descr = true;
		if (skip_text(header, "["))
			return epp_status_create(EPP_INCOMPATIBLE,
			                         "%s: an array of records; only plain arrays are read", header->path);
		return parse_quoted(header, header->descr, sizeof header->descr) ? NULL : corrupt(header->path, "no type");
	}
	if (strcmp(key, "fortran_order") == 0 && !header->has_order) {
		header->has_order = true;
		header->fortran_order = skip_text(header, "True");
		return header->fortran_order || skip_text(header, "False") ? NULL : corrupt(header->path, "no order");
	}
	if (strcmp(key, "shape") == 0 && !header->has_shape) {
		header->has_shape = true;
		return parse_shape(header, npy);
	}
	return corrupt(header->path, "a key in the header is unknown or there twice");
}

static epp_status *parse_dictionary(struct header *header, struct npy *npy)
{
	if (!skip_text(header, "{"))
		return corrupt(header->path, "the header is not a dictionary");
	while (!skip_text(header, "}")) {
		epp_status *status = parse_pair(header, npy);
		if (status)
			return status;
		if (!skip_text(header, ",") && *header->at != '}')
			return corrupt(header->path, "the header is not a dictionary");
	}
	skip_spaces(header);
	if (*header->at)
		return corrupt(header->path, "the header has text after its dictionary");
	if (!header->has_descr || !header->has_order || !header->has_shape)
		return corrupt(header->path, "the header lacks 'descr', 'fortran_order' or 'shape'");
	return NULL;
}

/* ---- types ---- */

/* Parses the type of an array of texts: U5 means texts of 5 code points in UTF-32, S5 texts of 5 bytes.  Returns false
 * if `descr` is another type. */
static bool parse_text_type(const char *descr, struct npy *npy)
{
	size_t digits = strspn(descr + (*descr != 0), "0123456789");

	if ((*descr != 'U' && *descr != 'S') || digits == 0 || digits > 9 || descr[1 + digits])
		return false;
	npy->type = ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;
	npy->unit_bytes = *descr == 'U' ? 4 : 1;
	npy->element_bytes = npy->unit_bytes * strtoul(descr + 1, NULL, 10);
	return true;
}

static epp_status *parse_header(const struct header *header, struct npy *npy)
{
	static const struct {
		const char *descr; /* type in a file, without the byte order */
		ONNXTensorElementDataType type;
		size_t bytes;
	} types[] = {
		{ "f4", ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, 4 },
		{ "f8", ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, 8 },
		{ "f2", ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, 2 },
		{ "b1", ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, 1 },
		{ "i1", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, 1 },
		{ "u1", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, 1 },
		{ "i2", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16, 2 },
		{ "u2", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16, 2 },
		{ "i4", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, 4 },
		{ "u4", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32, 4 },
		{ "i8", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, 8 },
		{ "u8", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64, 8 },
		/* NumPy has no bfloat16; the package ml_dtypes writes it as V2. */
		{ "V2", ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, 2 },
	};
	const char native = BYTE_ORDER == LITTLE_ENDIAN ? '<' : '>';
	char order = header->descr[0];
	const char *descr = strchr("<>|=", order) && order ? header->descr + 1 : header->descr;

	npy->fortran_order = header->fortran_order;
	npy->swapped = (order == '<' || order == '>') && order != native;
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		if (strcmp(types[i].descr, descr) != 0)
			continue;
		npy->type = types[i].type;
		npy->element_bytes = npy->unit_bytes = types[i].bytes;
		return NULL;
	}
	if (parse_text_type(descr, npy))
		return NULL;
	if (strcmp(descr, "O") == 0)
		return epp_status_create(EPP_INCOMPATIBLE, "%s: it holds Python objects; save array.astype(str)",
		                         header->path);
	return epp_status_create(EPP_INCOMPATIBLE, "%s: its type '%s' is no number, boolean or text that a tensor has",
	                         header->path, header->descr);
}

/* ---- the file ---- */

static epp_status *read_header(const char *path, FILE *file, char **text)
{
	unsigned char magic[8], length[4] = { 0 };

	*text = NULL;
	if (fread(magic, 1, sizeof magic, file) != sizeof magic || memcmp(magic, "\x93NUMPY", 6) != 0)
		return corrupt(path, "it does not begin as one");
	if (magic[6] < 1 || magic[6] > 3)
		return epp_status_create(EPP_INCOMPATIBLE, "%s: version %d of the format; 1 to 3 are read", path,
		                         magic[6]);
	size_t length_bytes = magic[6] == 1 ? 2 : 4;
	if (fread(length, 1, length_bytes, file) != length_bytes)
		return corrupt(path, "it is cut off");
	size_t bytes = (size_t)length[0] | (size_t)length[1] << 8 | (size_t)length[2] << 16 | (size_t)length[3] << 24;
	if (bytes > HEADER_BYTES_MAX)
		return corrupt(path, "its header is too long");
	*text = malloc(bytes + 1);
	if (!*text)
		return epp_status_no_memory();
	if (fread(*text, 1, bytes, file) != bytes)
		return corrupt(path, "it is cut off");
	(*text)[bytes] = '\0';
	return strlen(*text) == bytes ? NULL : corrupt(path, "the header contains a zero byte");
}

static epp_status *check_length(const char *path, const struct npy *npy)
{
	struct stat st;
	size_t bytes;

	if (__builtin_mul_overflow(npy->elements_count, npy->element_bytes, &bytes))
		return corrupt(path, "the shape is larger than any memory");
	if (fstat(fileno(npy->file), &st) != 0 || !S_ISREG(st.st_mode))
		return epp_status_create(EPP_IO, "%s: not a regular file", path);
	size_t there = (size_t)(st.st_size - ftell(npy->file));
	if (there < bytes)
		return epp_status_create(EPP_CORRUPT, "%s: it has %zu bytes of elements, its header promises %zu", path,
		                         there, bytes);
	return NULL;
}

epp_status *npy_open(const char *path, struct npy *npy)
{
	struct header header = { .path = path };
	char *text = NULL;

	memset(npy, 0, sizeof *npy);
	npy->file = fopen(path, "re");
	if (!npy->file)
		return epp_status_errno(errno, "%s", path);
	epp_status *status = read_header(path, npy->file, &text);
	header.at = text;
	if (!status)
		status = parse_dictionary(&header, npy);
	if (!status)
		status = parse_header(&header, npy);
	if (!status)
		status = check_length(path, npy);
	free(text);
	if (status)
		npy_close(npy);
	return status;
}

/* Copies elements from column-major order (the first index changes fastest) to row-major order. */
static void transpose(const struct npy *npy, unsigned char *to, const unsigned char *from)
{
	size_t strides[NPY_RANK_MAX], indices[NPY_RANK_MAX] = { 0 }, stride = npy->element_bytes, offset = 0;

	for (size_t i = npy->rank; i-- > 0; stride *= (size_t)npy->dims[i])
		strides[i] = stride;
	for (size_t element = 0; element < npy->elements_count; element++, from += npy->element_bytes) {
		memcpy(to + offset, from, npy->element_bytes);
		for (size_t i = 0; i < npy->rank; i++) {
			offset += strides[i];
			if (++indices[i] < (size_t)npy->dims[i])
				break;
			offset -= strides[i] * indices[i];
			indices[i] = 0;
		}
	}
}

static void swap_bytes(unsigned char *data, size_t bytes, size_t unit_bytes)
{
	for (unsigned char *end = data + bytes; data < end; data += unit_bytes) {
		for (size_t i = 0; i < unit_bytes / 2; i++) {
			unsigned char byte = data[i];
			data[i] = data[unit_bytes - 1 - i];
			data[unit_bytes - 1 - i] = byte;
		}
	}
}

epp_status *npy_read(struct npy *npy, const char *path, void *data)
{
	size_t bytes = npy->elements_count * npy->element_bytes;
	bool transposed = npy->fortran_order && npy->rank > 1 && bytes;
	void *columns = transposed ? malloc(bytes) : data;
	epp_status *status = NULL;

	if (transposed && !columns)
		return epp_status_no_memory();
	errno = 0;
	if (fread(columns, 1, bytes, npy->file) != bytes)
		status = errno ? epp_status_errno(errno, "%s", path) : corrupt(path, "it is cut off");
	if (!status && transposed)
		transpose(npy, data, columns);
	if (!status && npy->swapped)
		swap_bytes(data, bytes, npy->unit_bytes);
	if (transposed)
		free(columns);
	return status;
}

/* Writes a code point as UTF-8, or nothing if `to` is NULL.  Returns the number of bytes; 0: the code point is
 * invalid. */
static size_t put_utf8(char *to, uint32_t point)
{
	size_t bytes = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
	static const unsigned char first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
		return 0;
	for (size_t i = bytes; to && i-- > 1; point >>= 6)
		to[i] = (char)(0x80 | (point & 0x3f));
	if (to)
		to[0] = (char)(first[bytes] | point);
	return bytes;
}

bool npy_text(const struct npy *npy, const void *element, char *text, size_t *length)
{
	const unsigned char *units = element;
	size_t bytes = npy->element_bytes;

	/* A text that is shorter than its element is filled with zeros. */
	while (bytes && !units[bytes - 1])
		bytes--;
	*length = 0;
	if (npy->unit_bytes == 1) {
		*length = bytes;
		if (text)
			memcpy(text, units, bytes);
		return true;
	}
	for (size_t i = 0; i < bytes; i += sizeof(uint32_t)) {
		uint32_t point;
		memcpy(&point, units + i, sizeof point);
		size_t more = put_utf8(text ? text + *length : NULL, point);
		if (!more)
			return false;
		*length += more;
	}
	return true;
}

void npy_close(struct npy *npy)
{
	if (npy->file)
		fclose(npy->file);
	npy->file = NULL;
}

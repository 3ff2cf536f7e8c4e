/* Types of tensor elements: their names as ONNX has them, their sizes, and random values. */
#include <stdio.h>
#include <string.h>

#include "run.h"

enum shape_of_bits { INTEGER, BOOLEAN, FLOATING, TEXT };

static const struct {
	ONNXTensorElementDataType type;
	const char *name;
	size_t bytes;
	enum shape_of_bits bits;
} types[] = {
	{ ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, "float32", 4, FLOATING },
	{ ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, "uint8", 1, INTEGER },
	{ ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, "int8", 1, INTEGER },
	{ ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16, "uint16", 2, INTEGER },
	{ ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16, "int16", 2, INTEGER },
	{ ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, "int32", 4, INTEGER },
	{ ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, "int64", 8, INTEGER },
	{ ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, "string", sizeof(char *), TEXT },
	{ ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, "bool", 1, BOOLEAN },
	{ ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, "float16", 2, FLOATING },
	{ ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, "float64", 8, FLOATING },
	{ ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32, "uint32", 4, INTEGER },
	{ ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64, "uint64", 8, INTEGER },
	{ ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, "bfloat16", 2, FLOATING },
};

static size_t find(ONNXTensorElementDataType type)
{
	size_t i = 0;

	while (i < sizeof types / sizeof *types && types[i].type != type)
		i++;
	return i;
}

const char *run_type_name(ONNXTensorElementDataType type)
{
	static char unknown[24];
	size_t i = find(type);

	if (i < sizeof types / sizeof *types)
		return types[i].name;
	snprintf(unknown, sizeof unknown, "type %d", (int)type);
	return unknown;
}

size_t run_type_bytes(ONNXTensorElementDataType type)
{
	size_t i = find(type);

	return i < sizeof types / sizeof *types ? types[i].bytes : 0;
}

/* ---- random values ---- */

/* Returns the next number of the generator xorshift64*.  `state` must not be 0. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(0x2545F4914F6CDD1D);
}

/* Converts a float from 0 to 1 to the bits of bfloat16 (`brain`) or float16.  C has neither type. */
static uint16_t half_bits(float value, bool brain)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof bits);
	if (brain)
		return (uint16_t)(bits >> 16);
	/* float16 has an exponent of five bits and a shorter fraction.  Values that are too small for a normal number
	 * become 0. */
	uint32_t exponent = bits >> 23;
	return (uint16_t)(exponent <= 127 - 15 ? 0 : (exponent - (127 - 15)) << 10 | (bits >> 13 & 0x3FF));
}

static void put_float(ONNXTensorElementDataType type, unsigned char *at, uint64_t random)
{
	double wide = (double)(random >> 11) * 0x1p-53;
	float narrow = (float)(random >> 40) * 0x1p-24f;
	uint16_t half = half_bits(narrow, type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16);

	if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE)
		memcpy(at, &wide, sizeof wide);
	else if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT)
		memcpy(at, &narrow, sizeof narrow);
	else
		memcpy(at, &half, sizeof half);
}

void run_fill_random(ONNXTensorElementDataType type, void *data, size_t count, uint64_t seed)
{
	size_t which = find(type);
	unsigned char *at = data;
	uint64_t state = seed + UINT64_C(0x9E3779B97F4A7C15);

	if (which == sizeof types / sizeof *types || types[which].bits == TEXT)
		return;
	for (size_t i = 0; i < count; i++, at += types[which].bytes) {
		uint64_t random = next_random(&state);
		if (types[which].bits == FLOATING) {
			put_float(type, at, random);
			continue;
		}
		/* The lowest byte is the first, because the machine is little-endian. */
		memset(at, 0, types[which].bytes);
		at[0] = (unsigned char)(random >> 63);
	}
}

/* Tensors, which hold their data and do nothing.  Those of strings hold a pointer to each; an empty string is NULL. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_ort.h"

struct OrtValue {
	ONNXTensorElementDataType type;
	size_t rank, bytes;
	int64_t dims[8];
	void *data;
};

static OrtStatus *get_allocator(OrtAllocator **out)
{
	*out = (OrtAllocator *)&api;
	return NULL;
}

static OrtStatus *free_text(OrtAllocator *allocator, void *text)
{
	(void)allocator;
	free(text);
	return NULL;
}

static size_t bytes_of(ONNXTensorElementDataType type)
{
	static const char sizes[] = { 0, 4, 1, 1, 2, 2, 4, 8, 8, 1, 2, 8, 4, 8, 8, 16, 2 };

	return (size_t)type < sizeof sizes ? (size_t)sizes[type] : 0;
}

OrtStatus *create_tensor(OrtAllocator *allocator, const int64_t *dims, size_t rank, ONNXTensorElementDataType type,
                         OrtValue **out)
{
	(void)allocator;
	struct OrtValue *value = calloc(1, sizeof *value);
	value->type = type;
	value->rank = rank;
	value->bytes = bytes_of(type);
	for (size_t i = 0; i < rank; i++) {
		value->dims[i] = dims[i];
		value->bytes *= (size_t)dims[i];
	}
	value->data = value->bytes < 1 << 20 ? calloc(1, value->bytes + 1) : NULL;
	*out = value;
	return value->data ? NULL : (free(value), *out = NULL, api.CreateStatus(ORT_FAIL, "no memory for that"));
}

OrtStatus *check_size(const OrtValue *value, int64_t size)
{
	bool fits = value && value->rank && value->dims[value->rank - 1] == size;

	return fits ? NULL : api.CreateStatus(ORT_FAIL, "a dimension is too small");
}

static OrtStatus *tensor_data(OrtValue *value, void **out)
{
	*out = value->data;
	return NULL;
}

struct text {
	size_t bytes;
	char text[];
};

static OrtStatus *resize_string(OrtValue *value, size_t index, size_t bytes, char **buffer)
{
	struct text **texts = value->data;

	free(texts[index]);
	texts[index] = calloc(1, sizeof **texts + bytes);
	texts[index]->bytes = bytes;
	*buffer = texts[index]->text;
	return NULL;
}

static size_t strings_count(const OrtValue *value)
{
	return value->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING ? value->bytes / sizeof(struct text *) : 0;
}

static void release_value(OrtValue *value)
{
	for (size_t i = 0; i < strings_count(value); i++)
		free(((struct text **)value->data)[i]);
	free(value->data);
	free(value);
}

void tell_values(const char *const *names, const OrtValue *const *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char text[256] = "";
		size_t used = 0;
		for (size_t j = 0; j < values[i]->rank; j++)
			used += (size_t)snprintf(text + used, sizeof text - used, "%s%" PRId64, j ? "," : "",
			                         values[i]->dims[j]);
		used += (size_t)snprintf(text + used, sizeof text - used, " ");
		for (size_t j = 0; j < strings_count(values[i]); j++) {
			const struct text *string = ((struct text **)values[i]->data)[j];
			used += (size_t)snprintf(text + used, sizeof text - used, "<");
			for (size_t k = 0; string && k < string->bytes; k++)
				used += (size_t)snprintf(text + used, sizeof text - used, "%02x",
				                         (uint8_t)string->text[k]);
			used += (size_t)snprintf(text + used, sizeof text - used, ">");
		}
		for (size_t j = 0; !strings_count(values[i]) && j < values[i]->bytes && j < 16; j++)
			used += (size_t)snprintf(text + used, sizeof text - used, "%02x",
			                         ((unsigned char *)values[i]->data)[j]);
		tell("value %s type %d dims %s\n", names[i], (int)values[i]->type, text);
	}
}

void fake_values_fill(void)
{
	api.GetAllocatorWithDefaultOptions = get_allocator;
	api.AllocatorFree = free_text;
	api.CreateTensorAsOrtValue = create_tensor;
	api.GetTensorMutableData = tensor_data;
	api.GetResizedStringTensorElementBuffer = resize_string;
	api.ReleaseValue = release_value;
}

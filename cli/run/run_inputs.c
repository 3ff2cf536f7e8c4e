/* Makes the inputs of the model.
 *
 * First the type and shape of each input are read from the model.  Dimensions that the model leaves open are set by
 * --shape, then by the shapes of files.  Both must agree with the model.  An open dimension with a name gets the value
 * of another dimension with this name.  Every other open dimension is set to 1.  Dimensions that were set in these last
 * two ways are reported.  Then the values are made, from files or at random; random texts are empty. */
#include <bsd/stdlib.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "npy.h"
#include "run.h"

/* ---- shapes as texts ---- */

#define SHAPE_BYTES 512

/* Writes a shape: "8,64".  An unknown dimension is written as its name, or "?". */
static const char *shape_text(const struct run_input *input, char text[SHAPE_BYTES])
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < input->rank && used < SHAPE_BYTES; i++) {
		const char *comma = i ? "," : "";
		if (input->dims[i] >= 0)
			used += (size_t)snprintf(text + used, SHAPE_BYTES - used, "%s%lld", comma,
			                         (long long)input->dims[i]);
		else
			used += (size_t)snprintf(text + used, SHAPE_BYTES - used, "%s%s", comma,
			                         input->dim_names[i] ? input->dim_names[i] : "?");
	}
	return text;
}

/* ---- inputs from the model ---- */

static epp_status *describe_shape(struct run_input *input, const struct ort *ort, const OrtTensorTypeAndShapeInfo *info)
{
	const char *names[RUN_RANK_MAX] = { NULL };

	epp_status *status = ort_check(ort, ort->api->GetTensorElementType(info, &input->type));
	if (!status)
		status = ort_check(ort, ort->api->GetDimensionsCount(info, &input->rank));
	if (!status && input->rank > RUN_RANK_MAX) {
		input->rank = 0;
		status = epp_status_create(EPP_INCOMPATIBLE, "more than %d dimensions", RUN_RANK_MAX);
	}
	if (!status)
		status = ort_check(ort, ort->api->GetDimensions(info, input->dims, input->rank));
	if (!status)
		status = ort_check(ort, ort->api->GetSymbolicDimensions(info, names, input->rank));
	for (size_t i = 0; !status && i < input->rank; i++) {
		if (input->dims[i] < 0)
			input->dims[i] = -1;
		if (names[i] && names[i][0] && !(input->dim_names[i] = strdup(names[i])))
			status = epp_status_no_memory();
	}
	return status;
}

static epp_status *describe(struct run_input *input, const struct ort *ort, const OrtSession *session, size_t index)
{
	const OrtTensorTypeAndShapeInfo *info = NULL;
	OrtAllocator *allocator;
	OrtTypeInfo *type = NULL;
	char *name = NULL;

	epp_status *status = ort_check(ort, ort->api->GetAllocatorWithDefaultOptions(&allocator));
	if (!status)
		status = ort_check(ort, ort->api->SessionGetInputName(session, index, allocator, &name));
	if (!status && !(input->name = ort_text(ort, name)))
		status = epp_status_no_memory();
	if (!status)
		status = ort_check(ort, ort->api->SessionGetInputTypeInfo(session, index, &type));
	if (!status)
		status = ort_check(ort, ort->api->CastTypeInfoToTensorInfo(type, &info));
	if (!status && !info)
		status = epp_status_create(EPP_INCOMPATIBLE,
		                           "it is not a tensor, and values of other kinds are not supported");
	if (!status)
		status = describe_shape(input, ort, info);
	if (!status && !run_type_bytes(input->type))
		status = epp_status_create(EPP_INCOMPATIBLE, "values of ONNX's %s are not supported",
		                           run_type_name(input->type));
	if (type)
		ort->api->ReleaseTypeInfo(type);
	return epp_status_prefix(status, "input '%s'", input->name ? input->name : "");
}

static epp_status *describe_outputs(struct run_inputs *inputs, const struct ort *ort, const OrtSession *session)
{
	OrtAllocator *allocator;
	size_t count;

	epp_status *status = ort_check(ort, ort->api->GetAllocatorWithDefaultOptions(&allocator));
	if (!status)
		status = ort_check(ort, ort->api->SessionGetOutputCount(session, &count));
	if (!status && !(inputs->output_names = calloc(count + 1, sizeof *inputs->output_names)))
		status = epp_status_no_memory();
	for (size_t i = 0; !status && i < count; i++) {
		char *name = NULL;
		status = ort_check(ort, ort->api->SessionGetOutputName(session, i, allocator, &name));
		if (!status && !(inputs->output_names[i] = ort_text(ort, name)))
			status = epp_status_no_memory();
		inputs->outputs_count += !status;
	}
	return status;
}

/* ---- inputs from the command line ---- */

/* Returns the input whose name is the first `bytes` bytes of `name`; NULL: there is none. */
static struct run_input *find(const struct run_inputs *inputs, const char *name, size_t bytes)
{
	for (size_t i = 0; i < inputs->count; i++) {
		if (strlen(inputs->inputs[i].name) == bytes && memcmp(inputs->inputs[i].name, name, bytes) == 0)
			return &inputs->inputs[i];
	}
	return NULL;
}

static epp_status *unknown_input(const struct run_inputs *inputs, const char *option, const char *name, size_t bytes)
{
	char list[1024] = "";
	size_t used = 0;

	for (size_t i = 0; i < inputs->count && used < sizeof list; i++)
		used += (size_t)snprintf(list + used, sizeof list - used, "%s'%s'", i ? ", " : "", inputs->inputs[i].name);
	return epp_status_create(EPP_INVALID_ARGUMENT, "%s: the model has no input '%.*s'; it has %s", option,
	                         (int)bytes, name, inputs->count ? list : "none");
}

/* Sets a dimension.  Returns false if it is already set to another value. */
static bool set_dimension(struct run_input *input, size_t i, int64_t dim)
{
	if (input->dims[i] >= 0)
		return input->dims[i] == dim;
	input->dims[i] = dim;
	return true;
}

static epp_status *apply_shape(struct run_inputs *inputs, const char *text)
{
	const char *equals = strrchr(text, '='), *at = equals ? equals + 1 : "";
	char has[SHAPE_BYTES];

	if (!equals)
		return epp_status_create(EPP_INVALID_ARGUMENT, "--shape %s: not NAME=8,64", text);
	struct run_input *input = find(inputs, text, (size_t)(equals - text));
	if (!input)
		return unknown_input(inputs, "--shape", text, (size_t)(equals - text));
	struct run_input asked = { .rank = 0 };
	while (*at) {
		char number[24];
		const char *problem;
		size_t bytes = strcspn(at, ",");
		snprintf(number, sizeof number, "%.*s", (int)(bytes < sizeof number ? bytes : sizeof number - 1), at);
		int64_t dim = strtonum(number, 0, INT32_MAX, &problem);
		if (problem || asked.rank == RUN_RANK_MAX)
			return epp_status_create(EPP_INVALID_ARGUMENT, "--shape %s: '%s' is %s", text, number,
			                         problem ? problem : "too much");
		asked.dims[asked.rank++] = dim;
		at += bytes + (at[bytes] == ',');
	}
	bool fits = asked.rank == input->rank;
	for (size_t i = 0; fits && i < input->rank; i++)
		fits = input->dims[i] < 0 || input->dims[i] == asked.dims[i];
	if (!fits)
		return epp_status_create(EPP_INVALID_ARGUMENT, "--shape %s: the model's input '%s' has the shape %s",
		                         text, input->name, input->rank ? shape_text(input, has) : "of a scalar");
	memcpy(input->dims, asked.dims, sizeof input->dims);
	return NULL;
}

/* Returns the input that NAME=FILE names, and sets *file to FILE; NULL: there is none.  Both parts may contain '=', so
 * the input with the longest name that fits is used. */
static struct run_input *find_named(const struct run_inputs *inputs, const char *text, const char **file)
{
	for (size_t i = strlen(text); i-- > 0;) {
		struct run_input *input = text[i] == '=' ? find(inputs, text, i) : NULL;
		if (input) {
			*file = text + i + 1;
			return input;
		}
	}
	return NULL;
}

/* Parses [NAME=]FILE.npy or [NAME=]random. */
static epp_status *apply_source(struct run_inputs *inputs, const char *text)
{
	const char *equals = strrchr(text, '='), *source = text;
	struct run_input *input = find_named(inputs, text, &source);

	if (!input && strcmp(text, "random") == 0)
		return NULL;
	if (!input && equals && (inputs->count != 1 || access(text, F_OK) != 0))
		return unknown_input(inputs, "--input", text, (size_t)(equals - text));
	if (!input && inputs->count != 1)
		return epp_status_create(EPP_INVALID_ARGUMENT,
		                         "--input %s: the model has %zu inputs; use --input NAME=FILE.npy for each",
		                         text, inputs->count);
	if (!input)
		input = &inputs->inputs[0];
	if (input->source)
		return epp_status_create(EPP_INVALID_ARGUMENT, "--input %s: input '%s' has a file already, '%s'", text,
		                         input->name, input->source);
	input->source = strcmp(source, "random") == 0 ? NULL : source;
	return NULL;
}

static epp_status *make_shape_error(const struct run_input *input, const struct npy *npy)
{
	struct run_input there = { .type = npy->type, .rank = npy->rank };
	char has[SHAPE_BYTES], wants[SHAPE_BYTES];

	memcpy(there.dims, npy->dims, sizeof there.dims);
	return epp_status_create(EPP_INVALID_ARGUMENT, "%s: %s of shape (%s); the model's input '%s' is %s of shape (%s)",
	                         input->source, run_type_name(npy->type), shape_text(&there, has), input->name,
	                         run_type_name(input->type), shape_text(input, wants));
}

/* Sets the open dimensions of an input from the shape of its file. */
static epp_status *apply_file(struct run_input *input)
{
	struct npy npy;

	epp_status *status = npy_open(input->source, &npy);
	if (status)
		return status;
	npy_close(&npy);
	bool fits = npy.type == input->type && npy.rank == input->rank;
	for (size_t i = 0; fits && i < npy.rank; i++)
		fits = input->dims[i] < 0 || input->dims[i] == npy.dims[i];
	if (!fits)
		return make_shape_error(input, &npy);
	for (size_t i = 0; i < npy.rank; i++)
		set_dimension(input, i, npy.dims[i]);
	return NULL;
}

/* Returns the value of a dimension with this name, and sets *is_guessed to its is_guessed; -1: no dimension with this
 * name has a value yet. */
static int64_t find_named_dimension(const struct run_inputs *inputs, const char *name, bool *is_guessed)
{
	for (size_t i = 0; i < inputs->count; i++) {
		const struct run_input *input = &inputs->inputs[i];
		for (size_t j = 0; j < input->rank; j++) {
			if (input->dims[j] >= 0 && input->dim_names[j] && strcmp(input->dim_names[j], name) == 0) {
				*is_guessed = input->is_guessed[j];
				return input->dims[j];
			}
		}
	}
	return -1;
}

static void set_other_dimensions(struct run_inputs *inputs)
{
	for (size_t i = 0; i < inputs->count; i++) {
		struct run_input *input = &inputs->inputs[i];
		char before[SHAPE_BYTES], after[SHAPE_BYTES];
		bool open = false;
		shape_text(input, before);
		for (size_t j = 0; j < input->rank; j++) {
			if (input->dims[j] >= 0)
				continue;
			bool is_guessed = true;
			int64_t elsewhere = input->dim_names[j]
			                        ? find_named_dimension(inputs, input->dim_names[j], &is_guessed)
			                        : -1;
			input->is_guessed[j] = is_guessed;
			set_dimension(input, j, elsewhere >= 0 ? elsewhere : 1);
			open = true;
		}
		if (open)
			fprintf(stderr,
			        "epprof: input '%s' has the shape %s; it is taken as %s (--shape %s=... sets it)\n",
			        input->name, before, shape_text(input, after), input->name);
	}
}

/* ---- values ---- */

static epp_status *read_numbers(const struct run_input *input, const struct ort *ort, struct npy *npy)
{
	void *data;

	TRY(ort_check(ort, ort->api->GetTensorMutableData(input->value, &data)));
	return npy_read(npy, input->source, data);
}

static epp_status *set_text(const struct run_input *input, const struct ort *ort, const struct npy *npy, size_t index,
                            const char *element)
{
	size_t length;
	char *text;

	if (!npy_text(npy, element, NULL, &length))
		return epp_status_create(EPP_INVALID_ARGUMENT, "%s: element %zu is not Unicode", input->source, index);
	TRY(ort_check(ort, ort->api->GetResizedStringTensorElementBuffer(input->value, index, length, &text)));
	npy_text(npy, element, text, &length);
	return NULL;
}

static epp_status *read_texts(const struct run_input *input, const struct ort *ort, struct npy *npy)
{
	char *elements = malloc(npy->elements_count * npy->element_bytes + 1);

	if (!elements)
		return epp_status_no_memory();
	epp_status *status = npy_read(npy, input->source, elements);
	for (size_t i = 0; !status && i < npy->elements_count; i++)
		status = set_text(input, ort, npy, i, elements + i * npy->element_bytes);
	free(elements);
	return status;
}

static epp_status *read_file(const struct run_input *input, const struct ort *ort, size_t count)
{
	struct npy npy;

	epp_status *status = npy_open(input->source, &npy);
	if (status)
		return status;
	/* The file may have changed since apply_file has read its shape. */
	if (npy.elements_count != count || npy.type != input->type)
		status = make_shape_error(input, &npy);
	else if (npy.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING)
		status = read_texts(input, ort, &npy);
	else
		status = read_numbers(input, ort, &npy);
	npy_close(&npy);
	return status;
}

epp_status *run_inputs_make_value(struct run_input *input, const struct ort *ort, uint64_t seed)
{
	OrtAllocator *allocator;
	size_t bytes = run_type_bytes(input->type), count = 1;
	void *data;

	for (size_t i = 0; i < input->rank; i++) {
		if (__builtin_mul_overflow(bytes, (size_t)input->dims[i], &bytes))
			return epp_status_create(EPP_INVALID_ARGUMENT,
			                         "input '%s': its shape is larger than any memory", input->name);
		count *= (size_t)input->dims[i];
	}
	epp_status *status = ort_check(ort, ort->api->GetAllocatorWithDefaultOptions(&allocator));
	if (!status)
		status = ort_check(ort, ort->api->CreateTensorAsOrtValue(allocator, input->dims, input->rank,
		                                                         input->type, &input->value));
	if (!status && input->source)
		return read_file(input, ort, count);
	/* New strings are empty, so only other types are filled. */
	if (!status && input->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
		status = ort_check(ort, ort->api->GetTensorMutableData(input->value, &data));
		if (!status)
			run_fill_random(input->type, data, count, seed);
	}
	return epp_status_prefix(status, "input '%s'", input->name);
}

/* ---- all inputs ---- */

static epp_status *create(struct run_inputs *inputs, const struct ort *ort, const OrtSession *session,
                          const struct run_options *options)
{
	size_t count;

	epp_status *status = ort_check(ort, ort->api->SessionGetInputCount(session, &count));
	if (!status && (!(inputs->inputs = calloc(count + 1, sizeof *inputs->inputs)) ||
	                !(inputs->names = calloc(count + 1, sizeof *inputs->names)) ||
	                !(inputs->values = calloc(count + 1, sizeof *inputs->values))))
		status = epp_status_no_memory();
	for (size_t i = 0; !status && i < count; i++) {
		status = describe(&inputs->inputs[inputs->count++], ort, session, i);
	}
	if (!status)
		status = describe_outputs(inputs, ort, session);
	for (size_t i = 0; !status && i < options->shapes_count; i++)
		status = apply_shape(inputs, options->shapes[i]);
	for (size_t i = 0; !status && i < options->inputs_count; i++)
		status = apply_source(inputs, options->inputs[i]);
	for (size_t i = 0; !status && i < inputs->count; i++) {
		if (inputs->inputs[i].source)
			status = apply_file(&inputs->inputs[i]);
	}
	if (!status)
		set_other_dimensions(inputs);
	for (size_t i = 0; !status && i < inputs->count; i++) {
		status = run_inputs_make_value(&inputs->inputs[i], ort, i);
		inputs->names[i] = inputs->inputs[i].name;
		inputs->values[i] = inputs->inputs[i].value;
	}
	return status;
}

epp_status *run_inputs_create(struct run_inputs *inputs, const struct ort *ort, const OrtSession *session,
                              const struct run_options *options)
{
	memset(inputs, 0, sizeof *inputs);
	epp_status *status = create(inputs, ort, session, options);
	if (status)
		run_inputs_destroy(inputs, ort);
	return status;
}

void run_inputs_destroy(struct run_inputs *inputs, const struct ort *ort)
{
	for (size_t i = 0; i < inputs->count; i++) {
		struct run_input *input = &inputs->inputs[i];
		if (input->value)
			ort->api->ReleaseValue(input->value);
		for (size_t j = 0; j < input->rank; j++)
			free(input->dim_names[j]);
		free(input->name);
	}
	for (size_t i = 0; i < inputs->outputs_count; i++)
		free(inputs->output_names[i]);
	free(inputs->inputs);
	free(inputs->names);
	free(inputs->values);
	free(inputs->output_names);
	memset(inputs, 0, sizeof *inputs);
}

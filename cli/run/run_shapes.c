/* Suggests sizes for open dimensions if a model does not run with the default size.
 *
 * An open dimension is one that neither the model nor the command line sets.  It is set to 1, which is too small for
 * some models, for example those with a convolution or a spectrum.  Each size of a list is tried for all open
 * dimensions at once: first for all but the first open dimension of each input, because this is usually the batch size
 * and stays 1; then for all.  The search stops after SECONDS_MAX, and skips sizes with which an input has more than
 * ELEMENTS_MAX elements.  Profiling has already ended, so these runs are not recorded. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "run.h"

static const int64_t sizes[] = { 2,   3,   4,   8,   16,  32,  64,  80,  96,  128, 160, 192,
	                         224, 256, 320, 384, 448, 480, 512, 576, 640, 768, 1024 };
#define SIZES_COUNT (sizeof sizes / sizeof *sizes)
#define ELEMENTS_MAX (UINT64_C(1) << 24) /* most elements of an input */
#define SECONDS_MAX 10

static bool set_size(struct run_input *input, int64_t size, bool all)
{
	bool is_first = true, any = false;

	for (size_t i = 0; i < input->rank; i++) {
		if (!input->is_guessed[i])
			continue;
		input->dims[i] = all || !is_first ? size : 1;
		any |= all || !is_first;
		is_first = false;
	}
	return any;
}

static bool is_small(const struct run_inputs *inputs)
{
	for (size_t i = 0; i < inputs->count; i++) {
		const struct run_input *input = &inputs->inputs[i];
		uint64_t elements = 1;
		for (size_t j = 0; j < input->rank; j++) {
			if (__builtin_mul_overflow(elements, (uint64_t)input->dims[j], &elements))
				return false;
		}
		if (elements > ELEMENTS_MAX)
			return false;
	}
	return true;
}

static epp_status *make_values(struct run_inputs *inputs, const struct ort *ort)
{
	epp_status *status = NULL;

	for (size_t i = 0; i < inputs->count && !status; i++) {
		struct run_input *input = &inputs->inputs[i];
		if (input->value)
			ort->api->ReleaseValue(input->value);
		input->value = NULL;
		status = run_inputs_make_value(input, ort, i);
		inputs->values[i] = input->value;
	}
	return status;
}

static bool try_run(struct run_inputs *inputs, const struct ort *ort, OrtSession *session, OrtValue **outputs)
{
	OrtRunOptions *options = NULL;

	epp_status *status = make_values(inputs, ort);
	if (!status)
		status = ort_check(ort, ort->api->CreateRunOptions(&options));
	if (!status)
		status = ort_check(ort, ort->api->Run(session, options, inputs->names, inputs->values, inputs->count,
		                                      (const char *const *)inputs->output_names, inputs->outputs_count,
		                                      outputs));
	for (size_t i = 0; i < inputs->outputs_count; i++) {
		if (outputs[i])
			ort->api->ReleaseValue(outputs[i]);
		outputs[i] = NULL;
	}
	if (options)
		ort->api->ReleaseRunOptions(options);
	bool ran = !status;
	epp_status_destroy(status);
	return ran;
}

static void print_shapes(const struct run_inputs *inputs, bool all)
{
	fprintf(stderr, "epprof: the smallest size tried with which the model runs:");
	for (size_t i = 0; i < inputs->count; i++) {
		struct run_input input = inputs->inputs[i];
		if (!set_size(&input, 1, all))
			continue;
		fprintf(stderr, " --shape %s=", input.name);
		for (size_t j = 0; j < input.rank; j++)
			fprintf(stderr, "%s%lld", j ? "," : "", (long long)inputs->inputs[i].dims[j]);
	}
	fprintf(stderr, "\n");
}

void run_shapes_suggest(struct run_inputs *inputs, const struct ort *ort, OrtSession *session)
{
	OrtValue **outputs = calloc(inputs->outputs_count + 1, sizeof *outputs);
	time_t end = time(NULL) + SECONDS_MAX;
	bool tried = false;

	for (size_t i = 0; outputs && i < 2 * SIZES_COUNT && !cli_signal && time(NULL) <= end; i++) {
		bool all = i >= SIZES_COUNT, any = false;
		for (size_t j = 0; j < inputs->count; j++)
			any |= set_size(&inputs->inputs[j], sizes[i % SIZES_COUNT], all);
		if (!any || !is_small(inputs))
			continue;
		tried = true;
		if (try_run(inputs, ort, session, outputs)) {
			print_shapes(inputs, all);
			free(outputs);
			return;
		}
	}
	if (tried && !cli_signal)
		fprintf(stderr,
		        "epprof: the model runs with no size from 2 to 1024 that was tried for its open dimensions (--shape sets them)\n");
	free(outputs);
}

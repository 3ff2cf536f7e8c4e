/* Runs the chain of a fused node.  Several threads may call Compute at the same time: a plan does not change after
 * Compile, and each call has its own state.  Calls use the two compute streams in turn. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "ort_ep_graph.h"

struct tensor {
	const float *values;
	size_t count;
	int64_t dimensions[DIMENSIONS_MAX];
	size_t dimensions_count;
};

static atomic_uint chains_count;

static OrtStatus *failed(const struct sample_plan *plan, accelerator_result result)
{
	return result ? plan->api->ort->CreateStatus(ORT_EP_FAIL, accelerator_result_text(result)) : NULL;
}

static OrtStatus *shape_read(const OrtApi *ort, const OrtTensorTypeAndShapeInfo *shape, struct tensor *tensor)
{
	TRY(ort->GetTensorShapeElementCount(shape, &tensor->count));
	TRY(ort->GetDimensionsCount(shape, &tensor->dimensions_count));
	if (tensor->dimensions_count > DIMENSIONS_MAX)
		return ort->CreateStatus(ORT_NOT_IMPLEMENTED, "sample EP: more than 16 dimensions");
	return ort->GetDimensions(shape, tensor->dimensions, tensor->dimensions_count);
}

static OrtStatus *input_read(const OrtApi *ort, const OrtKernelContext *context, size_t index, struct tensor *tensor)
{
	const OrtValue *value;
	const void *values;
	OrtTensorTypeAndShapeInfo *shape;
	TRY(ort->KernelContext_GetInput(context, index, &value));
	TRY(ort->GetTensorData(value, &values));
	tensor->values = values;
	TRY(ort->GetTensorTypeAndShape(value, &shape));
	OrtStatus *status = shape_read(ort, shape, tensor);
	ort->ReleaseTensorTypeAndShapeInfo(shape);
	return status;
}

/* Creates the output y.  Its dimensions are those of x, except the last one, which is that of the last gemm. */
static OrtStatus *output_create(const struct sample_plan *plan, OrtKernelContext *context, const struct tensor *x,
                                float **values)
{
	int64_t dimensions[DIMENSIONS_MAX];
	memcpy(dimensions, x->dimensions, sizeof(dimensions));
	for (size_t i = 0; i < plan->kernels_count; i++) {
		if (plan->kernels[i].op == ACCELERATOR_GEMM)
			dimensions[x->dimensions_count - 1] = plan->kernels[i].outputs;
	}
	OrtValue *y;
	void *data;
	TRY(plan->api->ort->KernelContext_GetOutput(context, 0, dimensions, x->dimensions_count, &y));
	TRY(plan->api->ort->GetTensorMutableData(y, &data));
	*values = data;
	return NULL;
}

/* Copies weights that are no constants to the device, and releases them when the chain is queued. */
static OrtStatus *chain_run(const struct sample_plan *plan, const OrtKernelContext *context, accelerator_chain *chain,
                            accelerator_kernel *kernels)
{
	accelerator_result result = ACCELERATOR_OK;
	OrtStatus *status = NULL;
	accelerator_event done;
	for (size_t i = 0; i < plan->kernels_count && !status && !result; i++) {
		kernels[i] = plan->kernels[i];
		if (plan->weights_inputs[i] == SAMPLE_NO_INPUT)
			continue;
		struct tensor weights;
		status = input_read(plan->api->ort, context, plan->weights_inputs[i], &weights);
		if (!status)
			result = accelerator_upload(sample_device(), weights.values, weights.count, chain->tag,
			                            &kernels[i].weights, NULL);
	}
	if (!status && !result)
		result = accelerator_chain_submit(sample_device(), chain, &done);
	/* A chain ends with the copy out, so its launch has ended when this returns.  If the chain failed, there is no
	 * copy out, and the device is waited for. */
	if (!status && !result)
		sample_wait(done);
	else
		accelerator_synchronise(sample_device());
	for (size_t i = 0; i < plan->kernels_count; i++) {
		if (plan->weights_inputs[i] != SAMPLE_NO_INPUT)
			accelerator_buffer_release(kernels[i].weights);
	}
	if (status || result)
		sample_launch_end((struct sample_launch *)(uintptr_t)chain->tag);
	return status ? status : failed(plan, result);
}

static OrtStatus *node_compute(OrtNodeComputeInfo *info, void *state, OrtKernelContext *context)
{
	(void)state;
	const struct sample_plan *plan = (const struct sample_plan *)info;
	struct tensor x;
	accelerator_chain chain = { .kernels_count = plan->kernels_count };
	TRY(input_read(plan->api->ort, context, plan->x_input, &x));
	TRY(output_create(plan, context, &x, &chain.y));
	if (x.count == 0)
		return NULL;
	chain.x = x.values;
	chain.x_count = x.count;
	chain.kernels = plan->kernels;
	if (accelerator_chain_y_count(&chain) == 0)
		return plan->api->ort->CreateStatus(ORT_EP_FAIL, "sample EP: the accelerator takes 65536 rows and no more");
	chain.stream = (accelerator_stream)(atomic_fetch_add(&chains_count, 1) % ACCELERATOR_COPY_ENGINE);
	accelerator_kernel *kernels = calloc(plan->kernels_count, sizeof(*kernels));
	struct sample_launch *launch = kernels ? sample_launch_begin((const char *const *)plan->names, plan->graph, false)
	                                       : NULL;
	OrtStatus *status;
	if (launch) {
		chain.kernels = kernels;
		chain.tag = (uintptr_t)launch;
		status = chain_run(plan, context, &chain, kernels);
	} else {
		status = failed(plan, ACCELERATOR_OUT_OF_MEMORY);
	}
	free(kernels);
	return status;
}

static OrtStatus *node_create_state(OrtNodeComputeInfo *info, OrtNodeComputeContext *context, void **state)
{
	(void)info, (void)context;
	*state = NULL;
	return NULL;
}

static void node_release_state(OrtNodeComputeInfo *info, void *state)
{
	(void)info, (void)state;
}

void sample_plan_info(struct sample_plan *plan)
{
	plan->info = (OrtNodeComputeInfo){
		.ort_version_supported = EPPROF_ORT_API_VERSION_MIN,
		.CreateState = node_create_state,
		.Compute = node_compute,
		.ReleaseState = node_release_state,
	};
}

/* How the sample EP runs ONNX models: it claims Gemm, MatMul, Add, Relu and, if the device has it, Softmax on floats
 * where the device can do them, nodes that follow one another as one fused node, and compiles each fused node to a
 * chain of kernels. */
#ifndef EPPROF_EP_SAMPLE_ORT_EP_GRAPH_H
#define EPPROF_EP_SAMPLE_ORT_EP_GRAPH_H

#include "accelerator_chain.h"
#include "ort_ep_launch.h"

/* For OrtEp::GetCapability. */
OrtStatus *sample_graph_claim(const struct sample_api *api, const OrtGraph *graph, OrtEpGraphSupportInfo *support);

/* Compiles one fused node for OrtEp::Compile, and copies its constants to the device.
 * Ownership: sample_graph_release frees the info, which is NULL on failure. */
OrtStatus *sample_graph_compile(const struct sample_api *api, const OrtGraph *graph, const OrtNode *fused_node,
                                OrtNodeComputeInfo **info);
void sample_graph_release(OrtNodeComputeInfo *info);

/* ---- between ort_ep_graph.c, which makes a plan, and ort_ep_compute.c, which runs it ---- */

#define SAMPLE_NO_INPUT SIZE_MAX
#define DIMENSIONS_MAX 16

/* Returns the status of an expression from the function if it is an error. */
#define TRY(expression) \
	do { \
		OrtStatus *status_ = (expression); \
		if (status_) \
			return status_; \
	} while (0)

struct sample_plan {
	OrtNodeComputeInfo info; /* first: this is what ONNX Runtime sees */
	const struct sample_api *api;
	size_t x_input; /* of the fused node */
	uint64_t graph; /* the number of the graph of these kernels */
	size_t kernels_count;
	accelerator_kernel *kernels; /* with weights that are constant, all on the device */
	size_t *weights_inputs;      /* of each kernel; SAMPLE_NO_INPUT if its weights are constant or it has none */
	char **names;                /* the ONNX node of each kernel */
};

/* Fills plan->info. */
void sample_plan_info(struct sample_plan *plan);

#endif

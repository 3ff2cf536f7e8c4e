/* Runs a node as a chain of one kernel, after its weights are copied in. */
#include "accelerator_node.h"

#include "accelerator_chain.h"

accelerator_result accelerator_node_submit(accelerator *device, const accelerator_node *node, accelerator_event *done)
{
	if (device == NULL || node == NULL)
		return ACCELERATOR_BAD_ARGUMENT;
	accelerator_kernel kernel = { .op = node->op, .columns = node->columns, .outputs = node->outputs };
	accelerator_chain chain = { .kernels = &kernel, .kernels_count = 1, .stream = node->stream };
	chain.x = node->x;
	chain.x_count = (size_t)node->rows * node->columns;
	chain.y = node->y;
	chain.tag = node->tag;
	if (accelerator_chain_y_count(&chain) == 0)
		return ACCELERATOR_BAD_ARGUMENT;

	accelerator_result result = ACCELERATOR_OK;
	size_t weights_count = node->op == ACCELERATOR_GEMM   ? (size_t)node->columns * node->outputs
	                       : node->op == ACCELERATOR_BIAS ? node->columns
	                                                      : 0;
	if (weights_count > 0)
		result = accelerator_upload(device, node->weights, weights_count, node->tag, &kernel.weights, NULL);
	if (result == ACCELERATOR_OK)
		result = accelerator_chain_submit(device, &chain, done);
	if (result)
		accelerator_synchronise(device);
	accelerator_buffer_release(kernel.weights);
	return result;
}

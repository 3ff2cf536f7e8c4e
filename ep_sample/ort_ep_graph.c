/* Decides which nodes of a graph the EP claims, and compiles them.
 *
 * A node becomes one or two kernels (a Gemm with a bias becomes two).  For each node, the following is stored: `x`, the
 * matrix that the kernels read, an operand for each kernel, and the shapes that the graph contains.  A kernel works on
 * rows, so only the last dimensions of x must be known.  GetCapability and Compile read nodes with the same code, so
 * that each claimed node can be compiled.
 *
 * Nodes are fused if they form a path: the x of each node is the result of the previous node, and no other node uses
 * that result.  So only the end of a path has consumers outside, and a fused node never depends on itself. */
#include "ort_ep_graph.h"

#include "ort_ep_device.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define INPUTS_MAX 3
#define KERNELS_MAX 2

struct kernel_reading {
	accelerator_op op;
	uint32_t columns;
	uint32_t outputs;
	const OrtValueInfo *operand; /* NULL: the kernel has no operand */
	bool transposed;             /* the operand is transposed; it must then be a constant */
};

struct node_reading {
	const OrtNode *node;
	const OrtValueInfo *x;
	const char *x_name;
	const char *y_name;
	bool y_is_shared;     /* y has several consumers, or is an output of the graph */
	size_t kernels_count; /* 0: the EP does not claim the node */
	struct kernel_reading kernels[KERNELS_MAX];
};

/* The shape of a float tensor; -1: the dimension is unknown. */
struct shape {
	size_t count; /* number of dimensions; 0: unknown, a scalar, or not a float tensor */
	int64_t dimensions[DIMENSIONS_MAX];
};

static atomic_uint_fast64_t graphs_count; /* of models */

/* ---- reading nodes ---- */

static OrtStatus *shape_read(const OrtApi *ort, const OrtValueInfo *value, struct shape *shape)
{
	const OrtTypeInfo *type = NULL;
	const OrtTensorTypeAndShapeInfo *tensor = NULL;
	ONNXTensorElementDataType element;
	size_t count;
	shape->count = 0;
	TRY(ort->GetValueInfoTypeInfo(value, &type));
	if (type)
		TRY(ort->CastTypeInfoToTensorInfo(type, &tensor));
	if (!tensor)
		return NULL;
	TRY(ort->GetTensorElementType(tensor, &element));
	TRY(ort->GetDimensionsCount(tensor, &count));
	if (element != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || count > DIMENSIONS_MAX)
		return NULL;
	TRY(ort->GetDimensions(tensor, shape->dimensions, count));
	shape->count = count;
	return NULL;
}

static bool side_valid(int64_t side)
{
	return side >= 1 && side <= ACCELERATOR_MAX_SIDE;
}

static int64_t last_dimension(const struct shape *shape)
{
	return shape->count > 0 ? shape->dimensions[shape->count - 1] : -1;
}

static void kernel_add(struct node_reading *reading, accelerator_op op, int64_t columns, int64_t outputs,
                       const OrtValueInfo *operand)
{
	reading->kernels[reading->kernels_count++] = (struct kernel_reading){ op, (uint32_t)columns, (uint32_t)outputs,
		                                                              operand, false };
}

/* Accepts x + operand if the dimensions of the operand are known and equal to the last dimensions of x. */
static bool bias_read(struct node_reading *reading, const struct shape *x, const OrtValueInfo *operand,
                      const struct shape *shape)
{
	size_t first = 0;
	int64_t columns = 1;
	while (first + 1 < shape->count && shape->dimensions[first] == 1)
		first++;
	size_t count = shape->count - first;
	if (shape->count == 0 || shape->count > x->count)
		return false;
	for (size_t i = 0; i < count; i++) {
		int64_t side = shape->dimensions[first + i];
		if (!side_valid(side) || side != x->dimensions[x->count - count + i] || !side_valid(columns *= side))
			return false;
	}
	kernel_add(reading, ACCELERATOR_BIAS, columns, columns, operand);
	return true;
}

static bool relu_read(struct node_reading *reading, const struct shape *shapes)
{
	int64_t columns = last_dimension(&shapes[0]);
	if (side_valid(columns))
		kernel_add(reading, ACCELERATOR_RELU, columns, columns, NULL);
	return reading->kernels_count > 0;
}

static bool add_read(struct node_reading *reading, const OrtValueInfo *const *inputs, const struct shape *shapes)
{
	if (bias_read(reading, &shapes[0], inputs[1], &shapes[1]))
		return true;
	reading->x = inputs[1];
	return bias_read(reading, &shapes[1], inputs[0], &shapes[0]);
}

static bool matmul_read(struct node_reading *reading, const OrtValueInfo *const *inputs, const struct shape *shapes)
{
	int64_t columns = last_dimension(&shapes[0]);
	if (shapes[0].count < 2 || shapes[1].count != 2 || !side_valid(columns) || shapes[1].dimensions[0] != columns ||
	    !side_valid(shapes[1].dimensions[1]))
		return false;
	kernel_add(reading, ACCELERATOR_GEMM, columns, shapes[1].dimensions[1], inputs[1]);
	return true;
}

/* Reads an attribute of a Gemm.  An attribute that is not set has its default value. */
static OrtStatus *attribute_read(const OrtApi *ort, const OrtNode *node, const char *name, OrtOpAttrType type,
                                 void *value, size_t bytes)
{
	const OrtOpAttr *attribute = NULL;
	TRY(ort->Node_GetAttributeByName(node, name, &attribute));
	return attribute ? ort->ReadOpAttr(attribute, type, value, bytes, &bytes) : NULL;
}

/* Accepts a Gemm with alpha and beta 1 whose first operand is not transposed.  The second operand may be transposed if
 * it is a constant. */
static OrtStatus *gemm_read(const OrtApi *ort, const OrtNode *node, struct node_reading *reading,
                            const OrtValueInfo *const *inputs, struct shape *shapes)
{
	float alpha = 1, beta = 1;
	int64_t transposed_a = 0, transposed_b = 0;
	bool is_constant = false;
	TRY(attribute_read(ort, node, "alpha", ORT_OP_ATTR_FLOAT, &alpha, sizeof(alpha)));
	TRY(attribute_read(ort, node, "beta", ORT_OP_ATTR_FLOAT, &beta, sizeof(beta)));
	TRY(attribute_read(ort, node, "transA", ORT_OP_ATTR_INT, &transposed_a, sizeof(transposed_a)));
	TRY(attribute_read(ort, node, "transB", ORT_OP_ATTR_INT, &transposed_b, sizeof(transposed_b)));
	TRY(ort->ValueInfo_IsConstantInitializer(inputs[1], &is_constant));
	if (alpha != 1 || (inputs[2] && beta != 1) || transposed_a || (transposed_b && !is_constant))
		return NULL;
	if (transposed_b) {
		int64_t rows = shapes[1].dimensions[0];
		shapes[1].dimensions[0] = shapes[1].dimensions[1];
		shapes[1].dimensions[1] = rows;
	}
	if (!matmul_read(reading, inputs, shapes))
		return NULL;
	reading->kernels[0].transposed = transposed_b != 0;
	const struct shape y = { 2, { shapes[0].dimensions[0], reading->kernels[0].outputs } };
	if (inputs[2] && !bias_read(reading, &y, inputs[2], &shapes[2]))
		reading->kernels_count = 0;
	return NULL;
}

/* Reads the names of the input x and the output y.  ONNX Runtime removes constants from the inputs of a fused node, so
 * a node whose x is constant is not supported. */
static OrtStatus *input_output_read(const OrtApi *ort, struct node_reading *reading)
{
	const OrtValueInfo *y;
	size_t consumers_count;
	bool is_constant;
	TRY(ort->Node_GetOutputs(reading->node, &y, 1));
	TRY(ort->GetValueInfoName(reading->x, &reading->x_name));
	TRY(ort->GetValueInfoName(y, &reading->y_name));
	TRY(ort->ValueInfo_GetValueNumConsumers(y, &consumers_count));
	TRY(ort->ValueInfo_IsGraphOutput(y, &reading->y_is_shared));
	reading->y_is_shared |= consumers_count != 1;
	TRY(ort->ValueInfo_IsConstantInitializer(reading->x, &is_constant));
	if (is_constant)
		reading->kernels_count = 0;
	return NULL;
}

/* Accepts a Softmax of rows.  If there is no axis and there are more than two dimensions, the version of the operator
 * determines what a row is. */
static OrtStatus *softmax_read(const OrtApi *ort, const OrtNode *node, struct node_reading *reading,
                               const struct shape *shapes)
{
	int64_t columns = last_dimension(&shapes[0]), last = (int64_t)shapes[0].count - 1, axis = last == 1 ? last : -2;
	TRY(attribute_read(ort, node, "axis", ORT_OP_ATTR_INT, &axis, sizeof(axis)));
	if (sample_device_kind.has_softmax && side_valid(columns) && (axis == -1 || axis == last))
		kernel_add(reading, ACCELERATOR_SOFTMAX, columns, columns, NULL);
	return NULL;
}

static OrtStatus *node_read(const OrtApi *ort, const OrtNode *node, struct node_reading *reading)
{
	const char *type;
	const char *domain;
	const OrtValueInfo *inputs[INPUTS_MAX] = { NULL };
	struct shape shapes[INPUTS_MAX] = { { 0 } };
	size_t inputs_count;
	*reading = (struct node_reading){ .node = node };
	TRY(ort->Node_GetOperatorType(node, &type));
	TRY(ort->Node_GetDomain(node, &domain));
	TRY(ort->Node_GetNumInputs(node, &inputs_count));
	if ((domain[0] != '\0' && strcmp(domain, "ai.onnx") != 0) || inputs_count > INPUTS_MAX)
		return NULL;
	TRY(ort->Node_GetInputs(node, inputs, inputs_count));
	for (size_t i = 0; i < inputs_count; i++) {
		if (inputs[i])
			TRY(shape_read(ort, inputs[i], &shapes[i]));
	}
	reading->x = inputs[0];
	if (strcmp(type, "Relu") == 0)
		relu_read(reading, shapes);
	else if (strcmp(type, "Softmax") == 0)
		TRY(softmax_read(ort, node, reading, shapes));
	else if (strcmp(type, "Add") == 0)
		add_read(reading, inputs, shapes);
	else if (strcmp(type, "MatMul") == 0)
		matmul_read(reading, inputs, shapes);
	else if (strcmp(type, "Gemm") == 0)
		TRY(gemm_read(ort, node, reading, inputs, shapes));
	return reading->kernels_count ? input_output_read(ort, reading) : NULL;
}

/* Reads all nodes of a graph.  Ownership: the caller frees the array with free. */
static OrtStatus *graph_read(const OrtApi *ort, const OrtGraph *graph, struct node_reading **readings, size_t *count)
{
	OrtStatus *status = NULL;
	*readings = NULL;
	TRY(ort->Graph_GetNumNodes(graph, count));
	const OrtNode **nodes = calloc(*count + 1, sizeof(*nodes));
	struct node_reading *made = calloc(*count + 1, sizeof(*made));
	if (nodes && made)
		status = ort->Graph_GetNodes(graph, nodes, *count);
	else
		status = ort->CreateStatus(ORT_FAIL, "sample EP: out of memory");
	for (size_t i = 0; i < *count && !status; i++)
		status = node_read(ort, nodes[i], &made[i]);
	if (status)
		free(made);
	else
		*readings = made;
	free(nodes);
	return status;
}

/* ---- GetCapability ---- */

/* Claims the path that begins at readings[0], and marks its nodes as claimed; `path` has room for all nodes. */
static OrtStatus *path_claim(const struct sample_api *api, OrtEpGraphSupportInfo *support,
                             struct node_reading *readings, size_t count, const OrtNode **path)
{
	const OrtNodeFusionOptions options = {
		.ort_version_supported = EPPROF_ORT_API_VERSION_MIN,
		.drop_constant_initializers = true,
	};
	const struct node_reading *last = NULL;
	size_t path_count = 0;
	for (size_t i = 0; i < count && !(last && last->y_is_shared); i++) {
		struct node_reading *next = &readings[i];
		if (next->kernels_count == 0 || (last && strcmp(last->y_name, next->x_name) != 0))
			continue;
		last = next;
		next->kernels_count = 0;
		path[path_count++] = next->node;
	}
	return path_count ? api->ep->EpGraphSupportInfo_AddNodesToFuse(support, path, path_count, &options) : NULL;
}

OrtStatus *sample_graph_claim(const struct sample_api *api, const OrtGraph *graph, OrtEpGraphSupportInfo *support)
{
	struct node_reading *readings;
	size_t count;
	TRY(graph_read(api->ort, graph, &readings, &count));
	const OrtNode **path = calloc(count + 1, sizeof(*path));
	OrtStatus *status = path ? NULL : api->ort->CreateStatus(ORT_FAIL, "sample EP: out of memory");
	for (size_t i = 0; i < count && !status; i++) {
		if (readings[i].kernels_count > 0)
			status = path_claim(api, support, &readings[i], count - i, path);
	}
	free(path);
	free(readings);
	return status;
}

/* ---- Compile ---- */

/* Finds which input of the fused node has this name. */
static OrtStatus *input_find(const OrtApi *ort, const OrtNode *fused_node, const char *name, size_t *index)
{
	size_t count;
	TRY(ort->Node_GetNumInputs(fused_node, &count));
	const OrtValueInfo **inputs = calloc(count + 1, sizeof(*inputs));
	OrtStatus *status = inputs ? ort->Node_GetInputs(fused_node, inputs, count)
	                           : ort->CreateStatus(ORT_FAIL, "sample EP: out of memory");
	*index = SAMPLE_NO_INPUT;
	for (size_t i = 0; i < count && !status && *index == SAMPLE_NO_INPUT; i++) {
		const char *input_name;
		status = ort->GetValueInfoName(inputs[i], &input_name);
		if (!status && strcmp(input_name, name) == 0)
			*index = i;
	}
	free(inputs);
	if (!status && *index == SAMPLE_NO_INPUT)
		status = ort->CreateStatus(ORT_EP_FAIL, "sample EP: a fused node lacks an input");
	return status;
}

/* Copies a constant to the device, transposed if needed, and waits for the copy. */
static OrtStatus *constant_upload(const OrtApi *ort, const struct kernel_reading *reading, uint64_t tag,
                                  accelerator_buffer **buffer)
{
	const OrtValue *value;
	const void *data;
	accelerator_event copied;
	TRY(ort->ValueInfo_GetInitializerValue(reading->operand, &value));
	TRY(ort->GetTensorData(value, &data));
	const float *from = data;
	size_t rows = reading->op == ACCELERATOR_GEMM ? reading->columns : 1;
	size_t columns = reading->outputs;
	float *turned = reading->transposed ? malloc(rows * columns * sizeof(*turned)) : NULL;
	if (reading->transposed && !turned)
		return ort->CreateStatus(ORT_FAIL, "sample EP: out of memory");
	for (size_t i = 0; turned && i < rows * columns; i++)
		turned[i] = from[i % columns * rows + i / columns];
	accelerator_result result = accelerator_upload(sample_device(), turned ? turned : from, rows * columns, tag,
	                                               buffer, &copied);
	if (result == ACCELERATOR_OK)
		accelerator_event_synchronise(sample_device(), copied);
	free(turned);
	return result ? ort->CreateStatus(ORT_EP_FAIL, accelerator_result_text(result)) : NULL;
}

static OrtStatus *kernel_compile(struct sample_plan *plan, const OrtNode *fused_node, const struct node_reading *node,
                                 const struct kernel_reading *reading, uint64_t tag)
{
	const OrtApi *ort = plan->api->ort;
	size_t index = plan->kernels_count++;
	accelerator_kernel *kernel = &plan->kernels[index];
	const char *name;
	bool is_constant;
	*kernel = (accelerator_kernel){ reading->op, NULL, reading->columns, reading->outputs };
	plan->weights_inputs[index] = SAMPLE_NO_INPUT;
	TRY(ort->Node_GetName(node->node, &name));
	plan->names[index] = strdup(name);
	if (!plan->names[index])
		return ort->CreateStatus(ORT_FAIL, "sample EP: out of memory");
	if (!reading->operand)
		return NULL;
	TRY(ort->ValueInfo_IsConstantInitializer(reading->operand, &is_constant));
	if (is_constant)
		return constant_upload(ort, reading, tag, &kernel->weights);
	TRY(ort->GetValueInfoName(reading->operand, &name));
	return input_find(ort, fused_node, name, &plan->weights_inputs[index]);
}

static OrtStatus *plan_fill(struct sample_plan *plan, const OrtNode *fused_node, const struct node_reading *readings,
                            size_t count, uint64_t tag)
{
	const OrtApi *ort = plan->api->ort;
	plan->kernels = calloc(KERNELS_MAX * count, sizeof(*plan->kernels));
	plan->weights_inputs = calloc(KERNELS_MAX * count, sizeof(*plan->weights_inputs));
	plan->names = calloc(KERNELS_MAX * count, sizeof(*plan->names));
	if (!plan->kernels || !plan->weights_inputs || !plan->names)
		return ort->CreateStatus(ORT_FAIL, "sample EP: out of memory");
	for (size_t i = 0; i < count; i++) {
		const struct node_reading *node = &readings[i];
		if (node->kernels_count == 0 || (i > 0 && strcmp(readings[i - 1].y_name, node->x_name) != 0))
			return ort->CreateStatus(ORT_EP_FAIL, "sample EP: a fused node is not as it was claimed");
		for (size_t j = 0; j < node->kernels_count; j++)
			TRY(kernel_compile(plan, fused_node, node, &node->kernels[j], tag));
	}
	return input_find(ort, fused_node, readings[0].x_name, &plan->x_input);
}

OrtStatus *sample_graph_compile(const struct sample_api *api, const OrtGraph *graph, const OrtNode *fused_node,
                                OrtNodeComputeInfo **info)
{
	struct node_reading *readings = NULL;
	size_t count = 0;
	*info = NULL;
	struct sample_plan *plan = calloc(1, sizeof(*plan));
	struct sample_launch *launch = plan ? sample_launch_begin(NULL, 0, false) : NULL;
	OrtStatus *status = launch ? graph_read(api->ort, graph, &readings, &count)
	                           : api->ort->CreateStatus(ORT_FAIL, "sample EP: out of memory");
	if (!status) {
		plan->api = api;
		plan->graph = atomic_fetch_add(&graphs_count, 1) + 2;
		sample_plan_info(plan);
		status = plan_fill(plan, fused_node, readings, count, (uintptr_t)launch);
	}
	free(readings);
	if (launch)
		sample_launch_end(launch);
	if (status && plan)
		sample_graph_release(&plan->info);
	else
		*info = &plan->info;
	return status;
}

void sample_graph_release(OrtNodeComputeInfo *info)
{
	struct sample_plan *plan = (struct sample_plan *)info;
	if (!plan)
		return;
	for (size_t i = 0; i < plan->kernels_count; i++) {
		accelerator_buffer_release(plan->kernels[i].weights);
		free(plan->names[i]);
	}
	free(plan->kernels);
	free(plan->weights_inputs);
	free(plan->names);
	free(plan);
}

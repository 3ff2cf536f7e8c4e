/* Implements allowed.h. */
#include "anonymize/allowed.h"

#include <stdlib.h>
#include <string.h>

#include "base/weight.h"

#define OF_EPPROF "epprof writes it itself"
#define OF_ORT "a constant in ONNX Runtime's source"
#define PUBLIC "the name of a public execution provider"
#define KIND "a kind of work, one of a few"
#define STEP "a step of a budget for overhead, one of four"
#define ELEMENT "a type of numbers, one of a few"

const struct allowed allowed_texts[] = {
	{ ALLOWED_NAME, "epprof.device", OF_EPPROF },
	{ ALLOWED_NAME, "wait", OF_EPPROF },
	{ ALLOWED_NAME, WEIGHT_SET, OF_EPPROF },
	{ ALLOWED_NAME, BUDGET_STEP, OF_EPPROF },
	{ ALLOWED_NAME, "model_run", OF_ORT },
	{ ALLOWED_NAME, "model_loading_uri", OF_ORT },
	{ ALLOWED_NAME, "model_loading_array", OF_ORT },
	{ ALLOWED_NAME, "session_initialization", OF_ORT },
	{ ALLOWED_NAME, "SequentialExecutor::Execute", OF_ORT },
	{ ALLOWED_NAME, "ParallelExecutor::Execute", OF_ORT },

	{ ALLOWED_TRACK, "", "no name" },
	{ ALLOWED_TRACK, "properties", OF_EPPROF },

	{ ALLOWED_NUMBER, "bytes", "how much a copy moved" },
	{ ALLOWED_JOIN, "correlation", "joins a call to the work that it launched" },
	{ ALLOWED_JOIN, "correlation_id", "joins a call to the work that it launched" },
	{ ALLOWED_JOIN, "Sequence number", "joins a forward to a backward operation" },
	{ ALLOWED_ID, WEIGHT_KEY_EVENT, "the event that has a weight" },
	{ ALLOWED_BUDGET, WEIGHT_KEY_WEIGHT, "how many events an event stands for" },
	{ ALLOWED_BUDGET, BUDGET_KEY_ONE_IN, "how many runs a budget for overhead left out" },
	{ ALLOWED_STEP, BUDGET_KEY_STEP, "what a budget for overhead left out" },
	{ ALLOWED_NUMBER, "node_index", "the number of a node in its graph" },
	{ ALLOWED_NUMBER, "mem_bytes_in_use", "memory in use" },
	{ ALLOWED_NUMBER, "mem_bytes_requested_in_use", "memory in use" },
	{ ALLOWED_NUMBER, "mem_in_use_delta", "memory in use" },
	{ ALLOWED_NUMBER, "mem_requested_in_use_delta", "memory in use" },
	{ ALLOWED_NUMBER, "mem_in_use_peak", "memory in use" },
	{ ALLOWED_NUMBER, "mem_arena_held", "memory in use" },
	{ ALLOWED_NUMBER, "mem_arena_held_delta", "memory in use" },
	{ ALLOWED_SIZE, "activation_size", "the size of a tensor" },
	{ ALLOWED_SIZE, "parameter_size", "the size of a tensor" },
	{ ALLOWED_SIZE, "output_size", "the size of a tensor" },
	{ ALLOWED_SIZE, "flops", "how much a kernel computed" },
	{ ALLOWED_OPERATOR, "op_name", "the type of a node" },
	{ ALLOWED_OPERATOR, "op_type", "the type of a node" },
	{ ALLOWED_PROVIDER, "provider", "who ran a node" },
	{ ALLOWED_WORK, "kind", "distinguishes copies from kernels" },
	{ ALLOWED_WORK, "cat", "distinguishes copies from kernels" },
	{ ALLOWED_SHAPES, "input_type_shape", "shapes of tensors" },
	{ ALLOWED_SHAPES, "output_type_shape", "shapes of tensors" },
	{ ALLOWED_SHAPES, "Input Dims", "shapes of tensors" },

	{ ALLOWED_PROVIDER_NAME, "ACLExecutionProvider", PUBLIC },
	{ ALLOWED_PROVIDER_NAME, "ArmNNExecutionProvider", PUBLIC },
	{ ALLOWED_PROVIDER_NAME, "AzureExecutionProvider", PUBLIC },
	{ ALLOWED_PROVIDER_NAME, "CANNExecutionProvider", PUBLIC },
	{ ALLOWED_PROVIDER_NAME, "CPUExecutionProvider", PUBLIC },
	{ ALLOWED_PROVIDER_NAME, "CUDAExecutionProvider", PUBLIC },
	{ ALLOWED_PROVIDER_NAME, "CoreMLExecutionProvider", PUBLIC },
	{ ALLOWED_PROVIDER_NAME, "DmlExecutionProvider", PUBLIC },
	{ ALLOWED_PROVIDER_NAME, "DnnlExecutionProvider", PUBLIC },
	{ ALLOWED_PROVIDER_NAME, "JsExecutionProvider", PUBLIC },
	{ ALLOWED_PROVIDER_NAME, "MIGraphXExecutionProvider", PUBLIC },
	{ ALLOWED_PROVIDER_NAME, "NnapiExecutionProvider", PUBLIC },
	{ ALLOWED_PROVIDER_NAME, "NvTensorRTRTXExecutionProvider", PUBLIC },
	{ ALLOWED_PROVIDER_NAME, "OpenVINOExecutionProvider", PUBLIC },
	{ ALLOWED_PROVIDER_NAME, "QNNExecutionProvider", PUBLIC },
	{ ALLOWED_PROVIDER_NAME, "ROCMExecutionProvider", PUBLIC },
	{ ALLOWED_PROVIDER_NAME, "RknpuExecutionProvider", PUBLIC },
	{ ALLOWED_PROVIDER_NAME, "TensorrtExecutionProvider", PUBLIC },
	{ ALLOWED_PROVIDER_NAME, "VitisAIExecutionProvider", PUBLIC },
	{ ALLOWED_PROVIDER_NAME, "WebGpuExecutionProvider", PUBLIC },
	{ ALLOWED_PROVIDER_NAME, "XnnpackExecutionProvider", PUBLIC },

	{ ALLOWED_WORK_NAME, "kernel", KIND },
	{ ALLOWED_WORK_NAME, "memcpy", KIND },
	{ ALLOWED_WORK_NAME, "memcpy_htod", KIND },
	{ ALLOWED_WORK_NAME, "memcpy_dtoh", KIND },
	{ ALLOWED_WORK_NAME, "memcpy_dtod", KIND },
	{ ALLOWED_WORK_NAME, "memset", KIND },
	{ ALLOWED_WORK_NAME, "driver", KIND },
	{ ALLOWED_WORK_NAME, "gpu_memcpy", KIND },
	{ ALLOWED_WORK_NAME, "gpu_memset", KIND },
	{ ALLOWED_WORK_NAME, "cuda_driver", KIND },
	{ ALLOWED_WORK_NAME, "cuda_runtime", KIND },
	{ ALLOWED_WORK_NAME, "privateuse1_driver", KIND },
	{ ALLOWED_WORK_NAME, "privateuse1_runtime", KIND },
	{ ALLOWED_WORK_NAME, "xpu_driver", KIND },
	{ ALLOWED_WORK_NAME, "xpu_runtime", KIND },
	{ ALLOWED_WORK_NAME, "cpu_op", KIND },
	{ ALLOWED_WORK_NAME, "python_function", KIND },
	{ ALLOWED_WORK_NAME, "user_annotation", KIND },
	{ ALLOWED_WORK_NAME, "gpu_user_annotation", KIND },
	{ ALLOWED_WORK_NAME, "Session", KIND },
	{ ALLOWED_WORK_NAME, "Node", KIND },
	{ ALLOWED_WORK_NAME, "Kernel", KIND },
	{ ALLOWED_WORK_NAME, "Api", KIND },

	{ ALLOWED_STEP_NAME, "all", STEP },
	{ ALLOWED_STEP_NAME, "args off", STEP },
	{ ALLOWED_STEP_NAME, BUDGET_STEP_KERNELS, STEP },
	{ ALLOWED_STEP_NAME, "runs", STEP },

	{ ALLOWED_TYPE, "float", ELEMENT },
	{ ALLOWED_TYPE, "float16", ELEMENT },
	{ ALLOWED_TYPE, "float32", ELEMENT },
	{ ALLOWED_TYPE, "float64", ELEMENT },
	{ ALLOWED_TYPE, "bfloat16", ELEMENT },
	{ ALLOWED_TYPE, "double", ELEMENT },
	{ ALLOWED_TYPE, "bool", ELEMENT },
	{ ALLOWED_TYPE, "string", ELEMENT },
	{ ALLOWED_TYPE, "int4", ELEMENT },
	{ ALLOWED_TYPE, "int8", ELEMENT },
	{ ALLOWED_TYPE, "int16", ELEMENT },
	{ ALLOWED_TYPE, "int32", ELEMENT },
	{ ALLOWED_TYPE, "int64", ELEMENT },
	{ ALLOWED_TYPE, "uint4", ELEMENT },
	{ ALLOWED_TYPE, "uint8", ELEMENT },
	{ ALLOWED_TYPE, "uint16", ELEMENT },
	{ ALLOWED_TYPE, "uint32", ELEMENT },
	{ ALLOWED_TYPE, "uint64", ELEMENT },
	{ ALLOWED_TYPE, "complex64", ELEMENT },
	{ ALLOWED_TYPE, "complex128", ELEMENT },
};
const size_t allowed_count = sizeof(allowed_texts) / sizeof(*allowed_texts);

/* Standard operators, sorted. packaging/onnx_ops.py makes this file. */
static const char *const operators[] = {
#include "onnx_ops.def"
};

static bool is_text(const char *text, size_t bytes, const char *other)
{
	return strlen(other) == bytes && memcmp(text, other, bytes) == 0;
}

const struct allowed *allowed_find(enum allowed_use use, const char *text, size_t bytes)
{
	for (size_t i = 0; i < allowed_count; i++)
		if (allowed_texts[i].use == use && is_text(text, bytes, allowed_texts[i].text))
			return &allowed_texts[i];
	return NULL;
}

const struct allowed *allowed_key(const char *text, size_t bytes)
{
	for (size_t i = 0; i < allowed_count; i++)
		if (ALLOWED_IS_KEY(allowed_texts[i].use) && is_text(text, bytes, allowed_texts[i].text))
			return &allowed_texts[i];
	return NULL;
}

static int by_text(const void *key, const void *element)
{
	return strcmp(key, *(const char *const *)element);
}

const char *allowed_operator(const char *text, size_t bytes)
{
	char name[64];

	if (bytes >= sizeof(name) || memchr(text, 0, bytes))
		return NULL;
	*(char *)mempcpy(name, text, bytes) = 0;
	const char *const *found = bsearch(name, operators, sizeof(operators) / sizeof(*operators), sizeof(*operators),
	                                   by_text);
	return found ? *found : NULL;
}

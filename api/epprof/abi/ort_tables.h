/* epprof: the function tables that an execution provider library gets: OrtApiBase -> OrtApi -> OrtEpApi of ONNX
 * Runtime, API version 29.  They include the functions that a program calls to run models.
 * epprof/abi/ort_ep_profiler.h includes this header, and explains the names and `unnamed_`.
 *
 * A newer version of a table only adds entries at its end, so an entry never changes its slot.  Call GetApi with the
 * smaller of two versions: EPPROF_ORT_API_VERSION, and the minor number of GetVersionString.  Use no slot that was
 * added after that version.
 * libepprof implements the entries that an EP calls before CreateProfiler and during profiling ([served] below).  Every
 * other entry, named or not, can be called and returns, depending on its return type, a status ORT_NOT_IMPLEMENTED,
 * NULL, 0 or nothing.
 *
 * Thread: all entries [any-thread], on objects that no other thread changes meanwhile.
 * Ownership: Create functions make an object, Release functions free it and accept NULL; texts live as long as the
 * object that returned them.
 * Errors: the caller owns a status and frees it with ReleaseStatus.  If a [served] entry fails, its `out` parameter is
 * NULL or 0. */
#ifndef EPPROF_ABI_ORT_TABLES_H
#define EPPROF_ABI_ORT_TABLES_H

#include "epprof/abi/ort_ep_profiler.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The number of slots of each table, as of version 29. */
#define EPPROF_ORT_API_SLOTS 425
#define EPPROF_ORT_EP_API_SLOTS 74
#define EPPROF_ORT_MODEL_EDITOR_API_SLOTS 20

/* The slot of OrtApi::GetExperimentalFunction, and the version that added it.  Code that is compiled with official
 * headers of version 25 to 27, which do not declare the entry, calls it by this slot.  The host has the entry if
 * GetVersionString returns 1.28 or later. */
#define EPPROF_ORT_EXPERIMENTAL_SLOT 422
#define EPPROF_ORT_EXPERIMENTAL_VERSION 28
typedef void (*EpprofFunction)(void);
typedef EpprofFunction (*EpprofGetExperimentalFunction_Fn)(const char *name);

#ifndef ORT_API_VERSION

/* Element types that are not listed are not used by epprof. */
typedef enum ONNXTensorElementDataType {
	ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED = 0,
	ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT = 1,
	ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8 = 2,
	ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8 = 3,
	ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16 = 4,
	ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16 = 5,
	ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32 = 6,
	ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 = 7,
	ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING = 8,
	ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL = 9,
	ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 = 10,
	ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE = 11,
	ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32 = 12,
	ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64 = 13,
	ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16 = 16
} ONNXTensorElementDataType;

typedef enum OrtOpAttrType {
	ORT_OP_ATTR_UNDEFINED = 0,
	ORT_OP_ATTR_INT,
	ORT_OP_ATTR_INTS,
	ORT_OP_ATTR_FLOAT,
	ORT_OP_ATTR_FLOATS,
	ORT_OP_ATTR_STRING,
	ORT_OP_ATTR_STRINGS,
	ORT_OP_ATTR_GRAPH,
	ORT_OP_ATTR_TENSOR
} OrtOpAttrType;

typedef enum OrtAllocatorType {
	OrtInvalidAllocator = -1,
	OrtDeviceAllocator = 0,
	OrtArenaAllocator = 1,
	OrtReadOnlyAllocator = 2
} OrtAllocatorType;

typedef enum OrtMemType {
	OrtMemTypeCPUInput = -2,
	OrtMemTypeCPUOutput = -1,
	OrtMemTypeCPU = OrtMemTypeCPUOutput,
	OrtMemTypeDefault = 0
} OrtMemType;

typedef enum OrtDeviceMemoryType {
	OrtDeviceMemoryType_DEFAULT = 0,
	OrtDeviceMemoryType_HOST_ACCESSIBLE = 5
} OrtDeviceMemoryType;

typedef enum OrtMemoryInfoDeviceType {
	OrtMemoryInfoDeviceType_CPU = 0,
	OrtMemoryInfoDeviceType_GPU = 1,
	OrtMemoryInfoDeviceType_FPGA = 2,
	OrtMemoryInfoDeviceType_NPU = 3
} OrtMemoryInfoDeviceType;

typedef enum ExecutionMode { ORT_SEQUENTIAL = 0, ORT_PARALLEL = 1 } ExecutionMode;

typedef struct OrtCustomOp OrtCustomOp;
typedef struct OrtCustomOpDomain OrtCustomOpDomain;
typedef struct OrtEnv OrtEnv;
typedef struct OrtEpAssignedNode OrtEpAssignedNode;
typedef struct OrtEpAssignedSubgraph OrtEpAssignedSubgraph;
typedef struct OrtModelEditorApi OrtModelEditorApi;
typedef struct OrtPrepackedWeightsContainer OrtPrepackedWeightsContainer;
typedef struct OrtSession OrtSession;

typedef enum OrtExecutionProviderDevicePolicy {
	OrtExecutionProviderDevicePolicy_DEFAULT,
	OrtExecutionProviderDevicePolicy_PREFER_CPU,
	OrtExecutionProviderDevicePolicy_PREFER_NPU,
	OrtExecutionProviderDevicePolicy_PREFER_GPU,
	OrtExecutionProviderDevicePolicy_MAX_PERFORMANCE,
	OrtExecutionProviderDevicePolicy_MAX_EFFICIENCY,
	OrtExecutionProviderDevicePolicy_MIN_OVERALL_POWER
} OrtExecutionProviderDevicePolicy;

typedef OrtStatus *(*EpSelectionDelegate)(const OrtEpDevice **ep_devices, size_t num_devices,
                                          const OrtKeyValuePairs *model_metadata,
                                          const OrtKeyValuePairs *runtime_metadata, const OrtEpDevice **selected,
                                          size_t max_selected, size_t *num_selected, void *state);
typedef void (*OrtExperimentalFnPtr)(void);
typedef void (*OrtLoggingFunction)(void *param, OrtLoggingLevel severity, const char *category, const char *logid,
                                   const char *code_location, const char *message);

/* clang-format is off because it would remove the space before the macros at the end of a member. */
/* clang-format off */

struct OrtApiBase {
	/* Returns the table of an API version; NULL for a version above the host's own.  Ownership: static. */
	const OrtApi *(*GetApi)(uint32_t version) EPP_ORT_NOEXCEPT;
	/* Returns "1.<API version>.<patch>". */
	const char *(*GetVersionString)(void) EPP_ORT_NOEXCEPT;
};

struct OrtApi {
	/* [served] `msg` is copied.  If there is no memory, CreateStatus returns a static status, never NULL. */
	OrtStatus *(*CreateStatus)(OrtErrorCode code, const char *msg) EPP_ORT_NOEXCEPT;
	OrtErrorCode (*GetErrorCode)(const OrtStatus *status) EPP_ORT_NOEXCEPT;
	const char *(*GetErrorMessage)(const OrtStatus *status) EPP_ORT_NOEXCEPT;
	OrtStatus *(*CreateEnv)(OrtLoggingLevel log_severity_level, const char *logid, OrtEnv **out) EPP_ORT_CHECK;
	/* Log messages are passed to `logging_function`, on any thread. */
	OrtStatus *(*CreateEnvWithCustomLogger)(OrtLoggingFunction logging_function, void *logger_param,
	                                        OrtLoggingLevel log_severity_level, const char *logid,
	                                        OrtEnv **out) EPP_ORT_CHECK;
	epp_ort_slot unnamed_5[2];
	OrtStatus *(*CreateSession)(const OrtEnv *env, const char *model_path, const OrtSessionOptions *options,
	                            OrtSession **out) EPP_ORT_CHECK;
	OrtStatus *(*CreateSessionFromArray)(const OrtEnv *env, const void *model_data, size_t model_data_length,
	                                     const OrtSessionOptions *options, OrtSession **out) EPP_ORT_CHECK;
	/* `run_options` may be NULL.  Each element of `outputs` may be NULL: Run then creates a value for this
	 * output. */
	OrtStatus *(*Run)(OrtSession *session, const OrtRunOptions *run_options, const char *const *input_names,
	                  const OrtValue *const *inputs, size_t input_len, const char *const *output_names,
	                  size_t output_names_len, OrtValue **outputs) EPP_ORT_CHECK;
	OrtStatus *(*CreateSessionOptions)(OrtSessionOptions **options) EPP_ORT_CHECK; /* [served] the options have no
	                                                                                  entries */
	epp_ort_slot unnamed_11[1];
	OrtStatus *(*CloneSessionOptions)(const OrtSessionOptions *in_options, OrtSessionOptions **out_options) EPP_ORT_CHECK;
	OrtStatus *(*SetSessionExecutionMode)(OrtSessionOptions *options, ExecutionMode execution_mode) EPP_ORT_CHECK;
	OrtStatus *(*EnableProfiling)(OrtSessionOptions *options, const char *profile_file_prefix) EPP_ORT_CHECK;
	OrtStatus *(*DisableProfiling)(OrtSessionOptions *options) EPP_ORT_CHECK;
	epp_ort_slot unnamed_16[10];
	/* [served] Custom operators are accepted and never run. */
	OrtStatus *(*CreateCustomOpDomain)(const char *domain, OrtCustomOpDomain **out) EPP_ORT_CHECK;
	OrtStatus *(*CustomOpDomain_Add)(OrtCustomOpDomain *custom_op_domain, const OrtCustomOp *op) EPP_ORT_CHECK;
	epp_ort_slot unnamed_28[2];
	OrtStatus *(*SessionGetInputCount)(const OrtSession *session, size_t *out) EPP_ORT_CHECK;
	OrtStatus *(*SessionGetOutputCount)(const OrtSession *session, size_t *out) EPP_ORT_CHECK;
	epp_ort_slot unnamed_32[1];
	OrtStatus *(*SessionGetInputTypeInfo)(const OrtSession *session, size_t index,
	                                      OrtTypeInfo **type_info) EPP_ORT_CHECK;
	epp_ort_slot unnamed_34[2];
	/* The caller owns texts that came from an allocator, and frees them with AllocatorFree. */
	OrtStatus *(*SessionGetInputName)(const OrtSession *session, size_t index, OrtAllocator *allocator,
	                                  char **value) EPP_ORT_CHECK;
	OrtStatus *(*SessionGetOutputName)(const OrtSession *session, size_t index, OrtAllocator *allocator,
	                                   char **value) EPP_ORT_CHECK;
	epp_ort_slot unnamed_38[1];
	OrtStatus *(*CreateRunOptions)(OrtRunOptions **out) EPP_ORT_CHECK;
	epp_ort_slot unnamed_40[5];
	/* Returns "" if no tag was set.  The text is valid until the tag is set again or the options are released. */
	OrtStatus *(*RunOptionsGetRunTag)(const OrtRunOptions *options, const char **run_tag) EPP_ORT_CHECK;
	OrtStatus *(*RunOptionsSetTerminate)(OrtRunOptions *options) EPP_ORT_CHECK;
	epp_ort_slot unnamed_47[1];
	OrtStatus *(*CreateTensorAsOrtValue)(OrtAllocator *allocator, const int64_t *shape, size_t shape_len,
	                                     ONNXTensorElementDataType type, OrtValue **out) EPP_ORT_CHECK;
	epp_ort_slot unnamed_49[2];

	/* The data of a tensor is valid as long as the value. */
	OrtStatus *(*GetTensorMutableData)(OrtValue *value, void **out) EPP_ORT_CHECK;
	epp_ort_slot unnamed_52[3];
	OrtStatus *(*CastTypeInfoToTensorInfo)(const OrtTypeInfo *info,
	                                       const OrtTensorTypeAndShapeInfo **out) EPP_ORT_CHECK;
	epp_ort_slot unnamed_56[4];
	OrtStatus *(*GetTensorElementType)(const OrtTensorTypeAndShapeInfo *info,
	                                   ONNXTensorElementDataType *out) EPP_ORT_CHECK;
	OrtStatus *(*GetDimensionsCount)(const OrtTensorTypeAndShapeInfo *info, size_t *out) EPP_ORT_CHECK;
	OrtStatus *(*GetDimensions)(const OrtTensorTypeAndShapeInfo *info, int64_t *dim_values,
	                            size_t dim_values_length) EPP_ORT_CHECK;
	/* A dimension without a name is reported as "". */
	OrtStatus *(*GetSymbolicDimensions)(const OrtTensorTypeAndShapeInfo *info, const char *dim_params[],
	                                    size_t dim_params_length) EPP_ORT_CHECK;
	OrtStatus *(*GetTensorShapeElementCount)(const OrtTensorTypeAndShapeInfo *info, size_t *out) EPP_ORT_CHECK;
	OrtStatus *(*GetTensorTypeAndShape)(const OrtValue *value, OrtTensorTypeAndShapeInfo **out) EPP_ORT_CHECK;
	epp_ort_slot unnamed_66[2];

	/* [served] Descriptions of memory, which an EP creates for its devices (EpDevice_AddAllocatorInfo).  epprof
	 * never allocates with them.  Names are copied.  CompareMemoryInfo returns 0 if they are equal. */
	OrtStatus *(*CreateMemoryInfo)(const char *name, OrtAllocatorType type, int id, OrtMemType mem_type,
	                               OrtMemoryInfo **out) EPP_ORT_CHECK;
	OrtStatus *(*CreateCpuMemoryInfo)(OrtAllocatorType type, OrtMemType mem_type,
	                                  OrtMemoryInfo **out) EPP_ORT_CHECK;
	OrtStatus *(*CompareMemoryInfo)(const OrtMemoryInfo *info1, const OrtMemoryInfo *info2, int *out) EPP_ORT_CHECK;
	OrtStatus *(*MemoryInfoGetName)(const OrtMemoryInfo *info, const char **out) EPP_ORT_CHECK;
	OrtStatus *(*MemoryInfoGetId)(const OrtMemoryInfo *info, int *out) EPP_ORT_CHECK;
	OrtStatus *(*MemoryInfoGetMemType)(const OrtMemoryInfo *info, OrtMemType *out) EPP_ORT_CHECK;
	OrtStatus *(*MemoryInfoGetType)(const OrtMemoryInfo *info, OrtAllocatorType *out) EPP_ORT_CHECK;
	epp_ort_slot unnamed_75[1];
	OrtStatus *(*AllocatorFree)(OrtAllocator *ort_allocator, void *p) EPP_ORT_CHECK;
	epp_ort_slot unnamed_77[1];
	OrtStatus *(*GetAllocatorWithDefaultOptions)(OrtAllocator **out) EPP_ORT_CHECK; /* ownership: static */
	epp_ort_slot unnamed_79[9];

	/* Compute calls these for the inputs and outputs of a fused node. */
	OrtStatus *(*KernelContext_GetInputCount)(const OrtKernelContext *context, size_t *out) EPP_ORT_CHECK;
	OrtStatus *(*KernelContext_GetOutputCount)(const OrtKernelContext *context, size_t *out) EPP_ORT_CHECK;
	OrtStatus *(*KernelContext_GetInput)(const OrtKernelContext *context, size_t index,
	                                     const OrtValue **out) EPP_ORT_CHECK;
	OrtStatus *(*KernelContext_GetOutput)(OrtKernelContext *context, size_t index, const int64_t *dim_values,
	                                      size_t dim_count, OrtValue **out) EPP_ORT_CHECK;
	void (*ReleaseEnv)(OrtEnv *input);
	void (*ReleaseStatus)(OrtStatus *input); /* [served] */
	void (*ReleaseMemoryInfo)(OrtMemoryInfo *input); /* [served] */
	void (*ReleaseSession)(OrtSession *input);
	void (*ReleaseValue)(OrtValue *input);
	void (*ReleaseRunOptions)(OrtRunOptions *input);
	void (*ReleaseTypeInfo)(OrtTypeInfo *input);
	void (*ReleaseTensorTypeAndShapeInfo)(OrtTensorTypeAndShapeInfo *input);
	void (*ReleaseSessionOptions)(OrtSessionOptions *input); /* [served] */
	void (*ReleaseCustomOpDomain)(OrtCustomOpDomain *input); /* [served] */
	epp_ort_slot unnamed_102[8];
	OrtStatus *(*SessionEndProfiling)(OrtSession *session, OrtAllocator *allocator, char **out) EPP_ORT_CHECK;
	epp_ort_slot unnamed_111[19];

	/* [served] Config entries of session options.  GetSessionConfigEntry: on entry `*size` is the size of the
	 * buffer; on return it is the needed size, including the NUL.  If `config_value` is NULL, only the size is
	 * returned. */
	OrtStatus *(*AddSessionConfigEntry)(OrtSessionOptions *options, const char *config_key,
	                                    const char *config_value) EPP_ORT_CHECK;
	epp_ort_slot unnamed_131[37];
	/* As CreateSession and CreateSessionFromArray; the sessions share prepacked weights. */
	OrtStatus *(*CreateSessionWithPrepackedWeightsContainer)(const OrtEnv *env, const char *model_path,
	                                                         const OrtSessionOptions *options,
	                                                         OrtPrepackedWeightsContainer *prepacked_weights_container,
	                                                         OrtSession **out) EPP_ORT_CHECK;
	OrtStatus *(*CreateSessionFromArrayWithPrepackedWeightsContainer)(
	    const OrtEnv *env, const void *model_data, size_t model_data_length, const OrtSessionOptions *options,
	    OrtPrepackedWeightsContainer *prepacked_weights_container, OrtSession **out) EPP_ORT_CHECK;
	epp_ort_slot unnamed_170[55];
	void (*MemoryInfoGetDeviceType)(const OrtMemoryInfo *info,
	                                OrtMemoryInfoDeviceType *out) EPP_ORT_NOEXCEPT; /* [served] */
	epp_ort_slot unnamed_226[11];
	OrtStatus *(*HasSessionConfigEntry)(const OrtSessionOptions *options, const char *config_key,
	                                    int *out) EPP_ORT_CHECK;
	OrtStatus *(*GetSessionConfigEntry)(const OrtSessionOptions *options, const char *config_key,
	                                    char *config_value, size_t *size) EPP_ORT_CHECK;
	epp_ort_slot unnamed_239[8];

	/* [served] The logger that was passed to CreateEpFactories and CreateEp. */
	OrtStatus *(*Logger_LogMessage)(const OrtLogger *logger, OrtLoggingLevel log_severity_level,
	                                const char *message,
	                                const char *file_path, int line_number, const char *func_name) EPP_ORT_CHECK;
	OrtStatus *(*Logger_GetLoggingSeverityLevel)(const OrtLogger *logger, OrtLoggingLevel *out) EPP_ORT_CHECK;
	epp_ort_slot unnamed_249[3];
	/* Resizes an element of a string tensor to `length_in_bytes`, and sets `*buffer` to the memory for its
	 * bytes. */
	OrtStatus *(*GetResizedStringTensorElementBuffer)(OrtValue *value, size_t index, size_t length_in_bytes,
	                                                  char **buffer) EPP_ORT_CHECK;
	epp_ort_slot unnamed_253[19];
	OrtStatus *(*ReadOpAttr)(const OrtOpAttr *op_attr, OrtOpAttrType type, void *data, size_t len,
	                         size_t *out) EPP_ORT_CHECK;
	epp_ort_slot unnamed_273[16];
	OrtStatus *(*GetValueInfoName)(const OrtValueInfo *value_info, const char **name) EPP_ORT_CHECK;
	OrtStatus *(*GetValueInfoTypeInfo)(const OrtValueInfo *value_info, const OrtTypeInfo **type_info) EPP_ORT_CHECK;
	const OrtModelEditorApi *(*GetModelEditorApi)(void); /* [served] ownership: static */
	epp_ort_slot unnamed_292[3];

	/* [served] Key-value pairs.  Keys and values are copied; the returned arrays are valid until the pairs
	 * change. */
	void (*CreateKeyValuePairs)(OrtKeyValuePairs **out) EPP_ORT_NOEXCEPT;
	void (*AddKeyValuePair)(OrtKeyValuePairs *kvps, const char *key, const char *value) EPP_ORT_NOEXCEPT;
	const char *(*GetKeyValue)(const OrtKeyValuePairs *kvps, const char *key) EPP_ORT_NOEXCEPT;
	void (*GetKeyValuePairs)(const OrtKeyValuePairs *kvps, const char *const **keys, const char *const **values,
	                         size_t *num_entries) EPP_ORT_NOEXCEPT;
	void (*RemoveKeyValuePair)(OrtKeyValuePairs *kvps, const char *key) EPP_ORT_NOEXCEPT;
	void (*ReleaseKeyValuePairs)(OrtKeyValuePairs *input);
	/* Execution provider libraries of an environment: they are registered, the devices of their factories are
	 * listed, and devices are selected for a session. */
	OrtStatus *(*RegisterExecutionProviderLibrary)(OrtEnv *env, const char *registration_name,
	                                               const char *path) EPP_ORT_CHECK;
	OrtStatus *(*UnregisterExecutionProviderLibrary)(OrtEnv *env, const char *registration_name) EPP_ORT_CHECK;
	OrtStatus *(*GetEpDevices)(const OrtEnv *env, const OrtEpDevice *const **ep_devices,
	                           size_t *num_ep_devices) EPP_ORT_CHECK;
	OrtStatus *(*SessionOptionsAppendExecutionProvider_V2)(OrtSessionOptions *session_options, OrtEnv *env,
	                                                       const OrtEpDevice *const *ep_devices,
	                                                       size_t num_ep_devices,
	                                                       const char *const *ep_option_keys,
	                                                       const char *const *ep_option_vals,
	                                                       size_t num_ep_options) EPP_ORT_CHECK;
	/* Sets the policy by which ONNX Runtime selects providers for a session whose options name none. */
	OrtStatus *(*SessionOptionsSetEpSelectionPolicy)(OrtSessionOptions *session_options,
	                                                 OrtExecutionProviderDevicePolicy policy) EPP_ORT_CHECK;
	OrtStatus *(*SessionOptionsSetEpSelectionPolicyDelegate)(OrtSessionOptions *session_options,
	                                                         EpSelectionDelegate delegate,
	                                                         void *delegate_state) EPP_ORT_CHECK;

	/* [served] Properties of hardware devices and of EP devices. */
	OrtHardwareDeviceType (*HardwareDevice_Type)(const OrtHardwareDevice *device) EPP_ORT_NOEXCEPT;
	uint32_t (*HardwareDevice_VendorId)(const OrtHardwareDevice *device) EPP_ORT_NOEXCEPT;
	const char *(*HardwareDevice_Vendor)(const OrtHardwareDevice *device) EPP_ORT_NOEXCEPT;
	uint32_t (*HardwareDevice_DeviceId)(const OrtHardwareDevice *device) EPP_ORT_NOEXCEPT;
	const OrtKeyValuePairs *(*HardwareDevice_Metadata)(const OrtHardwareDevice *device) EPP_ORT_NOEXCEPT;
	const char *(*EpDevice_EpName)(const OrtEpDevice *ep_device) EPP_ORT_NOEXCEPT;
	const char *(*EpDevice_EpVendor)(const OrtEpDevice *ep_device) EPP_ORT_NOEXCEPT;
	const OrtKeyValuePairs *(*EpDevice_EpMetadata)(const OrtEpDevice *ep_device) EPP_ORT_NOEXCEPT;
	const OrtKeyValuePairs *(*EpDevice_EpOptions)(const OrtEpDevice *ep_device) EPP_ORT_NOEXCEPT;
	const OrtHardwareDevice *(*EpDevice_Device)(const OrtEpDevice *ep_device) EPP_ORT_NOEXCEPT;

	const OrtEpApi *(*GetEpApi)(void); /* [served] ownership: static */
	epp_ort_slot unnamed_318[2];

	/* [served] Makes and reads an OrtMemoryInfo with all of its properties.  Vendor 0 means no vendor; alignment 0
	 * means the device's own alignment. */
	OrtStatus *(*CreateMemoryInfo_V2)(const char *name, OrtMemoryInfoDeviceType device_type, uint32_t vendor_id,
	                                  int32_t device_id, OrtDeviceMemoryType mem_type, size_t alignment,
	                                  OrtAllocatorType allocator_type, OrtMemoryInfo **out) EPP_ORT_CHECK;
	OrtDeviceMemoryType (*MemoryInfoGetDeviceMemType)(const OrtMemoryInfo *info) EPP_ORT_NOEXCEPT;
	uint32_t (*MemoryInfoGetVendorId)(const OrtMemoryInfo *info) EPP_ORT_NOEXCEPT;
	epp_ort_slot unnamed_323[1];

	/* The graph, for OrtEp::GetCapability and Compile.  Ownership: the host's; borrowed for the call. */
	OrtStatus *(*ValueInfo_GetValueNumConsumers)(const OrtValueInfo *value_info, size_t *num_consumers) EPP_ORT_CHECK;
	epp_ort_slot unnamed_325[1];
	OrtStatus *(*ValueInfo_GetInitializerValue)(const OrtValueInfo *value_info,
	                                            const OrtValue **value) EPP_ORT_CHECK;
	epp_ort_slot unnamed_327[3];
	OrtStatus *(*ValueInfo_IsGraphOutput)(const OrtValueInfo *value_info, bool *is_graph_output) EPP_ORT_CHECK;
	OrtStatus *(*ValueInfo_IsConstantInitializer)(const OrtValueInfo *value_info, bool *is_constant) EPP_ORT_CHECK;
	epp_ort_slot unnamed_332[1];
	OrtStatus *(*Graph_GetName)(const OrtGraph *graph, const char **name) EPP_ORT_CHECK;
	epp_ort_slot unnamed_334[4];
	OrtStatus *(*Graph_GetNumInputs)(const OrtGraph *graph, size_t *count) EPP_ORT_CHECK;
	OrtStatus *(*Graph_GetInputs)(const OrtGraph *graph, const OrtValueInfo **inputs, size_t count) EPP_ORT_CHECK;
	OrtStatus *(*Graph_GetNumOutputs)(const OrtGraph *graph, size_t *count) EPP_ORT_CHECK;
	OrtStatus *(*Graph_GetOutputs)(const OrtGraph *graph, const OrtValueInfo **outputs, size_t count) EPP_ORT_CHECK;
	OrtStatus *(*Graph_GetNumInitializers)(const OrtGraph *graph, size_t *count) EPP_ORT_CHECK;
	OrtStatus *(*Graph_GetInitializers)(const OrtGraph *graph, const OrtValueInfo **initializers,
	                                    size_t count) EPP_ORT_CHECK;
	OrtStatus *(*Graph_GetNumNodes)(const OrtGraph *graph, size_t *count) EPP_ORT_CHECK;
	OrtStatus *(*Graph_GetNodes)(const OrtGraph *graph, const OrtNode **nodes, size_t count) EPP_ORT_CHECK;
	epp_ort_slot unnamed_346[2];
	OrtStatus *(*Node_GetId)(const OrtNode *node, size_t *id) EPP_ORT_CHECK;
	OrtStatus *(*Node_GetName)(const OrtNode *node, const char **name) EPP_ORT_CHECK;
	OrtStatus *(*Node_GetOperatorType)(const OrtNode *node, const char **operator_type) EPP_ORT_CHECK;
	OrtStatus *(*Node_GetDomain)(const OrtNode *node, const char **domain) EPP_ORT_CHECK;
	OrtStatus *(*Node_GetSinceVersion)(const OrtNode *node, int *since_version) EPP_ORT_CHECK;
	OrtStatus *(*Node_GetNumInputs)(const OrtNode *node, size_t *count) EPP_ORT_CHECK;
	OrtStatus *(*Node_GetInputs)(const OrtNode *node, const OrtValueInfo **inputs, size_t count) EPP_ORT_CHECK;
	OrtStatus *(*Node_GetNumOutputs)(const OrtNode *node, size_t *count) EPP_ORT_CHECK;
	OrtStatus *(*Node_GetOutputs)(const OrtNode *node, const OrtValueInfo **outputs, size_t count) EPP_ORT_CHECK;
	epp_ort_slot unnamed_357[2];
	OrtStatus *(*Node_GetNumAttributes)(const OrtNode *node, size_t *count) EPP_ORT_CHECK;
	OrtStatus *(*Node_GetAttributes)(const OrtNode *node, const OrtOpAttr **attributes, size_t count) EPP_ORT_CHECK;
	OrtStatus *(*Node_GetAttributeByName)(const OrtNode *node, const char *name,
	                                      const OrtOpAttr **attribute) EPP_ORT_CHECK;
	epp_ort_slot unnamed_362[1];
	OrtStatus *(*OpAttr_GetType)(const OrtOpAttr *attribute, OrtOpAttrType *type) EPP_ORT_CHECK;
	OrtStatus *(*OpAttr_GetName)(const OrtOpAttr *attribute, const char **name) EPP_ORT_CHECK;
	OrtStatus *(*Node_GetNumSubgraphs)(const OrtNode *node, size_t *count) EPP_ORT_CHECK;
	epp_ort_slot unnamed_366[7];
	/* For OrtEp::OnRunStart.  Returns NULL for an unknown key; the text is valid until the run ends. */
	const char *(*GetRunConfigEntry)(const OrtRunOptions *options, const char *config_key) EPP_ORT_NOEXCEPT;
	/* [served] Returns the memory info that EpDevice_AddAllocatorInfo added, or NULL if none was added. */
	const OrtMemoryInfo *(*EpDevice_MemoryInfo)(const OrtEpDevice *ep_device,
	                                            OrtDeviceMemoryType memory_type) EPP_ORT_NOEXCEPT;
	epp_ort_slot unnamed_375[3];
	OrtStatus *(*GetTensorData)(const OrtValue *value, const void **out) EPP_ORT_CHECK;

	/* [served] Returns a copy; the caller frees it with ReleaseKeyValuePairs. */
	OrtStatus *(*GetSessionOptionsConfigEntries)(const OrtSessionOptions *options,
	                                             OrtKeyValuePairs **out) EPP_ORT_CHECK;
	epp_ort_slot unnamed_380[27];
	/* Returns the nodes that were assigned to each provider.  Only for sessions that were created with the config
	 * entry "session.record_ep_graph_assignment_info" set to "1". */
	OrtStatus *(*Session_GetEpGraphAssignmentInfo)(const OrtSession *session,
	                                               const OrtEpAssignedSubgraph *const **ep_subgraphs,
	                                               size_t *num_ep_subgraphs) EPP_ORT_CHECK;
	OrtStatus *(*EpAssignedSubgraph_GetEpName)(const OrtEpAssignedSubgraph *ep_subgraph,
	                                           const char **out) EPP_ORT_CHECK;
	OrtStatus *(*EpAssignedSubgraph_GetNodes)(const OrtEpAssignedSubgraph *ep_subgraph,
	                                          const OrtEpAssignedNode *const **ep_nodes,
	                                          size_t *num_ep_nodes) EPP_ORT_CHECK;
	epp_ort_slot unnamed_410[5];
	OrtStatus *(*RunOptionsEnableProfiling)(OrtRunOptions *options, const char *profile_file_prefix) EPP_ORT_CHECK;
	epp_ort_slot unnamed_416[6];
	/* [served] Returns the function with this name (epprof/ep_push.h), or NULL if it is unknown.  Since version
	 * 28. */
	OrtExperimentalFnPtr (*GetExperimentalFunction)(const char *name) EPP_ORT_NOEXCEPT;
	epp_ort_slot unnamed_423[2];
};

struct OrtEpApi {
	/* [served] Metadata and options are copied and may be NULL; the factory and the hardware device must outlive
	 * the device. */
	OrtStatus *(*CreateEpDevice)(OrtEpFactory *ep_factory, const OrtHardwareDevice *hardware_device,
	                             const OrtKeyValuePairs *ep_metadata, const OrtKeyValuePairs *ep_options,
	                             OrtEpDevice **ep_device) EPP_ORT_CHECK;
	void (*ReleaseEpDevice)(OrtEpDevice *input);

	/* Adds the nodes that OrtEp::GetCapability claims; the nodes of one call become one fused node. */
	OrtStatus *(*EpGraphSupportInfo_AddNodesToFuse)(OrtEpGraphSupportInfo *graph_support_info,
	                                                const OrtNode *const *nodes, size_t num_nodes,
	                                                const OrtNodeFusionOptions *options) EPP_ORT_CHECK;
	OrtStatus *(*EpGraphSupportInfo_AddSingleNode)(OrtEpGraphSupportInfo *graph_support_info,
	                                               const OrtNode *node) EPP_ORT_CHECK;
	const char *(*NodeComputeContext_NodeName)(const OrtNodeComputeContext *context) EPP_ORT_NOEXCEPT;

	/* [served] The memory info is borrowed and must outlive the device.  A device has one for each kind of memory:
	 * a later call replaces the earlier one.  ONNX Runtime calls the factory's CreateAllocator for it when the
	 * library is registered. */
	OrtStatus *(*EpDevice_AddAllocatorInfo)(OrtEpDevice *ep_device,
	                                        const OrtMemoryInfo *allocator_memory_info) EPP_ORT_CHECK;
	const OrtMemoryDevice *(*MemoryInfo_GetMemoryDevice)(const OrtMemoryInfo *memory_info) EPP_ORT_NOEXCEPT;
	epp_ort_slot unnamed_7[1];
	bool (*MemoryDevice_AreEqual)(const OrtMemoryDevice *a, const OrtMemoryDevice *b) EPP_ORT_NOEXCEPT;
	OrtMemoryInfoDeviceType (*MemoryDevice_GetDeviceType)(const OrtMemoryDevice *memory_device) EPP_ORT_NOEXCEPT;
	OrtDeviceMemoryType (*MemoryDevice_GetMemoryType)(const OrtMemoryDevice *memory_device) EPP_ORT_NOEXCEPT;
	uint32_t (*MemoryDevice_GetVendorId)(const OrtMemoryDevice *memory_device) EPP_ORT_NOEXCEPT;
	uint32_t (*MemoryDevice_GetDeviceId)(const OrtMemoryDevice *memory_device) EPP_ORT_NOEXCEPT;
	epp_ort_slot unnamed_13[3];

	/* [served] Vendor and metadata are copied; metadata may be NULL. */
	OrtStatus *(*CreateHardwareDevice)(OrtHardwareDeviceType type, uint32_t vendor_id, uint32_t device_id,
	                                   const char *vendor_name, const OrtKeyValuePairs *metadata,
	                                   OrtHardwareDevice **hardware_device) EPP_ORT_CHECK;
	void (*ReleaseHardwareDevice)(OrtHardwareDevice *input);
	epp_ort_slot unnamed_18[31];
	OrtStatus *(*GetEnvConfigEntries)(OrtKeyValuePairs **config_entries) EPP_ORT_CHECK; /* [served] the result has
	                                                                                       no entries */
	epp_ort_slot unnamed_50[15];

	/* [served] Profiling events.  Create copies all strings.  Process and thread are -1 if they do not apply.  The
	 * arrays may be NULL if num_args is 0.  If two args have the same key, the first one is used.  The returned
	 * names and values are valid as long as the event.  GetArgValue returns NULL if the event has no such key.
	 * Units: us since the profile began (see OrtEpProfilerImpl::StartProfiling).
	 * Errors: ORT_INVALID_ARGUMENT for a category above 3 or a NULL argument. */
	OrtStatus *(*CreateProfilingEvent)(OrtProfilingEventCategory category, int32_t process_id, int32_t thread_id,
	                                   const char *event_name, int64_t timestamp_us, int64_t duration_us,
	                                   const char *const *arg_keys, const char *const *arg_values, size_t num_args,
	                                   OrtProfilingEvent **out) EPP_ORT_CHECK;
	void (*ReleaseProfilingEvent)(OrtProfilingEvent *input);
	OrtStatus *(*ProfilingEvent_GetCategory)(const OrtProfilingEvent *event,
	                                         OrtProfilingEventCategory *out) EPP_ORT_CHECK;
	OrtStatus *(*ProfilingEvent_GetName)(const OrtProfilingEvent *event, const char **out) EPP_ORT_CHECK;
	OrtStatus *(*ProfilingEvent_GetTimestampUs)(const OrtProfilingEvent *event, int64_t *out) EPP_ORT_CHECK;
	OrtStatus *(*ProfilingEvent_GetDurationUs)(const OrtProfilingEvent *event, int64_t *out) EPP_ORT_CHECK;
	OrtStatus *(*ProfilingEvent_GetArgValue)(const OrtProfilingEvent *event, const char *key,
	                                         const char **out) EPP_ORT_CHECK;

	/* [served] May be called only in EndProfiling, with the container that EndProfiling got.  num_events must be
	 * above 0.  Several calls are allowed, but a few large batches cost less than many small ones.
	 * Ownership: the caller keeps the events and releases them. */
	OrtStatus *(*ProfilingEventsContainer_AddEvents)(OrtProfilingEventsContainer *events_container,
	                                                 const OrtProfilingEvent *const *events,
	                                                 size_t num_events) EPP_ORT_CHECK;

	/* [served] Returns NULL and 0, because epprof has no model in a buffer. */
	OrtStatus *(*SessionOptionsGetWeightlessSourceModelBuffer)(const OrtSessionOptions *session_options,
	                                                           const void **source_model_data,
	                                                           size_t *source_model_data_length) EPP_ORT_CHECK;
};

/* clang-format on */

#undef EPP_ORT_CHECK
#undef EPP_ORT_NOEXCEPT

#endif

#ifdef __cplusplus
}
#endif

#include "epprof/abi/ort_layout.h"

#endif

/* epprof: declares ONNX Runtime's profiler object model again, so that no other header is needed.
 *
 * Every profiler is an OrtEpProfilerImpl, byte for byte ONNX Runtime's struct of API version 25 and later.  This header
 * declares the profiler, its events, and the structs through which an execution provider (EP) library provides a
 * profiler; epprof/abi/ort_tables.h, included at the end, declares the function tables that such a library gets.
 *
 * Names, parameters and order are those of ONNX Runtime's headers onnxruntime_c_api.h and onnxruntime_ep_c_api.h, API
 * version 29: a profiler compiled with either set of headers runs in either host.  The official calling convention
 * macro is empty on Linux.  Entries that are not declared here are placeholders `unnamed_<slot>`; an EP leaves them
 * NULL.  If a file needs the official headers too, it includes them first.  The official declarations are then used,
 * and epprof/abi/ort_layout.h checks their layout.
 *
 * ONNX Runtime defines the contract of each entry; the comments describe the behaviour that ONNX Runtime and an epprof
 * host have in common.  All strings are UTF-8 and end with a NUL.  No entry may throw: in C++ the types are noexcept,
 * as the official ones are. */
#ifndef EPPROF_ABI_ORT_EP_PROFILER_H
#define EPPROF_ABI_ORT_EP_PROFILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* EPPROF_ORT_API_VERSION is the newest API version: its tables are declared here and implemented by libepprof.
 * EPPROF_ORT_API_VERSION_MIN is the oldest version that has profilers. */
#define EPPROF_ORT_API_VERSION 29
#define EPPROF_ORT_API_VERSION_MIN 25

#ifdef ORT_API_VERSION
#if ORT_API_VERSION < 25
#error "the ONNX Runtime headers included before are older than API version 25, the first with profilers"
#endif
#else

#ifdef __cplusplus
#define EPP_ORT_NOEXCEPT noexcept
#else
#define EPP_ORT_NOEXCEPT
#endif
#if defined(__GNUC__)
#define EPP_ORT_CHECK EPP_ORT_NOEXCEPT __attribute__((warn_unused_result))
#else
#define EPP_ORT_CHECK EPP_ORT_NOEXCEPT
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct OrtAllocator OrtAllocator;
typedef struct OrtApi OrtApi;
typedef struct OrtApiBase OrtApiBase;
typedef struct OrtDataTransferImpl OrtDataTransferImpl;
typedef struct OrtEp OrtEp;
typedef struct OrtEpApi OrtEpApi;
typedef struct OrtEpDevice OrtEpDevice;
typedef struct OrtEpFactory OrtEpFactory;
typedef struct OrtEpGraphSupportInfo OrtEpGraphSupportInfo;
typedef struct OrtEpProfilerImpl OrtEpProfilerImpl;
typedef struct OrtGraph OrtGraph;
typedef struct OrtHardwareDevice OrtHardwareDevice;
typedef struct OrtKernelContext OrtKernelContext;
typedef struct OrtKeyValuePairs OrtKeyValuePairs;
typedef struct OrtLogger OrtLogger;
typedef struct OrtMemoryDevice OrtMemoryDevice;
typedef struct OrtMemoryInfo OrtMemoryInfo;
typedef struct OrtNode OrtNode;
typedef struct OrtNodeComputeContext OrtNodeComputeContext;
typedef struct OrtNodeComputeInfo OrtNodeComputeInfo;
typedef struct OrtNodeFusionOptions OrtNodeFusionOptions;
typedef struct OrtOpAttr OrtOpAttr;
typedef struct OrtProfilingEvent OrtProfilingEvent;
typedef struct OrtProfilingEventsContainer OrtProfilingEventsContainer;
typedef struct OrtRunOptions OrtRunOptions;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtStatus OrtStatus; /* NULL is success */
typedef struct OrtSyncStreamImpl OrtSyncStreamImpl;
typedef struct OrtTensorTypeAndShapeInfo OrtTensorTypeAndShapeInfo;
typedef struct OrtTypeInfo OrtTypeInfo;
typedef struct OrtValue OrtValue;
typedef struct OrtValueInfo OrtValueInfo;

/* The type of table entries that are not declared here. */
typedef void (*epp_ort_slot)(void);

typedef enum OrtErrorCode {
	ORT_OK,
	ORT_FAIL,
	ORT_INVALID_ARGUMENT,
	ORT_NO_SUCHFILE,
	ORT_NO_MODEL,
	ORT_ENGINE_ERROR,
	ORT_RUNTIME_EXCEPTION,
	ORT_INVALID_PROTOBUF,
	ORT_MODEL_LOADED,
	ORT_NOT_IMPLEMENTED,
	ORT_INVALID_GRAPH,
	ORT_EP_FAIL,
	ORT_MODEL_LOAD_CANCELED,
	ORT_MODEL_REQUIRES_COMPILATION,
	ORT_NOT_FOUND,
	ORT_DEVICE_RESET
} OrtErrorCode;

typedef enum OrtLoggingLevel {
	ORT_LOGGING_LEVEL_VERBOSE,
	ORT_LOGGING_LEVEL_INFO,
	ORT_LOGGING_LEVEL_WARNING,
	ORT_LOGGING_LEVEL_ERROR,
	ORT_LOGGING_LEVEL_FATAL
} OrtLoggingLevel;

typedef enum OrtHardwareDeviceType {
	OrtHardwareDeviceType_CPU,
	OrtHardwareDeviceType_GPU,
	OrtHardwareDeviceType_NPU
} OrtHardwareDeviceType;

/* CreateProfilingEvent rejects values of 4 and more. */
typedef enum OrtProfilingEventCategory {
	OrtProfilingEventCategory_SESSION = 0,
	OrtProfilingEventCategory_NODE = 1,
	OrtProfilingEventCategory_KERNEL = 2,
	OrtProfilingEventCategory_API = 3
} OrtProfilingEventCategory;

/* clang-format is off because it would remove the space before the macros at the end of a member. */
/* clang-format off */

/* A profiler.  The EP fills it and usually embeds it in a struct of its own; the host calls it.
 * `ort_version_supported` is the API version that the EP was compiled with: 25 or later.
 * Calls on one profiler: StartProfiling, any number of StartEvent and StopEvent, EndProfiling; after that either
 * StartProfiling again or Release.  A profiler that is never started only gets Release.
 * Errors: the host records, counts and releases a status, and continues. */
struct OrtEpProfilerImpl {
	uint32_t ort_version_supported;

	/* Frees the profiler.  Required.
	 * Thread: [any-thread], the last call. */
	void (*Release)(OrtEpProfilerImpl *this_ptr) EPP_ORT_NOEXCEPT;

	/* Profiling begins.  The EP reads its own clock now; the reading is start_ns below.  The offset is the time
	 * since the host's profile began: an event at ep_ns on the EP's clock has the timestamp
	 * (ep_profiling_start_offset_ns + (ep_ns - start_ns)) / 1000 us.  Required.
	 * Units: ns.  Thread: [session-thread].
	 * Errors: the host continues to call the other entries after an error. */
	OrtStatus *(*StartProfiling)(OrtEpProfilerImpl *this_ptr, int64_t ep_profiling_start_offset_ns) EPP_ORT_CHECK;

	/* A host event begins on this thread.  Optional.
	 * In an epprof host the id is unique in the process.  In ONNX Runtime the id is the event's start in us since
	 * the epoch, so two open events of one thread can have the same id.  Match begin and end with a stack per
	 * thread and profiler, never by the id alone.
	 * Thread: [event-thread]; must neither block nor begin host events. */
	OrtStatus *(*StartEvent)(OrtEpProfilerImpl *this_ptr, uint64_t ort_event_correlation_id) EPP_ORT_CHECK;

	/* The host event ended; it can be read with OrtEpApi's ProfilingEvent_ accessors.  Optional.
	 * Thread: [event-thread], normally that of StartEvent.  Ownership: `ort_event` is borrowed for the call. */
	OrtStatus *(*StopEvent)(OrtEpProfilerImpl *this_ptr, uint64_t ort_event_correlation_id,
	                        const OrtProfilingEvent *ort_event) EPP_ORT_CHECK;

	/* Profiling ends: the EP adds its events since StartProfiling to the container.  Required.
	 * Thread: [session-thread], with no StartEvent or StopEvent running or to come.
	 * Ownership: the container is borrowed for the call; it copies the events.
	 * Errors: ONNX Runtime drops all events of this profiler; an epprof host keeps those that were added. */
	OrtStatus *(*EndProfiling)(OrtEpProfilerImpl *this_ptr,
	                           OrtProfilingEventsContainer *events_container) EPP_ORT_CHECK;
};

/* The functions that run a compiled (fused) node.  The EP fills the struct in OrtEp::Compile. */
struct OrtNodeComputeInfo {
	uint32_t ort_version_supported;
	/* Thread: one at a time.  Ownership: the EP owns the state and frees it in ReleaseState. */
	OrtStatus *(*CreateState)(OrtNodeComputeInfo *this_ptr, OrtNodeComputeContext *compute_context,
	                          void **compute_state);
	/* Thread: [any-thread]; while profiling, the host calls it between StartEvent and StopEvent of the node's
	 * event. */
	OrtStatus *(*Compute)(OrtNodeComputeInfo *this_ptr, void *compute_state, OrtKernelContext *kernel_context);
	void (*ReleaseState)(OrtNodeComputeInfo *this_ptr, void *compute_state);
};

/* Options of OrtEpApi::EpGraphSupportInfo_AddNodesToFuse. */
struct OrtNodeFusionOptions {
	uint32_t ort_version_supported;
	bool drop_constant_initializers; /* true: constants are not inputs of the fused node, because the EP has copied
	                                    them */
};

/* An execution provider instance of one session.  OrtEpFactory::CreateEp creates it, and the EP fills it.
 * An epprof host uses only CreateProfiler; ONNX Runtime uses the rest. */
struct OrtEp {
	uint32_t ort_version_supported;
	/* Ownership: valid while the EP lives. */
	const char *(*GetName)(const OrtEp *this_ptr) EPP_ORT_NOEXCEPT;
	OrtStatus *(*GetCapability)(OrtEp *this_ptr, const OrtGraph *graph,
	                            OrtEpGraphSupportInfo *graph_support_info) EPP_ORT_CHECK;
	/* Ownership: graphs and nodes are borrowed for the call.  The EP owns the infos until
	 * ReleaseNodeComputeInfos. */
	OrtStatus *(*Compile)(OrtEp *this_ptr, const OrtGraph **graphs, const OrtNode **fused_nodes, size_t count,
	                      OrtNodeComputeInfo **node_compute_infos, OrtNode **ep_context_nodes) EPP_ORT_CHECK;
	void (*ReleaseNodeComputeInfos)(OrtEp *this_ptr, OrtNodeComputeInfo **node_compute_infos,
	                                size_t num_node_compute_infos) EPP_ORT_NOEXCEPT;
	epp_ort_slot unnamed_5[3];
	OrtStatus *(*OnRunStart)(OrtEp *this_ptr, const OrtRunOptions *run_options) EPP_ORT_CHECK;
	OrtStatus *(*OnRunEnd)(OrtEp *this_ptr, const OrtRunOptions *run_options, bool sync_stream) EPP_ORT_CHECK;
	epp_ort_slot unnamed_10[4];
	OrtStatus *(*IsConcurrentRunSupported)(OrtEp *this_ptr, bool *is_supported) EPP_ORT_CHECK;
	OrtStatus *(*Sync)(OrtEp *this_ptr) EPP_ORT_CHECK;
	/* Creates a profiler, or sets `*profiler` to NULL if the EP has nothing to profile.  Since version 25;
	 * optional.
	 * Thread: [session-thread].  Ownership: the host calls the profiler's Release before ReleaseEp. */
	OrtStatus *(*CreateProfiler)(OrtEp *this_ptr, OrtEpProfilerImpl **profiler) EPP_ORT_CHECK;
	epp_ort_slot unnamed_17[9];
};

/* A factory of EPs; CreateEpFactories creates it.  Required: GetName, GetVendor, GetSupportedDevices, CreateEp,
 * ReleaseEp, GetVersion, CreateDataTransfer (which may return NULL); the rest is optional.
 * Thread: one at a time for one factory.  Ownership: texts are valid until ReleaseEpFactory. */
struct OrtEpFactory {
	uint32_t ort_version_supported;
	const char *(*GetName)(const OrtEpFactory *this_ptr) EPP_ORT_NOEXCEPT;
	const char *(*GetVendor)(const OrtEpFactory *this_ptr) EPP_ORT_NOEXCEPT;
	/* Returns the devices that the EP supports, as OrtEpDevices made with OrtEpApi::CreateEpDevice.
	 * Ownership: the hardware devices are borrowed; the OrtEpDevices become the host's. */
	OrtStatus *(*GetSupportedDevices)(OrtEpFactory *this_ptr, const OrtHardwareDevice *const *devices,
	                                  size_t num_devices, OrtEpDevice **ep_devices, size_t max_ep_devices,
	                                  size_t *num_ep_devices) EPP_ORT_CHECK;
	/* Ownership: all arguments are borrowed for the call, except the logger, which is valid until ReleaseEp. */
	OrtStatus *(*CreateEp)(OrtEpFactory *this_ptr, const OrtHardwareDevice *const *devices,
	                       const OrtKeyValuePairs *const *ep_metadata_pairs, size_t num_devices,
	                       const OrtSessionOptions *session_options, const OrtLogger *logger,
	                       OrtEp **ep) EPP_ORT_CHECK;
	void (*ReleaseEp)(OrtEpFactory *this_ptr, OrtEp *ep) EPP_ORT_NOEXCEPT;
	uint32_t (*GetVendorId)(const OrtEpFactory *this_ptr) EPP_ORT_NOEXCEPT;
	const char *(*GetVersion)(const OrtEpFactory *this_ptr) EPP_ORT_NOEXCEPT;
	epp_ort_slot unnamed_8[1];
	OrtStatus *(*CreateAllocator)(OrtEpFactory *this_ptr, const OrtMemoryInfo *memory_info,
	                              const OrtKeyValuePairs *allocator_options,
	                              OrtAllocator **allocator) EPP_ORT_CHECK;
	void (*ReleaseAllocator)(OrtEpFactory *this_ptr, OrtAllocator *allocator) EPP_ORT_NOEXCEPT;
	OrtStatus *(*CreateDataTransfer)(OrtEpFactory *this_ptr, OrtDataTransferImpl **data_transfer) EPP_ORT_CHECK;
	bool (*IsStreamAware)(const OrtEpFactory *this_ptr) EPP_ORT_NOEXCEPT;
	OrtStatus *(*CreateSyncStreamForDevice)(OrtEpFactory *this_ptr, const OrtMemoryDevice *memory_device,
	                                        const OrtKeyValuePairs *stream_options,
	                                        OrtSyncStreamImpl **stream) EPP_ORT_CHECK;
	epp_ort_slot unnamed_14[7];
};

/* The two symbols that an EP library exports, "CreateEpFactories" and "ReleaseEpFactory".
 * CreateEpFactories writes at most max_factories (4 in both hosts) factories and their number.
 * Thread: one at a time for one library.  Ownership: the API base is static.  The logger is valid until the library is
 * unloaded.  The EP owns a factory and frees it in ReleaseEpFactory. */
typedef OrtStatus *(*CreateEpApiFactoriesFn)(const char *registered_name, const OrtApiBase *ort_api_base,
                                             const OrtLogger *default_logger, OrtEpFactory **factories,
                                             size_t max_factories, size_t *num_factories);
typedef OrtStatus *(*ReleaseEpApiFactoryFn)(OrtEpFactory *factory);

/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif

#include "epprof/abi/ort_tables.h"

#endif

/* epprof: TensorFlow's pluggable profiler, the C ABI (tensorflow/c/experimental/pluggable_profiler, version 0.0.1).
 *
 * A plugin exports TF_InitProfiler, which fills the structs that its params point to.  The host starts and stops the
 * profiler and then calls collect_data_xspace twice for a serialised XSpace: with a NULL buffer for the size, then with
 * a buffer of that size for the bytes.  The *_STRUCT_SIZE macros give the struct sizes: each reaches to the end of the
 * last known field.
 *
 * If TensorFlow's own headers were included first, this header does not declare their names again.  The layouts are
 * checked in both cases. */
#ifndef EPPROF_ABI_TF_H
#define EPPROF_ABI_TF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- statuses (tensorflow/c/tf_status.h) ---- */

#ifndef TENSORFLOW_C_TF_STATUS_H_

typedef struct TSL_Status TF_Status;

typedef enum TF_Code {
	TF_OK = 0,
	TF_CANCELLED = 1,
	TF_UNKNOWN = 2,
	TF_INVALID_ARGUMENT = 3,
	TF_DEADLINE_EXCEEDED = 4,
	TF_NOT_FOUND = 5,
	TF_ALREADY_EXISTS = 6,
	TF_PERMISSION_DENIED = 7,
	TF_RESOURCE_EXHAUSTED = 8,
	TF_FAILED_PRECONDITION = 9,
	TF_ABORTED = 10,
	TF_OUT_OF_RANGE = 11,
	TF_UNIMPLEMENTED = 12,
	TF_INTERNAL = 13,
	TF_UNAVAILABLE = 14,
	TF_DATA_LOSS = 15,
	TF_UNAUTHENTICATED = 16
} TF_Code;

/* TensorFlow exports these from libtensorflow_framework.so.2.  A plugin that should load in any host declares these
 * functions weak, and calls them only if they are defined.  To report success, a plugin need not call any of them. */
extern TF_Status *TF_NewStatus(void);
extern void TF_DeleteStatus(TF_Status *status);
extern void TF_SetStatus(TF_Status *status, TF_Code code, const char *message);
extern TF_Code TF_GetCode(const TF_Status *status);
extern const char *TF_Message(const TF_Status *status);

#endif

/* ---- the profiler ---- */

#ifndef TENSORFLOW_C_EXPERIMENTAL_PLUGGABLE_PROFILER_PLUGGABLE_PROFILER_H_

#ifndef TF_OFFSET_OF_END
#define TF_OFFSET_OF_END(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))
#endif

#define TP_MAJOR 0
#define TP_MINOR 0
#define TP_PATCH 1

typedef struct TP_Profiler {
	size_t struct_size;
	void *ext; /* for the plugin's own data */
	/* For example "XPU": upper-case letters and underscores; the first character is a letter.  The string must be
	 * static, because hosts copy the pointer. */
	const char *device_type;
} TP_Profiler;
#define TP_PROFILER_STRUCT_SIZE TF_OFFSET_OF_END(TP_Profiler, device_type)

/* `profiler` points to the host's copy of the struct that the plugin filled at registration, so its address does not
 * identify a profiler.  Use `ext` to distinguish profilers. */
typedef struct TP_ProfilerFns {
	size_t struct_size;
	void *ext;
	void (*start)(const TP_Profiler *profiler, TF_Status *status);
	void (*stop)(const TP_Profiler *profiler, TF_Status *status);
	/* If `buffer` is NULL, sets `*size_in_bytes` to the size of the data; else writes that many bytes to `buffer`.
	 * Only the first call with a buffer after start and stop must return data. */
	void (*collect_data_xspace)(const TP_Profiler *profiler, uint8_t *buffer, size_t *size_in_bytes, TF_Status *status);
} TP_ProfilerFns;
#define TP_PROFILER_FNS_STRUCT_SIZE TF_OFFSET_OF_END(TP_ProfilerFns, collect_data_xspace)

typedef struct TF_ProfilerRegistrationParams {
	size_t struct_size;
	void *ext;
	int32_t major_version; /* the host's version */
	int32_t minor_version;
	int32_t patch_version;
	TP_Profiler *profiler;        /* filled by the plugin */
	TP_ProfilerFns *profiler_fns; /* filled by the plugin */
	void (*destroy_profiler)(TP_Profiler *profiler);
	void (*destroy_profiler_fns)(TP_ProfilerFns *profiler_fns);
} TF_ProfilerRegistrationParams;
#define TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE \
	TF_OFFSET_OF_END(TF_ProfilerRegistrationParams, destroy_profiler_fns)

/* The plugin's entry point.  The host sets all sizes and the version in `params`. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
extern void
TF_InitProfiler(TF_ProfilerRegistrationParams *params, TF_Status *status);

#endif

/* The function table of the proposal's first revision (May 2021), which has one more entry before the last one.  A
 * plugin may fill it only if the host's struct_size has room for it.  TensorFlow itself passes 40, the size of the
 * accepted revision, which has no room for it. */
typedef struct EpprofTfFirstFns {
	size_t struct_size;
	void *ext;
	void (*start)(const TP_Profiler *profiler, TF_Status *status);
	void (*stop)(const TP_Profiler *profiler, TF_Status *status);
	/* Returns a serialised RunMetadata; called twice, as collect_data_xspace is. */
	void (*collect_data_run_metadata)(const TP_Profiler *profiler, uint8_t *buffer, size_t *size_in_bytes,
	                                  TF_Status *status);
	void (*collect_data_xspace)(const TP_Profiler *profiler, uint8_t *buffer, size_t *size_in_bytes, TF_Status *status);
} EpprofTfFirstFns;

#ifdef __cplusplus
}
#define EPP_TF_ASSERT(condition, text) static_assert(condition, text)
#else
#define EPP_TF_ASSERT(condition, text) _Static_assert(condition, text)
#endif

#if UINTPTR_MAX == UINT64_MAX
EPP_TF_ASSERT(offsetof(TP_Profiler, device_type) == 16 && sizeof(TP_Profiler) == 24, "TP_Profiler");
EPP_TF_ASSERT(offsetof(TP_ProfilerFns, start) == 16 && offsetof(TP_ProfilerFns, stop) == 24, "TP_ProfilerFns");
EPP_TF_ASSERT(offsetof(TP_ProfilerFns, collect_data_xspace) == 32 && sizeof(TP_ProfilerFns) == 40, "TP_ProfilerFns");
EPP_TF_ASSERT(offsetof(TF_ProfilerRegistrationParams, major_version) == 16, "TF_ProfilerRegistrationParams");
EPP_TF_ASSERT(offsetof(TF_ProfilerRegistrationParams, profiler) == 32, "TF_ProfilerRegistrationParams");
EPP_TF_ASSERT(offsetof(TF_ProfilerRegistrationParams, profiler_fns) == 40, "TF_ProfilerRegistrationParams");
EPP_TF_ASSERT(offsetof(TF_ProfilerRegistrationParams, destroy_profiler) == 48, "TF_ProfilerRegistrationParams");
EPP_TF_ASSERT(offsetof(TF_ProfilerRegistrationParams, destroy_profiler_fns) == 56, "TF_ProfilerRegistrationParams");
EPP_TF_ASSERT(sizeof(TF_ProfilerRegistrationParams) == 64, "TF_ProfilerRegistrationParams");
EPP_TF_ASSERT(offsetof(EpprofTfFirstFns, collect_data_run_metadata) == 32, "the first revision");
EPP_TF_ASSERT(offsetof(EpprofTfFirstFns, collect_data_xspace) == 40, "the first revision");
EPP_TF_ASSERT(sizeof(EpprofTfFirstFns) == 48, "the first revision");
#endif
#undef EPP_TF_ASSERT

#endif

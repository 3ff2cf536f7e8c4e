/* epprof: TensorFlow's pluggable profiler, the C ABI (tensorflow/c/experimental/pluggable_profiler, version 0.0.1).
 *
 * A plugin exports TF_InitProfiler and fills what it is given; the host starts, stops, and asks for a serialised XSpace
 * twice: with a NULL buffer for its size, with a buffer of that size for its bytes.  Struct sizes are those that the
 * *_STRUCT_SIZE macros give: up to the end of the last field known.
 *
 * If TensorFlow's own headers were included first, this one declares nothing twice.  The layouts are checked either way.
 */
#ifndef EPPROF_TF_H
#define EPPROF_TF_H

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

/* TensorFlow has these in libtensorflow_framework.so.2.  A plugin that is to load anywhere declares them weak and calls
 * them where they are; to report success nobody needs to. */
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
	void *ext; /* the plugin's */
	/* "XPU": upper case and underscores, a letter first.  Static: hosts copy the pointer. */
	const char *device_type;
} TP_Profiler;
#define TP_PROFILER_STRUCT_SIZE TF_OFFSET_OF_END(TP_Profiler, device_type)

/* `profiler` is a copy of what registration filled; tell profilers apart by `ext`. */
typedef struct TP_ProfilerFns {
	size_t struct_size;
	void *ext;
	void (*start)(const TP_Profiler *profiler, TF_Status *status);
	void (*stop)(const TP_Profiler *profiler, TF_Status *status);
	/* `buffer` NULL: says in `*size_in_bytes` how many bytes there are.  Else writes so many.  Only the first call with a
	 * buffer after start and stop has to give data. */
	void (*collect_data_xspace)(const TP_Profiler *profiler, uint8_t *buffer, size_t *size_in_bytes, TF_Status *status);
} TP_ProfilerFns;
#define TP_PROFILER_FNS_STRUCT_SIZE TF_OFFSET_OF_END(TP_ProfilerFns, collect_data_xspace)

typedef struct TF_ProfilerRegistrationParams {
	size_t struct_size;
	void *ext;
	int32_t major_version; /* the host's */
	int32_t minor_version;
	int32_t patch_version;
	TP_Profiler *profiler;        /* filled by the plugin */
	TP_ProfilerFns *profiler_fns; /* filled by the plugin */
	void (*destroy_profiler)(TP_Profiler *profiler);
	void (*destroy_profiler_fns)(TP_ProfilerFns *profiler_fns);
} TF_ProfilerRegistrationParams;
#define TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE \
	TF_OFFSET_OF_END(TF_ProfilerRegistrationParams, destroy_profiler_fns)

/* The plugin's entry.  `params` comes with all sizes and the version filled in. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
extern void
TF_InitProfiler(TF_ProfilerRegistrationParams *params, TF_Status *status);

#endif

/* The first revision of the proposal, of May 2021: one entry more, in front of the last.  A plugin may fill it only where
 * the host has room for it: TensorFlow itself fills in the accepted size, 40, and has not. */
typedef struct EpprofTfFirstFns {
	size_t struct_size;
	void *ext;
	void (*start)(const TP_Profiler *profiler, TF_Status *status);
	void (*stop)(const TP_Profiler *profiler, TF_Status *status);
	/* A serialised RunMetadata, in two calls likewise. */
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

/* The PrivateUse1 tracing ABI (pu1*), by which the vendor of an accelerator for PyTorch reports the device's work.
 *
 * The proposal names functions and fields; this header defines types, values and threading, after the model of CUPTI
 * and similar libraries.  A vendor's shared library exports these functions and links no library of epprof for them.  A
 * host finds them with dlsym and calls them in this order:
 *
 *   pu1GetVersion()                                        the major version must be this header's
 *   kineto_register_privateuse1_plugin()                   once
 *   pu1TracingSetCallbacks(request, complete); pu1TracingEnable(kind)...
 *   pu1PushExternalCorrelationId(id) ... work is launched ... pu1PopExternalCorrelationId(NULL)
 *   pu1FlushAll(); pu1TracingDisable(kind)...
 *
 * The vendor requests buffers from the host, fills them with records, and returns them.  The host may read a returned
 * buffer at any later time.
 * A host looks in KINETO_PLUGIN_PATH (files or directories, colon-separated; the *.so of a directory in sorted order)
 * or, if that is not set, in /usr/lib/kineto/plugins, /usr/local/lib/kineto/plugins and ~/.local/lib/kineto/plugins.
 * It opens a library with RTLD_NOW | RTLD_LOCAL, once, and never unloads it, so that names and callbacks stay valid.
 *
 * Thread: all functions [any-thread], several at once, unless a function says otherwise.  The host never calls a
 * function from inside a callback, and holds no lock of its own during pu1FlushAll. */
#ifndef EPPROF_ABI_PU1_H
#define EPPROF_ABI_PU1_H

#include <stddef.h>
#include <stdint.h>

#ifndef PU1_API
#if defined(__GNUC__)
#define PU1_API __attribute__((visibility("default")))
#else
#define PU1_API
#endif
#endif

#ifdef __cplusplus
extern "C" {
#define PU1_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define PU1_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

/* A version is major << 16 | minor << 8 | patch. */
#define PU1_VERSION_MAJOR 1u
#define PU1_VERSION (PU1_VERSION_MAJOR << 16)

/* If CUPTI has the same result, its value is used. */
typedef enum pu1Result {
	PU1_SUCCESS = 0,
	PU1_INVALID_PARAMETER = 1,
	PU1_INVALID_OPERATION = 7, /* the functions were called in a wrong order */
	PU1_OUT_OF_MEMORY = 8,
	PU1_NOT_IMPLEMENTED = 11,
	PU1_MAX_LIMIT_REACHED = 12, /* there is no further record, or the stack is full */
	PU1_QUEUE_EMPTY = 18,       /* the stack is empty */
	PU1_INVALID_KIND = 21,
	PU1_UNKNOWN = 999,
	PU1_RESULT_FORCE_INT32 = 0x7fffffff
} pu1Result;

typedef enum pu1ActivityKind {
	PU1_KIND_INVALID = 0,
	PU1_KIND_CONCURRENT_KERNEL = 1,
	PU1_KIND_GPU_MEMCPY = 2,
	PU1_KIND_GPU_MEMSET = 3,
	PU1_KIND_PRIVATEUSE1_RUNTIME = 4, /* a call of the application into the vendor's runtime */
	PU1_KIND_PRIVATEUSE1_DRIVER = 5,  /* a call of the vendor's runtime into the driver */
	PU1_KIND_FORCE_INT32 = 0x7fffffff
} pu1ActivityKind;

#define PU1_RECORD_ALIGNMENT 8u
#define PU1_RECORD_BYTES_MIN 64u /* the size of a record that ends with `metadata` */

/* ---- values of pu1ActivityRecord.flags ---- */
#define PU1_FLAG_EXTERNAL_ID 1u /* external_id is valid, and may be 0 */

/* A record of any kind.  A record has the fields that are completely within its struct_size; later versions add fields
 * at the end.
 * Times are of the clock that pu1GetTimestamp reads or, if the library has no such function, of CLOCK_REALTIME. */
typedef struct pu1ActivityRecord {
	uint32_t kind;
	uint32_t struct_size; /* bytes of this record: a multiple of 8, at least 64 */
	uint64_t start_time;  /* ns; 0: unknown */
	uint64_t end_time;
	int32_t device_id; /* in runtime and driver records: the process id */
	uint32_t flags;
	int64_t stream_id;       /* in runtime and driver records: the thread id */
	uint64_t correlation_id; /* a runtime record and the device record of the work that it launched have the same
	                            id; a record of 64 bytes has the external id here */
	const char *name;        /* valid until the process ends (interned by the vendor); NULL: unnamed */
	const char *metadata;    /* a JSON object as text, or NULL; valid until the process ends */
	uint64_t external_id;    /* the top of the launching thread's stack of external ids at the launch */
	uint32_t process_id;     /* the process that launched the work; 0: unknown */
	uint32_t thread_id;
	uint64_t bytes; /* copies and fills: the number of bytes */
} pu1ActivityRecord;

/* Requests a buffer from the host.  The buffer is 8-aligned.  If `*max_records` is 0, the vendor may write as many
 * records as fit.  If `*buffer` is NULL, the host has no buffer: the vendor drops the records and counts them.  The
 * vendor owns the buffer until it calls pu1BufferCompleteFn with it.
 * Thread: [any-thread], including the vendor's own threads, several at once.  The callback calls no pu1 function. */
typedef void (*pu1BufferRequestFn)(uint8_t **buffer, size_t *size, size_t *max_records);

/* Returns a buffer to the host: its first `valid_bytes` contain complete, 8-aligned records without gaps; `size` is the
 * value from the request.
 * Thread: as pu1BufferRequestFn.  Ownership: the buffer becomes the host's. */
typedef void (*pu1BufferCompleteFn)(uint8_t *buffer, size_t size, size_t valid_bytes);

/* ---- required ---- */

/* Returns the PU1_VERSION that the vendor's library was compiled with.  May be called before any other function. */
PU1_API uint32_t pu1GetVersion(void);

/* Initialises the library.  If the result is not 0, the library cannot be used, and the host calls no other
 * function.
 * Thread: once, after the version was checked. */
PU1_API int kineto_register_privateuse1_plugin(void);

/* Turns records of this kind on or off for work that is launched after the call.  Enabling an enabled kind, or
 * disabling a disabled one, has no effect.
 * Errors: PU1_INVALID_KIND. */
PU1_API pu1Result pu1TracingEnable(pu1ActivityKind kind);
PU1_API pu1Result pu1TracingDisable(pu1ActivityKind kind);

/* Sets the callbacks that provide and take back buffers.  May be called again while no kind is enabled.
 * Ownership: both stay valid until the process ends.  Errors: PU1_INVALID_PARAMETER if one is NULL. */
PU1_API pu1Result pu1TracingSetCallbacks(pu1BufferRequestFn request, pu1BufferCompleteFn complete);

/* Pushes to and pops from the calling thread's stack of external ids.  The top of the stack is the external id of the
 * work that the thread launches.
 * `last_id` may be NULL, and is not written on failure.
 * Errors: PU1_MAX_LIMIT_REACHED for a full stack; PU1_QUEUE_EMPTY. */
PU1_API pu1Result pu1PushExternalCorrelationId(uint64_t id);
PU1_API pu1Result pu1PopExternalCorrelationId(uint64_t *last_id);

/* Returns every buffer with complete records to the host, partly filled ones too, before the call returns.  The device
 * is not synchronised: work that has not ended is reported later.
 * Errors: PU1_INVALID_OPERATION without callbacks. */
PU1_API pu1Result pu1FlushAll(void);

/* Iterates over the records of a buffer.  If `*record` is NULL, gets the first record, else the one after `*record`.
 * Errors: PU1_MAX_LIMIT_REACHED at the end or at a truncated record, PU1_INVALID_KIND, PU1_INVALID_PARAMETER; then
 * `*record` is not changed. */
PU1_API pu1Result pu1GetNextRecord(uint8_t *buffer, size_t valid_bytes, pu1ActivityRecord **record);

/* ---- optional: a library may lack these ---- */

/* Returns in `*count` the number of records dropped since the last call. */
PU1_API pu1Result pu1GetNumDroppedRecords(size_t *count);

/* Reads the clock of the records.  Units: ns. */
PU1_API pu1Result pu1GetTimestamp(uint64_t *now_ns);

/* If the vendor converts the times of records to the clock that pu1GetTimestamp reads, returns the maximum error of the
 * conversion.  This function is not in the proposal.  If a library lacks it, a host assumes an error of 0.  Units:
 * ns. */
PU1_API pu1Result pu1GetClockError(uint64_t *error_ns);

/* Returns the text for a result.  Ownership: static. */
PU1_API const char *pu1GetResultString(pu1Result result);

PU1_STATIC_ASSERT(sizeof(pu1Result) == 4 && sizeof(pu1ActivityKind) == 4, "enums have 32 bits");
PU1_STATIC_ASSERT(offsetof(pu1ActivityRecord, struct_size) == 4, "struct_size");
PU1_STATIC_ASSERT(offsetof(pu1ActivityRecord, start_time) == 8, "start_time");
PU1_STATIC_ASSERT(offsetof(pu1ActivityRecord, end_time) == 16, "end_time");
PU1_STATIC_ASSERT(offsetof(pu1ActivityRecord, device_id) == 24, "device_id");
PU1_STATIC_ASSERT(offsetof(pu1ActivityRecord, flags) == 28, "flags");
PU1_STATIC_ASSERT(offsetof(pu1ActivityRecord, stream_id) == 32, "stream_id");
PU1_STATIC_ASSERT(offsetof(pu1ActivityRecord, correlation_id) == 40, "correlation_id");
PU1_STATIC_ASSERT(offsetof(pu1ActivityRecord, name) == 48, "name");
PU1_STATIC_ASSERT(offsetof(pu1ActivityRecord, metadata) == 56, "metadata");
PU1_STATIC_ASSERT(offsetof(pu1ActivityRecord, external_id) == PU1_RECORD_BYTES_MIN, "external_id");
PU1_STATIC_ASSERT(offsetof(pu1ActivityRecord, process_id) == 72, "process_id");
PU1_STATIC_ASSERT(offsetof(pu1ActivityRecord, thread_id) == 76, "thread_id");
PU1_STATIC_ASSERT(offsetof(pu1ActivityRecord, bytes) == 80, "bytes");
PU1_STATIC_ASSERT(sizeof(pu1ActivityRecord) == 88, "the record of 1.0.0");

#ifdef __cplusplus
}
#endif
#endif

/* The part of CUPTI's ABI that this plugin uses: functions, numbers and the first fields of activity records.
 *
 * CUPTI renames a record when fields are added at its end; the fields here have the same offsets in CUDA 12 and 13.
 * tests/interop/check_cupti_abi.py compares them with the headers.
 * The plugin reads records in CUPTI's buffers, and never creates one. */
#ifndef EPPROF_CUPTI_CUPTI_ABI_H
#define EPPROF_CUPTI_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

#define CUPTI_SUCCESS 0
#define CUPTI_ERROR_MAX_LIMIT_REACHED 12 /* there is no further record in the buffer */

/* Values of CUpti_ActivityKind. */
enum cupti_kind {
	CUPTI_MEMCPY = 1,
	CUPTI_MEMSET = 2,
	CUPTI_DRIVER = 4,
	CUPTI_RUNTIME = 5,
	CUPTI_CONCURRENT_KERNEL = 10,
	CUPTI_MEMCPY_PEER = 22, /* CUPTI_ACTIVITY_KIND_MEMCPY2 */
	CUPTI_EXTERNAL_CORRELATION = 39
};

#define CUPTI_DOMAIN_DRIVER 1  /* CUPTI_CB_DOMAIN_DRIVER_API */
#define CUPTI_DOMAIN_RUNTIME 2 /* CUPTI_CB_DOMAIN_RUNTIME_API */
#define CUPTI_THREAD_ID_SYSTEM 1
#define CUPTI_FLUSH_FORCED 1
/* CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, because PyTorch's Kineto uses CUSTOM0 and CUSTOM1. */
#define CUPTI_EXTERNAL_CUSTOM2 5

struct cupti_kernel {
	uint32_t kind;
	uint8_t cache_config, shared_config;
	uint16_t registers;
	uint32_t partitioned[2];
	uint64_t start, end; /* ns, by cuptiGetTimestamp; 0: unknown */
	uint64_t completed;
	uint32_t device, context, stream;
	int32_t grid[3], block[3];
	int32_t static_shared, dynamic_shared; /* bytes */
	uint32_t local_per_thread, local_total;
	uint32_t correlation;
	int64_t grid_id;
	const char *name; /* mangled name */
	void *reserved;
	uint64_t queued, submitted;
	uint8_t launch_type, carveout[2], padding;
	uint32_t shared_executed;
	uint64_t graph_node; /* 0: the record is not from a graph */
	uint32_t limit_config;
	uint32_t graph;
};

/* Records of copies.  A record of a copy between two devices has the same fields up to `stream`. */
struct cupti_memcpy {
	uint32_t kind;
	uint8_t copy_kind, source_kind, target_kind, flags;
	uint64_t bytes;
	uint64_t start, end;
	uint32_t device, context, stream;
	uint32_t correlation;
	uint32_t runtime_correlation, padding;
	void *reserved;
	uint64_t graph_node;
	uint32_t graph;
};

struct cupti_memcpy_peer {
	uint32_t kind;
	uint8_t copy_kind, source_kind, target_kind, flags;
	uint64_t bytes;
	uint64_t start, end;
	uint32_t device, context, stream;
	uint32_t source_device, source_context, target_device, target_context;
	uint32_t correlation;
	void *reserved;
	uint64_t graph_node;
	uint32_t graph;
};

struct cupti_memset {
	uint32_t kind;
	uint32_t value;
	uint64_t bytes;
	uint64_t start, end;
	uint32_t device, context, stream;
	uint32_t correlation;
	uint16_t flags, memory_kind;
	uint32_t padding;
	void *reserved;
	uint64_t graph_node;
	uint32_t graph;
};

struct cupti_call {
	uint32_t kind;
	uint32_t function; /* CUpti_CallbackId in the domain of the record's kind */
	uint64_t start, end;
	uint32_t process, thread;
	uint32_t correlation;
	uint32_t result;
};

struct cupti_external {
	uint32_t kind;
	uint32_t external_kind;
	uint64_t external;
	uint32_t correlation, reserved;
};

typedef void (*cupti_request_fn)(uint8_t **buffer, size_t *bytes, size_t *max_records);
typedef void (*cupti_complete_fn)(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid_bytes);

/* CUPTI's functions, without the prefix "cupti".  Each returns a CUptiResult. */
struct cupti_calls {
	int (*GetVersion)(uint32_t *version);
	int (*GetResultString)(int result, const char **text);
	int (*GetTimestamp)(uint64_t *ns);
	int (*SetThreadIdType)(int type);
	int (*GetCallbackName)(int domain, uint32_t function, const char **name);
	int (*ActivityRegisterCallbacks)(cupti_request_fn request, cupti_complete_fn complete);
	int (*ActivityEnable)(int kind);
	int (*ActivityDisable)(int kind);
	int (*ActivityFlushAll)(uint32_t flags);
	int (*ActivityGetNextRecord)(uint8_t *buffer, size_t valid_bytes, void **record);
	int (*ActivityGetNumDroppedRecords)(void *context, uint32_t stream, size_t *dropped);
	int (*ActivityPushExternalCorrelationId)(int external_kind, uint64_t id);
	int (*ActivityPopExternalCorrelationId)(int external_kind, uint64_t *id);
};

#endif

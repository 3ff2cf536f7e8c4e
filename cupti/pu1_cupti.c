/* libepprof_cupti.so: a profiler plugin of the PU1 ABI (epprof/abi/pu1.h) for NVIDIA's GPUs.
 *
 * It implements the pu1 functions with CUPTI's activity API, and converts CUPTI's records to the host's when CUPTI's
 * buffers are full.  CUPTI reports an external id in a separate record, with the number of the launch (correlation id),
 * usually before the record of the work.  Each of CUPTI's buffers is therefore read twice: first its external ids are
 * stored in `launches`, then its other records are converted.  Times are nanoseconds of cuptiGetTimestamp; the host
 * compares this clock with its own.
 * Records are converted under one lock, on the threads on which CUPTI returns buffers. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "containers/hash_index.h"
#include "cupti/cupti_library.h"
#include "cupti/interned_texts.h"
#include "epprof/abi/pu1.h"

/* Size in bytes and maximum number of the buffers that CUPTI fills; they are reused.  If all are in use, CUPTI drops
 * records and counts them. */
#define BUFFER_BYTES ((size_t)1 << 20)
#define BUFFERS_COUNT 64u
#define LAUNCHES_COUNT (1u << 18)
#define SHAPES_COUNT (1u << 10)
#define FUNCTIONS_COUNT 2048u
#define CONVERSION_ERROR_NS 1400u
#define TAKEN_AWAY ((pu1Result)39) /* CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED */

struct launch {
	uint32_t correlation; /* 0: the entry is empty */
	uint64_t external;
};

/* The launch configuration of a kernel, from which the text of its metadata is made. */
struct shape {
	int32_t grid[3], block[3];
	int32_t static_shared, dynamic_shared;
	uint32_t registers, context, graph, padding;
	uint64_t graph_node;
};

static struct {
	pthread_once_t once;
	bool is_open;
	char message[CUPTI_MESSAGE_BYTES]; /* the reason if CUPTI is not open */
	struct cupti_calls calls;
	atomic_uint kinds_enabled; /* set of bits 1 << pu1ActivityKind */
	atomic_size_t dropped_count;
	atomic_uint buffers_seen_count; /* number of CUPTI's buffers that were returned since `mark` */
	atomic_bool is_marked;          /* `mark` has made a call whose record must be in one of these buffers */

	pthread_mutex_t buffers_lock; /* guards the members before `process` */
	uint8_t *buffers_free[BUFFERS_COUNT];
	unsigned buffers_free_count, buffers_made_count;

	uint32_t process;

	pthread_mutex_t lock; /* guards the members below */
	pu1BufferRequestFn request;
	pu1BufferCompleteFn complete;
	uint8_t *host_buffer; /* the host's buffer that is being filled; NULL: none */
	size_t host_bytes, host_used_bytes, host_records_left;
	struct launch *launches; /* LAUNCHES_COUNT entries, by the lower bits of the correlation id */
	struct {
		struct shape shape;
		const char *text; /* NULL: the entry is empty */
	} shapes[SHAPES_COUNT];
	struct {
		const char *name; /* NULL: calls of this function are left out */
		bool is_asked;
	} functions[2][FUNCTIONS_COUNT]; /* functions of the runtime, functions of the driver */
} cupti = { .once = PTHREAD_ONCE_INIT, .buffers_lock = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER };

static void count_dropped(size_t count)
{
	atomic_fetch_add(&cupti.dropped_count, count);
}

/* ---- the host's buffers; the caller holds the lock ---- */

static void host_buffer_return(void)
{
	uint8_t *buffer = cupti.host_buffer;
	cupti.host_buffer = NULL;
	if (buffer)
		cupti.complete(buffer, cupti.host_bytes, cupti.host_used_bytes);
}

static bool host_buffer_has_room(void)
{
	return cupti.host_buffer && cupti.host_records_left &&
	       cupti.host_bytes - cupti.host_used_bytes >= sizeof(pu1ActivityRecord);
}

static void record_add(const pu1ActivityRecord *record)
{
	if (!host_buffer_has_room()) {
		host_buffer_return();
		cupti.host_used_bytes = 0;
		cupti.request(&cupti.host_buffer, &cupti.host_bytes, &cupti.host_records_left);
		if (cupti.host_buffer && cupti.host_records_left == 0)
			cupti.host_records_left = SIZE_MAX;
	}
	if (!host_buffer_has_room()) {
		count_dropped(1);
		return;
	}
	memcpy(cupti.host_buffer + cupti.host_used_bytes, record, sizeof(*record));
	cupti.host_used_bytes += sizeof(*record);
	cupti.host_records_left--;
}

/* ---- records; the caller holds the lock ---- */

static struct launch *launch_of(uint32_t correlation)
{
	return &cupti.launches[correlation % LAUNCHES_COUNT];
}

static void add_with_launch(pu1ActivityRecord *record, uint32_t correlation)
{
	const struct launch *launch = launch_of(correlation);
	record->struct_size = sizeof(*record);
	record->correlation_id = correlation;
	record->process_id = cupti.process;
	if (correlation && launch->correlation == correlation) {
		record->flags = PU1_FLAG_EXTERNAL_ID;
		record->external_id = launch->external;
	}
	/* Leaves out work that has not ended, and work whose times CUPTI could not read. */
	if (!record->start_time || record->end_time < record->start_time)
		count_dropped(1);
	else
		record_add(record);
}

static const char *shape_text(const struct shape *shape)
{
	size_t at = hash_bytes(shape, sizeof(*shape)) >> 32 & (SHAPES_COUNT - 1);
	if (cupti.shapes[at].text && memcmp(&cupti.shapes[at].shape, shape, sizeof(*shape)) == 0)
		return cupti.shapes[at].text;
	char text[512], graph[96] = "";
	if (shape->graph_node)
		snprintf(graph, sizeof(graph), ", \"graph\": %u, \"graph_node\": %llu", shape->graph,
		         (unsigned long long)shape->graph_node);
	snprintf(text, sizeof(text),
	         "{\"grid\": [%d, %d, %d], \"block\": [%d, %d, %d], \"registers\": %u, \"static_shared\": %d, "
	         "\"dynamic_shared\": %d, \"context\": %u%s}",
	         shape->grid[0], shape->grid[1], shape->grid[2], shape->block[0], shape->block[1], shape->block[2],
	         shape->registers, shape->static_shared, shape->dynamic_shared, shape->context, graph);
	cupti.shapes[at].shape = *shape;
	cupti.shapes[at].text = intern_text(text);
	return cupti.shapes[at].text;
}

static void add_kernel(const struct cupti_kernel *kernel)
{
	struct shape shape;
	memset(&shape, 0, sizeof(shape)); /* zeroed, because the struct is compared as bytes, including its padding */
	memcpy(shape.grid, kernel->grid, sizeof(shape.grid));
	memcpy(shape.block, kernel->block, sizeof(shape.block));
	shape.static_shared = kernel->static_shared;
	shape.dynamic_shared = kernel->dynamic_shared;
	shape.registers = kernel->registers;
	shape.context = kernel->context;
	shape.graph_node = kernel->graph_node;
	shape.graph = kernel->graph_node ? kernel->graph : 0;
	pu1ActivityRecord record = {
		.kind = PU1_KIND_CONCURRENT_KERNEL,
		.start_time = kernel->start,
		.end_time = kernel->end,
		.device_id = (int32_t)kernel->device,
		.stream_id = kernel->stream,
		.name = kernel->name ? intern_kernel_name(kernel->name) : NULL,
		.metadata = shape_text(&shape),
	};
	add_with_launch(&record, kernel->correlation);
}

static const char *copy_name(unsigned kind)
{
	static const char *const names[] = { "memcpy",      "memcpy HtoD", "memcpy DtoH", "memcpy HtoA",
		                             "memcpy AtoH", "memcpy AtoA", "memcpy AtoD", "memcpy DtoA",
		                             "memcpy DtoD", "memcpy HtoH", "memcpy PtoP" };
	return names[kind < sizeof(names) / sizeof(names[0]) ? kind : 0];
}

static const char *graph_text(uint32_t graph, uint64_t graph_node)
{
	char text[96];
	if (!graph_node)
		return NULL;
	snprintf(text, sizeof(text), "{\"graph\": %u, \"graph_node\": %llu}", graph, (unsigned long long)graph_node);
	return intern_text(text);
}

/* Adds a copy, within a device or between two.  `correlation` and the following members are at different offsets in the
 * two records, so they are passed. */
static void add_copy(const struct cupti_memcpy *copy, uint32_t correlation, uint32_t graph, uint64_t graph_node)
{
	pu1ActivityRecord record = {
		.kind = PU1_KIND_GPU_MEMCPY,
		.start_time = copy->start,
		.end_time = copy->end,
		.device_id = (int32_t)copy->device,
		.stream_id = copy->stream,
		.name = copy_name(copy->copy_kind),
		.metadata = graph_text(graph, graph_node),
		.bytes = copy->bytes,
	};
	add_with_launch(&record, correlation);
}

static void add_fill(const struct cupti_memset *fill)
{
	pu1ActivityRecord record = {
		.kind = PU1_KIND_GPU_MEMSET,
		.start_time = fill->start,
		.end_time = fill->end,
		.device_id = (int32_t)fill->device,
		.stream_id = fill->stream,
		.name = "memset",
		.metadata = graph_text(fill->graph, fill->graph_node),
		.bytes = fill->bytes,
	};
	add_with_launch(&record, fill->correlation);
}

/* Returns true for queries, which neither start work nor wait for it.  Frameworks make them between all other calls. */
static bool is_query(const char *name)
{
	static const char *const queries[] = {
		"cudaGetDevice",      "cudaSetDevice",         "cudaGetLastError",         "cudaPeekAtLastError",
		"cudaGetErrorString", "cudaStreamIsCapturing", "cudaStreamGetCaptureInfo", "cudaEventQuery"
	};
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++)
		if (strcmp(name, queries[i]) == 0)
			return true;
	return false;
}

/* Returns true for calls of the driver that start work or wait for it.  Most calls of the driver are made by the
 * runtime. */
static bool is_driver_work(const char *name)
{
	return strncmp(name, "cuLaunch", 8) == 0 || strncmp(name, "cuMemcpy", 8) == 0 ||
	       strncmp(name, "cuMemset", 8) == 0 || strncmp(name, "cuGraphLaunch", 13) == 0 ||
	       strstr(name, "Synchronize");
}

static bool is_version(const char *suffix)
{
	size_t digits = strncmp(suffix, "_v", 2) == 0 ? strspn(suffix + 2, "0123456789") : 0;
	return (digits && !suffix[2 + digits]) || strcmp(suffix, "_ptsz") == 0 || strcmp(suffix, "_ptds") == 0;
}

/* Removes all version suffixes from a name, as in "cudaStreamGetCaptureInfo_v2_v11030". */
static void remove_versions(char *name)
{
	char *suffix;
	while ((suffix = strrchr(name, '_')) && is_version(suffix))
		*suffix = '\0';
}

/* Returns the name of a function without version suffixes; NULL: calls of the function are left out. */
static const char *function_name(bool is_driver, uint32_t function)
{
	const char *name = NULL;
	char text[256];
	if (function >= FUNCTIONS_COUNT)
		return is_driver ? NULL : "(runtime)";
	if (cupti.functions[is_driver][function].is_asked)
		return cupti.functions[is_driver][function].name;
	cupti.calls.GetCallbackName(is_driver ? CUPTI_DOMAIN_DRIVER : CUPTI_DOMAIN_RUNTIME, function, &name);
	snprintf(text, sizeof(text), "%s", name ? name : is_driver ? "(driver)" : "(runtime)");
	remove_versions(text);
	cupti.functions[is_driver][function].is_asked = true;
	if (is_driver ? is_driver_work(text) : !is_query(text))
		cupti.functions[is_driver][function].name = intern_text(text);
	return cupti.functions[is_driver][function].name;
}

static void add_call(const struct cupti_call *call)
{
	bool is_driver = call->kind == CUPTI_DRIVER;
	pu1ActivityRecord record = {
		.kind = is_driver ? PU1_KIND_PRIVATEUSE1_DRIVER : PU1_KIND_PRIVATEUSE1_RUNTIME,
		.start_time = call->start,
		.end_time = call->end,
		.device_id = (int32_t)call->process,
		.stream_id = call->thread,
		.thread_id = call->thread,
		.name = function_name(is_driver, call->function),
	};
	if (record.name)
		add_with_launch(&record, call->correlation);
}

static void add(const void *record)
{
	uint32_t kind;
	memcpy(&kind, record, sizeof(kind));
	switch (kind) {
	case CUPTI_CONCURRENT_KERNEL:
		add_kernel(record);
		break;
	case CUPTI_MEMCPY: {
		const struct cupti_memcpy *copy = record;
		add_copy(copy, copy->correlation, copy->graph, copy->graph_node);
		break;
	}
	case CUPTI_MEMCPY_PEER: {
		const struct cupti_memcpy_peer *copy = record;
		add_copy(record, copy->correlation, copy->graph, copy->graph_node);
		break;
	}
	case CUPTI_MEMSET:
		add_fill(record);
		break;
	case CUPTI_RUNTIME:
	case CUPTI_DRIVER:
		add_call(record);
		break;
	default: /* external ids, which store_launch has read already */
		break;
	}
}

static void store_launch(const void *record)
{
	const struct cupti_external *external = record;
	if (external->kind == CUPTI_EXTERNAL_CORRELATION && external->external_kind == CUPTI_EXTERNAL_CUSTOM2)
		*launch_of(external->correlation) = (struct launch){ external->correlation, external->external };
}

/* Calls `take` for each record of a buffer. */
static void each_record(uint8_t *buffer, size_t valid_bytes, void (*take)(const void *record))
{
	void *record = NULL;
	int result;
	while ((result = cupti.calls.ActivityGetNextRecord(buffer, valid_bytes, &record)) == CUPTI_SUCCESS && record)
		take(record);
	if (result != CUPTI_ERROR_MAX_LIMIT_REACHED && take == add)
		count_dropped(1);
}

/* ---- CUPTI's buffers ---- */

static void buffer_requested(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
	pthread_mutex_lock(&cupti.buffers_lock);
	*buffer = NULL;
	if (cupti.buffers_free_count)
		*buffer = cupti.buffers_free[--cupti.buffers_free_count];
	else if (cupti.buffers_made_count < BUFFERS_COUNT && (*buffer = aligned_alloc(4096, BUFFER_BYTES)))
		cupti.buffers_made_count++;
	pthread_mutex_unlock(&cupti.buffers_lock);
	*bytes = *buffer ? BUFFER_BYTES : 0;
	*max_records = 0;
}

static void buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid_bytes)
{
	size_t dropped = 0;
	(void)bytes;
	atomic_fetch_add(&cupti.buffers_seen_count, 1);
	if (!buffer)
		return;
	pthread_mutex_lock(&cupti.lock);
	if (valid_bytes) {
		each_record(buffer, valid_bytes, store_launch);
		each_record(buffer, valid_bytes, add);
	}
	pthread_mutex_unlock(&cupti.lock);
	if (cupti.calls.ActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS)
		count_dropped(dropped);
	pthread_mutex_lock(&cupti.buffers_lock);
	cupti.buffers_free[cupti.buffers_free_count++] = buffer;
	pthread_mutex_unlock(&cupti.buffers_lock);
}

/* ---- other profilers in the process ----
 *
 * A process has one pair of callbacks for CUPTI's buffers: the pair that was set last gets all records.  So if a
 * profiler of the framework is started later, it gets all records, and this plugin gets none, without an error.  This
 * is detected by a call into the driver while calls of the driver are recorded: CUPTI must return a record of this
 * call. */

static void mark(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	void *symbol = driver ? dlsym(driver, "cuCtxGetCurrent") : NULL;
	int (*get_current)(void **context) = NULL;
	void *context = NULL;
	memcpy(&get_current, &symbol, sizeof(symbol));
	/* The flush makes CUPTI return earlier records, so that only buffers with later records are counted. */
	if (get_current && cupti.calls.ActivityFlushAll(0) == CUPTI_SUCCESS) {
		atomic_store(&cupti.buffers_seen_count, 0);
		atomic_store(&cupti.is_marked, get_current(&context) == 0);
	}
	if (driver)
		dlclose(driver);
}

/* ---- the ABI ---- */

/* In a child of a fork CUDA does not work, and another thread of the parent may have held the locks. */
static void fork_child(void)
{
	pthread_mutex_init(&cupti.lock, NULL);
	pthread_mutex_init(&cupti.buffers_lock, NULL);
	cupti.is_open = false;
	snprintf(cupti.message, sizeof(cupti.message), "CUDA does not work in the child of a fork");
}

static void set_up(void)
{
	/* If CUPTI cannot be opened, the host rejects this plugin and unloads it, so nothing may be allocated
	 * before. */
	if (!cupti_library_open(&cupti.calls, cupti.message))
		return;
	cupti.launches = calloc(LAUNCHES_COUNT, sizeof(*cupti.launches));
	cupti.is_open = cupti.launches != NULL;
	/* Without this call, CUPTI identifies threads by the lower half of an address. */
	if (cupti.is_open) {
		cupti.calls.SetThreadIdType(CUPTI_THREAD_ID_SYSTEM);
		pthread_atfork(NULL, NULL, fork_child);
	} else {
		snprintf(cupti.message, sizeof(cupti.message), "out of memory");
	}
}

uint32_t pu1GetVersion(void)
{
	return PU1_VERSION;
}

int kineto_register_privateuse1_plugin(void)
{
	pthread_once(&cupti.once, set_up);
	return cupti.is_open ? 0 : PU1_NOT_IMPLEMENTED;
}

/* CUPTI's kinds for each kind of PU1; 0 ends a list. */
static const int kinds[][3] = {
	[PU1_KIND_CONCURRENT_KERNEL] = { CUPTI_CONCURRENT_KERNEL, CUPTI_EXTERNAL_CORRELATION },
	[PU1_KIND_GPU_MEMCPY] = { CUPTI_MEMCPY, CUPTI_MEMCPY_PEER },
	[PU1_KIND_GPU_MEMSET] = { CUPTI_MEMSET },
	[PU1_KIND_PRIVATEUSE1_RUNTIME] = { CUPTI_RUNTIME },
	[PU1_KIND_PRIVATEUSE1_DRIVER] = { CUPTI_DRIVER },
};

static bool is_kind(pu1ActivityKind kind)
{
	return (int)kind >= PU1_KIND_CONCURRENT_KERNEL && (int)kind <= PU1_KIND_PRIVATEUSE1_DRIVER;
}

static bool is_enabled(pu1ActivityKind kind)
{
	return atomic_load(&cupti.kinds_enabled) >> kind & 1;
}

pu1Result pu1TracingEnable(pu1ActivityKind kind)
{
	if (!is_kind(kind))
		return PU1_INVALID_KIND;
	if (!cupti.is_open)
		return PU1_NOT_IMPLEMENTED;
	for (int i = 0; kinds[kind][i]; i++) {
		int result = cupti.calls.ActivityEnable(kinds[kind][i]);
		if (result != CUPTI_SUCCESS) {
			while (i-- > 0)
				cupti.calls.ActivityDisable(kinds[kind][i]);
			return (pu1Result)result;
		}
	}
	atomic_fetch_or(&cupti.kinds_enabled, 1u << kind);
	return PU1_SUCCESS;
}

pu1Result pu1TracingDisable(pu1ActivityKind kind)
{
	if (!is_kind(kind))
		return PU1_INVALID_KIND;
	if (!cupti.is_open)
		return PU1_NOT_IMPLEMENTED;
	if (kind == PU1_KIND_PRIVATEUSE1_DRIVER && is_enabled(kind))
		mark();
	for (int i = 0; kinds[kind][i]; i++)
		cupti.calls.ActivityDisable(kinds[kind][i]);
	atomic_fetch_and(&cupti.kinds_enabled, ~(1u << kind));
	return PU1_SUCCESS;
}

pu1Result pu1TracingSetCallbacks(pu1BufferRequestFn request, pu1BufferCompleteFn complete)
{
	if (!request || !complete)
		return PU1_INVALID_PARAMETER;
	if (!cupti.is_open)
		return PU1_NOT_IMPLEMENTED;
	pthread_mutex_lock(&cupti.lock);
	if (cupti.complete)
		host_buffer_return();
	cupti.request = request;
	cupti.complete = complete;
	pthread_mutex_unlock(&cupti.lock);
	atomic_store(&cupti.is_marked, false);
	cupti.process = (uint32_t)getpid();
	return (pu1Result)cupti.calls.ActivityRegisterCallbacks(buffer_requested, buffer_completed);
}

pu1Result pu1PushExternalCorrelationId(uint64_t id)
{
	if (!cupti.is_open)
		return PU1_NOT_IMPLEMENTED;
	return (pu1Result)cupti.calls.ActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CUSTOM2, id);
}

pu1Result pu1PopExternalCorrelationId(uint64_t *last_id)
{
	uint64_t id = 0;
	if (!cupti.is_open)
		return PU1_NOT_IMPLEMENTED;
	int result = cupti.calls.ActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CUSTOM2, &id);
	if (result == CUPTI_SUCCESS && last_id)
		*last_id = id;
	return (pu1Result)result;
}

pu1Result pu1FlushAll(void)
{
	pthread_mutex_lock(&cupti.lock);
	bool has_callbacks = cupti.complete != NULL;
	pthread_mutex_unlock(&cupti.lock);
	if (!has_callbacks)
		return PU1_INVALID_OPERATION;
	/* CUPTI_FLUSH_FORCED makes CUPTI return also buffers with records of work that has not ended, and drops these
	 * records.  So it is used only when recording has ended: no kind is enabled. */
	bool is_marked = atomic_exchange(&cupti.is_marked, false);
	int result = cupti.calls.ActivityFlushAll(0);
	if (result == CUPTI_SUCCESS && !atomic_load(&cupti.kinds_enabled))
		result = cupti.calls.ActivityFlushAll(CUPTI_FLUSH_FORCED);
	pthread_mutex_lock(&cupti.lock);
	host_buffer_return();
	pthread_mutex_unlock(&cupti.lock);
	if (result == CUPTI_SUCCESS && is_marked && !atomic_load(&cupti.buffers_seen_count))
		return TAKEN_AWAY;
	return (pu1Result)result;
}

pu1Result pu1GetNextRecord(uint8_t *buffer, size_t valid_bytes, pu1ActivityRecord **record)
{
	if (!buffer || !record)
		return PU1_INVALID_PARAMETER;
	const pu1ActivityRecord *last = *record;
	size_t at = last ? (size_t)((const uint8_t *)last - buffer) + last->struct_size : 0;
	if (at + sizeof(*last) > valid_bytes)
		return PU1_MAX_LIMIT_REACHED;
	*record = (pu1ActivityRecord *)(void *)(buffer + at);
	return PU1_SUCCESS;
}

pu1Result pu1GetNumDroppedRecords(size_t *count)
{
	if (!count)
		return PU1_INVALID_PARAMETER;
	*count = atomic_exchange(&cupti.dropped_count, 0);
	return PU1_SUCCESS;
}

pu1Result pu1GetTimestamp(uint64_t *now_ns)
{
	if (!now_ns)
		return PU1_INVALID_PARAMETER;
	return cupti.is_open ? (pu1Result)cupti.calls.GetTimestamp(now_ns) : PU1_NOT_IMPLEMENTED;
}

/* Returns the error of CUPTI's conversion from the GPU's clock, as it was measured on an H100 (docs/cuda.md). */
pu1Result pu1GetClockError(uint64_t *error_ns)
{
	if (!error_ns)
		return PU1_INVALID_PARAMETER;
	*error_ns = CONVERSION_ERROR_NS;
	return PU1_SUCCESS;
}

/* The numbers of PU1's results are those of CUPTI's. */
const char *pu1GetResultString(pu1Result result)
{
	const char *text = NULL;
	if (result == PU1_SUCCESS)
		return "no error";
	if (result == TAKEN_AWAY)
		return "another profiler in this process has taken CUPTI's records";
	if (!cupti.is_open)
		return cupti.message[0] ? cupti.message : "libcupti is not open";
	cupti.calls.GetResultString((int)result, &text);
	return text ? text : "an error of CUPTI";
}

/* A library in the place of libcupti: it makes the records of launches that a test asks for, with records larger than
 * the fields that the plugin uses, as CUPTI's are, and fails where the test wants it.
 *
 * FAKE_CUPTI_LAUNCHES  set: each event of the host launches a kernel when it begins */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cupti/cupti_abi.h"

#define EXPORT __attribute__((visibility("default")))
#define RECORD_BYTES 256u

EXPORT struct {
	uint32_t version;  /* of cuptiGetVersion; 0: it fails */
	int enable_result; /* of cuptiActivityEnable */
	int refused_kind;  /* only for this kind; 0: for all */
	bool hangs_in_flush;
	bool reports_early;   /* a kernel's record comes before that of its external id */
	bool cuts;            /* the last record of a buffer is not whole */
	bool never_ends;      /* kernels have no end */
	size_t dropped_count; /* of the next cuptiActivityGetNumDroppedRecords */
	bool takes_records;   /* another profiler has set its callbacks */
} fake_cupti = { .version = 130000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cupti_request_fn request_now;
static cupti_complete_fn complete_now;
static uint8_t *buffer;
static size_t buffer_bytes, used_bytes;
static uint64_t enabled;
static uint32_t launches_count;
static _Thread_local uint64_t stack[64];
static _Thread_local unsigned depth;

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A buffer with work that has not ended is returned by force only. */
static void give_back(bool force)
{
	uint8_t *given = buffer;
	if (fake_cupti.never_ends && !force)
		return;
	buffer = NULL;
	if (given)
		complete_now(NULL, 0, given, buffer_bytes, fake_cupti.cuts ? used_bytes - 8 : used_bytes);
}

static void add(const void *record, size_t bytes)
{
	size_t max_records;
	uint32_t kind;
	memcpy(&kind, record, sizeof(kind));
	if (!(enabled >> kind & 1) || fake_cupti.takes_records || !request_now)
		return;
	if (buffer && buffer_bytes - used_bytes < RECORD_BYTES)
		give_back(true);
	if (!buffer) {
		request_now(&buffer, &buffer_bytes, &max_records);
		used_bytes = 0;
	}
	if (!buffer) {
		fake_cupti.dropped_count++;
		return;
	}
	memset(buffer + used_bytes, 0xa5, RECORD_BYTES);
	memcpy(buffer + used_bytes, record, bytes);
	used_bytes += RECORD_BYTES;
}

void fake_cupti_launch(const char *name, uint32_t stream, uint64_t graph_node);
void fake_cupti_copies(uint64_t bytes);
void fake_cupti_others(void);
int cuCtxGetCurrent(void **context);
bool fake_cupti_is_enabled(int kind);

/* A launch by the calling thread, by a call of the runtime; the kernel has ended when it returns. */
EXPORT void fake_cupti_launch(const char *name, uint32_t stream, uint64_t graph_node)
{
	pthread_mutex_lock(&lock);
	uint32_t correlation = ++launches_count;
	struct cupti_external external = {
		.kind = CUPTI_EXTERNAL_CORRELATION,
		.external_kind = CUPTI_EXTERNAL_CUSTOM2,
		.external = depth ? stack[depth - 1] : 0,
		.correlation = correlation,
	};
	struct cupti_call call = {
		.kind = CUPTI_RUNTIME,
		.function = 211,
		.process = (uint32_t)getpid(),
		.thread = (uint32_t)syscall(SYS_gettid),
		.correlation = correlation,
		.start = now_ns(),
	};
	struct cupti_kernel kernel = {
		.kind = CUPTI_CONCURRENT_KERNEL,
		.registers = 32,
		.context = 1,
		.stream = stream,
		.grid = { 4, 2, 1 },
		.block = { 128, 1, 1 },
		.correlation = correlation,
		.name = name,
		.graph_node = graph_node,
		.graph = graph_node ? 3 : 0,
	};
	kernel.start = call.start + 100;
	kernel.end = fake_cupti.never_ends ? 0 : kernel.start + 1000;
	while (now_ns() < kernel.start + 1100)
		;
	call.end = now_ns();
	if (fake_cupti.reports_early)
		add(&kernel, sizeof(kernel));
	if (depth)
		add(&external, sizeof(external));
	add(&call, sizeof(call));
	if (!fake_cupti.reports_early)
		add(&kernel, sizeof(kernel));
	pthread_mutex_unlock(&lock);
}

/* A copy to the device, a copy between two devices, and a fill. */
EXPORT void fake_cupti_copies(uint64_t bytes)
{
	uint64_t start = now_ns();
	struct cupti_memcpy copy = {
		.kind = CUPTI_MEMCPY, .copy_kind = 1, .bytes = bytes, .start = start, .end = start + 10, .stream = 7
	};
	struct cupti_memcpy_peer peer = { .kind = CUPTI_MEMCPY_PEER,
		                          .copy_kind = 10,
		                          .bytes = bytes,
		                          .start = start,
		                          .end = start + 10,
		                          .device = 1,
		                          .stream = 8,
		                          .correlation = 77 };
	struct cupti_memset fill = { .kind = CUPTI_MEMSET, .bytes = bytes, .start = start, .end = start + 10, .stream = 9 };
	pthread_mutex_lock(&lock);
	add(&copy, sizeof(copy));
	add(&peer, sizeof(peer));
	add(&fill, sizeof(fill));
	pthread_mutex_unlock(&lock);
}

EXPORT bool fake_cupti_is_enabled(int kind)
{
	return enabled >> kind & 1;
}

/* A record of a kind that the plugin has not asked for and does not know, and calls that are left out. */
EXPORT void fake_cupti_others(void)
{
	struct cupti_call query = { .kind = CUPTI_RUNTIME, .function = 1, .start = now_ns(), .end = now_ns() };
	struct cupti_call capture = { .kind = CUPTI_RUNTIME, .function = 2, .start = now_ns(), .end = now_ns() };
	struct cupti_call driver = { .kind = CUPTI_DRIVER, .function = 1, .start = now_ns(), .end = now_ns() };
	struct cupti_call unknown = { .kind = 60, .start = now_ns(), .end = now_ns() };
	pthread_mutex_lock(&lock);
	enabled |= (uint64_t)1 << 60;
	add(&query, sizeof(query));
	add(&capture, sizeof(capture));
	add(&driver, sizeof(driver));
	add(&unknown, sizeof(unknown));
	pthread_mutex_unlock(&lock);
}

/* Of the driver, under whose name this library is loaded. */
EXPORT int cuCtxGetCurrent(void **context)
{
	struct cupti_call call = { .kind = CUPTI_DRIVER, .function = 1, .start = now_ns(), .end = now_ns() };
	pthread_mutex_lock(&lock);
	add(&call, sizeof(call));
	pthread_mutex_unlock(&lock);
	*context = NULL;
	return 0;
}

/* ---- CUPTI's functions ---- */

#define CALL(name, ...) \
	int cupti##name(__VA_ARGS__); \
	EXPORT int cupti##name(__VA_ARGS__)

CALL(GetVersion, uint32_t *version)
{
	*version = fake_cupti.version;
	return fake_cupti.version ? CUPTI_SUCCESS : 999;
}

CALL(GetResultString, int result, const char **text)
{
	*text = result == 999 ? "CUPTI_ERROR_UNKNOWN" : "CUPTI_ERROR_OF_THE_TEST";
	return CUPTI_SUCCESS;
}

CALL(GetTimestamp, uint64_t *ns)
{
	*ns = now_ns();
	return CUPTI_SUCCESS;
}

CALL(SetThreadIdType, int type)
{
	return type == CUPTI_THREAD_ID_SYSTEM ? CUPTI_SUCCESS : 1;
}

CALL(GetCallbackName, int domain, uint32_t function, const char **name)
{
	static const char *const runtime[] = { "cudaLaunchKernel_v7000", "cudaGetDevice_v3020",
		                               "cudaStreamGetCaptureInfo_v2_v11030" };
	static const char *const driver[] = { "cuLaunchKernel", "cuCtxGetCurrent", "cuMemcpyAsync_ptsz" };
	*name = (domain == CUPTI_DOMAIN_DRIVER ? driver : runtime)[function < 3 ? function : 0];
	return CUPTI_SUCCESS;
}

CALL(ActivityRegisterCallbacks, cupti_request_fn request, cupti_complete_fn complete)
{
	request_now = request;
	complete_now = complete;
	return CUPTI_SUCCESS;
}

CALL(ActivityEnable, int kind)
{
	bool refuses = fake_cupti.enable_result && (!fake_cupti.refused_kind || fake_cupti.refused_kind == kind);
	if (!refuses)
		enabled |= (uint64_t)1 << kind;
	return refuses ? fake_cupti.enable_result : CUPTI_SUCCESS;
}

CALL(ActivityDisable, int kind)
{
	enabled &= ~((uint64_t)1 << kind);
	return CUPTI_SUCCESS;
}

CALL(ActivityFlushAll, uint32_t flags)
{
	while (fake_cupti.hangs_in_flush)
		pause();
	pthread_mutex_lock(&lock);
	give_back(flags == CUPTI_FLUSH_FORCED);
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}

CALL(ActivityGetNextRecord, uint8_t *first, size_t valid_bytes, void **record)
{
	size_t at = *record ? (size_t)((uint8_t *)*record - first) + RECORD_BYTES : 0;
	if (at == valid_bytes)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	if (at + RECORD_BYTES > valid_bytes)
		return 21; /* CUPTI_ERROR_INVALID_KIND */
	*record = first + at;
	return CUPTI_SUCCESS;
}

CALL(ActivityGetNumDroppedRecords, void *context, uint32_t stream, size_t *dropped)
{
	(void)context;
	(void)stream;
	*dropped = fake_cupti.dropped_count;
	fake_cupti.dropped_count = 0;
	return CUPTI_SUCCESS;
}

CALL(ActivityPushExternalCorrelationId, int kind, uint64_t id)
{
	if (kind != CUPTI_EXTERNAL_CUSTOM2 || depth == 64)
		return 1;
	stack[depth++] = id;
	if (getenv("FAKE_CUPTI_LAUNCHES"))
		fake_cupti_launch("launched", 7, 0);
	return CUPTI_SUCCESS;
}

CALL(ActivityPopExternalCorrelationId, int kind, uint64_t *id)
{
	if (kind != CUPTI_EXTERNAL_CUSTOM2 || depth == 0)
		return 18;
	*id = stack[--depth];
	return CUPTI_SUCCESS;
}

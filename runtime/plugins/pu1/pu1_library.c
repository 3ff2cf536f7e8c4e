/* The table of PU1 libraries in use, and the callbacks that are passed to them.  An entry is never released, because
 * the library may call the callbacks with its number at any time. */
#include "plugins/pu1/pu1_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/os/os.h"
#include "base/thread.h"
#include "plugins/plugin_kinds.h"
#include "plugins/plugin_probe.h"
#include "plugins/pu1/pu1_pool.h"
#include "plugins/pu1/pu1_reading.h"
#include "plugins/pu1/pu1_tokens.h"

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct pu1_library table[PU1_LIBRARIES_MAX];
static atomic_uint table_count; /* number of entries in use */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ---- callbacks ---- */

static void requested(struct pu1_library *library, uint8_t **buffer, size_t *size, size_t *max_records)
{
	uint8_t *taken = buffer ? pu1_pool_take(library->number) : NULL;
	if (!taken)
		atomic_fetch_add_explicit(&library->declined_count, 1, memory_order_relaxed);
	if (buffer)
		*buffer = taken;
	if (size)
		*size = taken ? PU1_BUFFER_BYTES : 0;
	if (max_records)
		*max_records = 0;
}

static void completed(struct pu1_library *library, const uint8_t *buffer, size_t valid_bytes)
{
	const char *wrong = pu1_pool_return(library->number, buffer, valid_bytes);
	if (wrong)
		atomic_store_explicit(&library->misuse, wrong, memory_order_relaxed);
	pthread_mutex_lock(&library->lock);
	library->due = true;
	pthread_cond_broadcast(&library->changed);
	pthread_mutex_unlock(&library->lock);
}

#define CALLBACKS_OF(number) \
	static void requested_##number(uint8_t **buffer, size_t *size, size_t *max_records) \
	{ \
		requested(&table[number], buffer, size, max_records); \
	} \
	static void completed_##number(uint8_t *buffer, size_t size, size_t valid_bytes) \
	{ \
		(void)size; /* the host knows the size of its buffers, so `size` is not needed */ \
		completed(&table[number], buffer, valid_bytes); \
	}
CALLBACKS_OF(0)
CALLBACKS_OF(1)
CALLBACKS_OF(2)
CALLBACKS_OF(3)
CALLBACKS_OF(4)
CALLBACKS_OF(5)
CALLBACKS_OF(6)
CALLBACKS_OF(7)

static const struct {
	pu1BufferRequestFn request;
	pu1BufferCompleteFn complete;
} callbacks[] = {
	{ requested_0, completed_0 }, { requested_1, completed_1 }, { requested_2, completed_2 },
	{ requested_3, completed_3 }, { requested_4, completed_4 }, { requested_5, completed_5 },
	{ requested_6, completed_6 }, { requested_7, completed_7 },
};
_Static_assert(sizeof(callbacks) / sizeof(callbacks[0]) == PU1_LIBRARIES_MAX, "each library has callbacks");

/* ---- fork ---- */

static void locks_init(struct pu1_library *library)
{
	thread_cond_init(&library->changed);
	pthread_mutex_init(&library->run_lock, NULL);
	pthread_mutex_init(&library->read_lock, NULL);
	pthread_mutex_init(&library->lock, NULL);
}

static void lock(struct pu1_library *library)
{
	pthread_mutex_lock(&library->lock);
}

static void unlock(struct pu1_library *library)
{
	pthread_mutex_unlock(&library->lock);
}

/* Called in the child of a fork.  The runs and the reader belong to the parent, and a read that was in progress is
 * never completed. */
static void reset_after_fork(struct pu1_library *library)
{
	locks_init(library);
	library->reading = NULL;
	library->runs_count = 0;
	library->reader_is_there = library->has_run = false;
	LIST_INIT(&library->profilers);
	if (library->tokens)
		pu1_tokens_forget(library->tokens);
}

static void fork_prepare(void)
{
	pthread_mutex_lock(&table_lock);
	pu1_library_each(lock);
	pu1_pool_fork_prepare();
}

static void fork_parent(void)
{
	pu1_pool_fork_parent();
	pu1_library_each(unlock);
	pthread_mutex_unlock(&table_lock);
}

static void fork_child(void)
{
	pu1_pool_fork_child();
	pu1_library_each(reset_after_fork);
	pthread_mutex_init(&table_lock, NULL);
}

static void set_up(void)
{
	os_at_fork(fork_prepare, fork_parent, fork_child);
}

void pu1_library_each(void (*call)(struct pu1_library *library))
{
	unsigned count = atomic_load_explicit(&table_count, memory_order_acquire);
	for (unsigned i = 0; i < count; i++)
		call(&table[i]);
}

/* ---- opening a library ---- */

static const struct {
	const char *name;
	size_t at; /* offset of the function pointer in pu1_calls */
	bool is_optional;
} symbols[] = {
	{ "pu1GetVersion", offsetof(struct pu1_calls, get_version), false },
	{ "kineto_register_privateuse1_plugin", offsetof(struct pu1_calls, register_plugin), false },
	{ "pu1TracingEnable", offsetof(struct pu1_calls, enable), false },
	{ "pu1TracingDisable", offsetof(struct pu1_calls, disable), false },
	{ "pu1TracingSetCallbacks", offsetof(struct pu1_calls, set_callbacks), false },
	{ "pu1PushExternalCorrelationId", offsetof(struct pu1_calls, push), false },
	{ "pu1PopExternalCorrelationId", offsetof(struct pu1_calls, pop), false },
	{ "pu1FlushAll", offsetof(struct pu1_calls, flush), false },
	{ "pu1GetNextRecord", offsetof(struct pu1_calls, next_record), false },
	{ "pu1GetNumDroppedRecords", offsetof(struct pu1_calls, dropped_count), true },
	{ "pu1GetTimestamp", offsetof(struct pu1_calls, timestamp), true },
	{ "pu1GetClockError", offsetof(struct pu1_calls, clock_error), true },
	{ "pu1GetResultString", offsetof(struct pu1_calls, result_text), true },
};
#define SYMBOLS_COUNT (sizeof(symbols) / sizeof(symbols[0]))
#define KIND_SYMBOLS_COUNT 2u /* the first symbols of the table, by which a library of this kind is recognised */

static epp_status *find_symbols(void *handle, struct pu1_calls *calls)
{
	char missing[512] = "";
	size_t used = 0;
	for (size_t i = 0; i < SYMBOLS_COUNT; i++) {
		void *symbol = dlsym(handle, symbols[i].name);
		memcpy((char *)calls + symbols[i].at, &symbol, sizeof(symbol));
		if (symbol || symbols[i].is_optional)
			continue;
		int bytes = snprintf(missing + used, sizeof(missing) - used, "%s'%s'", used ? ", " : "", symbols[i].name);
		if (bytes > 0 && used + (size_t)bytes < sizeof(missing))
			used += (size_t)bytes;
	}
	return used ? epp_status_create(EPP_INCOMPATIBLE, "no symbol %s", missing) : NULL;
}

static epp_status *use_steps(void *handle, struct pu1_calls *calls)
{
	EPP_TRY(find_symbols(handle, calls));
	plugin_entry("pu1GetVersion");
	uint32_t version = calls->get_version();
	if (version >> 16 != PU1_VERSION_MAJOR)
		return epp_status_create(EPP_INCOMPATIBLE, "pu1GetVersion: it has version %u.%u.%u, this host has %u",
		                         version >> 16, version >> 8 & 255u, version & 255u, PU1_VERSION_MAJOR);
	plugin_entry("kineto_register_privateuse1_plugin");
	int rejected = calls->register_plugin();
	if (rejected) {
		/* The library's text may be long, for example a list of the places where a vendor's library was
		 * searched. */
		const char *meaning = calls->result_text ? calls->result_text((pu1Result)rejected) : NULL;
		return epp_status_create(EPP_PLUGIN, "kineto_register_privateuse1_plugin: it returned %d%s%.1000s",
		                         rejected, meaning ? ": " : "", meaning ? meaning : "");
	}
	return NULL;
}

static struct pu1_library *find(const void *handle)
{
	unsigned count = atomic_load_explicit(&table_count, memory_order_acquire);
	for (unsigned i = 0; i < count; i++)
		if (table[i].library == handle)
			return &table[i];
	return NULL;
}

/* Adds a library to the table.  NULL: the table is full. */
static struct pu1_library *add(void *handle, const char *path, const struct pu1_calls *calls)
{
	pthread_mutex_lock(&table_lock);
	unsigned count = atomic_load_explicit(&table_count, memory_order_relaxed);
	struct pu1_library *made = count < PU1_LIBRARIES_MAX ? &table[count] : NULL;
	if (made) {
		*made = (struct pu1_library){ .number = count, .calls = *calls };
		made->request = callbacks[count].request;
		made->complete = callbacks[count].complete;
		/* RTLD_NODELETE keeps the library loaded after any dlclose, because from now on its texts are used and
		 * it may call the callbacks. */
		made->library = dlopen(path, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
		if (!made->library)
			made->library = handle;
		locks_init(made);
		LIST_INIT(&made->profilers);
		atomic_store_explicit(&table_count, count + 1, memory_order_release);
	}
	pthread_mutex_unlock(&table_lock);
	return made;
}

/* No lock is needed while the library's code runs, because every open of a library runs on the library's worker. */
epp_status *pu1_library_use(void *handle, const char *path, struct pu1_library **library)
{
	struct pu1_calls calls = { 0 };
	pthread_once(&once, set_up);
	*library = find(handle);
	if (*library)
		return NULL;
	bool is_full = atomic_load_explicit(&table_count, memory_order_acquire) == PU1_LIBRARIES_MAX;
	if (!is_full)
		EPP_TRY(use_steps(handle, &calls));
	*library = is_full ? NULL : add(handle, path, &calls);
	return *library ? NULL
	                : epp_status_create(EPP_LIMIT, "%u such libraries are in use, the maximum", PU1_LIBRARIES_MAX);
}

/* ---- properties of the library ---- */

void pu1_library_describe(const struct pu1_library *library, const struct plugin_probe *probe)
{
	plugin_entry("pu1GetVersion");
	uint32_t version = library->calls.get_version();
	plugin_probe_version(probe, "PU1", "%u.%u.%u", version >> 16, version >> 8 & 255u, version & 255u);
	for (size_t i = KIND_SYMBOLS_COUNT; i < SYMBOLS_COUNT; i++) {
		void *symbol;
		memcpy(&symbol, (const char *)&library->calls + symbols[i].at, sizeof(symbol));
		plugin_probe_entry(probe, symbols[i].name, symbol != NULL, !symbols[i].is_optional);
	}
}

bool pu1_library_now(const struct pu1_library *library, uint64_t *now_ns)
{
	if (library->calls.timestamp)
		return library->calls.timestamp(now_ns) == PU1_SUCCESS;
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	*now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	return true;
}

const char *pu1_result_text(const struct pu1_library *library, pu1Result result, char *text, size_t room)
{
	const char *meaning = library->calls.result_text ? library->calls.result_text(result) : NULL;
	snprintf(text, room, meaning ? "result %d (%.80s)" : "result %d", (int)result, meaning);
	return text;
}

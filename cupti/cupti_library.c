#include "cupti/cupti_library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096

static const char *const names[] = { "libcupti.so.13", "libcupti.so.12" };
#define NAMES_COUNT (sizeof(names) / sizeof(names[0]))

/* Paths of the library in a folder of Python packages. */
static const char *const in_packages[] = {
	"nvidia/cu13/lib/libcupti.so.13",
	"nvidia/cuda_cupti/lib/libcupti.so.12",
};

static const char *const in_toolkits[] = {
	"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
	"/usr/local/cuda/lib64/libcupti.so",
};

static const struct {
	const char *name;
	size_t at; /* offset in struct cupti_calls */
} symbols[] = {
#define SYMBOL(name) \
	{ \
		"cupti" #name, offsetof(struct cupti_calls, name) \
	}
	SYMBOL(GetVersion),
	SYMBOL(GetResultString),
	SYMBOL(GetTimestamp),
	SYMBOL(SetThreadIdType),
	SYMBOL(GetCallbackName),
	SYMBOL(ActivityRegisterCallbacks),
	SYMBOL(ActivityEnable),
	SYMBOL(ActivityDisable),
	SYMBOL(ActivityFlushAll),
	SYMBOL(ActivityGetNextRecord),
	SYMBOL(ActivityGetNumDroppedRecords),
	SYMBOL(ActivityPushExternalCorrelationId),
	SYMBOL(ActivityPopExternalCorrelationId),
#undef SYMBOL
};

/* ---- places that are searched ---- */

static void *open_loaded(void)
{
	void *library = NULL;
	for (size_t i = 0; !library && i < NAMES_COUNT; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	return library;
}

static void *open_by_name(void)
{
	void *library = NULL;
	for (size_t i = 0; !library && i < NAMES_COUNT; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	return library;
}

/* Searches the folder of Python packages that contains a loaded library.  Returns 1 to end the search. */
static int try_packages_of(struct dl_phdr_info *info, size_t size, void *path)
{
	static const char packages[] = "/site-packages/";
	(void)size;
	const char *found = info->dlpi_name && info->dlpi_name[0] == '/' ? strstr(info->dlpi_name, packages) : NULL;
	if (!found)
		return 0;
	int folder_bytes = (int)(found - info->dlpi_name + (ptrdiff_t)sizeof(packages) - 1);
	for (size_t i = 0; i < sizeof(in_packages) / sizeof(in_packages[0]); i++) {
		int bytes = snprintf(path, PATH_BYTES, "%.*s%s", folder_bytes, info->dlpi_name, in_packages[i]);
		if (bytes < PATH_BYTES && access(path, R_OK) == 0)
			return 1;
	}
	return 0;
}

static void *open_in_packages(void)
{
	char path[PATH_BYTES];
	return dl_iterate_phdr(try_packages_of, path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

static void *open_in_toolkits(void)
{
	void *library = NULL;
	for (size_t i = 0; !library && i < sizeof(in_toolkits) / sizeof(in_toolkits[0]); i++)
		library = dlopen(in_toolkits[i], RTLD_NOW | RTLD_LOCAL);
	return library;
}

static void *find(char message[CUPTI_MESSAGE_BYTES])
{
	const char *named = secure_getenv("EPPROF_CUPTI");
	if (named && named[0]) {
		void *library = named[0] == '/' ? dlopen(named, RTLD_NOW | RTLD_LOCAL) : NULL;
		if (!library)
			snprintf(message, CUPTI_MESSAGE_BYTES, "EPPROF_CUPTI: %s",
			         named[0] == '/' ? dlerror() : "it must be an absolute path");
		return library;
	}
	static void *(*const places[])(void) = { open_loaded, open_by_name, open_in_packages, open_in_toolkits };
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		void *library = places[i]();
		if (library)
			return library;
	}
	snprintf(message, CUPTI_MESSAGE_BYTES,
	         "no libcupti of CUDA 12 or 13: not loaded in the process, not where the loader searches, not in the "
	         "folders %s and %s beside a loaded library in site-packages, and not in /usr/local/cuda; "
	         "EPPROF_CUPTI=/path/libcupti.so.13 names it",
	         "nvidia/cu13/lib", "nvidia/cuda_cupti/lib");
	return NULL;
}

/* ---- symbols ---- */

bool cupti_library_open(struct cupti_calls *calls, char message[CUPTI_MESSAGE_BYTES])
{
	uint32_t version = 0;
	void *library = find(message);
	if (!library)
		return false;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *symbol = dlsym(library, symbols[i].name);
		if (!symbol) {
			snprintf(message, CUPTI_MESSAGE_BYTES, "libcupti has no %s", symbols[i].name);
			return false;
		}
		memcpy((char *)calls + symbols[i].at, &symbol, sizeof(symbol));
	}
	int result = calls->GetVersion(&version);
	if (result != CUPTI_SUCCESS) {
		const char *text = NULL;
		calls->GetResultString(result, &text);
		snprintf(message, CUPTI_MESSAGE_BYTES, "cuptiGetVersion: result %d (%s); is NVIDIA's driver installed?",
		         result, text ? text : "unknown");
	} else if (version < CUPTI_VERSION_MIN) {
		snprintf(message, CUPTI_MESSAGE_BYTES, "libcupti has version %u, at least %u (CUDA 12.0) is needed",
		         version, CUPTI_VERSION_MIN);
	}
	return result == CUPTI_SUCCESS && version >= CUPTI_VERSION_MIN;
}

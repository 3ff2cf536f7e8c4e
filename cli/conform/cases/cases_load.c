/* Level 1: the plugin loads, negotiates versions, and leaves the process as it was. */
#include <dlfcn.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cases.h"

void case_load_library(const struct conform *conform)
{
	epp_plugin *plugin;
	epp_status *status = epp_plugin_load(conform->library, &plugin);

	if (!status)
		return;
	bool needs_device = strstr(epp_status_message(status), "does not support the offered device") != NULL;
	conform_fail(conform, "%s%s", epp_status_message(status), needs_device ? "; --device offers another one" : "");
}

void case_load_profiler(const struct conform *conform)
{
	OrtEpProfilerImpl *profiler;
	epp_status *status = epp_plugin_profiler_create(conform_load(conform), &profiler);

	/* EPP_INCOMPATIBLE means that entries are missing, which 1.load.entries reports. */
	if (status && epp_status_code(status) != EPP_INCOMPATIBLE)
		conform_fail(conform, "%s", epp_status_message(status));
}

void case_load_entries(const struct conform *conform)
{
	OrtEpProfilerImpl *profiler;
	epp_status *status = epp_plugin_profiler_create(conform_load(conform), &profiler);

	if (epp_status_code(status) == EPP_INCOMPATIBLE)
		conform_fail(conform, "%s", epp_status_message(status));
	if (status)
		conform_skip(conform, "there is no profiler: %s", epp_status_message(status));
}

void case_load_version(const struct conform *conform)
{
	epp_plugin *plugin;
	uint32_t version = conform_profiler(conform, &plugin)->ort_version_supported;

	if (version > EPPROF_ORT_API_VERSION)
		conform_fail(conform, "the profiler has version %u; the host's newest is %d", version,
		             EPPROF_ORT_API_VERSION);
}

/* ---- an older host ---- */

static OrtStatus *log_nothing(const OrtLogger *logger, OrtLoggingLevel level, const char *message, const char *file,
                              int line, const char *function)
{
	(void)logger, (void)level, (void)message, (void)file, (void)line, (void)function;
	return NULL;
}

static OrtStatus *get_level(const OrtLogger *logger, OrtLoggingLevel *level)
{
	(void)logger;
	*level = ORT_LOGGING_LEVEL_ERROR;
	return NULL;
}

/* The API of an ONNX Runtime that is older than the plugin.  It has a logger, because a library may log in
 * CreateEpFactories, and ONNX Runtime's logger is never NULL. */
static const OrtApi *old_api(uint32_t version)
{
	static OrtApi api;

	if (version > EPPROF_ORT_API_VERSION_MIN)
		return NULL;
	api = *epp_ort_api_base()->GetApi(version);
	api.Logger_LogMessage = log_nothing;
	api.Logger_GetLoggingSeverityLevel = get_level;
	return &api;
}

static const char *old_version(void)
{
	return "1.25.0";
}

void case_load_old_host(const struct conform *conform)
{
	static const OrtApiBase base = { .GetApi = old_api, .GetVersionString = old_version };
	OrtEpFactory *factories[4] = { NULL };
	size_t factories_count = 0;
	CreateEpApiFactoriesFn create;
	void *library = dlopen(conform->library, RTLD_NOW | RTLD_LOCAL);
	void *symbol = library ? dlsym(library, "CreateEpFactories") : NULL;

	if (!symbol)
		conform_skip(conform, "the library cannot be loaded, or has no CreateEpFactories");
	memcpy(&create, &symbol, sizeof(symbol));
	const OrtLogger *logger = (const OrtLogger *)&base; /* opaque */
	OrtStatus *status = create("conform", &base, logger, factories, 4, &factories_count);
	if (!status && factories_count > 0 && !factories[0])
		conform_fail(conform, "CreateEpFactories succeeded with a NULL factory");
	conform_ignore_ort(status);
}

/* ---- the process ---- */

void case_load_unload(const struct conform *conform)
{
	conform_use_and_unload(conform);
}

void case_load_prints(const struct conform *conform)
{
	epp_plugin *plugin;
	struct stat output;

	/* In a process for one case, standard output is a temporary file that is empty at the beginning. */
	if (fstat(STDOUT_FILENO, &output) != 0 || !S_ISREG(output.st_mode))
		conform_skip(conform, "standard output is no file");
	off_t bytes = output.st_size;
	conform_profiler(conform, &plugin);
	fflush(NULL);
	if (fstat(STDOUT_FILENO, &output) == 0 && output.st_size > bytes)
		conform_warn(conform, "%lld bytes were printed", (long long)(output.st_size - bytes));
}

#define SIGNALS_COUNT 32

struct process {
	struct sigaction actions[SIGNALS_COUNT];
	char locale[256], directory[1024];
	mode_t mask;
};

static struct process process_read(void)
{
	struct process process = { .mask = umask(0) };

	umask(process.mask);
	for (int i = 1; i < SIGNALS_COUNT; i++)
		sigaction(i, NULL, &process.actions[i]);
	snprintf(process.locale, sizeof(process.locale), "%s", setlocale(LC_ALL, NULL));
	if (!getcwd(process.directory, sizeof(process.directory)))
		process.directory[0] = '\0';
	return process;
}

void case_load_process(const struct conform *conform)
{
	epp_plugin *plugin;
	struct process before = process_read();

	conform_profiler(conform, &plugin);
	struct process after = process_read();
	for (int i = 1; i < SIGNALS_COUNT; i++) {
		if (after.actions[i].sa_handler != before.actions[i].sa_handler)
			conform_fail(conform, "the action for signal %d (%s) was changed", i, strsignal(i));
	}
	if (strcmp(after.locale, before.locale) != 0)
		conform_fail(conform, "the locale was changed from %s to %s", before.locale, after.locale);
	if (strcmp(after.directory, before.directory) != 0)
		conform_fail(conform, "the working directory was changed to %s", after.directory);
	if (after.mask != before.mask)
		conform_fail(conform, "the umask was changed to %03o", (unsigned)after.mask);
}

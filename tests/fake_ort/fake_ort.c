/* What is played, and the tables.  What an EP needs (events, devices, key-value pairs) libepprof serves, which the
 * command has loaded.  A slot younger than version 25, when that is played, aborts. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_ort.h"

#define FIRST_SLOT_AFTER_25 417

OrtApi api;
OrtEpApi ep_api;

const char *word(const char *key)
{
	static __thread char value[64];
	const char *words = getenv("FAKE_ORT"), *at = words ? strstr(words, key) : NULL;

	if (!at)
		return NULL;
	at += strlen(key);
	snprintf(value, sizeof value, "%.*s", (int)strcspn(at, " "), at);
	return value;
}

OrtStatus *failure_of(const char *entry)
{
	char key[64];

	snprintf(key, sizeof key, "fail=%s", entry);
	return word(key) ? api.CreateStatus(ORT_FAIL, "it fails for a test\n") : NULL;
}

void tell(const char *format, ...)
{
	const char *path = getenv("FAKE_ORT_LOG");
	FILE *file = path ? fopen(path, "ae") : NULL;
	va_list args;

	if (!file)
		return;
	va_start(args, format);
	vfprintf(file, format, args);
	va_end(args);
	fclose(file);
}

/* ---- the tables ---- */

/* Nobody comes to ask for them. */
static OrtStatus *add_events(OrtProfilingEventsContainer *container, const OrtProfilingEvent *const *events, size_t count)
{
	(void)container, (void)events, (void)count;
	return NULL;
}

static const OrtEpApi *get_ep_api(void)
{
	return &ep_api;
}

static const char *get_version(void)
{
	return word("version=") ? word("version=") : "1.30.0";
}

static void too_young(void)
{
	fprintf(stderr, "fake_ort: a slot that this version lacks\n");
	abort();
}

static void fill_api(uint32_t version)
{
	const OrtApiBase *(*own)(void);

	*(void **)&own = dlsym(RTLD_DEFAULT, "epp_ort_api_base");
	if (!own)
		abort();
	api = *own()->GetApi(EPPROF_ORT_API_VERSION);
	ep_api = *api.GetEpApi();
	ep_api.ProfilingEventsContainer_AddEvents = add_events;
	api.GetEpApi = get_ep_api;
	fake_libraries_fill();
	fake_values_fill();
	fake_model_fill();
	for (size_t slot = FIRST_SLOT_AFTER_25; version == 25 && slot < EPPROF_ORT_API_SLOTS; slot++)
		((epp_ort_slot *)&api)[slot] = too_young;
}

static const OrtApi *get_api(uint32_t version)
{
	uint32_t own = (uint32_t)strtoul(get_version() + 2, NULL, 10);

	tell("api %u\n", version);
	if (version > own || word("no_tables"))
		return NULL;
	if (!api.Run)
		fill_api(own);
	return &api;
}

const OrtApiBase *OrtGetApiBase(void)
{
	static const OrtApiBase base = { get_api, get_version };

	return &base;
}

/* Opens ONNX Runtime's library.
 *
 * If the user has named a library and it cannot be used, this is an error.  If a library that was found by search
 * cannot be used, for example because it is too old, the search continues.  If no library can be used, the message
 * lists those that were tried.  The API's tables of functions are requested in the newest version that both the library
 * and this command support.  All functions that the command calls exist in the oldest version that it accepts. */
#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <ctype.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

/* ---- one library ---- */

static epp_status *read_version(const char *path, const OrtApiBase *base, struct ort *ort, uint32_t *minor)
{
	const char *version = base ? base->GetVersionString() : NULL, *problem;
	char number[8] = "";

	if (!version || strncmp(version, "1.", 2) != 0)
		return epp_status_create(EPP_INCOMPATIBLE,
		                         "%s: its version is '%s', which is not a version of ONNX Runtime", path,
		                         version ? version : "");
	strlcpy(ort->version, version, sizeof ort->version);
	size_t digits = strspn(version + 2, "0123456789");
	snprintf(number, sizeof number, "%.*s", (int)(digits < sizeof number ? digits : sizeof number - 1), version + 2);
	*minor = (uint32_t)strtonum(number, 0, 100000, &problem);
	if (problem || *minor < EPPROF_ORT_API_VERSION_MIN)
		return epp_status_create(EPP_INCOMPATIBLE,
		                         "%s: ONNX Runtime %s is too old: profilers are there from 1.%d on", path,
		                         version, EPPROF_ORT_API_VERSION_MIN);
	return NULL;
}

static epp_status *open_library(struct ort *ort, const char *path)
{
	uint32_t minor = 0;

	dlerror();
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		/* The message of dlerror usually begins with the library's path, which is then not printed twice. */
		const char *reason = dlerror();
		reason = reason ? reason : "cannot be loaded";
		bool has_name = strncmp(reason, path, strlen(path)) == 0;
		return epp_status_create(EPP_NOT_FOUND, "%s%s%s", has_name ? "" : path, has_name ? "" : ": ", reason);
	}
	const OrtApiBase *(*get_base)(void);
	*(void **)&get_base = dlsym(library, "OrtGetApiBase");
	if (!get_base) {
		dlclose(library);
		return epp_status_create(EPP_INCOMPATIBLE, "%s: not ONNX Runtime: no symbol 'OrtGetApiBase'", path);
	}
	const OrtApiBase *base = get_base();
	epp_status *status = read_version(path, base, ort, &minor);
	if (!status) {
		ort->api = base->GetApi(minor < EPPROF_ORT_API_VERSION ? minor : EPPROF_ORT_API_VERSION);
		if (!ort->api)
			status = epp_status_create(EPP_INCOMPATIBLE,
			                           "%s: ONNX Runtime %s has no tables for API version %u", path,
			                           ort->version, minor);
	}
	if (status) {
		dlclose(library);
		return status;
	}
	Dl_info where;
	const char *file = dladdr(*(void **)&get_base, &where) && where.dli_fname ? where.dli_fname : path;
	ort->path = strdup(file);
	return ort->path ? NULL : epp_status_no_memory();
}

/* ---- search ---- */

bool ort_try_library(struct ort *ort, const char *path, char reasons[ORT_REASONS_BYTES])
{
	epp_status *status = open_library(ort, path);

	if (!status)
		return true;
	strlcat(reasons, "\n  ", ORT_REASONS_BYTES);
	strlcat(reasons, epp_status_message(status), ORT_REASONS_BYTES);
	epp_status_destroy(status);
	return false;
}

static epp_status *find_library(struct ort *ort, const char *asked)
{
	const char *from_environment = secure_getenv("EPPROF_ORT");
	char reasons[ORT_REASONS_BYTES] = "";

	if (asked)
		return open_library(ort, asked);
	if (from_environment && *from_environment)
		return epp_status_prefix(open_library(ort, from_environment), "EPPROF_ORT");
	if (ort_search(ort, reasons))
		return NULL;
	return epp_status_create(EPP_NOT_FOUND,
	                         "no ONNX Runtime of version 1.%d or later is found; name one with --ort or EPPROF_ORT, or\n"
	                         "install one: pip install onnxruntime.  Looked at:%s",
	                         EPPROF_ORT_API_VERSION_MIN, reasons);
}

/* ---- log messages ---- */

/* If a log message of ONNX Runtime is about an error that a profiler returned, counts it in ort->failures.  The caller
 * holds logs_lock. */
static void keep_failure(struct ort *ort, const char *message)
{
	static const char begins[] = "OrtEpProfilerImpl::", of[] = "() for ", says[] = " returned an error OrtStatus: ";
	const char *step = strncmp(message, begins, strlen(begins)) == 0 ? message + strlen(begins) : NULL;
	const char *name = step ? strstr(step, of) : NULL, *text = name ? strstr(name, says) : NULL;
	struct ort_failure *failure = ort->failures;

	if (!text)
		return;
	int step_bytes = (int)(name - step);
	name += strlen(of);
	size_t name_bytes = (size_t)(text - name);
	while (failure < ort->failures + ort->failures_count &&
	       !(strlen(failure->ep) == name_bytes && strncmp(failure->ep, name, name_bytes) == 0))
		failure++;
	if (failure == ort->failures + RUN_LIST_MAX)
		return;
	if (failure == ort->failures + ort->failures_count) {
		*failure = (struct ort_failure){ .ep = strndup(name, name_bytes) };
		if (!failure->ep || asprintf(&failure->message, "%.*s: %s", step_bytes, step, text + strlen(says)) < 0) {
			free(failure->ep);
			return;
		}
		ort->failures_count++;
	}
	failure->count++;
	failure->ends_count += strncmp(step, "EndProfiling(", strlen("EndProfiling(")) == 0;
}

static void keep_log(void *user, OrtLoggingLevel severity, const char *category, const char *logid,
                     const char *code_location, const char *message)
{
	struct ort *ort = user;

	(void)severity, (void)category, (void)logid, (void)code_location;
	pthread_mutex_lock(&ort->logs_lock);
	keep_failure(ort, message);
	if (ort->logs_count < ORT_LOGS_MAX && (ort->logs[ort->logs_count] = strdup(message)))
		ort->logs_count++;
	pthread_mutex_unlock(&ort->logs_lock);
}

void ort_print_logs(struct ort *ort)
{
	pthread_mutex_lock(&ort->logs_lock);
	for (size_t i = 0; i < ort->logs_count; i++) {
		fputs("epprof: ONNX Runtime: ", stderr);
		cli_print_clean(stderr, ort->logs[i], strlen(ort->logs[i]));
		fputc('\n', stderr);
	}
	pthread_mutex_unlock(&ort->logs_lock);
}

/* ---- opening and closing ---- */

epp_status *ort_open(struct ort *ort, const char *library)
{
	memset(ort, 0, sizeof *ort);
	pthread_mutex_init(&ort->logs_lock, NULL);
	epp_status *status = find_library(ort, library);
	if (status)
		return status;
	/* Only errors are logged, because the many warnings of ONNX Runtime do not concern profiling. */
	status = ort_check(
	    ort, ort->api->CreateEnvWithCustomLogger(keep_log, ort, ORT_LOGGING_LEVEL_ERROR, "epprof", &ort->env));
	return epp_status_prefix(status, "%s", ort->path);
}

void ort_close(struct ort *ort)
{
	if (ort->env)
		ort->api->ReleaseEnv(ort->env);
	free(ort->path);
	for (size_t i = 0; i < ort->logs_count; i++)
		free(ort->logs[i]);
	for (size_t i = 0; i < ort->failures_count; i++) {
		free(ort->failures[i].ep);
		free(ort->failures[i].message);
	}
	memset(ort, 0, sizeof *ort);
}

/* ---- statuses ---- */

epp_status *ort_check(const struct ort *ort, OrtStatus *status)
{
	if (!status)
		return NULL;
	OrtErrorCode code = ort->api->GetErrorCode(status);
	/* The newline at the end of some messages is removed. */
	const char *message = ort->api->GetErrorMessage(status);
	size_t bytes = strlen(message);
	while (bytes && isspace((unsigned char)message[bytes - 1]))
		bytes--;
	epp_status *own = epp_status_create(code == ORT_NO_SUCHFILE        ? EPP_NOT_FOUND
	                                    : code == ORT_INVALID_ARGUMENT ? EPP_INVALID_ARGUMENT
	                                                                   : EPP_PLUGIN,
	                                    "%.*s", (int)bytes, message);
	ort->api->ReleaseStatus(status);
	return own;
}

char *ort_text(const struct ort *ort, char *text)
{
	OrtAllocator *allocator;
	char *copy = text ? strdup(text) : NULL;

	OrtStatus *status = ort->api->GetAllocatorWithDefaultOptions(&allocator);
	if (!status && text)
		status = ort->api->AllocatorFree(allocator, text);
	if (status)
		ort->api->ReleaseStatus(status);
	return copy;
}

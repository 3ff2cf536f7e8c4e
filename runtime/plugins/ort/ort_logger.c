/* The logger for plugins.  The library never prints: a message is passed to the function that the host set, if it set
 * one and the message is at least a warning; otherwise it is discarded. */
#include "base/os/os.h"
#include "epprof/plugin.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort_abi/ort_status.h"
#include "plugins/ort/ort_served.h"

struct OrtLogger {
	OrtLoggingLevel severity;
	char plugin_name[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static epp_log_fn listener;
static void *listener_user;

static void fork_prepare(void)
{
	pthread_mutex_lock(&lock);
}

static void fork_parent(void)
{
	pthread_mutex_unlock(&lock);
}

static void fork_child(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void set_up(void)
{
	os_at_fork(fork_prepare, fork_parent, fork_child);
}

void epp_plugin_set_log(epp_log_fn log, void *user)
{
	pthread_once(&once, set_up);
	pthread_mutex_lock(&lock);
	listener = log;
	listener_user = user;
	pthread_mutex_unlock(&lock);
}

OrtLogger *ort_logger_create(const char *plugin_name)
{
	size_t bytes = strlen(plugin_name) + 1;
	OrtLogger *logger = malloc(sizeof(*logger) + bytes);
	if (!logger)
		return NULL;
	logger->severity = ORT_LOGGING_LEVEL_WARNING;
	memcpy(logger->plugin_name, plugin_name, bytes);
	return logger;
}

void ort_logger_destroy(OrtLogger *logger)
{
	free(logger);
}

OrtStatus *ort_api_Logger_LogMessage(const OrtLogger *logger, OrtLoggingLevel log_severity_level, const char *message,
                                     const char *file_path, int line_number, const char *func_name)
{
	char text[1024], file[512];
	(void)func_name;
	if (!logger || !message)
		return ort_null_argument("Logger_LogMessage", logger ? "message" : "logger");
	if ((int)log_severity_level < (int)logger->severity)
		return NULL;
	pthread_mutex_lock(&lock);
	epp_log_fn log = listener;
	void *user = listener_user;
	pthread_mutex_unlock(&lock);
	if (!log)
		return NULL;
	if (file_path) {
		os_path_copy(file_path, file, sizeof(file));
		snprintf(text, sizeof(text), "%s: %s (%s:%d)", logger->plugin_name, message, os_path_name(file),
		         line_number);
	} else {
		snprintf(text, sizeof(text), "%s: %s", logger->plugin_name, message);
	}
	log(user, EPP_BLAME_PLUGIN, text);
	return NULL;
}

OrtStatus *ort_api_Logger_GetLoggingSeverityLevel(const OrtLogger *logger, OrtLoggingLevel *out)
{
	if (!logger || !out)
		return ort_null_argument("Logger_GetLoggingSeverityLevel", logger ? "out" : "logger");
	*out = logger->severity;
	return NULL;
}

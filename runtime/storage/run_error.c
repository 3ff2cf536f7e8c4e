/* Keeps and reports the first error of a run, and warnings. */
#include "storage/run_error.h"

#include <bsd/string.h>
#include <time.h>

#include "base/status.h"

#define LOG_POLL_NS 100000

void run_error_init(struct run_error *error, epp_log_fn log, void *log_user)
{
	error->log = log;
	error->log_user = log_user;
	error->first = NULL;
	error->blame = EPP_BLAME_NONE;
	error->is_logged = false;
	error->warnings[0] = '\0';
	error->threads_logging = 0;
}

static epp_status *join_errors(epp_status *first, epp_status *second)
{
	epp_status *both = epp_status_create(epp_status_code(first), "%s; %s", epp_status_message(first),
	                                     epp_status_message(second));
	epp_status_destroy(first);
	epp_status_destroy(second);
	return both;
}

void run_error_set(struct run_error *error, epp_blame blame, epp_status *status)
{
	pthread_mutex_lock(&error->lock);
	if (!error->first) {
		error->first = status;
		error->blame = blame;
		error->is_logged = false;
		status = NULL;
	} else if (epp_status_code(status) == EPP_TIMEOUT) {
		error->first = join_errors(error->first, status);
		error->is_logged = false;
		status = NULL;
	}
	pthread_mutex_unlock(&error->lock);
	epp_status_destroy(status);
}

void run_error_warn(struct run_error *error, const char *text)
{
	pthread_mutex_lock(&error->lock);
	if (error->warnings[0])
		strlcat(error->warnings, "; ", sizeof(error->warnings));
	strlcat(error->warnings, text, sizeof(error->warnings));
	pthread_mutex_unlock(&error->lock);
}

/* Copies a text that was not passed to the log yet. Returns false if there is none. The lock is held. */
static bool next_text(struct run_error *error, char *text, size_t bytes, epp_blame *blame)
{
	if (!error->log)
		return false;
	if (error->first && !error->is_logged) {
		error->is_logged = true;
		*blame = error->blame;
		strlcpy(text, epp_status_message(error->first), bytes);
		return true;
	}
	*blame = EPP_BLAME_PLUGIN;
	strlcpy(text, error->warnings, bytes);
	error->warnings[0] = '\0';
	return text[0] != '\0';
}

void run_error_log(struct run_error *error)
{
	char text[512];
	epp_blame blame;

	pthread_mutex_lock(&error->lock);
	while (next_text(error, text, sizeof(text), &blame)) {
		epp_log_fn log = error->log;
		void *log_user = error->log_user;
		error->threads_logging++;
		pthread_mutex_unlock(&error->lock);
		log(log_user, blame, text);
		pthread_mutex_lock(&error->lock);
		error->threads_logging--;
	}
	pthread_mutex_unlock(&error->lock);
}

epp_status *run_error_take(struct run_error *error)
{
	pthread_mutex_lock(&error->lock);
	epp_status *status = error->first;
	error->first = NULL;
	pthread_mutex_unlock(&error->lock);
	return status;
}

void run_error_end_log(struct run_error *error)
{
	pthread_mutex_lock(&error->lock);
	error->log = NULL;
	while (error->threads_logging) {
		pthread_mutex_unlock(&error->lock);
		nanosleep(&(struct timespec){ .tv_nsec = LOG_POLL_NS }, NULL);
		pthread_mutex_lock(&error->lock);
	}
	pthread_mutex_unlock(&error->lock);
}

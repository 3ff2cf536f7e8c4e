/* Keeps the first error of a run for epp_session_wait. Passes each error and warning once to the host's log
 * callback. */
#ifndef EPPROF_RUNTIME_STORAGE_RUN_ERROR_H
#define EPPROF_RUNTIME_STORAGE_RUN_ERROR_H

#include <pthread.h>
#include <stdbool.h>

#include "epprof/session.h"

struct run_error {
	pthread_mutex_t lock; /* protects all members; also held to use the window of a session that may be released
	                         meanwhile */
	epp_log_fn log;
	void *log_user;
	epp_status *first;
	epp_blame blame;
	bool is_logged;
	char warnings[256];       /* warnings that were not passed to the log yet */
	unsigned threads_logging; /* the number of threads inside the log callback */
};

/* Initializes the struct with a log callback, which may be NULL. The lock must be initialized already. */
void run_error_init(struct run_error *error, epp_log_fn log, void *log_user);

/* Takes ownership of a status and keeps it if it is the first error of the run. A timeout is always kept, in addition
 * to an earlier error, because a hung plugin must be reported. The caller may hold any lock. */
void run_error_set(struct run_error *error, epp_blame blame, epp_status *status);

/* Keeps a warning about a plugin, for the log only; it is no error of the run. If there are too many warnings, the last
 * ones are cut. The caller may hold any lock. */
void run_error_warn(struct run_error *error, const char *text);

/* Passes a pending error and pending warnings to the log callback. The caller must hold no lock. */
void run_error_log(struct run_error *error);

/* Returns the error and removes it. */
epp_status *run_error_take(struct run_error *error);

/* Waits until no thread is inside the log callback. The callback is not called any more. */
void run_error_end_log(struct run_error *error);

#endif

/* Keeps the first error of a run for epp_session_wait, and passes it and warnings to the host's log once. */
#ifndef EPPROF_RUNTIME_STORAGE_RUN_ERROR_H
#define EPPROF_RUNTIME_STORAGE_RUN_ERROR_H

#include <pthread.h>
#include <stdbool.h>

#include "epprof/session.h"

struct run_error {
	pthread_mutex_t lock; /* of all members; also held to use the window of a session that may be released meanwhile */
	epp_log_fn log;
	void *log_user;
	epp_status *first;
	epp_blame blame;
	bool is_told;
	char warnings[256]; /* not in the log yet */
	unsigned telling;   /* threads inside the log callback */
};

/* Starts with a log callback, which may be NULL. The lock is initialized already. */
void run_error_init(struct run_error *error, epp_log_fn log, void *log_user);

/* Takes over a status: the first of a run is kept. A timeout is always kept, in addition to an earlier error, because a
 * hung plugin must be reported. Any lock may be held. */
void run_error_set(struct run_error *error, epp_blame blame, epp_status *status);

/* Keeps a plugin's fault that is no error of the run, for the log only; if there are too many, the last are cut. Any lock
 * may be held. */
void run_error_warn(struct run_error *error, const char *text);

/* Passes a pending error and the pending warnings to the log callback; no lock is held. */
void run_error_tell(struct run_error *error);

/* Returns the error and forgets it. */
epp_status *run_error_take(struct run_error *error);

/* Returns when no thread is inside the log callback; it is not called again. */
void run_error_end_log(struct run_error *error);

#endif

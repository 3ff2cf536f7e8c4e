/* Helps to pass statuses on inside the libraries: EPP_TRY, and the first of several errors.  The public functions are
 * in epprof/status.h. */
#ifndef EPPROF_RUNTIME_BASE_STATUS_H
#define EPPROF_RUNTIME_BASE_STATUS_H

#include "epprof/status.h"

/* Returns the status of `expr` if it is an error. */
#define EPP_TRY(expr) \
	do { \
		epp_status *try_ = (expr); \
		if (try_) \
			return try_; \
	} while (0)

/* Keeps the first of several errors: takes ownership of `status`, which may be NULL. */
static inline void status_keep(epp_status **first, epp_status *status)
{
	if (*first)
		epp_status_destroy(status);
	else
		*first = status;
}

#endif

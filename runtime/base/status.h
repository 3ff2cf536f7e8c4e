/* Helpers for statuses inside the libraries: EPP_TRY returns an error to the caller; status_keep keeps the first of
 * several errors.  The public functions are in epprof/status.h. */
#ifndef EPPROF_RUNTIME_BASE_STATUS_H
#define EPPROF_RUNTIME_BASE_STATUS_H

#include "epprof/status.h"

/* If the status of `expr` is an error, returns it from the calling function. */
#define EPP_TRY(expr) \
	do { \
		epp_status *try_ = (expr); \
		if (try_) \
			return try_; \
	} while (0)

/* Stores `status` in `*first` if that is NULL, else destroys it, so that the first of several errors is kept.  `status`
 * may be NULL. */
static inline void status_keep(epp_status **first, epp_status *status)
{
	if (*first)
		epp_status_destroy(status);
	else
		*first = status;
}

#endif

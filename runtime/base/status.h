/* Internal functions for statuses; the public ones are in epprof/status.h. */
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
		epp_status_release(status);
	else
		*first = status;
}

#endif

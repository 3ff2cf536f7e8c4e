/* Statuses as the library itself makes them; the public half is epprof/status.h. */
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

/* Of several things that went wrong the first one stays: takes `status`, which may be NULL. */
static inline void status_keep(epp_status **first, epp_status *status)
{
	if (*first)
		epp_status_release(status);
	else
		*first = status;
}

#endif

/* Options that a caller hands over in a struct with its size in front: callers and libraries of different versions meet. */
#ifndef EPPROF_RUNTIME_BASE_OPTIONS_H
#define EPPROF_RUNTIME_BASE_OPTIONS_H

#include <stddef.h>
#include <string.h>

#include "base/status.h"

/* Copies what this version knows.  What a caller built against an older header does not know is 0; what a newer one asks
 * for must not be ignored.  `given`, whose first member is its size, may be NULL: everything is 0. */
static inline epp_status *options_take(void *known, size_t known_bytes, const void *given, const char *name)
{
	size_t given_bytes = 0;

	memset(known, 0, known_bytes);
	if (given)
		memcpy(&given_bytes, given, sizeof given_bytes);
	for (size_t i = known_bytes; i < given_bytes; i++) {
		if (((const char *)given)[i])
			return epp_status_create(EPP_INVALID_ARGUMENT,
			                         "%s: byte %zu asks for something that this version "
			                         "does not know",
			                         name, i);
	}
	if (given_bytes)
		memcpy(known, given, given_bytes < known_bytes ? given_bytes : known_bytes);
	return NULL;
}

#endif

/* Copies option structs that begin with their size, so that callers and libraries of different versions work
 * together. */
#ifndef EPPROF_RUNTIME_BASE_OPTIONS_H
#define EPPROF_RUNTIME_BASE_OPTIONS_H

#include <stddef.h>
#include <string.h>

#include "base/status.h"

/* Copies the members that this version knows. Members that an older caller does not have are 0; a non-zero member that
 * only a newer version knows is an error. `given`, whose first member is its size, may be NULL: everything is 0. */
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

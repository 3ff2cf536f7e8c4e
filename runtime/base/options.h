/* The rule for public structs that begin with their size and may grow, so that callers and libraries of different
 * versions work together. */
#ifndef EPPROF_RUNTIME_BASE_OPTIONS_H
#define EPPROF_RUNTIME_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/status.h"

/* Copies the caller's struct over the defaults in `known`. An older caller has a smaller struct: the missing members
 * keep their defaults. A newer caller has a larger struct: it is an error if one of the bytes beyond this version's
 * struct is not 0. `given` may be NULL. */
static inline epp_status *options_take_over(void *known, size_t known_bytes, const void *given, const char *name)
{
	size_t given_bytes;

	if (!given)
		return NULL;
	memcpy(&given_bytes, given, sizeof(given_bytes));
	if (given_bytes < sizeof(given_bytes))
		return epp_status_create(EPP_INVALID_ARGUMENT, "%s: struct_size is not set", name);
	for (size_t i = known_bytes; i < given_bytes; i++) {
		if (((const char *)given)[i])
			return epp_status_create(EPP_INVALID_ARGUMENT,
			                         "%s: byte %zu is not 0, but this version has no member there", name, i);
	}
	memcpy(known, given, given_bytes < known_bytes ? given_bytes : known_bytes);
	memcpy(known, &known_bytes, sizeof(known_bytes));
	return NULL;
}

/* As options_take_over, with 0 as the default of every member. */
static inline epp_status *options_take(void *known, size_t known_bytes, const void *given, const char *name)
{
	memset(known, 0, known_bytes);
	return options_take_over(known, known_bytes, given, name);
}

/* Copies `made` into the caller's struct, as far as the caller's size. If the caller's struct is larger, its further
 * members become 0. The size member is not changed. Returns false if the caller has not set the size. */
static inline bool options_fill(void *given, const void *made, size_t made_bytes)
{
	size_t given_bytes;

	memcpy(&given_bytes, given, sizeof(given_bytes));
	if (given_bytes < sizeof(given_bytes))
		return false;
	size_t common_bytes = given_bytes < made_bytes ? given_bytes : made_bytes;
	memcpy((char *)given + sizeof(given_bytes), (const char *)made + sizeof(given_bytes),
	       common_bytes - sizeof(given_bytes));
	memset((char *)given + common_bytes, 0, given_bytes - common_bytes);
	return true;
}

#endif

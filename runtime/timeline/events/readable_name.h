/* Shortens names for display: ONNX Runtime appends "_kernel_time" to the name of each node's event, which is
 * redundant. */
#ifndef EPPROF_RUNTIME_TIMELINE_EVENTS_READABLE_NAME_H
#define EPPROF_RUNTIME_TIMELINE_EVENTS_READABLE_NAME_H

#include <string.h>

#include "epprof/session.h"

/* Returns how many bytes of a name are shown. */
static inline size_t readable_name_bytes(const char *name, size_t bytes, unsigned category)
{
	static const char suffix[] = "_kernel_time";
	const size_t suffix_bytes = sizeof(suffix) - 1;

	if (category != EPP_NODE || bytes <= suffix_bytes || memcmp(name + bytes - suffix_bytes, suffix, suffix_bytes) != 0)
		return bytes;
	return bytes - suffix_bytes;
}

#endif

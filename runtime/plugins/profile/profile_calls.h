/* Finds the call that launched a device event of an XSpace, by the correlation id that a plugin gives to both: add all
 * calls, then seal, then find.  If several calls have the same correlation id, the last one added is used. */
#ifndef EPPROF_RUNTIME_PLUGINS_PROFILE_PROFILE_CALLS_H
#define EPPROF_RUNTIME_PLUGINS_PROFILE_PROFILE_CALLS_H

#include <stddef.h>
#include <stdint.h>

struct profile_call {
	uint64_t correlation;
	uint64_t id; /* id of the call's event */
	size_t position;
};

/* Zero-initialised: empty. */
struct profile_calls {
	struct profile_call *all;
	size_t count, room;
};

/* Adds a call.  If there is no memory, the call is left out, and its device events have no parent. */
void profile_calls_add(struct profile_calls *calls, uint64_t correlation, uint64_t id);
void profile_calls_seal(struct profile_calls *calls);
/* Returns the id of the call's event; 0: not found. */
uint64_t profile_calls_find(const struct profile_calls *calls, uint64_t correlation);
void profile_calls_deinit(struct profile_calls *calls);

#endif

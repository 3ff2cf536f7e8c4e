/* Finds the call that launched a device event of an XSpace, by the correlation id that a plugin gives to both: add all
 * calls, then seal, then find.  Of calls with the same id the last one added is used. */
#ifndef EPPROF_RUNTIME_PLUGINS_PROFILE_PROFILE_CALLS_H
#define EPPROF_RUNTIME_PLUGINS_PROFILE_PROFILE_CALLS_H

#include <stddef.h>
#include <stdint.h>

struct profile_call {
	uint64_t correlation;
	uint64_t id; /* of the event */
	size_t position;
};

/* Zero-initialised: empty. */
struct profile_calls {
	struct profile_call *all;
	size_t count, room;
};

/* A call for which there is no memory is left out: its device events then have no parent. */
void profile_calls_add(struct profile_calls *calls, uint64_t correlation, uint64_t id);
void profile_calls_seal(struct profile_calls *calls);
/* 0: not found. */
uint64_t profile_calls_find(const struct profile_calls *calls, uint64_t correlation);
void profile_calls_deinit(struct profile_calls *calls);

#endif

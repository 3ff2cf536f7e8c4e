/* Whose work it is: tokens on the stacks of a PU1 library, pushed and popped with the host's events.
 *
 * Several sessions may profile one library, and each thread has one stack there.  So what is pushed is a token of our own,
 * not an event's id.  A token names the event that it was pushed for, and the token that lay beneath it then.  The session
 * whose event it is finds the event in the token itself; another one in the first token beneath that is its own, which
 * is an event that was open around this one: inferred.
 *
 * A token is remembered until 524,288 younger ones were pushed.  Events of sessions need not end in order, and threads may
 * have events open when a session ends: what cannot be popped yet, since something else lies above it or the thread is not
 * there, is popped as soon as its thread comes by.
 */
#ifndef EPPROF_RUNTIME_PLUGINS_PU1_PU1_TOKENS_H
#define EPPROF_RUNTIME_PLUGINS_PU1_PU1_TOKENS_H

#include "plugins/pu1/pu1_library.h"

#define PU1_TOKENS_COUNT (1u << 19)
#define PU1_OPEN_MAX 64u /* tokens of one thread on one library's stack; what is deeper counts for what is around it */

/* A session's run, as tokens know it. */
struct pu1_owner {
	uint32_t place; /* below PU1_PROFILERS_MAX */
	uint32_t run;   /* not 0, never the same twice */
};

struct pu1_tokens *pu1_tokens_create(void);

/* A run begins or ends.  False: there are PU1_PROFILERS_MAX already.
 * Thread: one at a time for one library. */
bool pu1_tokens_begin(struct pu1_tokens *tokens, struct pu1_owner *owner);
void pu1_tokens_end(struct pu1_tokens *tokens, const struct pu1_owner *owner);
/* All runs end, and no thread is the one it was. */
void pu1_tokens_forget(struct pu1_tokens *tokens);

/* An event of a run begins or ends on the calling thread.
 * Errors: what the library answers; PU1_INVALID_OPERATION if it popped something else than was pushed.
 * Thread: [any-thread]. */
pu1Result pu1_tokens_push(struct pu1_library *library, struct pu1_owner owner, uint64_t id);
pu1Result pu1_tokens_pop(struct pu1_library *library, struct pu1_owner owner, uint64_t id);

/* The event of `owner` that a record's external id leads to; 0: none.
 * Thread: [any-thread]. */
uint64_t pu1_tokens_find(struct pu1_tokens *tokens, uint64_t external_id, struct pu1_owner owner, bool *inferred);

/* Whether an external id was one of ours. */
bool pu1_tokens_is_own(uint64_t external_id);

#endif

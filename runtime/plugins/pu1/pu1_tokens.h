/* Tokens on the stacks of a PU1 library, which link device work to host events.  They are pushed and popped with the
 * host's events.
 *
 * Several sessions may profile one library, but each thread has only one stack in it.  A token is therefore a number of
 * epprof, not the id of an event.  A token has the event for which it was pushed, and the token that was below it at
 * that time.  The session of that event takes the event from the token; another session takes the first event of its
 * own further down, which is an event that was open around this one, and marks it as inferred.
 *
 * A token is remembered until 524,288 younger ones were pushed.  Events of sessions need not end in order, and threads
 * may have open events when a session ends.  A token that cannot be popped yet, because another one is above it or
 * because its thread is a different one, is popped the next time its thread pushes or pops. */
#ifndef EPPROF_RUNTIME_PLUGINS_PU1_PU1_TOKENS_H
#define EPPROF_RUNTIME_PLUGINS_PU1_PU1_TOKENS_H

#include "plugins/pu1/pu1_library.h"

#define PU1_TOKENS_COUNT (1u << 19)
#define PU1_OPEN_MAX 64u /* tokens of a thread on a library's stack; deeper events count for the deepest of these */

/* A session's run, as the owner of tokens. */
struct pu1_owner {
	uint32_t place; /* below PU1_PROFILERS_MAX */
	uint32_t run;   /* not 0, unique */
};

struct pu1_tokens *pu1_tokens_create(void);

/* Begins or ends a run.  False: there are PU1_PROFILERS_MAX already.
 * Thread: one at a time for one library. */
bool pu1_tokens_begin(struct pu1_tokens *tokens, struct pu1_owner *owner);
void pu1_tokens_end(struct pu1_tokens *tokens, const struct pu1_owner *owner);
/* Ends all runs after a fork, where the threads are gone. */
void pu1_tokens_forget(struct pu1_tokens *tokens);

/* Begins or ends an event of a run on the calling thread.  Errors: the library's result; PU1_INVALID_OPERATION if it
 * popped a value that was not pushed.
 * Thread: [any-thread]. */
pu1Result pu1_tokens_push(struct pu1_library *library, struct pu1_owner owner, uint64_t id);
pu1Result pu1_tokens_pop(struct pu1_library *library, struct pu1_owner owner, uint64_t id);

/* Returns the event of `owner` to which a record's external id leads; 0: none.
 * Thread: [any-thread]. */
uint64_t pu1_tokens_find(struct pu1_tokens *tokens, uint64_t external_id, struct pu1_owner owner, bool *inferred);

/* Returns whether an external id is a token of epprof. */
bool pu1_tokens_is_own(uint64_t external_id);

#endif

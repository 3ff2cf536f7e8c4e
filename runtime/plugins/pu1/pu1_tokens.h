/* Tokens on the stacks of a PU1 library, which link device work to host events.  They are pushed and popped with the
 * host's events.
 *
 * Several sessions may profile one library, but each thread has only one stack in it.  A token is therefore not the id
 * of an event, but a number that epprof assigns.  For each token, its event and the token that was below it on the
 * stack are stored.  For the session of this event, the token leads to the event.  For another session, it leads to the
 * first event of that session further down the stack; that event was open around this one, and is marked as inferred.
 *
 * A token is forgotten when 524,288 younger ones have been pushed.  Events of sessions need not end in order, and
 * threads may have open events when a session ends.  If another token is above the token of an event that ends, the
 * token is popped when its thread next pushes or pops and it is on top.  If the event ends on another thread, its
 * profilers are not called, and the token stays until an event of the same run that is below it ends, or until the run
 * ends.  Readers of the trace mark it as an inferred parent of work that may have begun after its end
 * (timeline/find_parent.c). */
#ifndef EPPROF_RUNTIME_PLUGINS_PU1_PU1_TOKENS_H
#define EPPROF_RUNTIME_PLUGINS_PU1_PU1_TOKENS_H

#include "plugins/pu1/pu1_library.h"

#define PU1_TOKENS_COUNT (1u << 19)
#define PU1_OPEN_MAX \
	64u /* the maximum number of tokens of a thread on a library's stack; work launched by deeper events gets the
	       deepest of these tokens */

/* A session's run, to which tokens belong. */
struct pu1_owner {
	uint32_t place; /* index in the table of runs, below PU1_PROFILERS_MAX */
	uint32_t run;   /* not 0, unique */
};

struct pu1_tokens *pu1_tokens_create(void);

/* Begins or ends a run.  Returns false if there are PU1_PROFILERS_MAX runs already.  Thread: one call at a time for
 * each library. */
bool pu1_tokens_begin(struct pu1_tokens *tokens, struct pu1_owner *owner);
void pu1_tokens_end(struct pu1_tokens *tokens, const struct pu1_owner *owner);
/* Ends all runs.  Called in the child of a fork, which does not have the parent's other threads. */
void pu1_tokens_forget(struct pu1_tokens *tokens);

/* Begins or ends an event of a run on the calling thread.  Returns the library's result, or PU1_INVALID_OPERATION if
 * the library popped another value than the one that was pushed.  Thread: [any-thread]. */
pu1Result pu1_tokens_push(struct pu1_library *library, struct pu1_owner owner, uint64_t id);
pu1Result pu1_tokens_pop(struct pu1_library *library, struct pu1_owner owner, uint64_t id);

/* Returns the event of `owner` to which a record's external id leads; 0: none.
 * Thread: [any-thread]. */
uint64_t pu1_tokens_find(struct pu1_tokens *tokens, uint64_t external_id, struct pu1_owner owner, bool *inferred);

/* Returns true if an external id is a token of epprof. */
bool pu1_tokens_is_own(uint64_t external_id);

#endif

/* What the bridges carry into frameworks that take an XSpace (TensorFlow, JAX): the plugins (carried.h), one run of them after the
 * other. */
#ifndef EPPROF_BRIDGES_SHARED_XSPACE_CARRIED_H
#define EPPROF_BRIDGES_SHARED_XSPACE_CARRIED_H

#include <stdbool.h>
#include <stddef.h>

#include "xspace_profile.h"

/* What went wrong and was not told yet, joined by "; "; what does not fit is left out. */
struct carried_problems {
	size_t used;
	char text[2048];
};

/* Takes a status; NULL is no problem. */
void carried_problems_add(struct carried_problems *problems, epp_status *status);

struct hosted_run;

/* Starts a run of all plugins, which the first call of the process loads.  A plugin that cannot take part is a problem, and
 * the others run without it.  NULL: there is nothing to profile, which is told the first time.  `framework` is the label of
 * the run's session.
 * Thread: one at a time, here and below. */
struct hosted_run *carried_run_start(const char *framework, struct carried_problems *problems);

/* Ends the plugins' part; what they recorded waits in the session.  NULL does nothing. */
void carried_run_end(struct hosted_run *run, struct carried_problems *problems);

/* Makes the profile of an ended run; empty if nothing was recorded or a problem is in the way.  What does not fit into
 * EPPROF_PROFILE_BYTES or an int is a problem, too.
 * Ownership: the caller frees its bytes. */
void carried_run_profile(struct hosted_run *run, struct xspace_profile *profile, struct carried_problems *problems);

/* Releases an ended run.  NULL does nothing. */
void carried_run_release(struct hosted_run *run);

#endif

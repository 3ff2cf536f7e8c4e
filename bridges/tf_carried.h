/* What libepprof_tf.so carries into TensorFlow: the plugins that EPPROF_PROFILERS names, one run of them after the other. */
#ifndef EPPROF_BRIDGES_TF_CARRIED_H
#define EPPROF_BRIDGES_TF_CARRIED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epprof/status.h"

/* What went wrong and was not told yet, joined by "; "; what does not fit is left out. */
struct tf_problems {
	size_t used;
	char text[2048];
};

/* Takes a status; NULL is no problem. */
void tf_problems_add(struct tf_problems *problems, epp_status *status);

/* A serialised XSpace. */
struct tf_profile {
	uint8_t *bytes; /* malloc */
	size_t count;
};

struct tf_run;

/* Starts a run of all plugins, which the first call of the process loads.  A plugin that cannot take part is a problem, and
 * the others run without it.  NULL: there is nothing to profile, which is told the first time.
 * Thread: one at a time, here and below. */
struct tf_run *tf_run_start(struct tf_problems *problems);

/* Ends the plugins' part; what they recorded waits in the session.  NULL does nothing. */
void tf_run_end(struct tf_run *run, struct tf_problems *problems);

/* Makes the profile of an ended run; empty if nothing was recorded or a problem is in the way.
 * Ownership: the caller frees its bytes. */
void tf_run_profile(struct tf_run *run, struct tf_profile *profile, struct tf_problems *problems);

/* Releases an ended run.  NULL does nothing. */
void tf_run_release(struct tf_run *run);

#endif

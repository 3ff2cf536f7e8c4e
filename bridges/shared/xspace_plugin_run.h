/* Runs of hosted plugins (hosted_plugins.h), one after the other, for bridges into frameworks that take an XSpace
 * (TensorFlow, JAX). */
#ifndef EPPROF_BRIDGES_SHARED_XSPACE_PLUGIN_RUN_H
#define EPPROF_BRIDGES_SHARED_XSPACE_PLUGIN_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "xspace_profile.h"

/* Problems that were not reported yet, joined by "; ".  The text is cut at the size of the buffer. */
struct hosted_problems {
	size_t used;
	char text[2048];
};

/* Adds the message of a status and releases the status.  NULL does nothing. */
void hosted_problems_add(struct hosted_problems *problems, epp_status *status);

struct hosted_run;

/* Starts a run of all plugins; the first call in the process loads them.  A plugin that cannot take part is reported as
 * a problem, and the others run without it.  Returns NULL if there is nothing to profile; the first such call reports
 * this.  `framework` is the label of the run's session.
 * Thread: one at a time, here and below. */
struct hosted_run *hosted_run_start(const char *framework, struct hosted_problems *problems);

/* Ends the profiling of the plugins; their events stay in the session. NULL does nothing. */
void hosted_run_end(struct hosted_run *run, struct hosted_problems *problems);

/* Creates the profile of an ended run.  It is empty if nothing was recorded, or if there was a problem.  Events that do
 * not fit into EPPROF_PROFILE_BYTES or an int are reported as a problem.
 * Ownership: the caller frees its bytes. */
void hosted_run_profile(struct hosted_run *run, struct xspace_profile *profile, struct hosted_problems *problems);

/* Releases an ended run.  NULL does nothing. */
void hosted_run_release(struct hosted_run *run);

#endif

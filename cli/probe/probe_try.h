/* epprof probe --try: profiles a plugin for a second. */
#ifndef EPPROF_CLI_PROBE_PROBE_TRY_H
#define EPPROF_CLI_PROBE_PROBE_TRY_H

/* Profiles the library for a second, as the kind by which it is loaded first: starts its profiler, records host events,
 * ends it, and prints what came or why nothing came.  `work`: a function `int work(int count)` of the library that
 * gives its device work, called during the host events; NULL: none.
 * Returns CLI_OK if events came, else CLI_FAILURE. */
int probe_try(const char *path, const char *work);

#endif

/* epprof probe --try: profiles a plugin for a second. */
#ifndef EPPROF_CLI_PROBE_PROBE_TRY_H
#define EPPROF_CLI_PROBE_PROBE_TRY_H

/* Profiles the library for a second, as the kind by which it is loaded first: starts its profiler, records host events,
 * ends the profiler, and prints which events it delivered, or why it delivered none.  `work`: name of a function `int
 * work(int count)` in the library that gives the device work, which is called during the host events; NULL: none.
 * Returns CLI_OK if there were events, else CLI_FAILURE. */
int probe_try(const char *path, const char *work);

#endif

/* epprof probe --try: profiles a plugin for a second. */
#ifndef EPPROF_CLI_PROBE_PROBE_TRY_H
#define EPPROF_CLI_PROBE_PROBE_TRY_H

/* Profiles the library for a second: starts its profiler, records host events, ends the profiler, and prints which
 * events it delivered, or why it delivered none.  If the library is a plugin of several kinds, the kind that
 * epp_plugin_load chooses is tried.  `work` is the name of a function `int work(int count)` in the library that gives
 * the device work and is called in each host event; NULL: none.  Returns CLI_OK if there were events, else
 * CLI_FAILURE. */
int probe_try(const char *path, const char *work);

#endif

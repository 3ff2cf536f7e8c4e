/* The plugins that bridges host: those of EPPROF_PROFILERS and KINETO_PLUGIN_PATH (epp_plugin_find_hosted). */
#ifndef EPPROF_BRIDGES_SHARED_HOSTED_PLUGINS_H
#define EPPROF_BRIDGES_SHARED_HOSTED_PLUGINS_H

#include "epprof/plugin.h"
#include "epprof/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The symbol that each bridge exports, by which bridges recognise each other.  If a bridge were loaded as a plugin, it
 * would load all plugins again, including itself. */
#define BRIDGE_SYMBOL "epprof_bridge_variables"
extern __attribute__((visibility("default"))) const char epprof_bridge_variables[];

/* The message if no plugin could be loaded.  It is logged once. */
#define HOSTED_NOTHING "EPPROF_PROFILERS and KINETO_PLUGIN_PATH name no plugin, nothing is profiled"

/* Begins the trial of a plugin's load (epp_plugin_trial_begin).  It is for epp_plugin_find_hosted, before the plugins
 * are loaded: several that hang then cost the time limit once. */
void hosted_plugin_begin_trial(void *user, const char *place, const char *path);

/* Loads all plugins.  If one fails, the message names the place where the library was named, and the reason. */
void hosted_plugins_load(epp_plugin_found_fn found, void *user);

/* Adds a profiler to the ledger of a started session for each library whose load hung.  Must be called for each
 * recording. */
void hosted_plugins_report_hung(epp_session *session);

#ifdef __cplusplus
}
#endif
#endif

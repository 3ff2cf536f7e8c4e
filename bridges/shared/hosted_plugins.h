/* The plugins that bridges host: those of EPPROF_PROFILERS and KINETO_PLUGIN_PATH (epp_plugin_find_hosted). */
#ifndef EPPROF_BRIDGES_SHARED_HOSTED_PLUGINS_H
#define EPPROF_BRIDGES_SHARED_HOSTED_PLUGINS_H

#include "epprof/plugin.h"
#include "epprof/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The symbol by which bridges recognise each other: each one exports it. A bridge that is named as a plugin would load
 * all plugins again, including itself. */
#define BRIDGE_SYMBOL "epprof_bridge_variables"
extern __attribute__((visibility("default"))) const char epprof_bridge_variables[];

/* The message if no plugin could be loaded; it is logged once. */
#define HOSTED_NOTHING "EPPROF_PROFILERS and KINETO_PLUGIN_PATH name no plugin, nothing is profiled"

/* Loads all plugins. The message of a failure has the place where the library was named, and the reason. */
void hosted_plugins_load(epp_plugin_found_fn found, void *user);

/* Adds accounts to a started session for the libraries whose load hung. Call it for each run. */
void hosted_plugins_report_hung(epp_session *session);

#ifdef __cplusplus
}
#endif
#endif

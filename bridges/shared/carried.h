/* The plugins that bridges host: those of EPPROF_PROFILERS and KINETO_PLUGIN_PATH (epp_plugin_find_carried). */
#ifndef EPPROF_BRIDGES_SHARED_CARRIED_H
#define EPPROF_BRIDGES_SHARED_CARRIED_H

#include "epprof/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The symbol by which bridges recognise each other: each one exports it. A bridge that is named as a plugin would load
 * all plugins again, including itself. */
#define CARRIES_SYMBOL "epprof_carries"
extern __attribute__((visibility("default"))) const char epprof_carries[];

/* The message, given once, if no plugin could be loaded. */
#define CARRIED_NOTHING "EPPROF_PROFILERS and KINETO_PLUGIN_PATH name no plugin to carry, nothing is profiled"

/* Loads all plugins. A failure's message says where the library was named and why it was not loaded. */
void carried_load(epp_plugin_found_fn found, void *user);

#ifdef __cplusplus
}
#endif
#endif

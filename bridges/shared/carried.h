/* What bridges carry: the plugins of EPPROF_PROFILERS and KINETO_PLUGIN_PATH (epp_plugin_find_carried). */
#ifndef EPPROF_BRIDGES_SHARED_CARRIED_H
#define EPPROF_BRIDGES_SHARED_CARRIED_H

#include "epprof/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What bridges know each other by: each exports this.  One that is named as a plugin would open all of them again, itself among
 * them. */
#define CARRIES_SYMBOL "epprof_carries"
extern __attribute__((visibility("default"))) const char epprof_carries[];

/* What is said, once, where nothing could be loaded. */
#define CARRIED_NOTHING "EPPROF_PROFILERS and KINETO_PLUGIN_PATH name no plugin to carry, nothing is profiled"

/* Loads them all.  A failure says where the library was named, and why it is not carried. */
void carried_load(epp_plugin_found_fn found, void *user);

#ifdef __cplusplus
}
#endif
#endif

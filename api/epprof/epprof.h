/* epprof: one profiler plugin for every framework, one timeline for every viewer.  This header includes all others of
 * libepprof; tools that read traces include epprof/timeline.h and epprof/export.h too. */
#ifndef EPPROF_EPPROF_H
#define EPPROF_EPPROF_H

#define EPPROF_VERSION_MAJOR 0
#define EPPROF_VERSION_MINOR 1
#define EPPROF_VERSION_PATCH 0
#define EPPROF_VERSION "0.1.0"

#include "epprof/plugin.h"
#include "epprof/session.h"
#include "epprof/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the loaded library as text: EPPROF_VERSION at the time it was built.
 * Thread: [any-thread]. */
EPP_EXPORT const char *epp_version(void);

#ifdef __cplusplus
}
#endif
#endif

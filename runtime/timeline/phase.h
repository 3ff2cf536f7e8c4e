/* Which part of an accelerator's work an event is, told by what a trace has: category, cause and name.
 *
 *   submit     an API event of the host that some device event has as its cause: the call that launched it
 *   queue      from the launch, the start of the cause, to the start of the device event
 *   copy in    a device event whose name has "h2d", "htod", "host to device", "copy in" or "upload" in it
 *   copy out   likewise "d2h", "dtoh", "device to host", "copy out", "download"
 *   copy       any other with "copy", "memcpy", "memset" or "transfer"
 *   compute    all other device events
 *
 * Letters may be large or small; what stands between words does not matter. */
#ifndef EPPROF_TIMELINE_PHASE_H
#define EPPROF_TIMELINE_PHASE_H

#include "epprof/timeline.h"

enum phase { PHASE_SUBMIT, PHASE_QUEUE, PHASE_COPY_IN, PHASE_COMPUTE, PHASE_COPY_OUT, PHASE_COPY, PHASE_COUNT };

/* "submit", ... */
extern const char *const phase_names[PHASE_COUNT];

/* Of a device event. */
enum phase phase_of_name(const char *name, size_t bytes);

#endif

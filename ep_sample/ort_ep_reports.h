/* [profiling] When the device reports a command that has ended: at once, or some time later, as a device does whose
 * driver reads its counters in the background. */
#ifndef EPPROF_EP_SAMPLE_ORT_EP_REPORTS_H
#define EPPROF_EP_SAMPLE_ORT_EP_REPORTS_H

#include <stdbool.h>

#include "accelerator.h"

/* Starts the thread that reports commands `late_ns` after sample_report_later.  Returns false if it cannot be
 * started. */
bool sample_reports_start(uint64_t late_ns, void (*report)(const accelerator_completion *completion));
/* Reports what is left at once, and ends the thread, if there is one. */
void sample_reports_end(void);

/* Thread: [any-thread].  Ownership: the completion is copied.  Returns false without memory. */
bool sample_report_later(const accelerator_completion *completion);

/* Between these two no command is reported: for the release of a profiler. */
void sample_reports_hold(void);
void sample_reports_resume(void);

#endif

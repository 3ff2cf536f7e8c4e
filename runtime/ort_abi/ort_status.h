/* OrtStatus of our tables: a code and a message.  Profilers return them, the recorder reads and releases them.
 *
 * A plugin may hand over a status that it got elsewhere (one linked against ONNX Runtime itself, say): such a one is
 * recognised, has a message that says so, and is not freed.
 * Thread: [any-thread]. */
#ifndef EPPROF_RUNTIME_ORT_ABI_ORT_STATUS_H
#define EPPROF_RUNTIME_ORT_ABI_ORT_STATUS_H

#include "epprof/ort_ep_profiler.h"
#include "epprof/status.h"

/* Never NULL: without memory it is a static status.  `code` is an OrtErrorCode (0 is made 1: a status is an error).
 * A NULL message is "". */
OrtStatus *ort_status_create(int code, const char *message);
/* Of an error of ours, which it takes; NULL stays NULL. */
OrtStatus *ort_status_take(epp_status *status);
/* 0 and "" for NULL. */
int ort_status_code(const OrtStatus *status);
const char *ort_status_message(const OrtStatus *status);
void ort_status_release(OrtStatus *status);

#endif

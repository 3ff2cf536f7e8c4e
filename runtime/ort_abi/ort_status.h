/* OrtStatus for ONNX Runtime's function tables: a code and a message.  Profilers return statuses, the recorder reads
 * and releases them.  A plugin may return a status from another library, for example if it is linked against ONNX
 * Runtime itself.  Such a status is recognised, has a message that explains this, and is not freed.
 *
 * Thread: [any-thread]. */
#ifndef EPPROF_RUNTIME_ORT_ABI_ORT_STATUS_H
#define EPPROF_RUNTIME_ORT_ABI_ORT_STATUS_H

#include "epprof/abi/ort_ep_profiler.h"
#include "epprof/status.h"

/* Creates a status.  Never returns NULL: if there is no memory, the status is static.  `code` is an OrtErrorCode; 0
 * becomes 1, because a status is an error.  A NULL message becomes "". */
OrtStatus *ort_status_create(int code, const char *message);
/* Converts an error of this library and takes ownership of it; NULL stays NULL. */
OrtStatus *ort_status_take(epp_status *status);
/* Return 0 and "" for NULL. */
int ort_status_code(const OrtStatus *status);
const char *ort_status_message(const OrtStatus *status);
void ort_status_release(OrtStatus *status);

#endif

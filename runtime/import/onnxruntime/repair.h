/* Repairs records that ONNX Runtime did not escape.  It writes names and args verbatim, so a quote, a control character
 * or a newline in one makes the record invalid JSON.  The records have one exact shape, so their parts can still be
 * separated; a backslash is then an ordinary character. */
#ifndef EPPROF_RUNTIME_IMPORT_ONNXRUNTIME_REPAIR_H
#define EPPROF_RUNTIME_IMPORT_ONNXRUNTIME_REPAIR_H

#include "import/json_event.h"

/* Reads a record that is no valid JSON, without the comma after it.  Returns false if the record does not have the
 * expected shape, or is incomplete. */
bool repair_record(const char *record, size_t bytes, struct event *event);

#endif

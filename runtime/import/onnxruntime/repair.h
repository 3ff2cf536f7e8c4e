/* What ONNX Runtime fails to escape.  It writes names and args as they are, so a quote, a control character or a newline
 * in one makes its record something that is not JSON.  The records have one exact shape, from which their parts can be
 * told all the same; backslashes then stand for themselves. */
#ifndef EPPROF_RUNTIME_IMPORT_ONNXRUNTIME_REPAIR_H
#define EPPROF_RUNTIME_IMPORT_ONNXRUNTIME_REPAIR_H

#include "import/event.h"

/* Reads one record that is not JSON, without the comma behind it.  False: it is not one, or not whole. */
bool repair_record(const char *record, size_t bytes, struct event *event);

#endif

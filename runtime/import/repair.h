/* What ONNX Runtime fails to escape.  It writes names and args as they are, so a quote, a control character or a newline
 * in one makes its record something that is not JSON.  The records have one exact shape, from which their parts can be
 * told all the same; backslashes then stand for themselves. */
#ifndef EPPROF_IMPORT_REPAIR_H
#define EPPROF_IMPORT_REPAIR_H

#include "import/event.h"

/* Reads one record, without the comma behind it, and only if it is JSON and nothing in it is escaped: then its shape says
 * the same as a JSON parser would, five times as fast.  False: it may still be JSON. */
bool repair_record_strictly(const char *record, size_t bytes, struct event *event);

/* Reads one record that is not JSON.  False: it is not one, or not whole. */
bool repair_record(const char *record, size_t bytes, struct event *event);

#endif

/* Imports device events (of execution providers).  They are kept in a file until all host events have been read.  Then
 * their parents are found and the events are written.
 *
 * Clock.  ONNX Runtime converts the times of an execution provider by a formula and writes the result in microseconds.
 * The file contains neither the duration of StartProfiling nor the drift of the provider's clock.  It is only certain
 * that StartProfiling was called between the file's time 0 and the first event of which providers are notified.  The
 * tracks therefore have a device clock of 1 MHz with a single clock pair in this range.  The half-width of the pair is
 * the length of the range plus the 2 us of the formula.  A single pair implies an additional error of 500 ppm of the
 * distance from it.  Times are kept as they are in the file.  Device events in Chrome files were placed by the program
 * that wrote the file, which gives no error bound.  Their placement is `formula`, on the host clock. */
#ifndef EPPROF_RUNTIME_IMPORT_ONNXRUNTIME_DEVICE_EVENTS_H
#define EPPROF_RUNTIME_IMPORT_ONNXRUNTIME_DEVICE_EVENTS_H

#include "import/import.h"

/* The member `track` of an entry of import->slices is the lane of a host event, with the bit PROVIDERS_NODE if the
 * event is a node that an execution provider ran. */
#define PROVIDERS_NODE 0x80000000u
#define PROVIDERS_LANE(track) ((track) & ~PROVIDERS_NODE)

/* Stores the prepared record of a device event, whose id must be set, until all host events have been read. */
epp_status *providers_store(struct import *import) EPP_MUST_CHECK;

/* For ONNX Runtime's profile.  `first_start` is the earliest start, in ticks, of a host event of which providers are
 * notified.
 *
 * Parents are found by `ort_correlation_id`, the Unix time of the host event's start.  The Unix time of the file's time
 * 0 must therefore be found: it is the only time with which the ids of nearly all device events match starts of host
 * events.  Of several host events that start in that microsecond, the one with the event's parent name is chosen, and
 * the one on the thread that `ort_thread_id` names.  If several threads remain, the only one that ends late enough for
 * the event is chosen and marked as inferred.
 *
 * Without an id, the parent is found by name and containment, then by containment alone, and marked as inferred.  If
 * several threads have a host event around the start of the device event, the parent is the one on the thread
 * `ort_thread_id` or, without this arg, the only one that is a node of the file's only execution provider.  If several
 * are still possible, there is no parent, and the event is marked as ambiguous. */
epp_status *providers_place_by_start(struct import *import, uint64_t first_start) EPP_MUST_CHECK;

/* For files in Chrome's format: the parent is the first host event in `causes` whose key is the device event's
 * correlation id. */
epp_status *providers_place_by_key(struct import *import, struct sorter *causes) EPP_MUST_CHECK;

#endif

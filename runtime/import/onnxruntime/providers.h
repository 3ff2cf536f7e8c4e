/* Imports device events (of execution providers).  They are kept until all host events are known; then their parents
 * are found, and they are written.
 *
 * Clock.  ONNX Runtime's file has the result of its formula for an execution provider's clock, in microseconds; it
 * contains neither the duration of StartProfiling nor the clock's drift.  It is only certain that StartProfiling was
 * called between the file's time 0 and the first event that providers are notified of.  The tracks therefore have a
 * device clock of 1 MHz with a single pair in that range; its half-width is the length of the range plus the formula's
 * own 2 us, and a single pair assumes +-500 ppm from there on.  Times are kept as written, and the bound on the
 * timeline is what the file supports.  Chrome's device events were placed by the writer of the file, which gives no
 * bound: `formula`, on the host clock. */
#ifndef EPPROF_RUNTIME_IMPORT_ONNXRUNTIME_PROVIDERS_H
#define EPPROF_RUNTIME_IMPORT_ONNXRUNTIME_PROVIDERS_H

#include "import/import.h"

/* The track of a host event among the slices is its lane, with this bit set if an execution provider runs the node. */
#define PROVIDERS_NODE 0x80000000u
#define PROVIDERS_LANE(track) ((track) & ~PROVIDERS_NODE)

/* Keeps the prepared record, which must have its id. */
epp_status *providers_keep(struct import *import) EPP_MUST_CHECK;

/* ONNX Runtime: `first_start` is the earliest start, in ticks, of a host event that providers are notified of.
 *
 * Parents are found by `ort_correlation_id`, the Unix time of the host event's start.  The start of profiling must
 * therefore be known or found: it is the one time by which the ids of many events match starts of host events.  Of
 * several host events that start in that microsecond, the one with the event's parent name is chosen, and the one on
 * the thread that `ort_thread_id` names.  If several threads remain, the only one that ends late enough for the event
 * is chosen and marked as inferred.
 *
 * Without an id, the parent is found by name and containment, then by containment alone, and marked as inferred.  If
 * several threads have an event around it, `ort_thread_id` decides, or the event is the only one that is a node of the
 * file's only execution provider.  If several are still possible, there is no parent, and the event is marked as
 * ambiguous. */
epp_status *providers_place_by_start(struct import *import, uint64_t first_start) EPP_MUST_CHECK;

/* Chrome: the parent is the host event in `causes` whose key is the event's correlation. */
epp_status *providers_place_by_key(struct import *import, struct sorter *causes) EPP_MUST_CHECK;

#endif

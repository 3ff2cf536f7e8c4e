/* Events of devices.  They are kept aside until all host events are known, then joined and written.
 *
 * Clock.  ONNX Runtime's file holds what its formula made of an execution provider's clock, in microseconds; neither
 * how long StartProfiling took nor the clock's drift is in it.  What is certain: StartProfiling was called between the
 * file's time 0 and the first event that providers are told of.  So the tracks have a device clock of 1 MHz with a
 * single pair there, whose half-width is that span and the formula's own 2 us; a single pair assumes +-500 ppm further
 * on.  Times stay as they were written, and the bound that the timeline shows is what the file warrants.
 * Chrome's device events were placed by whoever wrote the file, who tells no bound: `formula`, on the host's clock. */
#ifndef EPPROF_RUNTIME_IMPORT_ONNXRUNTIME_PROVIDERS_H
#define EPPROF_RUNTIME_IMPORT_ONNXRUNTIME_PROVIDERS_H

#include "import/import.h"

/* The track of a host event among the slices is its lane, with this bit if an execution provider has the node. */
#define PROVIDERS_NODE 0x80000000u
#define PROVIDERS_LANE(track) ((track) & ~PROVIDERS_NODE)

/* Keeps the prepared record; it has its id. */
epp_status *providers_keep(struct import *import) EPP_MUST_CHECK;

/* ONNX Runtime: `first_start` is the earliest start of a host event that providers are told of, in ticks.  Parents by
 * `ort_correlation_id`: it is the unix time of the host event's start, so profiling's start must be known, or be found:
 * the one time by which the ids of many events meet starts of host events.  Of several that start in that microsecond it
 * is the one of that name, and on the thread that `ort_thread_id` names; where that leaves several threads, the only one
 * that ends late enough for the event, marked as inferred.  Without an id by name and containment, then by containment
 * alone, marked as inferred; where several threads have an event around it, by `ort_thread_id`, or the only one that is a
 * node of the file's only execution provider.  Where several could still be meant it is none, marked as ambiguous. */
epp_status *providers_place_by_start(struct import *import, uint64_t first_start) EPP_MUST_CHECK;

/* Chrome: the host event in `causes` whose key is the event's correlation. */
epp_status *providers_place_by_key(struct import *import, struct sorter *causes) EPP_MUST_CHECK;

#endif

/* Copies of ONNX Runtime's tables of functions, in which slots can be replaced. */
#ifndef EPPROF_BRIDGES_SHARED_ORT_SLOTS_H
#define EPPROF_BRIDGES_SHARED_ORT_SLOTS_H

#include "epprof/abi/ort_ep_profiler.h"

/* Copies `count` slots of a table, or fewer if the segment that contains the table ends earlier.  The length of a table
 * depends on ONNX Runtime's version and is not stored.  If the table is shorter, the copy ends with other data of the
 * library.  These slots do not exist in this version of ONNX Runtime, so they are never called. */
void ort_slots_copy(epp_ort_slot *copy, const void *table, size_t count);

#endif

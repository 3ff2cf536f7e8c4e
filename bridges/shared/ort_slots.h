/* Copies of ONNX Runtime's tables of functions, in which slots can be replaced. */
#ifndef EPPROF_BRIDGES_SHARED_ORT_SLOTS_H
#define EPPROF_BRIDGES_SHARED_ORT_SLOTS_H

#include "epprof/abi/ort_ep_profiler.h"

/* Copies `count` slots of a table, or fewer at the end of the segment that contains it: the length of a table depends on
 * ONNX Runtime's version and is stored nowhere.  The copy of a shorter table ends with other data of the library, in slots
 * that its version lacks, so that nobody calls them. */
void ort_slots_copy(epp_ort_slot *copy, const void *table, size_t count);

#endif

/* Finds the execution providers whose device events are missing in a trace. */
#ifndef EPPROF_BRIDGES_ONNXRUNTIME_ORT_MISSING_H
#define EPPROF_BRIDGES_ONNXRUNTIME_ORT_MISSING_H

#include <pthread.h>

#include "ort.h"

#define ORT_MISSING_NAMES 16u
#define ORT_MISSING_NAME_BYTES 48u

/* Unique names, up to ORT_MISSING_NAMES. */
struct ort_names {
	size_t count;
	char names[ORT_MISSING_NAMES][ORT_MISSING_NAME_BYTES];
};

/* State of one profiling run. */
struct ort_missing {
	pthread_mutex_t lock;
	struct ort_names ran;   /* providers that ran nodes, except ONNX Runtime's own CPU provider */
	struct ort_names gives; /* labels of profilers whose events are in the trace */
};

void ort_missing_init(struct ort_missing *missing);
/* Records that a node ran on this provider.  Thread: [any-thread]; costs a text comparison for a known name. */
void ort_missing_ran(struct ort_missing *missing, const char *provider);
void ort_missing_gives(struct ort_missing *missing, const char *label);

/* Finds the providers that ran nodes and have no events. A profiler may have another name than its provider, so the
 * remaining names on both sides are compared by count: none is missing if as many other profilers have events. */
void ort_missing_find(struct ort_missing *missing, struct ort_names *found);

/* True at the first call for this name in the process. */
bool ort_missing_is_new(const char *provider);

#endif

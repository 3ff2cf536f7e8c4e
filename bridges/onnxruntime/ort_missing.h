/* Whose device events a trace lacks. */
#ifndef EPPROF_BRIDGES_ONNXRUNTIME_ORT_MISSING_H
#define EPPROF_BRIDGES_ONNXRUNTIME_ORT_MISSING_H

#include <pthread.h>

#include "ort.h"

#define ORT_MISSING_NAMES 16u
#define ORT_MISSING_NAME_BYTES 48u

/* Names, each once; as many as have room. */
struct ort_names {
	size_t count;
	char names[ORT_MISSING_NAMES][ORT_MISSING_NAME_BYTES];
};

/* Of one profiling. */
struct ort_missing {
	pthread_mutex_t lock;
	struct ort_names ran;   /* providers that ran nodes, without ONNX Runtime's own on the processor */
	struct ort_names gives; /* profilers whose events are in the trace, by their labels */
};

void ort_missing_init(struct ort_missing *missing);
/* A node ran on this provider.  Thread: [any-thread]; costs a comparison of texts for a name that is known. */
void ort_missing_ran(struct ort_missing *missing, const char *provider);
void ort_missing_gives(struct ort_missing *missing, const char *label);

/* The providers that ran nodes and whose events nobody gives.  A profiler need not have its provider's name: what is left of
 * both is compared by count, so none is missing if as many others give events. */
void ort_missing_find(struct ort_missing *missing, struct ort_names *found);

/* True for a name that was not asked for in this process before. */
bool ort_missing_is_new(const char *provider);

#endif

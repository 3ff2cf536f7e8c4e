/* An EP library that lacks one of its symbols. */
#include "epprof/abi/ort_ep_profiler.h"

__attribute__((visibility("default"))) OrtStatus *CreateEpFactories(void);

OrtStatus *CreateEpFactories(void)
{
	return NULL;
}

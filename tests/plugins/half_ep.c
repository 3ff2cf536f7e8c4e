/* An EP library of which one symbol is missing. */
#include "epprof/ort_ep_profiler.h"

__attribute__((visibility("default"))) OrtStatus *CreateEpFactories(void);

OrtStatus *CreateEpFactories(void)
{
	return NULL;
}

/* official_ep.c, compiled against epprof's header alone. */
#include "epprof/abi/ort_ep_profiler.h"

#define PLAIN_EP
#define EP_VERSION EPPROF_ORT_API_VERSION
#include "official_ep.c"

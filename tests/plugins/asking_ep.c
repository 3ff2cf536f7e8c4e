/* null_ep.c, with a profiler that also reads what the collector reads. */
#define EP_NAME "asking"
#define ASKING
#include "null_ep.c"

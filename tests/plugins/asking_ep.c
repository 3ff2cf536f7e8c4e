/* null_ep.c, asking. */
#define EP_NAME "asking"
#define ASKING
#include "null_ep.c"

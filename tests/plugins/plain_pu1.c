/* The scripted PU1 plugin without what the ABI leaves open. */
#define SCRIPTED_PU1_REQUIRED_ONLY
#include "scripted_pu1.c"

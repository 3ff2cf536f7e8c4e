/* The scripted PU1 plugin without the optional functions. */
#define SCRIPTED_PU1_REQUIRED_ONLY
#include "scripted_pu1.c"

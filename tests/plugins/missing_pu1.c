/* A PU1 plugin that lacks two of the functions. */
#define SCRIPTED_PU1_INCOMPLETE
#include "scripted_pu1.c"

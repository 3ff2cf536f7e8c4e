/* Finds NVIDIA's libcupti and opens it. */
#ifndef EPPROF_CUPTI_CUPTI_LIBRARY_H
#define EPPROF_CUPTI_CUPTI_LIBRARY_H

#include <stdbool.h>

#include "cupti/cupti_abi.h"

/* The version of CUDA 12.0. */
#define CUPTI_VERSION_MIN 18u

#define CUPTI_MESSAGE_BYTES 2048

/* Opens the library and fills `calls`.  Returns false if this fails; `message` then has the missing symbol or the
 * places that were searched.  The library is never closed.  If EPPROF_CUPTI is set, only this file is tried.  Otherwise
 * the library is searched in this order: among the libraries that the process has loaded; where the dynamic linker
 * searches; beside each loaded library in the folders that NVIDIA's packages have in site-packages; in /usr/local/cuda.
 * The working directory is never searched.  Thread: one at a time. */
bool cupti_library_open(struct cupti_calls *calls, char message[CUPTI_MESSAGE_BYTES]);

#endif

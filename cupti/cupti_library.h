/* Finds NVIDIA's libcupti and opens it. */
#ifndef EPPROF_CUPTI_CUPTI_LIBRARY_H
#define EPPROF_CUPTI_CUPTI_LIBRARY_H

#include <stdbool.h>

#include "cupti/cupti_abi.h"

/* That of CUDA 12.0. */
#define CUPTI_VERSION_MIN 18u

#define CUPTI_MESSAGE_BYTES 2048

/* Fills `calls`; false: `message` says what is missing and where it was searched.  The library is never closed.
 * It is searched, in this order: the file in EPPROF_CUPTI, and nowhere else if that is set; among the libraries that
 * the process has loaded; where the loader searches; beside each loaded library in the folders that NVIDIA's packages
 * have in site-packages; in /usr/local/cuda.  Never in the working directory.
 * Thread: one at a time. */
bool cupti_library_open(struct cupti_calls *calls, char message[CUPTI_MESSAGE_BYTES]);

#endif

/* Profiles the accelerator for plugins that return a serialised profile at the end: all commands between start and
 * stop. A process has one device and one profile. */
#ifndef EPPROF_EP_SAMPLE_ACCELERATOR_PROFILE_H
#define EPPROF_EP_SAMPLE_ACCELERATOR_PROFILE_H

#include <stddef.h>
#include <stdint.h>

/* Gives work to the device, as epp_sample_work (work.h) describes; creates the device if there is none yet. */
int accelerator_profile_work(int count);

/* Start and stop a profile; a start discards the previous profile, a stop waits for all queued commands.
 * Return NULL, or a static text that describes the error. */
const char *accelerator_profile_start(void);
const char *accelerator_profile_stop(void);

/* Get the last stopped profile as a serialised XSpace (for TensorFlow and JAX) or RunMetadata (for older versions of
 * TensorFlow).  Return its size in bytes, and write it if it fits into `room` bytes. */
size_t accelerator_profile_xspace(uint8_t *out, size_t room);
size_t accelerator_profile_run_metadata(uint8_t *out, size_t room);

#endif

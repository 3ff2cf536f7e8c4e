/* A profile of the accelerator, for plugins whose framework asks for it at the end: what was done between start and stop,
 * serialised.  One per process, as the device is. */
#ifndef EP_SAMPLE_ACCELERATOR_PROFILE_H
#define EP_SAMPLE_ACCELERATOR_PROFILE_H

#include <stddef.h>
#include <stdint.h>

/* Gives the device work, as epp_sample_work (work.h) says; makes the device, if it is not there yet. */
int accelerator_profile_work(int count);

/* Begins and ends a profile; beginning one forgets the one before.  Ending waits for what is queued.
 * Returns NULL, or what is wrong (static). */
const char *accelerator_profile_start(void);
const char *accelerator_profile_stop(void);

/* The profile that was ended last, as a serialised XSpace (what TensorFlow and JAX take) and as a serialised RunMetadata
 * (what TensorFlow took before).  Returns the bytes that there are, and writes them if `room` holds them all. */
size_t accelerator_profile_xspace(uint8_t *out, size_t room);
size_t accelerator_profile_run_metadata(uint8_t *out, size_t room);

#endif

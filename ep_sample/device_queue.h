/* The queues of a device of a real API: the functions of accelerator.h that queue commands and wait for them, above what
 * differs between OpenCL (opencl_ep.c) and Vulkan (vulkan_ep.c).
 *
 * No thread of its own waits for commands: a thread that waits for some, or finds a full queue, reads the times of those
 * that have ended and reports them.  A command is reported after those that its queue waited for, in other queues too. */
#ifndef EPPROF_EP_SAMPLE_DEVICE_QUEUE_H
#define EPPROF_EP_SAMPLE_DEVICE_QUEUE_H

#include <pthread.h>
#include <stdbool.h>

#include "ort_ep_device.h"

#define DEVICE_QUEUE_COMMANDS 256
#define DEVICE_KERNELS_COUNT (ACCELERATOR_SOFTMAX + 1)

/* A command that was queued and not reported. */
struct device_entry {
	uint64_t after[ACCELERATOR_STREAM_COUNT]; /* how many commands of each engine ended before it began */
	accelerator_completion completion;
};

struct device_engine {
	uint64_t submitted_count;
	uint64_t done_count;
	uint64_t after[ACCELERATOR_STREAM_COUNT]; /* of the next entry */
	struct device_entry entries[DEVICE_QUEUE_COMMANDS];
};

/* The first member of struct accelerator. */
struct device_queues {
	void (*completed)(void *user, const accelerator_completion *completion);
	void *user;
	pthread_mutex_t lock; /* guards the engines, and what the API's functions below use */
	struct device_engine engines[ACCELERATOR_STREAM_COUNT];
};

/* By accelerator_op. */
extern const char *const device_names[ACCELERATOR_OP_COUNT];

uint64_t device_monotonic_ns(void);
/* The command with this number, from 0, uses this place of its engine. */
static inline unsigned device_slot(uint64_t number)
{
	return (unsigned)(number % DEVICE_QUEUE_COMMANDS);
}

void device_queues_init(struct device_queues *queues, const accelerator_options *options);
void device_queues_deinit(struct device_queues *queues);

/* ---- what the API's file implements; the lock is held ---- */

size_t device_buffer_bytes(const accelerator_buffer *buffer);
/* Queues a valid command, which becomes the engine's number `submitted_count`, and starts it.  Returns false on
 * failure. */
bool device_enqueue(accelerator *device, accelerator_stream stream, const accelerator_command *command,
                    accelerator_completion *completion);
/* Waits until the first `count` commands of an engine, which were queued, have ended.  Releases the lock meanwhile. */
bool device_wait(accelerator *device, accelerator_stream stream, uint64_t count);
/* The next command of `stream` begins after an event that is not reached. */
bool device_wait_before_next(accelerator *device, accelerator_stream stream, accelerator_event event);
/* Sets the times of a command that has ended, and frees what belongs to it. */
void device_finish(accelerator *device, accelerator_stream stream, uint64_t number, accelerator_completion *completion);

#endif

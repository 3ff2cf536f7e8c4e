/* The queues of a device of a real API: the functions of accelerator.h that queue commands and wait for them, above
 * what differs between OpenCL (opencl_ep.c) and Vulkan (vulkan_ep.c).
 *
 * There is no thread that only waits for commands.  A thread of the host that waits for commands, or that finds a full
 * queue, reads the times of the commands that have ended and reports them.  If a command waited for commands of other
 * queues, it is reported after these. */
#ifndef EPPROF_EP_SAMPLE_DEVICE_QUEUE_H
#define EPPROF_EP_SAMPLE_DEVICE_QUEUE_H

#include <pthread.h>
#include <stdbool.h>

#include "ort_ep_device.h"

#define DEVICE_QUEUE_COMMANDS 256
#define DEVICE_KERNELS_COUNT (ACCELERATOR_SOFTMAX + 1)

/* A command that was queued and is not reported yet. */
struct device_entry {
	/* by engine: how many of its commands had ended before this command began */
	uint64_t after[ACCELERATOR_STREAM_COUNT];
	accelerator_completion completion;
};

struct device_engine {
	uint64_t submitted_count;
	uint64_t done_count;
	uint64_t after[ACCELERATOR_STREAM_COUNT]; /* the same, for the next command */
	struct device_entry entries[DEVICE_QUEUE_COMMANDS];
};

/* The first member of struct accelerator. */
struct device_queues {
	void (*completed)(void *user, const accelerator_completion *completion);
	void *user;
	pthread_mutex_t lock; /* guards the engines, and the state of the functions below */
	struct device_engine engines[ACCELERATOR_STREAM_COUNT];
};

/* Names of commands, by accelerator_op. */
extern const char *const device_names[ACCELERATOR_OP_COUNT];

uint64_t device_monotonic_ns(void);
/* Returns the index of the entry for a command in its engine.  Commands are numbered from 0. */
static inline unsigned device_slot(uint64_t number)
{
	return (unsigned)(number % DEVICE_QUEUE_COMMANDS);
}

void device_queues_init(struct device_queues *queues, const accelerator_options *options);
void device_queues_deinit(struct device_queues *queues);

/* ---- functions that the API's file implements; the caller holds the lock ---- */

size_t device_buffer_bytes(const accelerator_buffer *buffer);
/* Queues and starts a valid command, whose number is the engine's `submitted_count`.  Returns false on failure. */
bool device_enqueue(accelerator *device, accelerator_stream stream, const accelerator_command *command,
                    accelerator_completion *completion);
/* Waits until the first `count` commands of an engine, which have been queued, have ended.  The lock is released while
 * waiting. */
bool device_wait(accelerator *device, accelerator_stream stream, uint64_t count);
/* Makes the next command of `stream` begin after an event that has not been reached yet. */
bool device_wait_before_next(accelerator *device, accelerator_stream stream, accelerator_event event);
/* Sets the times of a command that has ended, and frees its objects. */
void device_finish(accelerator *device, accelerator_stream stream, uint64_t number, accelerator_completion *completion);

#endif

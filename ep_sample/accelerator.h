/* A software accelerator: the device of the sample EP.  It has its own memory and clock, and two compute streams and a
 * copy engine, which run in parallel; each executes its queue in order.  It really computes its results.
 *
 *   accelerator_create(NULL, &device);
 *   accelerator_submit(device, ACCELERATOR_COPY_ENGINE, &(accelerator_command){ .op = ACCELERATOR_COPY_IN, .out = x,
 *       .from_host = pixels, .bytes = sizeof(pixels), .tag = 7 }, &copied);
 *   accelerator_stream_wait(device, ACCELERATOR_STREAM_0, copied);
 *   accelerator_submit(device, ACCELERATOR_STREAM_0, &(accelerator_command){ .op = ACCELERATOR_RELU, .a = x, .out = x,
 *       .m = 64, .n = 64, .tag = 7 }, &done);
 *   accelerator_event_synchronise(device, done);
 *
 * The `completed` callback gets each finished command with its times and its tag, which is what a profiler needs.
 * If the environment has ACCELERATOR_LOG=file, the device also writes a log with a line for each command: its name, its
 * stream, and the ticks at which it began and ended.  Tests compare the events of profilers with this log. */
#ifndef EPPROF_EP_SAMPLE_ACCELERATOR_H
#define EPPROF_EP_SAMPLE_ACCELERATOR_H

#include <stddef.h>
#include <stdint.h>

#include "accelerator_clock.h"

typedef struct accelerator accelerator;
typedef struct accelerator_buffer accelerator_buffer;

typedef enum accelerator_result {
	ACCELERATOR_OK = 0,
	ACCELERATOR_BAD_ARGUMENT = 1,
	ACCELERATOR_OUT_OF_MEMORY = 2,
	ACCELERATOR_NO_THREAD = 3
} accelerator_result;

/* Ownership: static. */
const char *accelerator_result_text(accelerator_result result);

typedef enum accelerator_stream {
	ACCELERATOR_STREAM_0 = 0,
	ACCELERATOR_STREAM_1 = 1,
	ACCELERATOR_COPY_ENGINE = 2,
	ACCELERATOR_STREAM_COUNT = 3
} accelerator_stream;

typedef enum accelerator_op {
	ACCELERATOR_GEMM = 0,     /* out[m][n] = a[m][k] b[k][n]; out is neither a nor b */
	ACCELERATOR_BIAS = 1,     /* out[m][n] = a[m][n] + b[n] */
	ACCELERATOR_RELU = 2,     /* out[m][n] = max(a[m][n], 0) */
	ACCELERATOR_SOFTMAX = 3,  /* out[m][n] = softmax of each row of a */
	ACCELERATOR_COPY_IN = 4,  /* out = from_host, the first `bytes` of both */
	ACCELERATOR_COPY_OUT = 5, /* to_host = a, the first `bytes` of both */
	ACCELERATOR_FILL = 6,     /* the first `bytes` of out = 0 */
	ACCELERATOR_OP_COUNT = 7
} accelerator_op;

/* Work for a stream.  Matrices are row-major arrays of float.  Copies run on the copy engine, all other commands on the
 * compute streams.  The device keeps the buffers of queued commands alive; host memory must live until the command is
 * done. */
typedef struct accelerator_command {
	accelerator_op op;
	accelerator_buffer *a; /* only read */
	accelerator_buffer *b;
	accelerator_buffer *out;
	const void *from_host;
	void *to_host;
	size_t bytes;
	uint32_t m; /* each at most ACCELERATOR_MAX_SIDE */
	uint32_t n;
	uint32_t k;
	uint64_t tag; /* chosen by the caller, returned in the completion */
} accelerator_command;

#define ACCELERATOR_MAX_SIDE 65536

typedef struct accelerator_completion {
	const char *name; /* "gemm", "bias", "relu", "softmax", "copy_in", "copy_out", "fill"; static */
	accelerator_op op;
	accelerator_stream stream;
	uint64_t queue_ticks; /* when it was queued, in ticks of the device's clock */
	uint64_t start_ticks;
	uint64_t end_ticks;
	uint64_t early_ticks; /* by how much the device's driver reported the start before the submission, which start_ticks
	                         then is; 0: it did not.  The software accelerator never does. */
	/* Readings of CLOCK_MONOTONIC before the start and after the end, by which tests judge the times; 0: none. */
	uint64_t true_before_ns;
	uint64_t true_after_ns;
	uint64_t flops; /* 0 for a copy */
	uint64_t bytes; /* read and written by a kernel, moved by a copy, filled */
	uint32_t m;     /* 0 if the command does not use it */
	uint32_t n;
	uint32_t k;
	uint64_t tag;
} accelerator_completion;

typedef struct accelerator_options {
	accelerator_clock_options clock;
	/* Called when a command is done, on its stream's thread, before threads that wait for the command continue.  Of
	 * this header it may call only accelerator_now and accelerator_buffer_release.  May be NULL. */
	void (*completed)(void *user, const accelerator_completion *completion);
	void *user;
} accelerator_options;

/* Creates a device; `options` NULL: ACCELERATOR_CLOCK_DEFAULT, no callback.  `*device` is NULL on failure.
 * Ownership: options are copied; the caller destroys the device. */
accelerator_result accelerator_create(const accelerator_options *options, accelerator **device);

/* Waits for all queued commands, ends the threads and frees the device; NULL does nothing. */
void accelerator_destroy(accelerator *device);

/* Returns the present ticks of the device's clock.  Thread: [any-thread]. */
uint64_t accelerator_now(const accelerator *device);

/* Allocates zeroed memory of a device.  It may be released as soon as the last command that uses it is queued, and is
 * freed when that command is done; releasing NULL does nothing.  Thread: [any-thread]. */
accelerator_result accelerator_buffer_create(size_t bytes, accelerator_buffer **buffer);
void accelerator_buffer_release(accelerator_buffer *buffer);

/* A point in a stream.  It is reached when all commands that were queued there before it are done.  A zeroed event is a
 * point that was reached already. */
typedef struct accelerator_event {
	accelerator_stream stream;
	uint64_t commands_count;
} accelerator_event;

/* Queues a command and sets `done` (may be NULL) to the point after it.  Blocks while the stream's queue is full.
 * Errors: ACCELERATOR_BAD_ARGUMENT, also if a buffer is too small or the stream cannot run this command.
 * Thread: [any-thread], here and below; the command is copied. */
accelerator_result accelerator_submit(accelerator *device, accelerator_stream stream,
                                      const accelerator_command *command, accelerator_event *done);

/* Commands that are queued on `stream` after this call start after `event` is reached.  The commands before `event`
 * must be queued already, else it is a bad argument: so streams cannot wait for each other in a circle. */
accelerator_result accelerator_stream_wait(accelerator *device, accelerator_stream stream, accelerator_event event);

/* Block until the commands before the event, all queued commands of the stream, or all of the device are done and
 * reported. */
accelerator_result accelerator_event_synchronise(accelerator *device, accelerator_event event);
accelerator_result accelerator_stream_synchronise(accelerator *device, accelerator_stream stream);
accelerator_result accelerator_synchronise(accelerator *device);

#endif

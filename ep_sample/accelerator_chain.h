/* A chain of kernels on the accelerator, from host memory to host memory: a copy in, the kernels, each on what the one
 * before it left, a copy out.  What else the kernels need lies on the device already. */
#ifndef EP_SAMPLE_ACCELERATOR_CHAIN_H
#define EP_SAMPLE_ACCELERATOR_CHAIN_H

#include "accelerator.h"

/* Its matrix has as many rows as `columns` go into what it is given. */
typedef struct accelerator_kernel {
	accelerator_op op;           /* not a copy */
	accelerator_buffer *weights; /* gemm: [columns][outputs]; bias: [columns]; else NULL */
	uint32_t columns;
	uint32_t outputs; /* gemm; else it is `columns` */
} accelerator_kernel;

typedef struct accelerator_chain {
	const accelerator_kernel *kernels;
	size_t kernels_count;      /* 1 or more */
	accelerator_stream stream; /* where they run: 0 or 1 */
	const float *x;
	size_t x_count; /* values in x */
	float *y;       /* as many values as accelerator_chain_y_count says; may be x */
	uint64_t tag;   /* of each command */
} accelerator_chain;

/* How many values the chain leaves; 0 if the kernels do not fit each other, x, or the device. */
size_t accelerator_chain_y_count(const accelerator_chain *chain);

/* Queues the chain; its last command is the copy out, and `done` the point behind it.  On failure nothing of it is under
 * way when this returns, though copies in may have been done.
 * Thread: [any-thread].  Ownership: x and y must live until `done`; kernels are copied, and the weights kept. */
accelerator_result accelerator_chain_submit(accelerator *device, const accelerator_chain *chain, accelerator_event *done);

/* Makes a buffer and queues the copy of `values` into it; `copied` (may be NULL) becomes the point behind that.  A chain that
 * is submitted from now on may use the buffer: its own copy in is behind this one.
 * Thread: [any-thread].  Ownership: the values must live until `copied`; the caller releases the buffer, which is NULL on
 * failure. */
accelerator_result accelerator_upload(accelerator *device, const float *values, size_t values_count, uint64_t tag,
                                      accelerator_buffer **buffer, accelerator_event *copied);

#endif

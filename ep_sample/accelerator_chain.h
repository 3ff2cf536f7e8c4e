/* Runs a chain of kernels on the accelerator, from host memory to host memory: a copy in, the kernels, each on the
 * result of the previous one, and a copy out.  The weights are on the device already. */
#ifndef EPPROF_EP_SAMPLE_ACCELERATOR_CHAIN_H
#define EPPROF_EP_SAMPLE_ACCELERATOR_CHAIN_H

#include "accelerator.h"

/* The input matrix has `columns` columns; its number of rows follows from the number of values. */
typedef struct accelerator_kernel {
	accelerator_op op;           /* not a copy */
	accelerator_buffer *weights; /* gemm: [columns][outputs]; bias: [columns]; else NULL */
	uint32_t columns;
	uint32_t outputs; /* gemm only; for other kernels the result has `columns` columns */
} accelerator_kernel;

typedef struct accelerator_chain {
	const accelerator_kernel *kernels;
	size_t kernels_count;      /* 1 or more */
	accelerator_stream stream; /* where they run: 0 or 1 */
	const float *x;
	size_t x_count; /* values in x */
	float *y;       /* accelerator_chain_y_count values; may be x */
	uint64_t tag;   /* of each command */
} accelerator_chain;

/* Returns the number of values of the result; 0 if the sizes of the kernels do not fit each other, x or the device. */
size_t accelerator_chain_y_count(const accelerator_chain *chain);

/* Queues the chain and sets `done` to the point after its last command, the copy out.  After a failure none of its
 * commands is queued or running any more; copies in may have been done.
 * Thread: [any-thread].  Ownership: x and y must live until `done`; kernels are copied, and their weights are kept alive
 * until then. */
accelerator_result accelerator_chain_submit(accelerator *device, const accelerator_chain *chain, accelerator_event *done);

/* Creates a buffer, queues the copy of `values` into it, and sets `copied` (may be NULL) to the point after the copy.
 * Chains that are submitted later may use the buffer, because their copies in are queued after this one.
 * Thread: [any-thread].  Ownership: the values must live until `copied`; the caller releases the buffer, which is NULL
 * on failure. */
accelerator_result accelerator_upload(accelerator *device, const float *values, size_t values_count, uint64_t tag,
                                      accelerator_buffer **buffer, accelerator_event *copied);

#endif

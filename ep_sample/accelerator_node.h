/* Runs one node of a model on the accelerator, from host memory to host memory: copies in, a kernel, a copy out. */
#ifndef EPPROF_EP_SAMPLE_ACCELERATOR_NODE_H
#define EPPROF_EP_SAMPLE_ACCELERATOR_NODE_H

#include "accelerator.h"

/* Matrices are row-major arrays of float. */
typedef struct accelerator_node {
	accelerator_op op;         /* a kernel, not a copy */
	accelerator_stream stream; /* where the kernel runs: 0 or 1 */
	const float *x;            /* [rows][columns] */
	const float *weights;      /* gemm: [columns][outputs]; bias: [columns]; else unused */
	float *y;                  /* [rows][outputs]; may be x */
	uint32_t rows;
	uint32_t columns;
	uint32_t outputs; /* gemm only; for other kernels the result has `columns` columns */
	uint64_t tag;     /* of each command */
} accelerator_node;

/* Queues the node and sets `done` to the point after its last command, the copy out.  After a failure none of its
 * commands is queued or running any more; copies in may have been done.
 * Thread: [any-thread].  Ownership: the matrices must live until `done`. */
accelerator_result accelerator_node_submit(accelerator *device, const accelerator_node *node, accelerator_event *done);

#endif

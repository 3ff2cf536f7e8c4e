/* One node of a model on the accelerator, from host memory to host memory: copies in, a kernel, a copy out. */
#ifndef EP_SAMPLE_ACCELERATOR_NODE_H
#define EP_SAMPLE_ACCELERATOR_NODE_H

#include "accelerator.h"

/* Matrices of float, rows one after another. */
typedef struct accelerator_node {
	accelerator_op op;         /* a kernel, not a copy */
	accelerator_stream stream; /* where the kernel runs: 0 or 1 */
	const float *x;            /* [rows][columns] */
	const float *weights;      /* gemm: [columns][outputs]; bias: [columns]; else unused */
	float *y;                  /* [rows][outputs]; may be x */
	uint32_t rows;
	uint32_t columns;
	uint32_t outputs; /* gemm; else it is `columns` */
	uint64_t tag;     /* of each command */
} accelerator_node;

/* Queues the node; its last command is the copy out, and `done` the point behind it.  On failure nothing of it is under
 * way when this returns, though copies in may have been done.
 * Thread: [any-thread].  Ownership: the matrices must live until `done`. */
accelerator_result accelerator_node_submit(accelerator *device, const accelerator_node *node, accelerator_event *done);

#endif

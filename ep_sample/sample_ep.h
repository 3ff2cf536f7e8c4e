/* Functions that the sample EP (libsample_ort_ep.so) exports in addition to CreateEpFactories and ReleaseEpFactory, so
 * that hosts without a graph can compute too.  A host finds the functions by name, with epp_plugin_symbol.
 *
 * Environment, read when the first factory is made:
 *   ACCELERATOR_...              the device's clock, see accelerator_clock_options_read
 *   SAMPLE_EP_LATE_MS            a number: the device reports each command that many milliseconds after its end
 *   SAMPLE_EP_DURATIONS_ONLY     set: the device counts the cycles of each command and has no clock that can be read
 *   SAMPLE_EP_GRAPHS             set: the kernels of a fused node, or of epp_sample_work, are one captured graph, and each
 *                                launch of them is a replay
 *   SAMPLE_EP_DETAILS            set: records arrows from copies to the kernels that use them, and a counter of launches
 *   SAMPLE_EP_LEAVE_RUNNING      set: sample_ep_run returns when the work is queued, not when it is done
 */
#ifndef EPPROF_EP_SAMPLE_SAMPLE_EP_H
#define EPPROF_EP_SAMPLE_SAMPLE_EP_H

#include <stdint.h>

#include "epprof/status.h"

/* One node of a model, as an EP's Compute gets it.  Matrices are row-major arrays of float. */
typedef struct sample_ep_node {
	const char *op_type;  /* "MatMul", "Add", "Relu" or "Softmax" */
	const float *x;       /* [rows][columns] */
	const float *weights; /* MatMul: [columns][outputs]; Add: [columns]; else unused */
	float *y;             /* [rows][outputs]; may be x */
	uint32_t rows;
	uint32_t columns;
	uint32_t outputs; /* only for MatMul; for other ops the result has `columns` columns */
	uint32_t stream;  /* the compute stream to use: 0 or 1 */
} sample_ep_node;

/* Runs a node: copies in, computes, copies out, and waits for the result, unless SAMPLE_EP_LEAVE_RUNNING is set.  In
 * each session that profiles this EP, the parent of the device events is the host event that is open on the calling
 * thread.  Returns NULL, or a static text that describes the error.
 * Thread: [any-thread], while the plugin is loaded.  Ownership: the arrays must live until the work is done. */
EPP_EXPORT const char *sample_ep_run(const sample_ep_node *node);
typedef const char *(*sample_ep_run_fn)(const sample_ep_node *node);

/* Waits until all work queued so far is done.
 * Thread: as sample_ep_run. */
EPP_EXPORT void sample_ep_synchronise(void);
typedef void (*sample_ep_synchronise_fn)(void);

#endif

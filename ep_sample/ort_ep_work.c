/* Gives work to the device without a model (work.h): one launch, whose address is the tag of all its commands. */
#include "ort_ep_launch.h"
#include "work.h"

#define SIDE 64
/* The number of the graph; those of models follow. */
#define WORK_GRAPH 1

static accelerator_result kernels_run(accelerator *device, accelerator_buffer *const *matrices, int count, uint64_t tag)
{
	accelerator_result result = ACCELERATOR_OK;
	for (int i = 0; i < count && !result; i++) {
		accelerator_buffer *matrix = matrices[i % 2];
		const accelerator_command relu = {
			.op = ACCELERATOR_RELU, .a = matrix, .out = matrix, .m = SIDE, .n = SIDE, .tag = tag
		};
		result = accelerator_submit(device, i % 2 ? ACCELERATOR_STREAM_1 : ACCELERATOR_STREAM_0, &relu, NULL);
	}
	accelerator_synchronise(device);
	return result;
}

int epp_sample_work(int count)
{
	accelerator *device = sample_device();
	accelerator_buffer *matrices[2] = { NULL, NULL }; /* one for each stream, because the streams run in parallel */
	if (!device)
		return -1;
	accelerator_result result = accelerator_buffer_create(SIDE * SIDE * sizeof(float), &matrices[0]);
	if (!result)
		result = accelerator_buffer_create(SIDE * SIDE * sizeof(float), &matrices[1]);
	struct sample_launch *launch = result ? NULL : sample_launch_begin(NULL, WORK_GRAPH, true);
	if (launch) {
		result = kernels_run(device, matrices, count, (uintptr_t)launch);
		sample_launch_end(launch);
	} else if (!result) {
		result = ACCELERATOR_OUT_OF_MEMORY;
	}
	accelerator_buffer_release(matrices[0]);
	accelerator_buffer_release(matrices[1]);
	return (int)result;
}

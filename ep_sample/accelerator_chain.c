/* Queues the commands of a chain.  It creates buffers and releases them at once, because the device keeps a buffer
 * until the commands that use it are done.  Events set the order: the first kernel waits for the last copy in, the copy
 * out for the last kernel. */
#include "accelerator_chain.h"

#define TRY(expression) \
	do { \
		accelerator_result result_ = (expression); \
		if (result_) \
			return result_; \
	} while (0)

static uint32_t kernel_outputs(const accelerator_kernel *kernel)
{
	return kernel->op == ACCELERATOR_GEMM ? kernel->outputs : kernel->columns;
}

/* Returns the number of rows of a kernel's matrix; 0 if the device does not accept the matrix. */
static uint32_t kernel_rows(const accelerator_kernel *kernel, size_t values_count)
{
	size_t columns = kernel->columns;
	if (columns == 0 || columns > ACCELERATOR_MAX_SIDE || kernel_outputs(kernel) > ACCELERATOR_MAX_SIDE ||
	    values_count % columns != 0 || values_count / columns > ACCELERATOR_MAX_SIDE)
		return 0;
	return (uint32_t)(values_count / columns);
}

size_t accelerator_chain_y_count(const accelerator_chain *chain)
{
	size_t values_count = chain->x_count;
	for (size_t i = 0; i < chain->kernels_count; i++)
		values_count = (size_t)kernel_rows(&chain->kernels[i], values_count) * kernel_outputs(&chain->kernels[i]);
	return values_count;
}

accelerator_result accelerator_upload(accelerator *device, const float *values, size_t values_count, uint64_t tag,
                                      accelerator_buffer **buffer, accelerator_event *copied)
{
	accelerator_command command = { .op = ACCELERATOR_COPY_IN, .from_host = values, .tag = tag };
	command.bytes = values_count * sizeof(float);
	TRY(accelerator_buffer_create(command.bytes, buffer));
	command.out = *buffer;
	accelerator_result result = accelerator_submit(device, ACCELERATOR_COPY_ENGINE, &command, copied);
	if (result) {
		accelerator_buffer_release(*buffer);
		*buffer = NULL;
	}
	return result;
}

/* Queues one kernel, and sets *values to its result. */
static accelerator_result kernel_submit(accelerator *device, const accelerator_chain *chain,
                                        const accelerator_kernel *kernel, accelerator_buffer **values,
                                        size_t *values_count, accelerator_event *computed)
{
	accelerator_command command = { .op = kernel->op, .a = *values, .b = kernel->weights, .out = *values };
	command.m = kernel_rows(kernel, *values_count);
	command.n = kernel_outputs(kernel);
	command.k = kernel->columns;
	command.tag = chain->tag;
	*values_count = (size_t)command.m * command.n;
	if (kernel->op != ACCELERATOR_GEMM) /* in place */
		return accelerator_submit(device, chain->stream, &command, computed);
	TRY(accelerator_buffer_create(*values_count * sizeof(float), &command.out));
	*values = command.out;
	accelerator_result result = accelerator_submit(device, chain->stream, &command, computed);
	accelerator_buffer_release(command.a);
	return result;
}

static accelerator_result submit(accelerator *device, const accelerator_chain *chain, accelerator_buffer **values,
                                 accelerator_event *done)
{
	size_t values_count = chain->x_count;
	accelerator_event point;
	TRY(accelerator_upload(device, chain->x, values_count, chain->tag, values, &point));
	TRY(accelerator_stream_wait(device, chain->stream, point));
	for (size_t i = 0; i < chain->kernels_count; i++)
		TRY(kernel_submit(device, chain, &chain->kernels[i], values, &values_count, &point));
	TRY(accelerator_stream_wait(device, ACCELERATOR_COPY_ENGINE, point));
	accelerator_command copy_out = { .op = ACCELERATOR_COPY_OUT, .a = *values, .to_host = chain->y };
	copy_out.bytes = values_count * sizeof(float);
	copy_out.tag = chain->tag;
	return accelerator_submit(device, ACCELERATOR_COPY_ENGINE, &copy_out, done);
}

accelerator_result accelerator_chain_submit(accelerator *device, const accelerator_chain *chain, accelerator_event *done)
{
	if (device == NULL || chain == NULL || done == NULL || chain->y == NULL || chain->kernels_count == 0 ||
	    accelerator_chain_y_count(chain) == 0)
		return ACCELERATOR_BAD_ARGUMENT;
	accelerator_buffer *values = NULL;
	accelerator_result result = submit(device, chain, &values, done);
	if (result)
		accelerator_synchronise(device);
	accelerator_buffer_release(values);
	return result;
}

/* The arithmetic of the accelerator, in simple loops over rows.  Commands were checked before, so sizes are not checked
 * here; a matrix has at most 2^16 rows and columns, so products of sizes fit into 64 bits. */
#include "accelerator_ops.h"

#include <math.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct accelerator_buffer {
	atomic_uint owners_count; /* its creator and each queued command */
	size_t bytes;
	alignas(64) float values[];
};

accelerator_result accelerator_buffer_create(size_t bytes, accelerator_buffer **buffer)
{
	if (buffer == NULL)
		return ACCELERATOR_BAD_ARGUMENT;
	*buffer = NULL;
	if (bytes == 0 || bytes > PTRDIFF_MAX - 2 * sizeof(accelerator_buffer))
		return ACCELERATOR_BAD_ARGUMENT;
	size_t whole_bytes = (sizeof(accelerator_buffer) + bytes + 63) / 64 * 64;
	*buffer = aligned_alloc(64, whole_bytes);
	if (*buffer == NULL)
		return ACCELERATOR_OUT_OF_MEMORY;
	memset(*buffer, 0, whole_bytes);
	(*buffer)->bytes = bytes;
	(*buffer)->owners_count = 1;
	return ACCELERATOR_OK;
}

void accelerator_buffer_release(accelerator_buffer *buffer)
{
	if (buffer && --buffer->owners_count == 0)
		free(buffer);
}

static void buffer_keep(accelerator_buffer *buffer)
{
	if (buffer)
		buffer->owners_count++;
}

void accelerator_command_keep(const accelerator_command *command)
{
	buffer_keep(command->a);
	buffer_keep(command->b);
	buffer_keep(command->out);
}

void accelerator_command_forget(const accelerator_command *command)
{
	accelerator_buffer_release(command->a);
	accelerator_buffer_release(command->b);
	accelerator_buffer_release(command->out);
}

static void gemm(const accelerator_command *command)
{
	const float *a = command->a->values;
	float *out = command->out->values;
	for (size_t row = 0; row < command->m; row++, a += command->k, out += command->n) {
		memset(out, 0, command->n * sizeof(*out));
		for (size_t inner = 0; inner < command->k; inner++) {
			const float *b = command->b->values + inner * command->n;
			for (size_t column = 0; column < command->n; column++)
				out[column] += a[inner] * b[column];
		}
	}
}

static void bias(const accelerator_command *command)
{
	const float *a = command->a->values;
	const float *b = command->b->values;
	float *out = command->out->values;
	for (size_t row = 0; row < command->m; row++, a += command->n, out += command->n) {
		for (size_t column = 0; column < command->n; column++)
			out[column] = a[column] + b[column];
	}
}

static void relu(const accelerator_command *command)
{
	const float *a = command->a->values;
	float *out = command->out->values;
	for (size_t i = 0; i < (size_t)command->m * command->n; i++)
		out[i] = a[i] > 0 ? a[i] : 0;
}

static void softmax(const accelerator_command *command)
{
	const float *a = command->a->values;
	float *out = command->out->values;
	for (size_t row = 0; row < command->m; row++, a += command->n, out += command->n) {
		/* Relative to the largest value, because expf would overflow otherwise. */
		float largest = a[0];
		for (size_t column = 1; column < command->n; column++)
			largest = fmaxf(largest, a[column]);
		float sum = 0;
		for (size_t column = 0; column < command->n; column++)
			sum += out[column] = expf(a[column] - largest);
		for (size_t column = 0; column < command->n; column++)
			out[column] /= sum;
	}
}

static void copy_in(const accelerator_command *command)
{
	memcpy(command->out->values, command->from_host, command->bytes);
}

static void copy_out(const accelerator_command *command)
{
	memcpy(command->to_host, command->a->values, command->bytes);
}

static void fill(const accelerator_command *command)
{
	memset(command->out->values, 0, command->bytes);
}

static const struct op {
	const char *name;
	void (*run)(const accelerator_command *command);
	unsigned flops_per_value; /* of a, or of a and each column of b */
	bool is_copy;
} ops[ACCELERATOR_OP_COUNT] = {
	[ACCELERATOR_GEMM] = { "gemm", gemm, 2, false },
	[ACCELERATOR_BIAS] = { "bias", bias, 1, false },
	[ACCELERATOR_RELU] = { "relu", relu, 1, false },
	[ACCELERATOR_SOFTMAX] = { "softmax", softmax, 4, false },
	[ACCELERATOR_COPY_IN] = { "copy_in", copy_in, 0, true },
	[ACCELERATOR_COPY_OUT] = { "copy_out", copy_out, 0, true },
	[ACCELERATOR_FILL] = { "fill", fill, 0, false },
};

static bool has_values(const accelerator_buffer *buffer, uint64_t values_count)
{
	return buffer != NULL && buffer->bytes / sizeof(float) >= values_count;
}

bool accelerator_command_valid(const accelerator_command *command, accelerator_stream stream)
{
	if ((unsigned)command->op >= ACCELERATOR_OP_COUNT ||
	    ops[command->op].is_copy != (stream == ACCELERATOR_COPY_ENGINE))
		return false;
	if (command->op == ACCELERATOR_COPY_IN)
		return command->from_host != NULL && command->out != NULL && command->bytes <= command->out->bytes;
	if (command->op == ACCELERATOR_COPY_OUT)
		return command->to_host != NULL && command->a != NULL && command->bytes <= command->a->bytes;
	if (command->op == ACCELERATOR_FILL)
		return command->out != NULL && command->bytes <= command->out->bytes;

	uint64_t m = command->m;
	uint64_t n = command->n;
	uint64_t k = command->k;
	if (m < 1 || n < 1 || m > ACCELERATOR_MAX_SIDE || n > ACCELERATOR_MAX_SIDE || !has_values(command->out, m * n))
		return false;
	if (command->op == ACCELERATOR_GEMM)
		return k >= 1 && k <= ACCELERATOR_MAX_SIDE && has_values(command->a, m * k) &&
		       has_values(command->b, k * n) && command->out != command->a && command->out != command->b;
	return has_values(command->a, m * n) && (command->op != ACCELERATOR_BIAS || has_values(command->b, n));
}

void accelerator_command_run(const accelerator_command *command)
{
	ops[command->op].run(command);
}

accelerator_completion accelerator_command_describe(const accelerator_command *command)
{
	const struct op *op = &ops[command->op];
	accelerator_completion completion = { .name = op->name, .op = command->op, .tag = command->tag };
	if (op->is_copy || command->op == ACCELERATOR_FILL) {
		completion.bytes = command->bytes;
		return completion;
	}
	uint64_t m = command->m;
	uint64_t n = command->n;
	uint64_t k = command->op == ACCELERATOR_GEMM ? command->k : 0;
	completion.m = command->m;
	completion.n = command->n;
	completion.k = (uint32_t)k;
	completion.flops = m * n * (k ? k : 1) * op->flops_per_value;
	switch (command->op) {
	case ACCELERATOR_GEMM:
		completion.bytes = sizeof(float) * (m * k + k * n + m * n);
		break;
	case ACCELERATOR_BIAS:
		completion.bytes = sizeof(float) * (m * n + n + m * n);
		break;
	default:
		completion.bytes = sizeof(float) * (m * n + m * n);
	}
	return completion;
}

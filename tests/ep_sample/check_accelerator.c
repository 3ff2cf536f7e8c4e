/* The sample's accelerator: arithmetic against plain loops, order and dependencies of streams, bad arguments, several
 * threads.  Covers ep_sample/accelerator.c, accelerator_chain.c, accelerator_node.c, accelerator_ops.c. */
#include "tests/support/check.h"

#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "ep_sample/accelerator_chain.h"
#include "ep_sample/accelerator_node.h"

#define REPORTS_COUNT 4096

/* What the device reported, in order; a copy in with tag GATED waits in its report until the gate opens. */
#define GATED UINT64_MAX
static pthread_mutex_t reports_lock = PTHREAD_MUTEX_INITIALIZER;
static accelerator_completion reports[REPORTS_COUNT];
static size_t reports_count;
static sem_t gate;

static void keep_report(void *user, const accelerator_completion *completion)
{
	(void)user;
	if (completion->tag == GATED)
		sem_wait(&gate);
	pthread_mutex_lock(&reports_lock);
	ck_assert_uint_lt(reports_count, REPORTS_COUNT);
	reports[reports_count++] = *completion;
	pthread_mutex_unlock(&reports_lock);
}

static size_t reports_so_far(void)
{
	pthread_mutex_lock(&reports_lock);
	size_t count = reports_count;
	pthread_mutex_unlock(&reports_lock);
	return count;
}

static const accelerator_completion *report_of(uint64_t tag)
{
	for (size_t i = 0; i < reports_count; i++)
		if (reports[i].tag == tag)
			return &reports[i];
	ck_abort_msg("tag %llu was not reported", (unsigned long long)tag);
	return NULL;
}

static accelerator *device;

static void open_device(void)
{
	accelerator_options options = { .clock = ACCELERATOR_CLOCK_DEFAULT, .completed = keep_report };
	reports_count = 0;
	sem_init(&gate, 0, 0);
	ck_assert_int_eq(accelerator_create(&options, &device), ACCELERATOR_OK);
}

static void close_device(void)
{
	accelerator_destroy(device);
	sem_destroy(&gate);
}

static accelerator_buffer *buffer_of(size_t values_count)
{
	accelerator_buffer *buffer;
	ck_assert_int_eq(accelerator_buffer_create(values_count * sizeof(float), &buffer), ACCELERATOR_OK);
	return buffer;
}

static void fill(float *values, size_t count, unsigned seed)
{
	for (size_t i = 0; i < count; i++) {
		seed = seed * 1664525 + 1013904223;
		values[i] = (float)(int32_t)seed / 1e9f;
	}
}

static void run_node(accelerator_op op, const float *x, const float *weights, float *y, uint32_t rows, uint32_t columns,
                     uint32_t outputs)
{
	accelerator_node node = { .op = op, .x = x, .weights = weights, .y = y, .rows = rows };
	node.columns = columns;
	node.outputs = outputs;
	accelerator_event done;
	ck_assert_int_eq(accelerator_node_submit(device, &node, &done), ACCELERATOR_OK);
	ck_assert_int_eq(accelerator_event_synchronise(device, done), ACCELERATOR_OK);
}

/* ---- arithmetic ---- */

START_TEST(gemm_and_bias_match_plain_loops)
{
	enum { M = 7, K = 13, N = 5 };
	float x[M * K], w[K * N], b[N], y[M * N];
	fill(x, M * K, 1);
	fill(w, K * N, 2);
	fill(b, N, 3);
	run_node(ACCELERATOR_GEMM, x, w, y, M, K, N);
	for (size_t i = 0; i < M; i++)
		for (size_t j = 0; j < N; j++) {
			double sum = 0;
			for (size_t k = 0; k < K; k++)
				sum += (double)x[i * K + k] * w[k * N + j];
			ck_assert_float_eq_tol(y[i * N + j], (float)sum, 1e-4f);
		}
	float before[M * N];
	memcpy(before, y, sizeof(y));
	run_node(ACCELERATOR_BIAS, y, b, y, M, N, 0); /* in place */
	for (size_t i = 0; i < M * N; i++)
		ck_assert_float_eq(y[i], before[i] + b[i % N]);

	ck_assert_uint_eq(reports_count, 8);
	const accelerator_completion *gemm = &reports[2];
	ck_assert_str_eq(gemm->name, "gemm");
	ck_assert_uint_eq(gemm->m, M);
	ck_assert_uint_eq(gemm->n, N);
	ck_assert_uint_eq(gemm->k, K);
	ck_assert_uint_eq(gemm->flops, 2 * M * N * K);
	ck_assert_uint_eq(gemm->bytes, sizeof(float) * (M * K + K * N + M * N));
	ck_assert_str_eq(reports[3].name, "copy_out");
	ck_assert_uint_eq(reports[3].bytes, sizeof(y));
	ck_assert_uint_eq(reports[3].flops + reports[3].m + reports[3].n + reports[3].k, 0);
}
END_TEST

START_TEST(relu_and_softmax_match_plain_loops)
{
	enum { M = 3, N = 11 };
	float x[M * N], y[M * N];
	fill(x, M * N, 4);
	run_node(ACCELERATOR_RELU, x, NULL, y, M, N, 0);
	bool saw_negative = false;
	for (size_t i = 0; i < M * N; i++) {
		saw_negative = saw_negative || x[i] < 0;
		ck_assert_float_eq(y[i], x[i] < 0 ? 0 : x[i]);
	}
	ck_assert(saw_negative);

	x[0] = 1000; /* expf of it is infinite */
	run_node(ACCELERATOR_SOFTMAX, x, NULL, y, M, N, 0);
	ck_assert_float_eq(y[0], 1);
	for (size_t row = 1; row < M; row++) {
		double sum = 0;
		for (size_t i = 0; i < N; i++)
			sum += exp(x[row * N + i]);
		for (size_t i = 0; i < N; i++)
			ck_assert_float_eq_tol(y[row * N + i], (float)(exp(x[row * N + i]) / sum), 1e-6f);
	}
}
END_TEST

START_TEST(a_bad_node_leaves_nothing_under_way)
{
	float x[4] = { 1, 2, 3, 4 }, y[4];
	const accelerator_node good = {
		.op = ACCELERATOR_GEMM, .x = x, .weights = x, .y = y, .rows = 2, .columns = 2, .outputs = 2
	};
	accelerator_node bad[11];
	for (size_t i = 0; i < 11; i++)
		bad[i] = good;
	bad[0].x = NULL;
	bad[1].weights = NULL;
	bad[2].y = NULL;
	bad[3].rows = 0;
	bad[4].columns = 0;
	bad[5].outputs = 0;
	bad[6].rows = ACCELERATOR_MAX_SIDE + 1;
	bad[7].op = ACCELERATOR_COPY_IN;
	bad[8].op = (accelerator_op)-1;
	bad[9].stream = ACCELERATOR_COPY_ENGINE;
	bad[10].stream = (accelerator_stream)-1;
	accelerator_event done;
	for (size_t i = 0; i < 11; i++) {
		ck_assert_int_eq(accelerator_node_submit(device, &bad[i], &done), ACCELERATOR_BAD_ARGUMENT);
		size_t count = reports_so_far();
		ck_assert_int_eq(accelerator_synchronise(device), ACCELERATOR_OK);
		ck_assert_uint_eq(reports_so_far(), count);
	}
	ck_assert_int_eq(accelerator_node_submit(NULL, &good, &done), ACCELERATOR_BAD_ARGUMENT);
	ck_assert_int_eq(accelerator_node_submit(device, NULL, &done), ACCELERATOR_BAD_ARGUMENT);
	ck_assert_int_eq(accelerator_node_submit(device, &good, NULL), ACCELERATOR_BAD_ARGUMENT);
	ck_assert_int_eq(accelerator_node_submit(device, &good, &done), ACCELERATOR_OK);
	ck_assert_int_eq(accelerator_event_synchronise(device, done), ACCELERATOR_OK);
}
END_TEST

/* Weights that stay, kernels of other shapes one after another, and what is not a chain. */
START_TEST(a_chain_is_its_kernels_one_by_one)
{
	enum { ROWS = 6, COLUMNS = 4, OUTPUTS = 3 };
	float x[ROWS * COLUMNS], w[COLUMNS * OUTPUTS], b[2 * OUTPUTS], wanted[ROWS * OUTPUTS], y[ROWS * OUTPUTS];
	fill(x, ROWS * COLUMNS, 1);
	fill(w, COLUMNS * OUTPUTS, 2);
	fill(b, 2 * OUTPUTS, 3);
	run_node(ACCELERATOR_GEMM, x, w, wanted, ROWS, COLUMNS, OUTPUTS);
	run_node(ACCELERATOR_BIAS, wanted, b, wanted, ROWS / 2, 2 * OUTPUTS, 0);
	run_node(ACCELERATOR_RELU, wanted, NULL, wanted, ROWS, OUTPUTS, 0);

	accelerator_kernel kernels[3] = {
		{ .op = ACCELERATOR_GEMM, .columns = COLUMNS, .outputs = OUTPUTS },
		{ .op = ACCELERATOR_BIAS, .columns = 2 * OUTPUTS },
		{ .op = ACCELERATOR_RELU, .columns = OUTPUTS },
	};
	ck_assert_int_eq(accelerator_upload(device, w, COLUMNS * OUTPUTS, 0, &kernels[0].weights, NULL), ACCELERATOR_OK);
	ck_assert_int_eq(accelerator_upload(device, b, 2 * OUTPUTS, 0, &kernels[1].weights, NULL), ACCELERATOR_OK);
	accelerator_chain chain = { .kernels = kernels, .kernels_count = 3, .x = x, .x_count = ROWS * COLUMNS, .y = y };
	chain.tag = 5;
	accelerator_event done;
	for (int times = 0; times < 2; times++) {
		size_t count = reports_so_far();
		memset(y, 0xff, sizeof(y));
		ck_assert_uint_eq(accelerator_chain_y_count(&chain), ROWS * OUTPUTS);
		ck_assert_int_eq(accelerator_chain_submit(device, &chain, &done), ACCELERATOR_OK);
		ck_assert_int_eq(accelerator_event_synchronise(device, done), ACCELERATOR_OK);
		ck_assert_mem_eq(y, wanted, sizeof(y));
		if (times > 0)
			ck_assert_uint_eq(reports_so_far(), count + 5);
	}

	const accelerator_chain good = chain;
	accelerator_chain bad[6] = { good, good, good, good, good, good };
	accelerator_kernel no_weights[1] = { kernels[0] };
	no_weights[0].weights = NULL;
	bad[0].kernels_count = 0;
	bad[1].x_count = 0;
	bad[2].x_count = ROWS * COLUMNS - 1;
	bad[3].x_count = (ROWS - 1) * COLUMNS; /* 5 rows of 3: no whole rows of 6 */
	bad[4].y = NULL;
	bad[5].kernels = no_weights;
	bad[5].kernels_count = 1;
	for (size_t i = 0; i < 6; i++) {
		ck_assert_int_eq(accelerator_chain_submit(device, &bad[i], &done), ACCELERATOR_BAD_ARGUMENT);
		size_t count = reports_so_far();
		ck_assert_int_eq(accelerator_synchronise(device), ACCELERATOR_OK);
		ck_assert_uint_eq(reports_so_far(), count);
	}
	accelerator_buffer *buffer = (accelerator_buffer *)&chain;
	ck_assert_int_eq(accelerator_upload(device, NULL, 4, 0, &buffer, NULL), ACCELERATOR_BAD_ARGUMENT);
	ck_assert_ptr_null(buffer);
	accelerator_buffer_release(kernels[0].weights);
	accelerator_buffer_release(kernels[1].weights);
}
END_TEST

/* ---- streams ---- */

static accelerator_command relu_of(accelerator_buffer *buffer, uint64_t tag)
{
	return (accelerator_command){ .op = ACCELERATOR_RELU, .a = buffer, .out = buffer, .m = 1, .n = 8, .tag = tag };
}

START_TEST(a_stream_is_in_order_and_blocks_when_full)
{
	enum { COUNT = 1000 }; /* far more than a queue holds */
	accelerator_buffer *buffer = buffer_of(8);
	for (uint64_t tag = 0; tag < COUNT; tag++) {
		accelerator_command relu = relu_of(buffer, tag);
		ck_assert_int_eq(accelerator_submit(device, ACCELERATOR_STREAM_1, &relu, NULL), ACCELERATOR_OK);
	}
	accelerator_buffer_release(buffer); /* before the work is done */
	ck_assert_int_eq(accelerator_stream_synchronise(device, ACCELERATOR_STREAM_1), ACCELERATOR_OK);
	ck_assert_uint_eq(reports_so_far(), COUNT);
	for (uint64_t tag = 0; tag < COUNT; tag++) {
		ck_assert_uint_eq(reports[tag].tag, tag);
		ck_assert_int_eq(reports[tag].stream, ACCELERATOR_STREAM_1);
		ck_assert_uint_le(reports[tag].start_ticks, reports[tag].end_ticks);
		if (tag > 0)
			ck_assert_uint_le(reports[tag - 1].end_ticks, reports[tag].start_ticks);
	}
}
END_TEST

/* A copy in that lasts until the gate opens; its end is `copied`. */
static void submit_gated_copy(accelerator_buffer *buffer, accelerator_event *copied)
{
	static const float values[8] = { -1, 2, -3, 4, -5, 6, -7, 8 };
	accelerator_command copy = { .op = ACCELERATOR_COPY_IN, .out = buffer, .from_host = values, .tag = GATED };
	copy.bytes = sizeof(values);
	ck_assert_int_eq(accelerator_submit(device, ACCELERATOR_COPY_ENGINE, &copy, copied), ACCELERATOR_OK);
}

START_TEST(a_stream_waits_for_an_event_and_the_other_goes_on)
{
	accelerator_buffer *buffer = buffer_of(8);
	accelerator_buffer *other = buffer_of(8);
	accelerator_event copied, computed;
	float result[8];
	submit_gated_copy(buffer, &copied);
	accelerator_command waiting = relu_of(buffer, 1);
	ck_assert_int_eq(accelerator_stream_wait(device, ACCELERATOR_STREAM_0, copied), ACCELERATOR_OK);
	ck_assert_int_eq(accelerator_submit(device, ACCELERATOR_STREAM_0, &waiting, &computed), ACCELERATOR_OK);
	accelerator_command free_to_go = relu_of(other, 2);
	ck_assert_int_eq(accelerator_submit(device, ACCELERATOR_STREAM_1, &free_to_go, NULL), ACCELERATOR_OK);
	ck_assert_int_eq(accelerator_stream_synchronise(device, ACCELERATOR_STREAM_1), ACCELERATOR_OK);
	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	ck_assert_uint_eq(reports_so_far(), 1); /* the other's alone: stream 0 waits */

	accelerator_command copy_out = { .op = ACCELERATOR_COPY_OUT, .a = buffer, .to_host = result, .tag = 3 };
	copy_out.bytes = sizeof(result);
	ck_assert_int_eq(accelerator_stream_wait(device, ACCELERATOR_COPY_ENGINE, computed), ACCELERATOR_OK);
	ck_assert_int_eq(accelerator_submit(device, ACCELERATOR_COPY_ENGINE, &copy_out, NULL), ACCELERATOR_OK);
	sem_post(&gate);
	ck_assert_int_eq(accelerator_synchronise(device), ACCELERATOR_OK);
	ck_assert_uint_eq(reports_so_far(), 4);
	ck_assert_uint_le(report_of(GATED)->end_ticks, report_of(1)->start_ticks);
	ck_assert_uint_le(report_of(1)->end_ticks, report_of(3)->start_ticks);
	for (size_t i = 0; i < 8; i++)
		ck_assert_float_eq(result[i], i % 2 ? (float)(i + 1) : 0);
	accelerator_buffer_release(buffer);
	accelerator_buffer_release(other);
}
END_TEST

START_TEST(an_event_of_the_past_or_the_future)
{
	accelerator_event future = { ACCELERATOR_STREAM_0, 1 };
	accelerator_event nowhere = { ACCELERATOR_STREAM_COUNT, 0 };
	ck_assert_int_eq(accelerator_stream_wait(device, ACCELERATOR_STREAM_0, (accelerator_event){ 0 }), ACCELERATOR_OK);
	ck_assert_int_eq(accelerator_event_synchronise(device, (accelerator_event){ 0 }), ACCELERATOR_OK);
	/* The wait above counts as a command of stream 0, not of stream 1. */
	future.stream = ACCELERATOR_STREAM_1;
	ck_assert_int_eq(accelerator_stream_wait(device, ACCELERATOR_STREAM_0, future), ACCELERATOR_BAD_ARGUMENT);
	ck_assert_int_eq(accelerator_event_synchronise(device, future), ACCELERATOR_BAD_ARGUMENT);
	ck_assert_int_eq(accelerator_event_synchronise(device, nowhere), ACCELERATOR_BAD_ARGUMENT);
	ck_assert_int_eq(accelerator_stream_wait(device, ACCELERATOR_STREAM_COUNT, future), ACCELERATOR_BAD_ARGUMENT);
	ck_assert_int_eq(accelerator_stream_synchronise(device, ACCELERATOR_STREAM_COUNT), ACCELERATOR_BAD_ARGUMENT);
	ck_assert_int_eq(accelerator_synchronise(device), ACCELERATOR_OK);
}
END_TEST

START_TEST(destroy_finishes_what_is_queued)
{
	accelerator_buffer *buffer = buffer_of(8);
	accelerator_event copied, computed;
	float result[8] = { 0 };
	submit_gated_copy(buffer, &copied);
	accelerator_command waiting = relu_of(buffer, 1);
	ck_assert_int_eq(accelerator_stream_wait(device, ACCELERATOR_STREAM_0, copied), ACCELERATOR_OK);
	ck_assert_int_eq(accelerator_submit(device, ACCELERATOR_STREAM_0, &waiting, &computed), ACCELERATOR_OK);
	accelerator_command copy_out = { .op = ACCELERATOR_COPY_OUT, .a = buffer, .to_host = result };
	copy_out.bytes = sizeof(result);
	ck_assert_int_eq(accelerator_stream_wait(device, ACCELERATOR_COPY_ENGINE, computed), ACCELERATOR_OK);
	ck_assert_int_eq(accelerator_submit(device, ACCELERATOR_COPY_ENGINE, &copy_out, NULL), ACCELERATOR_OK);
	accelerator_buffer_release(buffer);
	sem_post(&gate);
	accelerator_destroy(device);
	device = NULL;
	ck_assert_uint_eq(reports_count, 3);
	ck_assert_float_eq(result[7], 8);
}
END_TEST

/* ---- threads ---- */

enum { NODES_COUNT = 150 };

static void *many_nodes(void *stream)
{
	uint64_t number = (uint64_t)(uintptr_t)stream;
	float x[6 * 4], y[6 * 4], bias[4];
	for (uint64_t i = 0; i < NODES_COUNT; i++) {
		fill(x, 6 * 4, (unsigned)(i * 2 + number));
		fill(bias, 4, (unsigned)(i + 1000 * number));
		accelerator_node node = { .op = ACCELERATOR_BIAS, .x = x, .weights = bias, .y = y, .rows = 6, .columns = 4 };
		node.stream = (accelerator_stream)number;
		node.tag = number * NODES_COUNT + i;
		accelerator_event done;
		ck_assert_int_eq(accelerator_node_submit(device, &node, &done), ACCELERATOR_OK);
		ck_assert_int_eq(accelerator_event_synchronise(device, done), ACCELERATOR_OK);
		for (size_t j = 0; j < 6 * 4; j++)
			ck_assert_float_eq(y[j], x[j] + bias[j % 4]);
	}
	return NULL;
}

START_TEST(two_threads_use_one_device)
{
	pthread_t threads[2];
	for (uintptr_t i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, many_nodes, (void *)i), 0);
	for (size_t i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(reports_count, 2 * NODES_COUNT * 4);
	/* Each engine did one thing at a time, whoever asked for it. */
	uint64_t last_end_ticks[ACCELERATOR_STREAM_COUNT] = { 0 };
	for (size_t i = 0; i < reports_count; i++) {
		ck_assert_uint_ge(reports[i].start_ticks, last_end_ticks[reports[i].stream]);
		last_end_ticks[reports[i].stream] = reports[i].end_ticks;
	}
}
END_TEST

/* ---- bad arguments ---- */

START_TEST(bad_commands_are_refused)
{
	accelerator_buffer *a = buffer_of(6), *b = buffer_of(6), *out = buffer_of(4);
	float host[8] = { 0 };
	const accelerator_command gemm = { .op = ACCELERATOR_GEMM, .a = a, .b = b, .out = out, .m = 2, .n = 2, .k = 3 };
	const accelerator_command bias = { .op = ACCELERATOR_BIAS, .a = a, .b = b, .out = out, .m = 1, .n = 4 };
	const accelerator_command in = { .op = ACCELERATOR_COPY_IN, .out = out, .from_host = host, .bytes = 16 };
	const accelerator_command back = { .op = ACCELERATOR_COPY_OUT, .a = out, .to_host = host, .bytes = 16 };
	accelerator_command bad[20];
	size_t count = 0;
#define BAD(good, change) (bad[count] = (good), bad[count].change, count++)
	BAD(gemm, a = NULL);
	BAD(gemm, b = NULL);
	BAD(gemm, out = NULL);
	BAD(gemm, out = a);
	BAD(gemm, m = 0);
	BAD(gemm, n = 0);
	BAD(gemm, k = 0);
	BAD(gemm, m = 3);
	BAD(gemm, k = 4);
	BAD(gemm, k = ACCELERATOR_MAX_SIDE + 1);
	BAD(gemm, op = ACCELERATOR_OP_COUNT);
	BAD(bias, b = NULL);
	BAD(bias, n = 5);
	BAD(bias, m = UINT32_MAX);
	for (size_t i = 0; i < count; i++)
		ck_assert_int_eq(accelerator_submit(device, ACCELERATOR_STREAM_0, &bad[i], NULL), ACCELERATOR_BAD_ARGUMENT);
	count = 0;
	BAD(in, out = NULL);
	BAD(in, from_host = NULL);
	BAD(in, bytes = 17);
	BAD(back, a = NULL);
	BAD(back, to_host = NULL);
	BAD(back, bytes = SIZE_MAX);
	BAD(gemm, tag = 0); /* a kernel, on the copy engine */
	for (size_t i = 0; i < count; i++)
		ck_assert_int_eq(accelerator_submit(device, ACCELERATOR_COPY_ENGINE, &bad[i], NULL),
		                 ACCELERATOR_BAD_ARGUMENT);
	ck_assert_int_eq(accelerator_submit(device, ACCELERATOR_STREAM_0, &in, NULL), ACCELERATOR_BAD_ARGUMENT);
	ck_assert_int_eq(accelerator_submit(device, ACCELERATOR_STREAM_COUNT, &gemm, NULL), ACCELERATOR_BAD_ARGUMENT);
	ck_assert_int_eq(accelerator_submit(device, ACCELERATOR_STREAM_0, NULL, NULL), ACCELERATOR_BAD_ARGUMENT);
	ck_assert_int_eq(accelerator_submit(NULL, ACCELERATOR_STREAM_0, &gemm, NULL), ACCELERATOR_BAD_ARGUMENT);

	ck_assert_int_eq(accelerator_submit(device, ACCELERATOR_STREAM_0, &gemm, NULL), ACCELERATOR_OK);
	ck_assert_int_eq(accelerator_submit(device, ACCELERATOR_STREAM_0, &bias, NULL), ACCELERATOR_OK);
	ck_assert_int_eq(accelerator_synchronise(device), ACCELERATOR_OK);
	ck_assert_int_eq(accelerator_submit(device, ACCELERATOR_COPY_ENGINE, &in, NULL), ACCELERATOR_OK);
	ck_assert_int_eq(accelerator_submit(device, ACCELERATOR_COPY_ENGINE, &back, NULL), ACCELERATOR_OK);
	ck_assert_int_eq(accelerator_synchronise(device), ACCELERATOR_OK);
	ck_assert_uint_eq(reports_so_far(), 4);
	accelerator_buffer_release(a);
	accelerator_buffer_release(b);
	accelerator_buffer_release(out);
}
END_TEST

START_TEST(nothing_is_not_a_device_or_a_buffer)
{
	accelerator_buffer *buffer = (accelerator_buffer *)&buffer;
	ck_assert_int_eq(accelerator_buffer_create(0, &buffer), ACCELERATOR_BAD_ARGUMENT);
	ck_assert_ptr_null(buffer);
	ck_assert_int_eq(accelerator_buffer_create(SIZE_MAX, &buffer), ACCELERATOR_BAD_ARGUMENT);
	ck_assert_int_eq(accelerator_buffer_create(1, NULL), ACCELERATOR_BAD_ARGUMENT);
	accelerator_buffer_release(NULL);

	ck_assert_int_eq(accelerator_create(NULL, NULL), ACCELERATOR_BAD_ARGUMENT);
	ck_assert_int_eq(accelerator_stream_wait(NULL, ACCELERATOR_STREAM_0, (accelerator_event){ 0 }),
	                 ACCELERATOR_BAD_ARGUMENT);
	ck_assert_int_eq(accelerator_synchronise(NULL), ACCELERATOR_BAD_ARGUMENT);
	accelerator_destroy(NULL);
	ck_assert_str_eq(accelerator_result_text(ACCELERATOR_BAD_ARGUMENT), "bad argument");
	ck_assert_str_eq(accelerator_result_text((accelerator_result)99), "unknown error");
}
END_TEST

static Suite *accelerator_suite(void)
{
	Suite *suite = suite_create("accelerator");
	TCase *with_device = tcase_create("device");
	tcase_add_checked_fixture(with_device, open_device, close_device);
	tcase_add_test(with_device, gemm_and_bias_match_plain_loops);
	tcase_add_test(with_device, relu_and_softmax_match_plain_loops);
	tcase_add_test(with_device, a_bad_node_leaves_nothing_under_way);
	tcase_add_test(with_device, a_chain_is_its_kernels_one_by_one);
	tcase_add_test(with_device, a_stream_is_in_order_and_blocks_when_full);
	tcase_add_test(with_device, a_stream_waits_for_an_event_and_the_other_goes_on);
	tcase_add_test(with_device, an_event_of_the_past_or_the_future);
	tcase_add_test(with_device, destroy_finishes_what_is_queued);
	tcase_add_test(with_device, two_threads_use_one_device);
	tcase_add_test(with_device, bad_commands_are_refused);
	suite_add_tcase(suite, with_device);
	TCase *alone = tcase_create("alone");
	tcase_add_test(alone, nothing_is_not_a_device_or_a_buffer);
	suite_add_tcase(suite, alone);
	return suite;
}

CHECK_MAIN(accelerator_suite)

/* Exports of a builder's trace, and the sample trace: see export_text.h. */
#include "tests/support/export_text.h"

#include <string.h>

#include "export/sink/sink.h"
#include "tests/support/check.h"

static void keep_receipt(void *user, const char *line)
{
	struct export_text *text = user;
	size_t used = strlen(text->receipts);

	snprintf(text->receipts + used, sizeof text->receipts - used, "%s\n", line);
}

void export_text_make(struct export_text *text, epp_trace *trace, const char *format, const epp_export_options *options)
{
	struct sink_memory memory = { 0 };

	memset(text, 0, sizeof *text);
	check_ok(epp_export(trace, format, options, sink_memory_write, &memory, keep_receipt, text));
	ck_assert_uint_eq(sink_memory_write("", 1, &memory), 1);
	text->bytes = memory.bytes;
	text->count = memory.count - 1;
}

void export_text_free(struct export_text *text)
{
	free(text->bytes);
	memset(text, 0, sizeof *text);
}

/* Records one run of the model on a thread: three nodes, five kernels. */
static void run_model(struct epp_builder *b, uint32_t thread, const uint32_t devices[3], uint64_t at)
{
	epp_name rows = builder_name(b, "rows"), shape = builder_name(b, "input_type_shape");
	epp_arg four = { .key = rows, .type = EPP_ARG_I64, .value.i64 = 4 };
	epp_arg shapes = { .key = shape, .type = EPP_ARG_TEXT, .value.text = "[{\"float\":[4,64]}]", .text_bytes = 18 };
	uint64_t run = builder_begin(b, thread, at, EPP_SESSION, builder_name(b, "model_run"));
	uint64_t execute = builder_begin(b, thread, at + 1200, EPP_SESSION,
	                                 builder_name(b, "SequentialExecutor::Execute"));

	uint64_t node = builder_begin(b, thread, at + 2000, EPP_NODE, builder_name(b, "fc1"));
	builder_complete(b, devices[2], at + 4100, 3000, EPP_KERNEL, builder_name(b, "copy in"), node, NULL, 0);
	builder_complete(b, devices[0], at + 7300, 9000, EPP_KERNEL, builder_name(b, "gemm"), node, &four, 1);
	builder_complete(b, devices[0], at + 16400, 2100, EPP_KERNEL, builder_name(b, "bias"), node, &four, 1);
	builder_end(b, thread, node, at + 19000, &shapes, 1);
	node = builder_begin(b, thread, at + 19400, EPP_NODE, builder_name(b, "relu"));
	builder_complete(b, devices[1], at + 21000, 2500, EPP_KERNEL, builder_name(b, "relu"), node, NULL, 0);
	builder_end(b, thread, node, at + 24000, NULL, 0);
	node = builder_begin(b, thread, at + 24300, EPP_NODE, builder_name(b, "softmax"));
	builder_complete(b, devices[1], at + 26000, 1900, EPP_KERNEL, builder_name(b, "softmax"), node, NULL, 0);
	builder_end(b, thread, node, at + 28500, NULL, 0);

	builder_end(b, thread, execute, at + 29000, NULL, 0);
	builder_end(b, thread, run, at + 29700, NULL, 0);
}

struct epp_builder *export_sample(void)
{
	struct epp_builder *b = builder_create();
	builder_producer(b, 0, "MyEP");
	uint32_t main_thread = builder_thread(b, "main", 4711), worker = builder_thread(b, "worker 1", 4712);
	uint32_t devices[3] = { builder_device(b, "stream 1", "Accelerator 0", 0, 1, EPF_TRACK_CLOCK_HOST),
		                builder_device(b, "stream 2", "Accelerator 0", 0, 2, EPF_TRACK_CLOCK_HOST),
		                builder_device(b, "copy engine", "Accelerator 0", 0, 9, EPF_TRACK_CLOCK_HOST) };

	run_model(b, main_thread, devices, BUILDER_START + 1000);
	run_model(b, worker, devices, BUILDER_START + 35000);
	builder_complete(b, devices[2], BUILDER_START + 33000, 700, EPP_KERNEL, builder_name(b, "prefetch"), 0, NULL, 0);
	builder_instant(b, main_thread, BUILDER_START + 32000, EPP_API, builder_name(b, "cache miss"), NULL, 0);
	builder_counter(b, main_thread, BUILDER_START + 32500, builder_name(b, "bytes in use"), 4096);
	uint64_t request = builder_async_begin(b, main_thread, BUILDER_START + 33000, EPP_API, builder_name(b, "request"));
	builder_async_end(b, worker, request, BUILDER_START + 66000, NULL, 0);
	uint64_t first = builder_event(b, main_thread, BUILDER_START + 67000, 500, EPP_NODE, builder_name(b, "send"),
	                               NULL, 0);
	uint64_t second = builder_event(b, worker, BUILDER_START + 68000, 500, EPP_NODE, builder_name(b, "receive"),
	                                NULL, 0);
	builder_flow(b, main_thread, BUILDER_START + 68600, first, second);
	builder_begin(b, worker, BUILDER_START + 69000, EPP_NODE, builder_name(b, "stuck"));
	return b;
}

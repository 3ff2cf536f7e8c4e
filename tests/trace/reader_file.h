/* A small trace with something of everything, for tests of the reader. */
#ifndef EPPROF_TESTS_TRACE_READER_FILE_H
#define EPPROF_TESTS_TRACE_READER_FILE_H

#include "tests/support/check.h"
#include "tests/support/epp_builder.h"

struct file {
	struct epp_builder *builder;
	uint8_t *image;
	size_t bytes;
	uint32_t main_track, worker, stream;
	epp_name matmul, gemm;
	uint64_t node;
};

/* Two threads and a device; the node has a child, a kernel and args. */
static inline struct file build(enum epf_state state)
{
	struct file f = { .builder = builder_create() };
	builder_producer(f.builder, 0, "MyEP");
	f.matmul = builder_name(f.builder, "matmul");
	f.gemm = builder_name_bytes(f.builder, "ge\0mm\"", 6);
	f.main_track = builder_thread(f.builder, "main", 100);
	f.worker = builder_thread(f.builder, "worker", 101);
	f.stream = builder_device(f.builder, "stream 1", "Accelerator 0", 0, 1, EPF_TRACK_CLOCK_HOST);
	epp_name key = builder_name(f.builder, "shape");
	epp_arg args[] = { { .key = key, .type = EPP_ARG_TEXT, .value.text = "a\0b", .text_bytes = 3 },
		           { .key = key, .type = EPP_ARG_I64, .value.i64 = -7 },
		           { .key = key, .type = EPP_ARG_F64, .value.f64 = 0.5 } };
	f.node = builder_begin(f.builder, f.main_track, BUILDER_START + 100, EPP_NODE, f.matmul);
	builder_event(f.builder, f.main_track, BUILDER_START + 110, 50, EPP_API, f.gemm, NULL, 0);
	builder_complete(f.builder, f.stream, BUILDER_START + 120, 60, EPP_KERNEL, f.gemm, f.node, args + 1, 2);
	builder_instant(f.builder, f.worker, BUILDER_START + 130, EPP_SESSION, f.gemm, NULL, 0);
	builder_end(f.builder, f.main_track, f.node, BUILDER_START + 300, args, 3);
	builder_event(f.builder, f.worker, BUILDER_START + 140, 1000, EPP_NODE, f.matmul, NULL, 0);
	f.image = builder_image(f.builder, state, &f.bytes);
	return f;
}

static inline void drop(struct file *f)
{
	free(f->image);
	builder_destroy(f->builder);
}

#endif

/* Small traces of every kind: being recorded, finished, cut off, with a ring, packed, merged. */
#include <stdio.h>
#include <string.h>

#include "codec/file_header.h"
#include "epprof/merge.h"
#include "epprof/trace_writer.h"
#include "format/format_ring.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/epp_builder.h"
#include "tests/support/export_text.h"

/* Events of all kinds, some of them in the window; with `version` not 0 another recording with other names. */
static struct epp_builder *make(bool is_ring, uint8_t version)
{
	struct epp_builder *b = builder_create();
	struct {
		struct epf_overwritten head;
		struct epf_overwritten_row row;
	} gone = { { 0, 1 }, { 1, 1, 3 } };

	builder_geometry(b, 2, 2, 4096, 4096, 4096);
	if (is_ring) {
		builder_header(b)->features |= EPF_FEATURE_RING;
		builder_header(b)->policy = EPP_POLICY_RING;
	}
	builder_header(b)->file_id[0] ^= version;
	struct epf_producer *producer = builder_producer(b, 0, "MyEP");
	epp_name name = builder_name(b, version ? "other" : "name");
	uint32_t thread = builder_thread(b, "main", 1), worker = builder_thread(b, "worker", 2);
	uint32_t device = builder_device(b, "s", "d", 0, 0, EPF_TRACK_CLOCK_DEVICE);
	epp_arg args[] = { { .key = name, .type = EPP_ARG_TEXT, .value.text = "some text", .text_bytes = 9 },
		           { .key = name, .type = EPP_ARG_F64, .value.f64 = 1.5 } };
	builder_definitions_to_block(b);
	uint64_t outer = builder_begin(b, thread, BUILDER_START + 5, EPP_SESSION, name);
	for (uint64_t i = 0; i < 12; i++) {
		builder_event(b, thread, BUILDER_START + 100 * (i + 1), 50, EPP_NODE, name, args, i % 3);
		if (i % 4 == 3)
			builder_flush(b, thread, BUILDER_TO_BLOCK);
	}
	builder_orphan_end(b, worker, outer, BUILDER_START + 3000, args, 2);
	builder_flush(b, worker, BUILDER_TO_BLOCK);
	builder_host_pair(b, BUILDER_START + 5000, 10, 0);
	builder_device_pair(b, device, 5, BUILDER_START + 5, 1);
	builder_complete(b, device, 10, 20, EPP_KERNEL, name, outer, args, 2);
	builder_switch(b, thread, device);
	producer->emitted++; /* the next event is the device's, on the thread's region */
	builder_complete(b, thread, 40, 20, EPP_KERNEL, name, outer, NULL, 0);
	builder_switch(b, thread, 0);
	uint64_t async = builder_async_begin(b, thread, BUILDER_START + 5500, EPP_API, name);
	builder_async_end(b, worker, async, BUILDER_START + 5600, args, 1);
	builder_counter(b, thread, BUILDER_START + 5700, name, 7);
	builder_flow(b, thread, BUILDER_START + 5800, outer, async);
	builder_instant(b, thread, BUILDER_START + 5900, EPP_API, name, NULL, 0);
	if (is_ring)
		builder_block(b, &(struct epf_block){ .type = EPF_BLOCK_OVERWRITTEN, .payload_bytes = sizeof gone }, &gone);
	builder_begin(b, thread, BUILDER_START + 6000, EPP_NODE, name);
	builder_name(b, "in the log");
	return b;
}

static epp_trace *open_built(struct epp_builder *b, enum epf_state state)
{
	epp_trace *trace = builder_open(b, state);

	builder_destroy(b);
	return trace;
}

static size_t packed(uint8_t *bytes)
{
	const char *path = fuzz_path("seed");
	epp_trace *trace = open_built(export_sample(), EPF_FINISHED);
	epp_status *status = epp_trace_pack(trace, path, 1);

	FUZZ_MUST(!status);
	epp_trace_close(trace);
	return fuzz_read(path, bytes);
}

struct epp_trace *fuzz_trace_other(void)
{
	return open_built(make(false, 7), EPF_FINISHED);
}

static size_t merged(uint8_t *bytes)
{
	const char *path = fuzz_path("seed");
	epp_merge_options options = { .struct_size = sizeof options, .overwrite = 1 };
	epp_trace *traces[] = { open_built(make(false, 0), EPF_FINISHED), fuzz_trace_other() };
	epp_status *status = epp_trace_merge(traces, 2, path, &options, NULL, NULL, NULL);

	FUZZ_MUST(!status);
	epp_trace_close(traces[0]);
	epp_trace_close(traces[1]);

	size_t count = fuzz_read(path, bytes);
	/* The new file's id is random, and seeds are the same in every run. */
	struct epf_header header;
	memcpy(&header, bytes, sizeof header);
	memset(header.file_id, 1, sizeof header.file_id);
	header.created_unix_ns = 0;
	header_seal(&header, header.state);
	memcpy(bytes, &header, sizeof header);
	return count;
}

size_t fuzz_trace_seed(size_t index, uint8_t *bytes)
{
	enum { PACKED = 4, MERGED, CUT, END };
	size_t count = 0;

	if (index >= END)
		return 0;
	if (index == PACKED || index == MERGED)
		return index == PACKED ? packed(bytes) : merged(bytes);
	/* 0 to 3: being recorded or finished, without and with a ring. */
	struct epp_builder *b = make(index & 2, 0);
	uint8_t *image = builder_image(b, index & 1 ? EPF_FINISHED : EPF_RECORDING, &count);
	builder_destroy(b);
	if (index == CUT)
		count -= 5000;
	FUZZ_MUST(count <= FUZZ_BYTES_MAX);
	memcpy(bytes, image, count);
	free(image);
	return count;
}

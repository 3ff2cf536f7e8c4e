/* Fuzzes the reader with damage under valid checksums, which a checksum error hides in other tests.
 *
 * An input is a list of changes (where, how, what) to a small valid trace, whose checksums are then corrected; the
 * trace is opened, validated and its accounts are read.  It must not crash; the results are ignored.  check_reader_scan
 * runs random inputs.  As a fuzzer, with clang and all objects built with -fsanitize=fuzzer-no-link,address:
 *   clang -fsanitize=fuzzer,address ... tests/support/fuzz_reader.c
 */
#include <stdlib.h>
#include <string.h>

#include "tests/support/epp_builder.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes);

#define BLOCKS_MAX 64

struct template
{
	uint8_t *image;
	size_t bytes;
	uint64_t blocks[BLOCKS_MAX];
	size_t blocks_count;
};

static struct template build(enum epf_state state)
{
	struct template template = { 0 };
	struct epp_builder *b = builder_create();
	builder_geometry(b, 2, 2, 4096, 4096, 4096);
	builder_producer(b, 0, "MyEP");
	epp_name name = builder_name(b, "name");
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
	builder_complete(b, thread, 40, 20, EPP_KERNEL, name, outer, NULL, 0);
	builder_begin(b, thread, BUILDER_START + 6000, EPP_NODE, name);
	builder_name(b, "in the log");
	template.image = builder_image(b, state, &template.bytes);
	/* The offsets of all blocks: in each segment a block follows directly on the one before it. */
	size_t segment_bytes = builder_header(b)->segment_bytes;
	for (size_t start = builder_header(b)->segments_offset; start < template.bytes; start += segment_bytes) {
		struct epf_block block;
		for (size_t at = start + EPF_SEGMENT_HEADER_BYTES; at + sizeof(block) <= start + segment_bytes;) {
			memcpy(&block, template.image + at, sizeof(block));
			if (block.magic != EPF_BLOCK_MAGIC || template.blocks_count == BLOCKS_MAX)
				break;
			template.blocks[template.blocks_count++] = at;
			at = (at + sizeof(block) + block.payload_bytes + 7) & ~(size_t)7;
		}
	}
	builder_destroy(b);
	return template;
}

static void change(uint8_t *image, size_t bytes, const uint8_t step[6])
{
	static const uint32_t edges[] = { 0, 1, 63, 64, 65, 255, 65535, 65536, 0x7fffffff, 0x80000000, UINT32_MAX };
	uint32_t at, edge = edges[step[5] % (sizeof(edges) / sizeof(*edges))];
	memcpy(&at, step, sizeof(at));
	at %= (uint32_t)(bytes - 8);
	switch (step[4] % 4) {
	case 0:
		image[at] ^= (uint8_t)(1u << step[5] % 8);
		break;
	case 1:
		image[at] = step[5];
		break;
	case 2:
		memcpy(image + (at & ~3u), &edge, 4);
		break;
	default:
		memset(image + (at & ~7u), step[5] % 2 ? 0xff : 0, 8);
		break;
	}
}

static void ignore(void *user, const epp_trace_finding *finding)
{
	*(size_t *)user += strlen(finding->text);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes)
{
	static struct template templates[2];
	if (!templates[0].image) {
		templates[0] = build(EPF_RECORDING);
		templates[1] = build(EPF_FINISHED);
	}
	if (bytes < 1)
		return 0;
	const struct template *template = &templates[input[0] % 2];
	uint8_t *image = malloc(template->bytes);
	memcpy(image, template->image, template->bytes);
	for (size_t at = 1; at + 6 <= bytes; at += 6)
		change(image, template->bytes, input + at);
	builder_seal_header(image);
	for (size_t i = 0; i < template->blocks_count; i++) {
		struct epf_block block;
		memcpy(&block, image + template->blocks[i], sizeof(block));
		if (block.payload_bytes <= template->bytes - template->blocks[i] - sizeof(block))
			builder_seal_block(image, template->blocks[i]);
	}

	epp_trace *trace;
	epp_status *status = builder_open_image(image, template->bytes, &trace);
	if (!status) {
		uint64_t errors;
		size_t told = 0;
		status = epp_trace_validate(trace, ignore, &told, &errors);
		epp_trace_account account;
		for (size_t i = 0; !status && i < epp_trace_accounts_count(trace); i++)
			status = epp_trace_account_at(trace, i, &account);
		epp_trace_close(trace);
	}
	epp_status_release(status);
	free(image);
	return 0;
}

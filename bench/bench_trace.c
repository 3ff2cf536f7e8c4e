/* Makes traces for the bench, see bench_trace.h.  The records of each track fill a region, which becomes a block when
 * it is full.  The track that is furthest behind in time continues first, so blocks are in the order in which a helper
 * would write them. */
#include "bench_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codec/checksum.h"
#include "codec/codec.h"

#define TICKS_PER_SECOND 2500000000ull
#define TICKS_START 1000000000000ull
#define PAIR_TICKS (TICKS_PER_SECOND / 10)
#define UNIX_START_NS 1700000000000000000ll
#define DEVICE_FAST_PART 5000u /* 200 ppm */
#define REGION_RECORDS ((EPF_CHUNK_BYTES - sizeof(struct epf_region)) / EPF_RECORD_BYTES)
#define NODES_A_RUN 20u
#define NODES_A_KERNEL 2u
#define NAMES 300u
#define SEGMENTS_OFFSET (EPF_PAGE_BYTES * 2 + EPF_PRODUCERS_BYTES)

struct kernel {
	uint64_t start, end, parent;
	uint32_t name;
};

struct track {
	struct codec_writer writer;
	uint8_t *payload;
	uint32_t number;
	uint64_t now_ticks, next_id;
	uint64_t run_ticks, run_id, execute_ticks, execute_id; /* 0: not begun */
	uint32_t nodes_left;
	struct track *stream; /* the stream of the thread's kernels */
	bool launching;       /* the thread launches kernels on all streams */
	struct kernel held;   /* a kernel that is recorded after the next one of its stream; parent 0: none */
	uint64_t open_ids[2];
};

struct making {
	struct track *tracks;
	unsigned tracks_count, threads_count;
	uint64_t random;
	uint64_t written;
	uint64_t sequence; /* of the last region */
	uint64_t segments;
	uint8_t *segment;
	size_t used; /* of the segment */
	int fd;
	int error;
};

static uint32_t random_below(struct making *making, uint32_t limit)
{
	making->random ^= making->random << 13;
	making->random ^= making->random >> 7;
	making->random ^= making->random << 17;
	return (uint32_t)((making->random >> 32) * limit >> 32);
}

/* ---- the file ---- */

static void put(struct making *making, uint64_t offset, const void *bytes, size_t count)
{
	for (const uint8_t *at = bytes; count && !making->error;) {
		ssize_t written = pwrite(making->fd, at, count, (off_t)offset);
		if (written <= 0) {
			making->error = written < 0 ? errno : ENOSPC;
			return;
		}
		at += written;
		offset += (uint64_t)written;
		count -= (size_t)written;
	}
}

static void end_segment(struct making *making)
{
	if (!making->used)
		return;
	struct epf_segment header = { .magic = EPF_SEGMENT_MAGIC, .number = ++making->segments };
	header.checksum = checksum_crc32c(0, &header, sizeof(header));
	memcpy(making->segment, &header, sizeof(header));
	put(making, SEGMENTS_OFFSET + (making->segments - 1) * EPF_SEGMENT_BYTES, making->segment, EPF_SEGMENT_BYTES);
	memset(making->segment, 0, EPF_SEGMENT_BYTES);
	making->used = 0;
}

static void put_block(struct making *making, struct epf_block *block, const void *payload)
{
	size_t bytes = (sizeof(*block) + block->payload_bytes + 7) / 8 * 8;
	if (making->used && making->used + bytes > EPF_SEGMENT_BYTES)
		end_segment(making);
	if (!making->used)
		making->used = EPF_SEGMENT_HEADER_BYTES;
	block->magic = EPF_BLOCK_MAGIC;
	block->checksum = 0;
	block->checksum = checksum_crc32c(checksum_crc32c(0, block, sizeof(*block)), payload, block->payload_bytes);
	memcpy(making->segment + making->used, block, sizeof(*block));
	memcpy(making->segment + making->used + sizeof(*block), payload, block->payload_bytes);
	making->used += bytes;
}

static void put_plain(struct making *making, enum epf_block_type type, const void *payload, size_t bytes)
{
	struct epf_block block = { .type = (uint16_t)type,
		                   .payload_bytes = (uint32_t)bytes,
		                   .run = 1,
		                   .first_ticks = UINT64_MAX,
		                   .own_first_ticks = UINT64_MAX };
	put_block(making, &block, payload);
}

static struct epf_host_pair pair_at(uint64_t ticks)
{
	int64_t ns = (int64_t)((ticks - TICKS_START) / 5 * 2);
	return (struct epf_host_pair){ ticks, 50, 1000000000 + ns, UNIX_START_NS + ns };
}

static void put_header(struct making *making)
{
	static uint32_t made;
	uint8_t page[EPF_PAGE_BYTES] = { 0 };
	struct epf_header header = { .magic = EPF_MAGIC,
		                     .version = EPF_VERSION,
		                     .byte_order = EPF_BYTE_ORDER,
		                     .header_bytes = EPF_PAGE_BYTES,
		                     .file_id = "    by a bench",
		                     .live_offset = EPF_PAGE_BYTES,
		                     .slots_offset = SEGMENTS_OFFSET,
		                     .log_offset = SEGMENTS_OFFSET,
		                     .chunks_offset = SEGMENTS_OFFSET,
		                     .segments_offset = SEGMENTS_OFFSET,
		                     .slot_bytes = EPF_SLOT_BYTES,
		                     .chunk_bytes = EPF_CHUNK_BYTES,
		                     .segment_bytes = EPF_SEGMENT_BYTES,
		                     .created_unix_ns = UNIX_START_NS };
	header.source = (struct epf_source){ .pid = 1,
		                             .clock = EPF_CLOCK_TSC,
		                             .ticks_per_second = TICKS_PER_SECOND,
		                             .hostname = "bench",
		                             .program = "bench",
		                             .label = "made up" };
	/* Each file has its own id, so that no two traces are the same recording. */
	made++;
	memcpy(header.file_id, &made, sizeof(made));
	header.checksum = checksum_crc32c(0, &header, offsetof(struct epf_header, checksum));
	header.state = EPF_FINISHED;
	memcpy(page, &header, sizeof(header));
	put(making, 0, page, sizeof(page));
}

static void put_name(struct making *making, uint32_t number, const char *text)
{
	struct {
		struct epf_definition head;
		uint32_t number;
		char text[60];
	} name = { .head = { .bytes = (uint32_t)(4 + strlen(text)), .type = EPF_DEFINE_NAME }, .number = number };
	memcpy(name.text, text, strlen(text));
	put_plain(making, EPF_BLOCK_DEFINITIONS, &name, (sizeof(name.head) + name.head.bytes + 7) / 8 * 8);
}

static void put_track(struct making *making, const struct track *track, bool is_stream)
{
	struct {
		struct epf_definition head;
		struct epf_track track;
		char name[16];
	} definition = { .head = { .type = EPF_DEFINE_TRACK } };
	snprintf(definition.name, sizeof(definition.name), "%s %u", is_stream ? "stream" : "thread", track->number);
	definition.track = (struct epf_track){ .track = track->number,
		                               .kind = EPF_TRACK_THREAD,
		                               .device = -1,
		                               .producer = -1,
		                               .thread_id = 1000 + track->number,
		                               .name_bytes = (uint32_t)strlen(definition.name) };
	if (is_stream) {
		definition.track.kind = EPF_TRACK_DEVICE;
		definition.track.thread_id = 0;
		definition.track.device = 0;
		definition.track.stream = track->number;
		definition.track.clock_kind = EPF_TRACK_CLOCK_DEVICE;
		definition.track.clock = 1;
		definition.track.clock_bits = 64;
		definition.track.ticks_per_second = TICKS_PER_SECOND;
	}
	definition.head.bytes = (uint32_t)(sizeof(definition.track) + strlen(definition.name));
	put_plain(making, EPF_BLOCK_DEFINITIONS, &definition,
	          (sizeof(definition.head) + definition.head.bytes + 7) / 8 * 8);
}

/* ---- records ---- */

static void begin_region(struct track *track)
{
	uint32_t open_count = 0;
	if (track->run_id)
		track->open_ids[open_count++] = track->run_id;
	if (track->execute_id)
		track->open_ids[open_count++] = track->execute_id;
	codec_begin(&track->writer, track->payload, track->open_ids, open_count);
}

static void end_region(struct making *making, struct track *track)
{
	struct epf_block block = {
		.type = EPF_BLOCK_RECORDS, .sequence = ++making->sequence, .run = 1, .track = track->number
	};
	codec_finish(&track->writer, &block);
	if (block.record_count)
		put_block(making, &block, track->payload);
	making->written += block.record_count;
	begin_region(track);
}

static void add(struct track *track, uint64_t start, uint64_t end, uint64_t id, uint32_t name, unsigned category)
{
	struct epf_record record = { .start_ticks = start, .duration_ticks = end - start, .id = id };
	record.name = EPF_NAME_FIRST_FREE + name;
	record.bits = EPF_BITS(category, EPF_EVENT, 0, 0);
	codec_append(&track->writer, &record, NULL);
}

static uint64_t device_ticks(uint64_t ticks)
{
	uint64_t since = ticks - TICKS_START;
	return 77 + since + since / DEVICE_FAST_PART;
}

static void add_kernel(struct making *making, struct track *stream, uint64_t start, uint64_t end, uint64_t parent,
                       uint32_t name)
{
	struct {
		struct epf_record record;
		struct epf_arg arg;
	} kernel = { .record = { .start_ticks = device_ticks(start), .id = stream->next_id++ },
		     .arg = { .key = EPF_NAME_PARENT, .type_and_bytes = EPP_ARG_U64, .value = parent } };
	kernel.record.duration_ticks = device_ticks(end) - kernel.record.start_ticks;
	kernel.record.name = EPF_NAME_FIRST_FREE + name;
	kernel.record.bits = EPF_BITS(EPP_KERNEL, EPF_COMPLETE, 0, 0);
	kernel.record.arg_slots = 1;
	codec_append(&stream->writer, &kernel.record, &kernel.arg);
	if (stream->writer.state.record_count >= REGION_RECORDS * 2 / 3)
		end_region(making, stream);
}

#define OPS_A_RUN 149u
#define LATE_PER_CENT 3u

/* Records a kernel of an op; it starts after the previous kernel of its stream. */
static void launch(struct making *making, uint32_t op, uint64_t at, uint64_t parent)
{
	unsigned streams_count = making->tracks_count - making->threads_count;
	struct track *stream = &making->tracks[making->threads_count + op % streams_count];
	uint64_t start = at + random_below(making, 500);

	if (start < stream->now_ticks)
		start = stream->now_ticks;
	struct kernel kernel = { start, start + 500 + random_below(making, 3000), parent, op + OPS_A_RUN };
	stream->now_ticks = kernel.end;
	if (!stream->held.parent && random_below(making, 100) < LATE_PER_CENT) {
		stream->held = kernel;
		return;
	}
	add_kernel(making, stream, kernel.start, kernel.end, kernel.parent, kernel.name);
	if (stream->held.parent) {
		kernel = stream->held;
		stream->held.parent = 0;
		add_kernel(making, stream, kernel.start, kernel.end, kernel.parent, kernel.name);
	}
}

/* Records an op and the launch inside it, which ends first. */
static void step_op(struct making *making, struct track *track)
{
	uint64_t start = track->now_ticks += 20 + random_below(making, 400), id = track->next_id++;
	uint64_t launch_start = start + 100 + random_below(making, 300), launch_id = track->next_id++;
	uint64_t launch_end = launch_start + 200 + random_below(making, 600);
	uint32_t op = track->nodes_left = (track->nodes_left + 1) % OPS_A_RUN;

	track->now_ticks = launch_end + 50 + random_below(making, 4000);
	add(track, launch_start, launch_end, launch_id, NAMES - 1, EPP_API);
	add(track, start, track->now_ticks, id, op, EPP_NODE);
	launch(making, op, launch_start + (launch_end - launch_start) / 2, launch_id);
}

/* Records the next end on a thread: of a node, of the event around the nodes, or of the run. */
static void step(struct making *making, struct track *track)
{
	if (track->launching) {
		step_op(making, track);
		return;
	}
	if (!track->run_id) {
		track->run_ticks = track->now_ticks += 200 + random_below(making, 400);
		track->run_id = track->next_id++;
		track->execute_ticks = track->now_ticks += 50 + random_below(making, 50);
		track->execute_id = track->next_id++;
		track->nodes_left = NODES_A_RUN;
	}
	if (track->nodes_left) {
		uint64_t start = track->now_ticks + 20 + random_below(making, 100);
		uint64_t end = track->now_ticks = start + 500 + random_below(making, 8000);
		uint64_t id = track->next_id++;
		uint32_t name = (track->number * 7 + track->nodes_left) % (NAMES - 2) + 2;
		add(track, start, end, id, name, EPP_NODE);
		if (track->stream && track->nodes_left % NODES_A_KERNEL == 0)
			add_kernel(making, track->stream, start + 100, end - 50, id, name);
		track->nodes_left--;
	} else if (track->execute_id) {
		add(track, track->execute_ticks, track->now_ticks += 30, track->execute_id, 1, EPP_SESSION);
		track->execute_id = 0;
	} else {
		add(track, track->run_ticks, track->now_ticks += 30, track->run_id, 0, EPP_SESSION);
		track->run_id = 0;
	}
}

static void put_pairs(struct making *making, uint64_t last_ticks)
{
	bool has_streams = making->tracks_count > making->threads_count;
	struct track *stream = has_streams ? &making->tracks[making->tracks_count - 1] : NULL;
	for (uint64_t ticks = TICKS_START; ticks < last_ticks + PAIR_TICKS; ticks += PAIR_TICKS) {
		struct epf_host_pair pair = pair_at(ticks);
		put_plain(making, EPF_BLOCK_HOST_PAIRS, &pair, sizeof(pair));
		if (!stream)
			continue;
		struct epf_record record = { .start_ticks = device_ticks(ticks), .duration_ticks = ticks, .id = 100 };
		record.name = EPF_NAME_CLOCK_PAIR;
		record.bits = EPF_BITS(0, EPF_CLOCK_PAIR, 0, 0);
		codec_append(&stream->writer, &record, NULL);
		making->written--;
		end_region(making, stream);
	}
}

static void make(struct making *making, uint64_t events_count)
{
	while (making->written < events_count && !making->error) {
		struct track *track = NULL;
		for (unsigned i = 0; i < making->tracks_count; i++)
			if (making->tracks[i].nodes_left != UINT32_MAX &&
			    (!track || making->tracks[i].now_ticks < track->now_ticks))
				track = &making->tracks[i];
		while (track->writer.state.record_count < REGION_RECORDS)
			step(making, track);
		end_region(making, track);
	}
	uint64_t last_ticks = TICKS_START;
	for (unsigned i = 0; i < making->tracks_count; i++) {
		struct track *track = &making->tracks[i];
		while (track->nodes_left != UINT32_MAX && track->run_id)
			step(making, track);
		if (track->nodes_left != UINT32_MAX && track->now_ticks > last_ticks)
			last_ticks = track->now_ticks;
		end_region(making, track);
	}
	for (unsigned i = 0; i < making->tracks_count; i++)
		end_region(making, &making->tracks[i]);
	put_pairs(making, last_ticks);
	struct epf_run run = { .run = 1, .start = pair_at(TICKS_START), .end = pair_at(last_ticks) };
	put_plain(making, EPF_BLOCK_RUN, &run, sizeof(run));
	end_segment(making);
	put_header(making);
}

epp_status *bench_trace_write(const struct bench_trace_shape *shape, struct bench_file *file, uint64_t *written)
{
	static const char *const operators[] = { "MatMul", "Add", "Relu", "Conv", "Softmax", "Gemm", "Reshape", "Gather" };
	struct making making = { .tracks_count = shape->threads_count + shape->streams_count,
		                 .threads_count = shape->threads_count,
		                 .random = 88172645463325252ull };
	epp_status *status = bench_file_open(file);
	if (status)
		return status;
	making.fd = file->fd;
	making.segment = calloc(1, EPF_SEGMENT_BYTES);
	making.tracks = calloc(making.tracks_count, sizeof(*making.tracks));
	bool memory = making.segment && making.tracks;
	for (unsigned i = 0; memory && i < making.tracks_count; i++) {
		struct track *track = &making.tracks[i];
		bool is_stream = i >= shape->threads_count;
		track->payload = malloc(CODEC_BOUND(EPF_CHUNK_BYTES));
		memory = track->payload;
		track->number = i + 1;
		track->now_ticks = TICKS_START + random_below(&making, 10000);
		track->next_id = (uint64_t)UNIX_START_NS +
		                 i * (shape->events_count / shape->threads_count * 2 / 65536 + 1) * 65536;
		track->nodes_left = is_stream ? UINT32_MAX : 0;
		track->launching = shape->launching && !is_stream;
		track->stream = shape->launching           ? NULL
		                : i < shape->streams_count ? &making.tracks[shape->threads_count + i]
		                                           : NULL;
	}
	if (memory) {
		put_name(&making, EPF_NAME_PARENT, "parent");
		for (uint32_t name = 0; name < NAMES; name++) {
			char text[48];
			snprintf(text, sizeof(text), "/model/layer_%u/%s", name / 8, operators[name % 8]);
			put_name(&making, EPF_NAME_FIRST_FREE + name,
			         name == 0   ? "model_run"
			         : name == 1 ? "execute"
			                     : text);
		}
		for (unsigned i = 0; i < making.tracks_count; i++) {
			put_track(&making, &making.tracks[i], i >= shape->threads_count);
			begin_region(&making.tracks[i]);
		}
		make(&making, shape->events_count);
	}
	for (unsigned i = 0; making.tracks && i < making.tracks_count; i++)
		free(making.tracks[i].payload);
	free(making.tracks);
	free(making.segment);
	*written = making.written;
	if (!memory)
		return epp_status_no_memory();
	return making.error ? epp_status_errno(making.error, "%s", file->path) : NULL;
}

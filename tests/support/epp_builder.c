/* Builds .epp files for tests: see epp_builder.h.
 *
 * A builder keeps the segments written so far and, for each track, the region being filled; an image is a copy of
 * those, completed according to the requested state.  Records: epp_builder_records.c. */
#include "epp_builder_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/checksum.h"

void builder_must(const char *condition, const char *file, int line)
{
	fprintf(stderr, "%s:%d: %s\n", file, line, condition);
	abort();
}

void *builder_grow(struct bytes *bytes, size_t more)
{
	if (bytes->used + more > bytes->room) {
		bytes->room = (bytes->used + more) * 2;
		bytes->at = realloc(bytes->at, bytes->room);
		MUST(bytes->at);
	}
	void *at = bytes->at + bytes->used;
	memset(at, 0, more);
	bytes->used += more;
	return at;
}

size_t builder_padded(size_t bytes, size_t unit)
{
	return (bytes + unit - 1) / unit * unit;
}

struct track *builder_find(struct epp_builder *b, uint32_t track)
{
	MUST(track && track <= b->tracks_count);
	return &b->tracks[track - 1];
}

/* ---- blocks ---- */

static void segment_seal(uint8_t *segment)
{
	struct epf_segment header;
	memcpy(&header, segment, sizeof header);
	header.checksum = 0;
	header.checksum = checksum_crc32c(0, &header, sizeof header);
	memcpy(segment, &header, sizeof header);
}

void builder_seal_block(uint8_t *image, uint64_t offset)
{
	struct epf_block block;
	memcpy(&block, image + offset, sizeof block);
	block.checksum = 0;
	memcpy(image + offset, &block, sizeof block);
	block.checksum = checksum_crc32c(0, image + offset, sizeof block + block.payload_bytes);
	memcpy(image + offset, &block, sizeof block);
}

/* Returns the block's offset from the first segment. */
static size_t stream_append(const struct epp_builder *b, struct stream *stream, const struct epf_block *block,
                            const void *payload)
{
	size_t need = builder_padded(sizeof *block + block->payload_bytes, 8), segment_bytes = b->header.segment_bytes;

	MUST(EPF_SEGMENT_HEADER_BYTES + need <= segment_bytes);
	if (!stream->at || stream->at % segment_bytes == 0 || stream->at % segment_bytes + need > segment_bytes) {
		stream->at = stream->bytes.used + EPF_SEGMENT_HEADER_BYTES;
		uint8_t *segment = builder_grow(&stream->bytes, segment_bytes);
		struct epf_segment header = { .magic = EPF_SEGMENT_MAGIC, .number = ++stream->number };
		memcpy(segment, &header, sizeof header);
		segment_seal(segment);
	}
	struct epf_block header = *block;
	header.magic = EPF_BLOCK_MAGIC;
	size_t at = stream->at;
	memcpy(stream->bytes.at + at, &header, sizeof header);
	if (block->payload_bytes)
		memcpy(stream->bytes.at + at + sizeof header, payload, block->payload_bytes);
	builder_seal_block(stream->bytes.at, at);
	stream->at += need;
	return at;
}

void builder_append_plain(const struct epp_builder *b, struct stream *stream, enum epf_block_type type,
                          const void *payload, size_t bytes)
{
	struct epf_block block = { .type = (uint16_t)type,
		                   .payload_bytes = (uint32_t)bytes,
		                   .run = b->live.run,
		                   .first_ticks = UINT64_MAX,
		                   .own_first_ticks = UINT64_MAX };
	if (bytes)
		stream_append(b, stream, &block, payload);
}

void builder_append_region(const struct epp_builder *b, struct stream *stream, const struct region *region)
{
	struct codec_writer writer;
	uint8_t *payload = malloc(CODEC_BOUND(region->records.used));
	MUST(payload);
	codec_begin(&writer, payload, region->open_ids, region->header.open_count);
	for (size_t at = 0; at < region->records.used;) {
		struct epf_record record;
		memcpy(&record, region->records.at + at, sizeof record);
		at += sizeof record;
		codec_append(&writer, &record, (const struct epf_arg *)(region->records.at + at));
		at += record.arg_slots * sizeof(struct epf_arg);
	}
	struct epf_block block = { .type = EPF_BLOCK_RECORDS,
		                   .sequence = region->header.sequence,
		                   .run = region->header.run,
		                   .track = region->header.track,
		                   .slot = region->header.slot,
		                   .first_id = region->header.first_id };
	codec_finish(&writer, &block);
	stream_append(b, stream, &block, payload);
	free(payload);
}

/* Appends definitions, in as many blocks as needed. */
static void append_definitions(const struct epp_builder *b, struct stream *stream)
{
	size_t most = b->header.segment_bytes - EPF_SEGMENT_HEADER_BYTES - sizeof(struct epf_block), from = 0, at = 0;

	while (at < b->definitions.used) {
		struct epf_definition head;
		memcpy(&head, b->definitions.at + at, sizeof head);
		size_t next = at + sizeof head + builder_padded(head.bytes, 8);
		if (next - from > most) {
			builder_append_plain(b, stream, EPF_BLOCK_DEFINITIONS, b->definitions.at + from, at - from);
			from = at;
		}
		at = next;
	}
	builder_append_plain(b, stream, EPF_BLOCK_DEFINITIONS, b->definitions.at + from, at - from);
}

uint64_t builder_block(struct epp_builder *b, const struct epf_block *block, const void *payload)
{
	return b->header.segments_offset + stream_append(b, &b->stream, block, payload);
}

void builder_definitions_to_block(struct epp_builder *b)
{
	append_definitions(b, &b->stream);
	b->definitions.used = 0;
}

void builder_define(struct epp_builder *b, uint32_t type, const void *body, size_t bytes)
{
	struct epf_definition head = { .bytes = (uint32_t)bytes, .type = type };
	struct bytes payload = { 0 };
	uint8_t *at = builder_grow(&payload, sizeof head + builder_padded(bytes, 8));
	memcpy(at, &head, sizeof head);
	if (bytes)
		memcpy(at + sizeof head, body, bytes);
	builder_block(b, &(struct epf_block){ .type = EPF_BLOCK_DEFINITIONS, .payload_bytes = (uint32_t)payload.used },
	              payload.at);
	free(payload.at);
}

/* ---- builder ---- */

/* Reserves room for the maximum of threads and regions; fixed here so that block offsets are known early. */
static void lay_out(struct epp_builder *b)
{
	struct epf_header *h = &b->header;
	h->live_offset = EPF_PAGE_BYTES;
	h->slots_offset = h->live_offset + EPF_PAGE_BYTES + EPF_PRODUCERS_BYTES;
	h->log_offset = h->slots_offset + (uint64_t)h->slot_count * h->slot_bytes;
	h->chunks_offset = h->log_offset + h->log_bytes;
	h->segments_offset = h->chunks_offset + (uint64_t)h->chunk_count * h->chunk_bytes;
}

void builder_geometry(struct epp_builder *b, uint32_t slot_count, uint32_t chunk_count, uint32_t chunk_bytes,
                      uint32_t log_bytes, uint32_t segment_bytes)
{
	b->header.slot_count = slot_count;
	b->header.chunk_count = chunk_count;
	b->header.chunk_bytes = chunk_bytes;
	b->header.log_bytes = log_bytes;
	b->header.segment_bytes = segment_bytes;
	lay_out(b);
}

static const char *const reserved_names[] = {
	NULL, "", "(pending)", "(name lost)", "(track switch)", "parent", "(clock pair)", "(end)", "flow", "value"
};

void builder_define_name(struct epp_builder *b, uint32_t number, const char *text, size_t bytes)
{
	struct epf_definition head = { .bytes = (uint32_t)(4 + bytes), .type = EPF_DEFINE_NAME };
	uint8_t *at = builder_grow(&b->definitions, sizeof head + builder_padded(head.bytes, 8));
	memcpy(at, &head, sizeof head);
	memcpy(at + sizeof head, &number, 4);
	if (bytes)
		memcpy(at + sizeof head + 4, text, bytes);
}

struct epp_builder *builder_create(void)
{
	struct epp_builder *b = calloc(1, sizeof *b);
	MUST(b);
	struct epf_header *h = &b->header;
	memcpy(h->magic, EPF_MAGIC, sizeof h->magic);
	h->version = EPF_VERSION;
	h->byte_order = EPF_BYTE_ORDER;
	h->header_bytes = EPF_PAGE_BYTES;
	memcpy(h->file_id, "epprof test file", 16);
	h->slot_bytes = EPF_SLOT_BYTES;
	builder_geometry(b, 8, 8, EPF_CHUNK_BYTES, 1u << 17, 1u << 18);
	h->created_unix_ns = (uint64_t)BUILDER_REALTIME_NS;
	h->source = (struct epf_source){ .pid = 0x7ffffff0,
		                         .clock = EPF_CLOCK_MONOTONIC,
		                         .ticks_per_second = 1000000000,
		                         .boot_id = "not this machine",
		                         .hostname = "builder",
		                         .program = "test",
		                         .label = "built",
		                         .process_start_ns = (uint64_t)BUILDER_REALTIME_NS };
	b->next_sequence = 1;
	b->next_name = EPF_NAME_FIRST_FREE;
	b->next_id_block = 1700000000000000000ull;
	b->next_device_id = 1ull << 62;
	for (uint32_t name = 1; name < sizeof reserved_names / sizeof *reserved_names; name++)
		builder_define_name(b, name, reserved_names[name], strlen(reserved_names[name]));
	builder_run_start(b, BUILDER_START);
	return b;
}

void builder_destroy(struct epp_builder *b)
{
	if (!b)
		return;
	for (uint32_t i = 0; i < b->tracks_count; i++)
		free(b->tracks[i].region.records.at);
	for (size_t i = 0; i < b->kept_count; i++)
		free(b->kept[i].records.at);
	free(b->kept);
	free(b->tracks);
	free(b->stream.bytes.at);
	free(b->definitions.at);
	free(b->pairs.at);
	free(b);
}

struct epf_header *builder_header(struct epp_builder *b)
{
	return &b->header;
}

struct epf_live *builder_live(struct epp_builder *b)
{
	return &b->live;
}

struct epf_producer *builder_producer(struct epp_builder *b, unsigned index, const char *label)
{
	MUST(index < EPF_PRODUCER_COUNT);
	snprintf(b->producers[index].label, sizeof b->producers[index].label, "%s", label);
	return &b->producers[index];
}

epp_name builder_name_bytes(struct epp_builder *b, const char *text, size_t bytes)
{
	builder_define_name(b, b->next_name, text, bytes);
	return b->next_name++;
}

epp_name builder_name(struct epp_builder *b, const char *text)
{
	return builder_name_bytes(b, text, strlen(text));
}

/* ---- the file ---- */

void builder_seal_header(uint8_t *image)
{
	struct epf_header header, zeroed;
	memcpy(&header, image, sizeof header);
	zeroed = header;
	zeroed.state = 0;
	zeroed.checksum = 0;
	header.checksum = checksum_crc32c(0, &zeroed, offsetof(struct epf_header, checksum));
	memcpy(image, &header, sizeof header);
}

static size_t region_bytes(const struct region *region)
{
	return sizeof(struct epf_region) +
	       builder_padded(region->header.open_count * sizeof(uint64_t), EPF_RECORD_BYTES) + region->records.used;
}

static void region_copy(uint8_t *to, const struct region *region)
{
	memcpy(to, &region->header, sizeof region->header);
	to += sizeof region->header;
	memcpy(to, region->open_ids, region->header.open_count * sizeof(uint64_t));
	to += builder_padded(region->header.open_count * sizeof(uint64_t), EPF_RECORD_BYTES);
	memcpy(to, region->records.at, region->records.used);
}

static void image_window(const struct epp_builder *b, uint8_t *image)
{
	const struct epf_header *h = &b->header;
	uint32_t chunk = 0;

	memcpy(image + h->live_offset, &b->live, sizeof b->live);
	((struct epf_live *)(image + h->live_offset))->log_used = b->definitions.used;
	memcpy(image + h->live_offset + EPF_PAGE_BYTES, b->producers, sizeof b->producers);
	MUST(b->definitions.used <= h->log_bytes);
	if (b->definitions.used)
		memcpy(image + h->log_offset, b->definitions.at, b->definitions.used);
	for (size_t i = 0; i < b->kept_count; i++) {
		MUST(chunk < h->chunk_count && region_bytes(&b->kept[i]) <= h->chunk_bytes);
		region_copy(image + h->chunks_offset + (uint64_t)chunk++ * h->chunk_bytes, &b->kept[i]);
	}
	for (uint32_t i = 0; i < b->tracks_count; i++) {
		const struct track *track = &b->tracks[i];
		const struct region *region = &track->region;
		struct epf_slot *slot = NULL;
		if (track->is_thread) {
			struct epf_ledger_entry account = builder_account(b, track);
			slot = (struct epf_slot *)(image + h->slots_offset + (uint64_t)track->slot * h->slot_bytes);
			slot->state = EPF_SLOT_IN_USE;
			slot->run = b->live.run;
			slot->track = i + 1;
			slot->thread_id = track->definition.thread_id;
			slot->id_blocks = track->id_blocks;
			slot->next_id = track->next_id;
			slot->id_block_first = track->id_block_first;
			slot->id_block_end = track->id_block_first + 65536;
			memcpy(slot->thread_name, track->thread_name, sizeof slot->thread_name);
			memcpy(slot->lost, account.lost, sizeof slot->lost);
			slot->lost_idless = account.lost_idless;
			memcpy(slot->open, track->open, track->depth * sizeof *track->open);
		}
		if (!region->records.used)
			continue;
		if (slot && region_bytes(region) <= EPF_SLOT_REGION_BYTES) {
			region_copy(slot->region, region);
		} else {
			MUST(chunk < h->chunk_count && region_bytes(region) <= h->chunk_bytes);
			region_copy(image + h->chunks_offset + (uint64_t)chunk++ * h->chunk_bytes, region);
		}
	}
}

uint8_t *builder_image(struct epp_builder *b, enum epf_state state, size_t *bytes)
{
	if (state == EPF_FINISHED && !b->live.run_end_ticks)
		builder_run_end(b, b->last_ticks > BUILDER_START ? b->last_ticks + 1000 : BUILDER_START + 1000);

	struct stream stream = b->stream;
	stream.bytes.at = malloc(b->stream.bytes.room + 1);
	MUST(stream.bytes.at);
	if (b->stream.bytes.used)
		memcpy(stream.bytes.at, b->stream.bytes.at, b->stream.bytes.used);
	if (state == EPF_FINISHED) {
		append_definitions(b, &stream);
		for (size_t i = 0; i < b->kept_count; i++)
			if (!b->kept[i].in_block)
				builder_append_region(b, &stream, &b->kept[i]);
		size_t producers = EPF_PRODUCER_COUNT;
		while (producers && !b->producers[producers - 1].label[0])
			producers--;
		builder_append_plain(b, &stream, EPF_BLOCK_PRODUCERS, b->producers, producers * sizeof *b->producers);
	}
	builder_append_plain(b, &stream, EPF_BLOCK_HOST_PAIRS, b->pairs.at, b->pairs.used);

	size_t window = b->header.segments_offset;
	uint8_t *image = calloc(1, window + stream.bytes.used);
	MUST(image);
	memcpy(image, &b->header, sizeof b->header);
	((struct epf_header *)image)->state = state;
	builder_seal_header(image);
	if (state == EPF_RECORDING)
		image_window(b, image);
	if (stream.bytes.used)
		memcpy(image + window, stream.bytes.at, stream.bytes.used);
	free(stream.bytes.at);
	*bytes = window + stream.bytes.used;
	return image;
}

void builder_write(struct epp_builder *b, enum epf_state state, const char *path)
{
	size_t bytes;
	uint8_t *image = builder_image(b, state, &bytes);
	FILE *file = fopen(path, "wb");
	MUST(file);
	MUST(fwrite(image, 1, bytes, file) == bytes);
	MUST(fclose(file) == 0);
	free(image);
}

/* ---- a reader's source over memory ---- */

struct memory {
	const uint8_t *image;
	size_t bytes;
	uint8_t *owned; /* freed at close */
};

static size_t memory_read(void *user, uint64_t offset, void *buffer, size_t bytes)
{
	const struct memory *memory = user;

	if (offset >= memory->bytes)
		return 0;
	if (bytes > memory->bytes - offset)
		bytes = (size_t)(memory->bytes - offset);
	memcpy(buffer, memory->image + offset, bytes);
	return bytes;
}

static void memory_close(void *user)
{
	struct memory *memory = user;
	free(memory->owned);
	free(memory);
}

struct reader_source builder_source(const uint8_t *image, size_t bytes)
{
	struct memory *memory = malloc(sizeof *memory);
	MUST(memory);
	*memory = (struct memory){ image, bytes, NULL };
	return (struct reader_source){ memory_read, memory_close, memory };
}

static epp_status *open_source(const struct reader_source *source, epp_trace **trace)
{
	*trace = malloc(sizeof **trace);
	MUST(*trace);
	epp_status *status = reader_open(source, NULL, &(*trace)->reader);
	if (status) {
		free(*trace);
		*trace = NULL;
	}
	return status;
}

epp_status *builder_open_image(const uint8_t *image, size_t bytes, epp_trace **trace)
{
	struct reader_source source = builder_source(image, bytes);
	return open_source(&source, trace);
}

epp_trace *builder_open(struct epp_builder *b, enum epf_state state)
{
	size_t bytes;
	uint8_t *image = builder_image(b, state, &bytes);
	struct reader_source source = builder_source(image, bytes);
	((struct memory *)source.user)->owned = image;
	epp_trace *trace;
	epp_status *status = open_source(&source, &trace);
	if (status)
		builder_must(epp_status_message(status), __FILE__, __LINE__);
	return trace;
}

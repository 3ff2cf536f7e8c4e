/* Scans a .epp image for tests: see trace_scan.h.  The sequence numbers of blocks are collected first, because a region
 * counts only if no block has it. */
#include "trace_scan.h"
#include "format/format_slot.h"

#include <bsd/string.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os/os.h"
#include "codec/checksum.h"
#include "tests/support/number_set.h"

#define ARG_POOL 65536u

/* ---- lists ---- */

static void *grow(void *list, size_t count, size_t item_bytes)
{
	if (count && (count & (count - 1)))
		return list;
	size_t room = count ? count * 2 : 1;
	list = reallocarray(list, room, item_bytes);
	if (!list)
		abort();
	return list;
}

#define APPEND(list, count, item) \
	do { \
		(list) = grow((list), (count), sizeof(*(list))); \
		(list)[(count)++] = (item); \
	} while (0)

/* ---- the scan ---- */

struct scanner {
	struct trace_scan *scan;
	struct numbers sequences; /* of blocks */
	struct numbers stacked;   /* ids on open stacks */
	struct numbers ended;     /* those of them that an event record or an orphan end contains */
	struct scan_arg args[EPF_ARG_SLOTS_MAX + 2];
	struct codec_record *decoded;
	scan_record_fn tell;
	void *user;
};

static void fail(struct scanner *scanner, const char *what)
{
	if (!scanner->scan->error)
		scanner->scan->error = what;
}

static const struct scan_arg *keep_args(struct trace_scan *scan, const struct scan_arg *args, size_t count)
{
	if (!count)
		return NULL;
	if (!scan->arg_pools_count || scan->arg_pool_used + count > ARG_POOL) {
		if (scan->arg_pools_count == 4096)
			abort();
		scan->arg_pool[scan->arg_pools_count++] = calloc(ARG_POOL, sizeof(*args));
		scan->arg_pool_used = 0;
	}
	struct scan_arg *kept = scan->arg_pool[scan->arg_pools_count - 1] + scan->arg_pool_used;
	scan->arg_pool_used += count;
	memcpy(kept, args, count * sizeof(*args));
	return kept;
}

static void take_record(struct scanner *scanner, struct scan_record *record)
{
	unsigned kind = EPF_BITS_KIND(record->bits);
	if (kind == EPF_TRACK_SWITCH) {
		record->track = record->id ? (uint32_t)record->id : record->owner;
		return;
	}
	if ((kind == EPF_EVENT || kind == EPF_ORPHAN_END) && numbers_has(&scanner->stacked, record->id))
		numbers_add(&scanner->ended, record->id);
	if (scanner->tell) {
		scanner->tell(scanner->user, record);
		return;
	}
	struct scan_record kept = *record;
	kept.args = keep_args(scanner->scan, record->args, record->args_count);
	APPEND(scanner->scan->records, scanner->scan->records_count, kept);
}

/* ---- blocks ---- */

static void define(struct scanner *scanner, const uint8_t *payload, size_t bytes)
{
	struct trace_scan *scan = scanner->scan;
	struct epf_definition head;
	for (size_t at = 0; at < bytes; at += sizeof(head) + ((head.bytes + 7) & ~(size_t)7)) {
		if (bytes - at < sizeof(head)) {
			fail(scanner, "a definition is cut");
			return;
		}
		memcpy(&head, payload + at, sizeof(head));
		const uint8_t *body = payload + at + sizeof(head);
		if (head.bytes > bytes - at - sizeof(head)) {
			fail(scanner, "a definition reaches beyond its block");
			return;
		}
		if (head.type == EPF_DEFINE_NAME) {
			uint32_t name;
			memcpy(&name, body, sizeof(name));
			while (scan->names_count <= name)
				APPEND(scan->names, scan->names_count, ((struct scan_name){ NULL, 0 }));
			scan->names[name] = (struct scan_name){ body + sizeof(name), head.bytes - (uint32_t)sizeof(name) };
		} else if (head.type == EPF_DEFINE_TRACK) {
			struct scan_track track = { 0 };
			memcpy(&track.definition, body, sizeof(track.definition));
			if (head.bytes !=
			        sizeof(track.definition) + track.definition.name_bytes + track.definition.group_bytes ||
			    track.definition.name_bytes > 255 || track.definition.group_bytes > 255) {
				fail(scanner, "a track's lengths are wrong");
				return;
			}
			body += sizeof(track.definition);
			memcpy(track.name, body, track.definition.name_bytes);
			memcpy(track.group, body + track.definition.name_bytes, track.definition.group_bytes);
			while (scan->tracks_count <= track.definition.track)
				APPEND(scan->tracks, scan->tracks_count, ((struct scan_track){ .name = "" }));
			scan->tracks[track.definition.track] = track;
		} else if (head.type == EPF_DEFINE_ARGS) {
			if (head.bytes < sizeof(uint32_t) || (head.bytes - sizeof(uint32_t)) % sizeof(struct epf_arg))
				fail(scanner, "args' bytes are wrong");
		} else {
			fail(scanner, "a definition of no known type");
		}
	}
}

static void records_block(struct scanner *scanner, const struct epf_block *block, const uint8_t *payload)
{
	uint64_t open_ids[EPF_OPEN_MAX];
	uint32_t count, room = CODEC_PAYLOAD_ROOM(block->payload_bytes);
	struct codec_payload args = { malloc(room), block->payload_bytes, room };
	memcpy(args.bytes, payload, block->payload_bytes);
	if (!codec_decode(block, &args, open_ids, scanner->decoded, &count)) {
		fail(scanner, "a block of records does not decode");
		free(args.bytes);
		return;
	}
	struct scan_record record = { .track = block->track };
	for (uint32_t i = 0; i < count; i++) {
		const struct codec_record *from = &scanner->decoded[i];
		record = (struct scan_record){
			.start_ticks = from->start_ticks,
			.duration_ticks = from->duration_ticks,
			.id = from->id,
			.name = from->name,
			.bits = from->bits,
			.args_count = from->args_count,
			.track = record.track,
			.owner = block->track,
			.run = block->run,
			.args = scanner->args,
		};
		uint32_t at = from->args_offset;
		for (uint32_t a = 0; a < from->args_count; a++) {
			struct codec_arg arg;
			at = codec_arg(args.bytes, args.count, at, &arg);
			scanner->args[a] = (struct scan_arg){ arg.key, arg.type, arg.value, arg.text, arg.text_bytes };
			if (arg.type != EPP_ARG_TEXT)
				scanner->args[a].text = NULL, scanner->args[a].text_bytes = 0;
		}
		take_record(scanner, &record);
	}
	if (scanner->tell)
		free(args.bytes);
	else
		APPEND(scanner->scan->payloads, scanner->scan->payloads_count, args.bytes);
}

#define EACH(type, item, payload, bytes) \
	for (type item; (bytes) >= sizeof(item) && (memcpy(&item, (payload), sizeof(item)), true); \
	     (payload) += sizeof(item), (bytes) -= sizeof(item))

/* The session's own losses are cumulative: the last entry has the total. */
static void take_account(struct trace_scan *scan, const struct epf_ledger_entry *entry)
{
	for (size_t i = 0; i < scan->ledger_count && !entry->track; i++)
		if (!scan->ledger[i].track) {
			scan->ledger[i] = *entry;
			return;
		}
	APPEND(scan->ledger, scan->ledger_count, *entry);
}

static void take_block(struct scanner *scanner, const struct epf_block *block, const uint8_t *payload)
{
	struct trace_scan *scan = scanner->scan;
	size_t bytes = block->payload_bytes;
	if (block->type < 16)
		scan->blocks_count[block->type]++;
	switch (block->type) {
	case EPF_BLOCK_RECORDS:
		if (block->sequence && !numbers_add(&scanner->sequences, block->sequence))
			fail(scanner, "a sequence stands in two blocks");
		records_block(scanner, block, payload);
		break;
	case EPF_BLOCK_DEFINITIONS:
		define(scanner, payload, bytes);
		break;
	case EPF_BLOCK_HOST_PAIRS:
		EACH(struct epf_host_pair, pair, payload, bytes)
		APPEND(scan->pairs, scan->pairs_count, pair);
		break;
	case EPF_BLOCK_LEDGER:
		EACH(struct epf_ledger_entry, entry, payload, bytes)
		take_account(scan, &entry);
		break;
	case EPF_BLOCK_PRODUCERS:
		memcpy(scan->producers, payload, bytes < sizeof(scan->producers) ? bytes : sizeof(scan->producers));
		break;
	case EPF_BLOCK_RUN:
		EACH(struct epf_run, run, payload, bytes)
		APPEND(scan->runs, scan->runs_count, run);
		break;
	default:
		fail(scanner, "a block of no known type");
	}
}

static void take_segments(struct scanner *scanner)
{
	struct trace_scan *scan = scanner->scan;
	for (uint64_t number = 1;; number++) {
		uint64_t start = scan->header.segments_offset + (number - 1) * scan->header.segment_bytes;
		uint64_t end = start + scan->header.segment_bytes;
		struct epf_segment segment;
		if (start + sizeof(segment) > scan->bytes_count)
			return;
		memcpy(&segment, scan->bytes + start, sizeof(segment));
		uint32_t checksum = segment.checksum;
		segment.checksum = 0;
		if (segment.magic != EPF_SEGMENT_MAGIC || checksum != checksum_crc32c(0, &segment, sizeof(segment)))
			return;
		if (segment.number != number)
			fail(scanner, "a segment has another number");
		scan->segments_count++;
		if (end > scan->bytes_count)
			end = scan->bytes_count;
		for (uint64_t at = start + EPF_SEGMENT_HEADER_BYTES; at + sizeof(struct epf_block) <= end;) {
			struct epf_block block;
			memcpy(&block, scan->bytes + at, sizeof(block));
			uint32_t sum = block.checksum;
			if (block.magic != EPF_BLOCK_MAGIC || block.payload_bytes > end - at - sizeof(block))
				break;
			block.checksum = 0;
			const uint8_t *payload = scan->bytes + at + sizeof(block);
			if (sum != checksum_crc32c(checksum_crc32c(0, &block, sizeof(block)), payload, block.payload_bytes))
				break;
			take_block(scanner, &block, payload);
			at = (at + sizeof(block) + block.payload_bytes + 7) & ~(uint64_t)7;
		}
	}
}

/* ---- the window ---- */

static void take_region(struct scanner *scanner, const uint8_t *bytes, size_t bytes_count)
{
	struct epf_region region;
	memcpy(&region, bytes, sizeof(region));
	if (!region.sequence || region.sequence_used != region.sequence)
		return;
	if (numbers_has(&scanner->sequences, region.sequence)) {
		scanner->scan->dropped_regions_count++;
		return;
	}
	scanner->scan->window_regions_count++;
	struct scan_record record = { .track = region.track };
	for (size_t at = sizeof(region) + (region.open_count + 3) / 4 * 32;
	     at + sizeof(struct epf_record) <= bytes_count;) {
		struct epf_record from;
		memcpy(&from, bytes + at, sizeof(from));
		if (!from.tail)
			break;
		at += sizeof(from);
		size_t end = at + from.arg_slots * sizeof(struct epf_arg);
		if (end > bytes_count) {
			fail(scanner, "a record reaches beyond its region");
			return;
		}
		record = (struct scan_record){
			.start_ticks = from.start_ticks,
			.duration_ticks = from.duration_ticks,
			.id = from.id,
			.name = epf_tail_name(from.tail),
			.bits = from.bits,
			.track = record.track,
			.owner = region.track,
			.run = region.run,
			.in_window = true,
			.args = scanner->args,
		};
		while (at < end) {
			struct epf_arg arg;
			memcpy(&arg, bytes + at, sizeof(arg));
			at += sizeof(arg);
			uint32_t type = arg.type_and_bytes & 255, text_bytes = arg.type_and_bytes >> 8;
			if (record.args_count > EPF_ARG_SLOTS_MAX)
				fail(scanner, "a record has too many args");
			else
				scanner->args[record.args_count++] = (struct scan_arg){
					arg.key, type, arg.value, type == EPP_ARG_TEXT ? bytes + at : NULL, text_bytes
				};
			at += (text_bytes + 15) / 16 * 16;
		}
		if (at != end)
			fail(scanner, "a record's args do not fill their slots");
		take_record(scanner, &record);
	}
}

static void take_slot(struct scanner *scanner, uint32_t index, const struct epf_slot *slot)
{
	struct trace_scan *scan = scanner->scan;
	if (slot->state != EPF_SLOT_IN_USE && slot->state != EPF_SLOT_LEFT)
		return;
	for (uint32_t i = 0; i < EPF_OPEN_MAX; i++) {
		const struct epf_open *open = &slot->open[i];
		if (!open->tail || numbers_has(&scanner->ended, open->id))
			continue;
		struct scan_open kept = { open->start_ticks, open->id, epf_tail_name(open->tail),
			                  open->bits,        index,    slot->track };
		APPEND(scan->open, scan->open_count, kept);
	}
	for (size_t i = 0; i < scan->ledger_count; i++)
		if (scan->ledger[i].track == slot->track)
			return;
	struct epf_ledger_entry entry = {
		.track = slot->track,
		.run = slot->run,
		.ids_taken = epf_slot_ids_taken(slot),
		.lost_idless = slot->lost_idless,
	};
	memcpy(entry.lost, slot->lost, sizeof(entry.lost));
	entry.lost[EPP_LOSS_DISK] += epf_slot_lost_disk(slot);
	entry.lost[EPP_LOSS_POLICY] += epf_slot_lost_policy(slot);
	APPEND(scan->ledger, scan->ledger_count, entry);
}

/* First pass: collects the ids on open stacks. */
static void look_at_stacks(struct scanner *scanner)
{
	struct trace_scan *scan = scanner->scan;
	const struct epf_header *header = &scan->header;
	if (scan->bytes_count < header->segments_offset) {
		fail(scanner, "the window is cut");
		return;
	}
	memcpy(&scan->live, scan->bytes + header->live_offset, sizeof(scan->live));
	scan->slots = calloc(header->slot_count, sizeof(*scan->slots));
	memcpy(scan->slots, scan->bytes + header->slots_offset, header->slot_count * sizeof(*scan->slots));
	for (uint32_t i = 0; i < header->slot_count; i++)
		for (uint32_t d = 0; d < EPF_OPEN_MAX; d++)
			if (scan->slots[i].state == EPF_SLOT_IN_USE && scan->slots[i].open[d].tail)
				numbers_add(&scanner->stacked, scan->slots[i].open[d].id);
}

static void take_window(struct scanner *scanner)
{
	struct trace_scan *scan = scanner->scan;
	const struct epf_header *header = &scan->header;
	memcpy(scan->producers, scan->bytes + header->live_offset + EPF_PAGE_BYTES, sizeof(scan->producers));
	define(scanner, scan->bytes + header->log_offset, EPF_LOG_USED(scan->live.log_used));
	const uint8_t *extents = scan->bytes + header->chunks_offset + (size_t)header->chunk_count * header->chunk_bytes;
	for (unsigned i = 0; i < EPF_LOG_EXTENTS && scan->live.extents_used[i]; i++)
		define(scanner, extents + (size_t)i * header->log_bytes, EPF_LOG_USED(scan->live.extents_used[i]));
	for (uint32_t i = 0; i < header->slot_count; i++)
		take_region(scanner, scan->slots[i].region, EPF_SLOT_REGION_BYTES);
	for (uint32_t i = 0; i < header->chunk_count; i++)
		take_region(scanner, scan->bytes + header->chunks_offset + (size_t)i * header->chunk_bytes,
		            header->chunk_bytes);
	struct epf_ledger_entry own = { .run = scan->live.run };
	for (unsigned reason = 0; reason < EPF_LOSS_COUNT; reason++) {
		own.lost[reason] = scan->live.lost[reason];
		own.lost_idless += reason == EPP_LOSS_TOO_LARGE ? 0 : own.lost[reason];
	}
	if (own.lost_idless || own.lost[EPP_LOSS_TOO_LARGE])
		take_account(scan, &own);
	for (uint32_t i = 0; i < header->slot_count; i++)
		take_slot(scanner, i, &scan->slots[i]);
}

static void check_header(struct scanner *scanner)
{
	struct trace_scan *scan = scanner->scan;
	if (scan->bytes_count < EPF_PAGE_BYTES) {
		fail(scanner, "no header");
		return;
	}
	memcpy(&scan->header, scan->bytes, sizeof(scan->header));
	struct epf_header plain = scan->header;
	plain.state = 0;
	plain.checksum = 0;
	if (memcmp(plain.magic, EPF_MAGIC, sizeof(plain.magic)) != 0 || plain.version != EPF_VERSION)
		fail(scanner, "no .epp file");
	else if (scan->header.checksum != checksum_crc32c(0, &plain, offsetof(struct epf_header, checksum)))
		fail(scanner, "the header's checksum is wrong");
	else if (scan->header.state != EPF_RECORDING && scan->header.state != EPF_FINISHED)
		fail(scanner, "the header's state is unknown");
}

struct trace_scan *trace_scan_bytes(uint8_t *bytes, size_t bytes_count, scan_record_fn tell, void *user)
{
	struct trace_scan *scan = calloc(1, sizeof(*scan));
	struct scanner *scanner = calloc(1, sizeof(*scanner));
	*scanner = (struct scanner){ .scan = scan, .tell = tell, .user = user };
	scanner->decoded = calloc(CODEC_RECORDS_MAX, sizeof(*scanner->decoded));
	scan->bytes = bytes;
	scan->bytes_count = bytes_count;
	check_header(scanner);
	if (!scan->error && scan->header.state == EPF_RECORDING)
		look_at_stacks(scanner);
	if (!scan->error)
		take_segments(scanner);
	if (!scan->error && scan->header.state == EPF_RECORDING)
		take_window(scanner);
	free(scanner->sequences.slots);
	free(scanner->stacked.slots);
	free(scanner->ended.slots);
	free(scanner->decoded);
	free(scanner);
	return scan;
}

/* Reads from the start to the end of the file, even if it grows meanwhile.  Of a file that is being written, the window
 * must be read before the blocks, so that records that move from the window to a block meanwhile are seen twice and not
 * missed. */
struct trace_scan *trace_scan_file_each(const char *path, scan_record_fn tell, void *user)
{
	int fd = os_file_open(path, true);
	size_t room = EPF_SEGMENTS_OFFSET + (4u << 20), done = 0;
	uint8_t *bytes = malloc(room);
	for (int64_t part; fd >= 0 && (part = os_file_read_at(fd, bytes + done, room - done, done)) > 0;) {
		done += (size_t)part;
		if (done == room)
			bytes = realloc(bytes, room *= 2);
	}
	if (fd >= 0)
		close(fd);
	return trace_scan_bytes(bytes, done, tell, user);
}

struct trace_scan *trace_scan_file(const char *path)
{
	return trace_scan_file_each(path, NULL, NULL);
}

struct trace_scan *trace_scan_session(epp_session *session)
{
	size_t room = EPF_SEGMENTS_OFFSET + (64u << 20), done = 0;
	uint8_t *bytes = malloc(room);
	for (size_t part; (part = epp_session_read(session, done, bytes + done, room - done)) > 0;) {
		done += part;
		if (done == room)
			bytes = realloc(bytes, room *= 2);
	}
	return trace_scan_bytes(bytes, done, NULL, NULL);
}

void trace_scan_free(struct trace_scan *scan)
{
	for (size_t i = 0; i < scan->arg_pools_count; i++)
		free(scan->arg_pool[i]);
	for (size_t i = 0; i < scan->payloads_count; i++)
		free(scan->payloads[i]);
	free(scan->payloads);
	free(scan->slots);
	free(scan->records);
	free(scan->open);
	free(scan->ledger);
	free(scan->runs);
	free(scan->pairs);
	free(scan->names);
	free(scan->tracks);
	free(scan->bytes);
	free(scan);
}

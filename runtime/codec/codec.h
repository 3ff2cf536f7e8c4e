/* The encoding of records and their args in blocks (EPF_BLOCK_RECORDS): by row, delta and varint; a plain event takes
 * 5 to 8 bytes.
 *
 * A payload: open_count ids (varint: the first as it is, then zigzag deltas), then record_count records:
 *   shape      1 byte    CODEC_* bits, all others 0
 *   end        zigzag varint of end - previous end (the first: from 0), end = start + duration, modulo 2^64
 *   duration   varint
 *   id         zigzag varint of id - previous id - 1, unless CODEC_NEXT_ID (then it is 0)
 *   name       varint, unless CODEC_SAME_NAME
 *   bits       2 bytes, little-endian, if CODEC_NEW_BITS
 *   args       if CODEC_ARGS: varint count, varint bytes, then per arg: varint key, type byte, then zigzag varint (i64),
 *              varint (u64), 8 bytes little-endian (f64) or varint length and the bytes (text).
 *              If CODEC_SAME_KEYS too: only the values. Keys, types and lengths of texts are those of the last record of
 *              the block that has them: at most CODEC_KEYS_MAX args, keys below 2^14. A text is a varint: 0 and its
 *              bytes, or how many bytes before this varint the same bytes begin. Version 2 of the format
 * All `previous` values start at zero in each block, so that a block can be decoded alone. Readers do not trust any
 * length. The recording side encodes; the reader decodes. The reader also encodes regions of the window, so that it can
 * decode all records in the same way. */
#ifndef EPPROF_RUNTIME_CODEC_CODEC_H
#define EPPROF_RUNTIME_CODEC_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/block_times.h"
#include "format/format.h"

enum { CODEC_NEW_BITS = 1, CODEC_ARGS = 2, CODEC_SAME_NAME = 4, CODEC_NEXT_ID = 8, CODEC_SAME_KEYS = 16 };

/* The maximum size of an encoded region of `bytes`, without the block header. */
#define CODEC_BOUND(bytes) ((bytes)*2 + 1024)
/* As CODEC_BOUND, if records refer to defined args (EPF_NAME_ARGS). Each reference takes at least one slot of its
 * record. */
#define CODEC_BOUND_DEFINED(bytes) \
	(CODEC_BOUND(bytes) + \
	 (bytes) / (EPF_RECORD_BYTES + EPF_DEFINED_MAX * 16u) * EPF_DEFINED_MAX * EPF_DEFINED_SLOTS_MAX * 16u)
/* The maximum size of decoded records that are encoded again. Their args take `args_bytes` in total. */
#define CODEC_BOUND_DECODED(records_count, args_bytes) ((size_t)(records_count)*64 + (args_bytes) + 1024)

/* The keys, types and text lengths of the args of the last record that has them. */
#define CODEC_KEYS_MAX 7u
struct codec_keys {
	uint32_t slots;              /* the number of slots of that record; 0: the next record with args is encoded with
	                                keys */
	uint32_t bytes;              /* the size of these keys, types and texts in the encoding that codec_arg reads,
	                                without the numbers */
	uint32_t integers_count;     /* the number of args if all are integers, else 0 */
	uint64_t of[CODEC_KEYS_MAX]; /* for each arg the first 8 bytes of its slot */
};

#define CODEC_TEXTS 64u

/* The part of the state that each record changes. */
struct codec_state {
	uint8_t *at;
	uint64_t previous_end, previous_id;
	uint32_t previous_name;
	uint16_t previous_bits;
	uint32_t record_count;
	struct block_times times;
};

/* Appends records one by one to a payload, and computes the statistics in the block's header. */
struct codec_writer {
	uint8_t *start;
	struct codec_state state;
	uint32_t open_count;
	const uint64_t *open_ids;

	/* Returns the slots of defined args, or NULL if they are not defined. The caller may set this callback after
	 * codec_begin. */
	const struct epf_arg *(*defined)(const void *user, uint32_t number, uint32_t *slots);
	const void *defined_user;
	uint32_t cut_count; /* the number of records that were marked EPF_FLAG_CUT, because args to which they refer are
	                       not defined or exceed a limit */

	struct codec_keys keys;
	size_t appended_bytes;       /* an upper bound of the bytes that codec_decode will append behind the payload */
	uint32_t texts[CODEC_TEXTS]; /* by text_hash: the offset in the payload of the last text with this hash; 0:
	                                none */
};

/* Begins a payload. `payload` must have room for CODEC_BOUND(region bytes), or CODEC_BOUND_DEFINED if `defined` is
 * set. */
void codec_begin(struct codec_writer *writer, uint8_t *payload, const uint64_t *open_ids, uint32_t open_count);
/* Appends a record. `args` has record->arg_slots slots of 16 bytes, as in a region. References to defined args are
 * replaced by these args, so a payload contains no references. */
void codec_append(struct codec_writer *writer, const struct epf_record *record, const struct epf_arg *args);
/* Appends consecutive records with their args, up to `end` or to one that was not published; takes about half the time
 * of single calls. Adds the number of records of `kinds` (bits 1 << enum epf_kind) to `*count`. Returns the position of
 * the first record that was not appended. */
const uint8_t *codec_append_region(struct codec_writer *writer, const uint8_t *at, const uint8_t *end, unsigned kinds,
                                   uint64_t *count);
/* Finds the numbers of the defined args to which a record's slots refer. Returns how many there are. */
uint32_t codec_defined_numbers(const struct epf_arg *args, uint32_t slots, uint32_t numbers[EPF_DEFINED_MAX]);
struct codec_record;
/* Appends a record that codec_decode returned. `args` is the payload to which its args_offset refers. */
void codec_append_decoded(struct codec_writer *writer, const struct codec_record *record, const uint8_t *args,
                          uint32_t args_bytes);
/* Fills in the fields of `block` that depend on the records (payload_bytes, kinds, counts, ticks). The caller fills in
 * the rest. */
void codec_finish(const struct codec_writer *writer, struct epf_block *block);

/* A decoded record. Its args are still in the payload. */
struct codec_record {
	uint64_t start_ticks;
	uint64_t duration_ticks;
	uint64_t id;
	uint32_t name;
	uint16_t bits;
	uint16_t args_count;
	uint32_t args_offset; /* the offset from the payload's start, which may be behind the payload's end (see struct
	                         codec_payload); 0: no args */
};

/* Returns the end of a record in host ticks. If the clock went back in between, this is the start. If the sum
 * overflows, it is UINT64_MAX. */
static inline uint64_t codec_end(uint64_t start_ticks, uint64_t duration_ticks)
{
	uint64_t end = start_ticks + duration_ticks;
	if (__builtin_expect(duration_ticks >> 63, 0))
		return start_ticks;
	return end < start_ticks ? UINT64_MAX : end;
}

/* The maximum number of bytes that codec_decode appends, as a multiple of the payload so far. An encoder stores args
 * with keys if they would exceed this limit. */
#define CODEC_APPENDED_MAX 4u

/* A payload to be decoded. If args were encoded without keys, codec_decode appends them with keys behind the payload,
 * in the encoding that codec_arg reads. */
struct codec_payload {
	uint8_t *bytes;
	uint32_t count; /* before decoding: the block's payload_bytes; after it: including the appended bytes */
	uint32_t room;  /* the capacity of `bytes`: CODEC_PAYLOAD_ROOM */
};
#define CODEC_PAYLOAD_ROOM(payload_bytes) ((1 + CODEC_APPENDED_MAX) * (payload_bytes) + 256)

/* Decodes a payload. `open_ids` has room for EPF_OPEN_MAX ids, `records` for block->record_count (at most
 * CODEC_RECORDS_MAX is accepted). Returns false if the payload does not match the header; then only the first
 * `*decoded` records are valid. */
#define CODEC_RECORDS_MAX 65536u
bool codec_decode(const struct epf_block *block, struct codec_payload *payload, uint64_t *open_ids,
                  struct codec_record *records, uint32_t *decoded);

/* Decodes one arg of a record; `at` is a position in the payload, at first record.args_offset. Returns the position of
 * the next arg, or 0 if the bytes are no valid arg. The first args_count args of a record that codec_decode accepted
 * are always valid. */
struct codec_arg {
	uint32_t key;
	uint32_t type;
	uint64_t value;      /* the bits of i64, u64 and f64 */
	const uint8_t *text; /* the text, if the type is text */
	uint32_t text_bytes;
};
uint32_t codec_arg(const uint8_t *payload, uint32_t payload_bytes, uint32_t at, struct codec_arg *arg);

/* Returns the parent in a record's first arg, which may be 0, and sets `*after` to the position of the next arg. If the
 * first arg is not a parent, returns 0 and leaves `*after` at the first arg. */
uint64_t codec_parent_arg(const uint8_t *payload, uint32_t payload_bytes, uint32_t *after);
static inline uint64_t codec_parent(const uint8_t *payload, uint32_t payload_bytes, const struct codec_record *record,
                                    uint32_t *after)
{
	*after = record->args_offset;
	return record->args_count ? codec_parent_arg(payload, payload_bytes, after) : 0;
}

#endif

/* Records as they lie in blocks (EPF_BLOCK_RECORDS): row-wise, delta and varint, 5 to 8 bytes a plain event.
 *
 * A payload: open_count ids (varint: the first as it is, then zigzag deltas), then record_count records:
 *   shape      1 byte    CODEC_* bits, others 0
 *   end        zigzag varint of end - previous end (the first: from 0), end = start + duration, modulo 2^64
 *   duration   varint
 *   id         zigzag varint of id - previous id - 1, unless CODEC_NEXT_ID (then it is 0)
 *   name       varint, unless CODEC_SAME_NAME
 *   bits       2 bytes, little-endian, if CODEC_NEW_BITS
 *   args       if CODEC_ARGS: varint count, varint bytes, then per arg: varint key, type byte, then zigzag varint (i64),
 *              varint (u64), 8 bytes little-endian (f64) or varint length and the bytes (text)
 * `previous` begins as all zero in each block, so blocks stand alone.  The writer is the helper; readers never trust a
 * length.  Used by record/ (encode) and trace/reader.c (decode; the window's regions are encoded first and then decoded).
 */
#ifndef EPPROF_RUNTIME_CODEC_CODEC_H
#define EPPROF_RUNTIME_CODEC_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/block_times.h"
#include "format/format.h"

enum { CODEC_NEW_BITS = 1, CODEC_ARGS = 2, CODEC_SAME_NAME = 4, CODEC_NEXT_ID = 8 };

/* The most a region of `bytes` can become, block header left out. */
#define CODEC_BOUND(bytes) ((bytes)*2 + 1024)
/* The same if its records name args that are defined (EPF_NAME_ARGS): each of them has a slot for each, at least. */
#define CODEC_BOUND_DEFINED(bytes) \
	(CODEC_BOUND(bytes) + \
	 (bytes) / (EPF_RECORD_BYTES + EPF_DEFINED_MAX * 16u) * EPF_DEFINED_MAX * EPF_DEFINED_SLOTS_MAX * 16u)
/* The most that decoded records can become, whose args take `args_bytes` in all. */
#define CODEC_BOUND_DECODED(records_count, args_bytes) ((size_t)(records_count)*64 + (args_bytes) + 1024)

/* What an arg's key and type, and its length if it is a text, become; of a record that has few. */
#define CODEC_HEADS 7u
struct codec_head {
	uint64_t of; /* the slot's first 8 bytes */
	uint32_t bytes;
	uint8_t bytes_count;
	uint8_t type;
};

/* What each record changes. */
struct codec_state {
	uint8_t *at;
	uint64_t previous_end, previous_id;
	uint32_t previous_name;
	uint16_t previous_bits;
	uint32_t record_count;
	struct block_times times;
};

/* Appends records one by one to a payload and keeps the block header's statistics. */
struct codec_writer {
	uint8_t *start;
	struct codec_state state;
	uint32_t open_count;
	const uint64_t *open_ids;

	/* The slots of args that records name; NULL: there are none of this number.  Set, or left NULL, behind codec_begin. */
	const struct epf_arg *(*defined)(const void *user, uint32_t number, uint32_t *slots);
	const void *defined_user;
	uint32_t cut_count; /* records that lack args for that */

	/* By the arg's place in its record: the next record's is most often like the last one's. */
	struct codec_head heads[CODEC_HEADS];
};

/* `payload` has CODEC_BOUND(region bytes) of room, CODEC_BOUND_DEFINED if `defined` is set. */
void codec_begin(struct codec_writer *writer, uint8_t *payload, const uint64_t *open_ids, uint32_t open_count);
/* `args`: record->arg_slots slots of 16 bytes as they lie in a region.  In a payload no arg names others: it has these. */
void codec_append(struct codec_writer *writer, const struct epf_record *record, const struct epf_arg *args);
/* The same of records that lie one behind the other with their args, up to `end` or to one that was not published; in half to
 * nine tenths of the time.  Adds to `*count` how many are of `kinds` (1 << enum epf_kind), and returns where it ended. */
const uint8_t *codec_append_region(struct codec_writer *writer, const uint8_t *at, const uint8_t *end, unsigned kinds,
                                   uint64_t *count);
/* The numbers of the args that a record's slots name; returns how many. */
uint32_t codec_defined_numbers(const struct epf_arg *args, uint32_t slots, uint32_t numbers[EPF_DEFINED_MAX]);
struct codec_record;
/* A record as codec_decode gives it; `args` is what its args_offset counts from. */
void codec_append_decoded(struct codec_writer *writer, const struct codec_record *record, const uint8_t *args,
                          uint32_t args_bytes);
/* Fills the fields of `block` that the records decide (payload_bytes, kinds, counts, ticks); the rest is the caller's. */
void codec_finish(const struct codec_writer *writer, struct epf_block *block);

/* A decoded record: `args` points into the payload. */
struct codec_record {
	uint64_t start_ticks;
	uint64_t duration_ticks;
	uint64_t id;
	uint32_t name;
	uint16_t bits;
	uint16_t args_count;
	uint32_t args_offset; /* from the payload's beginning; 0: no args */
};

/* When a record in host ticks ends: where it begins if the clock went back meanwhile; at most at the clock's end. */
static inline uint64_t codec_end(uint64_t start_ticks, uint64_t duration_ticks)
{
	uint64_t end = start_ticks + duration_ticks;
	if (__builtin_expect(duration_ticks >> 63, 0))
		return start_ticks;
	return end < start_ticks ? UINT64_MAX : end;
}

/* Decodes a payload.  `open_ids` has room for EPF_OPEN_MAX, `records` for block->record_count (at most
 * CODEC_RECORDS_MAX is accepted).  False: not what the header promises; `*decoded` records before that are good. */
#define CODEC_RECORDS_MAX 65536u
bool codec_decode(const struct epf_block *block, const uint8_t *payload, uint64_t *open_ids,
                  struct codec_record *records, uint32_t *decoded);

/* The same fields as they stand, for columns: what they are differences to is nobody's business there.  The caller's arrays
 * have room for block->record_count. */
struct codec_args {
	uint32_t offset; /* as args_offset */
	uint16_t count;
	bool is_parent; /* one arg, the parent */
	uint64_t parent;
};

struct codec_fields {
	uint64_t *ends;          /* zigzag differences, the first to 0 */
	uint64_t *durations;     /* as they are */
	uint64_t *ids;           /* zigzag differences to the one before + 1, that before the first is 0 */
	uint64_t *tails;         /* EPF_TAIL of name, bits, how many args */
	struct codec_args *args; /* of records that have args */
	uint32_t args_count;

	/* What there is to know of all of them; starts and ends are relative to the first start. */
	uint64_t first_start, last_end, last_id;
	int64_t least_start, largest_start, largest_end;
	int64_t own_least_start;           /* of ids that were not open; INT64_MAX: there is none */
	const struct block_times *opening; /* knows those that were; set by the caller */
	uint64_t least_id, largest_id;
	uint64_t durations_bits; /* those that some have */
	unsigned kind;           /* enum epf_kind; 0: not all are of one */
};
/* The open ids alone; returns where the records begin, or NULL. */
const uint8_t *codec_open_ids(const struct epf_block *block, const uint8_t *payload, uint64_t *open_ids);
/* `records`: where they begin; there is at least one.  False: as codec_decode, and nothing of `all` counts. */
bool codec_decode_fields(const struct epf_block *block, const uint8_t *payload, const uint8_t *records,
                         struct codec_fields *all);

/* One arg of a decoded record; `at` is a position in the payload, at first record.args_offset.  Returns the next
 * position, or 0 if the bytes are not an arg (never for a payload that codec_decode accepted, while args_count lasts). */
struct codec_arg {
	uint32_t key;
	uint32_t type;
	uint64_t value;      /* i64, u64 and f64 by their bits */
	const uint8_t *text; /* type text */
	uint32_t text_bytes;
};
uint32_t codec_arg(const uint8_t *payload, uint32_t payload_bytes, uint32_t at, struct codec_arg *arg);

/* The parent that a record names in its first arg, which may be 0; then `*after` is the position of the next arg, else of
 * the first one, and the result is 0. */
uint64_t codec_parent_arg(const uint8_t *payload, uint32_t payload_bytes, uint32_t *after);
static inline uint64_t codec_parent(const uint8_t *payload, uint32_t payload_bytes, const struct codec_record *record,
                                    uint32_t *after)
{
	*after = record->args_offset;
	return record->args_count ? codec_parent_arg(payload, payload_bytes, after) : 0;
}

#endif

/* The encoding of records in blocks (EPF_BLOCK_RECORDS): row-wise, delta and varint, 5 to 8 bytes for a plain event.
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
 * All `previous` values start at zero in each block, so that a block can be decoded alone. Readers do not trust any
 * length. The recording side encodes; the reader decodes, and first encodes regions of the window in order to decode
 * them. */
#ifndef EPPROF_RUNTIME_CODEC_CODEC_H
#define EPPROF_RUNTIME_CODEC_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/block_times.h"
#include "format/format.h"

enum { CODEC_NEW_BITS = 1, CODEC_ARGS = 2, CODEC_SAME_NAME = 4, CODEC_NEXT_ID = 8 };

/* Maximum size of an encoded region of `bytes`, without the block header. */
#define CODEC_BOUND(bytes) ((bytes)*2 + 1024)
/* The same if records refer to defined args (EPF_NAME_ARGS). Each reference takes at least one slot of its record. */
#define CODEC_BOUND_DEFINED(bytes) \
	(CODEC_BOUND(bytes) + \
	 (bytes) / (EPF_RECORD_BYTES + EPF_DEFINED_MAX * 16u) * EPF_DEFINED_MAX * EPF_DEFINED_SLOTS_MAX * 16u)
/* Maximum size of decoded records that are encoded again, whose args take `args_bytes` in total. */
#define CODEC_BOUND_DECODED(records_count, args_bytes) ((size_t)(records_count)*64 + (args_bytes) + 1024)

/* Cache of an arg's encoded key and type and, for a text, its length; for records with few args. */
#define CODEC_HEADS 7u
struct codec_head {
	uint64_t of; /* the slot's first 8 bytes: the key of the cache */
	uint32_t bytes;
	uint8_t bytes_count;
	uint8_t type;
};

/* The state that each record changes. */
struct codec_state {
	uint8_t *at;
	uint64_t previous_end, previous_id;
	uint32_t previous_name;
	uint16_t previous_bits;
	uint32_t record_count;
	struct block_times times;
};

/* Appends records one by one to a payload and computes the block header's statistics. */
struct codec_writer {
	uint8_t *start;
	struct codec_state state;
	uint32_t open_count;
	const uint64_t *open_ids;

	/* Returns the slots of defined args; NULL: not defined. Set, or left NULL, after codec_begin. */
	const struct epf_arg *(*defined)(const void *user, uint32_t number, uint32_t *slots);
	const void *defined_user;
	uint32_t cut_count; /* records with args left out for that reason */

	/* By the arg's index in its record: the args of successive records are usually alike. */
	struct codec_head heads[CODEC_HEADS];
};

/* `payload` has room for CODEC_BOUND(region bytes), or CODEC_BOUND_DEFINED if `defined` is set. */
void codec_begin(struct codec_writer *writer, uint8_t *payload, const uint64_t *open_ids, uint32_t open_count);
/* Appends a record. `args`: record->arg_slots slots of 16 bytes as in a region. References to defined args are replaced
 * by the args: a payload contains none. */
void codec_append(struct codec_writer *writer, const struct epf_record *record, const struct epf_arg *args);
/* Appends consecutive records with their args, up to `end` or to one that was not published; takes 50 to 90 % of the
 * time of single calls. Adds to `*count` how many are of `kinds` (1 << enum epf_kind). Returns the position where it
 * stopped. */
const uint8_t *codec_append_region(struct codec_writer *writer, const uint8_t *at, const uint8_t *end, unsigned kinds,
                                   uint64_t *count);
/* Finds the numbers of the defined args that a record's slots refer to; returns how many. */
uint32_t codec_defined_numbers(const struct epf_arg *args, uint32_t slots, uint32_t numbers[EPF_DEFINED_MAX]);
struct codec_record;
/* Appends a record from codec_decode; `args` is the payload to which its args_offset refers. */
void codec_append_decoded(struct codec_writer *writer, const struct codec_record *record, const uint8_t *args,
                          uint32_t args_bytes);
/* Fills in the fields of `block` that depend on the records (payload_bytes, kinds, counts, ticks). The caller fills in
 * the rest. */
void codec_finish(const struct codec_writer *writer, struct epf_block *block);

/* A decoded record. Its args stay in the payload. */
struct codec_record {
	uint64_t start_ticks;
	uint64_t duration_ticks;
	uint64_t id;
	uint32_t name;
	uint16_t bits;
	uint16_t args_count;
	uint32_t args_offset; /* from the payload's start; 0: no args */
};

/* The end of a record in host ticks: its start if the clock went back in between; at most the clock's maximum. */
static inline uint64_t codec_end(uint64_t start_ticks, uint64_t duration_ticks)
{
	uint64_t end = start_ticks + duration_ticks;
	if (__builtin_expect(duration_ticks >> 63, 0))
		return start_ticks;
	return end < start_ticks ? UINT64_MAX : end;
}

/* Decodes a payload. `open_ids` has room for EPF_OPEN_MAX ids, `records` for block->record_count (at most
 * CODEC_RECORDS_MAX is accepted). Returns false if the payload does not match the header; the first `*decoded` records
 * are valid. */
#define CODEC_RECORDS_MAX 65536u
bool codec_decode(const struct epf_block *block, const uint8_t *payload, uint64_t *open_ids,
                  struct codec_record *records, uint32_t *decoded);

/* The fields of all records as encoded, for columns: the differences are not resolved. The caller's arrays have room
 * for block->record_count. */
struct codec_args {
	uint32_t offset; /* as args_offset */
	uint16_t count;
	bool is_parent; /* one arg, the parent */
	uint64_t parent;
};

struct codec_fields {
	uint64_t *ends;          /* zigzag differences, the first one to 0 */
	uint64_t *durations;     /* unchanged */
	uint64_t *ids;           /* zigzag differences to the previous id + 1; the first one to 0 + 1 */
	uint64_t *tails;         /* EPF_TAIL of name, bits, number of args */
	struct codec_args *args; /* of records that have args */
	uint32_t args_count;

	/* Statistics of all records; starts and ends are relative to the first start. */
	uint64_t first_start, last_end, last_id;
	int64_t least_start, largest_start, largest_end;
	int64_t own_least_start;           /* least start of ids that were not open; INT64_MAX: none */
	const struct block_times *opening; /* the ids that were open; set by the caller */
	uint64_t least_id, largest_id;
	uint64_t durations_bits; /* the bits that are set in any duration */
	unsigned kind;           /* enum epf_kind; 0: several kinds */
};
/* Decodes only the open ids; returns the start of the records, or NULL. */
const uint8_t *codec_open_ids(const struct epf_block *block, const uint8_t *payload, uint64_t *open_ids);
/* Decodes all fields. `records`: start of the records; there is at least one. Returns false as codec_decode; `all` is
 * then invalid. */
bool codec_decode_fields(const struct epf_block *block, const uint8_t *payload, const uint8_t *records,
                         struct codec_fields *all);

/* Decodes one arg of a record; `at` is a position in the payload, at first record.args_offset. Returns the next
 * position, or 0 if the bytes are not an arg (never for the first args_count args of a record that codec_decode
 * accepted). */
struct codec_arg {
	uint32_t key;
	uint32_t type;
	uint64_t value;      /* the bits of i64, u64 and f64 */
	const uint8_t *text; /* for type text */
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

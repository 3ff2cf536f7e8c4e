/* Encodes records as columns (EPF_BLOCK_COLUMNS, struct epf_columns in format/format_packed.h): 3 to 4 bytes per plain
 * event.
 *
 * Each column is divided into planes of bytes, and each plane is compressed separately by zstd.  Names, differences of
 * ids and values repeat, so they compress well.  Times are nearly random: a plane with the same byte in all records is
 * stored as one byte; the other planes of times hardly compress.
 *
 * An encoder collects the records of one block; a decoder returns what codec_decode would have returned.  Input is not
 * trusted: the memory for a payload is bounded by counts that are checked first.
 * Called by trace/writer/trace_writer_pack.c and trace/reader_records.c.  One thread at a time for each encoder or
 * decoder. */
#ifndef EPPROF_RUNTIME_TRACE_COLUMNS_COLUMNS_H
#define EPPROF_RUNTIME_TRACE_COLUMNS_COLUMNS_H

#include "codec/codec.h"
#include "containers/array.h"
#include "format/format_packed.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

/* The number of value predictors: an arg's value is stored as the difference to the last value whose key is equal
 * modulo COLUMNS_KEYS. */
#define COLUMNS_KEYS 256u

/* ---- encoding ---- */

struct columns_column {
	uint64_t *values;
	size_t count, room;
};

struct columns_encoder {
	struct ZSTD_CCtx_s *zstd;
	struct columns_column columns[EPF_COLUMN_COUNT];
	struct epf_columns head;
	uint64_t open_ids[EPF_OPEN_MAX];
	struct block_times times;
	uint64_t previous_end, previous_id;
	uint64_t *previous_values; /* indexed by key modulo COLUMNS_KEYS */
	uint8_t *texts;
	size_t texts_room;
	uint8_t *plane;
	size_t plane_room;
	/* The parents of the records of the last columns_append, as codec_parent returns them; valid for records with
	 * args. */
	uint64_t *parents;
	size_t parents_room;
};

/* Returns false if out of memory.  A zero-initialised encoder may be deinitialised. */
bool columns_encoder_init(struct columns_encoder *encoder);
void columns_encoder_deinit(struct columns_encoder *encoder);

/* Begins a block.  This function and those below return false if out of memory. */
bool columns_begin(struct columns_encoder *encoder, const uint64_t *open_ids, uint32_t open_count);
/* Adds records that codec_decode or columns_decode returned; `args` is the base of args_offset. */
bool columns_append(struct columns_encoder *encoder, const struct codec_record *records, uint32_t count,
                    const uint8_t *args, uint32_t args_bytes);
/* Writes the payload and sets the fields of `block` that depend on the records, including its type.  Returns false
 * if the payload does not fit into `room`, or has more args or text than a block may have; `block` is then
 * unchanged. */
bool columns_finish(struct columns_encoder *encoder, struct epf_block *block, uint8_t *payload, size_t room);

/* ---- decoding ---- */

struct columns_decoder {
	struct ZSTD_DCtx_s *zstd;
	uint8_t *planes; /* the decompressed planes */
	size_t planes_room;
	uint64_t *args; /* scratch memory for the three columns of args */
	size_t args_room;
};

/* A zero-initialised decoder is ready to use and may be deinitialised. */
void columns_decoder_deinit(struct columns_decoder *decoder);

/* Returns an upper bound of the size of a payload's decoded args; UINT32_MAX if the payload is not in columns. */
uint32_t columns_args_bytes(const struct epf_block *block, const uint8_t *payload);

enum columns_result { COLUMNS_OK, COLUMNS_DAMAGED, COLUMNS_NO_MEMORY };

/* Decodes a block as codec_decode does.  Args are written to `args`, which must have room for columns_args_bytes and is
 * the base of args_offset.  COLUMNS_DAMAGED: the payload does not match its header; only the first `*decoded` records
 * are valid. */
enum columns_result columns_decode(struct columns_decoder *decoder, const struct epf_block *block, const uint8_t *payload,
                                   uint64_t *open_ids, struct codec_record *records, uint8_t *args, uint32_t *decoded);

#endif

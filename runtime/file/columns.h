/* Records as columns (EPF_BLOCK_COLUMNS, struct epf_columns in file/format_packed.h): 3 to 4 bytes a plain event.
 *
 * Each column is taken apart into planes of bytes, and each plane is compressed by itself.  Low bytes of noisy times do not
 * shrink, and are stored; bytes above them, names and steps of ids have few values or come round again, each in their own
 * way.  On ops, launches and kernels of noisy length that takes 3.7 bytes an event; 4.1 with the planes of a column in one
 * frame, 4.4 with all of a block in one.  Neither taking apart nor putting together branches by value, as varints do.
 *
 * An encoder collects what is to become one block; a decoder gives what codec_decode would have given.  Nothing read is
 * trusted: how much room a payload takes is bounded by counts that are checked first.
 * Called by file/trace_writer_pack.c and file/reader_records.c.  One thread at a time each.
 */
#ifndef EPPROF_FILE_COLUMNS_H
#define EPPROF_FILE_COLUMNS_H

#include "file/codec.h"
#include "file/format_packed.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

/* ---- encoding ---- */

struct columns_column {
	uint64_t *values;
	size_t count, room;
};

struct columns_encoder {
	struct ZSTD_CCtx_s *zstd;
	struct columns_column columns[EPF_COLUMN_COUNT];
	struct epf_columns head;
	struct block_times times;
	uint64_t previous_end, previous_id;
	uint64_t *previous_values; /* by key modulo 256 */
	uint8_t *texts;
	size_t texts_room;
	uint8_t *plane;
	size_t plane_room;
	uint64_t *parents; /* of the records appended last that have args: what codec_parent says of them */
	size_t parents_room;
};

/* Zero-initialised is deinitialised.  False: no memory. */
bool columns_encoder_init(struct columns_encoder *encoder);
void columns_encoder_deinit(struct columns_encoder *encoder);

/* Begins a block.  False, here and below: no memory. */
bool columns_begin(struct columns_encoder *encoder, const uint64_t *open_ids, uint32_t open_count);
/* Adds what codec_decode or columns_decode gave; `args` is what args_offset counts from. */
bool columns_append(struct columns_encoder *encoder, const struct codec_record *records, uint32_t count,
                    const uint8_t *args, uint32_t args_bytes);
/* Writes the payload and fills the fields of `block` that the records decide, its type too.  False: it does not fit into
 * `room`, or has more args or text than a block may have; then `block` is as it was. */
bool columns_finish(struct columns_encoder *encoder, struct epf_block *block, uint8_t *payload, size_t room);

/* ---- decoding ---- */

struct columns_decoder {
	struct ZSTD_DCtx_s *zstd;
	uint8_t *planes; /* decompressed */
	size_t planes_room;
	uint64_t *args; /* three columns */
	size_t args_room;
};

/* Zero-initialised is ready to use and deinitialised. */
void columns_decoder_deinit(struct columns_decoder *decoder);

/* The most that the args of a payload take as codec_arg reads them; UINT32_MAX: not a payload of columns. */
uint32_t columns_args_bytes(const struct epf_block *block, const uint8_t *payload);

enum columns_result { COLUMNS_OK, COLUMNS_DAMAGED, COLUMNS_NO_MEMORY };

/* As codec_decode; args go to `args`, which has columns_args_bytes of room and is what args_offset counts from.
 * COLUMNS_DAMAGED: not what the header promises; `*decoded` records before that are good. */
enum columns_result columns_decode(struct columns_decoder *decoder, const struct epf_block *block, const uint8_t *payload,
                                   uint64_t *open_ids, struct codec_record *records, uint8_t *args, uint32_t *decoded);

#endif

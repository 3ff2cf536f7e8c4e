/* Records as columns (EPF_BLOCK_COLUMNS, struct epf_columns in format/format_packed.h): 3 to 4 bytes a plain event.
 *
 * Each column is taken apart into planes of bytes, and each plane is compressed by itself.  Times are noise: of theirs the
 * bits that are used are stored.  Names, steps of ids and values have few values or come round again, each in their own way.
 * On ops, launches and kernels of noisy length that takes 3.5 bytes an event; an entropy coder for the times would save 0.3
 * and take as long as all else.  Neither taking apart nor putting together branches by value, as varints do.
 *
 * An encoder collects what is to become one block; a decoder gives what codec_decode would have given.  Nothing read is
 * trusted: how much room a payload takes is bounded by counts that are checked first.
 * Called by trace/writer/trace_writer_pack.c and trace/reader_records.c.  One thread at a time each.
 */
#ifndef EPPROF_RUNTIME_TRACE_COLUMNS_COLUMNS_H
#define EPPROF_RUNTIME_TRACE_COLUMNS_COLUMNS_H

#include "codec/codec.h"
#include "containers/array.h"
#include "format/format_packed.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

/* An arg is told as the difference to the last one whose key is the same modulo this. */
#define COLUMNS_KEYS 256u

/* ---- encoding ---- */

/* Numbers of a plane are taken so many at a time; there is room for a multiple. */
#define COLUMNS_STRIDE 64u

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
	uint64_t *previous_values; /* by key modulo COLUMNS_KEYS */
	uint8_t *texts;
	size_t texts_room;
	uint8_t *plane;
	size_t plane_room;
	/* What codec_parent says of the records appended last: by record, of those that have args; if they were taken as rows,
	 * of the first that has args, the second, ... */
	uint64_t *parents;
	size_t parents_room;
	struct codec_fields fields; /* of those rows */
	struct codec_args *rows_args;
	size_t rows_args_room;
};

/* Zero-initialised is deinitialised.  False: no memory. */
bool columns_encoder_init(struct columns_encoder *encoder);
void columns_encoder_deinit(struct columns_encoder *encoder);

/* Begins a block.  False, here and below: no memory. */
bool columns_begin(struct columns_encoder *encoder, const uint64_t *open_ids, uint32_t open_count);
/* Adds what codec_decode or columns_decode gave; `args` is what args_offset counts from. */
bool columns_append(struct columns_encoder *encoder, const struct codec_record *records, uint32_t count,
                    const uint8_t *args, uint32_t args_bytes);
/* The same for a block of rows, in half the time, if it has nothing but events of a thread or nothing but complete ones;
 * *taken says what there is to know of them, until the next call.  NULL: they are not so plain, or the payload is not what
 * its header promises, and nothing was added. */
bool columns_append_rows(struct columns_encoder *encoder, const struct epf_block *rows, const uint8_t *payload,
                         const struct codec_fields **taken);
/* Writes the payload and fills the fields of `block` that the records decide, its type too.  False: it does not fit into
 * `room`, or has more args or text than a block may have; then `block` is as it was. */
bool columns_finish(struct columns_encoder *encoder, struct epf_block *block, uint8_t *payload, size_t room);

/* Makes room for `count` elements, and up to the next stride. */
static inline bool columns_reserve(void *array_pointer, size_t *room, size_t count, size_t size)
{
	return array_reserve(array_pointer, room, (count + COLUMNS_STRIDE - 1) / COLUMNS_STRIDE * COLUMNS_STRIDE, size);
}

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

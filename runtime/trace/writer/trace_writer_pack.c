/* Packs an opened trace: joins its records blocks and encodes them as columns.
 *
 * The blocks to be joined are selected by the reader's list of blocks, so only one joined block is in memory at a time.
 * The blocks of a track are joined in the order of their ends until the next one does not fit.  This is the order in
 * which they were recorded; the window of a killed process contains them in any order.  Blocks that are packed already
 * are not joined, so that packing a file again gives the same file.
 * Clock pairs are written to separate blocks, because a reader of a time range needs all clock pairs, but few other
 * records. */
#include <stdlib.h>
#include <string.h>

#include "containers/array.h"
#include "trace/reader_private.h"
#include "trace/writer/trace_writer_private.h"

/* The maximum sum of reader_block.args_bytes in a joined block, so that its columns fit into a segment. */
#define BYTES_MOST (384u << 10)

/* The clock pairs of a track. */
struct pairs {
	uint32_t track, run, source;
	struct codec_record *records;
	size_t count, room;
};

struct trace_packer {
	struct epp_trace_writer *writer;
	struct reader_impl *impl;
	uint32_t records_most;
	struct columns_encoder encoder;
	struct reader_decoded decoded;
	struct epf_block *block; /* a header and a payload of up to TRACE_WRITER_PAYLOAD_MAX */
	struct pairs *pairs;
	size_t pairs_count, pairs_room;
};

epp_status *trace_packer_create(struct epp_trace_writer *writer, struct reader_impl *impl, uint32_t records_most,
                                struct trace_packer **packer)
{
	struct trace_packer *made = calloc(1, sizeof(*made));

	*packer = made;
	if (!made)
		return epp_status_no_memory();
	made->writer = writer;
	made->impl = impl;
	made->records_most = records_most;
	made->block = malloc(sizeof(*made->block) + TRACE_WRITER_PAYLOAD_MAX);
	return columns_encoder_init(&made->encoder) && made->block ? NULL : epp_status_no_memory();
}

void trace_packer_destroy(struct trace_packer *packer)
{
	if (!packer)
		return;
	for (size_t i = 0; i < packer->pairs_count; i++)
		free(packer->pairs[i].records);
	free(packer->pairs);
	free(packer->block);
	columns_encoder_deinit(&packer->encoder);
	reader_decoded_deinit(&packer->decoded);
	free(packer);
}

/* ---- clock pairs ---- */

static epp_status *keep_pair(struct trace_packer *packer, const struct epf_block *block, uint32_t track,
                             const struct codec_record *record)
{
	struct pairs *pairs = NULL;

	for (size_t i = 0; i < packer->pairs_count && !pairs; i++)
		if (packer->pairs[i].track == track && packer->pairs[i].run == block->run &&
		    packer->pairs[i].source == block->source)
			pairs = &packer->pairs[i];
	if (!pairs) {
		if (!array_reserve_zeroed(&packer->pairs, &packer->pairs_room, packer->pairs_count + 1,
		                          sizeof(*packer->pairs)))
			return epp_status_no_memory();
		pairs = &packer->pairs[packer->pairs_count++];
		*pairs = (struct pairs){ .track = track, .run = block->run, .source = block->source };
	}
	if (!array_reserve_zeroed(&pairs->records, &pairs->room, pairs->count + 1, sizeof(*pairs->records)))
		return epp_status_no_memory();
	pairs->records[pairs->count++] = *record;
	return NULL;
}

/* Removes the clock pairs from the decoded records.  If `keep` is set, stores them in packer->pairs. */
static epp_status *take_pairs(struct trace_packer *packer, const struct epf_block *block, bool keep)
{
	struct reader_decoded *decoded = &packer->decoded;
	uint32_t kept = 0, track = block->track;

	if (!(block->kinds & 1u << EPF_CLOCK_PAIR))
		return NULL;
	for (uint32_t i = 0; i < decoded->count; i++) {
		const struct codec_record *record = &decoded->records[i];
		unsigned kind = EPF_BITS_KIND(record->bits);
		if (kind == EPF_CLOCK_PAIR && !record->args_count) {
			if (keep)
				EPP_TRY(keep_pair(packer, block, track, record));
			continue;
		}
		if (kind == EPF_TRACK_SWITCH)
			track = record->id ? (uint32_t)record->id : block->track;
		decoded->records[kept++] = *record;
	}
	decoded->count = kept;
	return NULL;
}

/* ---- blocks ---- */

static epp_status *add_decoded(struct trace_packer *packer)
{
	struct reader_decoded *decoded = &packer->decoded;

	if (!columns_append(&packer->encoder, decoded->records, decoded->count, decoded->args, decoded->args_bytes))
		return epp_status_no_memory();
	decoded->header.kinds = packer->encoder.times.kinds; /* the kinds of the records themselves, not those in the
	                                                        block's header */
	return trace_writer_index_records(packer->writer->index, decoded, packer->encoder.parents);
}

/* Writes the collected records as a block of columns.  *fits is false if the block has no room for them. */
static epp_status *put_columns(struct trace_packer *packer, const struct epf_block *of, bool *fits)
{
	struct epf_block *block = packer->block;

	*fits = true;
	if (!packer->encoder.columns[EPF_COLUMN_END].count)
		return NULL;
	*block = (struct epf_block){ .run = of->run, .source = of->source, .track = of->track };
	*fits = columns_finish(&packer->encoder, block, (uint8_t *)(block + 1), TRACE_WRITER_PAYLOAD_MAX);
	return *fits ? trace_writer_append(packer->writer, block) : NULL;
}

/* Writes the records that were decoded last as rows, because their columns are too large. */
static epp_status *put_rows(struct trace_packer *packer)
{
	const struct reader_decoded *decoded = &packer->decoded;
	struct epf_block *block = NULL;

	EPP_TRY(trace_writer_rows(decoded, &block));
	epp_status *status = trace_writer_append(packer->writer, block);
	free(block);
	return status;
}

epp_status *trace_packer_rows(struct trace_packer *packer, const struct epf_block *rows)
{
	struct reader_decoded *decoded = &packer->decoded;
	size_t bytes = sizeof(*rows) + rows->payload_bytes;
	bool fits;

	if (!array_reserve(&decoded->records, &decoded->records_room, rows->record_count, sizeof(*decoded->records)) ||
	    !array_reserve(&decoded->bytes, &decoded->bytes_room, bytes, 1))
		return epp_status_no_memory();
	decoded->header = *rows;
	memcpy(decoded->bytes, rows, bytes);
	EPP_TRY(reader_decode_rows(decoded));
	if (!columns_begin(&packer->encoder, decoded->open_ids, rows->open_count))
		return epp_status_no_memory();
	EPP_TRY(add_decoded(packer));
	EPP_TRY(put_columns(packer, rows, &fits));
	return fits ? NULL : put_rows(packer);
}

/* ---- joining ---- */

/* Blocks of one track, run and source that become one block: a range of the list `order`, which is sorted by these. */
struct group {
	uint32_t first, count;
	uint32_t last_block; /* the largest index of its blocks in reader->blocks; the groups are written in this
	                        order */
};

static bool may_join(const struct reader_block *a, const struct reader_block *b)
{
	return !a->is_packed && !b->is_packed && a->track == b->track && a->run == b->run && a->source == b->source;
}

static int by_stream(const void *a, const void *b, void *user)
{
	const struct reader_block *blocks = user;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	const struct reader_block *x = &blocks[left], *y = &blocks[right];

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	if (x->run != y->run)
		return x->run < y->run ? -1 : 1;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	if (x->last_ticks != y->last_ticks)
		return x->last_ticks < y->last_ticks ? -1 : 1;
	return left < right ? -1 : left > right;
}

static int by_last_block(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	return (x->last_block > y->last_block) - (x->last_block < y->last_block);
}

static size_t make_groups(const struct reader *reader, uint32_t records_most, uint32_t *order, struct group *groups)
{
	size_t count = 0;
	uint64_t records = 0, bytes = 0;

	for (uint32_t i = 0; i < reader->blocks_count; i++)
		order[i] = i;
	qsort_r(order, reader->blocks_count, sizeof(*order), by_stream, reader->blocks);
	for (uint32_t i = 0; i < reader->blocks_count; i++) {
		const struct reader_block *block = &reader->blocks[order[i]];
		if (!i || !may_join(block, &reader->blocks[order[i - 1]]) ||
		    records + block->record_count > records_most || bytes + block->args_bytes > BYTES_MOST) {
			groups[count++] = (struct group){ .first = i };
			records = bytes = 0;
		}
		records += block->record_count;
		bytes += block->args_bytes;
		groups[count - 1].count++;
		if (order[i] > groups[count - 1].last_block)
			groups[count - 1].last_block = order[i];
	}
	qsort(groups, count, sizeof(*groups), by_last_block);
	return count;
}

/* Decodes a block and adds its records.  `begins`: the block is the first of its group.  If first_time is set, also
 * counts the records in the ledger and stores the clock pairs.  Of a damaged block, the readable records are added. */
static epp_status *add_records(struct trace_packer *packer, const struct reader_block *block, bool begins, bool first_time)
{
	struct reader_impl *impl = packer->impl;
	struct reader_decoded *decoded = &packer->decoded;

	EPP_TRY(reader_block_decode(&impl->reader, block, decoded));
	if (begins && !columns_begin(&packer->encoder, decoded->open_ids, decoded->header.open_count))
		return epp_status_no_memory();
	if (first_time && !reader_account_header(impl, block))
		reader_account_count(impl, block, decoded->records, decoded->count);
	EPP_TRY(take_pairs(packer, &decoded->header, first_time));
	return add_decoded(packer);
}

/* Writes a group as one block.  If its columns do not fit, writes each block of the group separately (then first_time
 * is false), and a block that does not fit alone as rows. */
static epp_status *pack_group(struct trace_packer *packer, const uint32_t *order, uint32_t count, bool first_time)
{
	bool fits;

	for (uint32_t i = 0; i < count; i++)
		EPP_TRY(add_records(packer, &packer->impl->reader.blocks[order[i]], !i, first_time));
	EPP_TRY(put_columns(packer, &packer->decoded.header, &fits));
	if (fits)
		return NULL;
	trace_writer_index_forget(packer->writer->index);
	for (uint32_t i = 0; i < count && first_time; i++)
		EPP_TRY(pack_group(packer, &order[i], 1, false));
	if (first_time)
		return NULL;
	EPP_TRY(trace_writer_index_records(packer->writer->index, &packer->decoded, NULL));
	return put_rows(packer);
}

static epp_status *put_pairs(struct trace_packer *packer, const struct pairs *pairs)
{
	struct epf_block of = { .track = pairs->track, .run = pairs->run, .source = pairs->source };
	bool fits;

	for (size_t from = 0, step; from < pairs->count; from += step) {
		step = pairs->count - from < packer->records_most ? pairs->count - from : packer->records_most;
		if (!columns_begin(&packer->encoder, NULL, 0) ||
		    !columns_append(&packer->encoder, pairs->records + from, (uint32_t)step, NULL, 0))
			return epp_status_no_memory();
		EPP_TRY(put_columns(packer, &of, &fits)); /* clock pairs have no args, so they always fit */
	}
	return NULL;
}

epp_status *trace_packer_blocks(struct trace_packer *packer)
{
	const struct reader *reader = &packer->impl->reader;
	uint32_t *order = reallocarray(NULL, reader->blocks_count + 1, sizeof(*order));
	struct group *groups = reallocarray(NULL, reader->blocks_count + 1, sizeof(*groups));
	epp_status *status = order && groups ? NULL : epp_status_no_memory();
	size_t count = status ? 0 : make_groups(reader, packer->records_most, order, groups);

	for (size_t i = 0; i < count && !status; i++)
		status = pack_group(packer, order + groups[i].first, groups[i].count, true);
	for (size_t i = 0; i < packer->pairs_count && !status; i++)
		status = put_pairs(packer, &packer->pairs[i]);
	free(groups);
	free(order);
	return status;
}

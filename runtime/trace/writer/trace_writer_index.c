/* Builds the index of a packed file while its blocks are written: the offset of each block, and the data that readers
 * need before they read the block.
 *
 * Records are added before their block is appended; the block's entry is added when the block is appended.  The index
 * itself consists of blocks at the end of the file.  Each of them has the offset of the previous one, and the header
 * page has the offset of the last one. */
#include <stdlib.h>
#include <string.h>

#include "containers/array.h"
#include "trace/reader.h"
#include "trace/writer/trace_writer_private.h"

/* The maximum distance of a time from the base of its span, in ticks, so that arithmetic with it cannot overflow. */
#define SPAN_MAX ((int64_t)1 << 61)
/* Kinds that reference other records or switch the track. */
#define REFERRING_KINDS \
	(1u << EPF_COMPLETE | 1u << EPF_TRACK_SWITCH | 1u << EPF_FLOW | 1u << EPF_ORPHAN_END | 1u << EPF_ASYNC_END)

static void begin_entry(struct trace_writer_index *index)
{
	index->next = (struct epf_index_entry){ .first_id = UINT64_MAX };
	index->span = SIZE_MAX;
	index->ids_next.count = index->references_next.count = 0;
	index->ids_next.current = index->references_next.current = 0;
	/* Both ranges become empty.  An empty range is far from every id. */
	index->ids_next.ranges[0] = index->references_next.ranges[0] = (struct epf_index_reference){ .first = UINT64_MAX };
}

void trace_writer_index_init(struct trace_writer_index *index)
{
	*index = (struct trace_writer_index){ 0 };
	begin_entry(index);
}

void trace_writer_index_deinit(struct trace_writer_index *index)
{
	free(index->entries);
	free(index->spans);
	free(index->references);
	*index = (struct trace_writer_index){ 0 };
}

/* ---- the records of the next block ---- */

static int by_first(const void *a, const void *b)
{
	const struct epf_index_reference *x = a, *y = b;
	return (x->first > y->first) - (x->first < y->first);
}

/* Sorts the ranges and joins ranges that overlap.  If there is still one too many, joins the two that are closest. */
static void join_ranges(struct trace_writer_ids *ids)
{
	struct epf_index_reference *of = ids->ranges;
	uint32_t kept = 0, closest = 1;

	qsort(of, ids->count, sizeof(*of), by_first);
	for (uint32_t i = 0; i < ids->count; i++) {
		if (kept && of[i].first <= of[kept - 1].last)
			of[kept - 1].last = of[i].last > of[kept - 1].last ? of[i].last : of[kept - 1].last;
		else
			of[kept++] = of[i];
	}
	for (uint32_t i = 2; i < kept; i++)
		if (of[i].first - of[i - 1].last < of[closest].first - of[closest - 1].last)
			closest = i;
	if (kept > EPF_INDEX_REFERENCES_MAX) {
		of[closest - 1].last = of[closest].last;
		memmove(&of[closest], &of[closest + 1], (--kept - closest) * sizeof(*of));
	}
	ids->count = kept;
	ids->current = 0;
}

__attribute__((noinline)) static void add_far_id(struct trace_writer_ids *ids, uint64_t id)
{
	struct epf_index_reference *of = ids->ranges;
	uint32_t i = 0;

	while (i < ids->count && (id < of[i].first  ? of[i].first - id > EPF_INDEX_NEAR
	                          : id > of[i].last ? id - of[i].last > EPF_INDEX_NEAR
	                                            : false))
		i++;
	ids->current = i;
	if (i < ids->count) {
		of[i].first = id < of[i].first ? id : of[i].first;
		of[i].last = id > of[i].last ? id : of[i].last;
		return;
	}
	of[i] = (struct epf_index_reference){ id, id };
	if (++ids->count > EPF_INDEX_REFERENCES_MAX)
		join_ranges(ids);
}

/* Adds an id to a range if it is in the range or at most EPF_INDEX_NEAR above it.  Returns false if it is not. */
static inline bool add_near_id(struct epf_index_reference *range, uint64_t id)
{
	if (id < range->first || (id > range->last && id - range->last > EPF_INDEX_NEAR))
		return false;
	range->last = id > range->last ? id : range->last;
	return true;
}

static inline void add_id(struct trace_writer_ids *ids, uint64_t id)
{
	if (!add_near_id(&ids->ranges[ids->current], id))
		add_far_id(ids, id);
}

void trace_writer_index_settle(struct trace_writer_index *index)
{
	struct epf_index_entry *next = &index->next;

	join_ranges(&index->references_next);
	join_ranges(&index->ids_next);
	next->references_count = index->references_next.count;
	next->ids_count = index->ids_next.count > 1 ? index->ids_next.count : 0;
	if (index->ids_next.count) {
		next->first_id = index->ids_next.ranges[0].first;
		next->last_id = index->ids_next.ranges[index->ids_next.count - 1].last;
	}
}

/* Finds or adds the span of a track in the next block. */
static epp_status *find_span(struct trace_writer_index *index, uint32_t track, uint64_t base)
{
	size_t from = index->spans_count - index->next.spans_count;

	for (index->span = from; index->span < index->spans_count; index->span++)
		if (index->spans[index->span].track == track)
			return NULL;
	if (!array_reserve(&index->spans, &index->spans_room, index->spans_count + 1, sizeof(*index->spans)))
		return epp_status_no_memory();
	index->spans[index->spans_count++] = (struct epf_index_span){ .track = track, .base = base };
	index->next.spans_count++;
	return NULL;
}

/* Extends the current span so that it contains these starts and this end, which are relative to its base. */
static void widen_span(struct trace_writer_index *index, int64_t first, int64_t last, int64_t end)
{
	struct epf_index_span *span = &index->spans[index->span];

	if (first < -SPAN_MAX || end > SPAN_MAX) {
		index->next.flags |= EPF_INDEX_WIDE;
		return;
	}
	span->first = first < span->first ? first : span->first;
	span->last = last > span->last ? last : span->last;
	span->end = end > span->end ? end : span->end;
}

static void widen_span_by(struct trace_writer_index *index, const struct codec_record *record)
{
	int64_t start = (int64_t)(record->start_ticks - index->spans[index->span].base), end;

	if (record->duration_ticks > INT64_MAX || __builtin_add_overflow(start, (int64_t)record->duration_ticks, &end))
		index->next.flags |= EPF_INDEX_WIDE;
	else
		widen_span(index, start, start, end);
}

/* Adds the records' own ids; returns the kinds of the records. */
static unsigned add_own_ids(struct trace_writer_ids *ids, const struct codec_record *records, uint32_t count)
{
	struct epf_index_reference current = ids->ranges[ids->current]; /* a copy, which stays in registers */
	unsigned kinds = 0;

	for (uint32_t i = 0; i < count; i++) {
		unsigned kind = EPF_BITS_KIND(records[i].bits);
		kinds |= 1u << kind;
		if (!(TRACE_WRITER_OWN_KINDS >> kind & 1))
			continue;
		if (!add_near_id(&current, records[i].id)) {
			ids->ranges[ids->current] = current;
			add_far_id(ids, records[i].id);
			current = ids->ranges[ids->current];
		}
	}
	ids->ranges[ids->current] = current;
	return kinds;
}

epp_status *trace_writer_index_records(struct trace_writer_index *index, const struct reader_decoded *decoded,
                                       const uint64_t *parents)
{
	struct epf_index_entry *next = &index->next;
	uint32_t track = decoded->header.track, after;
	unsigned kinds = add_own_ids(&index->ids_next, decoded->records, decoded->count);

	index->span = SIZE_MAX;
	for (uint32_t i = 0; (kinds & REFERRING_KINDS) && i < decoded->count; i++) {
		const struct codec_record *record = &decoded->records[i];
		unsigned kind = EPF_BITS_KIND(record->bits);
		if (!(REFERRING_KINDS >> kind & 1))
			continue;
		if (kind == EPF_TRACK_SWITCH) {
			track = record->id ? (uint32_t)record->id : decoded->header.track;
			index->span = SIZE_MAX;
			continue;
		}
		uint64_t parent = !record->args_count ? 0
		                  : parents           ? parents[i]
		                            : codec_parent(decoded->args, decoded->args_bytes, record, &after);
		if (kind == EPF_COMPLETE) {
			if (index->span == SIZE_MAX)
				EPP_TRY(find_span(index, track, record->start_ticks));
			widen_span_by(index, record);
			next->flags |= parent ? EPF_INDEX_PARENTS : 0;
		} else {
			add_id(&index->references_next, record->id);
		}
		if (parent && (kind == EPF_COMPLETE || kind == EPF_FLOW))
			add_id(&index->references_next, parent);
	}
	return NULL;
}

void trace_writer_index_forget(struct trace_writer_index *index)
{
	index->spans_count -= index->next.spans_count;
	begin_entry(index);
}

static epp_status *append_ranges(struct trace_writer_index *index, const struct epf_index_reference *ranges, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (!array_reserve(&index->references, &index->references_room, index->references_count + 1,
		                   sizeof(*index->references)))
			return epp_status_no_memory();
		index->references[index->references_count++] = ranges[i];
	}
	return NULL;
}

epp_status *trace_writer_index_block(struct trace_writer_index *index, uint64_t offset, const struct epf_block *block)
{
	if (!array_reserve(&index->entries, &index->entries_room, index->entries_count + 1, sizeof(*index->entries)))
		return epp_status_no_memory();
	trace_writer_index_settle(index);
	EPP_TRY(append_ranges(index, index->ids_next.ranges, index->next.ids_count));
	EPP_TRY(append_ranges(index, index->references_next.ranges, index->next.references_count));
	index->next.offset = offset;
	index->next.block = *block;
	index->next.args_bytes = block->type == EPF_BLOCK_COLUMNS
	                             ? columns_args_bytes(block, (const uint8_t *)(block + 1))
	                             : block->payload_bytes;
	index->entries[index->entries_count++] = index->next;
	begin_entry(index);
	return NULL;
}

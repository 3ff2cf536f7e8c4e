/* Scans the segments of a ring, which are in no order; a segment may be reused while it is read.
 *
 * A place is a position in the file: it holds a segment, and later another one that replaces this segment.  Each scan
 * visits all places and adds their new blocks.  If the segment number of a place has changed, the blocks of the old
 * segment are discarded.  At the end, the blocks of overwritten segments are left out, because they are counted as
 * lost.  The others are sorted in the order in which they were written. */
#include <stdlib.h>
#include <string.h>

#include "codec/checksum.h"
#include "containers/array.h"
#include "trace/reader_private.h"

static uint64_t place_of(const struct reader_impl *impl, uint64_t offset)
{
	const struct epf_header *header = &impl->reader.header;
	return (offset - header->segments_offset) / header->segment_bytes;
}

/* Discards the blocks of a place, because another segment is there now. */
static void discard_place(struct reader_impl *impl, uint64_t index)
{
	for (size_t i = 0; i < impl->reader.blocks_count; i++)
		if (!impl->reader.blocks[i].in_window && impl->origins[i] != READER_GONE &&
		    place_of(impl, impl->reader.blocks[i].offset) == index)
			impl->origins[i] = READER_GONE;
}

/* Reads the current segment number of a place.  It is 0 if there is none, or if it is unknown because the header is
 * damaged. */
static epp_status *read_segment_number(struct reader_impl *impl, uint64_t index, uint64_t *number, bool *is_damaged)
{
	const struct epf_header *header = &impl->reader.header;
	struct epf_segment segment = { 0 };
	size_t got;

	EPP_TRY(reader_read(impl, header->segments_offset + index * header->segment_bytes, &segment, sizeof(segment),
	                    &got));
	uint32_t checksum = segment.checksum;
	segment.checksum = 0;
	/* A truncated header counts as damaged.  A segment that is being reused is not damaged: it has number 0 and
	 * possibly an old checksum. */
	*is_damaged = segment.number && (got < sizeof(segment) || segment.magic != EPF_SEGMENT_MAGIC ||
	                                 checksum_crc32c(0, &segment, sizeof(segment)) != checksum);
	*number = *is_damaged ? 0 : segment.number;
	return NULL;
}

epp_status *reader_ring_scan(struct reader_impl *impl)
{
	const struct epf_header *header = &impl->reader.header;
	uint64_t places_max = (UINT64_MAX - header->segments_offset) / header->segment_bytes;
	size_t got = header->segment_bytes;

	for (uint64_t index = 0; got == header->segment_bytes && index < places_max; index++) {
		uint64_t before, after;
		bool is_damaged;
		EPP_TRY(read_segment_number(impl, index, &before, &is_damaged));
		EPP_TRY(reader_read(impl, header->segments_offset + index * header->segment_bytes, impl->segment,
		                    header->segment_bytes, &got));
		if (!got)
			break;
		EPP_TRY(read_segment_number(impl, index, &after, &is_damaged));
		if (!array_reserve_zeroed(&impl->places, &impl->places_capacity, index + 1, sizeof(*impl->places)))
			return epp_status_no_memory();
		struct reader_place *place = &impl->places[index];
		place->is_damaged = is_damaged;
		if (place->number != after) {
			discard_place(impl, index);
			place->number = after;
			place->at = EPF_SEGMENT_HEADER_BYTES;
		}
		if (after && before == after)
			EPP_TRY(reader_scan_place(impl, index, got, &place->at));
	}
	return NULL;
}

epp_status *reader_ring_define(struct reader_impl *impl, const uint8_t *payload, size_t bytes, uint64_t offset)
{
	struct epf_overwritten head;

	if (bytes >= sizeof(head))
		memcpy(&head, payload, sizeof(head));
	if (bytes < sizeof(head) || head.row_count > (bytes - sizeof(head)) / sizeof(*impl->overwritten)) {
		reader_find(impl, EPP_ERROR, offset,
		            "the counts of overwritten events have an invalid size of %zu bytes", bytes);
		return NULL;
	}
	if (head.through <= impl->overwritten_through)
		return NULL;
	struct epf_overwritten_row *rows = reallocarray(NULL, head.row_count + 1, sizeof(*rows));
	if (!rows)
		return epp_status_no_memory();
	memcpy(rows, payload + sizeof(head), head.row_count * sizeof(*rows));
	free(impl->overwritten);
	impl->overwritten = rows;
	impl->overwritten_count = head.row_count;
	impl->overwritten_through = head.through;
	return NULL;
}

uint64_t reader_ring_number(const struct reader_impl *impl)
{
	return impl->places ? impl->places[impl->segment_index].number : 0;
}

epp_status *reader_ring_entries(struct reader_impl *impl, size_t count)
{
	uint64_t number = reader_ring_number(impl);

	if (!number)
		return NULL;
	if (!array_reserve_zeroed(&impl->entries, &impl->entries_capacity, impl->entries_count + 1, sizeof(*impl->entries)))
		return epp_status_no_memory();
	impl->entries[impl->entries_count++] = (struct reader_entries){ impl->reader.ledger_count - count, count, number };
	return NULL;
}

epp_status *reader_ring_retained(struct reader_impl *impl, const uint8_t *payload, size_t bytes, uint64_t offset)
{
	struct epf_retained head;

	if (bytes >= sizeof(head))
		memcpy(&head, payload, sizeof(head));
	if (bytes < sizeof(head) || head.entry_count > (bytes - sizeof(head)) / sizeof(*impl->retained)) {
		reader_find(impl, EPP_ERROR, offset, "the counts of retained blocks have an invalid size of %zu bytes",
		            bytes);
		return NULL;
	}
	if (head.through <= impl->retained_through)
		return NULL;
	struct epf_ledger_entry *entries = reallocarray(NULL, head.entry_count + 1, sizeof(*entries));
	if (!entries)
		return epp_status_no_memory();
	memcpy(entries, payload + sizeof(head), head.entry_count * sizeof(*entries));
	free(impl->retained);
	impl->retained = entries;
	impl->retained_count = head.entry_count;
	impl->retained_through = head.through;
	return NULL;
}

/* Replaces the ledger entries of compacted segments by their sum. */
static epp_status *settle_accounts(struct reader_impl *impl)
{
	struct reader *reader = &impl->reader;
	size_t kept = 0, next = 0;

	if (!impl->retained_through)
		return NULL;
	for (size_t i = 0; i < reader->ledger_count; i++) {
		while (next < impl->entries_count && i >= impl->entries[next].first + impl->entries[next].count)
			next++;
		bool is_void = next < impl->entries_count && i >= impl->entries[next].first &&
		               impl->entries[next].number <= impl->retained_through;
		if (!is_void)
			reader->ledger[kept++] = reader->ledger[i];
	}
	if (!array_reserve_zeroed(&reader->ledger, &impl->ledger_capacity, kept + impl->retained_count,
	                          sizeof(*reader->ledger)))
		return epp_status_no_memory();
	memcpy(reader->ledger + kept, impl->retained, impl->retained_count * sizeof(*impl->retained));
	reader->ledger_count = kept + impl->retained_count;
	return NULL;
}

struct ordered {
	struct reader_block block;
	uint64_t origin, number;
};

/* Compares two blocks by the numbers of their segments.  Blocks of the window are later than all others. */
static int by_number(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	if (x->number != y->number)
		return (x->number > y->number) - (x->number < y->number);
	return (x->block.offset > y->block.offset) - (x->block.offset < y->block.offset);
}

epp_status *reader_ring_end(struct reader_impl *impl)
{
	struct reader *reader = &impl->reader;
	bool finished = reader->header.state == EPF_FINISHED;
	struct ordered *list = reallocarray(NULL, reader->blocks_count + 1, sizeof(*list));
	size_t kept = 0;

	if (!list)
		return epp_status_no_memory();
	for (size_t i = 0; i < impl->places_capacity; i++)
		/* The writer may have been killed while it wrote this segment.  If no EPF_BLOCK_OVERWRITTEN counts the
		 * events of this segment, the ledger does not balance. */
		if (impl->places[i].is_damaged)
			reader_find(impl, finished ? EPP_ERROR : EPP_NOTE,
			            reader->header.segments_offset + i * reader->header.segment_bytes,
			            "a segment's header is damaged: the segment is not read");
	for (size_t i = 0; i < reader->blocks_count; i++) {
		const struct reader_block *block = &reader->blocks[i];
		uint64_t number = block->in_window ? UINT64_MAX : impl->places[place_of(impl, block->offset)].number;
		if (impl->origins[i] != READER_GONE && number > impl->overwritten_through)
			list[kept++] = (struct ordered){ *block, impl->origins[i], number };
	}
	qsort(list, kept, sizeof(*list), by_number);
	for (size_t i = 0; i < kept; i++) {
		reader->blocks[i] = list[i].block;
		impl->origins[i] = list[i].origin;
	}
	reader->blocks_count = kept;
	/* After sorting, the blocks are not in scan order, so any block of a thread may contain the record of an event
	 * on its stack. */
	impl->blocks_before_slots = 0;
	free(list);
	return settle_accounts(impl);
}

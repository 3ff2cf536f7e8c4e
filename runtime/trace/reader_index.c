/* Opens a packed file by its index: reads the index and the blocks that contain no records.  For record blocks the
 * index entries are sufficient; the blocks are read and checked on demand.
 *
 * The index is checked completely before any part of it is used.  If it is damaged or cut off, all blocks are scanned
 * as in any other file, and a finding reports the damage. */
#include <stdlib.h>
#include <string.h>

#include "codec/checksum.h"
#include "trace/reader_private.h"

/* The maximum number of entries; a file with a hundred billion events has fewer blocks. */
#define ENTRIES_MAX (1u << 24)

/* The concatenated parts of the index. */
struct parts {
	struct epf_index_entry *entries;
	size_t entries_count;
	struct epf_index_span *spans;
	size_t spans_count;
	struct epf_index_reference *references;
	size_t references_count;
};

/* Reads the block at `offset` into impl->segment.  *flaw is the reason for which it is invalid, or "". */
static epp_status *read_block(struct reader_impl *impl, uint64_t offset, struct epf_block *block, const char **flaw)
{
	const struct epf_header *header = &impl->reader.header;
	size_t got, room;

	*flaw = "it is not inside a segment";
	if (offset < header->segments_offset || offset % 8 || offset >= UINT64_MAX / 2)
		return NULL;
	room = header->segment_bytes - (offset - header->segments_offset) % header->segment_bytes;
	if (room < sizeof(*block))
		return NULL;
	EPP_TRY(reader_read(impl, offset, impl->segment, sizeof(*block), &got));
	if (got == sizeof(*block)) {
		memcpy(block, impl->segment, sizeof(*block));
		if (block->payload_bytes <= room - sizeof(*block)) {
			size_t payload;
			EPP_TRY(reader_read(impl, offset + got, impl->segment + got, block->payload_bytes, &payload));
			got += payload;
		}
	}
	*flaw = reader_block_flaw(impl->segment, 0, got, room);
	if (!*flaw)
		*flaw = "nothing was written there";
	return NULL;
}

/* ---- the parts ---- */

/* Inserts `more` elements before those that were read earlier, because the parts are read from the last to the
 * first. */
static bool prepend(void *array_pointer, size_t *count, const uint8_t **at, size_t more, size_t size)
{
	void **array = array_pointer;
	uint8_t *moved = reallocarray(*array, *count + more + 1, size);

	if (!moved)
		return false;
	*array = moved;
	memmove(moved + more * size, moved, *count * size);
	memcpy(moved, *at, more * size);
	*at += more * size;
	*count += more;
	return true;
}

static epp_status *read_part(struct reader_impl *impl, const struct epf_index *head, struct parts *parts, const char **flaw)
{
	const uint8_t *at = impl->segment + sizeof(struct epf_block) + sizeof(*head);

	*flaw = parts->entries_count > ENTRIES_MAX ? "it has more blocks than a file can contain" : NULL;
	if (*flaw || (prepend(&parts->entries, &parts->entries_count, &at, head->entries_count, sizeof(*parts->entries)) &&
	              prepend(&parts->spans, &parts->spans_count, &at, head->spans_count, sizeof(*parts->spans)) &&
	              prepend(&parts->references, &parts->references_count, &at, head->references_count,
	                      sizeof(*parts->references))))
		return NULL;
	return epp_status_no_memory();
}

static epp_status *read_parts(struct reader_impl *impl, struct parts *parts, const char **flaw)
{
	uint64_t offset = impl->index_place.offset, previous;
	struct epf_block block;
	struct epf_index head;

	for (; offset; offset = previous) {
		EPP_TRY(read_block(impl, offset, &block, flaw));
		if (**flaw)
			return NULL;
		*flaw = "a part of it is another block";
		if (block.type != EPF_BLOCK_INDEX || block.payload_bytes < sizeof(head))
			return NULL;
		memcpy(&head, impl->segment + sizeof(block), sizeof(head));
		previous = head.previous;
		if (previous >= offset || sizeof(head) + (uint64_t)head.entries_count * sizeof(struct epf_index_entry) +
		                                  (uint64_t)head.spans_count * sizeof(struct epf_index_span) +
		                                  (uint64_t)head.references_count * sizeof(struct epf_index_reference) !=
		                              block.payload_bytes)
			return NULL;
		EPP_TRY(read_part(impl, &head, parts, flaw));
		if (*flaw)
			return NULL;
	}
	*flaw = parts->entries_count == impl->index_place.blocks_count ? NULL : "parts of it are missing";
	return NULL;
}

/* ---- checks ---- */

static bool span_is_sound(const struct epf_index_span *span)
{
	const int64_t most = (int64_t)1 << 62;
	return span->first >= -most && span->first <= 0 && span->last >= 0 && span->last <= most && span->end <= most &&
	       span->end >= span->first;
}

static const char *entries_flaw(const struct reader_impl *impl, const struct parts *parts)
{
	const struct epf_header *header = &impl->reader.header;
	uint64_t end = header->segments_offset, spans = 0, references = 0;

	for (size_t i = 0; i < parts->entries_count; i++) {
		const struct epf_index_entry *entry = &parts->entries[i];
		const struct epf_block *block = &entry->block;
		if (entry->offset < end || entry->offset % 8 || entry->offset >= impl->index_place.offset)
			return "it lists impossible blocks";
		uint64_t at = (entry->offset - header->segments_offset) % header->segment_bytes;
		if (at < EPF_SEGMENT_HEADER_BYTES || sizeof(*block) + block->payload_bytes > header->segment_bytes - at)
			return "it lists blocks that extend beyond their segment";
		end = entry->offset + sizeof(*block) + block->payload_bytes;
		spans += entry->spans_count;
		references += (uint64_t)entry->ids_count + entry->references_count;
		if (entry->args_bytes > READER_ARGS_BYTES_MAX)
			return "it lists blocks with an impossible number of args";
	}
	for (size_t i = 0; i < parts->spans_count; i++)
		if (!span_is_sound(&parts->spans[i]))
			return "it lists impossible ranges";
	return spans == parts->spans_count && references == parts->references_count ? NULL
	                                                                            : "its parts contradict each other";
}

/* ---- adding the blocks ---- */

static epp_status *read_entry(struct reader_impl *impl, const struct epf_index_entry *entry,
                              const struct epf_index_span *spans, const struct epf_index_reference *references)
{
	struct reader *reader = &impl->reader;
	size_t before = reader->blocks_count;
	struct epf_block block;
	const char *flaw;

	if (entry->block.type == EPF_BLOCK_RECORDS || entry->block.type == EPF_BLOCK_COLUMNS) {
		EPP_TRY(reader_take_records(impl, &entry->block, entry->offset, entry->args_bytes));
		if (reader->blocks_count > before)
			reader->summaries[before] = (struct reader_summary){ .all_ids = { entry->first_id, entry->last_id },
				                                             .flags = entry->flags,
				                                             .spans_count = entry->spans_count,
				                                             .references_count = entry->references_count,
				                                             .ids_count = entry->ids_count,
				                                             .spans = spans,
				                                             .ids = references,
				                                             .references = references + entry->ids_count };
		return NULL;
	}
	EPP_TRY(read_block(impl, entry->offset, &block, &flaw));
	if (!*flaw && memcmp(&block, &entry->block, sizeof(block)) != 0)
		flaw = "it differs from the block in the index";
	if (!*flaw)
		return reader_define_block(impl, &block, impl->segment + sizeof(block), entry->offset);
	reader_find(impl, EPP_ERROR, entry->offset, "%s: its definitions are lost", flaw);
	return NULL;
}

static epp_status *take_parts(struct reader_impl *impl, struct parts *parts)
{
	struct reader *reader = &impl->reader;
	const struct epf_index_span *spans = parts->spans;
	const struct epf_index_reference *references = parts->references;
	uint8_t last;
	size_t got;

	reader->summaries = calloc(parts->entries_count + 1, sizeof(*reader->summaries));
	reader->spans = parts->spans;
	reader->references = parts->references;
	parts->spans = NULL;
	parts->references = NULL;
	if (!reader->summaries)
		return epp_status_no_memory();
	for (size_t i = 0; i < parts->entries_count; i++) {
		EPP_TRY(read_entry(impl, &parts->entries[i], spans, references));
		spans += parts->entries[i].spans_count;
		references += parts->entries[i].ids_count + parts->entries[i].references_count;
	}
	/* Reads the last byte, because reader_read then updates file_bytes. */
	return reader_read(impl, impl->index_place.end - 1, &last, 1, &got);
}

epp_status *reader_index(struct reader_impl *impl)
{
	struct epf_index_place *place = &impl->index_place;
	uint32_t checksum = place->checksum;
	struct parts parts = { 0 };
	const char *flaw = "the header has no offset for it";
	epp_status *status = NULL;

	place->checksum = 0;
	if (place->magic == EPF_INDEX_MAGIC && checksum_crc32c(0, place, sizeof(*place)) == checksum && place->offset &&
	    place->end > place->offset)
		status = read_parts(impl, &parts, &flaw);
	if (!status && !flaw)
		flaw = entries_flaw(impl, &parts);
	if (!status && !flaw)
		status = take_parts(impl, &parts);
	else if (!status)
		reader_find(impl, EPP_WARNING, EPF_INDEX_PLACE_OFFSET,
		            "the index cannot be used (%s): every block was read instead", flaw);
	free(parts.entries);
	free(parts.spans);
	free(parts.references);
	return status;
}

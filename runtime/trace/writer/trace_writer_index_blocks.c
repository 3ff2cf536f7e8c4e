/* Writes the index of a trace as blocks (see trace_writer_index.c, which makes it). */
#include <stdlib.h>
#include <string.h>

#include "codec/checksum.h"
#include "trace/writer/trace_writer_private.h"

/* Positions of the first elements of the next part. */
struct place {
	size_t entry, span, reference;
};

/* Computes how many entries fit into the part that begins at `place`; returns the part's size. */
static size_t measure_part(const struct trace_writer_index *index, const struct place *place, struct epf_index *head)
{
	size_t bytes = sizeof(*head);

	for (size_t i = place->entry; i < index->entries_count; i++) {
		const struct epf_index_entry *of = &index->entries[i];
		size_t more = sizeof(*of) + of->spans_count * sizeof(*index->spans) +
		              (of->ids_count + of->references_count) * sizeof(*index->references);
		if (bytes + more > TRACE_WRITER_PAYLOAD_MAX)
			break;
		bytes += more;
		head->entries_count++;
		head->spans_count += of->spans_count;
		head->references_count += of->ids_count + of->references_count;
	}
	return bytes;
}

static uint8_t *put(uint8_t *at, const void *from, size_t *first, size_t count, size_t size)
{
	if (count)
		memcpy(at, (const uint8_t *)from + *first * size, count * size);
	*first += count;
	return at + count * size;
}

static epp_status *write_parts(struct epp_trace_writer *writer, const struct trace_writer_index *index,
                               struct epf_block *block, uint64_t *last)
{
	struct place place = { 0 };

	*last = 0;
	do {
		struct epf_index head = { .previous = *last };
		size_t bytes = measure_part(index, &place, &head);
		if (!head.entries_count && place.entry < index->entries_count)
			return epp_status_create(
			    EPP_LIMIT, "%s: a block has events of more tracks than an index can list", writer->path);
		*block = (struct epf_block){ .type = EPF_BLOCK_INDEX, .payload_bytes = (uint32_t)bytes };
		uint8_t *at = mempcpy(block + 1, &head, sizeof(head));
		at = put(at, index->entries, &place.entry, head.entries_count, sizeof(*index->entries));
		at = put(at, index->spans, &place.span, head.spans_count, sizeof(*index->spans));
		put(at, index->references, &place.reference, head.references_count, sizeof(*index->references));
		EPP_TRY(trace_writer_append(writer, block));
		*last = writer->block_offset;
	} while (place.entry < index->entries_count);
	return NULL;
}

epp_status *trace_writer_index_write(struct epp_trace_writer *writer)
{
	struct trace_writer_index *index = writer->index;
	struct epf_block *block = malloc(sizeof(*block) + TRACE_WRITER_PAYLOAD_MAX);
	uint64_t last;

	if (!block)
		return epp_status_no_memory();
	writer->index = NULL;
	epp_status *status = write_parts(writer, index, block, &last);
	writer->index = index;
	free(block);
	if (status)
		return status;
	struct epf_index_place *place = &writer->index_place;
	*place = (struct epf_index_place){ .magic = EPF_INDEX_MAGIC,
		                           .offset = last,
		                           .blocks_count = index->entries_count,
		                           .end = trace_writer_end(writer) };
	place->checksum = checksum_crc32c(0, place, sizeof(*place));
	return NULL;
}

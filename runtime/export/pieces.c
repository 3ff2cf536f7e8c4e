/* Implements pieces.h: after a piece was written, copies it from the sink's buffer into the cache.  If the sink's
 * buffer was flushed while the piece was written, the piece is too long for the cache. */
#include "export/pieces.h"

void pieces_make(struct pieces *pieces, struct sink *sink, const epp_event *event, uint64_t key, pieces_fn write)
{
	struct piece *piece = pieces_at(pieces, key);
	const char *from = sink_reserve(sink, SINK_RESERVE_MAX);
	uint64_t pushes = sink->pushes_count;

	write(sink, event);
	size_t bytes = (size_t)(sink->at - from);
	if (!key || pushes != sink->pushes_count || bytes > sizeof piece->text)
		return;
	memcpy(piece->text, from, bytes);
	piece->bytes = (uint8_t)bytes;
	piece->key = key;
}

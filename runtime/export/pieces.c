/* A piece is taken out of the sink's buffer, where it was written; if that was emptied meanwhile the piece is a long one. */
#include "export/pieces.h"

void pieces_make(struct pieces *pieces, const struct export_run *run, const epp_event *event, uint64_t key, pieces_fn write)
{
	struct piece *piece = pieces_at(pieces, key);
	const char *from = sink_reserve(run->sink, SINK_RESERVE_MAX);
	uint64_t pushes = run->sink->pushes_count;

	write(run, event);
	size_t bytes = (size_t)(run->sink->at - from);
	if (!key || pushes != run->sink->pushes_count || bytes > sizeof piece->text)
		return;
	memcpy(piece->text, from, bytes);
	piece->bytes = (uint8_t)bytes;
	piece->key = key;
}

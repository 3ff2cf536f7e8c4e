/* Stores events by line until the end, because they arrive by time and are written by line.  Bytes that exceed a chunk
 * go to a temporary file, from which the line is assembled at the end.  A trace that fits into the first chunks of its
 * lines needs no file. */
#include <unistd.h>

#include "containers/array.h"
#include "export/xspace/xplane.h"
#include "files/temp_file.h"

#define CHUNK_BYTES (64u << 10)

/* Moves a line's bytes to the file. */
static epp_status *put_away(struct xplane_lines *lines, struct xplane_line *line)
{
	if (!lines->has_file)
		EPP_TRY(temp_file_open(&lines->fd));
	lines->has_file = true;
	if (!array_reserve(&lines->chunks, &lines->chunks_room, lines->chunks_count + 1, sizeof *lines->chunks))
		return epp_status_no_memory();
	EPP_TRY(temp_file_write(lines->fd, lines->file_bytes, line->bytes, line->count));
	lines->chunks[lines->chunks_count++] = (struct xplane_chunk){ .offset = lines->file_bytes,
		                                                      .bytes = (uint32_t)line->count };
	if (line->last_chunk)
		lines->chunks[line->last_chunk - 1].next = (uint32_t)lines->chunks_count;
	else
		line->first_chunk = (uint32_t)lines->chunks_count;
	line->last_chunk = (uint32_t)lines->chunks_count;
	lines->file_bytes += line->count;
	line->in_file_bytes += line->count;
	line->count = 0;
	return NULL;
}

epp_status *xplane_line_reserve(struct xplane_lines *lines, size_t row, size_t bytes, char **at)
{
	if (!array_reserve_zeroed(&lines->lines, &lines->lines_room, row + 1, sizeof *lines->lines))
		return epp_status_no_memory();
	struct xplane_line *line = &lines->lines[row];
	if (line->count && line->count + bytes > CHUNK_BYTES)
		EPP_TRY(put_away(lines, line));
	if (!array_reserve(&line->bytes, &line->room, line->count + bytes, 1))
		return epp_status_no_memory();
	*at = line->bytes + line->count;
	return NULL;
}

epp_status *xplane_lines_close(struct xplane_lines *lines)
{
	for (size_t i = 0; i < lines->lines_room; i++) {
		struct xplane_line *line = &lines->lines[i];
		if (line->count)
			EPP_TRY(put_away(lines, line));
		free(line->bytes);
		line->bytes = NULL;
		line->room = 0;
	}
	return NULL;
}

epp_status *xplane_line_send(struct xplane_lines *lines, size_t row, struct sink *sink)
{
	const struct xplane_line *line = &lines->lines[row];

	for (uint32_t next = line->first_chunk; next && !sink->failed; next = lines->chunks[next - 1].next) {
		uint64_t offset = lines->chunks[next - 1].offset;
		for (uint32_t left = lines->chunks[next - 1].bytes; left;) {
			uint32_t piece = left < SINK_RESERVE_MAX ? left : SINK_RESERVE_MAX;
			char *at = sink_reserve(sink, piece);
			EPP_TRY(temp_file_read(lines->fd, offset, at, piece));
			sink_commit(sink, at + piece);
			offset += piece;
			left -= piece;
		}
	}
	sink_bytes(sink, line->bytes, line->count);
	return NULL;
}

void xplane_lines_deinit(struct xplane_lines *lines)
{
	for (size_t i = 0; i < lines->lines_room; i++)
		free(lines->lines[i].bytes);
	free(lines->lines);
	free(lines->chunks);
	if (lines->has_file)
		close(lines->fd);
	*lines = (struct xplane_lines){ 0 };
}

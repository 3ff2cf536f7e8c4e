/* What was written last need not go through the file: it is moved from the sink's own buffer. */
#include "export/sink_spool.h"

#include <unistd.h>

#include "base/status.h"
#include "file/spool.h"

static size_t to_file(const void *bytes, size_t count, void *user)
{
	struct sink_spool *spool = user;

	if (!spool->is_open) {
		spool->status = spool_open(&spool->fd);
		spool->is_open = !spool->status;
	}
	if (!spool->status)
		spool->status = spool_write(spool->fd, spool->file_bytes, bytes, count);
	spool->file_bytes += count;
	return spool->status ? 0 : count;
}

epp_status *sink_spool_init(struct sink_spool *spool)
{
	*spool = (struct sink_spool){ 0 };
	return sink_init(&spool->sink, to_file, spool);
}

void sink_spool_deinit(struct sink_spool *spool)
{
	sink_deinit(&spool->sink);
	if (spool->is_open)
		close(spool->fd);
	epp_status_release(spool->status);
	*spool = (struct sink_spool){ 0 };
}

epp_status *sink_spool_move(struct sink_spool *spool, struct sink *into, size_t skip)
{
	size_t buffered = (size_t)(spool->sink.at - spool->sink.buffer);
	epp_status *status = spool->status;

	spool->status = NULL;
	for (uint64_t at = skip; at < spool->file_bytes && !status;) {
		uint64_t left = spool->file_bytes - at;
		size_t piece = left < SINK_RESERVE_MAX ? (size_t)left : SINK_RESERVE_MAX;
		char *room = sink_reserve(into, piece);
		status = spool_read(spool->fd, at, room, piece);
		if (!status)
			sink_commit(into, room + piece);
		at += piece;
	}
	size_t rest = skip > spool->file_bytes ? skip - (size_t)spool->file_bytes : 0; /* to skip in the buffer */
	if (!status && buffered > rest)
		sink_bytes(into, spool->sink.buffer + rest, buffered - rest);
	sink_commit(&spool->sink, spool->sink.buffer);
	spool->file_bytes = 0;
	return status;
}

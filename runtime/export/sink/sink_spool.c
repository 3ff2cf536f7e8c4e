/* Keeps a sink's bytes in a temporary file.  The last bytes need not go through the file: they are read from the sink's
 * buffer. */
#include "export/sink/sink_spool.h"

#include <unistd.h>

#include "base/status.h"
#include "files/temp_file.h"

static size_t to_file(const void *bytes, size_t count, void *user)
{
	struct sink_spool *spool = user;

	if (!spool->is_open) {
		spool->status = temp_file_open(&spool->fd);
		spool->is_open = !spool->status;
	}
	if (!spool->status)
		spool->status = temp_file_write(spool->fd, spool->file_bytes, bytes, count);
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

epp_status *sink_spool_read(struct sink_spool *spool, uint64_t at, char *data, size_t bytes)
{
	epp_status *status = spool->status;
	size_t in_file = 0;

	spool->status = NULL;
	if (!status && at < spool->file_bytes) {
		in_file = bytes < spool->file_bytes - at ? bytes : (size_t)(spool->file_bytes - at);
		status = temp_file_read(spool->fd, at, data, in_file);
	}
	if (!status && in_file < bytes)
		memcpy(data + in_file, spool->sink.buffer + (at + in_file - spool->file_bytes), bytes - in_file);
	return status;
}

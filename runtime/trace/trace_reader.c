/* Implements epprof/trace_reader.h with the reader: sources of bytes, and access to what was read at opening. */
#include "epprof/trace_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/reader_private.h"

/* ---- sources ---- */

static size_t file_read(void *user, uint64_t offset, void *buffer, size_t bytes)
{
	int fd = *(int *)user;
	size_t done = 0;

	while (done < bytes) {
		if (offset + done > INT64_MAX)
			break;
		ssize_t got = pread(fd, (uint8_t *)buffer + done, bytes - done, (off_t)(offset + done));
		if (got < 0 && errno == EINTR) {
			errno = 0;
			continue;
		}
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

static void file_close(void *user)
{
	close(*(int *)user);
	free(user);
}

static size_t session_read(void *user, uint64_t offset, void *buffer, size_t bytes)
{
	size_t got = epp_session_read(user, offset, buffer, bytes);
	errno = 0; /* errno left by the session's own reading is not an error here */
	return got;
}

static epp_status *open_source(const struct reader_source *source, const char *path, epp_trace **trace)
{
	*trace = malloc(sizeof(**trace));
	if (!*trace) {
		if (source->close)
			source->close(source->user);
		return epp_status_no_memory();
	}
	epp_status *status = reader_open(source, path, &(*trace)->reader);
	if (status) {
		free(*trace);
		*trace = NULL;
	}
	return status;
}

epp_status *epp_trace_open(const char *path, epp_trace **trace)
{
	struct stat about;

	if (!trace)
		return epp_status_create(EPP_INVALID_ARGUMENT, "trace is NULL");
	*trace = NULL;
	if (!path)
		return epp_status_create(EPP_INVALID_ARGUMENT, "path is NULL");
	/* O_NONBLOCK: opening a pipe without a writer must not block. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return epp_status_create(errno == ENOENT ? EPP_NOT_FOUND : EPP_IO, "%s: %s",
		                         *path ? path : "an empty path", strerror(errno));
	int error = fstat(fd, &about) ? errno : S_ISDIR(about.st_mode) ? EISDIR : 0;
	int *user = error || !S_ISREG(about.st_mode) ? NULL : malloc(sizeof(*user));
	if (!user) {
		close(fd);
		if (error)
			return epp_status_create(EPP_IO, "%s: %s", path, strerror(error));
		return S_ISREG(about.st_mode) ? epp_status_no_memory()
		                              : epp_status_create(EPP_IO, "%s: not a regular file", path);
	}
	*user = fd;
	return open_source(&(struct reader_source){ file_read, file_close, user }, path, trace);
}

epp_status *epp_trace_open_session(epp_session *session, epp_trace **trace)
{
	if (!trace)
		return epp_status_create(EPP_INVALID_ARGUMENT, "trace is NULL");
	*trace = NULL;
	if (!session)
		session = epp_session_default();
	if (!session)
		return epp_status_create(EPP_INVALID_ARGUMENT, "no session");
	return open_source(&(struct reader_source){ session_read, NULL, session }, NULL, trace);
}

void epp_trace_close(epp_trace *trace)
{
	if (!trace)
		return;
	reader_close(trace->reader);
	free(trace);
}

/* ---- answers ---- */

const epp_trace_info *epp_trace_get_info(const epp_trace *trace)
{
	return &trace->reader->info;
}

int epp_trace_source_at(const epp_trace *trace, size_t index, epp_trace_source *source)
{
	const struct reader *reader = trace->reader;

	*source = (epp_trace_source){ .program = "", .hostname = "", .label = "" };
	if (index >= reader->sources_count)
		return 0;
	const struct epf_source *found = &reader->sources[index];
	*source = (epp_trace_source){
		.source = (uint32_t)index,
		.pid = found->pid,
		.program = found->program,
		.hostname = found->hostname,
		.label = found->label,
		.relation = found->relation,
		.clock_error_ns = found->clock_error_ns < INT64_MAX ? (int64_t)found->clock_error_ns : INT64_MAX,
	};
	for (size_t i = 0; i < sizeof(found->boot_id); i++)
		snprintf(source->boot_id + 2 * i, 3, "%02x", found->boot_id[i]);
	return 1;
}

const char *epp_track_kind_name(unsigned kind)
{
	static const char *const names[] = { "unknown", "thread", "device", "custom", "calls" };
	_Static_assert(sizeof(names) / sizeof(*names) == EPP_TRACK_KIND_COUNT, "a name for each kind");

	return names[kind < EPP_TRACK_KIND_COUNT ? kind : 0];
}

const char *epp_relation_name(unsigned relation)
{
	static const char *const names[] = {
		[EPP_RELATED_SELF] = "own",
		[EPP_RELATED_COUNTER] = "counter",
		[EPP_RELATED_MONOTONIC] = "monotonic",
		[EPP_RELATED_REALTIME] = "realtime",
		[EPP_RELATED_EVENTS] = "events",
		[EPP_RELATED_NOT] = "none",
	};
	return relation < sizeof(names) / sizeof(*names) ? names[relation] : NULL;
}

const epp_trace_track *epp_trace_track_at(const epp_trace *trace, size_t index)
{
	return index < trace->reader->tracks_count ? &trace->reader->tracks[index] : NULL;
}

const epp_trace_track *epp_trace_track_find(const epp_trace *trace, uint32_t track)
{
	return reader_track(trace->reader, track);
}

const char *epp_trace_plugin(const epp_trace *trace, const epp_trace_track *track)
{
	const struct reader *reader = trace->reader;

	if (track->producer < 0 || (size_t)track->producer >= reader->producers_count)
		return NULL;
	return *reader->producers[track->producer].label ? reader->producers[track->producer].label : NULL;
}

const char *epp_trace_name(const epp_trace *trace, epp_name name, size_t *bytes)
{
	static const char unknown[] = "(unknown)";
	const struct reader *reader = trace->reader;
	bool known = name < reader->names_count && reader->names[name].text;

	if (bytes)
		*bytes = known ? reader->names[name].bytes : sizeof(unknown) - 1;
	return known ? reader->names[name].text : unknown;
}

size_t epp_trace_accounts_count(epp_trace *trace)
{
	struct reader_impl *impl = reader_impl(trace->reader);
	epp_status *status = reader_account_lines(impl);

	epp_status_release(status);
	return impl->accounts_missing ? 1 : impl->accounts_count;
}

epp_status *epp_trace_account_at(epp_trace *trace, size_t index, epp_trace_account *account)
{
	struct reader_impl *impl = reader_impl(trace->reader);

	*account = (epp_trace_account){ 0 };
	EPP_TRY(reader_accounts(impl));
	if (index >= impl->accounts_count)
		return epp_status_create(EPP_INVALID_ARGUMENT, "account %zu of %zu", index, impl->accounts_count);
	*account = impl->accounts[index].account;
	return NULL;
}

epp_status *epp_trace_offset_of(epp_trace *trace, uint32_t source, uint64_t id, uint64_t *offset)
{
	struct reader *reader = trace->reader;
	struct reader_decoded records = { 0 };
	epp_status *status = NULL;

	*offset = UINT64_MAX;
	for (size_t i = 0; i < reader->blocks_count && *offset == UINT64_MAX && !status; i++) {
		if (reader->blocks[i].source != source)
			continue;
		status = reader_block_decode(reader, &reader->blocks[i], &records);
		for (uint32_t r = 0; r < records.count && !status; r++) {
			unsigned kind = EPF_BITS_KIND(records.records[r].bits);
			/* These carry the id of another record. */
			bool is_own = kind != EPF_ORPHAN_END && kind != EPF_ASYNC_END && kind != EPF_FLOW;
			if (is_own && records.records[r].id == id)
				*offset = reader_impl(reader)->origins[i];
		}
	}
	reader_decoded_deinit(&records);
	return status;
}

const char *epp_loss_name(unsigned reason)
{
	static const char *const names[] = {
		[EPP_LOSS_NO_BUFFER] = "no buffer",
		[EPP_LOSS_NO_SLOT] = "no slot",
		[EPP_LOSS_TOO_DEEP] = "too deep",
		[EPP_LOSS_TOO_LARGE] = "too large",
		[EPP_LOSS_REFUSED] = "refused",
		[EPP_LOSS_DISK] = "disk",
		[EPP_LOSS_POLICY] = "policy",
		[EPP_LOSS_FILTER] = "filter",
		[EPP_LOSS_AFTER_END] = "after end",
		[EPP_LOSS_RESTART_GAP] = "restart gap",
		[EPP_LOSS_PLUGIN] = "plugin",
		[EPP_LOSS_KILLED] = "killed",
		[EPP_LOSS_HUNG] = "plugin hung",
		[EPP_LOSS_BEFORE_START] = "before start",
		[EPP_LOSS_NEGATIVE] = "negative duration",
	};
	return reason < sizeof(names) / sizeof(*names) ? names[reason] : NULL;
}

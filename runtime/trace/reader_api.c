/* Implements epprof/trace_reader.h with the reader: the sources of bytes, and access to the data that was read at
 * opening. */
#include "epprof/trace_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/options.h"
#include "base/os/os.h"
#include "trace/reader.h"
#include "trace/reader_private.h"

/* ---- the host clock ---- */

/* Computes runs and the accuracy of the host's clock from its samples in the trace. */

/* The rate is not computed over a shorter time, because there the uncertainty of the two readings would be larger than
 * the error of the rate. */
#define RATE_SPAN_NS 1000000000

static const struct epf_host_pair *first_start(const struct reader *reader)
{
	for (size_t i = 0; i < reader->runs_count; i++) {
		if (reader->runs[i].start.ticks)
			return &reader->runs[i].start;
	}
	return NULL;
}

int epp_trace_run_at(const epp_trace *trace, size_t index, epp_trace_run *run)
{
	const struct reader *reader = trace->reader;
	const struct epf_host_pair *zero = first_start(reader);

	epp_trace_run made = { .struct_size = sizeof(made) };
	if (!options_fill(run, &made, sizeof(made)) || index >= reader->runs_count)
		return 0;
	const struct epf_run *found = &reader->runs[index];
	made.run = found->run;
	made.source = found->source;
	made.start_unix_ns = found->start.realtime_ns;
	made.page_faults = found->faults;
	made.event_cost_ps = found->event_cost_ps;
	made.write_cpu_ns = found->write_cpu_ns;
	if (zero && found->start.ticks)
		made.start_ns = (int64_t)((uint64_t)found->start.monotonic_ns - (uint64_t)zero->monotonic_ns);
	if (zero && found->end.ticks) {
		made.ended = 1;
		made.end_ns = (int64_t)((uint64_t)found->end.monotonic_ns - (uint64_t)zero->monotonic_ns);
	}
	options_fill(run, &made, sizeof(made));
	return 1;
}

static int64_t rate_error_ppb(const struct reader *reader, uint64_t per_second)
{
	const struct epf_host_pair *first = &reader->pairs[0], *last = &reader->pairs[reader->pairs_count - 1];
	double ns = (double)last->monotonic_ns - (double)first->monotonic_ns;
	double ticks = (double)(last->ticks - first->ticks);

	if (ns < RATE_SPAN_NS || ticks <= 0)
		return 0;
	double error = (ticks * 1e9 / ns / (double)per_second - 1) * 1e9;
	return error > 1e18 ? (int64_t)1e18 : error < -1e18 ? (int64_t)-1e18 : (int64_t)error;
}

void epp_trace_get_clock(const epp_trace *trace, epp_trace_clock *clock)
{
	const struct reader *reader = trace->reader;
	uint64_t per_second = reader->info.ticks_per_second ? reader->info.ticks_per_second : 1000000000;

	epp_trace_clock made = { .pairs_count = reader->pairs_count };
	for (size_t i = 0; i < reader->pairs_count; i++) {
		const struct epf_host_pair *pair = &reader->pairs[i];
		double half_width = (double)pair->half_width_ticks * 1e9 / (double)per_second;
		if (half_width < 9e18 && (int64_t)half_width > made.largest_half_width_ns)
			made.largest_half_width_ns = (int64_t)half_width;
		if (!i)
			continue;
		uint64_t realtime = (uint64_t)pair->realtime_ns - (uint64_t)pair[-1].realtime_ns;
		uint64_t monotonic = (uint64_t)pair->monotonic_ns - (uint64_t)pair[-1].monotonic_ns;
		uint64_t step = realtime - monotonic;
		step = step > INT64_MAX ? 0 - step : step;
		if (step <= INT64_MAX && (int64_t)step > made.largest_step_ns)
			made.largest_step_ns = (int64_t)step;
	}
	if (reader->pairs_count > 1)
		made.rate_error_ppb = rate_error_ppb(reader, per_second);
	options_fill(clock, &made, sizeof(made));
}

/* ---- the trace ---- */

/* ---- sources ---- */

size_t reader_read_file(void *user, uint64_t offset, void *buffer, size_t bytes)
{
	if (offset > INT64_MAX)
		return 0;
	if (bytes > INT64_MAX - offset)
		bytes = INT64_MAX - offset;
	int64_t got = os_file_read_at(*(int *)user, buffer, bytes, offset);
	return got < 0 ? 0 : (size_t)got;
}

static void file_close(void *user)
{
	close(*(int *)user);
	free(user);
}

static size_t session_read(void *user, uint64_t offset, void *buffer, size_t bytes)
{
	return epp_session_read(user, offset, buffer, bytes);
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
	if (!trace)
		return epp_status_create(EPP_INVALID_ARGUMENT, "trace is NULL");
	*trace = NULL;
	if (!path)
		return epp_status_create(EPP_INVALID_ARGUMENT, "path is NULL");
	int fd = os_file_open(path, true);
	if (fd < 0)
		return epp_status_create(errno == ENOENT ? EPP_NOT_FOUND : EPP_IO, "%s: %s",
		                         *path ? path : "an empty path", strerror(errno));
	bool is_regular = os_file_is_regular(fd), is_folder = os_file_is_folder(fd);
	int *user = is_regular ? malloc(sizeof(*user)) : NULL;
	if (!user) {
		close(fd);
		if (is_folder)
			return epp_status_create(EPP_IO, "%s: %s", path, strerror(EISDIR));
		return is_regular ? epp_status_no_memory() : epp_status_create(EPP_IO, "%s: not a regular file", path);
	}
	*user = fd;
	return open_source(&(struct reader_source){ reader_read_file, file_close, user }, path, trace);
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

/* ---- access to the data ---- */

const epp_trace_info *epp_trace_get_info(const epp_trace *trace)
{
	return &trace->reader->info;
}

int epp_trace_source_at(const epp_trace *trace, size_t index, epp_trace_source *source)
{
	const struct reader *reader = trace->reader;

	epp_trace_source made = { .program = "", .hostname = "", .label = "" };
	if (!options_fill(source, &made, sizeof(made)) || index >= reader->sources_count)
		return 0;
	const struct epf_source *found = &reader->sources[index];
	made = (epp_trace_source){
		.source = (uint32_t)index,
		.pid = found->pid,
		.program = found->program,
		.hostname = found->hostname,
		.label = found->label,
		.relation = found->relation,
		.clock_error_ns = found->clock_error_ns < INT64_MAX ? (int64_t)found->clock_error_ns : INT64_MAX,
	};
	for (size_t i = 0; i < sizeof(found->boot_id); i++)
		snprintf(made.boot_id + 2 * i, 3, "%02x", found->boot_id[i]);
	options_fill(source, &made, sizeof(made));
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

const char *epp_trace_track_plugin(const epp_trace *trace, const epp_trace_track *track)
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

size_t epp_trace_ledger_count(epp_trace *trace)
{
	struct reader_impl *impl = reader_impl(trace->reader);
	epp_status *status = reader_account_lines(impl);

	epp_status_destroy(status);
	return impl->accounts_missing ? 1 : impl->accounts_count;
}

epp_status *epp_trace_ledger_at(epp_trace *trace, size_t index, epp_trace_ledger_entry *account)
{
	struct reader_impl *impl = reader_impl(trace->reader);

	if (!options_fill(account, &(epp_trace_ledger_entry){ 0 }, sizeof(*account)))
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_trace_ledger_entry: struct_size is not set");
	EPP_TRY(reader_accounts(impl));
	if (index >= impl->accounts_count)
		return epp_status_create(EPP_INVALID_ARGUMENT, "ledger entry %zu of %zu", index, impl->accounts_count);
	options_fill(account, &impl->accounts[index].account, sizeof(*account));
	return NULL;
}

epp_status *epp_trace_find_record(epp_trace *trace, uint32_t source, uint64_t id, uint64_t *offset)
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
			/* The id of a flow is not that of an event. */
			bool is_own = kind != EPF_FLOW && (READER_OWN_ID_KINDS >> kind & 1);
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
		[EPP_LOSS_THROTTLED] = "throttled",
	};
	return reason < sizeof(names) / sizeof(*names) ? names[reason] : NULL;
}

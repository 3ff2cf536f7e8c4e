/* Builds the ledger's lines: for each thread, session and profiler the numbers of emitted, written, lost and open
 * events.
 *
 * A thread's emitted count is the number of ids that it took and of losses that it counted without an id; its written
 * count is the number of records of its own regions, on any track.  A profiler's emitted count comes from its producer
 * entry; its written count is the number of complete events on its tracks.  If the header of a block is sufficient for
 * counting, the block is not decoded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/reader_private.h"

#define COMPLETE (1u << EPF_COMPLETE)

/* ---- the lines of the ledger ---- */

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* Lists the tracks that get a line of their own: tracks with a ledger entry or an open event, and tracks of threads (or
 * without a definition) with a block.  Track 0, the session, is left out.  Events in a block of a device's track are
 * counted only in the line of the profiler. */
static epp_status *list_tracks(const struct reader *reader, uint32_t **tracks, size_t *count)
{
	size_t most = reader->ledger_count + reader->blocks_count + reader->open_count + 1, kept = 0;
	uint32_t *list = reallocarray(NULL, most, sizeof(*list)), last = 0;

	if (!list)
		return epp_status_no_memory();
	*count = 0;
	for (size_t i = 0; i < reader->ledger_count; i++)
		list[(*count)++] = reader->ledger[i].track;
	for (size_t i = 0; i < reader->open_count; i++)
		list[(*count)++] = reader->open[i].track;
	for (size_t i = 0; i < reader->blocks_count; i++) {
		uint32_t track = reader->blocks[i].track;
		if (track == last)
			continue;
		last = track;
		const epp_trace_track *known = reader_track(reader, track);
		if (!known || known->kind == EPP_TRACK_THREAD)
			list[(*count)++] = track;
	}
	if (*count)
		qsort(list, *count, sizeof(*list), by_number);
	for (size_t i = 0; i < *count; i++)
		if (list[i] && (!kept || list[kept - 1] != list[i]))
			list[kept++] = list[i];
	*count = kept;
	*tracks = list;
	return NULL;
}

/* Returns the source (process) to which a run belongs; 0 if the run is not defined. */
static uint32_t source_of_run(const struct reader *reader, uint32_t number)
{
	for (size_t i = 0; i < reader->runs_count; i++)
		if (reader->runs[i].run == number)
			return reader->runs[i].source;
	return 0;
}

static char *label_of(const struct reader *reader, uint32_t number)
{
	const epp_trace_track *track = reader_track(reader, number);
	char *label = NULL;
	int length;

	if (number == EPF_TRACK_GONE)
		length = asprintf(&label, "ended threads");
	else if (track && track->kind == EPP_TRACK_THREAD)
		length = asprintf(&label, "thread %s (%u)", track->name, track->thread_id);
	else if (track)
		length = asprintf(&label, "track %s", track->name);
	else
		length = asprintf(&label, "track %u", number);
	return length < 0 ? NULL : label;
}

/* Adds a line.  The array has room, because it was allocated for all lines.  Ownership: takes the label. */
static bool add_line(struct reader_impl *impl, const epp_trace_ledger_entry *account, char *label)
{
	if (!label)
		return false;
	struct reader_account *line = &impl->accounts[impl->accounts_count++];
	*line = (struct reader_account){ .account = *account, .producer = label };
	line->account.producer = label;
	line->account.note = "";
	return true;
}

/* Adds the lines of sessions.  Source 0 always has one, other sources only if they have an entry.  Entries of sessions
 * are first in the ledger. */
static bool add_sessions(struct reader_impl *impl)
{
	const struct reader *reader = &impl->reader;
	bool memory = add_line(impl, &(epp_trace_ledger_entry){ 0 }, strdup("session"));

	for (size_t i = 0; i < reader->ledger_count && !reader->ledger[i].track && memory; i++) {
		uint32_t source = source_of_run(reader, reader->ledger[i].run);
		bool known = false;
		for (size_t line = 0; line < impl->accounts_count && !known; line++)
			known = impl->accounts[line].account.source == source;
		if (!known)
			memory = add_line(impl, &(epp_trace_ledger_entry){ .source = source }, strdup("session"));
	}
	impl->accounts_sessions = impl->accounts_count;
	return memory;
}

static bool add_threads(struct reader_impl *impl, const uint32_t *tracks, size_t count)
{
	bool memory = true;

	for (size_t i = 0; i < count && memory; i++) {
		const epp_trace_track *track = reader_track(&impl->reader, tracks[i]);
		memory = add_line(impl,
		                  &(epp_trace_ledger_entry){ .track = tracks[i], .source = track ? track->source : 0 },
		                  label_of(&impl->reader, tracks[i]));
	}
	impl->accounts_threads = impl->accounts_count;
	return memory;
}

static struct reader_account *find_producer(struct reader_impl *impl, int32_t number);

static bool add_producers(struct reader_impl *impl)
{
	const struct reader *reader = &impl->reader;
	bool memory = true;

	for (size_t i = 0; i < reader->producers_count && memory; i++) {
		if (!reader->producers[i].label[0])
			continue;
		memory = add_line(impl, &(epp_trace_ledger_entry){ .is_plugin = 1 }, strdup(reader->producers[i].label));
		if (memory)
			impl->accounts[impl->accounts_count - 1].producer_index = (int32_t)i;
	}
	for (size_t i = 0; i < reader->tracks_count && memory; i++) {
		struct reader_account *line = find_producer(impl, reader->tracks[i].producer);
		if (line)
			line->account.source = reader->tracks[i].source;
	}
	return memory;
}

epp_status *reader_account_lines(struct reader_impl *impl)
{
	struct reader *reader = &impl->reader;
	uint32_t *tracks = NULL;
	size_t count = 0;

	if (impl->accounts)
		return NULL;
	/* An earlier call ran out of memory, and epp_trace_ledger_count may have returned 1 in place of the number of
	 * lines, so this call fails too. */
	if (impl->accounts_missing)
		return epp_status_no_memory();
	impl->accounts_missing = true;
	EPP_TRY(list_tracks(reader, &tracks, &count));
	impl->accounts = calloc(reader->ledger_count + 1 + count + reader->producers_count, sizeof(*impl->accounts));
	bool memory = impl->accounts && add_sessions(impl) && add_threads(impl, tracks, count) && add_producers(impl);
	free(tracks);
	impl->accounts_missing = !memory;
	if (memory)
		return NULL;
	for (size_t i = 0; i < impl->accounts_count; i++)
		free(impl->accounts[i].producer);
	free(impl->accounts);
	impl->accounts = NULL;
	impl->accounts_count = 0;
	return epp_status_no_memory();
}

/* Returns the ledger's line of a thread's track, or NULL. */
static epp_trace_ledger_entry *line_of(struct reader_impl *impl, uint32_t track)
{
	size_t low = impl->accounts_sessions, high = impl->accounts_threads;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (impl->accounts[middle].account.track < track)
			low = middle + 1;
		else
			high = middle;
	}
	return low < impl->accounts_threads && impl->accounts[low].account.track == track ? &impl->accounts[low].account
	                                                                                  : NULL;
}

/* Returns the line to which a ledger entry belongs. */
static epp_trace_ledger_entry *line_of_entry(struct reader_impl *impl, const struct epf_ledger_entry *entry)
{
	if (entry->track)
		return line_of(impl, entry->track);
	uint32_t source = source_of_run(&impl->reader, entry->run);
	for (size_t i = 0; i < impl->accounts_sessions; i++)
		if (impl->accounts[i].account.source == source)
			return &impl->accounts[i].account;
	return NULL;
}

/* Finds a profiler's line by binary search, because these lines are sorted by producer number. */
static struct reader_account *find_producer(struct reader_impl *impl, int32_t number)
{
	size_t low = impl->accounts_threads, high = impl->accounts_count;

	while (low < high && number >= 0) {
		size_t middle = low + (high - low) / 2;
		if (impl->accounts[middle].producer_index < number)
			low = middle + 1;
		else
			high = middle;
	}
	return number >= 0 && low < impl->accounts_count && impl->accounts[low].producer_index == number
	           ? &impl->accounts[low]
	           : NULL;
}

/* Returns the line of the profiler that owns the track, or NULL. */
static epp_trace_ledger_entry *line_of_producer(struct reader_impl *impl, uint32_t track)
{
	const epp_trace_track *known = reader_track(&impl->reader, track);
	struct reader_account *line = known ? find_producer(impl, known->producer) : NULL;

	return line ? &line->account : NULL;
}

/* ---- counting ---- */

void reader_account_count(struct reader_impl *impl, const struct reader_block *block,
                          const struct codec_record *records, uint32_t count)
{
	epp_trace_ledger_entry *thread = line_of(impl, block->track);
	epp_trace_ledger_entry *producer = line_of_producer(impl, block->track);

	for (uint32_t i = 0; i < count; i++) {
		unsigned kind = EPF_BITS_KIND(records[i].bits);
		if (kind == EPF_TRACK_SWITCH)
			producer = line_of_producer(impl, records[i].id ? (uint32_t)records[i].id : block->track);
		if (thread && (READER_OWN_ID_KINDS >> kind & 1))
			thread->written++;
		if (producer && kind == EPF_COMPLETE)
			producer->written++;
	}
}

bool reader_account_header(struct reader_impl *impl, const struct reader_block *block)
{
	bool all_own = !(block->kinds & ~READER_OWN_ID_KINDS), no_complete = !(block->kinds & COMPLETE);
	epp_trace_ledger_entry *thread = line_of(impl, block->track);

	if (!all_own || !(no_complete || block->kinds == COMPLETE))
		return false;
	epp_trace_ledger_entry *producer = no_complete ? NULL : line_of_producer(impl, block->track);
	if (thread)
		thread->written += block->record_count;
	if (producer)
		producer->written += block->record_count;
	return true;
}

/* Returns true if a slot of the window has this track: when the process was killed, the thread's slot had not been
 * freed. */
static bool has_slot(const struct reader_impl *impl, uint32_t track)
{
	for (size_t i = 0; i < impl->slots_count && track; i++)
		if (impl->slots[i].slot.track == track)
			return true;
	return false;
}

static uint64_t lost_events(const uint64_t *lost)
{
	uint64_t total = 0;

	for (unsigned reason = 0; reason < EPF_LOSS_COUNT; reason++)
		total += EPF_LOSS_IS_OF_EVENTS(reason) ? lost[reason] : 0;
	return total;
}

/* Adds the events that a ring has overwritten, as losses by policy. */
static void count_overwritten(struct reader_impl *impl)
{
	for (size_t i = 0; i < impl->overwritten_count; i++) {
		const struct epf_overwritten_row *row = &impl->overwritten[i];
		struct reader_account *plugin = NULL;
		if (row->of & EPF_OVERWRITTEN_PRODUCER)
			plugin = find_producer(impl, (int32_t)(row->of & ~EPF_OVERWRITTEN_PRODUCER));
		epp_trace_ledger_entry *line = plugin ? &plugin->account : line_of(impl, row->of);
		if (line)
			line->lost[EPP_LOSS_POLICY] += row->events;
	}
}

void reader_account_begin(struct reader_impl *impl)
{
	struct reader *reader = &impl->reader;

	impl->accounts_counted = false;
	for (size_t i = 0; i < impl->accounts_count; i++) {
		epp_trace_ledger_entry *line = &impl->accounts[i].account;
		line->written = line->emitted = line->open = line->lost_total = line->errors = 0;
		memset(line->lost, 0, sizeof(line->lost));
	}
	for (size_t i = 0; i < reader->ledger_count; i++) {
		const struct epf_ledger_entry *entry = &reader->ledger[i];
		epp_trace_ledger_entry *line = line_of_entry(impl, entry);
		if (!line)
			continue;
		line->emitted += entry->ids_taken + entry->lost_idless;
		for (unsigned reason = 0; reason < EPF_LOSS_COUNT; reason++)
			line->lost[reason] += entry->lost[reason];
	}
	for (size_t i = 0; i < reader->open_count; i++) {
		epp_trace_ledger_entry *line = line_of(impl, reader->open[i].track);
		if (line)
			line->open++;
	}
	for (size_t i = impl->accounts_threads; i < impl->accounts_count; i++) {
		epp_trace_ledger_entry *line = &impl->accounts[i].account;
		const struct epf_producer *producer = &reader->producers[impl->accounts[i].producer_index];
		line->emitted = producer->emitted;
		line->errors = producer->errors;
		memcpy(line->lost, producer->lost, sizeof(line->lost));
		line->note = producer->note;
	}
	count_overwritten(impl);
}

/* Corrects the line of a killed thread.  If the kill was between the taking of an id and the store of its event, or
 * between the two counts of a loss without an id, the event never began.  If the kill was between the count of a loss
 * and the close of the event, the event is both lost and open.  A thread does only one of these at a time, so the
 * difference is at most one event. */
static void settle_thread(epp_trace_ledger_entry *line, uint64_t known)
{
	if (line->emitted == known + 1 || (line->emitted + 1 == known && line->open && line->lost_total))
		line->emitted = known;
}

/* Corrects the ledger's line of a profiler that was submitting events when the process was killed.  `known` is the
 * number of events that are written, lost or open.  The counter `emitted` may have been updated before the events
 * were stored (the missing ones are then lost) or after. */
static void settle_profiler(epp_trace_ledger_entry *line, uint64_t known)
{
	if (line->emitted > known) {
		line->lost[EPP_LOSS_KILLED] += line->emitted - known;
		line->lost_total += line->emitted - known;
	} else {
		line->emitted = known;
	}
}

void reader_account_end(struct reader_impl *impl)
{
	bool cut_off = impl->reader.info.state == EPP_TRACE_CUT_OFF, live = impl->reader.info.state == EPP_TRACE_RECORDING;

	for (size_t i = 0; i < impl->accounts_count; i++) {
		epp_trace_ledger_entry *line = &impl->accounts[i].account;
		line->lost_total = lost_events(line->lost);
		if (!line->track && !line->is_plugin)
			line->emitted = line->lost_total;
		uint64_t known = line->written + line->lost_total + line->open;
		/* A live file is not read at one instant, so `emitted` is set to the number of events that were
		 * found. */
		if (live)
			line->emitted = known;
		else if (cut_off && line->is_plugin && impl->reader.live.flags & EPF_LIVE_RECORDING)
			settle_profiler(line, known);
		else if (cut_off && has_slot(impl, line->track))
			settle_thread(line, known);
		line->balanced = line->emitted == line->written + line->lost_total + line->open;
	}
	impl->accounts_counted = true;
}

epp_status *reader_accounts(struct reader_impl *impl)
{
	struct reader *reader = &impl->reader;
	struct reader_decoded records = { 0 };
	epp_status *status = reader_account_lines(impl);

	if (status || impl->accounts_counted)
		return status;
	reader_account_begin(impl);
	for (size_t i = 0; i < reader->blocks_count && !status; i++) {
		const struct reader_block *block = &reader->blocks[i];
		if (reader_account_header(impl, block))
			continue;
		status = reader_block_decode(reader, block, &records);
		if (!status)
			reader_account_count(impl, block, records.records, records.count);
	}
	reader_decoded_deinit(&records);
	if (!status)
		reader_account_end(impl);
	return status;
}

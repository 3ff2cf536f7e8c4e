/* Checks a whole trace and reports inconsistencies.
 *
 * The reader's findings while opening come first.  Then every records block is decoded once: its header is checked
 * against its records, each record by itself, its id against all others, and its time against its run.  References to a
 * record that may come later (from an end on another thread) are collected and checked at the end.  Of each kind of
 * finding, the first REPORTED_MAX are reported individually, and the rest as a count. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "containers/array.h"
#include "trace/reader_private.h"
#include "trace/writer/trace_writer_private.h"

#define REPORTED_MAX 20

enum check {
	CHECK_OPENING,
	CHECK_INDEX,
	CHECK_PAYLOAD,
	CHECK_HEADER,
	CHECK_RECORD,
	CHECK_ORDER,
	CHECK_ID,
	CHECK_PAIRING,
	CHECK_NAME,
	CHECK_TRACK,
	CHECK_TIME,
	CHECK_CLOCK,
	CHECK_BALANCE,
	CHECK_COUNT
};

static const char *const check_names[CHECK_COUNT] = {
	"findings of opening",  "index", "payloads", "block headers", "records",     "ends out of order", "ids",
	"ends without a begin", "names", "tracks",   "times outside", "clock pairs", "accounts"
};

struct reference {
	uint64_t id;
	uint64_t offset;
	uint32_t source;
};

struct validation {
	struct reader_impl *impl;
	void (*report)(void *user, const epp_trace_finding *finding);
	void *user;
	uint64_t found; /* the number of findings that are warnings or errors */
	uint64_t counts[CHECK_COUNT];
	epp_severity worst[CHECK_COUNT];

	struct id_set ids;
	struct reference *ends; /* ends on other threads, and ends of asynchronous events */
	size_t ends_count, ends_capacity;
	struct id_set undefined; /* names, tracks, runs and sources that were reported as undefined */
	uint64_t lost;           /* the number of records that may be missing; very large if the file is damaged */
};

static void add_finding(struct validation *v, enum check check, epp_severity severity, uint64_t offset,
                        const char *format, ...) EPP_FORMAT(5, 6);

static void add_finding(struct validation *v, enum check check, epp_severity severity, uint64_t offset,
                        const char *format, ...)
{
	char text[512];
	va_list args;

	v->found += severity != EPP_NOTE;
	if (severity > v->worst[check])
		v->worst[check] = severity;
	if (v->counts[check]++ >= REPORTED_MAX || !v->report)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	v->report(v->user, &(epp_trace_finding){ severity, offset, text });
}

static void report_omitted(const struct validation *v)
{
	char text[128];

	for (unsigned check = 0; check < CHECK_COUNT && v->report; check++) {
		if (v->counts[check] <= REPORTED_MAX)
			continue;
		snprintf(text, sizeof(text), "%s: %" PRIu64 " more findings", check_names[check],
		         v->counts[check] - REPORTED_MAX);
		v->report(v->user, &(epp_trace_finding){ v->worst[check], UINT64_MAX, text });
	}
}

/* ---- names and tracks ---- */

/* Returns true only at the first call for this value. */
static bool first_time(struct validation *v, uint64_t what)
{
	bool added;
	return !id_set_add(&v->undefined, 0, what, &added) || added;
}

static void check_name(struct validation *v, uint32_t name, uint64_t offset)
{
	const struct reader *reader = &v->impl->reader;

	if ((name >= reader->names_count || !reader->names[name].text) && first_time(v, name))
		add_finding(v, CHECK_NAME, EPP_ERROR, offset, "name %u is used but not defined", name);
}

static void check_track(struct validation *v, uint32_t track, uint64_t offset)
{
	if (!reader_track(&v->impl->reader, track) && first_time(v, 1ull << 40 | track))
		add_finding(v, CHECK_TRACK, EPP_ERROR, offset, "track %u is used but not defined", track);
}

/* ---- records ---- */

static const struct epf_run *run_of(const struct reader *reader, uint32_t number)
{
	for (size_t i = 0; i < reader->runs_count; i++)
		if (reader->runs[i].run == number)
			return &reader->runs[i];
	return NULL;
}

static bool is_host_kind(unsigned kind)
{
	return kind != EPF_COMPLETE && kind != EPF_TRACK_SWITCH && kind != EPF_CLOCK_PAIR;
}

static bool has_parent(const struct reader_decoded *records, const struct codec_record *record)
{
	uint32_t after;

	codec_parent(records->args, records->args_bytes, record, &after);
	return after != record->args_offset;
}

static void check_args(struct validation *v, const struct reader_decoded *records, const struct codec_record *record,
                       uint64_t offset)
{
	struct codec_arg arg;
	uint32_t at = record->args_offset;

	for (uint32_t i = 0; i < record->args_count && (at = codec_arg(records->args, records->args_bytes, at, &arg)); i++)
		if (arg.key == EPF_NAME_ARGS)
			add_finding(v, CHECK_RECORD, EPP_ERROR, offset,
			            "id %" PRIu64 " refers to args, which is allowed only in a region", record->id);
		else
			check_name(v, arg.key, offset);
}

/* Checks one record on its own. */
static void check_record(struct validation *v, const struct reader_decoded *records, const struct codec_record *record,
                         const struct epf_run *run, uint64_t offset)
{
	unsigned kind = EPF_BITS_KIND(record->bits), category = EPF_BITS_CATEGORY(record->bits);
	uint64_t end = record->start_ticks + record->duration_ticks;

	check_name(v, record->name, offset);
	check_args(v, records, record, offset);
	if (kind < EPF_EVENT || kind > EPF_CLOCK_PAIR) {
		add_finding(v, CHECK_RECORD, EPP_WARNING, offset, "a record has the unknown kind %u", kind);
		return;
	}
	if (category > EPP_API)
		add_finding(v, CHECK_RECORD, EPP_ERROR, offset, "id %" PRIu64 ": category %u", record->id, category);
	if (kind == EPF_COUNTER && !record->args_count)
		add_finding(v, CHECK_RECORD, EPP_ERROR, offset, "id %" PRIu64 ": a counter has no value", record->id);
	if (kind == EPF_FLOW && !has_parent(records, record))
		add_finding(v, CHECK_RECORD, EPP_ERROR, offset, "a flow to id %" PRIu64 " has no source", record->id);
	if (kind == EPF_TRACK_SWITCH && (record->id > UINT32_MAX || record->id))
		check_track(v, record->id > UINT32_MAX ? UINT32_MAX : (uint32_t)record->id, offset);
	if (is_host_kind(kind) && record->duration_ticks >> 63)
		add_finding(v, CHECK_TIME, EPP_WARNING, offset,
		            "id %" PRIu64 ": ends %" PRIu64 " ticks before it begins: the clock moved backwards",
		            record->id, -record->duration_ticks);
	else if (kind != EPF_CLOCK_PAIR && end < record->start_ticks)
		add_finding(v, CHECK_TIME, EPP_ERROR, offset, "id %" PRIu64 ": its end is beyond the clock's range",
		            record->id);
	else if (is_host_kind(kind) && run && run->start.ticks && record->start_ticks < run->start.ticks)
		add_finding(v, CHECK_TIME, EPP_ERROR, offset, "id %" PRIu64 ": starts %" PRIu64 " ticks before its run",
		            record->id, run->start.ticks - record->start_ticks);
	else if (is_host_kind(kind) && run && run->end.ticks && end > run->end.ticks)
		add_finding(v, CHECK_TIME, EPP_ERROR, offset, "id %" PRIu64 ": ends %" PRIu64 " ticks after its run",
		            record->id, end - run->end.ticks);
}

static epp_status *check_id(struct validation *v, const struct epf_block *block, const struct codec_record *record,
                            uint64_t offset)
{
	unsigned kind = EPF_BITS_KIND(record->bits);
	bool added;

	if (kind == EPF_ORPHAN_END || kind == EPF_ASYNC_END) {
		if (!array_reserve_zeroed(&v->ends, &v->ends_capacity, v->ends_count + 1, sizeof(*v->ends)))
			return epp_status_no_memory();
		v->ends[v->ends_count++] = (struct reference){ record->id, offset, block->source };
	}
	/* A flow has an id of its own, but its record has the id of its target. */
	if (kind == EPF_FLOW || !(READER_OWN_ID_KINDS >> kind & 1))
		return NULL;
	if (!record->id)
		add_finding(v, CHECK_ID, EPP_ERROR, offset, "a record of kind %u has no id", kind);
	else if (!id_set_add(&v->ids, block->source, record->id, &added))
		return epp_status_no_memory();
	else if (!added)
		add_finding(v, CHECK_ID, EPP_ERROR, offset, "id %" PRIu64 " is in two records", record->id);
	return NULL;
}

static bool was_open(const struct reader_decoded *records, uint64_t id)
{
	for (uint32_t i = 0; i < records->header.open_count; i++)
		if (records->open_ids[i] == id)
			return true;
	return false;
}

/* Checks the header of a block against its records, because the timeline relies on the header. */
static void check_header(struct validation *v, const struct reader_decoded *records, uint64_t offset)
{
	const struct epf_block *block = &records->header;
	uint64_t first = UINT64_MAX, own = UINT64_MAX, last = 0, largest_open = 0;
	unsigned kinds = 0;

	for (uint32_t i = 0; i < block->open_count; i++)
		largest_open = records->open_ids[i] > largest_open ? records->open_ids[i] : largest_open;
	for (uint32_t i = 0; i < records->count; i++) {
		const struct codec_record *record = &records->records[i];
		unsigned kind = EPF_BITS_KIND(record->bits);
		uint64_t end = record->duration_ticks >> 63 ? record->start_ticks
		                                            : record->start_ticks + record->duration_ticks;
		kinds |= 1u << kind;
		if (!is_host_kind(kind))
			continue;
		if (end < last)
			add_finding(v, CHECK_ORDER, EPP_WARNING, offset,
			            "id %" PRIu64 ": ends %" PRIu64 " ticks before the record before it", record->id,
			            last - end);
		first = record->start_ticks < first ? record->start_ticks : first;
		last = end > last ? end : last;
		if (record->start_ticks < own &&
		    !(kind == EPF_EVENT && record->id <= largest_open && was_open(records, record->id)))
			own = record->start_ticks;
	}
	if (records->is_complete && kinds != block->kinds)
		add_finding(v, CHECK_HEADER, EPP_ERROR, offset,
		            "the header of a block has kinds %x, its records have %x", block->kinds, kinds);
	if (records->is_complete &&
	    (first != block->first_ticks || last != block->last_ticks || own != block->own_first_ticks))
		add_finding(v, CHECK_HEADER, EPP_ERROR, offset,
		            "the header of a block covers %" PRIu64 " (%" PRIu64 ") to %" PRIu64
		            ", its records cover %" PRIu64 " (%" PRIu64 ") to %" PRIu64,
		            block->first_ticks, block->own_first_ticks, block->last_ticks, first, own, last);
}

/* Returns true if the ranges of ids in the block's index entry contain all ids of the block.  The division into ranges
 * depends on the version of the packer. */
static bool ids_are_listed(const struct reader_summary *summary, const struct reader_decoded *records)
{
	for (uint32_t i = 0; i < records->count && summary->ids_count; i++) {
		const struct codec_record *record = &records->records[i];
		uint32_t range = 0;
		if (!(TRACE_WRITER_OWN_KINDS >> EPF_BITS_KIND(record->bits) & 1))
			continue;
		while (range < summary->ids_count &&
		       (record->id < summary->ids[range].first || record->id > summary->ids[range].last))
			range++;
		if (range == summary->ids_count)
			return false;
	}
	return true;
}

/* Checks the index entry of a block against its records, because the timeline uses it to select blocks for a time
 * range. */
static epp_status *check_summary(struct validation *v, const struct reader_decoded *records, size_t index, uint64_t offset)
{
	const struct reader_summary *summary = &v->impl->reader.summaries[index];
	struct trace_writer_index seen;

	trace_writer_index_init(&seen);
	epp_status *status = trace_writer_index_records(&seen, records, NULL);
	trace_writer_index_settle(&seen);
	const struct epf_index_entry *next = &seen.next;
	bool same = next->first_id == summary->all_ids.first && next->last_id == summary->all_ids.last &&
	            next->flags == summary->flags && ids_are_listed(summary, records) &&
	            next->spans_count == summary->spans_count && next->references_count == summary->references_count;
	if (same && next->spans_count)
		same = !memcmp(seen.spans, summary->spans, next->spans_count * sizeof(*seen.spans));
	if (same && next->references_count)
		same = !memcmp(seen.references_next.ranges, summary->references,
		               next->references_count * sizeof(*summary->references));
	if (!status && !same)
		add_finding(v, CHECK_INDEX, EPP_ERROR, offset, "the index entry of a block differs from its records");
	trace_writer_index_deinit(&seen);
	return status;
}

static epp_status *check_block(struct validation *v, struct reader_decoded *records, size_t index)
{
	struct reader *reader = &v->impl->reader;
	const struct reader_block *entry = &reader->blocks[index];
	uint64_t offset = v->impl->origins[index];

	EPP_TRY(reader_block_decode(reader, entry, records));
	const struct epf_block *block = &records->header;
	const struct epf_run *run = run_of(reader, block->run);
	if (!records->is_complete)
		add_finding(v, CHECK_PAYLOAD, EPP_ERROR, offset, "a block has %u records, but only %u can be decoded",
		            block->record_count, records->count);
	if (!run && first_time(v, 1ull << 41 | block->run))
		add_finding(v, CHECK_RECORD, EPP_ERROR, offset, "run %u is used but not defined", block->run);
	if (block->source >= reader->sources_count && first_time(v, 1ull << 42 | block->source))
		add_finding(v, CHECK_RECORD, EPP_ERROR, offset, "source %u is used but not defined", block->source);
	check_track(v, block->track, offset);
	check_header(v, records, offset);
	if (reader->summaries && records->is_complete && !entry->is_lost)
		EPP_TRY(check_summary(v, records, index, offset));
	for (uint32_t i = 0; i < records->count; i++) {
		check_record(v, records, &records->records[i], run, offset);
		EPP_TRY(check_id(v, block, &records->records[i], offset));
	}
	reader_account_count(v->impl, entry, records->records, records->count);
	return NULL;
}

/* ---- checks of the whole trace ---- */

static epp_status *check_open(struct validation *v)
{
	const struct reader *reader = &v->impl->reader;
	bool added;

	for (size_t i = 0; i < reader->open_count; i++) {
		const struct reader_open *open = &reader->open[i];
		check_name(v, open->open.name, open->offset);
		check_track(v, open->track, open->offset);
		if (!id_set_add(&v->ids, 0, open->open.id, &added))
			return epp_status_no_memory();
		if (!added)
			add_finding(v, CHECK_ID, EPP_ERROR, open->offset, "id %" PRIu64 " is both open and in a record",
			            open->open.id);
	}
	return NULL;
}

/* Reports ends without a begin.  They are no error if further events may follow, or if at least as many events are
 * counted as lost. */
static void check_pairing(struct validation *v)
{
	bool live = v->impl->reader.info.state == EPP_TRACE_RECORDING;
	size_t alone = 0;

	for (size_t i = 0; i < v->ends_count; i++)
		if (!id_set_has(&v->ids, v->ends[i].source, v->ends[i].id))
			v->ends[alone++] = v->ends[i];
	for (size_t i = 0; i < alone; i++)
		add_finding(v, CHECK_PAIRING, live || alone <= v->lost ? EPP_NOTE : EPP_ERROR, v->ends[i].offset,
		            "an end of id %" PRIu64 ", which never began", v->ends[i].id);
}

/* Returns the offset of a pair in the file.  The pairs of a run's start and end are in the run's block. */
static uint64_t pair_offset(const struct validation *v, const struct epf_host_pair *pair)
{
	const struct reader *reader = &v->impl->reader;
	uint64_t offset = reader_find_offset(v->impl, READER_ITEM_PAIR, pair->ticks);

	for (size_t i = 0; i < reader->runs_count && offset == UINT64_MAX; i++)
		if (reader->runs[i].start.ticks == pair->ticks || reader->runs[i].end.ticks == pair->ticks)
			offset = reader_find_offset(v->impl, READER_ITEM_RUN, reader->runs[i].run);
	return offset;
}

static void check_clock(struct validation *v)
{
	const struct reader *reader = &v->impl->reader;
	double ns_per_tick = 1e9 / (double)(reader->header.source.ticks_per_second ? reader->header.source.ticks_per_second
	                                                                           : 1);

	for (size_t i = 1; i < reader->pairs_count; i++) {
		const struct epf_host_pair *before = &reader->pairs[i - 1], *pair = &reader->pairs[i];
		double ticks_ns = (double)(pair->ticks - before->ticks) * ns_per_tick;
		double passed_ns = (double)pair->monotonic_ns - (double)before->monotonic_ns;
		double slack_ns = (double)(pair->half_width_ticks + before->half_width_ticks) * ns_per_tick + 1000;
		if (passed_ns < -slack_ns)
			add_finding(v, CHECK_CLOCK, EPP_ERROR, pair_offset(v, pair),
			            "clock pair %zu: %" PRIu64 " ticks on, but %.0f ns earlier", i,
			            pair->ticks - before->ticks, -passed_ns);
		else if (passed_ns < ticks_ns * 0.99 - slack_ns || passed_ns > ticks_ns * 1.01 + slack_ns)
			add_finding(v, CHECK_CLOCK, EPP_WARNING, pair_offset(v, pair),
			            "clock pair %zu: %.0f ns by ticks are %.0f ns", i, ticks_ns, passed_ns);
	}
	for (size_t i = 0; i < reader->runs_count; i++) {
		const struct epf_run *run = &reader->runs[i];
		uint64_t offset = reader_find_offset(v->impl, READER_ITEM_RUN, run->run);
		if (run->end.ticks && run->end.ticks < run->start.ticks)
			add_finding(v, CHECK_CLOCK, EPP_ERROR, offset, "run %u ends before it starts", run->run);
		if (!run->end.ticks && reader->header.state == EPF_FINISHED)
			add_finding(v, CHECK_CLOCK, EPP_ERROR, offset,
			            "run %u has no end although the file is finished", run->run);
	}
}

static void check_balance(struct validation *v)
{
	struct reader_impl *impl = v->impl;

	reader_account_end(impl);
	for (size_t i = 0; i < impl->accounts_count; i++) {
		const epp_trace_ledger_entry *line = &impl->accounts[i].account;
		uint64_t offset = line->is_plugin ? reader_find_offset(impl, READER_ITEM_PRODUCER,
		                                                       (uint64_t)impl->accounts[i].producer_index)
		                                  : reader_find_offset(impl, READER_ITEM_ACCOUNT, line->track);
		if (!line->balanced)
			add_finding(v, CHECK_BALANCE, EPP_ERROR, offset,
			            "%s: emitted %" PRIu64 ", but written %" PRIu64 " + lost %" PRIu64 " + open %" PRIu64,
			            line->producer, line->emitted, line->written, line->lost_total, line->open);
	}
}

/* Reports the reader's findings, beginning with number `from`. */
static void report_findings(struct validation *v, const struct reader *reader, size_t from)
{
	for (size_t i = from; i < reader->findings_count; i++) {
		const struct reader_finding *finding = &reader->findings[i];
		add_finding(v, CHECK_OPENING, finding->severity, finding->offset, "%s", finding->text);
		if (finding->severity == EPP_ERROR)
			v->lost = UINT64_MAX / 2;
	}
}

/* For a file that was opened by its index: compares all blocks of the file with the index. */
static epp_status *check_index(struct validation *v)
{
	const struct reader *reader = &v->impl->reader;
	struct reader *again;
	size_t listed = 0;

	EPP_TRY(reader_open_again(reader, &again));
	report_findings(v, again, 0);
	for (size_t i = 0; i < again->blocks_count; i++) {
		const struct reader_block *block = &again->blocks[i];
		while (listed < reader->blocks_count && reader->blocks[listed].offset < block->offset)
			listed++;
		if (listed == reader->blocks_count || reader->blocks[listed].offset != block->offset)
			add_finding(v, CHECK_INDEX, EPP_ERROR, block->offset,
			            "a block of %u records is missing in the index", block->record_count);
	}
	reader_close(again);
	return NULL;
}

static epp_status *check_all(struct validation *v)
{
	struct reader_impl *impl = v->impl;
	struct reader *reader = &impl->reader;
	struct reader_decoded records = { 0 };
	epp_status *status = NULL;

	size_t found = reader->findings_count;
	report_findings(v, reader, 0);
	if (reader->summaries)
		EPP_TRY(check_index(v));
	if (reader->header.state != EPF_FINISHED)
		add_finding(v, CHECK_OPENING, EPP_NOTE, UINT64_MAX,
		            "%s: %" PRIu64 " records were not in a block yet, %" PRIu64 " events are open",
		            reader->info.state == EPP_TRACE_RECORDING ? "the file is being written"
		                                                      : "the file was never finished",
		            reader->info.recovered_records_count, reader->info.open_count);
	EPP_TRY(reader_account_lines(impl));
	reader_account_begin(impl);
	for (size_t i = 0; i < impl->accounts_count; i++)
		for (unsigned reason = 0; reason < EPP_LOSS_ENTRY_COUNT; reason++)
			v->lost += impl->accounts[i].account.lost[reason];
	for (size_t i = 0; i < reader->blocks_count && !status; i++)
		status = check_block(v, &records, i);
	reader_decoded_deinit(&records);
	report_findings(v, reader, found);
	if (!status)
		status = check_open(v);
	if (status)
		return status;
	check_pairing(v);
	check_clock(v);
	check_balance(v);
	report_omitted(v);
	return NULL;
}

epp_status *epp_trace_validate(epp_trace *trace, void (*report)(void *user, const epp_trace_finding *finding),
                               void *user, uint64_t *found)
{
	struct validation validation = { .impl = reader_impl(trace->reader), .report = report, .user = user };
	epp_status *status = check_all(&validation);

	*found = validation.found;
	id_set_deinit(&validation.ids);
	id_set_deinit(&validation.undefined);
	free(validation.ends);
	return status;
}

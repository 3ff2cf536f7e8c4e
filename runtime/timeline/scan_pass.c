/* The first pass over the blocks.  It collects the data that the merge needs in advance and that block headers do not
 * contain.
 *
 * Each block that holds more than a thread's own events is decoded once to collect clock samples, referenced ids, ends
 * that were recorded separately from their events, and the span in ticks of each line's complete events (the header
 * covers only host kinds).  Then the clocks are fitted and the spans are placed on the host's clock.  If a span is
 * impossible because ticks wrap, the block's events are placed one by one.  Blocks of plain host events are not decoded
 * here.
 *
 * For a time range of a file with an index, the spans come from the index.  Then only the blocks are decoded that are
 * in the range or reference events in it. */
#include <stdlib.h>

#include "base/status.h"
#include "containers/array.h"
#include "timeline/timeline.h"

#define KIND(kind) (1u << (kind))
#define ENDS (KIND(EPF_ORPHAN_END) | KIND(EPF_ASYNC_END))
#define SHOWN \
	(KIND(EPF_EVENT) | KIND(EPF_INSTANT) | KIND(EPF_COUNTER) | KIND(EPF_COMPLETE) | KIND(EPF_FLOW) | \
	 KIND(EPF_ASYNC_BEGIN))

/* The time span of the complete events of one line in one block, as positions on the line's clock. */
struct scan_pass_span {
	uint32_t block, line;
	int64_t first, last, end; /* the earliest and the latest start, the latest end */
};

struct scan_state {
	struct scan_pass_span *spans;
	size_t spans_count, spans_room;
	uint32_t *postponed; /* blocks whose spans came from the index and that are not decoded yet */
	size_t postponed_count, postponed_room;
};

epp_status *scan_pass_switch_line(struct epp_timeline *timeline, const struct reader_block *block,
                                  const struct codec_record *record, uint32_t *line)
{
	return lines_find(&timeline->lines, record->id ? (uint32_t)record->id : block->track, line);
}

/* ---- one block ---- */

static void widen(struct scan_pass_block *scanned, int64_t start_ns, int64_t end_ns)
{
	scanned->first_ns = start_ns < scanned->first_ns ? start_ns : scanned->first_ns;
	scanned->last_ns = start_ns > scanned->last_ns ? start_ns : scanned->last_ns;
	scanned->end_ns = end_ns > scanned->end_ns ? end_ns : scanned->end_ns;
}

/* Maps the ticks of a line to signed numbers whose order is the order of time. */
static int64_t position_of(const struct line *line, uint64_t ticks)
{
	switch (line->track->clock_kind) {
	case EPF_TRACK_CLOCK_HOST:
		return (int64_t)(ticks ^ 1ull << 63);
	case EPF_TRACK_CLOCK_DEVICE:
		return (int64_t)(ticks - line->clock->origin);
	default:
		return (int64_t)ticks;
	}
}

static uint64_t ticks_of(const struct line *line, int64_t position)
{
	switch (line->track->clock_kind) {
	case EPF_TRACK_CLOCK_HOST:
		return (uint64_t)position ^ 1ull << 63;
	case EPF_TRACK_CLOCK_DEVICE:
		return (uint64_t)position + line->clock->origin;
	default:
		return (uint64_t)position;
	}
}

/* Finds or adds the span of a line in the current block, whose spans begin at index `from`. */
static epp_status *find_span(struct scan_state *scan_state, uint32_t block, uint32_t line, size_t from,
                             struct scan_pass_span **span)
{
	for (size_t i = from; i < scan_state->spans_count; i++) {
		if (scan_state->spans[i].line == line) {
			*span = &scan_state->spans[i];
			return NULL;
		}
	}
	if (!array_reserve(&scan_state->spans, &scan_state->spans_room, scan_state->spans_count + 1,
	                   sizeof(*scan_state->spans)))
		return epp_status_no_memory();
	*span = &scan_state->spans[scan_state->spans_count++];
	**span = (struct scan_pass_span){ block, line, INT64_MAX, INT64_MIN, INT64_MIN };
	return NULL;
}

static epp_status *scan_pass_complete(struct epp_timeline *timeline, const struct decoded *decoded,
                                      const struct line *line, const struct codec_record *record,
                                      struct scan_pass_span *span)
{
	uint32_t after;
	int64_t start, end;
	uint64_t parent = block_parent(decoded, record, &after);

	if (line->clock && !line->clock->has_origin) {
		line->clock->has_origin = true;
		line->clock->origin = record->start_ticks;
	}
	start = position_of(line, record->start_ticks);
	if (record->duration_ticks > INT64_MAX || __builtin_add_overflow(start, (int64_t)record->duration_ticks, &end))
		end = INT64_MAX;
	span->first = start < span->first ? start : span->first;
	span->last = start > span->last ? start : span->last;
	span->end = end > span->end ? end : span->end;
	if (!parent)
		return NULL;
	timeline->parents = true;
	return references_add(&timeline->references, decoded->block->source, parent, REFERENCES_AS_PARENT);
}

static epp_status *scan_pass_end(struct epp_timeline *timeline, const struct decoded *decoded, uint32_t index,
                                 const struct codec_record *record)
{
	bool named = EPF_BITS_FLAGS(record->bits) & EPF_FLAG_NAME_AT_END;
	struct end end = { .id = record->id,
		           .ticks = record->start_ticks,
		           .block = index,
		           .args_offset = record->args_offset,
		           .name = named ? record->name : 0,
		           .source = decoded->block->source,
		           .args_count = (uint8_t)record->args_count,
		           .category = EPF_BITS_CATEGORY(record->bits) & 15,
		           .flags = block_flags(record->bits) & 15 };
	return ends_add(&timeline->ends, &end);
}

static epp_status *scan_pass_flow(struct epp_timeline *timeline, const struct scan_pass_flow *flow)
{
	if (!array_reserve(&timeline->flows, &timeline->flows_room, timeline->flows_count + 1, sizeof(*timeline->flows)))
		return epp_status_no_memory();
	timeline->flows[timeline->flows_count++] = *flow;
	EPP_TRY(references_add(&timeline->references, flow->source, flow->to, REFERENCES_BY_FLOW));
	return references_add(&timeline->references, flow->source, flow->from, REFERENCES_BY_FLOW);
}

/* Adds a parent from a flow record that names a parent and is no arrow. */
static epp_status *scan_pass_parent(struct epp_timeline *timeline, const struct scan_pass_flow *flow)
{
	if (!flow->from)
		return NULL;
	timeline->parents = true;
	EPP_TRY(parents_add(&timeline->late_parents, flow->source, flow->to, flow->from));
	return references_add(&timeline->references, flow->source, flow->from, REFERENCES_AS_PARENT);
}

static int compare_from(const void *a, const void *b)
{
	const struct scan_pass_flow *first = a, *second = b;
	return (first->from > second->from) - (first->from < second->from);
}

/* Replaces the ids of flows by their numbers in timeline->references and sorts the flows by origin.  Drops flows whose
 * origin or target is not referenced. */
static void number_flows(struct epp_timeline *timeline)
{
	struct references_lookup from_lookup = { .key = UINT64_MAX }, to_lookup = { .key = UINT64_MAX };
	size_t count = 0;

	for (size_t i = 0; i < timeline->flows_count && count < INT32_MAX; i++) {
		struct scan_pass_flow *flow = &timeline->flows[i];
		uint32_t from = references_find(&timeline->references, &from_lookup, flow->source, flow->from);
		uint32_t to = references_find(&timeline->references, &to_lookup, flow->source, flow->to);
		if (from != REFERENCES_NONE && to != REFERENCES_NONE)
			timeline->flows[count++] = (struct scan_pass_flow){ from, to, flow->source };
	}
	timeline->flows_count = count;
	qsort(timeline->flows, count, sizeof(*timeline->flows), compare_from);
}

/* Turns flows into waits: the flows with the same origin become the waits of the event at this origin. */
static epp_status *link_flows(struct epp_timeline *timeline)
{
	struct wait *first = NULL;

	if (!timeline->flows_count || !timeline->references.has_table)
		return NULL;
	number_flows(timeline);
	timeline->waits = reallocarray(NULL, timeline->flows_count + 1, sizeof(*timeline->waits));
	if (!timeline->waits)
		return epp_status_no_memory();
	for (size_t i = 0; i < timeline->flows_count; i++) {
		const struct scan_pass_flow *flow = &timeline->flows[i];
		timeline->waits[i] = (struct wait){ .to = (uint32_t)flow->to };
		if (!first || flow->from != flow[-1].from) {
			struct referenced_event *event;
			first = &timeline->waits[i];
			EPP_TRY(references_update(&timeline->references, (uint32_t)flow->from, &event));
			event->wait = (uint32_t)i + 1;
		}
		first->count++;
	}
	free(timeline->flows);
	timeline->flows = NULL;
	return NULL;
}

static epp_status *scan_pass_block(struct epp_timeline *timeline, struct scan_state *scan_state, uint32_t index,
                                   bool pairs_only)
{
	struct decoded decoded;
	struct scan_pass_span *span = NULL;
	size_t from = scan_state->spans_count;
	uint32_t line, after;

	EPP_TRY(block_decode(timeline, index, &timeline->buffer, &timeline->buffer_bytes, &decoded));
	EPP_TRY(lines_find(&timeline->lines, decoded.block->track, &line));
	for (uint32_t i = 0; i < decoded.count; i++) {
		const struct codec_record *record = &timeline->records[i];
		unsigned kind = EPF_BITS_KIND(record->bits);
		struct device_clock *clock = timeline->lines.lines[line].clock;
		if (kind == EPF_TRACK_SWITCH) {
			EPP_TRY(scan_pass_switch_line(timeline, decoded.block, record, &line));
			span = NULL;
		} else if (kind == EPF_CLOCK_PAIR && clock) {
			EPP_TRY(device_clock_add_pair(clock, record->start_ticks, record->duration_ticks, record->id));
		} else if (pairs_only) {
			continue;
		} else if (kind == EPF_COMPLETE) {
			if (!span)
				EPP_TRY(find_span(scan_state, index, line, from, &span));
			EPP_TRY(scan_pass_complete(timeline, &decoded, &timeline->lines.lines[line], record, span));
		} else if (kind == EPF_FLOW) {
			const struct scan_pass_flow flow = { block_parent(&decoded, record, &after), record->id,
				                             decoded.block->source };
			EPP_TRY(block_names_parent(record) ? scan_pass_parent(timeline, &flow)
			                                   : scan_pass_flow(timeline, &flow));
		} else if (kind == EPF_ORPHAN_END || kind == EPF_ASYNC_END) {
			EPP_TRY(scan_pass_end(timeline, &decoded, index, record));
		}
	}
	return NULL;
}

/* ---- selecting blocks for a time range ---- */

/* Returns true if the block must be decoded for any time range, because its records affect all events. */
static bool must_be_read(const struct epp_timeline *timeline, uint32_t index)
{
	const struct reader *reader = timeline->reader;

	return !reader->summaries || (timeline->options.from_ns == INT64_MIN && timeline->options.to_ns == INT64_MAX) ||
	       (reader->blocks[index].kinds & (KIND(EPF_CLOCK_PAIR) | ENDS)) ||
	       (reader->summaries[index].flags & EPF_INDEX_WIDE);
}

/* Adds the time spans of a block (struct scan_pass_span), as the file's index has them.  If the values are impossible,
 * no span is added and `*fits` is false. */
static epp_status *take_spans(struct epp_timeline *timeline, struct scan_state *scan_state, uint32_t index, bool *fits)
{
	const struct reader_summary *summary = &timeline->reader->summaries[index];
	size_t from = scan_state->spans_count;

	*fits = true;
	for (uint32_t i = 0; i < summary->spans_count && *fits; i++) {
		const struct epf_index_span *known = &summary->spans[i];
		struct scan_pass_span *span;
		uint32_t line_index;
		EPP_TRY(lines_find(&timeline->lines, known->track, &line_index));
		const struct line *line = &timeline->lines.lines[line_index];
		if (line->clock && !line->clock->has_origin) {
			line->clock->has_origin = true;
			line->clock->origin = known->base;
		}
		int64_t base = position_of(line, known->base);
		EPP_TRY(find_span(scan_state, index, line_index, from, &span));
		*fits = !__builtin_add_overflow(base, known->first, &span->first) &&
		        !__builtin_add_overflow(base, known->last, &span->last) &&
		        !__builtin_add_overflow(base, known->end, &span->end);
	}
	if (!*fits) {
		scan_state->spans_count = from;
		return NULL;
	}
	timeline->parents |= (summary->flags & EPF_INDEX_PARENTS) != 0;
	if (!array_reserve(&scan_state->postponed, &scan_state->postponed_room, scan_state->postponed_count + 1,
	                   sizeof(*scan_state->postponed)))
		return epp_status_no_memory();
	scan_state->postponed[scan_state->postponed_count++] = index;
	return NULL;
}

/* Collects the ids of events with a separate end, because the headers of these events' blocks do not include the
 * end. */
static epp_status *note_ended(struct epp_timeline *timeline)
{
	for (size_t i = 0; i < timeline->ends.count && timeline->reader->summaries; i++) {
		const struct end *end = &timeline->ends.ends[i];
		EPP_TRY(time_range_add(&timeline->ended_on_other_thread, end->source, end->id, end->id));
	}
	time_range_sort(&timeline->ended_on_other_thread);
	return NULL;
}

static bool refers_to(const struct reader_summary *summary, uint32_t source, const struct time_range *ids)
{
	for (uint32_t i = 0; i < summary->references_count; i++)
		if (time_range_overlaps(ids, source, summary->references[i].first, summary->references[i].last))
			return true;
	return false;
}

/* Reads the postponed blocks that are in the time range or reference events in it, to collect the ids that they
 * reference. */
static epp_status *scan_pass_read_postponed(struct epp_timeline *timeline, struct scan_state *scan_state)
{
	const struct reader *reader = timeline->reader;
	struct time_range inside = { 0 };
	epp_status *status = NULL;
	size_t spans_count = scan_state->spans_count;

	for (uint32_t i = 0; i < reader->blocks_count && !status && scan_state->postponed_count; i++) {
		const struct reader_summary *summary = &reader->summaries[i];
		if (!plan_omits(timeline, i))
			status = time_range_add_block(&inside, reader->blocks[i].source, summary);
	}
	time_range_sort(&inside);
	for (size_t i = 0; i < scan_state->postponed_count && !status; i++) {
		uint32_t index = scan_state->postponed[i];
		const struct reader_summary *summary = &reader->summaries[index];
		if (timeline->placement_needs_parents || !plan_omits(timeline, index) ||
		    refers_to(summary, reader->blocks[index].source, &inside))
			status = scan_pass_block(timeline, scan_state, index, false);
		scan_state->spans_count = spans_count; /* the spans before this index have been placed already */
	}
	time_range_deinit(&inside);
	return status;
}

/* ---- placing the spans ---- */

static void widen_by_event(struct epp_timeline *timeline, uint32_t block, const struct placed *placed)
{
	widen(&timeline->scanned[block], placed->start_ns, placed->end_ns);
	if (placed->end_ns > timeline->last_ns && placed->end_ns < ITEM_NS_MAX)
		timeline->last_ns = placed->end_ns;
}

/* Places the events of a line in a block one by one. */
static epp_status *place_events(struct epp_timeline *timeline, const struct scan_pass_span *span)
{
	struct decoded decoded;
	uint32_t line;

	EPP_TRY(block_decode(timeline, span->block, &timeline->buffer, &timeline->buffer_bytes, &decoded));
	EPP_TRY(lines_find(&timeline->lines, decoded.block->track, &line));
	for (uint32_t i = 0; i < decoded.count; i++) {
		const struct codec_record *record = &timeline->records[i];
		struct placed placed;
		if (EPF_BITS_KIND(record->bits) == EPF_TRACK_SWITCH)
			EPP_TRY(scan_pass_switch_line(timeline, decoded.block, record, &line));
		else if (EPF_BITS_KIND(record->bits) == EPF_COMPLETE && line == span->line &&
		         place_complete(timeline, &timeline->lines.lines[line], record, 0, false, &placed))
			widen_by_event(timeline, span->block, &placed);
	}
	return NULL;
}

static epp_status *place_span(struct epp_timeline *timeline, const struct scan_pass_span *span)
{
	struct line *line = &timeline->lines.lines[span->line];
	struct codec_record record = { .start_ticks = ticks_of(line, span->first) };
	struct placed first, last, end;

	if (!place_complete(timeline, line, &record, 0, false, &first)) {
		timeline->scanned[span->block].spill = true;
		timeline->placement_needs_parents = true;
		return NULL;
	}
	record.start_ticks = ticks_of(line, span->last);
	place_complete(timeline, line, &record, 0, false, &last);
	record.start_ticks = ticks_of(line, span->end);
	place_complete(timeline, line, &record, 0, false, &end);
	if (first.start_ns > last.start_ns || last.start_ns > end.start_ns || span->end == INT64_MAX)
		return place_events(timeline, span);
	end.end_ns = end.start_ns;
	end.start_ns = last.start_ns;
	widen_by_event(timeline, span->block, &first);
	widen_by_event(timeline, span->block, &end);
	return NULL;
}

/* ---- all blocks ---- */

/* Finds the latest host time in the trace. */
static void find_last(struct epp_timeline *timeline)
{
	const struct reader *reader = timeline->reader;
	uint64_t last = reader->live.run_end_ticks;
	size_t hint = 0;

	for (size_t i = 0; i < reader->blocks_count; i++) {
		if (reader->blocks[i].last_ticks > last)
			last = reader->blocks[i].last_ticks;
	}
	if (reader->pairs_count && reader->pairs[reader->pairs_count - 1].ticks > last)
		last = reader->pairs[reader->pairs_count - 1].ticks;
	timeline->last_ticks = last;
	timeline->last_ns = host_clock_ns(&timeline->host, &hint, last);
}

/* Takes the time range of the host kinds from the block's header. */
static void scan_pass_header(struct epp_timeline *timeline, uint32_t index, size_t *hint)
{
	const struct reader_block *block = &timeline->reader->blocks[index];
	struct scan_pass_block *scanned = &timeline->scanned[index];

	*scanned = (struct scan_pass_block){ INT64_MAX, INT64_MIN, INT64_MIN, false };
	if (!(block->kinds & SHOWN) || block->first_ticks == UINT64_MAX)
		return;
	int64_t end_ns = host_clock_ns(&timeline->host, hint, block->last_ticks);
	widen(scanned, host_clock_ns(&timeline->host, hint, block->first_ticks), end_ns);
	scanned->last_ns = end_ns;
}

static epp_status *scan_pass(struct epp_timeline *timeline, struct scan_state *scan_state)
{
	const struct reader *reader = timeline->reader;
	uint32_t run = timeline->options.run;
	size_t hint = 0;

	for (uint32_t i = 0; i < reader->blocks_count; i++) {
		const struct reader_block *block = &reader->blocks[i];
		bool postponed = false, other_run = run && block->run != run;
		if (!(block->kinds & (KIND(EPF_CLOCK_PAIR) | KIND(EPF_COMPLETE) | KIND(EPF_FLOW) | ENDS)) ||
		    !block_is_wanted(timeline, block))
			continue;
		if (!must_be_read(timeline, i)) {
			if (other_run)
				continue;
			EPP_TRY(take_spans(timeline, scan_state, i, &postponed));
		}
		if (!postponed)
			EPP_TRY(scan_pass_block(timeline, scan_state, i, other_run));
	}
	EPP_TRY(device_clocks_fit(&timeline->clocks, &timeline->host));
	lines_settle(&timeline->lines, &timeline->host);
	find_last(timeline);
	EPP_TRY(measure_clocks(timeline));

	EPP_TRY(note_ended(timeline));
	timeline->scanned = reallocarray(NULL, reader->blocks_count + 1, sizeof(*timeline->scanned));
	if (!timeline->scanned)
		return epp_status_no_memory();
	for (uint32_t i = 0; i < reader->blocks_count; i++)
		scan_pass_header(timeline, i, &hint);
	for (size_t i = 0; i < scan_state->spans_count; i++)
		EPP_TRY(place_span(timeline, &scan_state->spans[i]));
	EPP_TRY(scan_pass_read_postponed(timeline, scan_state));
	parents_seal(&timeline->late_parents);
	references_seal(&timeline->references, timeline->parents);
	timeline->references.has_used = timeline->placement_needs_parents;
	return link_flows(timeline);
}

epp_status *scan_pass_blocks(struct epp_timeline *timeline)
{
	struct scan_state scan_state = { 0 };
	epp_status *status = scan_pass(timeline, &scan_state);
	free(scan_state.spans);
	free(scan_state.postponed);
	return status;
}

/* Finds the place and time of all events that other events name as their parent.
 *
 * An event of a thread is noted when the merge emits it.  This is usually before the device events that it caused, so
 * for most traces nothing in this file is needed.  Because of its clock's error, a device event may begin before its
 * parent: a look-ahead in the merge finds that parent.  A parent may also be lost or outside the requested range, or
 * the place of an event may depend on its parent.  In these cases one pass over all blocks is made: before the merge if
 * places depend on parents, otherwise when the first parent is not found.  With an index, the pass skips the blocks
 * that contain none of the missing ids. */
#include "base/status.h"
#include "timeline/timeline.h"

/* Finds the struct referenced_event of an event.  *entry is NULL if all records that reference its page have been
 * processed, or no record references the event. */
static epp_status *entry_of(struct epp_timeline *timeline, struct line *line, uint64_t id, struct referenced_event **entry)
{
	uint32_t number = references_find(&timeline->references, &line->own_lookup, line->source, id);

	*entry = NULL;
	return number == REFERENCES_NONE ? NULL : references_update(&timeline->references, number, entry);
}

static void note_event(struct referenced_event *entry, const struct line *line, unsigned category, bool ended_elsewhere,
                       int64_t start_ns, int64_t end_ns)
{
	entry->is_call = category == EPP_API;
	entry->ended_elsewhere = ended_elsewhere;
	entry->start_ns = start_ns;
	entry->end_ns = end_ns;
	entry->line = line->key;
}

static void note_record(struct epp_timeline *timeline, struct line *line, const struct decoded *decoded,
                        const struct codec_record *record, struct referenced_event *entry)
{
	const struct end *end;
	struct placed placed;
	uint32_t after;
	size_t hint = 0;
	unsigned kind = EPF_BITS_KIND(record->bits);

	if (kind == EPF_COMPLETE) {
		if (place_complete(timeline, line, record, block_parent(decoded, record, &after), false, &placed))
			note_event(entry, line, EPF_BITS_CATEGORY(record->bits), false, placed.start_ns, placed.end_ns);
		return;
	}
	uint64_t end_ticks = block_event_end(timeline, line->source, record, &end);
	if (kind == EPF_ASYNC_BEGIN) {
		end = ends_find(&timeline->ends, line->source, record->id);
		end_ticks = end && end->ticks > record->start_ticks ? end->ticks : record->start_ticks;
	}
	int64_t start_ns = host_clock_ns(&timeline->host, &hint, record->start_ticks);
	unsigned category = end && end->name ? end->category : EPF_BITS_CATEGORY(record->bits);
	note_event(entry, line, category, end && kind == EPF_EVENT, start_ns,
	           host_clock_ns(&timeline->host, &hint, end_ticks));
}

static epp_status *resolve_block(struct epp_timeline *timeline, uint32_t index)
{
	struct decoded decoded;
	uint32_t line_index;

	EPP_TRY(block_decode(timeline, index, &timeline->buffer, &timeline->buffer_bytes, &decoded));
	EPP_TRY(lines_find(&timeline->lines, decoded.block->track, &line_index));
	for (uint32_t i = 0; i < decoded.count; i++) {
		const struct codec_record *record = &timeline->records[i];
		unsigned kind = EPF_BITS_KIND(record->bits);
		struct line *line = &timeline->lines.lines[line_index];
		if (kind == EPF_EVENT || kind == EPF_COMPLETE || kind == EPF_ASYNC_BEGIN) {
			struct referenced_event *entry;
			EPP_TRY(entry_of(timeline, line, record->id, &entry));
			if (entry)
				note_record(timeline, line, &decoded, record, entry);
		} else if (kind == EPF_TRACK_SWITCH) {
			uint32_t track = record->id ? (uint32_t)record->id : decoded.block->track;
			EPP_TRY(lines_find(&timeline->lines, track, &line_index));
		}
	}
	return NULL;
}

static epp_status *resolve_open(struct epp_timeline *timeline)
{
	const struct reader *reader = timeline->reader;
	size_t hint = 0;

	for (size_t i = 0; i < reader->open_count; i++) {
		const struct epf_open *open = &reader->open[i].open;
		uint32_t line_index;
		EPP_TRY(lines_find(&timeline->lines, reader->open[i].track, &line_index));
		struct line *line = &timeline->lines.lines[line_index];
		struct referenced_event *entry;
		EPP_TRY(entry_of(timeline, line, open->id, &entry));
		if (!entry)
			continue;
		const struct end *end = ends_find(&timeline->ends, line->source, open->id);
		int64_t start_ns = host_clock_ns(&timeline->host, &hint, open->start_ticks);
		int64_t end_ns = end ? host_clock_ns(&timeline->host, &hint, end->ticks) : timeline->last_ns;
		note_event(entry, line, EPF_BITS_CATEGORY(open->bits), end, start_ns,
		           end_ns > start_ns ? end_ns : start_ns);
	}
	return NULL;
}

/* Adds an interval that covers the ids of a page whose events have not been noted yet. */
static epp_status *find_missing_of(struct epp_timeline *timeline, size_t index, struct time_range *missing)
{
	const struct references_page *page = &timeline->references.pages[index];
	struct referenced_event *events;
	uint64_t id, first = UINT64_MAX, last = 0;
	uint32_t seen = 0, source = references_page_ids(page, &id);

	EPP_TRY(references_at(&timeline->references, references_number((uint32_t)index, 0), &events));
	for (uint32_t i = 0; i < REFERENCES_PAGE_IDS; i++, id++) {
		if (!(page->bits[i / 64] >> i % 64 & 1))
			continue;
		if (!events || events[seen].start_ns == INT64_MIN) {
			first = first < id ? first : id;
			last = id;
		}
		seen++;
	}
	return time_range_add(missing, source, first, last);
}

static epp_status *find_missing(struct epp_timeline *timeline, struct time_range *missing)
{
	for (size_t i = 0; i < timeline->references.pages_count; i++) {
		if (timeline->references.pages[i].references)
			EPP_TRY(find_missing_of(timeline, i, missing));
	}
	time_range_sort(missing);
	return NULL;
}

epp_status *resolve_parents(struct epp_timeline *timeline)
{
	const struct reader *reader = timeline->reader;
	struct time_range missing = { 0 };

	if (timeline->resolved || !timeline->references.has_table)
		return NULL;
	timeline->resolved = true;
	epp_status *status = reader->summaries ? find_missing(timeline, &missing) : NULL;
	for (uint32_t i = 0; i < reader->blocks_count && !status; i++) {
		const struct reader_summary *summary = reader->summaries ? &reader->summaries[i] : NULL;
		if (!(reader->blocks[i].kinds & (1u << EPF_EVENT | 1u << EPF_ASYNC_BEGIN | 1u << EPF_COMPLETE)) ||
		    !block_is_wanted(timeline, &reader->blocks[i]))
			continue;
		if (!summary || time_range_overlaps_block(&missing, reader->blocks[i].source, summary))
			status = resolve_block(timeline, i);
	}
	time_range_deinit(&missing);
	return status ? status : resolve_open(timeline);
}

/* ---- ahead in the merge ---- */

static epp_status *note_item(struct epp_timeline *timeline, const struct item *item)
{
	struct line *line = lines_of_key(&timeline->lines, item->line);
	struct referenced_event *entry;
	bool ended_elsewhere = item->class.kind == EPP_EVENT_SLICE && (item->class.flags & EPP_FLAG_ENDED_ON_OTHER_THREAD);

	if (item->class.kind != EPP_EVENT_SLICE && item->class.kind != EPP_EVENT_ASYNC)
		return NULL;
	EPP_TRY(entry_of(timeline, line, item->id, &entry));
	if (entry && entry->start_ns == INT64_MIN)
		note_event(entry, line, item->class.category, ended_elsewhere, item->start_ns, item->end_ns);
	return NULL;
}

/* Notes the referenced events among the items that start in (from_ns, until_ns].  The items are sorted by start. */
static epp_status *note_items(struct epp_timeline *timeline, const struct merge_source *source, int64_t from_ns,
                              int64_t until_ns)
{
	const struct item *low = source->head;

	for (size_t count = (size_t)(source->end - source->head); count;) {
		size_t half = count / 2;
		bool before = low[half].start_ns <= from_ns;
		low = before ? low + half + 1 : low;
		count = before ? count - half - 1 : half;
	}
	for (; low < source->end && low->start_ns <= until_ns; low++)
		EPP_TRY(note_item(timeline, low));
	return NULL;
}

static epp_status *note_waiting(struct epp_timeline *timeline, const struct merge_waiting *waiting, int64_t from_ns,
                                int64_t until_ns)
{
	bool is_block = waiting->block < timeline->reader->blocks_count;

	return is_block && waiting->ns > from_ns && waiting->ns <= until_ns ? resolve_block(timeline, waiting->block)
	                                                                    : NULL;
}

epp_status *resolve_ahead(struct epp_timeline *timeline, int64_t until_ns)
{
	const struct merge *merge = &timeline->merge;
	int64_t from_ns = timeline->resolved_until_ns;

	if (until_ns <= from_ns)
		return NULL;
	timeline->resolved_until_ns = until_ns;
	for (uint32_t i = merge->batch_at; i < merge->batch_count; i++) {
		if (merge->batch[i].item->start_ns > from_ns)
			EPP_TRY(note_item(timeline, merge->batch[i].item));
	}
	for (uint32_t i = 0; i < merge->sources_count; i++)
		EPP_TRY(note_items(timeline, &merge->sources[i], from_ns, until_ns));
	for (size_t i = 0; i < merge->bodies_count; i++)
		EPP_TRY(note_waiting(timeline, &merge->bodies[i], from_ns, until_ns));
	for (size_t i = merge->waiting_at; i < merge->waiting_count && merge->waiting[i].ns <= until_ns; i++)
		EPP_TRY(note_waiting(timeline, &merge->waiting[i], from_ns, until_ns));
	return NULL;
}

/* Makes a sorted run (merging/sorted_run.h) from each block: reads and decodes the block, places its records on the
 * host's clock, adds ends that were recorded in a separate record, and sorts them by start.  An item
 * (merging/merge_item.h) is made from each record of an event; records that are no events (clock pairs, track switches,
 * ends) make none.
 *
 * Records of kinds other than EPF_COMPLETE have host ticks on every track.  An end above 2^64 - 1 is cut to this value;
 * a negative length becomes 0. */
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "timeline/timeline.h"

#define likely(condition) __builtin_expect(!!(condition), 1)

static epp_status *corrupt(const struct reader_block *block, const char *what)
{
	return epp_status_create(EPP_CORRUPT, "block at %llu: %s", (unsigned long long)block->offset, what);
}

epp_status *block_decode(struct epp_timeline *timeline, uint32_t index, uint8_t **buffer, size_t *buffer_bytes,
                         struct decoded *decoded)
{
	const struct reader_block *block = &timeline->reader->blocks[index];
	struct reader_decoded into;

	into.bytes = *buffer;
	into.bytes_room = *buffer_bytes;
	into.records = timeline->records;
	into.records_room = timeline->records_room;
	epp_status *status = reader_block_decode(timeline->reader, block, &into);
	*buffer = into.bytes;
	*buffer_bytes = into.bytes_room;
	timeline->records = into.records;
	timeline->records_room = into.records_room;
	*decoded = (struct decoded){ block, into.args, into.args_bytes, into.count };
	if (!status && !into.is_complete)
		status = corrupt(block, "its records cannot be decoded");
	return status;
}

uint64_t block_parent(const struct decoded *decoded, const struct codec_record *record, uint32_t *after)
{
	return codec_parent(decoded->payload, decoded->payload_bytes, record, after);
}

static struct item_class class_of(uint16_t bits)
{
	static const uint8_t kinds[16] = {
		[EPF_EVENT] = EPP_EVENT_SLICE,    [EPF_INSTANT] = EPP_EVENT_INSTANT, [EPF_COUNTER] = EPP_EVENT_COUNTER,
		[EPF_COMPLETE] = EPP_EVENT_SLICE, [EPF_FLOW] = EPP_EVENT_FLOW,       [EPF_ASYNC_BEGIN] = EPP_EVENT_ASYNC
	};
	return (struct item_class){ kinds[EPF_BITS_KIND(bits)], (uint8_t)EPF_BITS_CATEGORY(bits),
		                    (uint8_t)EPF_BITS_PLACEMENT(bits), block_flags(bits) };
}

/* Applies a separately recorded end to its event. */
static void join_end(struct item *item, const struct end *end)
{
	item->class.flags = (uint8_t)((item->class.flags & ~EPP_FLAG_UNENDED) | EPP_FLAG_ENDED_ON_OTHER_THREAD |
	                              end->flags);
	if (end->name) {
		item->name = end->name;
		item->class.category = end->category;
	}
	if (end->args_count) {
		item->sequence = (item->sequence & ~(uint64_t)255) | end->args_count;
		item->args_offset = ITEM_ARGS_SEPARATE;
	}
}

/* Fills the merge item of an asynchronous event: the start from its begin record, the end from its end record. */
static void load_async(const struct epp_timeline *timeline, const struct reader_block *block, struct item *item)
{
	const struct end *end = ends_find(&timeline->ends, block->source, item->id);
	size_t hint = 0;

	if (!end) {
		item->class.flags |= EPP_FLAG_OPEN;
		item->end_ticks = timeline->last_ticks > item->start_ticks ? timeline->last_ticks : item->start_ticks;
		item->end_ns = timeline->last_ns > item->start_ns ? timeline->last_ns : item->start_ns;
		return;
	}
	bool other_track = timeline->reader->blocks[end->block].track != block->track;
	item->end_ticks = end->ticks > item->start_ticks ? end->ticks : item->start_ticks;
	item->end_ns = host_clock_ns(&timeline->host, &hint, item->end_ticks);
	join_end(item, end);
	if (!other_track)
		item->class.flags &= (uint8_t)~EPP_FLAG_ENDED_ON_OTHER_THREAD;
}

/* Moves the parent that a record names from the args to extra->parent. */
static void load_parent(const struct decoded *decoded, const struct codec_record *record, struct item *item,
                        struct item_extra *extra)
{
	extra->parent = block_parent(decoded, record, &item->args_offset);
	if (item->args_offset != record->args_offset)
		item->sequence--;
}

static void load_complete(struct epp_timeline *timeline, struct line *line, const struct codec_record *record,
                          struct item *item, struct item_extra *extra)
{
	struct placed placed;

	place_complete(timeline, line, record, extra->parent, true, &placed);
	item->start_ns = placed.start_ns;
	item->end_ns = placed.end_ns;
	item->class.placement = (uint8_t)placed.placement;
	extra->start_error_ns = placed.start_error_ns;
	extra->end_error_ns = placed.end_error_ns;
}

/* State of loading one block.  The items are made in the order of the block's records. */
struct loading {
	struct epp_timeline *timeline;
	struct decoded decoded;
	struct run *run;         /* timeline->unordered, which receives the items */
	uint32_t line, own_line; /* indexes of lines (tracks/track_state.h): that of the current record, and that of the
	                            block's track */
	uint32_t key;            /* key of the line with index `line` */
	uint32_t count;
	uint16_t bits; /* bits of the last record; `class` is the class that these bits encode */
	struct item_class class;
	size_t start_hint, end_hint; /* segments of the host clock that contain the last start and the last end;
	                                arguments of host_clock_ns */
};

/* Fills an item except for its host times.  The class is computed only if the bits differ from those of the previous
 * record, which is rare. */
static inline void fill_item(struct loading *loading, const struct codec_record *record, uint64_t rank, uint32_t index,
                             uint64_t end_ticks, struct item *item)
{
	if (record->bits != loading->bits) {
		loading->bits = record->bits;
		loading->class = class_of(record->bits);
	}
	item->start_ticks = record->start_ticks;
	item->end_ticks = end_ticks;
	item->id = record->id;
	item->sequence = ITEM_SEQUENCE(rank, index, record->args_count);
	item->name = record->name;
	item->args_offset = record->args_offset;
	item->line = loading->key;
	item->class = loading->class;
}

/* Sets the host times of an item whose ticks are host ticks. */
static inline void place_item(struct loading *loading, struct item *item)
{
	const struct host_clock *host = &loading->timeline->host;
	uint64_t start_ticks = item->start_ticks, end_ticks = item->end_ticks;
	int64_t start_ns = host_clock_ns(host, &loading->start_hint, start_ticks);

	item->start_ns = start_ns;
	item->end_ns = end_ticks != start_ticks ? host_clock_ns(host, &loading->end_hint, end_ticks) : start_ns;
}

static epp_status *switch_line(struct loading *loading, uint32_t track)
{
	const struct lines *lines = &loading->timeline->lines;
	loading->line = loading->own_line;
	if (track)
		EPP_TRY(lines_find(&loading->timeline->lines, track, &loading->line));
	loading->key = lines->lines[loading->line].key;
	return NULL;
}

/* Loads a record of any kind except EPF_EVENT. */
static epp_status *load_other(struct loading *loading, const struct codec_record *record, uint32_t rank, uint32_t index)
{
	struct item *item = &loading->run->items[loading->count];
	struct item_extra *extra = loading->run->has_extras ? &loading->run->extras[loading->count] : NULL;
	unsigned kind = EPF_BITS_KIND(record->bits);

	if (kind == EPF_TRACK_SWITCH)
		return switch_line(loading, (uint32_t)record->id);
	if (!class_of(record->bits).kind || (kind == EPF_FLOW && block_names_parent(record)))
		return NULL;
	if (!(loading->decoded.block->kinds >> kind & 1))
		return corrupt(loading->decoded.block, "contains a kind of record that its header does not list");
	if (extra)
		*extra = (struct item_extra){ 0 };
	fill_item(loading, record, rank, index, codec_end(record->start_ticks, record->duration_ticks), item);
	if (kind == EPF_COMPLETE || kind == EPF_FLOW)
		load_parent(&loading->decoded, record, item, extra);
	if (kind == EPF_COMPLETE && !extra->parent && loading->timeline->late_parents.count)
		extra->parent = parents_find(&loading->timeline->late_parents, loading->decoded.block->source, record->id);
	if (kind == EPF_COMPLETE)
		load_complete(loading->timeline, &loading->timeline->lines.lines[loading->line], record, item, extra);
	else
		place_item(loading, item);
	if (kind == EPF_ASYNC_BEGIN)
		load_async(loading->timeline, loading->decoded.block, item);
	loading->count++;
	return NULL;
}

static epp_status *load_records(struct loading *loading, uint32_t rank)
{
	const struct codec_record *records = loading->timeline->records;
	uint32_t source = loading->decoded.block->source;

	for (uint32_t i = 0; i < loading->decoded.count; i++) {
		const struct codec_record *record = &records[i];
		if (EPF_BITS_KIND(record->bits) != EPF_EVENT) {
			EPP_TRY(load_other(loading, record, rank, i));
			continue;
		}
		struct item *item = &loading->run->items[loading->count];
		const struct end *end;
		uint64_t end_ticks = block_event_end(loading->timeline, source, record, &end);
		fill_item(loading, record, rank, i, end_ticks, item);
		place_item(loading, item);
		if (end)
			join_end(item, end);
		if (loading->run->has_extras)
			loading->run->extras[loading->count] = (struct item_extra){ 0 };
		loading->count++;
	}
	return NULL;
}

/* ---- blocks of a thread's own events ---- */

#define PLAIN_KINDS (1u << EPF_EVENT | 1u << EPF_INSTANT | 1u << EPF_COUNTER)
#define HIDDEN_KINDS (1u << EPF_ORPHAN_END | 1u << EPF_ASYNC_END | 1u << EPF_CLOCK_PAIR)

static inline bool begins_before(const void *of, uint32_t a, uint32_t b)
{
	const struct codec_record *records = of;
	if (records[a].start_ticks != records[b].start_ticks)
		return records[a].start_ticks < records[b].start_ticks;
	return records[a].id < records[b].id;
}

/* State that all items of a block of thread events share.  The caller has a local copy, to which no pointer leads, so
 * the compiler keeps it in registers. */
struct plain {
	uint64_t rank;
	uint32_t source, key;
	uint16_t bits; /* bits of the last record; `class` is the class that these bits encode */
	struct item_class class;
	struct host_clock host;
	struct host_segment near; /* segment of the host clock that contains the last converted time */
};

static inline int64_t plain_ns(struct plain *plain, uint64_t ticks)
{
	uint64_t offset = ticks - plain->near.ticks;

	if (likely(offset < plain->near.span))
		return host_segment_ns(&plain->host, &plain->near, offset);
	size_t hint = 0;
	struct host_clock host = plain->host;
	int64_t ns = host_clock_ns_far(&host, &hint, ticks);
	plain->near = plain->host.segments[hint];
	return ns;
}

/* Fills an item from a record, and returns the start of the item in ns. */
static inline int64_t load_plain_item(struct epp_timeline *timeline, struct plain *plain,
                                      const struct codec_record *record, uint32_t index, struct item *item)
{
	uint64_t start_ticks = record->start_ticks;
	const struct end *end;
	uint64_t end_ticks = block_event_end(timeline, plain->source, record, &end);

	if (record->bits != plain->bits) {
		plain->bits = record->bits;
		plain->class = class_of(record->bits);
	}
	int64_t start_ns = plain_ns(plain, start_ticks), end_ns = plain_ns(plain, end_ticks);
	item->start_ns = start_ns;
	item->end_ns = end_ns;
	item->start_ticks = start_ticks;
	item->end_ticks = end_ticks;
	item->id = record->id;
	item->sequence = ITEM_SEQUENCE(plain->rank, index, record->args_count);
	item->name = record->name;
	item->args_offset = record->args_offset;
	item->line = plain->key;
	item->class = plain->class;
	if (end && item->class.kind == EPP_EVENT_SLICE)
		join_end(item, end);
	return start_ns;
}

/* Fast path for blocks with events of one thread in host ticks, which nearly all blocks are.  The records are sorted
 * before items are made from them, so each item is written once.  `*done` stays false if the records cannot be those of
 * one thread. */
static epp_status *load_plain(struct loading *loading, uint32_t rank, struct run *run, bool *done)
{
	struct epp_timeline *timeline = loading->timeline;
	const struct codec_record *records = timeline->records;
	uint32_t source = loading->decoded.block->source;

	EPP_TRY(run_order_begin(&timeline->order, loading->decoded.count));
	struct start_order order = timeline->order; /* a local copy, which the compiler can keep in registers */
	for (uint32_t i = 0; i < loading->decoded.count; i++) {
		unsigned kind = EPF_BITS_KIND(records[i].bits);
		if (!(PLAIN_KINDS >> kind & 1)) {
			if (!(HIDDEN_KINDS >> kind & 1))
				return NULL;
		} else if (!start_order_add(&order, i, records, begins_before)) {
			return NULL;
		}
	}
	EPP_TRY(run_reserve(run, order.count, false));
	struct plain plain = { .rank = rank, .source = source, .key = loading->key, .host = timeline->host };
	struct item *items = run->items;
	int64_t *starts = run->starts;
	for (uint32_t i = 0; i < order.count; i++)
		starts[i] = load_plain_item(timeline, &plain, &records[order.order[i]], order.order[i], &items[i]);
	run->end = order.count;
	*done = true;
	return NULL;
}

epp_status *block_load(struct epp_timeline *timeline, uint32_t index, struct run *run)
{
	struct loading loading = { .timeline = timeline, .run = &timeline->unordered };
	bool done = false;

	EPP_TRY(block_decode(timeline, index, &run->bytes, &run->bytes_room, &loading.decoded));
	const struct reader_block *block = loading.decoded.block;
	EPP_TRY(lines_find(&timeline->lines, block->track, &loading.own_line));
	EPP_TRY(switch_line(&loading, 0));
	run->payload = loading.decoded.payload;
	run->payload_bytes = loading.decoded.payload_bytes;
	if (!(block->kinds & ~(PLAIN_KINDS | HIDDEN_KINDS)))
		EPP_TRY(load_plain(&loading, timeline->rank_of_block[index], run, &done));
	if (done)
		return NULL;
	EPP_TRY(run_reserve(loading.run, loading.decoded.count, block->kinds & (1u << EPF_COMPLETE | 1u << EPF_FLOW)));
	EPP_TRY(load_records(&loading, timeline->rank_of_block[index]));
	return run_put_in_order(run, loading.run, loading.count, &timeline->order);
}

epp_status *block_load_open(struct epp_timeline *timeline, size_t from, uint32_t count, struct run *run)
{
	size_t hint = 0;

	EPP_TRY(run_reserve(&timeline->unordered, count, false));
	for (uint32_t i = 0; i < count; i++) {
		const struct reader_open *open = &timeline->reader->open[from + i];
		struct item *item = &timeline->unordered.items[i];
		uint32_t line;
		EPP_TRY(lines_find(&timeline->lines, open->track, &line));
		uint32_t key = timeline->lines.lines[line].key;
		const struct end *end = ends_find(&timeline->ends, timeline->lines.lines[line].source, open->open.id);
		uint64_t start = open->open.start_ticks, end_ticks = end ? end->ticks : timeline->last_ticks;
		*item = (struct item){
			.start_ns = host_clock_ns(&timeline->host, &hint, start),
			.start_ticks = start,
			.end_ticks = end_ticks > start ? end_ticks : start,
			.id = open->open.id,
			.sequence = ITEM_SEQUENCE((uint64_t)ITEM_RANK_OPEN, 0, 0),
			.name = open->open.name,
			.line = key,
			.class = { EPP_EVENT_SLICE, (uint8_t)EPF_BITS_CATEGORY(open->open.bits), 0, EPP_FLAG_OPEN },
		};
		item->end_ns = host_clock_ns(&timeline->host, &hint, item->end_ticks);
		if (end) {
			item->class.flags = 0;
			join_end(item, end);
		} else if (timeline->last_ns > item->end_ns) {
			item->end_ns = timeline->last_ns;
		}
	}
	return run_put_in_order(run, &timeline->unordered, count, &timeline->order);
}

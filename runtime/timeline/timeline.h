/* The state of a timeline, and the steps that make it, in this order:
 *
 *   host_clock, lines      the file's pairs, its tracks
 *   scan_pass.c               decodes the blocks that hold more than a thread's own events: device pairs, then which ids are
 *                          referred to, ends recorded elsewhere, when each such block begins; fits the clocks
 *   measure.c              where a clock was compared with the host's once: a merge of the host's events, then the limits that
 *                          they set to the clock (causal_clock.h)
 *   resolve.c              finds the events that are referred to: a pass over all blocks, only if they are needed early
 *   schedule.c                 when each block must be decoded; which are too many at once and go through a temporary file
 *   block_activation.c, merge.c  blocks become active as the front reaches them, and are merged
 *   build_event.c, correlate.c    an item becomes an event: nesting, parents
 */
#ifndef EPPROF_RUNTIME_TIMELINE_TIMELINE_H
#define EPPROF_RUNTIME_TIMELINE_TIMELINE_H

#include "epprof/timeline.h"
#include "timeline/merge.h"
#include "timeline/merging/separate_ends.h"
#include "timeline/merging/spill.h"
#include "timeline/parents.h"
#include "timeline/time_range.h"
#include "timeline/tracks/track_state.h"
#include "trace/reader.h"

/* What the survey tells the plan of a block. */
struct scan_pass_block {
	int64_t first_ns; /* no item begins earlier; INT64_MAX: there is nothing to show */
	int64_t last_ns;  /* no item begins later */
	int64_t end_ns;   /* no item ends later, but for ends that were recorded elsewhere */
	bool spill;       /* goes through the temporary file */
};

struct scan_pass_flow {
	uint64_t from, to; /* ids; numbers in `referred` once it is sealed */
	uint32_t source;
};

/* An event that a flow leads to.  Those of one launch follow each other. */
struct wait {
	int64_t end_ns;         /* once sorted; INT64_MIN: it is not of category API, or not in the trace */
	uint32_t to;            /* its number in `referred` */
	uint32_t count : 31;    /* of the first of a launch: how many it has */
	uint32_t is_sorted : 1; /* likewise: they are in order of their ends */
};

/* What epp_event.args points to. */
struct event_args {
	const uint8_t *payload; /* NULL: in `block`, which is read when somebody asks */
	uint32_t payload_bytes;
	uint32_t offset; /* of the first one */
	uint32_t block;
};

#define BLOCK_NONE UINT32_MAX

struct epp_timeline {
	struct reader *reader;
	epp_timeline_options options; /* from_ns and to_ns are always valid */
	struct host_clock host;
	struct device_clocks clocks;
	struct lines lines;
	struct causal_clock **causal; /* of the lines whose clock was compared once */
	size_t causal_count;
	bool is_measuring; /* made by measure_clocks: device events are left out */
	struct references references;
	struct scan_pass_flow *flows; /* until the table of events has them */
	size_t flows_count, flows_room;
	struct wait *waits; /* one for each flow */
	struct parents parents_apart;
	struct ends ends;
	struct time_range ended_elsewhere; /* their ids, where an index says which blocks have them */
	bool parents;                      /* some record names a parent: referred has a table */
	bool resolved;                     /* and all of it was looked for */
	int64_t resolved_until_ns;         /* what begins up to here was noted */
	bool placement_needs_parents;
	uint64_t last_ticks; /* the latest host time seen */
	int64_t last_ns;     /* the latest time of all */

	struct scan_pass_block *surveyed; /* beside reader->blocks; NULL once the merge is planned */
	uint32_t *rank_of_block;          /* in the order in which blocks were recorded; likewise beside them */
	uint32_t *block_of_rank;
	uint32_t only_run;            /* of all blocks; 0: there are several */
	struct codec_record *records; /* of the block being decoded */
	size_t records_room;
	struct run unordered; /* what is made of them, in the same order */
	struct start_order order;
	uint8_t *buffer; /* of blocks that are only looked through */
	size_t buffer_bytes;

	size_t active_bytes_most; /* of blocks in memory at once */
	struct merge merge;
	struct spill spill;
	uint8_t *ends_buffer; /* the block that args of ends were read from last */
	size_t ends_buffer_bytes;
	const uint8_t *ends_payload; /* in it */
	uint32_t ends_payload_bytes;
	uint32_t ends_block; /* BLOCK_NONE: none yet */

	epp_event event;
	struct event_args args;
	epp_timeline_counts counts;
	epp_status *status; /* why it ended early */
	bool ended;
};

/* epp_timeline_create with other bounds of memory. */
epp_status *timeline_create(struct reader *reader, const epp_timeline_options *options, size_t active_bytes_most,
                            size_t spill_bytes_most, epp_timeline **timeline) EPP_MUST_CHECK;

/* The same for the pass of measure.c, with the bounds of memory of another one. */
epp_status *timeline_create_measuring(const struct epp_timeline *like, const epp_timeline_options *options,
                                      struct epp_timeline **timeline) EPP_MUST_CHECK;

/* The next events, at most `most`, into the caller's memory; 0: there is none.  One with args is the last of them, since what
 * they point to is the timeline's until the next call. */
size_t timeline_next_some(struct epp_timeline *timeline, epp_event *events, size_t most);

/* ---- block_load.c ---- */

struct decoded {
	const struct reader_block *block;
	const uint8_t *payload; /* what the records' args_offset counts from */
	uint32_t payload_bytes;
	uint32_t count; /* timeline->records */
};

/* Reads and decodes a block; its bytes are in *buffer. */
epp_status *block_decode(struct epp_timeline *timeline, uint32_t block, uint8_t **buffer, size_t *buffer_bytes,
                         struct decoded *decoded) EPP_MUST_CHECK;

/* Makes a run of a block, in order of start. */
epp_status *block_load(struct epp_timeline *timeline, uint32_t block, struct run *run) EPP_MUST_CHECK;

/* Makes a run of `count` of the events that were open when the trace was read. */
epp_status *block_load_open(struct epp_timeline *timeline, size_t from, uint32_t count, struct run *run) EPP_MUST_CHECK;

/* The parent that a record names in its first arg, 0 if none; `*after` is then the position of the next arg. */
uint64_t block_parent(const struct decoded *decoded, const struct codec_record *record, uint32_t *after);

/* Whether a flow is no arrow, but names the parent of an event. */
static inline bool block_names_parent(const struct codec_record *flow)
{
	return EPF_BITS_PLACEMENT(flow->bits) == EPF_PLACED_INFERRED;
}

/* False: the options leave the block's process out. */
static inline bool block_is_wanted(const struct epp_timeline *timeline, const struct reader_block *block)
{
	const epp_timeline_options *options = &timeline->options;
	return !options->sources || (block->source < options->sources_count && options->sources[block->source]);
}

/* The flags that a record's bits stand for. */
static inline uint8_t block_flags(uint16_t bits)
{
	unsigned flags = EPF_BITS_FLAGS(bits);
	return (uint8_t)((flags & EPF_FLAG_UNENDED ? EPP_FLAG_UNENDED : 0) |
	                 (flags & EPF_FLAG_CUT ? EPP_FLAG_ARGS_CUT : 0));
}

/* The end of an event of a thread: its own, or the one recorded elsewhere (`*end`, else NULL). */
static inline uint64_t block_event_end(const struct epp_timeline *timeline, uint32_t source,
                                       const struct codec_record *record, const struct end **end)
{
	*end = NULL;
	if (__builtin_expect(EPF_BITS_FLAGS(record->bits) & EPF_FLAG_UNENDED, 0)) {
		*end = ends_find(&timeline->ends, source, record->id);
		if (*end)
			return (*end)->ticks > record->start_ticks ? (*end)->ticks : record->start_ticks;
	}
	return codec_end(record->start_ticks, record->duration_ticks);
}

/* ---- placement.c ---- */

struct placed {
	int64_t start_ns, end_ns;
	int64_t start_error_ns, end_error_ns;
	epp_placement placement;
};

/* Places a complete event; false: only its parent tells where it is, and that is not known yet.
 * A duration-only event takes its place inside its parent, so it is placed once, by `take`. */
bool place_complete(struct epp_timeline *timeline, struct line *line, const struct codec_record *record,
                    uint64_t parent, bool take, struct placed *placed);

/* True if the place depends on more than the record: such blocks are loaded once, before the merge. */
bool place_depends(const struct epp_timeline *timeline, const struct line *line);

/* ---- scan_pass.c, resolve.c, schedule.c ---- */

epp_status *scan_pass_blocks(struct epp_timeline *timeline) EPP_MUST_CHECK;
/* The line of the records behind a track switch. */
epp_status *scan_pass_switch_line(struct epp_timeline *timeline, const struct reader_block *block,
                                  const struct codec_record *record, uint32_t *line) EPP_MUST_CHECK;
/* Does nothing but for the first time. */
epp_status *resolve_parents(struct epp_timeline *timeline) EPP_MUST_CHECK;
/* Notes the events that are yet to come in the merge and begin no later. */
epp_status *resolve_ahead(struct epp_timeline *timeline, int64_t until_ns) EPP_MUST_CHECK;
epp_status *plan_merge(struct epp_timeline *timeline) EPP_MUST_CHECK;
/* Whether the options leave a surveyed block out altogether. */
bool plan_leaves_out(const struct epp_timeline *timeline, uint32_t index);

/* ---- measure.c ---- */

/* Between the fit of the clocks and the first placing.  Does nothing if every clock with causes was measured. */
epp_status *measure_clocks(struct epp_timeline *timeline) EPP_MUST_CHECK;

/* ---- correlate.c ---- */

/* When what waited for an event of that id and parent ended, as far as that is certain wherever the event is; INT64_MAX: nothing
 * did.  All events were noted. */
epp_status *correlate_wait_end(struct epp_timeline *timeline, struct line *line, uint64_t id,
                               const struct referenced_event *parent, int64_t *end_ns) EPP_MUST_CHECK;

/* Joins an event to the one that its record names or, on a device, whose thread it came from. */
epp_status *correlate_event(struct epp_timeline *timeline, struct line *line, epp_event *event) EPP_MUST_CHECK;

#endif

/* The state of a timeline, and the steps that build it, in this order:
 *
 *   host_clock, lines      the host's clock samples and the tracks of the file
 *   scan_pass.c            decodes every block that holds more than a thread's own events: collects device clock
 *                          samples, referenced ids, separately recorded ends, and each block's earliest start; then
 *                          fits the clocks
 *   measure_clocks.c       only for device clocks with a single comparison with the host clock: merges the host's
 *                          events, then derives the limits that they set for the clock (causal_clock.h)
 *   resolve_parents.c      finds the referenced events: a pass over all blocks, only if they are needed early
 *   merge_runs.c           computes when each block must be decoded, and which blocks go through a temporary file
 *                          because too many would be in memory at once; activates blocks as the merge front reaches
 *                          them, and merges them
 *   build_event.c          turns an item into an event, with its depth and lane
 *   find_parent.c          finds the parent of a device event, by the id in its record or by the launching thread
 *   requests.c             only on request: finds the requests that events belong to, from their parents; reads the
 *                          trace once in advance
 *   weights.c              only in a trace with weights: finds those of all events, from their parents; likewise
 */
#ifndef EPPROF_RUNTIME_TIMELINE_TIMELINE_H
#define EPPROF_RUNTIME_TIMELINE_TIMELINE_H

#include "epprof/timeline.h"
#include "timeline/events/time_range.h"
#include "timeline/late_parents.h"
#include "timeline/merge_runs.h"
#include "timeline/merging/separate_ends.h"
#include "timeline/merging/spill.h"
#include "timeline/requests.h"
#include "timeline/tracks/track_state.h"
#include "timeline/weights.h"
#include "trace/reader.h"

/* Result of the scan pass for one block; input of plan_merge. */
struct scan_pass_block {
	int64_t first_ns; /* lower bound of the starts of its items; INT64_MAX: nothing to show */
	int64_t last_ns;  /* upper bound of the starts of its items */
	int64_t end_ns;   /* upper bound of the ends of its items, without separately recorded ends */
	bool spill;       /* the block's items are sorted in a temporary file (merging/spill.h) */
};

struct scan_pass_flow {
	uint64_t from, to; /* ids of the two events; once `references` is sealed, their numbers in it */
	uint32_t source;
};

/* The target event of a flow.  The waits of one launch are adjacent in the array. */
struct wait {
	int64_t end_ns;         /* valid once sorted; INT64_MIN: not of category API, or not in the trace */
	uint32_t to;            /* number of this event in `references` */
	uint32_t count : 31;    /* in the first wait of a launch: how many waits it has */
	uint32_t is_sorted : 1; /* in the first wait of a launch: its waits have end_ns and are sorted by it */
};

/* The object to which epp_event.args points. */
struct event_args {
	const uint8_t *payload; /* NULL: the args are in the block `block`, which is read when they are wanted */
	uint32_t payload_bytes;
	uint32_t offset; /* offset of the first arg */
	uint32_t block;
};

#define BLOCK_NONE UINT32_MAX

/* Data that events inherit from their parents.  A member is NULL if the trace has none, or the options do not ask for
 * it. */
struct inherited {
	struct requests *requests;
	struct weights *weights;
};

struct epp_timeline {
	struct reader *reader;
	epp_timeline_options options; /* from_ns and to_ns are set also if the caller gave no range */
	struct host_clock host;
	size_t submit_hint; /* hint for `host`, for submission times */
	struct device_clocks clocks;
	struct lines lines;
	struct causal_clock **causal; /* clocks with a single comparison with the host clock */
	size_t causal_count;
	bool is_measuring; /* this is the timeline of measure_clocks, which neither nests device events nor finds their
	                      parents */
	struct references references;
	struct scan_pass_flow *flows; /* collected by the scan pass; link_flows turns them into `waits` */
	size_t flows_count, flows_room;
	struct wait *waits; /* one for each flow */
	struct parents late_parents;
	struct ends ends;
	/* ids of the events that have an end in `ends`; filled only if the file has an index, with which the blocks of
	 * these events are found */
	struct time_range ended_on_other_thread;
	bool parents;              /* some record names a parent, so the times of referenced events are stored in
	                              `references` */
	bool resolved;             /* resolve_parents has run */
	int64_t resolved_until_ns; /* resolve_ahead has noted all events that start up to this time */
	bool placement_needs_parents;
	uint64_t last_ticks; /* the latest host time in the trace, in ticks */
	int64_t last_ns;     /* the latest time in the trace, by any clock */

	struct scan_pass_block *scanned; /* by the index of the block; NULL once the merge is scheduled */
	uint32_t *rank_of_block;         /* rank in recording order, by the index of the block */
	uint32_t *block_of_rank;
	uint32_t only_run;            /* the run of all events; 0: they are from several runs, or some events are
	                                 open */
	struct codec_record *records; /* decoded records of the current block */
	size_t records_room;
	struct run unordered; /* the items made from `records`, in the same order */
	struct start_order order;
	uint8_t *buffer; /* buffer for the block that a pass before the merge decodes */
	size_t buffer_bytes;

	size_t active_bytes_most; /* the limit for the memory of active blocks (merge_runs.c), in bytes */
	struct merge merge;
	struct spill spill;
	uint8_t *ends_buffer; /* the block that fetch_args has read last */
	size_t ends_buffer_bytes;
	const uint8_t *ends_payload; /* the payload of this block, in ends_buffer */
	uint32_t ends_payload_bytes;
	uint32_t ends_block; /* index of the block in ends_buffer; BLOCK_NONE: none */

	struct inherited own;            /* all NULL if timeline_create_with was given others */
	const struct requests *requests; /* NULL: the options do not ask for requests, or the trace has none */
	struct open_grants open_grants;
	const struct weights *weights; /* NULL: the trace has no weights */
	struct open_grants open_weights;
	uint8_t *selected; /* by the number of a grant: 1 if its events are wanted; NULL: all events are wanted */

	epp_event event;
	struct event_args args;
	epp_timeline_counts counts;
	epp_status *status; /* the error that ended the timeline early */
	bool ended;
};

/* epp_timeline_create with explicit memory limits. */
epp_status *timeline_create(struct reader *reader, const epp_timeline_options *options, size_t active_bytes_most,
                            size_t spill_bytes_most, epp_timeline **timeline) EPP_MUST_CHECK;

/* Creates the timeline for the pass of measure_clocks.c, with the memory limits of `like`. */
epp_status *timeline_create_measuring(const struct epp_timeline *like, const epp_timeline_options *options,
                                      struct epp_timeline **timeline) EPP_MUST_CHECK;

/* As epp_timeline_create, but uses requests and weights that the caller has read, instead of reading them.  Several
 * timelines of a trace may share them.
 * Ownership: the members of `inherited` are borrowed until the timeline is destroyed. */
epp_status *timeline_create_with(struct reader *reader, const epp_timeline_options *options,
                                 const struct inherited *inherited, struct epp_timeline **timeline) EPP_MUST_CHECK;

/* Reads the requests, if the options ask for them, and the weights: all events once for each of the two.  After a
 * failure there is nothing to release.
 * Ownership: released by inherited_deinit, which also accepts a zeroed struct. */
epp_status *inherited_init(struct inherited *inherited, struct reader *reader, const epp_timeline_options *options)
    EPP_MUST_CHECK;
void inherited_deinit(struct inherited *inherited);

/* As epp_timeline_next, but stores the event in the caller's memory. */
bool timeline_next(struct epp_timeline *timeline, epp_event *event);

/* ---- block_load.c ---- */

struct decoded {
	const struct reader_block *block;
	const uint8_t *payload; /* the args_offset of a record counts from here */
	uint32_t payload_bytes;
	uint32_t count; /* number of records in timeline->records */
};

/* Reads and decodes a block; its bytes are in *buffer. */
epp_status *block_decode(struct epp_timeline *timeline, uint32_t block, uint8_t **buffer, size_t *buffer_bytes,
                         struct decoded *decoded) EPP_MUST_CHECK;

/* Makes a run of a block, sorted by start. */
epp_status *block_load(struct epp_timeline *timeline, uint32_t block, struct run *run) EPP_MUST_CHECK;

/* Makes a run of events that were open when the trace was read: `count` of them, beginning with the event `from`. */
epp_status *block_load_open(struct epp_timeline *timeline, size_t from, uint32_t count, struct run *run) EPP_MUST_CHECK;

/* Returns the parent that is the first arg of a record; 0: there is none.  *after is set to the position of the next
 * arg. */
uint64_t block_parent(const struct decoded *decoded, const struct codec_record *record, uint32_t *after);

/* Returns true if a flow record names the parent of an event instead of drawing an arrow. */
static inline bool block_names_parent(const struct codec_record *flow)
{
	return EPF_BITS_PLACEMENT(flow->bits) == EPF_PLACED_INFERRED;
}

/* Returns false if the options leave out the block's process. */
static inline bool block_is_wanted(const struct epp_timeline *timeline, const struct reader_block *block)
{
	const epp_timeline_options *options = &timeline->options;
	return !options->sources || (block->source < options->sources_count && options->sources[block->source]);
}

/* Translates the flags in a record's bits to epp_event_flags. */
static inline uint8_t block_flags(uint16_t bits)
{
	unsigned flags = EPF_BITS_FLAGS(bits);
	return (uint8_t)((flags & EPF_FLAG_UNENDED ? EPP_FLAG_UNENDED : 0) |
	                 (flags & EPF_FLAG_CUT ? EPP_FLAG_ARGS_CUT : 0));
}

/* Returns the end of a thread's event.  *end is set to the separately recorded end, or NULL if the event has none. */
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

/* Places a complete event.  Returns false if its place depends on a parent that is not known yet.  `take`: a
 * duration-only event takes time of its parent.  This must be done once for each event. */
bool place_complete(struct epp_timeline *timeline, struct line *line, const struct codec_record *record,
                    uint64_t parent, bool take, struct placed *placed);

/* Returns true if the place of a line's events depends on other events.  Blocks with such events are loaded once,
 * before the merge. */
bool place_depends(const struct epp_timeline *timeline, const struct line *line);

/* ---- scan_pass.c, resolve_parents.c, merge_runs.c ---- */

epp_status *scan_pass_blocks(struct epp_timeline *timeline) EPP_MUST_CHECK;
/* Finds the line of the records that follow a track switch. */
epp_status *scan_pass_switch_line(struct epp_timeline *timeline, const struct reader_block *block,
                                  const struct codec_record *record, uint32_t *line) EPP_MUST_CHECK;
/* Notes all referenced events in a pass over the blocks.  Only the first call has an effect. */
epp_status *resolve_parents(struct epp_timeline *timeline) EPP_MUST_CHECK;
/* Notes the referenced events that begin at or before until_ns and that the merge has not reached yet. */
epp_status *resolve_ahead(struct epp_timeline *timeline, int64_t until_ns) EPP_MUST_CHECK;
epp_status *plan_merge(struct epp_timeline *timeline) EPP_MUST_CHECK;
/* Returns true if the options leave out all events of a block. */
bool plan_omits(const struct epp_timeline *timeline, uint32_t index);

/* ---- measure_clocks.c ---- */

/* Measures the clocks by causes.  Must be called after the fit of the clocks and before the first placement.  Does
 * nothing if each clock was compared several times. */
epp_status *measure_clocks(struct epp_timeline *timeline) EPP_MUST_CHECK;

/* ---- find_parent.c ---- */

/* Computes the earliest end of a wait that covers the event `id`, whatever time its clock claims; INT64_MAX: there is
 * none.  All host events must have been noted. */
epp_status *parent_wait_end(struct epp_timeline *timeline, struct line *line, uint64_t id,
                            const struct referenced_event *parent, int64_t *end_ns) EPP_MUST_CHECK;

/* Sets the event's parent: the event that its record names or, for a device event without one, the innermost event
 * of the launching thread. */
epp_status *parent_set(struct epp_timeline *timeline, struct line *line, epp_event *event) EPP_MUST_CHECK;

#endif

/* Measures device clocks that were compared with the host clock only once: see causal_clock.h.
 *
 * First, a second timeline merges all events, but does not find the parents of device events
 * (epp_timeline.is_measuring).  For each event that is a parent, it notes the end of the outermost session event around
 * this parent.  Then the blocks with events of such clocks are decoded, and each event with a recorded parent adds its
 * limits to the clock.  For a clock of which no event has a recorded parent, run_coverage (causal_clock.h) only checks
 * whether the clock can be right.  Memory: a second timeline, which is released afterwards, and the points of the
 * clocks, which are bounded.  A trace whose clocks all have several clock samples skips this step. */
#include <stdlib.h>

#include "base/status.h"
#include "timeline/timeline.h"

/* ---- which clocks ---- */

/* Sets the only sample of a clock, and the length of its tick. */
static void set_sample(const struct epp_timeline *timeline, const struct line *line, struct causal_clock *clock)
{
	struct device_time time = { .ns = line->run_start_ns, .error_ns = line->offset_error_ns };
	size_t hint = 0;

	clock->tick_ns = CLOCK_FIT_MICROSECOND_START_NS;
	if (line->placement == LINE_BY_PAIRS) {
		time = device_clock_place(line->clock, &timeline->host, &hint, line->clock->fit.device_first, INT64_MIN);
		clock->tick_ns = host_clock_span_ns(&timeline->host, line->clock->fit.tick);
		clock->tick_ns = clock->tick_ns < ITEM_NS_MAX / 16 ? clock->tick_ns : ITEM_NS_MAX / 16;
	}
	int64_t error_ns = time.error_ns < ITEM_NS_MAX / 4 ? time.error_ns : ITEM_NS_MAX / 4;
	clock->sample = (struct causal_point){
		.cause_ns = CAUSAL_NO_CAUSE, .at_ns = time.ns, .low_ns = -error_ns, .high_ns = error_ns
	};
}

static bool is_compared_once(const struct line *line)
{
	return line->is_device &&
	       (line->placement == LINE_BY_OFFSET ||
	        (line->placement == LINE_BY_PAIRS && line->clock->fit.count == 1 && !line->clock->ambiguous));
}

static bool is_clock_of(const struct causal_clock *clock, const struct line *line, const struct epf_track *definition)
{
	if (line->placement == LINE_BY_PAIRS)
		return clock->device_clock == line->clock;
	return !clock->device_clock && clock->source == line->source && clock->producer == definition->producer &&
	       clock->run == definition->run;
}

static epp_status *find_clock(struct epp_timeline *timeline, struct line *line, const struct epf_track *definition)
{
	for (size_t i = timeline->causal_count; i-- > 0;) {
		if (is_clock_of(timeline->causal[i], line, definition)) {
			line->causal = timeline->causal[i];
			return NULL;
		}
	}
	struct causal_clock **room = reallocarray(timeline->causal, timeline->causal_count + 1,
	                                          sizeof(struct causal_clock *));
	if (!room)
		return epp_status_no_memory();
	timeline->causal = room;
	struct causal_clock *clock = calloc(1, sizeof(*clock));
	if (!clock)
		return epp_status_no_memory();
	clock->source = line->source;
	clock->producer = definition->producer;
	clock->run = definition->run;
	clock->device_clock = line->placement == LINE_BY_PAIRS ? line->clock : NULL;
	clock->points.most = CAUSAL_POINTS_MOST;
	clock->run_end_ns = line->run_end_ns;
	set_sample(timeline, line, clock);
	timeline->causal[timeline->causal_count++] = line->causal = clock;
	return NULL;
}

static epp_status *find_clocks(struct epp_timeline *timeline)
{
	for (uint32_t i = 0; i < timeline->lines.known_count; i++) {
		struct line *line = &timeline->lines.lines[i];
		if (is_compared_once(line))
			EPP_TRY(find_clock(timeline, line, &timeline->reader->track_definitions[i]));
	}
	return NULL;
}

/* ---- the events of the host ---- */

/* A session event, such as a run of a model, ends after its device events; other events may only launch them.  Events
 * come in order of their start, so the session events around an event come before it. */
static epp_status *note_session(struct epp_timeline *host, struct host_runs *runs, const epp_event *event)
{
	bool is_session = event->category == EPP_SESSION, is_parent = event->flags & EPP_FLAG_REFERENCED;
	struct referenced_event *noted;
	uint32_t index;

	if (event->kind != EPP_EVENT_SLICE || (!is_session && !is_parent))
		return NULL;
	EPP_TRY(lines_find(&host->lines, event->track->track, &index));
	struct line *line = &host->lines.lines[index];
	int64_t end_ns = event->start_ns + event->duration_ns;
	if (is_session && event->start_ns >= line->session_end_ns)
		EPP_TRY(host_runs_add(runs, causal_clip(event->start_ns), causal_clip(end_ns), event->name_number));
	if (is_session && end_ns > line->session_end_ns)
		line->session_end_ns = end_ns;
	uint32_t number = references_find(&host->references, &line->own_lookup, line->source, event->id);
	if (number == REFERENCES_NONE)
		return NULL;
	EPP_TRY(references_at(&host->references, number, &noted));
	if (noted)
		noted->outer_end_ns = line->session_end_ns >= end_ns ? line->session_end_ns : INT64_MIN;
	return NULL;
}

static epp_status *note_host_events(const struct epp_timeline *timeline, struct host_runs *runs, struct epp_timeline **made)
{
	epp_timeline_options options = timeline->options;
	epp_event event;

	options.struct_size = sizeof(options);
	options.from_ns = options.to_ns = 0;
	options.run = 0;
	options.clamp_to_parent = 0;
	/* All host events limit the clocks, whatever events the options select. */
	options.requests = 0;
	options.trace_id = NULL;
	EPP_TRY(timeline_create_measuring(timeline, &options, made));
	for (uint32_t i = 0; i < (*made)->lines.count; i++)
		(*made)->lines.lines[i].session_end_ns = INT64_MIN;
	while (timeline_next(*made, &event))
		EPP_TRY(note_session(*made, runs, &event));
	host_runs_settle(runs);
	return epp_timeline_status(*made);
}

/* ---- the events of the clocks ---- */

static epp_status *add_event(struct epp_timeline *timeline, struct epp_timeline *host, struct line *line,
                             uint64_t parent_id, const struct codec_record *record)
{
	struct line *host_line = &host->lines.lines[line - timeline->lines.lines];
	uint32_t number = references_find(&host->references, &host_line->parent_lookup, line->source, parent_id);
	struct referenced_event *found;
	struct placed placed;
	int64_t wait_end_ns;

	if (number == REFERENCES_NONE)
		return NULL;
	EPP_TRY(references_at(&host->references, number, &found));
	if (!found || found->start_ns == INT64_MIN || lines_of_key(&host->lines, found->line)->is_device)
		return NULL;
	const struct referenced_event parent = *found;
	EPP_TRY(parent_wait_end(host, host_line, record->id, &parent, &wait_end_ns));
	place_complete(timeline, line, record, 0, true, &placed);
	const struct causal_event event = {
		.start_ns = placed.start_ns,
		.end_ns = placed.end_ns,
		.cause_ns = parent.start_ns,
		.parent_end_ns = parent.end_ns,
		.session_end_ns = parent.outer_end_ns == INT64_MIN ? CAUSAL_NS_MAX : parent.outer_end_ns,
		.wait_end_ns = wait_end_ns == INT64_MAX ? CAUSAL_NS_MAX : wait_end_ns,
	};
	return causal_clock_add(line->causal, &event);
}

static void add_to_coverage(struct epp_timeline *timeline, struct line *line, const struct codec_record *record)
{
	struct placed placed;

	place_complete(timeline, line, record, 0, true, &placed);
	run_coverage_add(&line->causal->coverage, &(struct run_coverage_event){
						      .start_ns = causal_clip(placed.start_ns),
						      .start_error_ns = causal_clip(placed.start_error_ns),
						      .end_ns = causal_clip(placed.end_ns),
						      .end_error_ns = causal_clip(placed.end_error_ns),
						  });
}

static epp_status *add_block(struct epp_timeline *timeline, struct epp_timeline *host, uint32_t index)
{
	struct decoded decoded;
	uint32_t line, after;

	EPP_TRY(block_decode(timeline, index, &timeline->buffer, &timeline->buffer_bytes, &decoded));
	EPP_TRY(lines_find(&timeline->lines, decoded.block->track, &line));
	for (uint32_t i = 0; i < decoded.count; i++) {
		const struct codec_record *record = &timeline->records[i];
		unsigned kind = EPF_BITS_KIND(record->bits);
		if (kind == EPF_TRACK_SWITCH) {
			EPP_TRY(scan_pass_switch_line(timeline, decoded.block, record, &line));
			continue;
		}
		struct line *of = &timeline->lines.lines[line];
		if (kind != EPF_COMPLETE || !of->causal)
			continue;
		uint64_t parent = block_parent(&decoded, record, &after);
		if (parent && EPF_BITS_PLACEMENT(record->bits) != EPF_PLACED_INFERRED)
			EPP_TRY(add_event(timeline, host, of, parent, record));
		if (!of->causal->points.count)
			add_to_coverage(timeline, of, record);
	}
	return NULL;
}

static epp_status *add_blocks(struct epp_timeline *timeline, struct epp_timeline *host)
{
	const struct reader *reader = timeline->reader;

	for (uint32_t i = 0; i < reader->blocks_count; i++) {
		if (reader->blocks[i].kinds & 1u << EPF_COMPLETE && block_is_wanted(timeline, &reader->blocks[i]))
			EPP_TRY(add_block(timeline, host, i));
	}
	return NULL;
}

/* ---- all steps ---- */

static epp_status *prepare_clock(struct causal_clock *clock, const struct host_runs *runs)
{
	return run_coverage_init(&clock->coverage, runs, causal_clip(clock->sample.at_ns) - clock->sample.high_ns,
	                         causal_clip(clock->run_end_ns));
}

static epp_status *build_clock(struct epp_timeline *timeline, struct causal_clock *clock, const struct host_runs *runs)
{
	EPP_TRY(causal_clock_build(clock));
	if (!clock->is_built)
		EPP_TRY(run_coverage_contradicts(&clock->coverage, runs, &clock->sample, &clock->is_wrong));
	timeline->counts.jumped_clocks += clock->bound.pieces_count > 1;
	timeline->counts.contradicted_clocks += clock->bound.is_unusable;
	timeline->counts.adrift_clocks += clock->is_wrong;
	return NULL;
}

static epp_status *measure(struct epp_timeline *timeline, struct host_runs *runs, struct epp_timeline **host)
{
	EPP_TRY(note_host_events(timeline, runs, host));
	for (size_t i = 0; i < timeline->causal_count; i++)
		EPP_TRY(prepare_clock(timeline->causal[i], runs));
	EPP_TRY(add_blocks(timeline, *host));
	for (size_t i = 0; i < timeline->causal_count; i++)
		EPP_TRY(build_clock(timeline, timeline->causal[i], runs));
	return NULL;
}

epp_status *measure_clocks(struct epp_timeline *timeline)
{
	struct epp_timeline *host = NULL;
	struct host_runs runs = { 0 };

	if (timeline->options.as_claimed || timeline->is_measuring)
		return NULL;
	EPP_TRY(find_clocks(timeline));
	if (!timeline->causal_count)
		return NULL;
	epp_status *status = measure(timeline, &runs, &host);
	for (size_t i = 0; i < timeline->causal_count; i++)
		run_coverage_deinit(&timeline->causal[i]->coverage);
	host_runs_deinit(&runs);
	epp_timeline_destroy(host);
	return status;
}

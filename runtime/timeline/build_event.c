/* Turns items into events: adds names, args, the depth and lane on the track, and the parent. */
#include <stddef.h>
#include <string.h>

#include "base/status.h"
#include "ep_kit/clock_fit.h"
#include "timeline/timeline.h"

#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

__attribute__((noinline)) static uint32_t find_run(const struct epp_timeline *timeline, const struct item *item)
{
	if (ITEM_RANK(item->sequence) == ITEM_RANK_OPEN)
		return timeline->reader->live.run;
	return timeline->reader->blocks[timeline->block_of_rank[ITEM_RANK(item->sequence)]].run;
}

static inline void set_name(const struct reader *reader, epp_event *event, uint32_t name)
{
	event->name_number = name;
	if (likely(name < reader->names_count && reader->names[name].text)) {
		event->name = reader->names[name].text;
		event->name_bytes = reader->names[name].bytes;
	} else {
		event->name = "(unknown)";
		event->name_bytes = sizeof("(unknown)") - 1;
	}
}

static void set_args(struct epp_timeline *timeline, const struct run *run, const struct item *item, epp_event *event)
{
	struct event_args *args = &timeline->args;

	event->args = args;
	*args = (struct event_args){ .payload = run->payload,
		                     .payload_bytes = run->payload_bytes,
		                     .offset = item->args_offset };
	if (item->args_offset != ITEM_ARGS_SEPARATE)
		return;
	const struct end *end = ends_find(&timeline->ends, lines_of_key(&timeline->lines, item->line)->source, item->id);
	if (end)
		*args = (struct event_args){ .block = end->block, .offset = end->args_offset };
	else
		event->args_count = 0; /* corrupt: the block's source differs from that of its track */
}

/* Number of extras to prefetch ahead: a run's extras are read in sequence, and the merge prefetches only items. */
#define EXTRAS_AHEAD 8

static void set_extra(const struct item_extra *extra, epp_event *event)
{
	__builtin_prefetch((const void *)((uintptr_t)extra + EXTRAS_AHEAD * sizeof(*extra)));
	event->start_error_ns = extra->start_error_ns;
	event->end_error_ns = extra->end_error_ns;
	event->parent = extra->parent;
}

/* Sets the error bounds of a thread's event to the error of the host clock.  Called only if host clock samples
 * contradict each other. */
__attribute__((noinline)) static void set_doubt(const struct epp_timeline *timeline, const struct item *item,
                                                epp_event *event)
{
	const struct host_clock *host = &timeline->host;
	size_t hint = 0;

	host_clock_ns_far(host, &hint, item->start_ticks);
	event->start_error_ns = host_clock_doubt_ns(host, &hint);
	host_clock_ns_far(host, &hint, item->end_ticks);
	event->end_error_ns = host_clock_doubt_ns(host, &hint);
}

_Static_assert(offsetof(struct item_class, placement) == offsetof(epp_event, placement) - offsetof(epp_event, kind),
               "kind, category and placement are copied as one");

/* Sets the fields of an event that are the same for all kinds of events.  Args, error bounds, depth, lane and parent of
 * the event are set later. */
static inline void fill(const struct epp_timeline *timeline, const struct line *line, const struct item *item,
                        epp_event *event)
{
	event->start_ns = item->start_ns;
	event->duration_ns = (int64_t)((uint64_t)item->end_ns - (uint64_t)item->start_ns);
	event->start_error_ns = 0;
	event->end_error_ns = 0;
	event->start_ticks = item->start_ticks;
	event->end_ticks = item->end_ticks;
	event->id = item->id;
	set_name(timeline->reader, event, item->name);
	event->track = line->track;
	event->parent_track = NULL;
	event->parent_start_ns = INT64_MIN;
	event->parent_end_ns = INT64_MIN;
	event->launch_ns = INT64_MIN;
	event->queue_ns = INT64_MIN;
	event->run = likely(timeline->only_run) ? timeline->only_run : find_run(timeline, item);
	memcpy(&event->kind, &item->class, sizeof(item->class)); /* item_class also contains category and placement */
	event->flags = item->class.flags;
	event->args_count = ITEM_ARGS_COUNT(item->sequence);
	event->args = NULL;
	event->requests = 0;
	event->weight = 1;
}

/* ---- nesting ---- */

/* Returns a position for nesting: ticks on threads, nanoseconds on other tracks, mapped to unsigned numbers of the same
 * order. */
static inline uint64_t position_of(const struct line *line, uint64_t ticks, int64_t ns)
{
	return line->is_thread ? ticks : (uint64_t)ns ^ 1ull << 63;
}

/* Flags an event that other events reference, and stores its times in timeline->references. */
static epp_status *mark_referenced(struct epp_timeline *timeline, struct line *line, epp_event *event)
{
	struct references *references = &timeline->references;
	uint32_t number = references_find(references, &line->own_lookup, line->source, event->id);
	struct referenced_event *noted;

	if (number == REFERENCES_NONE)
		return NULL;
	event->flags |= (references_is_kind(references, number, event->id, REFERENCES_AS_PARENT) ? EPP_FLAG_REFERENCED
	                                                                                         : 0) |
	                (references_is_kind(references, number, event->id, REFERENCES_BY_FLOW) ? EPP_FLAG_FLOW : 0);
	if (!references->has_table)
		return NULL;
	EPP_TRY(references_update(references, number, &noted));
	if (!noted)
		return NULL;
	noted->start_ns = event->start_ns;
	noted->end_ns = event->start_ns + event->duration_ns;
	noted->line = line->key;
	noted->is_call = event->category == EPP_API;
	noted->ended_elsewhere = event->kind == EPP_EVENT_SLICE && (event->flags & EPP_FLAG_ENDED_ON_OTHER_THREAD);
	if (event->kind == EPP_EVENT_SLICE)
		noted->outer_end_ns = nest_outer_end(&line->nest, noted->start_ns, noted->end_ns);
	return NULL;
}

static inline epp_status *nest_thread_slice(struct line *line, const struct item *item, epp_event *event)
{
	struct nest_open opened = { .end = item->end_ticks,
		                    .sequence = item->sequence,
		                    .id = item->id,
		                    .start_ns = item->start_ns,
		                    .end_ns = item->end_ns };
	struct nest_place place;

	if (unlikely(item->class.flags & EPP_FLAG_OPEN))
		opened.end = UINT64_MAX;
	if (unlikely(!nest_slice(&line->nest, item->start_ticks, &opened, &place)))
		return epp_status_no_memory();
	event->depth = place.depth;
	event->lane = place.lane;
	event->parent = place.parent;
	return NULL;
}

/* Returns the time `ns` before at_ns; INT64_MIN if out of range. */
static int64_t subtract_ns(int64_t at_ns, uint64_t ns)
{
	int64_t result;

	return __builtin_sub_overflow(at_ns, ns, &result) ? INT64_MIN : result;
}

/* Sets launch_ns and queue_ns of a device event, from the args that are recorded first in the event. */
static void set_submission(struct epp_timeline *timeline, const struct line *line, epp_event *event)
{
	const struct event_args *args = event->args;
	uint32_t at = args->offset;
	struct codec_arg arg;

	for (uint32_t i = 0; i < event->args_count && args->payload; i++) {
		at = codec_arg(args->payload, args->payload_bytes, at, &arg);
		if (!at || (arg.key != EPF_NAME_SUBMIT && arg.key != EPF_NAME_QUEUE))
			return;
		if (arg.key == EPF_NAME_SUBMIT)
			event->launch_ns = host_clock_ns(&timeline->host, &timeline->submit_hint, arg.value);
		else
			event->queue_ns = subtract_ns(event->start_ns,
			                              clock_fit_scale(arg.value, 1000000000, line->ticks_per_second));
	}
}

/* Nests a slice that is not on a thread's stack: a slice of a device, or of a track that the host created. */
static epp_status *nest_other_slice(struct epp_timeline *timeline, struct line *line, const struct item *item,
                                    epp_event *event)
{
	if (timeline->is_measuring && line->is_device)
		return NULL;
	EPP_TRY(parent_set(timeline, line, event));
	/* How long an event was queued is not known if its start is not. */
	if (event->placement == EPP_PLACED_DURATION)
		event->launch_ns = INT64_MIN;
	else if (event->args_count && line->is_device)
		set_submission(timeline, line, event);
	int64_t error_ns = event->start_error_ns > event->end_error_ns ? event->start_error_ns : event->end_error_ns;
	if (event->placement != EPP_PLACED_DURATION && error_ns > timeline->counts.largest_error_ns)
		timeline->counts.largest_error_ns = error_ns;

	struct line *row = line->thread ? line->thread : line;
	struct nest_open opened = { .end = position_of(row, item->end_ticks, item->end_ns),
		                    .id = item->id,
		                    .start_ns = item->start_ns,
		                    .end_ns = item->end_ns };
	struct nest_place place;
	if (!nest_slice(&row->nest, position_of(row, item->start_ticks, item->start_ns), &opened, &place))
		return epp_status_no_memory();
	event->lane = place.lane;
	event->depth = place.depth;
	if (!line->is_device && !event->parent)
		event->parent = place.parent;
	return NULL;
}

/* An instant's parent is the innermost open event. */
static void set_instant_parent(struct line *line, const struct item *item, epp_event *event)
{
	uint64_t position = position_of(line, item->start_ticks, item->start_ns);
	const struct nest_open *around = nest_instant(&line->nest, position, line->is_thread ? item->sequence : 0,
	                                              &event->depth);
	if (around && !line->is_device)
		event->parent = around->id;
}

/* ---- events ---- */

/* Called last: comparisons of events of one source must not include this error, which is common to all of them. */
static void add_source_error(epp_event *event, int64_t error_ns)
{
	event->start_error_ns += error_ns;
	event->end_error_ns += error_ns;
}

/* Builds an event that is on no thread's stack: a device event, an async event, an instant, a counter. */
__attribute__((noinline)) static epp_status *build_other(struct epp_timeline *timeline, struct line *line,
                                                         const struct item *item, epp_event *event)
{
	event->depth = event->lane = 0;
	if (event->kind == EPP_EVENT_SLICE)
		return nest_other_slice(timeline, line, item, event);
	if (event->kind == EPP_EVENT_INSTANT || event->kind == EPP_EVENT_COUNTER)
		set_instant_parent(line, item, event);
	return NULL;
}

static inline epp_status *emit(struct epp_timeline *timeline, const struct merge_source *source,
                               const struct item *item, epp_event *event)
{
	struct line *line = lines_of_key(&timeline->lines, item->line);
	unsigned kind = item->class.kind;
	epp_status *status;

	event->parent = 0;
	fill(timeline, line, item, event);
	if (unlikely(event->args_count))
		set_args(timeline, source->run, item, event);
	if (unlikely(source->extras))
		set_extra(&source->extras[item - source->items], event);
	if (unlikely(timeline->host.is_doubted) && line->is_thread)
		set_doubt(timeline, item, event);
	if (likely(kind == EPP_EVENT_SLICE && line->is_thread && !event->parent))
		status = nest_thread_slice(line, item, event);
	else
		status = build_other(timeline, line, item, event);
	if (unlikely(timeline->references.pages_count) && likely(!status) &&
	    (kind == EPP_EVENT_SLICE || kind == EPP_EVENT_ASYNC))
		status = mark_referenced(timeline, line, event);
	if (unlikely(line->error_ns))
		add_source_error(event, line->error_ns);
	return status;
}

static void stop_with(struct epp_timeline *timeline, epp_status *status)
{
	timeline->ended = true;
	timeline->status = status;
}

bool timeline_next(struct epp_timeline *timeline, epp_event *event)
{
	while (likely(!timeline->ended)) {
		const struct item *item;
		const struct merge_source *source;
		epp_status *status = merge_next(timeline, &timeline->merge, &item, &source);
		if (unlikely(!item || item->start_ns >= timeline->options.to_ns)) {
			stop_with(timeline, status);
			break;
		}
		if (unlikely(item->end_ns < timeline->options.from_ns))
			continue;
		status = emit(timeline, source, item, event);
		if (unlikely(status)) {
			stop_with(timeline, status);
			break;
		}
		if (unlikely(timeline->weights)) {
			status = weights_of(timeline->weights, &timeline->open_weights, event);
			if (status) {
				stop_with(timeline, status);
				break;
			}
		}
		if (unlikely(timeline->requests)) {
			status = requests_of(timeline->requests, &timeline->open_grants, event);
			if (status) {
				stop_with(timeline, status);
				break;
			}
			if (timeline->selected && !(event->requests && timeline->selected[event->requests - 1]))
				continue;
		}
		timeline->counts.events++;
		return true;
	}
	return false;
}

int epp_timeline_next(epp_timeline *timeline, const epp_event **event)
{
	bool any = timeline_next(timeline, &timeline->event);

	*event = any ? &timeline->event : NULL;
	return any;
}

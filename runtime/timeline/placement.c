/* Computes the host time of complete events, and its error bound, depending on the clock of their track.
 *
 * A duration-only event has no recorded time.  It is placed at the start of its parent, or after the parent's previous
 * duration-only event; without a parent, at the start of the run.  It is only certain that the event is inside the
 * parent or the run, which gives the error bound.
 * If a clock was compared with the host clock only once, limits by causes (clock/causal_clock.h) may correct the time
 * and set the bound.
 * On request, device events are moved into their parent, and shortened if they are longer.  Duration-only and moved
 * events need the parent, so blocks with such events are loaded before the merge, once, in file order. */
#include "timeline/timeline.h"

static int64_t clip(int64_t ns)
{
	return ns > ITEM_NS_MAX ? ITEM_NS_MAX : ns < -ITEM_NS_MAX ? -ITEM_NS_MAX : ns;
}

/* Stores the first error in timeline->status, which merge_runs.c checks later.  Returns true if there is none. */
static bool store_error(struct epp_timeline *timeline, epp_status *status)
{
	if (!status)
		return true;
	if (timeline->status)
		epp_status_destroy(status);
	else
		timeline->status = status;
	return false;
}

static struct referenced_event *find_parent(struct epp_timeline *timeline, struct line *line, uint64_t parent,
                                            uint32_t *number)
{
	struct referenced_event *event;

	*number = REFERENCES_NONE;
	if (!parent || !timeline->references.has_table)
		return NULL;
	*number = references_find(&timeline->references, &line->parent_lookup, line->source, parent);
	if (*number == REFERENCES_NONE || !store_error(timeline, references_at(&timeline->references, *number, &event)))
		return NULL;
	return event && event->start_ns != INT64_MIN ? event : NULL;
}

static void by_host(struct epp_timeline *timeline, struct line *line, const struct codec_record *record,
                    struct placed *placed)
{
	uint64_t end = codec_end(record->start_ticks, record->duration_ticks);

	placed->start_ns = host_clock_ns(&timeline->host, &line->host_hint, record->start_ticks);
	placed->start_error_ns = host_clock_doubt_ns(&timeline->host, &line->host_hint);
	placed->end_ns = host_clock_ns(&timeline->host, &line->host_hint, end);
	placed->end_error_ns = host_clock_doubt_ns(&timeline->host, &line->host_hint);
	placed->placement = (epp_placement)EPF_BITS_PLACEMENT(record->bits);
}

static void by_pairs(struct epp_timeline *timeline, struct line *line, const struct codec_record *record,
                     int64_t near_ns, struct placed *placed)
{
	size_t *hint = &line->host_hint;
	uint64_t start_ticks = record->start_ticks, end_ticks = start_ticks + record->duration_ticks;
	struct device_clock *clock = line->clock;
	const struct host_clock *host = &timeline->host;
	struct device_time start, end;

	if (!device_clock_near(clock, host, *hint, start_ticks, &start))
		start = device_clock_place(clock, host, hint, start_ticks, near_ns);
	if (!device_clock_near(clock, host, *hint, end_ticks, &end))
		end = device_clock_place(clock, host, hint, end_ticks, start.ns);
	*placed = (struct placed){ .start_ns = start.ns,
		                   .end_ns = end.ns > start.ns ? end.ns : start.ns,
		                   .start_error_ns = start.error_ns,
		                   .end_error_ns = end.error_ns,
		                   .placement = start.fitted && end.fitted ? EPP_PLACED_FITTED : EPP_PLACED_FORMULA };
}

/* Returns by how many ns a clock is assumed to have drifted by at_ns, if it was compared with the host clock only once,
 * at the start of the run. */
static int64_t drift_of(const struct line *line, int64_t at_ns)
{
	int64_t distance_ns = at_ns > line->run_start_ns ? at_ns - line->run_start_ns : line->run_start_ns - at_ns;
	return distance_ns / (1000000 / CLOCK_FIT_ASSUMED_PPM) + 1;
}

/* The microseconds are negative if the event began before the run's start. */
static void by_offset(const struct line *line, const struct codec_record *record, struct placed *placed)
{
	int64_t start_us = (int64_t)record->start_ticks, most_us = ITEM_NS_MAX / 4000;
	uint64_t duration_us = record->duration_ticks < (uint64_t)most_us ? record->duration_ticks : (uint64_t)most_us;

	start_us = start_us > most_us ? most_us : start_us < -most_us ? -most_us : start_us;
	placed->start_ns = line->offset_base_ns + start_us * 1000;
	placed->end_ns = placed->start_ns + (int64_t)duration_us * 1000;
	placed->start_error_ns = line->offset_error_ns + CLOCK_FIT_MICROSECOND_START_NS + drift_of(line, placed->start_ns);
	placed->end_error_ns = line->offset_error_ns + CLOCK_FIT_MICROSECOND_END_NS + drift_of(line, placed->end_ns);
	placed->placement = EPP_PLACED_FORMULA;
}

static void by_duration(struct epp_timeline *timeline, const struct line *line, const struct codec_record *record,
                        const struct referenced_event *parent, uint32_t number, struct placed *placed)
{
	uint64_t per_second = line->ticks_per_second ? line->ticks_per_second : 1000000000;
	unsigned __int128 length = (unsigned __int128)record->duration_ticks * 1000000000 / per_second;
	int64_t duration_ns = length > (uint64_t)ITEM_NS_MAX / 4 ? ITEM_NS_MAX / 4 : (int64_t)length;
	int64_t from_ns = parent ? parent->start_ns : line->run_start_ns;
	int64_t to_ns = parent ? parent->end_ns : timeline->last_ns;
	int64_t *used_ns;

	placed->start_ns = from_ns;
	if (parent && store_error(timeline, references_used(&timeline->references, number, &used_ns)) && used_ns) {
		placed->start_ns = clip(from_ns + *used_ns);
		*used_ns = clip(*used_ns + duration_ns);
	}
	placed->end_ns = clip(placed->start_ns + duration_ns);
	int64_t before_ns = placed->start_ns - from_ns, behind_ns = to_ns - placed->end_ns;
	placed->start_error_ns = placed->end_error_ns = before_ns > behind_ns ? before_ns : behind_ns;
	placed->placement = EPP_PLACED_DURATION;
}

/* Moves an event into the time of its parent, and shortens it if needed. */
static void clamp(const struct referenced_event *parent, struct placed *placed)
{
	int64_t start_ns = placed->start_ns, end_ns = placed->end_ns, duration_ns = end_ns - start_ns;

	if (duration_ns > parent->end_ns - parent->start_ns)
		duration_ns = parent->end_ns - parent->start_ns;
	if (start_ns > parent->end_ns - duration_ns)
		start_ns = parent->end_ns - duration_ns;
	if (start_ns < parent->start_ns)
		start_ns = parent->start_ns;
	if (start_ns == placed->start_ns && start_ns + duration_ns == end_ns)
		return;
	placed->start_ns = start_ns;
	placed->end_ns = start_ns + duration_ns;
	placed->placement = EPP_PLACED_CLAMPED;
}

/* Returns the error bound of a time of an event.  If error_ns means that no limit is known, the bound is the distance
 * to the farther end of the event's run, because the event is inside the run. */
static int64_t within_run(const struct epp_timeline *timeline, const struct line *line, int64_t at_ns, int64_t error_ns)
{
	int64_t end_ns = line->run_end_ns == INT64_MAX ? timeline->last_ns : line->run_end_ns;
	int64_t before_ns = at_ns - line->run_start_ns, behind_ns = end_ns - at_ns;
	int64_t most_ns = before_ns > behind_ns ? before_ns : behind_ns;

	return error_ns >= CAUSAL_NS_MAX / 2 && most_ns >= 0 && most_ns < error_ns ? most_ns : error_ns;
}

/* Corrects the times by the limits that causes set for the clock.  The claimed duration is kept if the possible error
 * of the clock's rate explains the difference. */
static void by_causes(const struct epp_timeline *timeline, const struct line *line,
                      const struct referenced_event *parent, struct placed *placed)
{
	const struct causal_clock *clock = line->causal;
	int64_t cause_ns = parent ? parent->start_ns : CAUSAL_NO_CAUSE;

	placed->start_ns = causal_clip(placed->start_ns);
	placed->end_ns = causal_clip(placed->end_ns);
	int64_t claimed_ns = placed->end_ns - placed->start_ns;
	causal_clock_place(clock, &placed->start_ns, cause_ns, &placed->start_error_ns);
	causal_clock_place(clock, &placed->end_ns, cause_ns, &placed->end_error_ns);
	placed->start_error_ns = within_run(timeline, line, placed->start_ns, placed->start_error_ns + clock->tick_ns);
	placed->end_error_ns = within_run(timeline, line, placed->end_ns, placed->end_error_ns + 2 * clock->tick_ns);
	int64_t longer_ns = placed->end_ns - placed->start_ns - claimed_ns;
	int64_t change_ns = clip(longer_ns < 0 ? -longer_ns : longer_ns);
	if (longer_ns + claimed_ns < 0 || change_ns <= clock->tick_ns + claimed_ns / (1000000 / CLOCK_FIT_ASSUMED_PPM)) {
		placed->end_error_ns = clip(placed->end_error_ns + change_ns);
		placed->end_ns = placed->start_ns + claimed_ns;
	}
}

/* Places an event of a clock that is proven wrong.  It is only certain that the event is inside its run. */
static void by_run(const struct epp_timeline *timeline, const struct line *line, struct placed *placed)
{
	placed->start_error_ns = within_run(timeline, line, placed->start_ns, CAUSAL_NS_MAX);
	placed->end_error_ns = within_run(timeline, line, placed->end_ns, CAUSAL_NS_MAX);
}

bool place_complete(struct epp_timeline *timeline, struct line *line, const struct codec_record *record,
                    uint64_t parent_id, bool take, struct placed *placed)
{
	bool needs_parent = place_depends(timeline, line);
	uint32_t number = REFERENCES_NONE;
	struct referenced_event *parent = NULL;

	*placed = (struct placed){ 0 };
	if (needs_parent) {
		if (!take)
			return false;
		parent = find_parent(timeline, line, parent_id, &number);
	}
	switch (line->placement) {
	case LINE_BY_HOST:
		by_host(timeline, line, record, placed);
		break;
	case LINE_BY_PAIRS:
		by_pairs(timeline, line, record, parent ? parent->start_ns : INT64_MIN, placed);
		break;
	case LINE_BY_OFFSET:
		by_offset(line, record, placed);
		break;
	case LINE_BY_DURATION:
		by_duration(timeline, line, record, parent, number, placed);
		break;
	}
	if (line->causal && line->causal->is_built)
		by_causes(timeline, line, EPF_BITS_PLACEMENT(record->bits) == EPF_PLACED_INFERRED ? NULL : parent, placed);
	if (line->causal && line->causal->is_wrong)
		by_run(timeline, line, placed);
	/* The bits of the record state how the recorder found the parent. */
	if (EPF_BITS_PLACEMENT(record->bits) == (parent_id ? EPF_PLACED_INFERRED : EPF_PLACED_AMBIGUOUS) &&
	    placed->placement != EPP_PLACED_DURATION)
		placed->placement = parent_id ? EPP_PLACED_INFERRED : EPP_PLACED_AMBIGUOUS;
	if (timeline->options.clamp_to_parent && line->is_device && parent)
		clamp(parent, placed);
	return true;
}

bool place_depends(const struct epp_timeline *timeline, const struct line *line)
{
	return line->placement == LINE_BY_DURATION || (line->placement == LINE_BY_PAIRS && line->clock->ambiguous) ||
	       (line->causal && line->causal->by_causes) || (timeline->options.clamp_to_parent && line->is_device);
}

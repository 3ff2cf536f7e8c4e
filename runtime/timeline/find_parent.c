/* Finds the parent of a device event: the host event that caused it.
 *
 * The parent is the event whose id the record names; otherwise, if the track names the launching thread, the innermost
 * event of that thread around the device event's start (inferred); otherwise there is none.  A record may also state
 * that several events could be the parent.
 *
 * A device event begins no earlier than the host event that caused it, and ends no later than a host event that waited
 * for it.  A flow from a device event, or from the event that caused it, to a host event of category API means that
 * this host event waited.  Events keep the times that their clock gives.  If these times are possible, the error bound
 * is narrowed to the possible times; if they are impossible by more than the bound, the event is flagged.  Without a
 * wait, the event's end is compared with the end of the outermost event around the parent.  This comparison does not
 * change the bound, because work may run longer than that event.
 *
 * A wait covers the work that was launched before the wait began.  Launches have no time of their own, but a waiting
 * thread launches nothing, so an event that began before a wait ended was launched before that wait began. */
#include <stdlib.h>

#include "base/status.h"
#include "timeline/timeline.h"

/* Returns the end of the outermost host event around a parent; INT64_MIN: not known yet. */
static int64_t outer_end(const struct epp_timeline *timeline, const struct referenced_event *parent)
{
	int64_t end_ns = parent->outer_end_ns;
	/* The clock's error has moved the device event before its parent.  Events that are open on the parent's thread
	 * may then enclose the parent. */
	if (end_ns == INT64_MIN)
		end_ns = nest_outer_end(&lines_of_key(&timeline->lines, parent->line)->nest, parent->start_ns,
		                        parent->end_ns);
	/* A call that launches work returns before the work ends.  If no other event encloses the call, no event can
	 * have waited. */
	return parent->is_call && end_ns == parent->end_ns ? INT64_MIN : end_ns;
}

/* The look-ahead searches for the parent or the wait of an event up to this many ns after the end of the event plus its
 * error bound. */
#define AHEAD_NS 1000000

/* Copies a referenced event from timeline->references, because the next lookup may evict its page.  *is_known is false
 * if the event was not noted yet, that is, its times are not stored there. */
static epp_status *find_noted(struct epp_timeline *timeline, uint32_t number, struct referenced_event *known, bool *is_known)
{
	struct referenced_event *event;

	EPP_TRY(references_at(&timeline->references, number, &event));
	*is_known = event && event->start_ns != INT64_MIN;
	if (*is_known)
		*known = *event;
	return NULL;
}

/* Finds a referenced event: in timeline->references, by a look-ahead in the merge, or by a pass over all blocks. */
static epp_status *find_event(struct epp_timeline *timeline, const epp_event *event, uint32_t number,
                              struct referenced_event *known, bool *is_known)
{
	int64_t until_ns;

	EPP_TRY(find_noted(timeline, number, known, is_known));
	if (!*is_known && !timeline->resolved &&
	    !__builtin_add_overflow(event->start_ns + event->duration_ns + AHEAD_NS, event->end_error_ns, &until_ns)) {
		EPP_TRY(resolve_ahead(timeline, until_ns));
		EPP_TRY(find_noted(timeline, number, known, is_known));
	}
	if (!*is_known && !timeline->resolved) {
		EPP_TRY(resolve_parents(timeline));
		EPP_TRY(find_noted(timeline, number, known, is_known));
	}
	return NULL;
}

/* ---- waits ---- */

static int compare_ends(const void *a, const void *b)
{
	const struct wait *first = a, *second = b;
	return (first->end_ns > second->end_ns) - (first->end_ns < second->end_ns);
}

/* Gets the waits that flows join to a launch, sorted by end.  `event` is the current event of the timeline. */
static epp_status *waits_of(struct epp_timeline *timeline, const epp_event *event,
                            const struct referenced_event *launch, const struct wait **waits, uint32_t *count)
{
	*count = 0;
	if (!launch->wait)
		return NULL;
	struct wait *first = &timeline->waits[launch->wait - 1];
	const uint32_t all = first->count;
	for (uint32_t i = 0; i < all && !first->is_sorted; i++) {
		struct referenced_event wait;
		bool is_known;
		EPP_TRY(find_event(timeline, event, first[i].to, &wait, &is_known));
		first[i].end_ns = is_known && wait.is_call ? wait.end_ns : INT64_MIN;
	}
	if (!first->is_sorted) {
		qsort(first, all, sizeof(*first), compare_ends);
		first->count = all;
		first->is_sorted = true;
	}
	*waits = first;
	*count = all;
	return NULL;
}

/* Returns how many of the waits ended before `ns`. */
static uint32_t ended_before(const struct wait *waits, uint32_t count, int64_t ns)
{
	uint32_t low = 0;

	while (low < count) {
		uint32_t middle = low + (count - low) / 2;
		if (waits[middle].end_ns < ns)
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

/* Returns the end of the wait that covers an event: the first wait of its parent that certainly ended after the event
 * began.  If the clock's error leaves this open, the last wait is used, unless the event cannot have ended by then or
 * its claimed start is later.  INT64_MAX: no wait covers the event. */
static int64_t covering_end(const struct wait *waits, uint32_t count, const epp_event *event)
{
	int64_t latest_start_ns;

	if (__builtin_add_overflow(event->start_ns, event->start_error_ns, &latest_start_ns))
		latest_start_ns = INT64_MAX;
	uint32_t at = ended_before(waits, count, latest_start_ns);
	if (at < count)
		return waits[at].end_ns;
	int64_t end_ns = count ? waits[count - 1].end_ns : INT64_MIN;
	int64_t earliest_end_ns;
	if (__builtin_sub_overflow(event->start_ns + event->duration_ns, event->end_error_ns, &earliest_end_ns))
		earliest_end_ns = INT64_MIN;
	bool possible = event->start_ns <= end_ns && earliest_end_ns <= end_ns;
	return possible ? end_ns : INT64_MAX;
}

/* Computes the earliest end of a wait that certainly covered the event; INT64_MAX: there is none.  A wait covers an
 * event if a flow joins the wait to the event itself, or to its parent after the launch.  If the event began after a
 * wait of its parent, it was launched after the end of this wait. */
static epp_status *wait_end(struct epp_timeline *timeline, struct line *line, epp_event *event,
                            const struct referenced_event *parent, int64_t *end_ns)
{
	struct references *references = &timeline->references;
	uint32_t count, at, own = references_find(references, &line->own_lookup, line->source, event->id);
	struct referenced_event *itself = NULL;
	const struct wait *waits;

	EPP_TRY(waits_of(timeline, event, parent, &waits, &count));
	*end_ns = count ? covering_end(waits, count, event) : INT64_MAX;
	at = count ? ended_before(waits, count, event->start_ns) : 0;
	if (at && waits[at - 1].end_ns > event->launch_ns)
		event->launch_ns = waits[at - 1].end_ns;

	if (own != REFERENCES_NONE)
		EPP_TRY(references_at(references, own, &itself));
	if (!itself)
		return NULL;
	const struct referenced_event copy = *itself;
	EPP_TRY(waits_of(timeline, event, &copy, &waits, &count));
	at = count ? ended_before(waits, count, INT64_MIN + 1) : 0;
	if (at < count && waits[at].end_ns < *end_ns)
		*end_ns = waits[at].end_ns;
	return NULL;
}

epp_status *parent_wait_end(struct epp_timeline *timeline, struct line *line, uint64_t id,
                            const struct referenced_event *parent, int64_t *end_ns)
{
	struct references *references = &timeline->references;
	uint32_t count, own = references_find(references, &line->own_lookup, line->source, id);
	const epp_event none = { .start_ns = 0 };
	struct referenced_event itself;
	const struct wait *waits;
	bool is_known = false;

	*end_ns = INT64_MAX;
	/* A launching event that ended after the last of its waits may have launched more work after the wait. */
	EPP_TRY(waits_of(timeline, &none, parent, &waits, &count));
	if (count && waits[count - 1].end_ns >= parent->end_ns)
		*end_ns = waits[count - 1].end_ns;
	if (own != REFERENCES_NONE) {
		struct referenced_event *event;
		EPP_TRY(references_at(references, own, &event));
		is_known = event != NULL;
		itself = event ? *event : (struct referenced_event){ 0 };
	}
	if (!is_known)
		return NULL;
	EPP_TRY(waits_of(timeline, &none, &itself, &waits, &count));
	uint32_t at = count ? ended_before(waits, count, INT64_MIN + 1) : 0;
	if (at < count && waits[at].end_ns < *end_ns)
		*end_ns = waits[at].end_ns;
	return NULL;
}

/* Narrows the error bound of a time that must be in [from, to].  The result is at most the distance to the farther
 * limit, plus 1 ns because the times are rounded down. */
static int64_t narrow_error(int64_t at_ns, int64_t error_ns, int64_t from_ns, int64_t to_ns)
{
	int64_t before_ns, behind_ns;

	if (at_ns < from_ns || at_ns > to_ns || __builtin_sub_overflow(at_ns, from_ns, &before_ns) ||
	    __builtin_sub_overflow(to_ns, at_ns, &behind_ns))
		return error_ns;
	int64_t room_ns = before_ns > behind_ns ? before_ns : behind_ns;
	return error_ns > room_ns ? room_ns + 1 : error_ns;
}

static void narrow_errors(epp_event *event, int64_t wait_end_ns)
{
	if (event->placement != EPP_PLACED_FITTED && event->placement != EPP_PLACED_FORMULA)
		return;
	event->start_error_ns = narrow_error(event->start_ns, event->start_error_ns, event->parent_start_ns, wait_end_ns);
	event->end_error_ns = narrow_error(event->start_ns + event->duration_ns, event->end_error_ns,
	                                   event->parent_start_ns, wait_end_ns);
}

/* Flags an event that begins before its parent, or ends after outer_end_ns, by more than its error bound.  If `waited`
 * is set, outer_end_ns is the end of a wait, else that of the outermost event around the parent. */
static void check_outside(struct epp_timeline *timeline, epp_event *event, int64_t outer_end_ns, bool waited)
{
	if (event->placement == EPP_PLACED_DURATION || event->placement == EPP_PLACED_CLAMPED)
		return;
	int64_t latest_start_ns = event->start_ns + event->start_error_ns;
	int64_t earliest_end_ns = event->start_ns + event->duration_ns - event->end_error_ns;
	if (latest_start_ns >= event->parent_start_ns && (outer_end_ns == INT64_MIN || earliest_end_ns <= outer_end_ns))
		return;
	event->flags |= EPP_FLAG_OUTSIDE_PARENT;
	if (waited && earliest_end_ns > outer_end_ns)
		event->flags |= EPP_FLAG_AFTER_WAIT;
	timeline->counts.outside_parent++;
}

/* Marks a parent as inferred if the device event may have been launched after it.  Profilers are not called when an
 * event ends on another thread, so on its own thread it stays their innermost event, which later work names as its
 * parent. */
static void mark_uncertain(epp_event *event, const struct referenced_event *parent)
{
	int64_t latest_start_ns;
	if (!parent->ended_elsewhere || event->placement == EPP_PLACED_DURATION)
		return;
	if (__builtin_add_overflow(event->start_ns, event->start_error_ns, &latest_start_ns) ||
	    latest_start_ns > parent->end_ns)
		event->placement = EPP_PLACED_INFERRED;
}

static epp_status *join_to(struct epp_timeline *timeline, struct line *line, epp_event *event, uint32_t number, bool *joined)
{
	struct referenced_event parent;
	int64_t wait_end_ns;

	EPP_TRY(find_event(timeline, event, number, &parent, joined));
	if (!*joined)
		return NULL;
	event->parent_track = lines_of_key(&timeline->lines, parent.line)->track;
	event->parent_start_ns = parent.start_ns;
	event->parent_end_ns = parent.end_ns;
	event->launch_ns = parent.start_ns;
	if (line->is_device)
		mark_uncertain(event, &parent);
	EPP_TRY(wait_end(timeline, line, event, &parent, &wait_end_ns));
	bool waited = wait_end_ns != INT64_MAX;
	check_outside(timeline, event, waited ? wait_end_ns : outer_end(timeline, &parent), waited);
	narrow_errors(event, wait_end_ns);
	return NULL;
}

static epp_status *join_by_id(struct epp_timeline *timeline, struct line *line, epp_event *event, bool *joined)
{
	struct references *references = &timeline->references;
	uint32_t number = REFERENCES_NONE;

	*joined = false;
	if (event->parent && references->has_table)
		number = references_find(references, &line->parent_lookup, line->source, event->parent);
	if (number == REFERENCES_NONE)
		return NULL;
	epp_status *status = join_to(timeline, line, event, number, joined);
	/* The scan pass counted this record's reference, which is processed now. */
	references_release(references, number);
	return status;
}

static bool join_by_thread(struct epp_timeline *timeline, const struct line *line, epp_event *event)
{
	const struct nest_open *found = NULL;
	const struct line *thread = NULL;

	for (uint32_t index = line->first_thread; index != LINE_NONE; index = timeline->lines.lines[index].first_thread) {
		const struct line *candidate = &timeline->lines.lines[index];
		const struct nest_open *open = nest_containing(&candidate->nest, event->start_ns);
		if (open && (!found || open->start_ns > found->start_ns)) {
			found = open;
			thread = candidate;
		}
	}
	if (!found)
		return false;
	event->parent = found->id;
	event->parent_track = thread->track;
	event->parent_start_ns = found->start_ns;
	event->parent_end_ns = found->end_ns;
	event->launch_ns = found->start_ns;
	event->placement = EPP_PLACED_INFERRED;
	check_outside(timeline, event, nest_outer_end(&thread->nest, found->start_ns, found->end_ns), false);
	return true;
}

epp_status *parent_set(struct epp_timeline *timeline, struct line *line, epp_event *event)
{
	/* Calls of the host that a device's profiler recorded need no parent, but may name one. */
	bool is_call = line->track->kind == EPP_TRACK_CALLS, joined;

	EPP_TRY(join_by_id(timeline, line, event, &joined));
	if (joined) {
		bool inferred = event->placement == EPP_PLACED_INFERRED;
		timeline->counts.correlated += line->is_device && !is_call && !inferred;
		timeline->counts.inferred += line->is_device && !is_call && inferred;
	} else if (line->is_device) {
		bool ambiguous = event->placement == EPP_PLACED_AMBIGUOUS;
		if (!event->parent && !ambiguous && join_by_thread(timeline, line, event)) {
			timeline->counts.inferred += !is_call;
			return NULL;
		}
		if (is_call)
			return NULL;
		event->flags |= EPP_FLAG_UNCORRELATED;
		timeline->counts.ambiguous += ambiguous;
		timeline->counts.uncorrelated += !ambiguous;
	}
	return NULL;
}

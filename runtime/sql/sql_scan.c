/* Reads the timeline from any position.  A timeline for a time range begins with the events that overlap the range, so
 * the number of its first event is not known.  A mark stores this number, for about one event in MARK_EVENTS.  They are
 * made in one pass over all events when they are first needed. */
#include "sql/sql.h"

#include <stdlib.h>

#include "base/options.h"
#include "base/status.h"
#include "containers/array.h"

#define MARK_EVENTS 4096u
/* The interrupt flag is checked once for as many events. */
#define LOOK_EVENTS 4096u

static epp_status *check_interrupt(const struct epp_sql *sql)
{
	if (export_is_cancelled(&sql->run))
		return epp_status_create(EPP_CANCELLED, "cancelled");
	return sql->interrupted ? epp_status_create(EPP_CANCELLED, "interrupted") : NULL;
}

/* ---- marks ---- */

static epp_status *add_mark(struct sql_marks *marks, int64_t start_ns, int64_t number)
{
	if (!array_reserve(&marks->marks, &marks->room, marks->count + 1, sizeof *marks->marks))
		return epp_status_no_memory();
	marks->marks[marks->count++] = (struct sql_mark){ start_ns, number };
	return NULL;
}

/* Makes the marks.  A mark is at the first of the events with the same start, so that a scan from the mark includes all
 * of them. */
static epp_status *mark_all(struct epp_sql *sql, epp_timeline *timeline)
{
	struct sql_marks *marks = &sql->marks;
	int64_t number = 0, last_ns = INT64_MIN, marked = 0;
	const epp_event *event;

	for (; epp_timeline_next(timeline, &event); number++) {
		if (number % LOOK_EVENTS == 0)
			EPP_TRY(check_interrupt(sql));
		if (number >= marked && event->start_ns > last_ns) {
			EPP_TRY(add_mark(marks, event->start_ns, number));
			marked = number + MARK_EVENTS;
		}
		last_ns = event->start_ns;
	}
	return epp_timeline_status(timeline);
}

static epp_status *make_marks(struct epp_sql *sql)
{
	epp_timeline *timeline;

	if (sql->marks.complete)
		return NULL;
	sql->marks.count = 0;
	EPP_TRY(timeline_create_with(sql->trace->reader, NULL, &(struct inherited){ 0 }, &timeline));
	epp_status *status = mark_all(sql, timeline);
	epp_timeline_destroy(timeline);
	sql->marks.complete = !status;
	return status;
}

/* Returns the last mark that is neither after the start `start_ns` nor after the event `number`; NULL: there is
 * none. */
static const struct sql_mark *mark_before(const struct sql_marks *marks, int64_t start_ns, int64_t number)
{
	size_t low = 0, high = marks->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (marks->marks[middle].start_ns <= start_ns && marks->marks[middle].number <= number)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &marks->marks[low - 1] : NULL;
}

/* ---- scans ---- */

/* Starts the scan at a time.  Events that began earlier and only overlap the range are skipped. */
static epp_status *start_at(struct epp_sql *sql, struct sql_scan *scan, int64_t from_ns, int64_t to_ns, int64_t before)
{
	const epp_timeline_options range = { .struct_size = sizeof range, .from_ns = from_ns, .to_ns = to_ns };
	const epp_timeline_options *window = sql->run.options ? sql->run.options->timeline : NULL;

	epp_timeline_options own;

	EPP_TRY(options_take(&own, sizeof own, window ? window : &range, "timeline options"));
	own.struct_size = sizeof own;
	own.requests = 1;
	if (!sql->inherited_known)
		EPP_TRY(inherited_init(&sql->inherited, sql->trace->reader, &own));
	sql->inherited_known = true;
	EPP_TRY(timeline_create_with(sql->trace->reader, &own, &sql->inherited, &scan->timeline));
	sql->run.filtered = 0;
	scan->sql = sql;
	scan->next = sql->scans;
	sql->scans = scan;
	do {
		scan->number = 0;
		EPP_TRY(sql_scan_next(scan));
	} while (scan->event && scan->event->start_ns < from_ns);
	scan->number = before + 1;
	return NULL;
}

epp_status *sql_scan_start(struct epp_sql *sql, struct sql_scan *scan, int64_t from_ns, int64_t to_ns, bool numbers)
{
	const struct sql_mark *mark = NULL;
	int64_t begin_ns = from_ns, before = from_ns == INT64_MIN ? 0 : -1;

	sql_scan_end(scan);
	if (from_ns >= to_ns)
		return NULL;
	if (numbers && before < 0) {
		EPP_TRY(make_marks(sql));
		mark = mark_before(&sql->marks, from_ns, INT64_MAX);
		begin_ns = mark ? mark->start_ns : INT64_MIN;
		before = mark ? mark->number : 0;
	}
	EPP_TRY(start_at(sql, scan, begin_ns, to_ns, before));
	while (scan->event && scan->event->start_ns < from_ns)
		EPP_TRY(sql_scan_next(scan));
	return NULL;
}

epp_status *sql_scan_seek(struct epp_sql *sql, struct sql_scan *scan, int64_t number)
{
	sql_scan_end(scan);
	if (number < 1)
		return NULL;
	EPP_TRY(make_marks(sql));
	const struct sql_mark *mark = mark_before(&sql->marks, INT64_MAX, number - 1);
	if (!mark)
		return NULL;
	EPP_TRY(start_at(sql, scan, mark->start_ns, INT64_MAX, mark->number));
	while (scan->event && scan->number < number)
		EPP_TRY(sql_scan_next(scan));
	return NULL;
}

static epp_status *check_filter(struct epp_sql *sql, const epp_event *event, bool *passes)
{
	epp_event copy = *event;

	*passes = true;
	if (sql->filter)
		EPP_TRY(filter_judge(sql->filter, &copy, passes));
	sql->run.filtered += !*passes;
	return NULL;
}

epp_status *sql_scan_next(struct sql_scan *scan)
{
	bool passes = false;

	if (scan->number > 0)
		scan->number++;
	while (!passes && epp_timeline_next(scan->timeline, &scan->event)) {
		if (epp_timeline_get_counts(scan->timeline)->events % LOOK_EVENTS == 0)
			EPP_TRY(check_interrupt(scan->sql));
		EPP_TRY(check_filter(scan->sql, scan->event, &passes));
	}
	if (passes)
		return NULL;
	epp_status *status = epp_timeline_status(scan->timeline);
	sql_scan_end(scan);
	return status;
}

void sql_scan_end(struct sql_scan *scan)
{
	scan->event = NULL;
	if (!scan->timeline)
		return;
	for (struct sql_scan **at = &scan->sql->scans; *at; at = &(*at)->next) {
		if (*at == scan) {
			*at = scan->next;
			break;
		}
	}
	epp_timeline_destroy(scan->timeline);
	scan->timeline = NULL;
}

struct sql_scan *sql_scan_on(struct epp_sql *sql, int64_t number)
{
	struct sql_scan *scan = sql->scans;

	while (scan && !(scan->number == number && scan->event))
		scan = scan->next;
	return scan;
}

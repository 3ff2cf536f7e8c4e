/* The cursor of the event tables.  On its first query a cursor reads the timeline.  If a cursor is queried again, it is
 * the inner loop of a join, and reads from memory.  The cursors of a subquery, of which SQLite opens a new one for each
 * row, read from memory, too, when there were many queries.  If a query is for the number of an event that is another
 * cursor's current event, this event is used. */
#include <stdlib.h>

#include "base/status.h"
#include "sql/sql_events.h"
#include "timeline/events/work_kind.h"

/* If a statement makes more queries than this, it probably repeats a subquery, and all events are loaded into memory.
 * The limit is lower for queries of an id or a parent, because each would read the whole timeline for a few rows. */
#define QUERIES_MAX 16u
#define QUERIES_OF_ID_MAX 2u

enum source { FROM_NOTHING, FROM_SCAN, FROM_MEMORY, FROM_ANOTHER };

struct cursor {
	sqlite3_vtab_cursor base;
	unsigned queries_count; /* number of queries of this cursor in this statement */
	enum source source;
	int comparisons;
	/* bounds and values of the constraints; from `track` on they are only valid if their bit in `comparisons` is
	 * set */
	int64_t from_ns, to_ns, track, name, id, parent, number;
	struct sql_scan scan;
	size_t index;           /* index of the event in memory */
	int64_t flow;           /* number of arrows that were returned so far */
	const epp_event *event; /* the current row: the scan's event, or a copy */
	epp_event copy;
	int64_t row; /* number of the row; 0: unknown */
	bool ended;
};

static struct epp_sql *sql_of(const struct cursor *cursor)
{
	return ((struct sql_vtab *)cursor->base.pVtab)->sql;
}

static const struct sql_table_view *table_view_of(const struct cursor *cursor)
{
	return ((struct sql_vtab *)cursor->base.pVtab)->view;
}

int sql_cursor_open(sqlite3_vtab *table, sqlite3_vtab_cursor **base)
{
	struct cursor *cursor = calloc(1, sizeof *cursor);

	(void)table;
	if (!cursor)
		return SQLITE_NOMEM;
	*base = &cursor->base;
	return SQLITE_OK;
}

int sql_cursor_close(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;

	sql_scan_end(&cursor->scan);
	free(cursor);
	return SQLITE_OK;
}

/* Narrows the range of starts by a comparison.  A value that gives no bound does not change the range. */
static void narrow(struct cursor *cursor, int comparison, sqlite3_value *value)
{
	int64_t bound;

	if (!sql_bound(value, &bound)) {
		cursor->comparisons &= ~comparison;
		return;
	}
	switch (comparison) {
	case SQL_AT_START:
	case SQL_FROM_START:
	case SQL_BEHIND_START:
		cursor->from_ns = bound > cursor->from_ns ? bound : cursor->from_ns;
		if (comparison != SQL_AT_START)
			break;
		/* fallthrough */
	case SQL_UP_TO_START:
	case SQL_BEFORE_START:
		bound = bound < INT64_MAX ? bound + 1 : INT64_MAX;
		cursor->to_ns = bound < cursor->to_ns ? bound : cursor->to_ns;
		break;
	case SQL_OF_TRACK:
		cursor->track = bound;
		break;
	case SQL_OF_NAME:
		cursor->name = bound;
		break;
	case SQL_OF_ID:
		cursor->id = bound;
		break;
	case SQL_OF_PARENT:
		cursor->parent = bound;
		break;
	default:
		cursor->number = bound;
		break;
	}
}

static bool matches(const struct cursor *cursor, const epp_event *event)
{
	if (cursor->comparisons & SQL_OF_TRACK && event->track->track != cursor->track)
		return false;
	if (cursor->comparisons & SQL_OF_NAME && event->name_number != cursor->name)
		return false;
	if (cursor->comparisons & SQL_OF_ID && (int64_t)event->id != cursor->id)
		return false;
	if (cursor->comparisons & SQL_OF_PARENT && (!event->parent || (int64_t)event->parent != cursor->parent))
		return false;
	return !table_view_of(cursor)->flows || event->kind == EPP_EVENT_FLOW ||
	       (event->track->kind == EPP_TRACK_DEVICE && event->parent);
}

/* Moves the scan to the first matching event, from the current one on. */
static epp_status *find_match_on_scan(struct cursor *cursor)
{
	while (cursor->scan.event && !matches(cursor, cursor->scan.event))
		EPP_TRY(sql_scan_next(&cursor->scan));
	cursor->ended = !cursor->scan.event;
	if (cursor->ended)
		return NULL;
	cursor->event = cursor->scan.event;
	cursor->row = cursor->scan.number;
	return NULL;
}

static size_t next_in_memory(const struct cursor *cursor)
{
	const struct sql_memory *memory = &sql_of(cursor)->memory;

	return cursor->comparisons & SQL_OF_ID       ? sql_memory_next_of_id(memory, cursor->index)
	       : cursor->comparisons & SQL_OF_PARENT ? sql_memory_next_of_parent(memory, cursor->index)
	                                             : cursor->index + 1;
}

static void find_match_in_memory(struct cursor *cursor)
{
	const struct sql_memory *memory = &sql_of(cursor)->memory;

	for (; cursor->index < memory->count; cursor->index = next_in_memory(cursor)) {
		if (memory->events[cursor->index].start_ns >= cursor->to_ns)
			break;
		sql_memory_event(sql_of(cursor), cursor->index, &cursor->copy);
		cursor->event = &cursor->copy;
		cursor->row = (int64_t)cursor->index + 1;
		if (matches(cursor, cursor->event))
			return;
	}
	cursor->ended = true;
}

static void begin_in_memory(struct cursor *cursor)
{
	const struct sql_memory *memory = &sql_of(cursor)->memory;

	cursor->source = FROM_MEMORY;
	if (cursor->comparisons & SQL_OF_ID)
		cursor->index = sql_memory_of_id(memory, (uint64_t)cursor->id);
	else if (cursor->comparisons & SQL_OF_PARENT)
		cursor->index = sql_memory_of_parent(memory, (uint64_t)cursor->parent);
	else if (cursor->comparisons & SQL_OF_NUMBER)
		cursor->index = cursor->number > 0 ? (size_t)cursor->number - 1 : SIZE_MAX;
	else
		cursor->index = sql_memory_from(memory, cursor->from_ns);
	find_match_in_memory(cursor);
	if (cursor->comparisons & SQL_OF_NUMBER)
		cursor->source = FROM_NOTHING; /* the column `number` is unique: no further event matches */
}

static epp_status *begin_by_number(struct cursor *cursor)
{
	const struct sql_scan *other = sql_scan_on(sql_of(cursor), cursor->number);

	cursor->source = FROM_ANOTHER;
	if (other) {
		cursor->copy = *other->event;
		cursor->event = &cursor->copy;
		cursor->row = other->number;
		cursor->ended = !matches(cursor, cursor->event);
		return NULL;
	}
	EPP_TRY(sql_scan_seek(sql_of(cursor), &cursor->scan, cursor->number));
	cursor->ended = !cursor->scan.event || !matches(cursor, cursor->scan.event);
	if (!cursor->ended)
		cursor->event = cursor->scan.event;
	cursor->row = cursor->number;
	return NULL;
}

static epp_status *begin(struct cursor *cursor)
{
	bool by_number = cursor->comparisons & SQL_OF_NUMBER;
	unsigned queries_max = cursor->comparisons & (SQL_OF_ID | SQL_OF_PARENT) ? QUERIES_OF_ID_MAX : QUERIES_MAX;

	sql_scan_end(&cursor->scan);
	if (by_number && sql_scan_on(sql_of(cursor), cursor->number))
		return begin_by_number(cursor);
	if (cursor->queries_count++ || ++sql_of(cursor)->queries > queries_max || sql_of(cursor)->memory.complete) {
		EPP_TRY(sql_memory_fill(sql_of(cursor)));
		begin_in_memory(cursor);
		return NULL;
	}
	if (by_number)
		return begin_by_number(cursor);
	cursor->source = FROM_SCAN;
	EPP_TRY(sql_scan_start(sql_of(cursor), &cursor->scan, cursor->from_ns, cursor->to_ns,
	                       cursor->comparisons & SQL_WITH_NUMBERS));
	return find_match_on_scan(cursor);
}

int sql_cursor_filter(sqlite3_vtab_cursor *base, int comparisons, const char *text, int count, sqlite3_value **values)
{
	struct cursor *cursor = (struct cursor *)base;

	(void)text, (void)count;
	cursor->comparisons = comparisons;
	cursor->from_ns = INT64_MIN;
	cursor->to_ns = INT64_MAX;
	cursor->ended = false;
	cursor->flow = 1;
	for (int bit = 0; bit < SQL_COMPARISONS_COUNT; bit++) {
		if (!(comparisons & 1 << bit))
			continue;
		/* A comparison with null matches no row. */
		cursor->ended = cursor->ended || sqlite3_value_type(*values) == SQLITE_NULL;
		narrow(cursor, 1 << bit, *values++);
	}
	if (cursor->ended)
		return SQLITE_OK;
	return sql_fail(sql_of(cursor), begin(cursor));
}

int sql_cursor_next(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;
	epp_status *status = NULL;

	cursor->flow++;
	if (cursor->source == FROM_SCAN) {
		status = sql_scan_next(&cursor->scan);
		if (!status)
			status = find_match_on_scan(cursor);
	} else if (cursor->source == FROM_MEMORY) {
		cursor->index = next_in_memory(cursor);
		find_match_in_memory(cursor);
	} else {
		cursor->ended = true;
	}
	return sql_fail(sql_of(cursor), status);
}

int sql_cursor_ended(sqlite3_vtab_cursor *base)
{
	return ((struct cursor *)base)->ended;
}

static bool is_op_name(const epp_trace_arg *arg)
{
	return arg->type == EPP_ARG_TEXT && strcmp(arg->key, "op_name") == 0;
}

/* Returns the event with its args, which belong to *timeline, or are an array if it is NULL. */
static epp_status *take_args(const struct cursor *cursor, epp_event *event, const epp_timeline **timeline)
{
	struct epp_sql *sql = sql_of(cursor);
	size_t count;

	*event = *cursor->event;
	*timeline = cursor->source == FROM_SCAN ? cursor->scan.timeline : NULL;
	if (*timeline)
		return NULL;
	EPP_TRY(sql_stored_args_fill(sql));
	event->args = sql_stored_args_of(&sql->args, cursor->row, &count);
	event->args_count = (uint8_t)count;
	return NULL;
}

/* Sets the operator type of a model's node as the result. */
static void result_op_type(sqlite3_context *context, const epp_timeline *timeline, const epp_event *event)
{
	epp_trace_arg arg;

	for (size_t position = 0; work_next_arg(timeline, event, &position, &arg);) {
		if (!is_op_name(&arg))
			continue;
		sql_result_copy(context, arg.value.text, arg.text_bytes);
		break;
	}
}

/* Sets a field that comes from the args as the result; null for events that cannot have it. */
static epp_status *result_of_args(const struct cursor *cursor, sqlite3_context *context, enum sql_field field)
{
	bool is_node = cursor->event->category == EPP_NODE;
	const epp_timeline *timeline;
	uint64_t correlation;
	epp_event event;

	if (field == SQL_OP_TYPE ? !is_node : !work_is_classified(cursor->event))
		return NULL;
	EPP_TRY(take_args(cursor, &event, &timeline));
	if (field == SQL_OP_TYPE)
		result_op_type(context, timeline, &event);
	else if (field == SQL_WORK)
		sqlite3_result_int64(context, work_of(timeline, &event));
	else if (field == SQL_WORK_TEXT)
		sqlite3_result_text(context, work_names[work_of(timeline, &event)], -1, SQLITE_STATIC);
	else if (work_correlation(timeline, &event, &correlation))
		sqlite3_result_int64(context, (int64_t)correlation);
	return NULL;
}

static int by_text(const void *a, const void *b)
{
	return memcmp(a, b, sizeof((epp_request){ 0 }.trace_id));
}

/* Makes the text for the trace ids of an event's requests: each id once, with blanks between them. */
static epp_status *make_trace_ids(struct epp_sql *sql, const epp_event *event)
{
	epp_request request = { .struct_size = sizeof request };
	size_t count, bytes = 0;
	const uint32_t *numbers = requests_numbers(sql->inherited.requests, event, &count);
	const size_t id_bytes = sizeof request.trace_id;
	char *text = realloc(sql->trace_ids, count * id_bytes);

	sql->trace_ids_of = 0;
	if (!text)
		return epp_status_no_memory();
	sql->trace_ids = text;
	for (size_t i = 0; i < count; i++) {
		requests_fill(sql->inherited.requests, numbers[i], &request);
		memcpy(text + i * id_bytes, request.trace_id, id_bytes);
	}
	qsort(text, count, id_bytes, by_text);
	for (size_t i = 0; i < count; i++) {
		if (bytes && memcmp(text + bytes - id_bytes, text + i * id_bytes, id_bytes - 1) == 0)
			continue;
		memmove(text + bytes, text + i * id_bytes, id_bytes);
		bytes += id_bytes;
		text[bytes - 1] = ' ';
	}
	sql->trace_ids_bytes = bytes - 1;
	sql->trace_ids_of = event->requests;
	return NULL;
}

/* Sets the trace ids as the result; null if the event has no requests. */
static epp_status *result_trace_id(sqlite3_context *context, struct epp_sql *sql, const epp_event *event)
{
	size_t count;

	requests_numbers(sql->inherited.requests, event, &count);
	if (!count)
		return NULL;
	if (sql->trace_ids_of != event->requests)
		EPP_TRY(make_trace_ids(sql, event));
	sqlite3_result_text64(context, sql->trace_ids, sql->trace_ids_bytes, SQLITE_TRANSIENT, SQLITE_UTF8);
	return NULL;
}

int sql_cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	const struct cursor *cursor = (struct cursor *)base;
	enum sql_field field = (enum sql_field)table_view_of(cursor)->fields[column];

	if (field == SQL_NUMBER)
		sqlite3_result_int64(context, table_view_of(cursor)->flows ? cursor->flow : cursor->row);
	else if (field == SQL_TRACE_ID)
		return sql_fail(sql_of(cursor), result_trace_id(context, sql_of(cursor), cursor->event));
	else if (field >= SQL_OP_TYPE)
		return sql_fail(sql_of(cursor), result_of_args(cursor, context, field));
	else
		sql_result_field(context, cursor->event, field);
	return SQLITE_OK;
}

/* Collects the columns of events.  The values are small numbers, such as time differences and numbers of texts, because
 * these compress well.  Ids of events are not stored; references use the number of an event, its position in the
 * page. */
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "containers/array.h"
#include "encoding/protobuf.h"
#include "export/report/html.h"
#include "timeline/events/readable_name.h"

#define NAME_BYTES_MAX 4096u
#define VARINT_BYTES 10u

static char *room_for(struct html_bytes *bytes, size_t count)
{
	return array_reserve(&bytes->bytes, &bytes->room, bytes->count + count, 1) ? bytes->bytes + bytes->count : NULL;
}

static bool put(struct html_bytes *column, uint64_t value)
{
	char *at = room_for(column, VARINT_BYTES);

	if (at)
		column->count = (size_t)(protobuf_varint(at, value) - column->bytes);
	return at != NULL;
}

/* ---- texts ---- */

/* Gets the number of a text, and adds the text if it is new.  *number is UINT32_MAX if a new text would exceed the
 * limit.  Returns false if there is no memory. */
static bool put_text(struct html_texts *texts, const char *bytes, size_t count, uint32_t *number)
{
	if (texts->table.bytes_count + count <= HTML_TEXTS_BYTES_MAX)
		return string_table_add(&texts->table, bytes, count, number);
	*number = string_table_find(&texts->table, bytes, count);
	texts->left_out += *number == UINT32_MAX;
	return true;
}

static epp_status *add_name(struct html_columns *columns, struct args_text *text, const epp_event *event)
{
	static const char others[] = "\"(other names)\"\n";
	size_t name_bytes = readable_name_bytes(event->name, event->name_bytes, event->category);
	size_t bytes = name_bytes < NAME_BYTES_MAX ? name_bytes : NAME_BYTES_MAX;
	uint32_t number = 0;

	/* The text "(other names)", which replaces names beyond the limit, is added first, so that there is room for
	 * it. */
	if (!columns->names.table.count && !put_text(&columns->names, others, sizeof others - 1, &number))
		return epp_status_no_memory();
	sink_bytes(&text->sink, "\"", 1);
	sink_json_text(&text->sink, event->name, bytes);
	sink_text(&text->sink, bytes < name_bytes ? "...\"\n" : "\"\n");
	EPP_TRY(args_text_take(text));
	if (!put_text(&columns->names, text->memory.bytes, text->memory.count, &number) ||
	    !put(&columns->columns[HTML_NAME], number == UINT32_MAX ? 0 : number))
		return epp_status_no_memory();
	return NULL;
}

static double value_of(const epp_event *event)
{
	const epp_trace_arg *arg = event->args_count ? export_args(event) : NULL;

	if (!arg || arg->type == EPP_ARG_TEXT)
		return 0;
	if (arg->type == EPP_ARG_F64)
		return arg->value.f64;
	return arg->type == EPP_ARG_U64 ? (double)arg->value.u64 : (double)arg->value.i64;
}

static epp_status *add_value(struct html_columns *columns, const epp_event *event)
{
	double value = value_of(event);
	uint64_t bits;
	char *at = room_for(&columns->columns[HTML_VALUE], sizeof bits);

	if (!at || !put(&columns->columns[HTML_ARGS], 0))
		return epp_status_no_memory();
	memcpy(&bits, &value, sizeof bits);
	for (unsigned i = 0; i < sizeof bits; i++)
		at[i] = (char)(bits >> (8 * i));
	columns->columns[HTML_VALUE].count += sizeof bits;
	return NULL;
}

static epp_status *add_args(struct html_columns *columns, struct args_text *text, const epp_event *event)
{
	uint32_t number = UINT32_MAX;

	if (event->args_count) {
		args_text_put(text, event);
		sink_text(&text->sink, "\n");
		EPP_TRY(args_text_take(text));
		if (!put_text(&columns->args, text->memory.bytes, text->memory.count, &number))
			return epp_status_no_memory();
	}
	return put(&columns->columns[HTML_ARGS], number == UINT32_MAX ? 0 : number + 1) ? NULL : epp_status_no_memory();
}

/* ---- references between events ---- */

static bool add_link(struct html_columns *columns, struct html_link link)
{
	if (!array_reserve(&columns->links, &columns->links_room, columns->links_count + 1, sizeof *columns->links))
		return false;
	columns->links[columns->links_count++] = link;
	return true;
}

static struct html_end *find_end(const struct html_columns *columns, uint32_t source, uint64_t id)
{
	struct hash_probe probe = hash_index_probe(&columns->ends_index, hash_pair(id, source));
	uint32_t number;

	while (hash_index_next(&columns->ends_index, &probe, &number)) {
		if (columns->ends[number].id == id && columns->ends[number].source == source)
			return &columns->ends[number];
	}
	return NULL;
}

static bool add_end(struct html_columns *columns, const epp_event *event)
{
	uint32_t source = event->track->source, number = (uint32_t)columns->events_count;
	struct html_end *known = find_end(columns, source, event->id);

	if (known) {
		known->event = number;
		return true;
	}
	if (!array_reserve(&columns->ends, &columns->ends_room, columns->ends_count + 1, sizeof *columns->ends) ||
	    !hash_index_add(&columns->ends_index, hash_pair(event->id, source), (uint32_t)columns->ends_count))
		return false;
	columns->ends[columns->ends_count++] = (struct html_end){ .id = event->id, .source = source, .event = number };
	return true;
}

/* Returns the number of an event + 1; 0: the page does not show the event. */
static uint32_t event_of(const struct html_columns *columns, uint32_t source, uint64_t id)
{
	const struct html_end *end = find_end(columns, source, id);

	return end ? end->event + 1 : 0;
}

epp_status *html_columns_link(struct html_columns *columns)
{
	uint32_t last = 0;
	bool ok = true;

	for (size_t i = 0; ok && i < columns->links_count; i++) {
		const struct html_link *link = &columns->links[i];
		uint32_t from = event_of(columns, link->source, link->from);
		uint32_t to = link->to ? event_of(columns, link->source, link->to) : link->event + 1;
		if (!from || !to)
			continue;
		if (link->to) {
			ok = put(&columns->columns[HTML_ARROW_FROM], from - 1) &&
			     put(&columns->columns[HTML_ARROW_TO], to - 1);
			continue;
		}
		ok = put(&columns->columns[HTML_CAUSED], link->event - last) &&
		     put(&columns->columns[HTML_CAUSE], protobuf_zigzag((int64_t)to - from));
		last = link->event;
	}
	return ok ? NULL : epp_status_no_memory();
}

/* ---- events ---- */

static bool has_cause(const epp_event *event)
{
	return event->track->kind == EPP_TRACK_DEVICE && event->parent;
}

/* Returns the value of HTML_LAUNCH.  A start before the launch, which the error of the clocks can cause, counts as a
 * time of 0. */
static uint64_t launch_of(const epp_event *event)
{
	if (event->track->kind != EPP_TRACK_DEVICE || event->launch_ns == INT64_MIN)
		return 0;
	return event->launch_ns < event->start_ns ? (uint64_t)(event->start_ns - event->launch_ns) + 1 : 1;
}

static bool add_numbers(struct html_columns *columns, const epp_event *event, uint32_t row)
{
	struct html_bytes *column = columns->columns;
	unsigned what = (event->kind & 7u) | (event->category & 3u) << 3 | (event->placement & 7u) << 5 |
	                (event->flags & 127u) << 8 | (unsigned)has_cause(event) << 15;

	if (!columns->events_count)
		columns->base_ns = columns->last_start_ns = event->start_ns;
	uint64_t since = (uint64_t)(event->start_ns - columns->last_start_ns);
	columns->last_start_ns = event->start_ns;
	return put(&column[HTML_START], since) &&
	       put(&column[HTML_DURATION], event->duration_ns > 0 ? (uint64_t)event->duration_ns : 0) &&
	       put(&column[HTML_ROW], row) && put(&column[HTML_DEPTH], event->depth) && put(&column[HTML_WHAT], what) &&
	       put(&column[HTML_START_ERROR], (uint64_t)event->start_error_ns) &&
	       put(&column[HTML_END_ERROR], (uint64_t)event->end_error_ns) && put(&column[HTML_LAUNCH], launch_of(event));
}

epp_status *html_columns_add(struct html_columns *columns, struct args_text *text, const epp_event *event, uint32_t row)
{
	if (event->kind == EPP_EVENT_FLOW)
		return add_link(columns,
		                (struct html_link){ .from = event->parent, .to = event->id, .source = event->track->source })
		           ? NULL
		           : epp_status_no_memory();
	if (!add_numbers(columns, event, row))
		return epp_status_no_memory();
	EPP_TRY(add_name(columns, text, event));
	EPP_TRY(event->kind == EPP_EVENT_COUNTER ? add_value(columns, event) : add_args(columns, text, event));
	if (event->flags & EXPORT_FLAGS_NAMED && !add_end(columns, event))
		return epp_status_no_memory();
	if (has_cause(event) && !add_link(columns, (struct html_link){ .from = event->parent,
	                                                               .source = event->track->source,
	                                                               .event = (uint32_t)columns->events_count }))
		return epp_status_no_memory();
	columns->events_count++;
	return NULL;
}

void html_columns_deinit(struct html_columns *columns)
{
	for (unsigned i = 0; i < HTML_COLUMNS_COUNT; i++)
		free(columns->columns[i].bytes);
	string_table_deinit(&columns->names.table);
	string_table_deinit(&columns->args.table);
	free(columns->links);
	free(columns->ends);
	hash_index_deinit(&columns->ends_index);
	memset(columns, 0, sizeof *columns);
}

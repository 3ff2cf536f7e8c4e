/* Columns of numbers that are small where neighbours are alike, so that deflate makes little of them: times since the event
 * before, numbers of texts instead of texts.  Ids are not kept: what refers to another event refers to its number. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/status.h"
#include "export/html.h"
#include "timeline/readable_name.h"
#include "wire/protobuf.h"

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

static uint64_t hash_of(const char *bytes, size_t count)
{
	uint64_t hash = count;

	for (; count >= 8; bytes += 8, count -= 8) {
		uint64_t word;
		memcpy(&word, bytes, 8);
		hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
		hash ^= hash >> 29;
	}
	for (; count; bytes++, count--)
		hash = (hash ^ (unsigned char)*bytes) * UINT64_C(0xC2B2AE3D27D4EB4F);
	return hash ^ hash >> 32;
}

static bool is_text(const struct html_texts *texts, uint32_t number, const char *bytes, size_t count)
{
	uint64_t from = number ? texts->ends[number - 1] : 0;

	return texts->ends[number] - from == count + 1 && memcmp(texts->bytes.bytes + from, bytes, count) == 0;
}

static size_t bucket_of(const struct html_texts *texts, const char *bytes, size_t count)
{
	size_t at = hash_of(bytes, count) & (texts->buckets_count - 1);

	while (texts->buckets[at] && !is_text(texts, texts->buckets[at] - 1, bytes, count))
		at = (at + 1) & (texts->buckets_count - 1);
	return at;
}

static bool grow_texts(struct html_texts *texts)
{
	size_t room = texts->room ? texts->room * 2 : 256;
	uint64_t *ends = reallocarray(texts->ends, room, sizeof *ends);
	uint32_t *buckets = calloc(room * 2, sizeof *buckets);

	if (ends)
		texts->ends = ends;
	if (!ends || !buckets) {
		free(buckets);
		return false;
	}
	free(texts->buckets);
	texts->buckets = buckets;
	texts->buckets_count = room * 2;
	texts->room = room;
	for (size_t i = 0; i < texts->count; i++) {
		uint64_t from = i ? ends[i - 1] : 0;
		size_t count = (size_t)(ends[i] - from) - 1;
		buckets[bucket_of(texts, texts->bytes.bytes + from, count)] = (uint32_t)i + 1;
	}
	return true;
}

/* Sets *number; the limit leaves out what is not there yet. */
static bool put_text(struct html_texts *texts, const char *bytes, size_t count, uint32_t *number)
{
	if (texts->count == texts->room && !grow_texts(texts))
		return false;
	size_t bucket = bucket_of(texts, bytes, count);
	if (!texts->buckets[bucket]) {
		if (texts->bytes.count + count >= HTML_TEXTS_BYTES_MAX) {
			texts->left_out++;
			*number = UINT32_MAX;
			return true;
		}
		char *at = room_for(&texts->bytes, count + 1);
		if (!at)
			return false;
		memcpy(at, bytes, count);
		at[count] = '\n';
		texts->bytes.count += count + 1;
		texts->ends[texts->count] = texts->bytes.count;
		texts->buckets[bucket] = (uint32_t)++texts->count;
	}
	*number = texts->buckets[bucket] - 1;
	return true;
}

static void texts_deinit(struct html_texts *texts)
{
	free(texts->bytes.bytes);
	free(texts->ends);
	free(texts->buckets);
}

static epp_status *add_name(struct html_columns *columns, struct args_text *text, const epp_event *event)
{
	static const char others[] = "\"(other names)\"";
	size_t name_bytes = readable_name_bytes(event->name, event->name_bytes, event->category);
	size_t bytes = name_bytes < NAME_BYTES_MAX ? name_bytes : NAME_BYTES_MAX;
	uint32_t number = 0;

	/* It has a number before the limit is reached. */
	if (!columns->names.count && !put_text(&columns->names, others, sizeof others - 1, &number))
		return epp_status_no_memory();
	sink_bytes(&text->sink, "\"", 1);
	sink_json_text(&text->sink, event->name, bytes);
	sink_text(&text->sink, bytes < name_bytes ? "...\"" : "\"");
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
		EPP_TRY(args_text_take(text));
		if (!put_text(&columns->args, text->memory.bytes, text->memory.count, &number))
			return epp_status_no_memory();
	}
	return put(&columns->columns[HTML_ARGS], number == UINT32_MAX ? 0 : number + 1) ? NULL : epp_status_no_memory();
}

/* ---- what refers to what ---- */

static bool add_link(struct html_columns *columns, struct html_link link)
{
	if (!array_reserve(&columns->links, &columns->links_room, columns->links_count + 1, sizeof *columns->links))
		return false;
	columns->links[columns->links_count++] = link;
	return true;
}

static size_t end_of(const struct html_columns *columns, uint32_t source, uint64_t id)
{
	uint64_t hash = (id + source) * UINT64_C(0x9E3779B97F4A7C15);
	size_t at = (size_t)(hash ^ hash >> 32) & (columns->ends_room - 1);

	while (columns->ends[at].event && (columns->ends[at].id != id || columns->ends[at].source != source))
		at = (at + 1) & (columns->ends_room - 1);
	return at;
}

static bool add_end(struct html_columns *columns, const epp_event *event)
{
	if (columns->ends_count * 2 >= columns->ends_room) {
		struct html_columns larger = *columns;
		larger.ends_room = columns->ends_room ? columns->ends_room * 2 : 256;
		larger.ends = calloc(larger.ends_room, sizeof *larger.ends);
		if (!larger.ends)
			return false;
		for (size_t i = 0; i < columns->ends_room; i++) {
			if (columns->ends[i].event)
				larger.ends[end_of(&larger, columns->ends[i].source, columns->ends[i].id)] = columns->ends[i];
		}
		free(columns->ends);
		columns->ends = larger.ends;
		columns->ends_room = larger.ends_room;
	}
	size_t at = end_of(columns, event->track->source, event->id);
	columns->ends_count += columns->ends[at].event == 0;
	columns->ends[at].id = event->id;
	columns->ends[at].source = event->track->source;
	columns->ends[at].event = (uint32_t)columns->events_count + 1;
	return true;
}

/* The event's number + 1; 0: it is not shown. */
static uint32_t find_end(const struct html_columns *columns, uint32_t source, uint64_t id)
{
	return columns->ends_room ? columns->ends[end_of(columns, source, id)].event : 0;
}

epp_status *html_columns_link(struct html_columns *columns)
{
	uint32_t last = 0;
	bool ok = true;

	for (size_t i = 0; ok && i < columns->links_count; i++) {
		const struct html_link *link = &columns->links[i];
		uint32_t from = find_end(columns, link->source, link->from);
		uint32_t to = link->to ? find_end(columns, link->source, link->to) : link->event + 1;
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
	       put(&column[HTML_END_ERROR], (uint64_t)event->end_error_ns);
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
	texts_deinit(&columns->names);
	texts_deinit(&columns->args);
	free(columns->links);
	free(columns->ends);
	memset(columns, 0, sizeof *columns);
}

/* Reads an XSpace field by field: see xspace_text.h. */
#include "tests/support/xspace_text.h"

#include <stdlib.h>
#include <string.h>

#include "encoding/utf8.h"
#include "export/xspace/xplane.h"
#include "tests/support/check.h"

#define NUMBERS_MOST 8192

static char (*names)[64], (*stats)[128]; /* of the current plane */

#define EACH(reader, field) \
	for (struct protobuf_field field; protobuf_next(reader, &field) || (ck_assert(!(reader)->damaged), false);)

static void copy(char *to, size_t room, const struct protobuf_field *field)
{
	ck_assert_uint_eq(utf8_valid_bytes((const char *)field->bytes, field->count), field->count);
	snprintf(to, room, "%.*s", (int)field->count, (const char *)field->bytes);
}

/* Reads an entry of event_metadata or stat_metadata. */
static void read_entry(struct protobuf_reader entry, char *texts, size_t room)
{
	uint64_t key = 0;

	EACH(&entry, field)
	{
		if (field.number == ENTRY_KEY)
			key = field.value;
		if (field.number != ENTRY_VALUE)
			continue;
		struct protobuf_reader value = protobuf_reader_in(&field);
		ck_assert_uint_lt(key, NUMBERS_MOST);
		EACH(&value, part)
		{
			if (part.number == XMETADATA_ID)
				ck_assert_uint_eq(part.value, key);
			if (part.number == XMETADATA_NAME)
				copy(texts + key * room, room, &part);
		}
	}
}

static void read_stat(struct xspace_found *event, struct protobuf_reader stat)
{
	uint64_t key = 0;

	EACH(&stat, field)
	{
		if (field.number == XSTAT_METADATA_ID) {
			key = field.value;
			ck_assert_msg(key < NUMBERS_MOST && stats[key][0], "stat %zu is not explained", (size_t)key);
		}
		if (field.number == XSTAT_U64 && key == KNOWN_CORRELATION)
			event->correlation = field.value;
		if (key == KNOWN_KERNEL_DETAILS && (field.number == XSTAT_REF || field.number == XSTAT_TEXT))
			event->details_count++;
		if (field.number == XSTAT_REF && key == KNOWN_KERNEL_DETAILS)
			snprintf(event->details, sizeof event->details, "%s", stats[field.value]);
		if (field.number == XSTAT_TEXT && key == KNOWN_KERNEL_DETAILS)
			copy(event->details, sizeof event->details, &field);
	}
}

static void read_line(struct xspace_text *text, struct protobuf_reader line, const char *plane)
{
	char name[64] = "";
	int64_t unix_ns = -1;

	EACH(&line, field)
	{
		if (field.number == XLINE_TIMESTAMP_NS)
			unix_ns = (int64_t)field.value;
		if (field.number == XLINE_NAME)
			copy(name, sizeof name, &field);
		if (field.number != XLINE_EVENTS)
			continue;
		struct protobuf_reader inner = protobuf_reader_in(&field);
		if (!(text->count & (text->count - 1)))
			text->events = realloc(text->events, (text->count ? text->count * 2 : 1) * sizeof *text->events);
		struct xspace_found *event = &text->events[text->count++];
		*event = (struct xspace_found){ .line_unix_ns = unix_ns };
		snprintf(event->plane, sizeof event->plane, "%s", plane);
		snprintf(event->line, sizeof event->line, "%s", name);
		EACH(&inner, part)
		{
			if (part.number == XEVENT_METADATA_ID)
				snprintf(event->name, sizeof event->name, "%s", names[part.value]);
			if (part.number == XEVENT_OFFSET_PS)
				event->offset_ps = (int64_t)part.value;
			if (part.number == XEVENT_DURATION_PS)
				event->duration_ps = (int64_t)part.value;
			if (part.number == XEVENT_STATS)
				read_stat(event, protobuf_reader_in(&part));
		}
	}
}

void xspace_text_read(struct xspace_text *text, const char *bytes, size_t count)
{
	names = calloc(NUMBERS_MOST, sizeof *names);
	stats = calloc(NUMBERS_MOST, sizeof *stats);
	struct protobuf_reader space = protobuf_reader_of(bytes, count);
	EACH(&space, field)
	{
		char plane[64] = "";
		if (field.number != XSPACE_PLANES)
			continue;
		memset(names, 0, NUMBERS_MOST * sizeof *names);
		memset(stats, 0, NUMBERS_MOST * sizeof *stats);
		struct protobuf_reader inner = protobuf_reader_in(&field);
		EACH(&inner, part)
		{
			if (part.number == XPLANE_NAME)
				copy(plane, sizeof plane, &part);
			if (part.number == XPLANE_EVENT_METADATA)
				read_entry(protobuf_reader_in(&part), names[0], sizeof *names);
			if (part.number == XPLANE_STAT_METADATA)
				read_entry(protobuf_reader_in(&part), stats[0], sizeof *stats);
			if (part.number == XPLANE_LINES)
				read_line(text, protobuf_reader_in(&part), plane);
		}
	}
	free(names);
	free(stats);
}

const struct xspace_found *xspace_text_find(const struct xspace_text *text, const char *name)
{
	for (size_t i = 0; i < text->count; i++) {
		if (strcmp(text->events[i].name, name) == 0)
			return &text->events[i];
	}
	ck_abort_msg("no event '%s'", name);
	return NULL;
}

void xspace_text_free(struct xspace_text *text)
{
	free(text->events);
	*text = (struct xspace_text){ 0 };
}

/* Builds an XSpace for tests of its importer, piece by piece; field numbers are those of xplane.proto.
 *
 *   struct xbytes space = { 0 }, plane = { 0 }, line = { 0 }, event = { 0 };
 *   xevent(&event, 1, 2000, 500); xstat_u64(&event, 4, 7, 42); xput(&line, 4, &event);
 *   ...
 * Each xput adds a message as a field of another one and empties it. */
#ifndef EPPROF_TESTS_SUPPORT_XPLANE_BUILDER_H
#define EPPROF_TESTS_SUPPORT_XPLANE_BUILDER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct xbytes {
	char *bytes;
	size_t count, room;
};

static inline void xraw(struct xbytes *to, const void *bytes, size_t count)
{
	if (to->count + count >= to->room) {
		to->room = 2 * (to->count + count) + 64;
		to->bytes = realloc(to->bytes, to->room);
	}
	if (count)
		memcpy(to->bytes + to->count, bytes, count);
	to->count += count;
}

static inline void xvarint(struct xbytes *to, uint64_t value)
{
	do {
		uint8_t byte = (uint8_t)((value & 0x7F) | (value > 0x7F ? 0x80 : 0));
		xraw(to, &byte, 1);
		value >>= 7;
	} while (value);
}

static inline void xnumber(struct xbytes *to, unsigned field, uint64_t value)
{
	xvarint(to, field << 3);
	xvarint(to, value);
}

static inline void xtext(struct xbytes *to, unsigned field, const char *text)
{
	xvarint(to, field << 3 | 2);
	xvarint(to, strlen(text));
	xraw(to, text, strlen(text));
}

static inline void xput(struct xbytes *to, unsigned field, struct xbytes *message)
{
	xvarint(to, field << 3 | 2);
	xvarint(to, message->count);
	xraw(to, message->bytes, message->count);
	free(message->bytes);
	*message = (struct xbytes){ 0 };
}

/* Writes the fields of an XEvent. */
static inline void xevent(struct xbytes *event, int64_t metadata, int64_t offset_ps, int64_t duration_ps)
{
	xnumber(event, 1, (uint64_t)metadata);
	xnumber(event, 2, (uint64_t)offset_ps);
	if (duration_ps)
		xnumber(event, 3, (uint64_t)duration_ps);
}

/* Write a stat in field `field` of its owner: 4 of an event, 5 of an entry, 6 of a plane; `kind` is the field of the
 * value. */
static inline void xstat_number(struct xbytes *owner, unsigned field, int64_t metadata, unsigned kind, uint64_t value)
{
	struct xbytes stat = { 0 };

	xnumber(&stat, 1, (uint64_t)metadata);
	xnumber(&stat, kind, value);
	xput(owner, field, &stat);
}

static inline void xstat_text(struct xbytes *owner, unsigned field, int64_t metadata, unsigned kind, const char *text)
{
	struct xbytes stat = { 0 };

	xnumber(&stat, 1, (uint64_t)metadata);
	xtext(&stat, kind, text);
	xput(owner, field, &stat);
}

static inline void xstat_f64(struct xbytes *owner, unsigned field, int64_t metadata, double value)
{
	struct xbytes stat = { 0 };

	xnumber(&stat, 1, (uint64_t)metadata);
	xvarint(&stat, 2 << 3 | 1);
	xraw(&stat, &value, sizeof(value));
	xput(owner, field, &stat);
}

/* Writes an entry of a table: 4 of events, 5 of stats.  `more` are further fields of its value; NULL: none. */
static inline void xentry(struct xbytes *plane, unsigned field, int64_t id, const char *name, struct xbytes *more)
{
	struct xbytes value = { 0 }, entry = { 0 };

	xnumber(&value, 1, (uint64_t)id);
	xtext(&value, 2, name);
	if (more) {
		xraw(&value, more->bytes, more->count);
		free(more->bytes);
		*more = (struct xbytes){ 0 };
	}
	xnumber(&entry, 1, (uint64_t)id);
	xput(&entry, 2, &value);
	xput(plane, field, &entry);
}

/* Writes the first fields of an XLine; its events are field 4. */
static inline void xline(struct xbytes *line, int64_t id, const char *name, int64_t timestamp_ns)
{
	xnumber(line, 1, (uint64_t)id);
	xtext(line, 2, name);
	xnumber(line, 3, (uint64_t)timestamp_ns);
}

#endif

/* Caches pieces of text that are the same for many events, for example a name with its category, or a track. */
#ifndef EPPROF_RUNTIME_EXPORT_PIECES_H
#define EPPROF_RUNTIME_EXPORT_PIECES_H

#include "export/writer.h"

#define PIECES_COUNT 4096u

struct piece {
	uint64_t key; /* 0: the entry is free */
	uint8_t bytes;
	char text[119]; /* longer texts are not cached */
};

struct pieces {
	struct piece pieces[PIECES_COUNT];
};

typedef void (*pieces_fn)(struct sink *sink, const epp_event *event);

/* Calls `write` and stores the text that it wrote under `key`. */
void pieces_make(struct pieces *pieces, struct sink *sink, const epp_event *event, uint64_t key, pieces_fn write);

/* Returns the entry for a key.  Numbers of names and tracks are consecutive, so in a usual trace no two keys share an
 * entry. */
static inline struct piece *pieces_at(struct pieces *pieces, uint64_t key)
{
	return &pieces->pieces[((key >> 32) * 4 + (uint32_t)key) % PIECES_COUNT];
}

/* Writes a text that is the same for all events with this key.  `write` produces it if it is not cached.  A text with
 * key 0 is never cached. */
static inline void pieces_write(struct pieces *pieces, struct sink *sink, const epp_event *event, uint64_t key,
                                pieces_fn write)
{
	const struct piece *piece = pieces_at(pieces, key);

	if (piece->key != key || !key) {
		pieces_make(pieces, sink, event, key, write);
		return;
	}
	char *at = sink_reserve(sink, sizeof piece->text);
	memcpy(at, piece->text, sizeof piece->text);
	sink_commit(sink, at + piece->bytes);
}

/* Keys for text that depends on the event's name, kind and category, and for text that depends on its track and
 * lane. */
static inline uint64_t pieces_name_key(const epp_event *event)
{
	return event->name_number ? (uint64_t)event->name_number << 32 | event->kind << 8 | event->category : 0;
}

static inline uint64_t pieces_track_key(const epp_event *event)
{
	return (uint64_t)event->track->track << 32 | (event->lane + UINT64_C(1));
}

#endif

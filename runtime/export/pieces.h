/* Pieces of text that are the same for many events (a name with its category, a track), kept as they were written last. */
#ifndef EPPROF_RUNTIME_EXPORT_PIECES_H
#define EPPROF_RUNTIME_EXPORT_PIECES_H

#include "export/writer.h"

#define PIECES_COUNT 4096u

struct piece {
	uint64_t key; /* 0: free */
	uint8_t bytes;
	char text[119]; /* longer ones are written anew each time */
};

struct pieces {
	struct piece pieces[PIECES_COUNT];
};

typedef void (*pieces_fn)(struct sink *sink, const epp_event *event);

/* Calls `write` and keeps what it wrote under `key`. */
void pieces_make(struct pieces *pieces, struct sink *sink, const epp_event *event, uint64_t key, pieces_fn write);

/* Numbers of names and tracks are given one by one, so those of a usual trace have a place each. */
static inline struct piece *pieces_at(struct pieces *pieces, uint64_t key)
{
	return &pieces->pieces[((key >> 32) * 4 + (uint32_t)key) % PIECES_COUNT];
}

/* Writes what `write` writes for all events with this key; 0: it has none. */
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

/* Keys for what depends on the event's name, kind and category; on its track and lane. */
static inline uint64_t pieces_name_key(const epp_event *event)
{
	return event->name_number ? (uint64_t)event->name_number << 32 | event->kind << 8 | event->category : 0;
}

static inline uint64_t pieces_track_key(const epp_event *event)
{
	return (uint64_t)event->track->track << 32 | (event->lane + UINT64_C(1));
}

#endif

/* Caches texts that are the same for many events, for example a name with its category, or a track. */
#ifndef EPPROF_RUNTIME_EXPORT_TEXT_CACHE_H
#define EPPROF_RUNTIME_EXPORT_TEXT_CACHE_H

#include "export/writer.h"

#define TEXT_CACHE_ENTRIES 4096u

struct text_cache_entry {
	uint64_t key; /* 0: the entry is free */
	uint8_t bytes;
	char text[119]; /* longer texts are not cached */
};

struct text_cache {
	struct text_cache_entry entries[TEXT_CACHE_ENTRIES];
};

typedef void (*text_cache_fn)(struct sink *sink, const epp_event *event);

/* Calls `write` and stores the text that it wrote under `key`. */
void text_cache_fill(struct text_cache *cache, struct sink *sink, const epp_event *event, uint64_t key,
                     text_cache_fn write);

/* Returns the entry for a key.  Several keys may have the same entry; in a usual trace they do not, because numbers of
 * names and tracks are consecutive. */
static inline struct text_cache_entry *text_cache_entry_of(struct text_cache *cache, uint64_t key)
{
	return &cache->entries[((key >> 32) * 4 + (uint32_t)key) % TEXT_CACHE_ENTRIES];
}

/* Writes a text that is the same for all events with this key.  `write` produces it if it is not cached.  A text with
 * key 0 is never cached. */
static inline void text_cache_write(struct text_cache *cache, struct sink *sink, const epp_event *event, uint64_t key,
                                    text_cache_fn write)
{
	const struct text_cache_entry *entry = text_cache_entry_of(cache, key);

	if (entry->key != key || !key) {
		text_cache_fill(cache, sink, event, key, write);
		return;
	}
	char *at = sink_reserve(sink, sizeof entry->text);
	memcpy(at, entry->text, sizeof entry->text);
	sink_commit(sink, at + entry->bytes);
}

/* Return the key for a text that depends on the event's name, kind and category; and the key for one that depends on
 * its track and lane. */
static inline uint64_t text_cache_name_key(const epp_event *event)
{
	return event->name_number ? (uint64_t)event->name_number << 32 | event->kind << 8 | event->category : 0;
}

static inline uint64_t text_cache_track_key(const epp_event *event)
{
	return (uint64_t)event->track->track << 32 | (event->lane + UINT64_C(1));
}

#endif

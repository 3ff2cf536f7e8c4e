/* Implements text_cache.h: copies a written text from the sink's buffer into the cache.  If the sink's buffer was
 * flushed while the text was written, the text is too long for the cache. */
#include "export/text_cache.h"

void text_cache_fill(struct text_cache *cache, struct sink *sink, const epp_event *event, uint64_t key, text_cache_fn write)
{
	struct text_cache_entry *entry = text_cache_entry_of(cache, key);
	const char *from = sink_reserve(sink, SINK_RESERVE_MAX);
	uint64_t pushes = sink->pushes_count;

	write(sink, event);
	size_t bytes = (size_t)(sink->at - from);
	if (!key || pushes != sink->pushes_count || bytes > sizeof entry->text)
		return;
	memcpy(entry->text, from, bytes);
	entry->bytes = (uint8_t)bytes;
	entry->key = key;
}

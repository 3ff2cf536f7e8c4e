/* Buffers: the events that were emitted and not yet submitted.
 *
 * Each thread fills a chunk of its own.  A thread's first chunk is small, so that the chunks of thousands of mostly
 * idle threads stay within buffer_bytes.
 * An epprof host receives a full chunk at once, and the thread reuses the memory.  For ONNX Runtime, a full chunk is
 * kept until EndProfiling, and the thread takes another one.  The chunks of all threads together stay within
 * buffer_bytes.
 * The caller of a function holds the thread's `busy`. */
#ifndef EPPROF_EP_KIT_BUFFER_H
#define EPPROF_EP_KIT_BUFFER_H

#include <stdlib.h>
#include <string.h>

#include "kit.h"
#include "push.h"
#include "special.h"
#include "token_find.h"

#define KIT_PART_EVENTS 64u

static inline size_t kit_chunk_room(const struct kit_chunk *chunk)
{
	return chunk->bytes - sizeof(*chunk) - chunk->text_bytes - (size_t)chunk->events_count * sizeof(EpprofEvent);
}

static struct kit_chunk *kit_chunk_create(struct kit *kit, size_t bytes)
{
	if (bytes > UINT32_MAX || !kit_bytes_reserve(kit, bytes))
		return NULL;
	struct kit_chunk *chunk = (struct kit_chunk *)malloc(bytes);
	if (!chunk) {
		kit_bytes_release(kit, bytes);
		return NULL;
	}
	memset(chunk, 0, sizeof(*chunk));
	chunk->bytes = (uint32_t)bytes;
	return chunk;
}

static void kit_chunk_destroy(struct kit *kit, struct kit_chunk *chunk)
{
	kit_bytes_release(kit, chunk->bytes);
	free(chunk);
}

static void kit_chunk_empty(struct kit_thread *thread)
{
	memset(thread->copies, 0, sizeof(thread->copies));
	if (thread->chunk) {
		thread->chunk->events_count = 0;
		thread->chunk->text_bytes = 0;
	}
}

/* Submits the events of the thread's chunks that the collector has not received yet.  The events stay in the chunks,
 * for ONNX Runtime; only a chunk with is_collectors set is emptied, by kit_chunk_next. */
static void kit_chunks_push_new(struct kit *kit, struct kit_thread *thread)
{
	EpprofEvent part[KIT_PART_EVENTS];
	uint64_t ids[KIT_PART_EVENTS];
	for (struct kit_chunk *chunk = thread->chunk; chunk; chunk = chunk->next) {
		if (chunk->pushed_count > 0 && chunk->pushed_count == chunk->events_count)
			break;
		while (chunk->pushed_count < chunk->events_count) {
			EpprofEvent *events = &kit_chunk_events(chunk)[chunk->pushed_count];
			uint32_t count = chunk->events_count - chunk->pushed_count;
			count = count < KIT_PART_EVENTS ? count : KIT_PART_EVENTS;
			for (uint32_t i = 0; i < count; i++) {
				part[i] = events[i];
				part[i].parent = kit_recorded_id(kit, events[i].parent);
			}
			atomic_fetch_add_explicit(&kit->delivered, count, memory_order_relaxed);
			memset(ids, 0, sizeof(ids));
			EpprofBatch batch = KIT_ZERO;
			batch.events = part;
			batch.events_count = count;
			batch.ids = ids;
			kit_push(kit, &batch);
			for (uint32_t i = 0; i < count; i++)
				kit_event_pushed(kit, &events[i], ids[i]);
			chunk->pushed_count += count;
		}
	}
	atomic_store_explicit(&thread->in_hand, 0, memory_order_relaxed);
}

/* Empties the thread's full chunk, which has is_collectors set.  Its events are then missing in ONNX Runtime's profile,
 * which batch_no_room counts. */
static void kit_chunk_reuse(struct kit *kit, struct kit_thread *thread)
{
	atomic_fetch_add_explicit(&kit->batch_no_room, thread->chunk->events_count, memory_order_relaxed);
	thread->chunk->pushed_count = 0;
	kit_chunk_empty(thread);
}

/* Submits the thread's chunk to an epprof host. */
static void kit_chunk_push(struct kit *kit, struct kit_thread *thread)
{
	struct kit_chunk *chunk = thread->chunk;
	if (!chunk || chunk->events_count == 0)
		return;
	atomic_fetch_add_explicit(&kit->delivered, chunk->events_count, memory_order_relaxed);
	atomic_store_explicit(&thread->in_hand, 0, memory_order_relaxed);
	kit_push_events(kit, kit_chunk_events(chunk), chunk->events_count);
	kit_chunk_empty(thread);
}

/* Makes a chunk with room for `bytes` the thread's current chunk, and returns it.  Returns NULL if out of memory. */
static KIT_NOINLINE struct kit_chunk *kit_chunk_next(struct kit *kit, struct kit_thread *thread, size_t bytes)
{
	struct kit_chunk *full = thread->chunk;
	EpprofRecording *recording = atomic_load_explicit(&kit->recording, memory_order_acquire);
	if (kit->push)
		kit_chunk_push(kit, thread);
	else if (recording)
		kit_chunks_push_new(kit, thread);
	if (full && full->is_collectors) {
		kit_chunk_reuse(kit, thread);
		return kit_chunk_room(full) >= bytes ? full : NULL;
	}
	size_t want = thread->chunk_bytes;
	if (want < bytes + sizeof(*full))
		want = bytes + sizeof(*full);
	if (full && kit->push && full->bytes == want)
		return full;
	struct kit_chunk *chunk = kit_chunk_create(kit, want);
	if (!chunk)
		return full && kit_chunk_room(full) >= bytes && full->events_count < KIT_CHUNK_EVENTS_MAX ? full : NULL;
	if (full && kit->push)
		kit_chunk_destroy(kit, full);
	else
		chunk->next = full;
	/* If buffer_bytes has room for less than one further chunk for each thread, the thread gets no further chunk:
	 * this one is emptied when it is full. */
	size_t others = atomic_load_explicit(&kit->threads_count, memory_order_relaxed);
	size_t left = kit->options.buffer_bytes - kit_bytes_used(kit);
	chunk->is_collectors = recording && left < (others + 1) * KIT_CHUNK_BYTES;
	thread->chunk = chunk;
	if (thread->chunk_bytes < KIT_CHUNK_BYTES)
		thread->chunk_bytes *= 4;
	return chunk;
}

/* Returns room for an event's args and strings in the thread's chunk, or NULL if there is none. */
static char *kit_text_take(struct kit *kit, struct kit_thread *thread, size_t bytes)
{
	bytes = (bytes + 7) & ~(size_t)7;
	struct kit_chunk *chunk = thread->chunk;
	if (!chunk || kit_chunk_room(chunk) < bytes)
		chunk = kit_chunk_next(kit, thread, bytes);
	if (!chunk || chunk->is_collectors)
		return NULL;
	chunk->text_bytes += (uint32_t)bytes;
	return (char *)chunk + chunk->bytes - chunk->text_bytes;
}

/* Copies `bytes` of a string and terminates it; returns the end.  A longer string is cut at the start of a character
 * and ends in "...". */
static inline char *kit_string_copy(struct kit *kit, char *to, const char *string, size_t bytes)
{
	memcpy(to, string, bytes);
	if (bytes == KIT_STRING_BYTES_MAX && string[bytes] != '\0') {
		size_t end = bytes - 3;
		while (end > bytes - 6 && ((unsigned char)to[end] & 0xc0) == 0x80)
			end--;
		memcpy(to + end, "...", 3);
		atomic_fetch_add_explicit(&kit->cut_count, 1, memory_order_relaxed);
		bytes = end + 3;
	}
	to[bytes] = '\0';
	return to + bytes + 1;
}

static inline struct kit_copy *kit_copy_of(struct kit_thread *thread, const char *source)
{
	return &thread->copies[((uintptr_t)source * 0x9e3779b97f4a7c15u) >> (64 - KIT_COPIES_BITS)];
}

/* Returns the stored copy of a string, or NULL.  The text is compared, because the EP may have stored another string at
 * the same address since. */
static inline const char *kit_copy_find(struct kit_thread *thread, const char *source)
{
	const struct kit_copy *known = kit_copy_of(thread, source);
	return known->source == source && known->copy && strcmp(known->copy, source) == 0 ? known->copy : NULL;
}

/* A string of an event: its stored copy, or the number of bytes to copy. */
struct kit_string {
	const char *copy;
	uint32_t bytes;
};

/* Prepares a name or a key for kit_string_put.  Returns the number of bytes that the chunk needs for it: 0 if a
 * copy is stored already (struct kit_copy). */
static inline size_t kit_string_measure(struct kit_thread *thread, const char *source, struct kit_string *string)
{
	string->bytes = 0;
	string->copy = kit_copy_find(thread, source);
	if (kit_likely(string->copy != NULL))
		return 0;
	string->bytes = kit_string_bytes(source);
	return (size_t)string->bytes + 1;
}

/* Returns the stored copy of a string.  If there is none yet, copies the string to `*to`. */
static inline const char *kit_string_put(struct kit *kit, struct kit_thread *thread, const char *source,
                                         const struct kit_string *string, char **to)
{
	if (kit_likely(string->copy != NULL))
		return string->copy;
	/* The same event may contain the string twice, so it is searched again. */
	const char *copy = kit_copy_find(thread, source);
	if (copy)
		return copy;
	copy = *to;
	*to = kit_string_copy(kit, *to, source, string->bytes);
	struct kit_copy *known = kit_copy_of(thread, source);
	known->source = source;
	known->copy = copy;
	return copy;
}

/* Returns true if the event is valid. */
static inline bool kit_event_is_sound(const struct kit *kit, const epp_ep_event *event)
{
	if (!event->name || (event->args_count > 0 && !event->args) || (uint32_t)event->category > 4 ||
	    event->copy > EPP_EP_FILL || kit_clock_since(kit, event->end_ticks, event->start_ticks) < 0 ||
	    (event->queue_ticks && kit_clock_since(kit, event->start_ticks, event->queue_ticks) < 0))
		return false;
	for (size_t i = 0; i < event->args_count && i < KIT_ARGS_MAX; i++) {
		if (!event->args[i].key || event->args[i].type > EPP_EP_F64)
			return false;
	}
	return true;
}

/* Returns how many bytes an event needs in a chunk in addition to its struct: for its args and strings. */
static inline size_t kit_event_measure(struct kit_thread *thread, const epp_ep_event *event, size_t args_count,
                                       struct kit_string *name, struct kit_string *keys, uint32_t *texts_bytes)
{
	size_t bytes = args_count * sizeof(EpprofArg) + kit_string_measure(thread, event->name, name);
	for (size_t i = 0; i < args_count; i++) {
		const epp_ep_arg *arg = &event->args[i];
		bytes += kit_string_measure(thread, arg->key, &keys[i]);
		if (arg->text)
			bytes += (size_t)(texts_bytes[i] = kit_string_bytes(arg->text)) + 1;
	}
	return (bytes + 7) & ~(size_t)7;
}

/* Stores an event, or counts the loss. */
static void kit_buffer_add(struct kit *kit, struct kit_thread *thread, const epp_ep_event *event)
{
	struct kit_string name;
	struct kit_string keys[KIT_ARGS_MAX];
	uint32_t texts_bytes[KIT_ARGS_MAX];
	EpprofArg specials[KIT_SPECIAL_ARGS_MAX];
	size_t args_count = event->args_count < KIT_ARGS_MAX ? event->args_count : KIT_ARGS_MAX;
	if (!kit_event_is_sound(kit, event)) {
		kit_count_lost(kit, KIT_REFUSED, 1);
		return;
	}
	struct kit_chunk *chunk = thread->chunk;
	size_t specials_count = kit_has_specials(event) ? kit_specials(kit, event, specials) : 0;
	size_t specials_bytes = specials_count * sizeof(EpprofArg);
	size_t bytes = specials_bytes + kit_event_measure(thread, event, args_count, &name, keys, texts_bytes);
	if (!chunk || kit_chunk_room(chunk) < bytes + sizeof(EpprofEvent) || chunk->events_count == KIT_CHUNK_EVENTS_MAX) {
		/* The copies may be in the chunk that is being submitted now, so the event is measured again without
		 * them. */
		memset(thread->copies, 0, sizeof(thread->copies));
		bytes = specials_bytes + kit_event_measure(thread, event, args_count, &name, keys, texts_bytes);
		chunk = kit_chunk_next(kit, thread, bytes + sizeof(EpprofEvent));
	}
	if (!chunk) {
		kit_count_lost(kit, KIT_NO_BUFFER, 1);
		return;
	}
	chunk->text_bytes += (uint32_t)bytes;
	EpprofArg *args = (EpprofArg *)(void *)((char *)chunk + chunk->bytes - chunk->text_bytes);
	char *to = (char *)(args + specials_count + args_count);
	uint64_t ticks = (uint64_t)kit_clock_since(kit, event->end_ticks, event->start_ticks);
	EpprofEvent *stored = &kit_chunk_events(chunk)[chunk->events_count++];
	stored->start_ticks = event->start_ticks;
	stored->end_ticks = event->start_ticks + ticks; /* if the counter wrapped between start and end, this undoes the
	                                                   wrap */
	stored->parent = event->parent;
	stored->name = kit_string_put(kit, thread, event->name, &name, &to);
	stored->args = args;
	stored->args_count = (uint32_t)(specials_count + args_count);
	stored->category = event->category ? (uint32_t)event->category - 1 : (uint32_t)OrtProfilingEventCategory_KERNEL;
	stored->device = event->device;
	stored->clock = 0;
	stored->stream = event->stream;
	if (specials_count)
		memcpy(args, specials, specials_bytes);
	args += specials_count;
	for (size_t i = 0; i < args_count; i++) {
		const epp_ep_arg *arg = &event->args[i];
		args[i].key = kit_string_put(kit, thread, arg->key, &keys[i], &to);
		args[i].text = NULL;
		args[i].number.u64 = arg->u64;
		args[i].type = arg->type;
		args[i].text_bytes = 0;
		if (arg->text) {
			args[i].type = KIT_ARG_TEXT;
			args[i].text = to;
			to = kit_string_copy(kit, to, arg->text, texts_bytes[i]);
			args[i].text_bytes = (uint32_t)(to - 1 - args[i].text);
		}
	}
	if (event->args_count > KIT_ARGS_MAX)
		atomic_fetch_add_explicit(&kit->cut_count, 1, memory_order_relaxed);
	atomic_store_explicit(&thread->in_hand, atomic_load_explicit(&thread->in_hand, memory_order_relaxed) + 1,
	                      memory_order_relaxed);
}

#endif

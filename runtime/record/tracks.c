/* The definitions of a session. New tracks wait in the form in which they go into blocks: a definition header, a struct
 * epf_track, the texts. The track of a recording thread is freed once it is in a block, because the number of threads
 * has no limit. Other tracks stay, in a hash. */
#include "record/tracks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "storage/drain.h"
#include "storage/window/definition_log.h"

#define PAYLOAD_MAX (128u << 10)
#define HASH_SIZE (2 * SESSION_TRACKS_MAX)

struct track {
	STAILQ_ENTRY(track) link;
	bool kept;
	_Alignas(8) struct epf_definition definition; /* the body follows without padding */
};
_Static_assert(sizeof(struct epf_track) % 8 == 0 && sizeof(struct epf_definition) == 8, "a definition needs no padding");

static const struct epf_track *description(const struct track *track)
{
	return (const struct epf_track *)(const void *)(&track->definition + 1);
}

/* Returns the hash entry of a track, or the free entry where it would go. */
static struct track **hash_find(struct track **tracks, uint32_t number)
{
	for (uint32_t at = number;; at++) {
		struct track **place = &tracks[at % HASH_SIZE];
		const struct track *there = LOAD_ACQUIRE(place);
		if (!there || description(there)->track == number)
			return place;
	}
}

static uint32_t add_track(struct session *session, struct epf_track *track, const char *name, const char *group, bool kept)
{
	size_t name_bytes = strnlen(name, 255), group_bytes = strnlen(group, 255);
	if (kept && session->tracks_count == SESSION_TRACKS_MAX)
		return 0;
	if (kept && !session->tracks) {
		struct track **tracks = calloc(HASH_SIZE, sizeof(*tracks));
		if (!tracks)
			return 0;
		STORE_RELEASE(&session->tracks, tracks);
	}
	track->track = session->tracks_end;
	track->name_bytes = (uint32_t)name_bytes;
	track->group_bytes = (uint32_t)group_bytes;
	size_t body_bytes = sizeof(*track) + name_bytes + group_bytes;
	struct track *added = calloc(1, sizeof(*added) + log_padded(body_bytes));
	if (!added)
		return 0;
	added->kept = kept;
	added->definition = (struct epf_definition){ .bytes = (uint32_t)body_bytes, .type = EPF_DEFINE_TRACK };
	uint8_t *body = (uint8_t *)(&added->definition + 1);
	memcpy(body, track, sizeof(*track));
	memcpy(body + sizeof(*track), name, name_bytes);
	memcpy(body + sizeof(*track) + name_bytes, group, group_bytes);
	log_append(session, &added->definition, body, body + body_bytes, 0);
	STAILQ_INSERT_TAIL(&session->tracks_new, added, link);
	session->tracks_end++;
	if (kept) {
		session->tracks_count++;
		STORE_RELEASE(hash_find(session->tracks, track->track), added);
	}
	return track->track;
}

uint32_t tracks_add(struct session *session, struct epf_track *track, const char *name, const char *group)
{
	return add_track(session, track, name, group, true);
}

uint32_t tracks_add_recorder(struct session *session, struct epf_track *track, const char *name)
{
	return add_track(session, track, name, "", false);
}

const struct epf_track *tracks_get(const struct session *session, uint32_t track)
{
	struct track **tracks = LOAD_ACQUIRE(&session->tracks);
	const struct track *found = track && tracks ? LOAD_ACQUIRE(hash_find(tracks, track)) : NULL;
	return found ? description(found) : NULL;
}

static struct session *listening(struct name_listener *self)
{
	return (struct session *)(void *)((char *)self - offsetof(struct session, names));
}

static enum epf_definition_type type_of(const struct name_text *text)
{
	return text->is_args ? EPF_DEFINE_ARGS : EPF_DEFINE_NAME;
}

static void name_added(struct name_listener *self, epp_name name, struct name_text text)
{
	struct epf_definition head = { .bytes = (uint32_t)(sizeof(name) + text.bytes), .type = type_of(&text) };
	log_append(listening(self), &head, &name, text.text, text.bytes);
}

static bool name_waits(struct name_listener *self, size_t bytes)
{
	return log_is_full(listening(self), bytes);
}

void tracks_names_begin(struct session *session)
{
	session->names.added = name_added;
	session->names.waits = name_waits;
	name_listener_add(&session->names);
	session->names_listening = true;
}

void tracks_names_end(struct session *session)
{
	if (session->names_listening)
		name_listener_remove(&session->names);
	session->names_listening = false;
}

/* A block under construction in the session's scratch memory. */
struct definitions {
	struct session *session;
	struct epf_block *block;
	size_t bytes;
	int error;
};

static void flush(struct definitions *definitions)
{
	if (!definitions->bytes || definitions->error)
		return;
	*definitions->block = (struct epf_block){
		.type = EPF_BLOCK_DEFINITIONS,
		.payload_bytes = (uint32_t)definitions->bytes,
		.run = definitions->session->window.live->run,
	};
	definitions->error = block_writer_append(&definitions->session->writer, definitions->block);
	definitions->bytes = 0;
}

static void add(struct definitions *definitions, uint32_t type, const void *body, size_t body_bytes, const void *text,
                size_t text_bytes)
{
	struct epf_definition head = { .bytes = (uint32_t)(body_bytes + text_bytes), .type = type };
	size_t bytes = sizeof(head) + log_padded(head.bytes);
	if (definitions->bytes + bytes > PAYLOAD_MAX)
		flush(definitions);
	uint8_t *at = (uint8_t *)(definitions->block + 1) + definitions->bytes;
	memset(at + bytes - 8, 0, 8);
	memcpy(at, &head, sizeof(head));
	memcpy(at + sizeof(head), body, body_bytes);
	memcpy(at + sizeof(head) + body_bytes, text, text_bytes);
	definitions->bytes += bytes;
}

/* Takes the list of tracks that are in no block yet. */
static struct track *take_new(struct session *session)
{
	pthread_mutex_lock(&session->lock);
	struct track *first = STAILQ_FIRST(&session->tracks_new);
	STAILQ_INIT(&session->tracks_new);
	pthread_mutex_unlock(&session->lock);
	return first;
}

/* Frees tracks that were written to blocks or, if not `written`, puts them back at the start of the list. */
static void settle(struct session *session, struct track *first, bool written)
{
	STAILQ_HEAD(, track) waiting = STAILQ_HEAD_INITIALIZER(waiting);
	for (struct track *track = first, *next; track; track = next) {
		next = STAILQ_NEXT(track, link);
		if (!written)
			STAILQ_INSERT_TAIL(&waiting, track, link);
		else if (!track->kept)
			free(track);
	}
	if (written)
		return;
	pthread_mutex_lock(&session->lock);
	for (struct track *track; (track = STAILQ_FIRST(&session->tracks_new));) {
		STAILQ_REMOVE_HEAD(&session->tracks_new, link);
		STAILQ_INSERT_TAIL(&waiting, track, link);
	}
	for (struct track *track; (track = STAILQ_FIRST(&waiting));) {
		STAILQ_REMOVE_HEAD(&waiting, link);
		STAILQ_INSERT_TAIL(&session->tracks_new, track, link);
	}
	pthread_mutex_unlock(&session->lock);
}

int tracks_drain(struct session *session)
{
	/* All definitions that exist now are in blocks after this. The log may only drop definitions up to this
	 * mark. */
	struct log_mark mark = log_mark(session);
	struct track *first = take_new(session);
	epp_name names_end = name_end();
	if (!first && session->names_written == names_end) {
		log_settle(session, &mark, true);
		return 0;
	}
	struct definitions definitions = { .session = session, .block = (struct epf_block *)(void *)session->scratch };
	for (const struct track *track = first; track; track = STAILQ_NEXT(track, link))
		add(&definitions, EPF_DEFINE_TRACK, &track->definition + 1, track->definition.bytes, "", 0);
	for (epp_name name = session->names_written; name < names_end; name++) {
		struct name_text text = name_get(name);
		add(&definitions, type_of(&text), &name, sizeof(name), text.text, text.bytes);
	}
	flush(&definitions);
	settle(session, first, !definitions.error);
	session->definitions_due = definitions.error != 0;
	if (!definitions.error)
		session->names_written = names_end;
	log_settle(session, &mark, !definitions.error);
	return definitions.error;
}

void tracks_free(struct session *session)
{
	for (struct track *track; (track = STAILQ_FIRST(&session->tracks_new));) {
		STAILQ_REMOVE_HEAD(&session->tracks_new, link);
		if (!track->kept)
			free(track);
	}
	for (uint32_t i = 0; session->tracks && i < HASH_SIZE; i++)
		free(session->tracks[i]);
	free(session->tracks);
	session->tracks = NULL;
}

/* The definitions of a trace. A new track is kept as the bytes that a block needs: a definition header, a struct
 * epf_track, the texts. The track of a recording thread is freed once it is in a block, because the number of threads
 * has no limit. Other tracks stay in a hash table. */
#include "storage/definitions.h"

#include <stdlib.h>
#include <string.h>

#include "base/atomics.h"
#include "storage/storage.h"

#define PAYLOAD_MAX (128u << 10)
#define HASH_SIZE (2 * DEFINITIONS_TRACKS_MAX)

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

/* Returns the hash entry of a track, or the free entry for a new track. */
static struct track **hash_find(struct track **tracks, uint32_t number)
{
	for (uint32_t at = number;; at++) {
		struct track **place = &tracks[at % HASH_SIZE];
		const struct track *there = LOAD_ACQUIRE(place);
		if (!there || description(there)->track == number)
			return place;
	}
}

static uint32_t add_track(struct definitions *definitions, struct epf_track *track, const char *name, const char *group,
                          bool kept)
{
	size_t name_bytes = strnlen(name, 255), group_bytes = strnlen(group, 255);
	if (kept && definitions->tracks_count == DEFINITIONS_TRACKS_MAX)
		return 0;
	if (kept && !definitions->tracks) {
		struct track **tracks = calloc(HASH_SIZE, sizeof(*tracks));
		if (!tracks)
			return 0;
		STORE_RELEASE(&definitions->tracks, tracks);
	}
	track->track = definitions->tracks_end;
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
	log_append(&definitions->log, &added->definition, body, body + body_bytes, 0);
	STAILQ_INSERT_TAIL(&definitions->tracks_new, added, link);
	definitions->tracks_end++;
	if (kept) {
		definitions->tracks_count++;
		STORE_RELEASE(hash_find(definitions->tracks, track->track), added);
	}
	return track->track;
}

uint32_t definitions_add_track(struct definitions *definitions, struct epf_track *track, const char *name, const char *group)
{
	return add_track(definitions, track, name, group, true);
}

uint32_t definitions_add_thread(struct definitions *definitions, struct epf_track *track, const char *name)
{
	return add_track(definitions, track, name, "", false);
}

const struct epf_track *definitions_track(const struct definitions *definitions, uint32_t track)
{
	struct track **tracks = LOAD_ACQUIRE(&definitions->tracks);
	const struct track *found = track && tracks ? LOAD_ACQUIRE(hash_find(tracks, track)) : NULL;
	return found ? description(found) : NULL;
}

static struct definitions *definitions_of_listener(struct name_listener *self)
{
	return (struct definitions *)(void *)((char *)self - offsetof(struct definitions, names));
}

static enum epf_definition_type type_of(const struct name_text *text)
{
	return text->is_args ? EPF_DEFINE_ARGS : EPF_DEFINE_NAME;
}

static void name_added(struct name_listener *self, epp_name name, struct name_text text)
{
	struct epf_definition head = { .bytes = (uint32_t)(sizeof(name) + text.bytes), .type = type_of(&text) };
	log_append(&definitions_of_listener(self)->log, &head, &name, text.text, text.bytes);
}

static bool log_has_no_room(struct name_listener *self, size_t bytes)
{
	return log_is_full(&definitions_of_listener(self)->log, bytes);
}

void definitions_init(struct definitions *definitions, struct window *window)
{
	STAILQ_INIT(&definitions->tracks_new);
	definitions->tracks = NULL;
	definitions->tracks_count = definitions->clocks_end = 0;
	definitions->tracks_end = 1;
	definitions->names_written = 1;
	definitions->is_due = false;
	log_init(&definitions->log, window);
	definitions->names = (struct name_listener){ .added = name_added, .is_full = log_has_no_room };
	name_listener_add(&definitions->names);
}

void definitions_end_names(struct definitions *definitions)
{
	name_listener_remove(&definitions->names);
}

void definitions_deinit(struct definitions *definitions)
{
	for (struct track *track; (track = STAILQ_FIRST(&definitions->tracks_new));) {
		STAILQ_REMOVE_HEAD(&definitions->tracks_new, link);
		if (!track->kept)
			free(track);
	}
	for (uint32_t i = 0; definitions->tracks && i < HASH_SIZE; i++)
		free(definitions->tracks[i]);
	free(definitions->tracks);
}

/* ---- blocks of definitions ---- */

/* A block that is being built in the scratch memory. */
struct definition_block {
	struct storage *storage;
	struct epf_block *block;
	size_t bytes;
	int error;
};

static void flush(struct definition_block *building)
{
	if (!building->bytes || building->error)
		return;
	*building->block = (struct epf_block){
		.type = EPF_BLOCK_DEFINITIONS,
		.payload_bytes = (uint32_t)building->bytes,
		.run = building->storage->window.live->run,
	};
	building->error = block_writer_append(&building->storage->writer, building->block);
	building->bytes = 0;
}

static void add(struct definition_block *building, uint32_t type, const void *body, size_t body_bytes, const void *text,
                size_t text_bytes)
{
	struct epf_definition head = { .bytes = (uint32_t)(body_bytes + text_bytes), .type = type };
	size_t bytes = sizeof(head) + log_padded(head.bytes);
	if (building->bytes + bytes > PAYLOAD_MAX)
		flush(building);
	uint8_t *at = (uint8_t *)(building->block + 1) + building->bytes;
	memset(at + bytes - 8, 0, 8);
	memcpy(at, &head, sizeof(head));
	memcpy(at + sizeof(head), body, body_bytes);
	memcpy(at + sizeof(head) + body_bytes, text, text_bytes);
	building->bytes += bytes;
}

/* Removes and returns the list of tracks that are in no block yet. */
static struct track *take_new_tracks(struct storage *storage)
{
	pthread_mutex_lock(&storage->lock);
	struct track *first = STAILQ_FIRST(&storage->definitions.tracks_new);
	STAILQ_INIT(&storage->definitions.tracks_new);
	pthread_mutex_unlock(&storage->lock);
	return first;
}

/* If `written` is set, frees tracks that are in blocks now; else puts them back at the start of the list. */
static void settle_tracks(struct storage *storage, struct track *first, bool written)
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
	pthread_mutex_lock(&storage->lock);
	for (struct track *track; (track = STAILQ_FIRST(&storage->definitions.tracks_new));) {
		STAILQ_REMOVE_HEAD(&storage->definitions.tracks_new, link);
		STAILQ_INSERT_TAIL(&waiting, track, link);
	}
	for (struct track *track; (track = STAILQ_FIRST(&waiting));) {
		STAILQ_REMOVE_HEAD(&waiting, link);
		STAILQ_INSERT_TAIL(&storage->definitions.tracks_new, track, link);
	}
	pthread_mutex_unlock(&storage->lock);
}

int definitions_drain(struct storage *storage)
{
	/* All definitions that exist at this mark will be in blocks. The log must not drop later ones. */
	struct log_mark mark = log_mark(&storage->definitions.log);
	struct track *first = take_new_tracks(storage);
	epp_name names_end = name_end();
	if (!first && storage->definitions.names_written == names_end) {
		log_settle(&storage->definitions.log, &mark, true);
		return 0;
	}
	struct definition_block building = { .storage = storage, .block = (struct epf_block *)(void *)storage->scratch };
	for (const struct track *track = first; track; track = STAILQ_NEXT(track, link))
		add(&building, EPF_DEFINE_TRACK, &track->definition + 1, track->definition.bytes, "", 0);
	for (epp_name name = storage->definitions.names_written; name < names_end; name++) {
		struct name_text text = name_get(name);
		add(&building, type_of(&text), &name, sizeof(name), text.text, text.bytes);
	}
	flush(&building);
	settle_tracks(storage, first, !building.error);
	storage->definitions.is_due = building.error != 0;
	if (!building.error)
		storage->definitions.names_written = names_end;
	log_settle(&storage->definitions.log, &mark, !building.error);
	return building.error;
}

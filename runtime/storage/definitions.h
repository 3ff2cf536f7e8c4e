/* A trace's definitions: its tracks, and those of the process's names that its file does not contain yet.
 *
 * Each new definition is appended to the window's log at once (storage/window/definition_log.h). The drain writes new
 * definitions into a block and empties the log. The drain reads the tables, not the log, so a full log has only one
 * effect: new definitions are lost if the process is killed before the next drain. */
#ifndef EPPROF_RUNTIME_STORAGE_DEFINITIONS_H
#define EPPROF_RUNTIME_STORAGE_DEFINITIONS_H

#include "base/name.h"
#include "storage/window/definition_log.h"

#define DEFINITIONS_TRACKS_MAX 4096u /* the maximum number of tracks without those of threads */

struct storage;
struct track;

/* Protected by the lock of struct storage, except where stated. */
struct definitions {
	STAILQ_HEAD(, track) tracks_new; /* tracks that are not in a block yet */
	struct track **tracks;  /* hash table of all tracks except those of threads; it only grows and is read without
	                           the lock */
	uint32_t tracks_count;  /* the number of entries in the hash table */
	uint32_t tracks_end;    /* the largest number of a track + 1 */
	uint32_t clocks_end;    /* the largest number of a clock */
	epp_name names_written; /* the largest name that is in a block + 1; this and the next member are protected by
	                           the drain lock */
	bool is_due;            /* the last attempt to write definitions failed */
	struct name_listener names;
	struct definition_log log;
};

/* Starts to follow the process's names; the existing names are also appended to the window's log. The lock of the log
 * must be initialized already. */
void definitions_init(struct definitions *definitions, struct window *window);

/* Stops following names. Called before the window is closed. */
void definitions_end_names(struct definitions *definitions);

/* Frees the tracks. */
void definitions_deinit(struct definitions *definitions);

/* Adds a track and fills in track->track and the lengths. Returns its number; 0 if out of memory or if there are too
 * many tracks. The storage's lock is held. */
uint32_t definitions_add_track(struct definitions *definitions, struct epf_track *track, const char *name,
                               const char *group);

/* As definitions_add_track, for a thread that records its own events. The description of the track is not kept. */
uint32_t definitions_add_thread(struct definitions *definitions, struct epf_track *track, const char *name);

/* Returns the description of a track that definitions_add_track added, or NULL.  Thread: [any-thread]. */
const struct epf_track *definitions_track(const struct definitions *definitions, uint32_t track);

/* Writes new definitions, if there are any, as definition blocks, and empties the log. The drain lock is held. Returns
 * 0 or errno. */
int definitions_drain(struct storage *storage);

#endif
